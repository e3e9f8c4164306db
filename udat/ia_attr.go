package udat

import (
	"bytes"
	"net/netip"

	"github.com/goudat/goudat/cgo"
)

// IAAttr holds the attributes and the limits of an adapter.
type IAAttr struct {
	AdapterName, VendorName                                             string // AdapterName is the device's: see device.List
	HardwareVersionMajor, HardwareVersionMinor                          uint32
	Address                                                             netip.Addr // the address that peers connect to
	MaxEPs, MaxEVDs, MaxPZs, MaxLMRs, MaxRMRs, MaxSRQs                  int        // objects; MaxRMRs and MaxSRQs are 0 if the device has none
	MaxDTOPerEP                                                         int        // some devices, such as mlx5, have room for fewer requests
	MaxEVDQLen, MaxEPPerSRQ, MaxRecvPerSRQ                              int
	MaxIOVSegmentsPerDTO, MaxIOVSegmentsPerRead, MaxIOVSegmentsPerWrite int
	MaxRDMAReadPerEPIn, MaxRDMAReadPerEPOut                             int
	MaxRDMAReadIn, MaxRDMAReadOut                                       int    // of the adapter
	MaxRDMAReadPerEPInGuaranteed, MaxRDMAReadPerEPOutGuaranteed         bool   // that limit does not depend on other endpoints
	MaxMessageSize, MaxRDMASize                                         uint32 // bytes
	MaxLMRBlockSize                                                     uint32 // bytes; 4 GiB - 1 stands for more; soft-RoCE of Linux 7.3 takes 1 GiB
	MaxLMRVirtualAddress, MaxRMRTargetAddress                           uint64
	ExtensionSupported                                                  bool // the InfiniBand extension: see ProviderAttr.Supports
	TransportAttr, VendorAttr                                           map[string]string
}

// ProviderAttr holds the attributes of the provider of an adapter.
type ProviderAttr struct {
	ProviderName                               string // the adapter's name in the registry
	ProviderVersionMajor, ProviderVersionMinor uint32
	DaplVersionMajor, DaplVersionMinor         uint32
	CompletionFlagsSupported                   CompletionFlags
	IsThreadSafe                               bool // of the provider; this package always is
	MaxPrivateDataSize                         int  // bytes that Connect, Accept and Reject can carry
	OptimalBufferAlignment                     int  // bytes
	SRQSupported                               bool // the device has shared receive queues
	// ProviderSpecificAttr has, by name, the device's GUID, the GID of connections, the port's MTU
	// and state when the adapter was opened, and the operations of the extension.
	ProviderSpecificAttr map[string]string
}

func newIAAttr(a *cgo.IAAttr) IAAttr {
	return IAAttr{
		AdapterName:                   cString(a.AdapterName[:]),
		VendorName:                    cString(a.VendorName[:]),
		HardwareVersionMajor:          a.HardwareVersionMajor,
		HardwareVersionMinor:          a.HardwareVersionMinor,
		Address:                       cgo.SockAddrAt(a.IAAddressPtr).Addr(),
		MaxEPs:                        int(a.MaxEPs),
		MaxDTOPerEP:                   int(a.MaxDTOPerEP),
		MaxRDMAReadPerEPIn:            int(a.MaxRDMAReadPerEPIn),
		MaxRDMAReadPerEPOut:           int(a.MaxRDMAReadPerEPOut),
		MaxEVDs:                       int(a.MaxEVDs),
		MaxEVDQLen:                    int(a.MaxEVDQLen),
		MaxIOVSegmentsPerDTO:          int(a.MaxIOVSegmentsPerDTO),
		MaxLMRs:                       int(a.MaxLMRs),
		MaxLMRBlockSize:               a.MaxLMRBlockSize,
		MaxLMRVirtualAddress:          a.MaxLMRVirtualAddress,
		MaxPZs:                        int(a.MaxPZs),
		MaxMessageSize:                a.MaxMessageSize,
		MaxRDMASize:                   a.MaxRDMASize,
		MaxRMRs:                       int(a.MaxRMRs),
		MaxRMRTargetAddress:           a.MaxRMRTargetAddress,
		MaxSRQs:                       int(a.MaxSRQs),
		MaxEPPerSRQ:                   int(a.MaxEPPerSRQ),
		MaxRecvPerSRQ:                 int(a.MaxRecvPerSRQ),
		MaxIOVSegmentsPerRead:         int(a.MaxIOVSegmentsPerRDMARead),
		MaxIOVSegmentsPerWrite:        int(a.MaxIOVSegmentsPerRDMAWrite),
		MaxRDMAReadIn:                 int(a.MaxRDMAReadIn),
		MaxRDMAReadOut:                int(a.MaxRDMAReadOut),
		MaxRDMAReadPerEPInGuaranteed:  a.MaxRDMAReadPerEPInGuaranteed != 0,
		MaxRDMAReadPerEPOutGuaranteed: a.MaxRDMAReadPerEPOutGuaranteed != 0,
		ExtensionSupported:            a.ExtensionSupported == cgo.ExtensionIB,
		TransportAttr:                 cgo.NamedAttrs(a.TransportAttr, a.NumTransportAttr),
		VendorAttr:                    cgo.NamedAttrs(a.VendorAttr, a.NumVendorAttr),
	}
}

// newProviderAttr leaves out the fields that no provider fills.
func newProviderAttr(a *cgo.ProviderAttr) ProviderAttr {
	return ProviderAttr{
		ProviderName:             cString(a.ProviderName[:]),
		ProviderVersionMajor:     a.ProviderVersionMajor,
		ProviderVersionMinor:     a.ProviderVersionMinor,
		DaplVersionMajor:         a.DaplVersionMajor,
		DaplVersionMinor:         a.DaplVersionMinor,
		CompletionFlagsSupported: CompletionFlags(a.CompletionFlagsSupported),
		IsThreadSafe:             a.IsThreadSafe != 0,
		MaxPrivateDataSize:       int(a.MaxPrivateDataSize),
		OptimalBufferAlignment:   int(a.OptimalBufferAlignment),
		SRQSupported:             a.SRQSupported != 0,
		ProviderSpecificAttr:     cgo.NamedAttrs(a.ProviderSpecificAttr, a.NumProviderSpecificAttr),
	}
}

// Supports reports whether the device has an operation. Those of the InfiniBand extension,
// DTOIBRDMAWriteImmed, DTOIBFetchAdd and DTOIBCmpSwap, may be missing, as on iWARP. Their posts
// fail with ErrNotImplemented.
func (a ProviderAttr) Supports(op DTO) bool {
	attribute := map[DTO]string{DTOIBRDMAWriteImmed: "DAT_IB_IMMED_DATA", DTOIBFetchAdd: "DAT_IB_FETCH_AND_ADD", DTOIBCmpSwap: "DAT_IB_CMP_AND_SWAP"}[op]
	return a.ProviderSpecificAttr[attribute] != "FALSE"
}

func cString(b []byte) string {
	text, _, _ := bytes.Cut(b, []byte{0})
	return string(text)
}

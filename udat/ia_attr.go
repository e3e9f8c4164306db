package udat

import (
	"bytes"
	"net/netip"

	"github.com/goudat/goudat/cgo"
)

// IAAttr holds the attributes of an adapter: what it is, and the most that it
// has of each thing.
type IAAttr struct {
	AdapterName                   string // the device's, see device.List
	VendorName                    string
	HardwareVersionMajor          uint32
	HardwareVersionMinor          uint32
	Address                       netip.Addr // the address that peers connect to
	MaxEPs                        int
	MaxDTOPerEP                   int // some devices, such as mlx5, have room for fewer requests than they report
	MaxRDMAReadPerEPIn            int
	MaxRDMAReadPerEPOut           int
	MaxEVDs                       int
	MaxEVDQLen                    int
	MaxIOVSegmentsPerDTO          int
	MaxLMRs                       int
	MaxLMRBlockSize               uint32 // bytes; 4 GiB - 1 stands for more; soft-RoCE of Linux 7.3 takes 1 GiB
	MaxLMRVirtualAddress          uint64
	MaxPZs                        int
	MaxMessageSize                uint32 // bytes
	MaxRDMASize                   uint32 // bytes
	MaxRMRs                       int
	MaxRMRTargetAddress           uint64
	MaxSRQs                       int // 0: the device has no shared receive queues
	MaxEPPerSRQ                   int
	MaxRecvPerSRQ                 int
	MaxIOVSegmentsPerRead         int
	MaxIOVSegmentsPerWrite        int
	MaxRDMAReadIn                 int  // of the adapter
	MaxRDMAReadOut                int  // of the adapter
	MaxRDMAReadPerEPInGuaranteed  bool // MaxRDMAReadPerEPIn does not depend on other endpoints
	MaxRDMAReadPerEPOutGuaranteed bool // the same of MaxRDMAReadPerEPOut
	ExtensionSupported            bool // the InfiniBand extension; a device may lack some of its operations: see ProviderAttr.Supports
	TransportAttr                 map[string]string
	VendorAttr                    map[string]string
}

// ProviderAttr holds the attributes of the provider of an adapter.
type ProviderAttr struct {
	ProviderName             string // the adapter's name in the registry
	ProviderVersionMajor     uint32
	ProviderVersionMinor     uint32
	DaplVersionMajor         uint32
	DaplVersionMinor         uint32
	CompletionFlagsSupported CompletionFlags
	IsThreadSafe             bool // of the provider; this package is, whatever it says
	MaxPrivateDataSize       int  // bytes that Connect, Accept and Reject can carry
	OptimalBufferAlignment   int  // bytes
	SRQSupported             bool // the device has shared receive queues
	// ProviderSpecificAttr has attributes by name: the GUID of the device, the GID that connections use, the MTU and the state of its
	// port when the adapter was opened, and which of the extension's operations work.
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

// Supports reports whether the adapter's device has an operation. It may lack those
// of the InfiniBand extension, DTOIBRDMAWriteImmed, DTOIBFetchAdd and DTOIBCmpSwap,
// and does on iWARP. Posting one that it lacks fails with ErrNotImplemented.
func (a ProviderAttr) Supports(op DTO) bool {
	attribute := map[DTO]string{DTOIBRDMAWriteImmed: "DAT_IB_IMMED_DATA", DTOIBFetchAdd: "DAT_IB_FETCH_AND_ADD", DTOIBCmpSwap: "DAT_IB_CMP_AND_SWAP"}[op]
	return a.ProviderSpecificAttr[attribute] != "FALSE"
}

func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

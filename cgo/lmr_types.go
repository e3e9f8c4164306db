package cgo

import (
	"encoding/binary"
	"fmt"
)

// MemPriv holds memory privileges, DAT_MEM_PRIV_FLAGS. They are bits.
type MemPriv uint32

const (
	MemPrivNone          MemPriv = 0x00 // DAT_MEM_PRIV_NONE_FLAG
	MemPrivLocalRead     MemPriv = 0x01 // DAT_MEM_PRIV_LOCAL_READ_FLAG
	MemPrivRemoteRead    MemPriv = 0x02 // DAT_MEM_PRIV_REMOTE_READ_FLAG
	MemPrivLocalWrite    MemPriv = 0x10 // DAT_MEM_PRIV_LOCAL_WRITE_FLAG
	MemPrivRemoteWrite   MemPriv = 0x20 // DAT_MEM_PRIV_REMOTE_WRITE_FLAG
	MemPrivAll           MemPriv = 0x33 // DAT_MEM_PRIV_ALL_FLAG
	MemPrivExtensionBase MemPriv = 0x40 // DAT_MEM_PRIV_EXTENSION_BASE
)

// VAType says how addresses of a region count, DAT_VA_TYPE.
type VAType uint32

const (
	VATypeVA VAType = 0 // DAT_VA_TYPE_VA
	VATypeZB VAType = 1 // DAT_VA_TYPE_ZB
)

// MemType is a kind of memory that can be registered, DAT_MEM_TYPE.
type MemType uint32

const (
	MemTypeVirtual       MemType = 0x00 // DAT_MEM_TYPE_VIRTUAL
	MemTypeLMR           MemType = 0x01 // DAT_MEM_TYPE_LMR
	MemTypeSharedVirtual MemType = 0x02 // DAT_MEM_TYPE_SHARED_VIRTUAL
)

// LMRTriplet names a piece of registered local memory, laid out as DAT_LMR_TRIPLET.
type LMRTriplet struct {
	VirtualAddress uint64 // virtual_address
	SegmentLength  uint32 // segment_length
	LMRContext     uint32 // lmr_context
}

// RMRTriplet names a piece of remote memory, laid out as DAT_RMR_TRIPLET.
type RMRTriplet struct {
	VirtualAddress uint64 // virtual_address
	SegmentLength  uint32 // segment_length
	RMRContext     uint32 // rmr_context
}

// rmrTripletSize is the number of bytes of a triplet's wire form.
const rmrTripletSize = 16

// AppendBinary appends the triplet in 16 bytes, big-endian: address, length, context.
func (t RMRTriplet) AppendBinary(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint64(b, t.VirtualAddress)
	b = binary.BigEndian.AppendUint32(b, t.SegmentLength)
	return binary.BigEndian.AppendUint32(b, t.RMRContext), nil
}

// UnmarshalBinary reads what AppendBinary wrote.
func (t *RMRTriplet) UnmarshalBinary(b []byte) error {
	if len(b) != rmrTripletSize {
		return fmt.Errorf("cgo: an RMR triplet has %d bytes, not %d", rmrTripletSize, len(b))
	}
	t.VirtualAddress = binary.BigEndian.Uint64(b)
	t.SegmentLength = binary.BigEndian.Uint32(b[8:])
	t.RMRContext = binary.BigEndian.Uint32(b[12:])
	return nil
}

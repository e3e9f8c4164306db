//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#include "goudat/verbs.h"

#cgo noescape goudat_ibv_get_device_list
#cgo noescape goudat_ibv_open_device
#cgo noescape goudat_ibv_query_device
#cgo noescape goudat_ibv_query_port
#cgo noescape goudat_ibv_query_gid
*/
import "C"

import (
	"syscall"
	"unsafe"
)

// The functions of libibverbs that describe devices. Each returns 0 or an
// errno. The structures hold what udat reads of the C ones, which grow with the
// library.

type (
	// IBVDeviceList is what ibv_get_device_list returns.
	IBVDeviceList uintptr
	// IBVContext is an open device, a struct ibv_context *.
	IBVContext uintptr
)

// IBVDevice is what is known of a device that is not open, from a struct ibv_device.
type IBVDevice struct {
	Name          string // ibv_get_device_name
	DevName       string // of its node in /dev/infiniband
	GUID          [8]byte
	TransportType IBVTransportType
}

// IBVDeviceAttr is some of a struct ibv_device_attr.
type IBVDeviceAttr struct {
	FirmwareVersion string
	PhysPortCount   int
}

// IBVPortAttr is some of a struct ibv_port_attr.
type IBVPortAttr struct {
	State     IBVPortState
	PhysState uint8
	LinkLayer IBVLinkLayer
	MaxMTU    uint32 // enum ibv_mtu
	ActiveMTU uint32 // enum ibv_mtu
	GIDTblLen int
	LID       uint16
}

// IBVGetDeviceList lists the devices that the library has a driver for.
//
// Calls:
//
//	struct ibv_device **ibv_get_device_list(int *num_devices)
func IBVGetDeviceList() (list IBVDeviceList, count int, errno syscall.Errno) {
	var cList C.goudat_handle
	var n C.int
	ret := C.goudat_ibv_get_device_list(&cList, &n)
	return IBVDeviceList(cList), int(n), syscall.Errno(ret)
}

// IBVFreeDeviceList frees a list. Devices that are open stay so.
//
// Calls:
//
//	void ibv_free_device_list(struct ibv_device **list)
func IBVFreeDeviceList(list IBVDeviceList) { C.goudat_ibv_free_device_list(C.goudat_handle(list)) }

// Device describes the device at index i of the list.
//
// Calls:
//
//	const char *ibv_get_device_name(struct ibv_device *device)
//	__be64 ibv_get_device_guid(struct ibv_device *device)
func (list IBVDeviceList) Device(i int) IBVDevice {
	device := C.goudat_ibv_device(C.goudat_handle(list), C.int(i))
	d := IBVDevice{
		Name:          C.GoString(C.ibv_get_device_name(device)),
		DevName:       C.GoString(&device.dev_name[0]),
		TransportType: IBVTransportType(device.transport_type),
	}
	guid := C.ibv_get_device_guid(device)
	copy(d.GUID[:], unsafe.Slice((*byte)(unsafe.Pointer(&guid)), len(d.GUID)))
	return d
}

// IBVOpenDevice opens the device at index i of the list.
//
// Calls:
//
//	struct ibv_context *ibv_open_device(struct ibv_device *device)
func IBVOpenDevice(list IBVDeviceList, i int) (IBVContext, syscall.Errno) {
	var context C.goudat_handle
	ret := C.goudat_ibv_open_device(C.goudat_handle(list), C.int(i), &context)
	return IBVContext(context), syscall.Errno(ret)
}

// IBVCloseDevice closes a device.
//
// Calls:
//
//	int ibv_close_device(struct ibv_context *context)
func IBVCloseDevice(context IBVContext) syscall.Errno {
	return syscall.Errno(C.goudat_ibv_close_device(C.goudat_handle(context)))
}

// IBVQueryDevice returns the attributes of a device.
//
// Calls:
//
//	int ibv_query_device(struct ibv_context *context,
//	                     struct ibv_device_attr *device_attr)
func IBVQueryDevice(context IBVContext) (IBVDeviceAttr, syscall.Errno) {
	var attr C.struct_ibv_device_attr
	ret := C.goudat_ibv_query_device(C.goudat_handle(context), &attr)
	return IBVDeviceAttr{
		FirmwareVersion: C.GoString(&attr.fw_ver[0]),
		PhysPortCount:   int(attr.phys_port_cnt),
	}, syscall.Errno(ret)
}

// IBVQueryPort returns the attributes of a port; the first is 1.
//
// Calls:
//
//	int ibv_query_port(struct ibv_context *context, uint8_t port_num,
//	                   struct ibv_port_attr *port_attr)
func IBVQueryPort(context IBVContext, port uint8) (IBVPortAttr, syscall.Errno) {
	var attr C.struct_ibv_port_attr
	ret := C.goudat_ibv_query_port(C.goudat_handle(context), C.uint8_t(port), &attr)
	return IBVPortAttr{
		State:     IBVPortState(attr.state),
		PhysState: uint8(attr.phys_state),
		LinkLayer: IBVLinkLayer(attr.link_layer),
		MaxMTU:    uint32(attr.max_mtu),
		ActiveMTU: uint32(attr.active_mtu),
		GIDTblLen: int(attr.gid_tbl_len),
		LID:       uint16(attr.lid),
	}, syscall.Errno(ret)
}

// IBVQueryGID returns an entry of a port's table of GIDs, zeros where there is
// none.
//
// Calls:
//
//	int ibv_query_gid(struct ibv_context *context, uint8_t port_num,
//	                  int index, union ibv_gid *gid)
func IBVQueryGID(context IBVContext, port uint8, index int) ([16]byte, syscall.Errno) {
	var gid [16]byte
	ret := C.goudat_ibv_query_gid(C.goudat_handle(context), C.uint8_t(port), C.int(index), unsafe.Pointer(&gid))
	return gid, syscall.Errno(ret)
}

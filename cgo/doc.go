// Package cgo is goudat's raw layer: one Go function for each function that the
// native uDAPL library exports, with opaque handles, the constants and the
// structures of the C headers, and accessors for the data of an event.
//
// It adds no policy and keeps no state: what the library does, this package
// does, crashes included. A freed or foreign handle, a wrong length or a second
// thread at the wrong moment can end the process. Programs import package udat,
// which is safe; this package is for udat and for studying the library.
//
// dat_ep_create is EPCreate, dat_evd_dequeue is EVDDequeue, and so on. A
// function that does not return Success has no other result.
package cgo

//go:generate go tool -modfile=../scripts/tools/go.mod stringer -linecomment -output=enum_string.go -type=EPState,EventNumber,DTOStatus,DTO,ReturnType,ReturnSubtype,ServiceType,MemType,VAType,RMRScope,Extension,QOS,IOVOwnership,EPCreatorForPSP,PZSupport

// Package cgo is goudat's raw layer: one Go function for each function that the
// native uDAPL library exports, with opaque handles, the constants and the
// structures of the C headers, and accessors for the data of an event.
//
// The few functions of libibverbs that describe devices are IBVGetDeviceList and so
// on; those that a provider's library exports are ProviderInit and ProviderFini.
//
// It adds no policy and keeps no state: what the library does, this package
// does, crashes included. A freed or foreign handle, a wrong length or a second
// thread at the wrong moment can end the process. Programs import package udat,
// which is safe; this package is for udat and for studying the library.
//
// dat_ep_create is EPCreate, dat_evd_dequeue is EVDDequeue, and so on. A
// function that does not return Success has no other result, unless its comment
// says so. The example of package scripts/dapl/devicetest is a whole program.
//
// It needs 64-bit Linux and cgo: the structures are laid out as in C there, and
// have not been compared with those of 32-bit C. Any other build has the same
// names, and functions that only fail: see Available.
package cgo

//go:generate go run ../scripts/trials/withoutcgo

//go:generate env GOWORK=off go tool -modfile=../scripts/tools/go.mod stringer -linecomment -output=enum_string.go -type=EPState,EventNumber,ConnectionEvent,AsyncEvent,DTOStatus,DTO,ReturnClass,ReturnType,ReturnSubtype,IBReturn,ServiceType,MemType,VAType,RMRScope,Extension,QOS,IOVOwnership,EPCreatorForPSP,PZSupport,HandleType,SRQState,IBOp,IBExtType,IBStatus,ProxyType

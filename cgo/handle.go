//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#include "goudat/handle.h"

#cgo noescape goudat_get_consumer_context
#cgo noescape goudat_get_handle_type
#cgo nocallback goudat_get_handle_type
#cgo noescape goudat_get_ia_handle
*/
import "C"

// SetConsumerContext keeps a value with an object. The providers do so for
// every kind. To unpatched ones the handles of CNO and SRQ are invalid
// here, too.
//
//	Implements: DAT_RETURN dat_set_consumer_context(IN DAT_HANDLE dat_handle,
//	    IN DAT_CONTEXT context)
func SetConsumerContext(handle Handle, context uint64) Return {
	return Return(C.goudat_set_consumer_context(C.goudat_handle(handle), C.uint64_t(context)))
}

// GetConsumerContext returns the value that SetConsumerContext set, 0 before
// that.
//
//	Implements: DAT_RETURN dat_get_consumer_context(IN DAT_HANDLE dat_handle,
//	    OUT DAT_CONTEXT *context)
func GetConsumerContext(handle Handle) (uint64, Return) {
	var context C.uint64_t
	r := C.goudat_get_consumer_context(C.goudat_handle(handle), &context)
	return uint64(context), Return(r)
}

// GetHandleType returns the kind of object. To unpatched providers the handles of
// CNOs and SRQs are invalid here.
//
//	Implements: DAT_RETURN dat_get_handle_type(IN DAT_HANDLE dat_handle,
//	    OUT DAT_HANDLE_TYPE *handle_type)
func GetHandleType(handle Handle) (HandleType, Return) {
	var handleType C.DAT_HANDLE_TYPE
	r := C.goudat_get_handle_type(C.goudat_handle(handle), &handleType)
	return HandleType(handleType), Return(r)
}

// GetIAHandle returns the provider's own handle of the adapter that the
// registry knows by a small number, and the other way round.
//
//	Implements: DAT_RETURN dats_get_ia_handle(IN DAT_IA_HANDLE handle,
//	    OUT DAT_IA_HANDLE *ia_handle)
func GetIAHandle(handle IAHandle) (IAHandle, Return) {
	var ia C.goudat_handle
	r := C.goudat_get_ia_handle(C.goudat_handle(handle), &ia)
	return IAHandle(ia), Return(r)
}

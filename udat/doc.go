// Package udat is a Go binding for uDAPL, the user-level Direct Access Transport
// API: RDMA over InfiniBand, RoCE and iWARP through the native library libdat2
// and its OpenFabrics providers.
//
// # Names
//
// Find a C function by its name: dat_ep_post_send is EP.PostSend,
// dat_evd_dequeue is EVD.Dequeue. Functions that create are functions of the
// package: dat_ep_create is CreateEP, dat_ia_open is Open, dat_lmr_create is
// RegisterMemory and AllocMemory. The String of a constant is its C name.
//
// # Objects
//
// Everything is made on an interface adapter (IA), which Open finds by the name of an entry in dat.conf, of a device or
// of a network interface. An endpoint (EP) has a protection zone (PZ), which decides what memory (LMR) it reaches, and
// event dispatchers (EVD) for the completions of its receives, for those of its requests, and for the events of its
// connection. The active side connects an endpoint; the passive side listens on a service point (PSP), gets a
// connection request (CR) and accepts it on an endpoint. A notification object (CNO) says which of several event
// dispatchers have events.
//
// Each object has one Free, an adapter has Close. An object that others use
// cannot be freed; the error names them. A call on an object that is freed,
// nil, or a zero value is an error, ErrInvalidHandle, and never reaches the
// library.
//
// The garbage collector frees none of them. Living lists those that are alive,
// with the lines of the program that made them; an adapter that the program has
// dropped is reported, see OnLeak.
//
// # Errors and events
//
// A call that fails returns an *Error, which matches by type, by subtype and
// the standard errors of the same meaning. What happens later is an Event, on
// an EVD; Event.Err says whether something failed: a DTOStatus, a
// ConnectionEvent or an AsyncEvent.
//
// # Goroutines
//
// All methods may be called from any goroutine. Posts in one direction on an
// endpoint take turns, and wait while the endpoint is disconnected, modified or
// reset. They do not wait for posts on other endpoints. Thousands of goroutines may
// be in EVD.Wait or CNO.Wait: all but a few of them hold no thread.
//
// # Assertions
//
// With the environment variable UDAT_ASSERT set to panic or log, or after
// SetAssertions, the state of each endpoint is compared at its calls and events
// with what the specification says it must be. A difference, which is a fault of
// the native library or of this package, is an AssertionError: it tells what led
// there. That is for tests: it costs time at each operation. Otherwise it costs
// nothing but a look at a pointer.
//
// # The native library
//
// Where the library breaks its own specification, or the process, udat does
// what the specification promises, or returns an error. The library prints
// messages of its own: set DAT_DBG_TYPE and DAPL_DBG_TYPE to 0 before the
// program starts to silence them. A child process that is forked, but does not
// exec, must not touch an adapter.
package udat

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
// Each object has one Free, an adapter has Close. While others use an object,
// Free fails with ErrInvalidState and names them; the second time it fails with
// ErrClosed. Any call on an object that is freed, nil, or a zero value is an error,
// ErrInvalidHandle, and never reaches the library. The garbage collector frees no
// object: Living lists those that are alive. UDAT_LEAKS=print in the environment prints
// an adapter that the program has dropped; SetLogHandler's handler gets a record of it.
//
// # Errors and events
//
// A call that fails returns an *Error, which matches by type, by subtype and
// the standard errors of the same meaning. What happens later is an Event, on
// an EVD; Event.Err says whether something failed, with a DTOStatus or an EventNumber.
//
// # Goroutines
//
// All methods may be called from any goroutine. Posts in one direction on an
// endpoint take turns, see EP, and do not wait for other endpoints. Thousands of
// goroutines may be in EVD.Wait or CNO.Wait: all but a few of them hold no thread.
//
// # Assertions
//
// UDAT_ASSERT=panic or UDAT_ASSERT=log in the environment, or SetAssertions, has the
// states of endpoints compared with the specification. The error tells what
// led to a difference, which is a fault of the native library or of this package.
//
// # The native library
//
// The library prints messages of its own: DAT_DBG_TYPE=0 and DAPL_DBG_TYPE=0 in the
// environment silence them. A child process that is forked, but does not exec, must not
// touch an adapter.
package udat

// Package udat is a Go binding for uDAPL, the user-level Direct Access Transport API: RDMA over
// InfiniBand, RoCE and iWARP through the native library libdat2 and its OpenFabrics providers.
//
// # Names
//
// Find a C function by its name: dat_ep_post_send is EP.PostSend. Functions that create objects are
// functions of the package: dat_ep_create is CreateEP, dat_ia_open is Open, dat_lmr_create is
// RegisterMemory and AllocMemory. The String of a constant is its C name.
//
// # Objects
//
// All objects are created on an interface adapter (IA). An endpoint (EP) reaches the memory (LMR)
// of its protection zone (PZ). Its events go to event dispatchers (EVD): one for receives, one for
// requests, one for its connection. The active side connects an endpoint. The passive side listens
// on a service point (PSP), gets a connection request (CR) and accepts it on an endpoint. A
// notification object (CNO) reports which of several event dispatchers have events.
//
// Each object has one Free; an adapter has Close. Free of an object in use fails with
// ErrInvalidState and names the users. Calls on a freed object match ErrClosed. Calls on freed
// objects, nil and zero values match ErrInvalidHandle and never reach the library. The garbage
// collector frees no object: Living lists those that are alive. UDAT_LEAKS=print in the environment
// prints an adapter that the program dropped without Close; SetLogHandler logs it.
//
// # Errors and events
//
// A call that fails returns an *Error, which matches by type, by subtype and by the standard errors
// of the same meaning. Everything later is an Event on an EVD; Event.Err returns a failure as a
// DTOStatus or an EventNumber.
//
// # Goroutines
//
// Any goroutine may call any method. Posts to one queue of an endpoint take turns, see EP, and do
// not wait for other endpoints. Thousands of goroutines may wait in EVD.Wait or CNO.Wait; all but a
// few hold no thread.
//
// # The native library
//
// DAT_DBG_TYPE=0 and DAPL_DBG_TYPE=0 in the environment silence the messages of the library. A
// child process that is forked without exec must not touch an adapter.
package udat

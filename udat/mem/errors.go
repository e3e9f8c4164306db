package mem

import (
	"fmt"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
)

// registerOp is the call that errors of what registers memory name.
const registerOp = "dat_lmr_create"

// refuse makes the error of a call that the library does not see.
func refuse(op string, t udat.ReturnType, s udat.ReturnSubtype, format string, args ...any) *udat.Error {
	return &udat.Error{Op: op, Return: udat.Return(cgo.ClassError) | udat.Return(t) | udat.Return(s), Detail: fmt.Sprintf(format, args...)}
}

// closedError makes the error of a call on what was freed.
func closedError(op string, s udat.ReturnSubtype, detail string) error {
	e := refuse(op, udat.ErrInvalidHandle, s, "%s", detail)
	e.Err = udat.ErrClosed
	return e
}

// checkMemory and checkPrivileges refuse early what udat.RegisterMemory would.

func checkMemory(memory []byte) error {
	if len(memory) == 0 {
		return refuse(registerOp, udat.ErrInvalidParameter, udat.InvalidArg4, "the memory is empty: it must have at least one byte")
	}
	return nil
}

func checkPrivileges(privileges udat.MemPriv) error {
	const known = udat.MemPrivAll | udat.MemPrivIBRemoteAtomic
	switch {
	case privileges == 0 || privileges&^known != 0:
		return refuse(registerOp, udat.ErrInvalidParameter, udat.InvalidArg6, "the privileges are %v, they must be some of MemPrivLocalRead, MemPrivLocalWrite, MemPrivRemoteRead, MemPrivRemoteWrite and MemPrivIBRemoteAtomic", privileges)
	case privileges&(udat.MemPrivRemoteWrite|udat.MemPrivIBRemoteAtomic) != 0 && privileges&udat.MemPrivLocalWrite == 0:
		return refuse(registerOp, udat.ErrInvalidParameter, udat.InvalidArg6, "remote writes and atomic operations need local write: add MemPrivLocalWrite to the privileges, which are %v", privileges)
	}
	return nil
}

// Package problem has the reasons why a machine does not do what a program asks for, which are
// device.Problem.
package problem

import "io/fs"

//go:generate env GOWORK=off go tool -modfile=../../../scripts/tools/go.mod stringer -linecomment -output=enum_string.go -type=Problem

// NativeCommand builds the native library, in the folder of a module that requires goudat.
const NativeCommand = `bash "$(go list -m -f '{{.Dir}}' github.com/goudat/goudat)/scripts/native"`

// Problem is a reason.
type Problem uint8

// The problems.
const (
	Unknown           Problem = iota // unknown problem
	NoEntry                          // no entry in the registry
	BadEntry                         // unusable entry in the registry
	NoLibrary                        // no library of the provider
	NoDevice                         // no such RDMA device
	NoDriver                         // no driver in libibverbs
	NoNode                           // no device file
	NoPermission                     // no permission
	NoPort                           // no such port
	PortDown                         // port not active
	WrongInterface                   // wrong network interface
	WrongProvider                    // wrong provider for the device
	NoAddress                        // no address
	NoGID                            // no usable GID
	ThreadLimit                      // no more threads
	MemlockLimit                     // limit on locked memory too low
	FileLimit                        // limit on open files too low
	ReadOnlyMemory                   // read-only memory
	UnreadableMemory                 // unreadable memory
	UnmappedMemory                   // unmapped memory
	FileEnd                          // memory behind the end of its file
	UnpinnableFile                   // file that cannot be pinned
	NoRoom                           // no room on the device or in the kernel
	GroupLimit                       // limit of the control group reached
	RefusedAttributes                // attributes that the device refuses
	AddressGone                      // address that no interface has any more
	NoPorts                          // no free port
	Credentials                      // changed credentials of the process
	WrongLibrary                     // wrong native library
)

// Error returns the problem in a few words.
func (p Problem) Error() string { return p.String() }

// Is implements the matching of fs.ErrPermission.
func (p Problem) Is(target error) bool {
	return p == NoPermission && target == fs.ErrPermission
}

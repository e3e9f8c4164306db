package udat

import "github.com/goudat/goudat/cgo"

// Return is a DAT_RETURN: class, type and subtype in one number. OK reports
// whether it is a success, which the class does not: the providers leave it out
// of many codes.
type Return uint32

// classError is the class of the codes that the binding makes.
const classError = Return(cgo.ClassError)

// Class returns the class part as it stands, ClassSuccess where the provider has
// left it out.
func (r Return) Class() ReturnClass { return ReturnClass(cgo.Return(r).Class()) }

// Type returns the type part.
func (r Return) Type() ReturnType { return ReturnType(cgo.Return(r).Type()) }

// Subtype returns the subtype part, NoSubtype where there is none.
func (r Return) Subtype() ReturnSubtype { return ReturnSubtype(cgo.Return(r).Subtype()) }

// OK reports whether the call succeeded.
func (r Return) OK() bool { return cgo.Return(r).OK() }

// IB returns the code without its class, for comparison with those that the
// InfiniBand extensions have added to the type ErrExtensionBase.
func (r Return) IB() IBReturn { return IBReturn(cgo.Return(r).IB()) }

// String returns the C names of type and subtype.
func (r Return) String() string { return cgo.Return(r).String() }

// ReturnClass is the class part of a DAT_RETURN. Each value but ClassSuccess is
// an error that matches, with errors.Is, any Error of that class. The providers
// leave the class out of many codes: ClassError matches those as well.
type ReturnClass uint32

// String returns the C name.
func (v ReturnClass) String() string { return cgo.ReturnClass(v).String() }

// Error returns the C name.
func (v ReturnClass) Error() string { return v.String() }

// The classes.
const (
	ClassSuccess ReturnClass = ReturnClass(cgo.ReturnClassSuccess) // DAT_CLASS_SUCCESS
	ClassWarning ReturnClass = ReturnClass(cgo.ReturnClassWarning) // DAT_CLASS_WARNING
	ClassError   ReturnClass = ReturnClass(cgo.ReturnClassError)   // DAT_CLASS_ERROR
)

// ReturnType is the type part of a DAT_RETURN. Each value is an error that
// matches, with errors.Is, any Error of that type whatever its subtype.
//
//constants:doc The errors by type. What the extensions of all transports have added is of the
//constants:doc type ErrExtensionBase; IBReturn tells more.
//constants:without Success
//constants:prefix Err
//constants:error
type ReturnType uint32

// Return returns the code that has the type and nothing else.
func (v ReturnType) Return() Return { return Return(v) }

// ReturnSubtype is the subtype part of a DAT_RETURN. Each value but NoSubtype
// is an error that matches, with errors.Is, any Error of that subtype. Those of
// the type ErrExtensionBase have none.
//
//constants:doc The errors by subtype.
//constants:error
type ReturnSubtype uint32

// IBReturn is a code of the InfiniBand extensions. Each value is an error that
// matches, with errors.Is, an Error with exactly that code.
type IBReturn uint32

// String returns the C name.
func (v IBReturn) String() string { return cgo.IBReturn(v).String() }

// Error returns the C name.
func (v IBReturn) Error() string { return v.String() }

// The errors of the InfiniBand extensions.
const (
	ErrIB           IBReturn = IBReturn(cgo.IBErr)           // DAT_IB_ERR
	ErrIBCollective IBReturn = IBReturn(cgo.IBCollectiveErr) // DAT_IB_COLLECTIVE_ERR
)

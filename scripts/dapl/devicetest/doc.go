// Package devicetest has tests of package cgo that need a uDAPL device. They call each function of the raw layer at
// least once, and compare the library's behavior with the wrapper's comment. They make no calls that would crash, hang
// or damage the process. The tests of package cgo itself need no device.
package devicetest

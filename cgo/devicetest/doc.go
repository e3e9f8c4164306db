// Package devicetest has tests of package cgo that need a uDAPL device: they
// call each function of the raw layer at least once and compare what the
// library does with what the wrapper's comment says. Calls that would crash the
// process, hang it or leave it damaged are not made. The tests of package cgo
// itself need no device.
package devicetest

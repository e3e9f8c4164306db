// Package mem has what programs do with registered memory again and again: pools of registered
// buffers, a cache of registrations for long messages, and bytes and words that peers write and the
// program polls. It stands on the exported API of package udat.
package mem

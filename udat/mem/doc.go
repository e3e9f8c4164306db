// Package mem has pools of registered buffers, a cache of registrations for long messages, and
// bytes and words that peers write and the program polls. It uses only the exported API of package
// udat.
package mem

//go:build linux

package main

// sysFinitModule is the number of finit_module; package syscall is older than the call.
const sysFinitModule = 273

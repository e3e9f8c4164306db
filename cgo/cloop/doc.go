// Package cloop makes a native call again and again in one crossing into C: what the call costs in C, for benchmarks that
// compare. It is no part of the binding.
package cloop

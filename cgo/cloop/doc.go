// Package cloop makes a native call repeatedly in one crossing into C, so that benchmarks can compare with the call's
// cost in C. It is no part of the binding.
package cloop

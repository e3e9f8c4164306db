package control

// This package is a copy of one of the test bed's, which is a module of its own: programs that use it need no second module.
//
//go:generate bash -euc "for file in control device local protocol; do { printf '// Code generated from scripts/vm/control; DO NOT EDIT.\n\n'; cat ../../../scripts/vm/control/${DOLLAR}file.go; } >${DOLLAR}file.go; done"

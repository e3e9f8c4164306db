//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#cgo CFLAGS: -I${SRCDIR}/../include
#cgo LDFLAGS: -ldat2
#include "goudat/native.h"
*/
import "C"

// The headers are in a package so that "go mod vendor" copies them and a change of them counts.
import _ "github.com/goudat/goudat/include/goudat"

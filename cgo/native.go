//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#cgo CFLAGS: -I${SRCDIR}/../include
#cgo pkg-config: goudat
#include "goudat/native.h"
*/
import "C"

// So "go mod vendor" copies the headers, and a change of one has this package compiled again.
import _ "github.com/goudat/goudat/include/goudat"

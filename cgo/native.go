//go:build linux && !(386 || arm || mips || mipsle)

package cgo

/*
#cgo CFLAGS: -I${SRCDIR}/../include
#cgo !goudat_static pkg-config: goudat
#cgo goudat_static pkg-config: goudat-static
#cgo goudat_static CFLAGS: -DGOUDAT_STATIC
#include "goudat/native.h"
*/
import "C"

// So "go mod vendor" copies the headers, and a change of one has this package compiled again.
import _ "github.com/goudat/goudat/include/goudat"

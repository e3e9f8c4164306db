package cgo

/*
#cgo CFLAGS: -I${SRCDIR}/../include
#cgo LDFLAGS: -ldat2
#include "goudat/native.h"
*/
import "C"

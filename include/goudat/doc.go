// Package goudat has no Go code: it makes "go mod vendor" copy the C headers
// beside this file, which package cgo includes.
package goudat

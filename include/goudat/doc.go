// Package goudat has the C headers that package cgo includes. They are in a package so
// that "go mod vendor" copies them. They are embedded so that the go command compiles
// package cgo again when one of them changes.
package goudat

import "embed"

//go:embed *.h
var _ embed.FS

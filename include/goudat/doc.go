// Package goudat has the C headers that package cgo includes. That "go mod vendor" copies
// them, and that a changed header has "go build" compile package cgo again, needs a
// package that is made from them.
package goudat

import "embed"

//go:embed *.h
var _ embed.FS

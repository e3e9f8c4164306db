// Package pages lets package mem read memory of a region that another goroutine may free meanwhile.
package pages

// Of returns the pages of a *udat.LMR from AllocMemory or AllocHugeMemory. They stay mapped while
// it is reachable, even after Free. Of returns nil for other memory and for a freed region. Package
// udat sets it.
var Of func(lmr any) []byte

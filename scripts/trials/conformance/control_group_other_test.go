//go:build !linux

package conformance

func (t *trial) limitObjects() (lift func(), ok bool) { return nil, false }

package udat

// renewAfterFailedAccept replaces the native endpoint of an Accept that has failed with
// err, and returns err, or the error of the replacement. The library leaves the native
// endpoint with a dangling address, and only a reset makes it usable again with the CMA
// provider. The caller holds control.
func (ep *EP) renewAfterFailedAccept(op string, err error) error {
	n := ep.native.Load()
	n.connection.TakeKept() // the program gets the error, and no event of this attempt
	if renewErr := ep.renew(op, n.copyParts(), EPStateUnconnected, reposted); renewErr != nil {
		return renewErr
	}
	return err
}

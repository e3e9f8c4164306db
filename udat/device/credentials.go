package device

// Credentials says that the process has changed its credentials since it opened the file of a
// device, nil if all is well.
func Credentials() error { return credentialsProblem(nodesFolder) }

// ConnectionManager is Credentials for the file of the CMA provider's connection manager.
func ConnectionManager() error { return credentialsProblem(connectionManagerNode) }

package stream

import "time"

// SetKeepAlive changes how often connections that are made from now on look for their peers.
func SetKeepAlive(every time.Duration) { keepAlive = every }

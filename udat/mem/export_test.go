package mem

import "time"

// LooksAtOnce is how often PeerByte.SpinUntil looks without a budget.
const LooksAtOnce = looksAtOnce

// LastYield returns when a goroutine that spins last let others run.
func LastYield() time.Duration { return time.Duration(lastYield.Load()) }

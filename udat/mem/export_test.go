package mem

import "time"

// LooksAtOnce is how often PeerByte.SpinUntil looks without a budget.
const LooksAtOnce = looksAtOnce

// TurnBegun returns when a goroutine that spins last let others run.
func TurnBegun() time.Duration { return time.Duration(turnBegun.Load()) }

// Package callcost has BenchmarkCall: what calls without a network cost in C and in Go. scripts/bench --calls runs it.
package callcost

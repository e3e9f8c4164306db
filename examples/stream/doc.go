// Package stream carries streams of bytes over RDMA: a net.Conn and a net.Listener over package udat, for net/http, gRPC
// and other programs that take connections as Go has them. The README says how it works and what its limits are.
package stream

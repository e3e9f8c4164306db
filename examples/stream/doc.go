// Package stream carries streams of bytes, net.Conn and net.Listener, over RDMA connections of package udat.
package stream

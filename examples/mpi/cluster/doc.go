// Package cluster has the tests of package mpi on several machines, which start
// the ranks as clusters do: with MPICH's mpiexec.hydra, whose remote shell the
// tests have within themselves.
//
//	go test -exec "$PWD/scripts/testbed --machines 2 --plain-rank 0" ./examples/mpi/cluster
//
// The same program runs on all machines. On the first it is the tests; on the
// others it serves the remote shell until they are over.
package cluster

// Package cluster has the tests of package mpi on several machines. They start the ranks as clusters do, with MPICH's
// mpiexec.hydra. The remote shell that it needs is part of the tests.
//
//	go test -exec "$PWD/scripts/testbed --machines 2 --plain-rank 0" ./examples/mpi/cluster
//
// The same program runs on all machines. On the first it runs the tests; on the others it serves the remote shell
// until they are done.
package cluster

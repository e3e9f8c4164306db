// Package mpi passes messages between the ranks of a parallel program. Its calls are those of MPI's core, and it is
// built on package udat. See ../shims.md for how it works.
//
// A program calls Init in each process that a launcher has started: mpiexec.hydra, srun, or package launch. It sends
// and receives slices of any kind of number. Numbers travel in the machine's own byte order.
package mpi

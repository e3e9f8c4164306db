// Package mpi passes messages between the ranks of a parallel program, in the
// shape of MPI's core, over package udat.
//
// A program calls Init in each of the processes that a launcher has started:
// mpiexec.hydra, srun, or package launch. Slices of any kind of number are sent and received: Send, Recv, Isend, Irecv,
// Wait, Waitall, Sendrecv, Probe; Barrier, Bcast, Reduce, Allreduce, Gather,
// Scatter, Allgather and Alltoall are for all ranks of a communicator at once.
// Numbers travel in the machine's own byte order.
//
// # Protocol
//
// Two ranks connect when one first sends to the other. Each side of a connection
// keeps slotCount receives posted. A message takes one of them, and the right to send
// it is a credit; credits return in the header of every message, and in one of
// their own when many are owed.
//
// A short message is eager: it is copied into a registered slot and sent, and
// copied out of the receiver's slot, to its receive if that is posted, else to
// memory where it waits for one. The numbers of a long message stay where they
// are: their memory is registered and offered; when the receive is there, the
// receiver registers its own, reads across by RDMA, in pieces, and says that the
// numbers are taken, which ends the send. Messages and offers are on one
// connection, which keeps their order, and so none overtakes another.
//
// A goroutine takes the events of the adapter, so that all this goes on while the
// program computes.
//
// # Failures
//
// When the process of a rank ends before its World is closed, its connections end,
// and those that notice tell all others. Every operation of theirs, with whatever
// rank, then fails with a RankError, within seconds.
package mpi

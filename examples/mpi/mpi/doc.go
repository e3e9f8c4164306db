// Package mpi passes messages between the ranks of a parallel program. Its calls are those of MPI's core, and it is
// built on package udat.
//
// A program calls Init in each process that a launcher has started: mpiexec.hydra, srun, or package launch. It sends
// and receives slices of any kind of number: Send, Recv, Isend, Irecv, Wait, Waitall, Sendrecv, Probe. All ranks of a
// communicator take part in Barrier, Bcast, Reduce, Allreduce, Gather, Scatter, Allgather and Alltoall. The slices
// that a collective operation sends from and receives in may overlap, as for MPI's operations in place. Numbers travel
// in the machine's own byte order.
//
// # Protocol
//
// Two ranks connect when one first sends to the other. A short message is one RDMA write into a ring in the
// receiver's memory. The receiver finds it by looking there. A message that is too long for the ring, or that must
// wake a receiver that sleeps, is eager: it is copied into a registered slot, sent, and arrives in a shared receive
// queue. Each receiver grants its peers some of the queue's receives; the right to send one eager message is a
// credit. What a receiver has read and granted travels in the header of every message, and in an RDMA write of its
// own when there is no message to carry it.
//
// Messages that arrive before their receive is posted are copied to memory and wait there. The numbers of a long
// message stay where they are: the sender registers their memory and offers it. Once the receive is posted, the
// receiver registers its own memory, reads the numbers in pieces by RDMA, and tells the sender that it has them,
// which ends the send. Messages and offers carry numbers by which the receiver puts them in order, so that none
// overtakes another.
//
// A goroutine handles the events of the adapter, so that transfers continue while the program computes.
//
// # Failures
//
// When the process of a rank ends before its World is closed, its connections end, and the ranks that notice tell all
// others. Every operation on every rank then fails with a RankError within seconds.
package mpi

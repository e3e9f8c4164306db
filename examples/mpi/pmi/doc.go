// Package pmi speaks PMI-1, the wire protocol between the processes of a message-passing program and their launcher:
// mpiexec.hydra, srun, flux, or package launch. Each process has a rank. It stores values under keys, waits in a
// barrier until the others have stored theirs, and reads those.
//
// A message is a line of words, each a key, an equal sign and a value. The first word is cmd. The process asks and
// the launcher answers, one question at a time.
package pmi

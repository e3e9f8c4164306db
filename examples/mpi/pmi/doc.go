// Package pmi speaks PMI-1, the wire protocol between the processes of a
// message-passing program and what has started them: mpiexec.hydra, srun, flux,
// or package launch. A process has a rank among so many, puts values under keys,
// waits in barriers until the others have put theirs, and gets those.
//
// A message is a line of words, each a key, an equal sign and a value. The first
// word is cmd. The process asks and the launcher answers, so that one question
// is under way at a time.
package pmi

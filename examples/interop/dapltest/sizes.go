package main

// The lengths of event dispatchers are those of the C program.
const (
	serverQueue = 32
	clientQueue = 8
	testQueue   = 8
)

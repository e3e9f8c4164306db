module github.com/goudat/goudat/examples/stream

go 1.24.0

require (
	github.com/goudat/goudat v0.0.0
	golang.org/x/net v0.46.0
)

replace github.com/goudat/goudat => ../..

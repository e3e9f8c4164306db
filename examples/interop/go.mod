module github.com/goudat/goudat/examples/interop

go 1.24

require (
	github.com/google/go-cmp v0.7.0
	github.com/goudat/goudat v0.1.0
)

replace github.com/goudat/goudat => ../..

module github.com/goudat/goudat/examples/mpi

go 1.24

require github.com/goudat/goudat v0.1.0

replace github.com/goudat/goudat => ../..

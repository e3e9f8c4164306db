module github.com/goudat/goudat/scripts/vm

go 1.24

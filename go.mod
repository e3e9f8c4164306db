module github.com/goudat/goudat

go 1.24

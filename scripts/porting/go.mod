module github.com/goudat/goudat/scripts/porting

go 1.24.0

require (
	github.com/tree-sitter/go-tree-sitter v0.25.0
	github.com/tree-sitter/tree-sitter-c v0.24.1
	golang.org/x/tools v0.42.0
)

require (
	github.com/mattn/go-pointer v0.0.1 // indirect
	golang.org/x/mod v0.33.0 // indirect
	golang.org/x/sync v0.19.0 // indirect
)

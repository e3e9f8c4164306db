module github.com/goudat/goudat/scripts/porting

go 1.24

require (
	github.com/tree-sitter/go-tree-sitter v0.25.0
	github.com/tree-sitter/tree-sitter-c v0.24.1
)

require github.com/mattn/go-pointer v0.0.1 // indirect

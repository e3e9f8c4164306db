module github.com/goudat/goudat/scripts/sidebyside

go 1.24

require github.com/goudat/goudat v0.0.0

replace github.com/goudat/goudat => ../..

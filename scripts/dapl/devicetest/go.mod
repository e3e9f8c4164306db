module github.com/goudat/goudat/scripts/dapl/devicetest

go 1.24

require (
	github.com/goudat/goudat v0.0.0
	github.com/goudat/goudat/scripts/vm v0.0.0
)

replace (
	github.com/goudat/goudat => ../../..
	github.com/goudat/goudat/scripts/vm => ../../vm
)

module github.com/goudat/goudat/scripts/streamtest

go 1.24.0

require (
	github.com/goudat/goudat v0.0.0
	github.com/goudat/goudat/scripts/vm v0.0.0
	golang.org/x/net v0.49.0
	google.golang.org/grpc v1.80.0
	google.golang.org/protobuf v1.36.12
)

require (
	golang.org/x/sys v0.40.0 // indirect
	golang.org/x/text v0.33.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260120221211-b8f7ae30c516 // indirect
)

replace (
	github.com/goudat/goudat => ../..
	github.com/goudat/goudat/scripts/vm => ../vm
)

module github.com/goudat/goudat/examples/stream

go 1.24.0

require (
	github.com/goudat/goudat v0.0.0
	golang.org/x/net v0.46.0
	google.golang.org/grpc v1.76.0
	google.golang.org/protobuf v1.36.6
)

require (
	golang.org/x/sys v0.37.0 // indirect
	golang.org/x/text v0.30.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20250804133106-a7a43d27e69b // indirect
)


package streamtest

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/goudat/goudat/udat/stream"
	"github.com/goudat/goudat/udat/udattest"
)

type message = wrapperspb.BytesValue

// echo is a service with a call and a stream in both directions, as protoc would make it.
var echo = grpc.ServiceDesc{
	ServiceName: "Echo",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Call", Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var m message
		return &m, decode(&m)
	}}},
	Streams: []grpc.StreamDesc{{StreamName: "Stream", ServerStreams: true, ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
		for {
			var m message
			if err := s.RecvMsg(&m); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			if err := s.SendMsg(&m); err != nil {
				return err
			}
		}
	}}},
}

// random returns bytes that differ for each seed.
func random(seed byte, length int) []byte {
	b := make([]byte, length)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

func serveGRPC(l net.Listener) *grpc.Server {
	server := grpc.NewServer()
	server.RegisterService(&echo, nil)
	go func() { _ = server.Serve(l) }()
	return server
}

// callEcho makes a call with a long message, and exchanges messages on a stream.
func callEcho(t *testing.T, a *stream.Adapter, server string) {
	ctx := udattest.Context(t)
	client, err := grpc.NewClient("passthrough:///"+server, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return a.Dial(ctx, "tcp", address) }))
	want(t, err)
	defer client.Close()
	sent, got := &message{Value: random(1, 3<<20)}, &message{}
	want(t, client.Invoke(ctx, "/Echo/Call", sent, got))
	if !bytes.Equal(got.Value, sent.Value) {
		t.Errorf("the answer has %d bytes, not those of the message", len(got.Value))
	}
	s, err := client.NewStream(ctx, &echo.Streams[0], "/Echo/Stream")
	want(t, err)
	for i := range 50 {
		sent := &message{Value: random(byte(i), i*1000)}
		want(t, s.SendMsg(sent))
		want(t, s.RecvMsg(got))
		if !bytes.Equal(got.Value, sent.Value) {
			t.Errorf("message %d came back with %d bytes", i, len(got.Value))
		}
	}
	want(t, s.CloseSend())
	if err := s.RecvMsg(got); err != io.EOF {
		t.Errorf("the stream ends with %v", err)
	}
}

func TestGRPC(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *stream.Adapter) {
		l := listen(t, a)
		server := serveGRPC(l)
		callEcho(t, a, l.Addr().String())
		server.GracefulStop()
	})
}

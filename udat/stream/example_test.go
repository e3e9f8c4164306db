package stream_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/goudat/goudat/udat/stream"
)

func Example() {
	a, err := stream.Open("eth0", nil) // any adapter that udat.Open knows
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	l, err := a.Listen(context.Background(), "rdma", ":0") // the server's side: a net.Listener
	if err != nil {
		log.Fatal(err)
	}
	go http.Serve(l, http.FileServer(http.Dir(".")))
	client := http.Client{Transport: &http.Transport{DialContext: a.Dial}} // the client's
	response, err := client.Get("http://" + l.Addr().String() + "/README.md")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Status)
}

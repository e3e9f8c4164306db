package stream_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/goudat/goudat/examples/stream"
	"github.com/goudat/goudat/udat/udattest"
)

func Example() {
	n, err := stream.Open("eth0") // any adapter that udat.Open knows
	if err != nil {
		log.Fatal(err)
	}
	defer n.Close()
	l, err := n.Listen(":0") // the server's side: a net.Listener
	if err != nil {
		log.Fatal(err)
	}
	go http.Serve(l, http.FileServer(http.Dir(".")))
	client := http.Client{Transport: &http.Transport{DialContext: n.DialContext}} // the client's
	response, err := client.Get("http://" + l.Addr().String() + "/README.md")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Status)
}

// TestReadme runs the example of the README over each adapter.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	want(t, err)
	source, err := os.ReadFile("example_test.go")
	want(t, err)
	_, block, _ := strings.Cut(string(readme), "```go\n")
	block, _, _ = strings.Cut(block, "```")
	for _, line := range strings.Split(strings.TrimSpace(block), "\n") {
		if !strings.Contains(string(source), strings.TrimSpace(line)) {
			t.Errorf("the example has no line %q", line)
		}
	}
	forEachNetwork(t, func(t *testing.T, n *stream.Network) {
		l, err := n.Listen(":0")
		want(t, err)
		go http.Serve(l, http.FileServer(http.Dir(".")))
		client := http.Client{Transport: &http.Transport{DialContext: n.DialContext}, Timeout: udattest.Patience}
		response, err := client.Get("http://" + l.Addr().String() + "/README.md")
		want(t, err)
		got, err := io.ReadAll(response.Body)
		want(t, err)
		if string(got) != string(readme) {
			t.Errorf("the server sent %d bytes of %d", len(got), len(readme))
		}
	})
}

package udattest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func TestMain(m *testing.M) { udattest.Main(m) }

func TestEcho(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		client, server := udattest.Pair(t, ia, nil)
		post := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		post(server.PostRecv([]udat.Segment{server.Segment(t, 0, 100)}, 1, 0))
		post(client.PostRecv([]udat.Segment{client.Segment(t, 1000, 100)}, 2, 0))

		n := copy(client.Memory.Bytes(), "hello")
		post(client.PostSend([]udat.Segment{client.Segment(t, 0, n)}, 3, 0))
		udattest.Completion(t, client.Request, 3)

		question := udattest.Completion(t, server.Recv, 1)
		post(server.PostSend([]udat.Segment{server.Segment(t, 0, int(question.Length))}, 4, 0))
		udattest.Completion(t, server.Request, 4)

		answer := udattest.Completion(t, client.Recv, 2)
		if got := string(client.Memory.Bytes()[1000:][:answer.Length]); got != "hello" {
			t.Errorf("the echo is %q", got)
		}
	})
}

// The example of the package's comment is the test above.
func TestExampleIsThis(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	this, err := os.ReadFile("echo_test.go")
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "func TestMain(", "\n}\n"
	_, code, _ := strings.Cut(string(this), begin)
	code, _, found := strings.Cut(begin+code, end)
	if !found {
		t.Fatal("this file has no TestEcho")
	}
	comment := strings.ReplaceAll("\n"+code+end, "\n", "\n//\t")
	comment = strings.ReplaceAll(strings.TrimSuffix(comment, "//\t"), "\n//\t\n", "\n//\n")
	if !strings.Contains(string(doc), comment) {
		t.Errorf("the package's comment does not have%s", comment)
	}
}

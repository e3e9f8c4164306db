package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/scripts/vm/wire"
)

// requests relays requests from programs in the machine to the test bed, and the answers.
type requests struct {
	to *wire.Conn

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan control.Reply
}

func listenForRequests(to *wire.Conn) (*requests, error) {
	if err := os.MkdirAll(filepath.Dir(control.Socket), 0o755); err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", control.Socket)
	if err != nil {
		return nil, fmt.Errorf("listen for requests to the test bed: %w", err)
	}
	r := &requests{to: to, waiting: map[uint64]chan control.Reply{}}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go r.serve(conn)
		}
	}()
	return r, nil
}

// serve handles one request after the other.
func (r *requests) serve(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		var request control.Request
		reply := control.Reply{}
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			reply.Error = fmt.Sprintf("the request is not understood: %v", err)
		} else {
			reply = r.ask(request)
		}
		if json.NewEncoder(conn).Encode(reply) != nil {
			return
		}
	}
}

func (r *requests) ask(request control.Request) control.Reply {
	answer := make(chan control.Reply, 1)
	r.mu.Lock()
	r.last++
	request.ID = r.last
	r.waiting[request.ID] = answer
	r.mu.Unlock()
	if err := r.to.SendValue(wire.KindRequest, request); err != nil {
		return control.Reply{Error: err.Error()}
	}
	return <-answer
}

func (r *requests) answer(reply control.Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if answer := r.waiting[reply.ID]; answer != nil {
		answer <- reply
		delete(r.waiting, reply.ID)
	}
}

// Deposit is the port of a C program, c/deposit.c, with the same functions in the same order, and talks to it. A client
// writes bytes into the memory of a server, by RDMA, and the server tells the sum of what it has got.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"log"
	"net"
	"os"
	"time"

	"github.com/goudat/goudat/udat"
)

const (
	magic       = 0x64657073 // begins a request
	maxBytes    = 64 << 20
	piece       = 64 << 10 // bytes of one RDMA write
	window      = 8        // writes outstanding at a time
	messageSize = 4        // bytes of a message
	waitTimeout = time.Minute
)

// Private data of the connect, big-endian. That of the accept is an RMRTriplet.
type request struct {
	Magic uint32
	Bytes uint32
}

// Other cookies are those of RDMA writes.
const (
	cookieSent     = 1 << 32
	cookieReceived = cookieSent + 1
)

type node struct {
	ia                      *udat.IA
	pz                      *udat.PZ
	connection, completions *udat.EVD
	ep                      *udat.EP

	lmr   *udat.LMR // the deposit, a message to send, one to receive
	bytes int

	written        int // RDMA writes that have completed
	sent, received bool
}

func check(err error) {
	if err != nil {
		log.Fatal(err) // it names the call, and why it failed
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func openNode(adapter string) *node {
	n := &node{ia: must(udat.Open(adapter))}
	n.pz = must(udat.CreatePZ(n.ia))
	n.connection = must(udat.CreateEVD(n.ia, 8, nil, udat.EVDConnection))
	n.completions = must(udat.CreateEVD(n.ia, 64, nil, udat.EVDDTO))
	n.ep = must(udat.CreateEP(n.ia, n.pz, n.completions, n.completions, n.connection, nil))
	return n
}

func (n *node) allocate(bytes int, remote udat.MemPriv) {
	n.bytes = bytes
	n.lmr = must(udat.RegisterMemory(n.pz, make([]byte, bytes+2*messageSize), udat.MemPrivLocalRead|udat.MemPrivLocalWrite|remote))
}

func (n *node) segment(offset, length int) []udat.Segment {
	return []udat.Segment{must(n.lmr.Segment(offset, length))} // which checks the bounds
}

func sum(memory []byte) uint32 {
	hash := fnv.New32a()
	hash.Write(memory)
	return hash.Sum32()
}

func limit() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), waitTimeout)
}

func (n *node) waitDisconnected() {
	ctx, cancel := limit()
	defer cancel()
	must(n.connection.Expect(ctx, udat.EventConnectionDisconnected))
}

func (n *node) progress() {
	ctx, cancel := limit()
	defer cancel()
	event := must(n.completions.Expect(ctx, udat.EventDTOCompletion)) // which fails for one of a failed operation, too
	switch event.Cookie {
	case cookieSent:
		n.sent = true
	case cookieReceived:
		n.received = true
	default:
		n.written++
	}
}

func (n *node) postReceive() {
	check(n.ep.PostRecv(n.segment(n.bytes+messageSize, messageSize), cookieReceived, udat.CompletionDefault))
}

func (n *node) sendMessage(value uint32) {
	binary.BigEndian.PutUint32(n.lmr.Bytes()[n.bytes:], value)
	check(n.ep.PostSend(n.segment(n.bytes, messageSize), cookieSent, udat.CompletionDefault))
}

func (n *node) message() uint32 {
	return binary.BigEndian.Uint32(n.lmr.Bytes()[n.bytes+messageSize:])
}

func (n *node) takeRequest(qual udat.ConnQual) *udat.CR {
	requests := must(udat.CreateEVD(n.ia, 8, nil, udat.EVDCR))
	must(udat.CreatePSP(n.ia, qual, requests))
	fmt.Printf("deposit: waiting for a client at qualifier %d\n", qual)
	cr := must(requests.Wait(context.Background())).CR()
	var r request
	_, err := binary.Decode(must(cr.Query()).PrivateData, binary.BigEndian, &r)
	if err != nil || r.Magic != magic || r.Bytes < 1 || r.Bytes > maxBytes {
		check(errors.Join(errors.New("the client is not a deposit client"), cr.Reject(nil)))
	}
	n.bytes = int(r.Bytes)
	return cr
}

func (n *node) acceptRequest(cr *udat.CR) {
	n.allocate(n.bytes, udat.MemPrivRemoteWrite)
	n.postReceive()
	place := must(must(n.lmr.RMRTriplet(0, n.bytes)).AppendBinary(nil))
	ctx, cancel := limit()
	defer cancel()
	check(cr.AcceptAndWait(ctx, n.ep, place))
}

// The server disconnects, when its answer has been delivered. If the client did when it has the answer, the server's send
// might fail.
func (n *node) serve(qual udat.ConnQual) {
	n.acceptRequest(n.takeRequest(qual))
	for !n.received {
		n.progress()
	}
	if int(n.message()) != n.bytes {
		log.Fatal("the client has not written all")
	}
	value := sum(n.lmr.Bytes()[:n.bytes])
	fmt.Printf("deposit: got %d bytes, sum 0x%08x\n", n.bytes, value)
	n.sendMessage(value)
	for !n.sent {
		n.progress()
	}
	check(n.ep.Disconnect(udat.CloseGraceful))
	n.waitDisconnected()
}

func (n *node) connectTo(host string, qual udat.ConnQual) (place udat.RMRTriplet) {
	ctx, cancel := limit()
	defer cancel()
	address := must(net.DefaultResolver.LookupNetIP(ctx, "ip", host))[0]
	r := must(binary.Append(nil, binary.BigEndian, request{magic, uint32(n.bytes)}))
	answer, err := n.ep.ConnectAndWait(ctx, address, qual, r)
	if errors.Is(err, udat.EventConnectionNonPeerRejected) {
		err = fmt.Errorf("nobody listens there: start the server first (%w)", err)
	}
	check(err)
	if len(answer) < udat.RMRTripletSize {
		log.Fatal("the server is not a deposit server")
	}
	check(place.UnmarshalBinary(answer[:udat.RMRTripletSize])) // some providers pad private data
	return place
}

// The endpoint and the EVD must have room for as many writes as the window.
func (n *node) writeAll(place udat.RMRTriplet) {
	pieces := (n.bytes + piece - 1) / piece
	for posted := 0; n.written < pieces; {
		for ; posted < pieces && posted-n.written < window; posted++ {
			offset := posted * piece
			iov := n.segment(offset, min(piece, n.bytes-offset))
			remote := place
			remote.VirtualAddress += uint64(offset)
			remote.SegmentLength = uint32(iov[0].Len())
			check(n.ep.PostRDMAWrite(iov, uint64(posted), remote, udat.CompletionDefault))
		}
		n.progress()
	}
}

func fill(memory []byte) {
	for i := range memory {
		memory[i] = byte(i*7 + i>>8)
	}
}

func (n *node) deposit(host string, qual udat.ConnQual, bytes int) {
	n.allocate(bytes, 0)
	n.postReceive()
	memory := n.lmr.Bytes()[:bytes]
	fill(memory)
	own := sum(memory)
	n.writeAll(n.connectTo(host, qual))
	n.sendMessage(uint32(bytes)) // arrives after the writes
	for !n.sent || !n.received {
		n.progress()
	}
	if n.message() != own {
		log.Fatal("the server has another sum")
	}
	fmt.Printf("deposit: the server got %d bytes, sum 0x%08x as here\n", bytes, own)
	n.waitDisconnected()
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("deposit: ")
	qual := flag.Uint64("q", 7475, "connection `qualifier` of the server")
	bytes := flag.Int("n", 1000000, "`bytes` that the client writes")
	host := flag.String("c", "", "be the client of the server on `host`")
	flag.Parse()
	if flag.NArg() != 1 || *bytes < 1 || *bytes > maxBytes || *qual < 1 {
		fmt.Fprintln(os.Stderr, "usage: deposit [-q qualifier] [-n bytes] [-c host] ADAPTER")
		os.Exit(2)
	}
	n := openNode(flag.Arg(0))
	if *host != "" {
		n.deposit(*host, udat.ConnQual(*qual), *bytes)
	} else {
		n.serve(udat.ConnQual(*qual))
	}
	check(n.ia.Close(udat.CloseAbrupt)) // and frees all that is on it
}

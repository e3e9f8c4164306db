package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/goudat/goudat/udat"
)

// step: connect
func (n *node) connect(ctx context.Context, host string, qual udat.ConnQual) (place udat.RMRTriplet, err error) {
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return place, err
	}
	request := binary.BigEndian.AppendUint32(nil, magic)
	request = binary.BigEndian.AppendUint32(request, uint32(n.bytes))
	if err := n.ep.Connect(addresses[0], qual, connectTimeout, request); err != nil {
		return place, err
	}
	established, err := n.waitConnection(ctx, udat.EventConnectionEstablished)
	if errors.Is(err, udat.EventConnectionNonPeerRejected) {
		err = fmt.Errorf("nobody listens there: start the server first (%w)", err)
	}
	if err != nil {
		return place, err
	}
	if len(established.PrivateData()) < placeSize {
		return place, errors.New("the server is not a deposit server")
	}
	return place, place.UnmarshalBinary(established.PrivateData()[:placeSize])
}

// step: write
func (n *node) writeAll(ctx context.Context, place udat.RMRTriplet) error {
	pieces := (n.bytes + piece - 1) / piece
	for posted := 0; n.written < pieces; {
		for ; posted < pieces && posted-n.written < window; posted++ {
			offset := posted * piece
			segment, err := n.lmr.Segment(offset, min(piece, n.bytes-offset))
			if err != nil {
				return err
			}
			remote := place
			remote.VirtualAddress += uint64(offset)
			remote.SegmentLength = uint32(segment.Len())
			if err := n.ep.PostRDMAWrite([]udat.Segment{segment}, uint64(posted), remote, udat.CompletionDefault); err != nil {
				return err
			}
		}
		if err := n.progress(ctx); err != nil {
			return err
		}
	}
	return nil
}

// step: client
func fill(memory []byte) {
	for i := range memory {
		memory[i] = byte(i*7 + i>>8)
	}
}

func (n *node) deposit(ctx context.Context, host string, qual udat.ConnQual, bytes int) error {
	if err := n.allocate(bytes, 0); err != nil {
		return err
	}
	if err := n.postReceive(); err != nil {
		return err
	}
	memory := n.lmr.Bytes()[:bytes]
	fill(memory)
	own := sum(memory)
	place, err := n.connect(ctx, host, qual)
	if err != nil {
		return err
	}
	if err := n.writeAll(ctx, place); err != nil {
		return err
	}
	if err := n.send(uint32(bytes)); err != nil {
		return err
	}
	for !n.sent || !n.received {
		if err := n.progress(ctx); err != nil {
			return err
		}
	}
	if n.message() != own {
		return errors.New("the server has another sum")
	}
	fmt.Printf("deposit: the server got %d bytes, sum 0x%08x as here\n", bytes, own)
	_, err = n.waitConnection(ctx, udat.EventConnectionDisconnected)
	return err
}

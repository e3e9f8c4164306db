package devicetest_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/goudat/goudat/cgo"
)

// Two endpoints of one adapter connect, and one sends the other a message, with the calls that a C program makes.
func Example() {
	name, _, _ := strings.Cut(os.Getenv("UDAT_TEST_IA"), ",") // an entry of dat.conf
	ia, _, r := cgo.IAOpen(name, 8)
	check("dat_ia_open", r)
	var attr cgo.IAAttr
	_, r = cgo.IAQuery(ia, cgo.IAFieldAll, &attr, cgo.ProviderFieldNone, nil)
	check("dat_ia_query", r)
	address := cgo.SockAddrAt(attr.IAAddressPtr)
	pz, r := cgo.PZCreate(ia)
	check("dat_pz_create", r)
	createEVD := func(flags cgo.EVDFlags) cgo.EVDHandle {
		evd, r := cgo.EVDCreate(ia, 8, 0, flags)
		check("dat_evd_create", r)
		return evd
	}
	requests, connections := createEVD(cgo.EVDCR), createEVD(cgo.EVDConnection)
	sent, received := createEVD(cgo.EVDDTO), createEVD(cgo.EVDDTO)

	// Memory that the garbage collector does not move or free.
	memory, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		panic(err)
	}
	start := uintptr(unsafe.Pointer(&memory[0]))
	lmr, context, _, _, r := cgo.LMRCreateVirtual(ia, start, uint64(len(memory)), pz,
		cgo.MemPrivLocalRead|cgo.MemPrivLocalWrite, cgo.VATypeVA)
	check("dat_lmr_create", r)
	segment := func(offset, length int) []cgo.LMRTriplet {
		return []cgo.LMRTriplet{{VirtualAddress: uint64(start) + uint64(offset), SegmentLength: uint32(length), LMRContext: context}}
	}

	createEP := func() cgo.EPHandle {
		ep, r := cgo.EPCreate(ia, pz, received, sent, connections, &cgo.EPAttr{
			ServiceType: cgo.ServiceTypeRC, MaxMessageSize: 4096, MaxRDMASize: 4096,
			MaxRecvDTOs: 4, MaxRequestDTOs: 4, MaxRecvIOV: 1, MaxRequestIOV: 1,
		})
		check("dat_ep_create", r)
		return ep
	}
	client, server := createEP(), createEP()

	psp, qualifier, r := cgo.PSPCreateAny(ia, requests, cgo.PSPConsumer)
	check("dat_psp_create_any", r)
	check("dat_ep_post_recv", cgo.EPPostRecv(server, segment(2048, 2048), 1, cgo.CompletionDefault))
	check("dat_ep_connect", cgo.EPConnect(client, &address, qualifier, cgo.TimeoutInfinite, nil, cgo.QOSBestEffort, cgo.ConnectDefault))
	request := wait(requests, cgo.EventConnectionRequest)
	check("dat_cr_accept", cgo.CRAccept(request.CRArrival().CRHandle, server, nil))
	for range 2 { // one event for each side
		wait(connections, cgo.EventConnectionEstablished)
	}

	n := copy(memory, "hello")
	check("dat_ep_post_send", cgo.EPPostSend(client, segment(0, n), 2, cgo.CompletionDefault))
	for _, evd := range []cgo.EVDHandle{sent, received} {
		event := wait(evd, cgo.EventDTOCompletion)
		dto := event.DTO()
		fmt.Println("cookie", dto.UserCookie, dto.Status)
		if evd == received {
			fmt.Printf("%q\n", memory[2048:][:dto.TransferredLength])
		}
	}

	check("dat_ep_disconnect", cgo.EPDisconnect(client, cgo.CloseAbrupt))
	for range 2 {
		wait(connections, cgo.EventConnectionDisconnected)
	}
	check("dat_psp_free", cgo.PSPFree(psp))
	for _, ep := range []cgo.EPHandle{client, server} {
		check("dat_ep_free", cgo.EPFree(ep))
	}
	for _, evd := range []cgo.EVDHandle{requests, connections, sent, received} {
		check("dat_evd_free", cgo.EVDFree(evd))
	}
	check("dat_lmr_free", cgo.LMRFree(lmr))
	check("dat_pz_free", cgo.PZFree(pz))
	check("dat_ia_close", cgo.IAClose(ia, cgo.CloseGraceful))
	// Output:
	// cookie 2 DAT_DTO_SUCCESS
	// cookie 1 DAT_DTO_SUCCESS
	// "hello"
}

// wait takes the next event, which must have the given number. Signals end dat_evd_wait: Go sends some to its threads.
func wait(evd cgo.EVDHandle, number cgo.EventNumber) cgo.Event {
	const second = uint32(time.Second / time.Microsecond)
	for range 30 {
		var event cgo.Event
		_, r := cgo.EVDWait(evd, second, 1, &event)
		if r.Type() == cgo.InterruptedCall || r.Type() == cgo.TimeoutExpired {
			continue
		}
		check("dat_evd_wait", r)
		if event.Number != number {
			panic(event.Number.String())
		}
		return event
	}
	panic("no event came")
}

func check(call string, r cgo.Return) {
	if !r.OK() {
		panic(call + ": " + r.String())
	}
}

package cookie

import (
	"unsafe"

	"github.com/goudat/goudat/udat"
)

type request struct{ done bool }

func bad(ep *udat.EP, r *request, event udat.Event) error {
	number := uint64(uintptr(unsafe.Pointer(r)))
	post := udat.Post{Cookie: uint64(uintptr(unsafe.Pointer(r)))} // want `a pointer as cookie`
	post.Cookie = number                                          // want `a pointer as cookie`
	(*request)(unsafe.Pointer(uintptr(event.Cookie))).done = true // want `a cookie as pointer`
	return ep.PostSend(nil, number, 0)                            // want `a pointer as cookie`
}

func good(ep *udat.EP, requests []request, event udat.Event) error {
	index := uint64(len(requests) - 1)
	requests[event.Cookie].done = true
	post := udat.Post{Cookie: index}
	post.Cookie++
	println(uintptr(unsafe.Pointer(&requests[0])))
	return ep.PostSend(nil, index, 0)
}

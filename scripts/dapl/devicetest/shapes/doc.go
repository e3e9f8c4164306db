// Package shapes runs programs on devices that have the limits, the link layers and the refusals of other adapters.
//
// A library that is preloaded, that of package between, comes between libibverbs and those that call it. It has
// the device that is there, soft-RoCE or soft-iWARP, report what another one reports, and keep to that: what the other
// refuses is refused, with the same error. The shapes are testdata/*.shape, one for each adapter, and some that are made up.
// The first line is the title. The others have words "key=value", and behind "#" where these are published: issues and
// repositories of GitHub, and files of Linux and of rdma-core. A key is a field of struct ibv_device_attr or ibv_port_attr,
// or one of these:
//
//	like                another shape, whose words come first
//	on                  siw: for soft-iWARP
//	transport           iwarp, ib or unspecified
//	gid.N               the entry N of the table of GIDs: K, the device's own entry K; Kv1, the same for RoCE v1; or a GID
//	gid_index           the index of the one GID that connects
//	gid_error           the error of each query of a GID
//	down                the number of a port that is down
//	cq_min, cq_round    the least completion queue, and how the length is rounded up: pow2, pow2m1 or double
//	cq_resize_error     the error of each resize of a completion queue
//	qp_min, qp_round    the same of the queues of queue pairs; qp_round=spare leaves qp_spare of a power of 2 free
//	qp_error            the error of each creation of a reliable connection's queue pair
//	empty_error, empty  the error of a queue pair without requests; empty=any: or without receives
//	sq_bytes            bytes of a queue of requests; each takes sq_overhead beside its segments or inline data
//	max_inline          bytes of inline data
//	srq_round, srq_error, srq_resize_error
//	                    of shared receive queues
//	mw_error            the error of each creation of a memory window
//	write_immediate     0: no RDMA writes with immediate data
//	late                receives or requests: these complete one poll later
//	vendor_err          the vendor's code of operations that fail
//	events              numbers of enum ibv_event_type: these events of the port come soon after the device was opened
//
// Not emulated are what sysfs says (so udatinfo shows the device's own types and interfaces of GIDs), and how many objects
// there are. librdmacm and the kernel connect over the device that is there: the CMA provider is tried less than socket CM.
//
// TestShapes tries what a program may ask of each adapter. Whatever the device refuses must be an error that says so. Under
// each shape, scripts/with-shape runs any other test:
//
//	go test -exec "$PWD/scripts/with-shape e810-roce" ./udat
//
// With -shapes.page FILE, TestShapes writes the rows of the page docs/reference/devices.md for the adapters of this device:
//
//	for device in rxe siw; do
//		TESTBED_SHARE="$PWD/docs" TESTBED_DEVICE=$device go test -count=1 -exec "$PWD/scripts/testbed" ./scripts/dapl/devicetest/shapes -shapes.page "$PWD/docs/reference/devices.md"
//	done
package shapes

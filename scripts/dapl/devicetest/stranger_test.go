package devicetest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/goudat/goudat/udat/udattest"
)

// strangerProgram opens an adapter, and connects two queue pairs of its own with librdmacm, over which asynchronous events
// come: of a shared receive queue, of a completion queue, or of a queue pair. Their contexts are no pointers, or those of
// the adapter's objects.
const strangerProgram = `
#define _GNU_SOURCE
#include <netdb.h>
#include <dat2/udat.h>
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void want(int line, int ok)
{
	if (!ok) {
		fprintf(stderr, "line %d fails\n", line);
		exit(1);
	}
}
#define WANT(ok) want(__LINE__, ok)

static const char *kind;
static int handled[2];		/* has a byte for each event that the library has handled */
static struct ibv_qp *passive_qp;
static struct ibv_async_event real;

static int is(const char *other)
{
	return strcmp(kind, other) == 0;
}

/* What breaks a queue pair differs from device to device: the event of the shared queue becomes that of the queue pair. */
int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	int (*get)(struct ibv_context *, struct ibv_async_event *) = dlsym(RTLD_NEXT, "ibv_get_async_event");
	int ret = get(context, event);

	if (ret == 0) {
		real = *event;
		if (is("qp") && event->event_type == IBV_EVENT_SRQ_LIMIT_REACHED) {
			event->event_type = IBV_EVENT_QP_FATAL;
			event->element.qp = passive_qp;
		}
	}
	return ret;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	void (*ack)(struct ibv_async_event *) = dlsym(RTLD_NEXT, "ibv_ack_async_event");
	char type = event->event_type;

	ack(&real);
	WANT(write(handled[1], &type, 1) == 1);
}

static void await_handled(enum ibv_event_type type)
{
	struct pollfd p = { .fd = handled[0], .events = POLLIN };
	char got;

	do {
		WANT(poll(&p, 1, PATIENCE_MS) == 1);
		WANT(read(handled[0], &got, 1) == 1);
	} while (got != (char)type);
}

static struct rdma_cm_event *await(struct rdma_event_channel *channel)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	WANT(poll(&p, 1, PATIENCE_MS) == 1);
	WANT(rdma_get_cm_event(channel, &event) == 0);
	return event;
}

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, evd, connect_evd;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_SRQ_HANDLE srq_handle;
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1, .low_watermark = 0 };
	DAT_EVENT event;
	struct addrinfo *address, numeric = { .ai_flags = AI_NUMERICHOST };
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener, *active, *passive = NULL;
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct ibv_pd *pd = NULL;
	struct ibv_cq *cq = NULL, *short_cq = NULL;
	struct ibv_srq *srq = NULL;
	struct ibv_mr *mr = NULL;
	static char buffer[8];
	struct ibv_sge sge = { .addr = (uintptr_t)buffer, .length = sizeof(buffer) };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad_send;
	struct ibv_wc wc;
	void *qp_context = (void *)16, *cq_context = (void *)16, *srq_context = (void *)16;
	int i, established = 0;

	WANT(argc == 5);
	kind = argv[3];
	WANT(pipe(handled) == 0);
	WANT(dat_ia_open(argv[1], 8, &async, &ia) == DAT_SUCCESS);
	WANT(dat_pz_create(ia, &pz) == DAT_SUCCESS);
	WANT(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd) == DAT_SUCCESS);
	WANT(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &connect_evd) == DAT_SUCCESS);
	WANT(dat_ep_create(ia, pz, evd, evd, connect_evd, NULL, &ep) == DAT_SUCCESS);
	WANT(dat_srq_create(ia, pz, &srq_attr, &srq_handle) == DAT_SUCCESS);
	if (strcmp(argv[4], "pointer") == 0) {
		qp_context = ep;
		cq_context = evd;
		srq_context = srq_handle;
	}

	channel = rdma_create_event_channel();
	WANT(channel != NULL);
	WANT(getaddrinfo(argv[2], NULL, &numeric, &address) == 0);
	WANT(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0);
	WANT(rdma_bind_addr(listener, address->ai_addr) == 0);
	WANT(rdma_listen(listener, 1) == 0);
	((struct sockaddr_in *)address->ai_addr)->sin_port = rdma_get_src_port(listener);
	WANT(rdma_create_id(channel, &active, NULL, RDMA_PS_TCP) == 0);
	WANT(rdma_resolve_addr(active, NULL, address->ai_addr, 2000) == 0);
	while (established < 2) {
		struct rdma_cm_event *e = await(channel);
		struct rdma_cm_id *id = e->id;
		enum rdma_cm_event_type type = e->event;

		WANT(rdma_ack_cm_event(e) == 0);
		switch (type) {
		case RDMA_CM_EVENT_ADDR_RESOLVED:
			WANT(rdma_resolve_route(active, 2000) == 0);
			continue;
		case RDMA_CM_EVENT_ESTABLISHED:
			established++;
			continue;
		case RDMA_CM_EVENT_ROUTE_RESOLVED:
		case RDMA_CM_EVENT_CONNECT_REQUEST:
			break;
		default:
			fprintf(stderr, "%s\n", rdma_event_str(type));
			WANT(0);
		}

		struct ibv_qp_init_attr attr = {
			.qp_type = IBV_QPT_RC,
			.qp_context = qp_context,
			.cap = { .max_send_wr = 8, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		};

		if (pd == NULL) {
			struct ibv_srq_init_attr srq_attr = {
				.srq_context = srq_context,
				.attr = { .max_wr = 8, .max_sge = 1 },
			};

			pd = ibv_alloc_pd(id->verbs);
			cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
			short_cq = ibv_create_cq(id->verbs, 1, cq_context, NULL, 0);
			WANT(pd && cq && short_cq);
			srq = ibv_create_srq(pd, &srq_attr);
			mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
			WANT(srq && mr);
			sge.lkey = mr->lkey;
			for (i = 0; i < 4; i++)
				WANT(ibv_post_srq_recv(srq, &recv, &bad_recv) == 0);
		}
		attr.send_cq = is("cq") ? short_cq : cq;
		attr.recv_cq = cq;
		if (id != active)
			attr.srq = srq;
		WANT(rdma_create_qp(id, pd, &attr) == 0);
		if (id == active) {
			WANT(rdma_connect(active, &param) == 0);
		} else {
			passive = id;
			passive_qp = id->qp;
			WANT(rdma_accept(passive, &param) == 0);
		}
	}

	if (!is("cq")) {
		struct ibv_srq_attr limit = { .srq_limit = 4 };

		WANT(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT) == 0);
	}
	for (i = 0; i < 4; i++)
		WANT(ibv_post_send(active->qp, &send, &bad_send) == 0);
	await_handled(is("srq") ? IBV_EVENT_SRQ_LIMIT_REACHED : is("cq") ? IBV_EVENT_CQ_ERR : IBV_EVENT_QP_FATAL);
	WANT(DAT_GET_TYPE(dat_evd_dequeue(async, &event)) == DAT_QUEUE_EMPTY);

	while (ibv_poll_cq(cq, 1, &wc) > 0)
		;
	rdma_destroy_qp(active);
	rdma_destroy_qp(passive);
	WANT(rdma_destroy_id(active) == 0);
	WANT(rdma_destroy_id(passive) == 0);
	WANT(rdma_destroy_id(listener) == 0);
	rdma_destroy_event_channel(channel);
	WANT(ibv_destroy_srq(srq) == 0);
	WANT(ibv_destroy_cq(short_cq) == 0);
	WANT(ibv_destroy_cq(cq) == 0);
	WANT(ibv_dereg_mr(mr) == 0);
	WANT(ibv_dealloc_pd(pd) == 0);

	WANT(dat_srq_free(srq_handle) == DAT_SUCCESS);
	WANT(dat_ep_free(ep) == DAT_SUCCESS);
	WANT(dat_evd_free(connect_evd) == DAT_SUCCESS);
	WANT(dat_evd_free(evd) == DAT_SUCCESS);
	WANT(dat_pz_free(pz) == DAT_SUCCESS);
	WANT(DAT_GET_TYPE(dat_evd_dequeue(async, &event)) == DAT_QUEUE_EMPTY);
	WANT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) == DAT_SUCCESS);
	return 0;
}
`

// Asynchronous events of what other parts of the process have made with librdmacm, which has one context of a device for
// all, are none of the adapter. Socket CM has a context of its own.
func TestEventsOfStrangers(t *testing.T) {
	program := buildProgram(t, strangerProgram, fmt.Sprintf("-DPATIENCE_MS=%d", udattest.Patience.Milliseconds()), "-rdynamic", "-lrdmacm", "-ldl")
	for _, name := range udattest.Names(t) {
		if strings.Contains(name, "scm") {
			continue
		}
		for _, kind := range []string{"srq", "cq", "qp"} {
			for _, context := range []string{"number", "pointer"} {
				t.Run(strings.Join([]string{name, kind, context}, "/"), func(t *testing.T) {
					c := exec.CommandContext(udattest.Context(t), program, name, os.Getenv("UDAT_TEST_ADDR"), kind, context)
					if out, err := c.CombinedOutput(); err != nil {
						t.Errorf("%v\n%s", err, out)
					}
				})
			}
		}
	}
}

/*
 * What a device can do, as words of a shape: see package scripts/dapl/devicetest/shapes. Attributes come from queries. The rest is found out
 * by trials, as no attribute tells it: what the lengths of queues become, and with which error what the device lacks fails.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct words {
	char *text;
	size_t size, used;
};

static void say(struct words *w, const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(w->text + w->used, w->size - w->used, format, list);
	va_end(list);
	if (n > 0)
		w->used = w->used + (size_t)n < w->size ? w->used + (size_t)n : w->size - 1;
}

static void device(struct words *w, struct ibv_context *context, struct ibv_device_attr *a)
{
	say(w, "max_mr_size=%#" PRIx64 " page_size_cap=%#" PRIx64 " hw_ver=%u max_qp=%d max_qp_wr=%d device_cap_flags=%#x max_sge=%d max_sge_rd=%d\n",
	    a->max_mr_size, a->page_size_cap, a->hw_ver, a->max_qp, a->max_qp_wr, a->device_cap_flags, a->max_sge, a->max_sge_rd);
	say(w, "max_cq=%d max_cqe=%d max_mr=%d max_pd=%d max_qp_rd_atom=%d max_res_rd_atom=%d max_qp_init_rd_atom=%d atomic_cap=%d\n",
	    a->max_cq, a->max_cqe, a->max_mr, a->max_pd, a->max_qp_rd_atom, a->max_res_rd_atom, a->max_qp_init_rd_atom, a->atomic_cap);
	say(w, "max_mw=%d max_ah=%d max_srq=%d max_srq_wr=%d max_srq_sge=%d max_pkeys=%d local_ca_ack_delay=%d phys_port_cnt=%d\n",
	    a->max_mw, a->max_ah, a->max_srq, a->max_srq_wr, a->max_srq_sge, a->max_pkeys, a->local_ca_ack_delay, a->phys_port_cnt);
	say(w, "transport=%s # vendor %#x, part %#x, firmware %s\n", context->device->transport_type == IBV_TRANSPORT_IWARP ? "iwarp" :
	    context->device->transport_type == IBV_TRANSPORT_IB ? "ib" : "unspecified", a->vendor_id, a->vendor_part_id, a->fw_ver);
}

static void ports(struct words *w, struct ibv_context *context, int count)
{
	struct ibv_port_attr p;
	union ibv_gid gid;

	for (int number = 1; number <= count; number++) {
		memset(&p, 0, sizeof(p));
		if (ibv_query_port(context, (uint8_t)number, &p))
			continue;
		if (number > 1) {
			if (p.state != IBV_PORT_ACTIVE)
				say(w, "down=%d", number);
			say(w, " # port %d: link layer %d, MTU %d\n", number, p.link_layer, p.active_mtu);
			continue;
		}
		say(w, "state=%d phys_state=%d max_mtu=%d active_mtu=%d max_msg_sz=%#x lid=%d sm_lid=%d link_layer=%d gid_tbl_len=%d",
		    p.state, p.phys_state, p.max_mtu, p.active_mtu, p.max_msg_sz, p.lid, p.sm_lid, p.link_layer, p.gid_tbl_len);
		for (int i = 0; i < p.gid_tbl_len && i < 16; i++) {
			const uint8_t *b = gid.raw;

			if (ibv_query_gid(context, 1, i, &gid) == 0 && (gid.global.interface_id || gid.global.subnet_prefix))
				say(w, " gid.%d=%x:%x:%x:%x:%x:%x:%x:%x", i, b[0] << 8 | b[1], b[2] << 8 | b[3], b[4] << 8 | b[5],
				    b[6] << 8 | b[7], b[8] << 8 | b[9], b[10] << 8 | b[11], b[12] << 8 | b[13], b[14] << 8 | b[15]);
		}
		say(w, "\n");
	}
}

/* Names how a device has rounded some lengths up. */
static const char *rounding(const int *asked, const int *has, int count)
{
	static const char *const names[] = {"none", "pow2", "pow2m1", "double"};

	for (int kind = 0; kind < 4; kind++) {
		int fits = 0;

		for (int i = 0; i < count; i++) {
			int power = 1;

			while (power < asked[i] + (kind == 2))
				power *= 2;
			fits += has[i] == (kind == 0 ? asked[i] : kind == 3 ? 2 * asked[i] : power - (kind == 2));
		}
		if (fits == count)
			return names[kind];
	}
	return "other";
}

static void queues(struct words *w, struct ibv_context *context)
{
	static const int asked[] = {100, 300, 1000};
	int has[3] = {0}, count = 0;
	struct ibv_cq *cq;

	for (; count < 3 && (cq = ibv_create_cq(context, asked[count], NULL, NULL, 0)) != NULL; count++) {
		has[count] = cq->cqe;
		ibv_destroy_cq(cq);
	}
	say(w, "cq_round=%s", rounding(asked, has, count));
	if ((cq = ibv_create_cq(context, 1, NULL, NULL, 0)) != NULL) {
		int error = ibv_resize_cq(cq, 200);

		say(w, " cq_min=%d cq_resize_error=%d", cq->cqe, error < 0 ? errno : error);
		ibv_destroy_cq(cq);
	}
	say(w, "\n");
}

static int pair(struct ibv_pd *pd, struct ibv_cq *cq, struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr attr = {.send_cq = cq, .recv_cq = cq, .cap = *cap, .qp_type = IBV_QPT_RC};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);
	int error = errno;

	if (!qp)
		return error ? error : EINVAL;
	*cap = attr.cap;
	ibv_destroy_qp(qp);
	return 0;
}

static void pairs(struct words *w, struct ibv_pd *pd, struct ibv_cq *cq, int most)
{
	static const int asked[] = {100, 300, 700};
	struct ibv_qp_cap cap = {1, 1, 1, 1, 0};
	int has[3] = {0}, count, error = pair(pd, cq, &cap), inlines = 0, longest = most;

	say(w, "qp_error=%d qp_min=%u", error, error ? 0 : cap.max_send_wr);
	if (error) {
		say(w, "\n");
		return;
	}
	for (count = 0; count < 3 && asked[count] <= most; count++) {
		cap = (struct ibv_qp_cap){(uint32_t)asked[count], 1, 1, 1, 0};
		has[count] = pair(pd, cq, &cap) ? 0 : (int)cap.max_send_wr;
	}
	for (int step = 4096; step > 0; step /= 2) {
		cap = (struct ibv_qp_cap){1, 1, 1, 1, (uint32_t)(inlines + step)};
		if (pair(pd, cq, &cap) == 0)
			inlines += step;
	}
	cap = (struct ibv_qp_cap){0, 1, 0, 1, 0};
	error = pair(pd, cq, &cap);
	cap = (struct ibv_qp_cap){1, 0, 1, 0, 0};
	say(w, " qp_round=%s max_inline=%d empty_error=%d", rounding(asked, has, count), inlines, error);
	say(w, "%s", pair(pd, cq, &cap) ? " empty=any" : "");
	do /* a queue may have less room than the attribute says */
		cap = (struct ibv_qp_cap){(uint32_t)longest, 1, 1, 1, 0};
	while (pair(pd, cq, &cap) && (longest /= 2) > 0);
	say(w, " # of %d requests, there can be %d\n", most, longest);
}

static void optional(struct words *w, struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 17, .max_sge = 1}};
	struct ibv_srq_attr more = {.max_wr = 40};
	struct ibv_mw *mw;
	struct ibv_srq *srq;
	int error;

	errno = 0;
	srq = ibv_create_srq(pd, &attr);
	say(w, "srq_error=%d", srq ? 0 : errno);
	if (srq) {
		static const int asked[] = {17};
		int has[] = {(int)attr.attr.max_wr};

		error = ibv_modify_srq(srq, &more, IBV_SRQ_MAX_WR);
		say(w, " srq_round=%s srq_resize_error=%d", rounding(asked, has, 1), error < 0 ? errno : error);
		ibv_destroy_srq(srq);
	}
	errno = 0;
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	say(w, " mw_error=%d\n", mw ? 0 : errno);
	if (mw)
		ibv_dealloc_mw(mw);
}

char *device_limits(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	struct words w = {.text = calloc(1, 8192), .size = 8192};
	struct ibv_device_attr attr;
	struct ibv_pd *pd;
	struct ibv_cq *cq;

	for (int i = 0; list && list[i] && !context; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			context = ibv_open_device(list[i]);
	if (context && w.text && ibv_query_device(context, &attr) == 0) {
		device(&w, context, &attr);
		ports(&w, context, attr.phys_port_cnt);
		queues(&w, context);
		pd = ibv_alloc_pd(context);
		cq = ibv_create_cq(context, 16, NULL, NULL, 0);
		if (pd && cq)
			pairs(&w, pd, cq, attr.max_qp_wr);
		if (pd)
			optional(&w, pd);
		if (cq)
			ibv_destroy_cq(cq);
		if (pd)
			ibv_dealloc_pd(pd);
	}
	if (context)
		ibv_close_device(context);
	if (list)
		ibv_free_device_list(list);
	return w.text;
}

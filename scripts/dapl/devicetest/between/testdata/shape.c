/*
 * A device that is not there: the device that is there, soft-RoCE or soft-iWARP, reports the limits of another one, and
 * keeps to them. UDAT_TEST_SHAPE names a file of words "key=value"; "#" starts a comment. doc.go of scripts/dapl/devicetest/shapes has
 * the keys. What librdmacm asks about GIDs, and sets, is the kernel's: it has those of the device that is there.
 */
#include "between.h"
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* The most places that a queue really has, so that a device with very long queues needs no memory for them. */
enum { MOST = 16384 };

enum { KEYS = 256, EVENTS = 16 };
static struct { char name[32], text[64]; } keys[KEYS];
static int key_count, event_count;
static unsigned char events[EVENTS];

static const char *text(const char *name)
{
	for (int i = key_count - 1; i >= 0; i--) /* the last one counts */
		if (strcmp(keys[i].name, name) == 0)
			return keys[i].text;
	return NULL;
}

static long long number(const char *name, long long otherwise)
{
	const char *value = text(name);

	return value ? (long long)strtoull(value, NULL, 0) : otherwise;
}

static int is(const char *name, const char *value)
{
	return text(name) && strcmp(text(name), value) == 0;
}

/* The errors of calls that the device refuses, looked up once. */
static int cq_resize_error, qp_error, srq_error, srq_resize_error, mw_error, gid_error, empty_error;
static int infiniband, translates, late, late_receives, vendor_error, writes_immediate, atomics, read_sges, sges;

static void read_shape(const char *path)
{
	char line[512], *rest, *word, like[512], *end;
	FILE *file = fopen(path, "re");

	if (!file) {
		fprintf(stderr, "shape: there is no %s\n", path);
		exit(3);
	}
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "#\n")] = 0;
		for (rest = line; (word = strtok_r(NULL, " \t", &rest)) != NULL;) {
			if ((end = strchr(word, '=')) == NULL || key_count == KEYS) {
				fprintf(stderr, "shape: %s has %s\n", path, word);
				exit(3);
			}
			*end = 0;
			if (strcmp(word, "like") == 0) { /* another shape of the same folder */
				snprintf(like, sizeof(like), "%.*s/%.60s", (int)(strrchr(path, '/') - path), path, end + 1);
				read_shape(like);
				continue;
			}
			snprintf(keys[key_count].name, sizeof(keys[0].name), "%s", word);
			snprintf(keys[key_count++].text, sizeof(keys[0].text), "%s", end + 1);
		}
	}
	fclose(file);
}

__attribute__((constructor)) static void find_shape(void)
{
	const char *path = getenv("UDAT_TEST_SHAPE"), *list;
	char *end;

	if (!path || !*path)
		return;
	read_shape(path);
	cq_resize_error = (int)number("cq_resize_error", 0), qp_error = (int)number("qp_error", 0);
	srq_error = (int)number("srq_error", 0), srq_resize_error = (int)number("srq_resize_error", 0);
	mw_error = (int)number("mw_error", 0), gid_error = (int)number("gid_error", 0), empty_error = (int)number("empty_error", 0);
	infiniband = number("link_layer", 0) == IBV_LINK_LAYER_INFINIBAND;
	translates = infiniband || text("gid_tbl_len") != NULL;
	late = text("late") != NULL, late_receives = is("late", "receives");
	vendor_error = (int)number("vendor_err", 0), writes_immediate = (int)number("write_immediate", 1);
	atomics = (int)number("atomic_cap", 1), sges = (int)number("max_sge", 1 << 20), read_sges = (int)number("max_sge_rd", 1 << 20);
	for (list = text("events"); list && *list && event_count < EVENTS; list = *end ? end + 1 : end)
		events[event_count++] = (unsigned char)strtoul(list, &end, 0);
}

static int refused(int error)
{
	errno = error;
	return error;
}

static int from_rdmacm(void *caller)
{
	struct dl_find_object object;

	return _dl_find_object(caller, &object) == 0 && strstr(object.dlfo_link_map->l_name, "librdmacm") != NULL;
}

static int power_of_2(long long n)
{
	long long power = 1;

	while (power < n)
		power *= 2;
	return power > 0x7fffffff ? 0x7fffffff : (int)power;
}

/* Returns the capacity that a queue of n gets. */
static int rounded(int n, const char *least, const char *rounding)
{
	int spare = (int)number("qp_spare", 0), most = (int)number("max_cqe", 1 << 30);

	if (n < (int)number(least, 0))
		n = (int)number(least, 0);
	if (is(rounding, "pow2"))
		return power_of_2(n);
	if (is(rounding, "pow2m1"))
		return power_of_2((long long)n + 1) - 1;
	if (is(rounding, "spare")) /* some entries stay free, which the device reads ahead */
		return power_of_2((long long)n + spare) - spare;
	return is(rounding, "double") && n < most / 2 ? 2 * n : n;
}

static uint32_t real(long long n)
{
	return (uint32_t)(n > MOST ? MOST : n);
}

#define REAL(name, ...) (((__typeof__(&shape_##name))next(#name))(__VA_ARGS__))

/* The device and its ports. */
struct field {
	const char *name;
	size_t offset, size;
};
#define FIELD(type, field) {#field, offsetof(struct type, field), sizeof(((struct type *)0)->field)}
#define DEVICE(field) FIELD(ibv_device_attr, field)
#define PORT(field) FIELD(ibv_port_attr, field)
static const struct field device_fields[] = {
	DEVICE(max_mr_size), DEVICE(page_size_cap), DEVICE(vendor_part_id), DEVICE(hw_ver), DEVICE(max_qp), DEVICE(max_qp_wr),
	DEVICE(device_cap_flags), DEVICE(max_sge), DEVICE(max_sge_rd), DEVICE(max_cq), DEVICE(max_cqe), DEVICE(max_mr),
	DEVICE(max_pd), DEVICE(max_qp_rd_atom), DEVICE(max_res_rd_atom), DEVICE(max_qp_init_rd_atom), DEVICE(atomic_cap),
	DEVICE(max_mw), DEVICE(max_ah), DEVICE(max_srq), DEVICE(max_srq_wr), DEVICE(max_srq_sge), DEVICE(max_pkeys),
	DEVICE(local_ca_ack_delay), DEVICE(phys_port_cnt), {0}};
static const struct field port_fields[] = {
	PORT(state), PORT(max_mtu), PORT(active_mtu), PORT(gid_tbl_len), PORT(max_msg_sz), PORT(lid), PORT(sm_lid),
	PORT(link_layer), PORT(phys_state), {0}};

static void set(void *attr, size_t room, const struct field *field)
{
	for (; field->name; field++) {
		unsigned long long value = (unsigned long long)number(field->name, 0);

		if (text(field->name) && field->offset + field->size <= room)
			memcpy((char *)attr + field->offset, &value, field->size); /* little-endian */
	}
}

static int shape_ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	int error = REAL(ibv_query_device, context, attr);

	if (!error)
		set(attr, sizeof(*attr), device_fields);
	return error;
}

static struct below device; /* all are of one driver */

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size)
{
	int error;

	if (port < 1 || port > number("phys_port_cnt", 1))
		return refused(EINVAL);
	error = device.query_port(context, 1, attr, size); /* each port is like the first */
	if (error)
		return error;
	set(attr, size, port_fields);
	if (port == number("down", 0)) {
		attr->state = IBV_PORT_DOWN;
		attr->phys_state = 3; /* disabled */
	}
	return 0;
}

/*
 * GIDs: "gid.N=K" is the device's own entry K at index N, "gid.N=Kv1" the same for version 1 of RoCE, and "gid.N=a:b:..."
 * another; all others are zero.
 */
static const char *gid_entry(int index)
{
	char name[24];

	snprintf(name, sizeof(name), "gid.%d", index);
	return text(name);
}

static int gid_real(int index)
{
	const char *entry = gid_entry(index);

	if (!text("gid_tbl_len"))
		return index;
	return !entry || !*entry || strchr(entry, ':') ? -1 : atoi(entry);
}

/* Reads an entry that is not the device's own. */
static int gid_other(int index, union ibv_gid *gid)
{
	const char *entry = gid_entry(index);
	unsigned w[8];

	memset(gid, 0, sizeof(*gid));
	if (!entry || sscanf(entry, "%x:%x:%x:%x:%x:%x:%x:%x", w, w + 1, w + 2, w + 3, w + 4, w + 5, w + 6, w + 7) != 8)
		return 0;
	for (int i = 0; i < 16; i++)
		gid->raw[i] = (uint8_t)(w[i / 2] >> (i % 2 ? 0 : 8));
	return 1;
}

static int shape_ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	int at = gid_real(index);

	if (from_rdmacm(calling))
		return REAL(ibv_query_gid, context, port, index, gid);
	if (gid_error || index < 0 || (text("gid_tbl_len") && index >= number("gid_tbl_len", 0))) {
		refused(gid_error ? gid_error : EINVAL);
		return -1;
	}
	if (at < 0) {
		gid_other(index, gid); /* libibverbs reports success for an empty entry */
		return 0;
	}
	return REAL(ibv_query_gid, context, 1, at, gid);
}

int shape_ibv_query_gid_ex(struct ibv_context *, uint32_t, uint32_t, struct ibv_gid_entry *, uint32_t, size_t) __asm__("_ibv_query_gid_ex");

int shape_ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	int (*below)(struct ibv_context *, uint32_t, uint32_t, struct ibv_gid_entry *, uint32_t, size_t) = next("_ibv_query_gid_ex");
	int at = gid_real((int)index), error;

	if (!key_count || from_rdmacm(__builtin_return_address(0)))
		return below(context, port, index, entry, flags, size);
	if (gid_error || (text("gid_tbl_len") && index >= number("gid_tbl_len", 0)))
		return refused(gid_error ? gid_error : EINVAL);
	error = at < 0 ? 0 : below(context, 1, (uint32_t)at, entry, flags, size);
	if (error || (at < 0 && !gid_other((int)index, &entry->gid)))
		return error ? error : refused(ENODATA);
	entry->gid_index = index, entry->port_num = port;
	entry->gid_type = infiniband ? IBV_GID_TYPE_IB :
		gid_entry((int)index) && strstr(gid_entry((int)index), "v1") ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
	return 0;
}

/* Completion queues. */
static int cq_capacity(int n)
{
	if (n <= 0 || n > number("max_cqe", 1 << 30))
		return refused(EINVAL), 0;
	return rounded(n, "cq_min", "cq_round");
}

static struct ibv_cq *shape_ibv_create_cq(struct ibv_context *context, int cqe, void *user, struct ibv_comp_channel *channel, int vector)
{
	int capacity = cq_capacity(cqe);
	struct ibv_cq *cq = capacity ? REAL(ibv_create_cq, context, (int)real(capacity), user, channel, vector) : NULL;

	if (cq)
		cq->cqe = capacity;
	return cq;
}

static int shape_ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	int capacity, error;

	if (cq_resize_error)
		return refused(cq_resize_error);
	if ((capacity = cq_capacity(cqe)) == 0)
		return errno;
	error = REAL(ibv_resize_cq, cq, (int)real(capacity));
	if (!error)
		cq->cqe = capacity;
	return error;
}

/* Work queues: what is posted takes a place until its completion, or a later one of the queue, is polled. */
struct ring {
	int room, used, places;
	unsigned head;
	uint64_t *id;
};
struct queue {
	struct queue *next;
	unsigned number;     /* of the queue pair */
	struct ibv_srq *srq; /* that this is, or that the queue pair uses */
	struct ring send, receive;
};
enum { BUCKETS = 1024 };
static struct queue *pairs[BUCKETS], *shared;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct queue **pair_at(unsigned number)
{
	struct queue **q = &pairs[number % BUCKETS];

	while (*q && (*q)->number != number)
		q = &(*q)->next;
	return q;
}

static struct queue **shared_at(struct ibv_srq *srq)
{
	struct queue **q = &shared;

	while (*q && (*q)->srq != srq)
		q = &(*q)->next;
	return q;
}

static struct ring ring_of(int room)
{
	int places = (int)real(room) + 1;

	return (struct ring){.room = room, .places = places, .id = calloc((size_t)places, sizeof(uint64_t))};
}

static void add(struct queue **at, struct queue like)
{
	struct queue *q = malloc(sizeof(*q));

	*q = like;
	pthread_mutex_lock(&mutex);
	q->next = *at;
	*at = q;
	pthread_mutex_unlock(&mutex);
}

/* Nothing is destroyed under the mutex: that waits for who handles an event, and so maybe for the mutex. */
static struct queue *taken_out(struct queue **at)
{
	struct queue *q = *at;

	if (q)
		*at = q->next;
	return q;
}

static void delete(struct queue *q)
{
	if (q) {
		free(q->send.id);
		free(q->receive.id);
		free(q);
	}
}

static uint64_t *place(struct ring *r, int i)
{
	return &r->id[(r->head + (unsigned)i) % (unsigned)r->places];
}

static int take(struct ring *r, uint64_t id)
{
	if (r->used >= r->room || r->used >= r->places - 1)
		return refused(ENOMEM);
	*place(r, r->used++) = id;
	return 0;
}

/* Frees the place of an operation, and of those before it unless they complete in any order. */
static int completed(struct ring *r, uint64_t id, int any_order)
{
	for (int i = 0; i < r->used; i++) {
		if (*place(r, i) != id)
			continue;
		if (any_order) {
			*place(r, i) = *place(r, 0);
			i = 0;
		}
		r->head = (r->head + (unsigned)i + 1) % (unsigned)r->places;
		r->used -= i + 1;
		return 1;
	}
	return 0;
}

static int is_receive(const struct ibv_wc *wc)
{
	struct queue *q = *pair_at(wc->qp_num);

	for (int i = 0; q && i < q->send.used; i++)
		if (*place(&q->send, i) == wc->wr_id)
			return 0;
	return 1;
}

static void free_place(const struct ibv_wc *wc)
{
	struct queue *q = *pair_at(wc->qp_num);

	if (q && (completed(&q->send, wc->wr_id, 0) || completed(&q->receive, wc->wr_id, 0)))
		return;
	for (q = shared; q; q = q->next)
		if (completed(&q->receive, wc->wr_id, 1))
			return;
}

/*
 * Completions that the device has not shown yet: a late one comes at the next poll, since a poll may come before any
 * completion. What a queue has announced by an event is there. So is what comes before the next event is asked for, as
 * no event announces it.
 */
struct hidden {
	struct hidden *next;
	struct ibv_cq *cq;
	struct ibv_wc wc;
};
static struct hidden *hidden;

/* The queues that have announced something, or are to, and were not seen empty since. */
static struct announcement {
	struct announcement *next;
	struct ibv_cq *cq;
} *announcements;

static struct announcement **announced(struct ibv_cq *cq)
{
	struct announcement **at = &announcements;

	while (*at && (*at)->cq != cq)
		at = &(*at)->next;
	return at;
}

void shape_announced(struct ibv_cq *cq)
{
	struct announcement **at, *a;

	if (!late)
		return;
	pthread_mutex_lock(&mutex);
	if (*(at = announced(cq)) == NULL) {
		*at = a = malloc(sizeof(*a));
		*a = (struct announcement){.cq = cq};
	}
	pthread_mutex_unlock(&mutex);
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	shape_announced(cq);
	return device.ops.req_notify_cq(cq, solicited_only);
}

static void end_announcement(struct ibv_cq *cq)
{
	struct announcement **at = announced(cq), *a = *at;

	if (a) {
		*at = a->next;
		free(a);
	}
}

static int unhide(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct hidden **at = &hidden, *h;
	int count = 0;

	while ((h = *at) != NULL && count < n) {
		if (h->cq != cq) {
			at = &h->next;
			continue;
		}
		wc[count++] = h->wc;
		*at = h->next;
		free(h);
	}
	return count;
}

static void forget_hidden(struct ibv_cq *cq, unsigned number)
{
	for (struct hidden **at = &hidden, *h; (h = *at) != NULL;) {
		if (h->cq == cq || (!cq && h->wc.qp_num == number)) {
			*at = h->next;
			free(h);
		} else {
			at = &h->next;
		}
	}
}

static int hide(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	struct hidden **last = &hidden;
	int shown = 0;

	while (*last)
		last = &(*last)->next;
	for (int i = 0; i < count; i++) {
		/* What is left of a queue pair that is destroyed comes no later. */
		if (*pair_at(wc[i].qp_num) == NULL || is_receive(&wc[i]) != late_receives) {
			wc[shown++] = wc[i];
			continue;
		}
		*last = malloc(sizeof(**last));
		**last = (struct hidden){.cq = cq, .wc = wc[i]};
		last = &(*last)->next;
	}
	return shown;
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int shown, count;

	pthread_mutex_lock(&mutex);
	shown = late ? unhide(cq, n, wc) : 0;
	count = shown < n ? device.ops.poll_cq(cq, n - shown, wc + shown) : 0;
	if (count > 0)
		shown += late && !*announced(cq) ? hide(cq, count, wc + shown) : count;
	else if (late && count == 0 && shown < n)
		end_announcement(cq);
	for (int i = 0; i < shown; i++) {
		free_place(wc + i);
		if (wc[i].status != IBV_WC_SUCCESS && vendor_error)
			wc[i].vendor_err = (uint32_t)vendor_error;
	}
	pthread_mutex_unlock(&mutex);
	return count < 0 && !shown ? count : shown;
}

/* Posts if there is a place. Queues that were not made here have no count of places. */
#define POST(at, ring, id, post) ({ \
	struct queue *queue; \
	int failed = 0; \
\
	pthread_mutex_lock(&mutex); \
	queue = *(at); \
	if (queue) \
		failed = take(&queue->ring, id); \
	if (!failed && (failed = (post)) != 0 && queue) \
		queue->ring.used--; \
	pthread_mutex_unlock(&mutex); \
	failed; \
})

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int atomic = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

	*bad = wr;
	if ((atomic && !atomics) || (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM && !writes_immediate) ||
	    wr->num_sge > (wr->opcode == IBV_WR_RDMA_READ ? read_sges : sges))
		return refused(EINVAL);
	return POST(pair_at(qp->qp_num), send, wr->wr_id, device.ops.post_send(qp, wr, bad));
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	*bad = wr;
	return POST(pair_at(qp->qp_num), receive, wr->wr_id, device.ops.post_recv(qp, wr, bad));
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	*bad = wr;
	return POST(shared_at(srq), receive, wr->wr_id, device.ops.post_srq_recv(srq, wr, bad));
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	return mw_error ? refused(mw_error), NULL : device.ops.alloc_mw(pd, type);
}

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	return POST(pair_at(qp->qp_num), send, bind->wr_id, device.ops.bind_mw(qp, mw, bind));
}

/* Queue pairs and shared receive queues. Each request takes its overhead, and its pieces or its inline data, in blocks of 64 bytes. */
static long long bytes_of_requests(const struct ibv_qp_cap *cap)
{
	long long pieces = 16LL * cap->max_send_sge, data = cap->max_inline_data ? (cap->max_inline_data + 4 + 15) / 16 * 16 : 0;
	long long stride = (number("sq_overhead", 32) + (pieces > data ? pieces : data) + 63) / 64 * 64;

	return power_of_2(cap->max_send_wr * stride);
}

static int qp_refusal(const struct ibv_qp_init_attr *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;
	long long wr = number("max_qp_wr", 1 << 20);

	if (qp_error)
		return qp_error;
	if (attr->srq && srq_error)
		return srq_error;
	if (cap->max_send_wr > wr || (!attr->srq && cap->max_recv_wr > wr) || (int)cap->max_send_sge > sges ||
	    (int)cap->max_recv_sge > sges || (cap->max_inline_data > number("max_inline", 1 << 20)) ||
	    (text("sq_bytes") && bytes_of_requests(cap) > number("sq_bytes", 0)))
		return EINVAL;
	if (empty_error && (!cap->max_send_wr || (is("empty", "any") && !cap->max_recv_wr && !attr->srq)))
		return empty_error;
	return 0;
}

static struct ibv_qp *shape_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_cap *cap = &attr->cap, asked = *cap;
	int error = qp_refusal(attr), send, receive;
	struct ibv_qp *qp;

	if (error) {
		refused(error);
		return NULL;
	}
	send = cap->max_send_wr ? rounded((int)cap->max_send_wr, "qp_min", "qp_round") : 0;
	receive = cap->max_recv_wr && !attr->srq ? rounded((int)cap->max_recv_wr, "qp_min", is("qp_round", "spare") ? "" : "qp_round") : 0;
	/* The device that is there gets as much as was asked for, and its own most. */
	cap->max_send_wr = real(send), cap->max_recv_wr = real(receive);
	if (cap->max_send_sge > 32)
		cap->max_send_sge = 32;
	if (cap->max_recv_sge > 32)
		cap->max_recv_sge = 32;
	qp = REAL(ibv_create_qp, pd, attr);
	if (!qp) {
		*cap = asked;
		return NULL;
	}
	cap->max_send_wr = (uint32_t)send, cap->max_recv_wr = (uint32_t)receive;
	cap->max_send_sge = asked.max_send_sge, cap->max_recv_sge = asked.max_recv_sge;
	cap->max_inline_data = asked.max_inline_data;
	add(&pairs[qp->qp_num % BUCKETS], (struct queue){.number = qp->qp_num, .srq = attr->srq, .send = ring_of(send), .receive = ring_of(receive)});
	return qp;
}

static int shape_ibv_destroy_qp(struct ibv_qp *qp)
{
	unsigned number = qp->qp_num;
	struct queue *q, **of;
	int error;

	pthread_mutex_lock(&mutex);
	q = taken_out(pair_at(number));
	pthread_mutex_unlock(&mutex);
	error = REAL(ibv_destroy_qp, qp);
	if (error && q) {
		add(&pairs[number % BUCKETS], *q);
		free(q);
	} else if (q) {
		pthread_mutex_lock(&mutex);
		/* Which receives of a shared queue it has used up, and not shown, nobody knows. */
		if (q->srq && *(of = shared_at(q->srq)) != NULL)
			(*of)->receive.used = 0;
		forget_hidden(NULL, number);
		pthread_mutex_unlock(&mutex);
		delete(q);
	}
	return error;
}

static int shape_ibv_destroy_cq(struct ibv_cq *cq)
{
	pthread_mutex_lock(&mutex);
	forget_hidden(cq, 0);
	end_announcement(cq);
	pthread_mutex_unlock(&mutex);
	return REAL(ibv_destroy_cq, cq);
}

static struct ibv_srq *shape_ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	uint32_t asked = attr->attr.max_wr;
	struct ibv_srq *srq;
	int room;

	if (srq_error || asked > number("max_srq_wr", 1 << 20) || attr->attr.max_sge > number("max_srq_sge", 32)) {
		refused(srq_error ? srq_error : EINVAL);
		return NULL;
	}
	room = rounded((int)asked, "", "srq_round");
	attr->attr.max_wr = real(room);
	srq = REAL(ibv_create_srq, pd, attr);
	attr->attr.max_wr = srq ? (uint32_t)room : asked;
	if (srq)
		add(&shared, (struct queue){.srq = srq, .receive = ring_of(room)});
	return srq;
}

static int shape_ibv_destroy_srq(struct ibv_srq *srq)
{
	struct queue *q;
	int error;

	pthread_mutex_lock(&mutex);
	q = taken_out(shared_at(srq));
	pthread_mutex_unlock(&mutex);
	error = REAL(ibv_destroy_srq, srq);
	if (error && q) {
		add(&shared, *q);
		free(q);
	} else {
		delete(q);
	}
	return error;
}

static int shape_ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct ibv_srq_attr changed = *attr;
	struct queue *q;
	int error, room;

	if ((mask & IBV_SRQ_MAX_WR) && srq_resize_error)
		return refused(srq_resize_error);
	if ((mask & IBV_SRQ_MAX_WR) && attr->max_wr > number("max_srq_wr", 1 << 20))
		return refused(EINVAL);
	room = rounded((int)attr->max_wr, "", "srq_round");
	changed.max_wr = real(room);
	pthread_mutex_lock(&mutex);
	error = REAL(ibv_modify_srq, srq, &changed, mask);
	if (!error && (mask & IBV_SRQ_MAX_WR) && (q = *shared_at(srq)) != NULL) {
		struct ring old = q->receive;

		q->receive = ring_of(room);
		for (int i = 0; i < old.used; i++)
			take(&q->receive, *place(&old, i));
		free(old.id);
	}
	pthread_mutex_unlock(&mutex);
	return error;
}

/* Addresses: on an InfiniBand link there is a LID, and a GID only if the caller asks for one. */
static int real_address(struct ibv_context *context, struct ibv_ah_attr *ah)
{
	enum { OWN = 1 }; /* of the kernel's GIDs, that which is the IPv4 address */
	union ibv_gid gid;
	int at;

	if (infiniband) {
		if (ah->dlid != (uint16_t)number("lid", 0))
			return refused(EINVAL);
		if (ah->is_global && (!gid_other(ah->grh.sgid_index, &gid) || memcmp(&gid, &ah->grh.dgid, sizeof(gid))))
			return refused(EINVAL);
		if (REAL(ibv_query_gid, context, 1, OWN, &gid))
			return errno;
		*ah = (struct ibv_ah_attr){.is_global = 1, .grh = {.dgid = gid, .sgid_index = OWN, .hop_limit = 64}, .sl = ah->sl};
	} else {
		at = ah->is_global ? gid_real(ah->grh.sgid_index) : -1;
		if (at < 0 || ah->grh.sgid_index != number("gid_index", ah->grh.sgid_index))
			return refused(EINVAL);
		ah->grh.sgid_index = (uint8_t)at;
	}
	ah->port_num = 1;
	return 0;
}

static uint8_t at_most(uint8_t n, int most)
{
	return (uint8_t)(n > most ? most : n);
}

static int shape_ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp_attr changed = *attr;
	int error;

	if (((mask & IBV_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic > number("max_qp_rd_atom", 255)) ||
	    ((mask & IBV_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic > number("max_qp_init_rd_atom", 255)))
		return refused(EINVAL);
	changed.max_dest_rd_atomic = at_most(attr->max_dest_rd_atomic, 128);
	changed.max_rd_atomic = at_most(attr->max_rd_atomic, 128);
	if (!from_rdmacm(calling)) {
		if ((mask & IBV_QP_PATH_MTU) && (int)attr->path_mtu > number("active_mtu", 5))
			return refused(EINVAL);
		if ((mask & IBV_QP_AV) && translates && (error = real_address(qp->context, &changed.ah_attr)) != 0)
			return error;
		changed.port_num = 1;
	}
	return REAL(ibv_modify_qp, qp, &changed, mask);
}

static struct ibv_ah *shape_ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah_attr changed = *attr;

	if (translates && !from_rdmacm(calling) && real_address(pd->context, &changed))
		return NULL;
	return REAL(ibv_create_ah, pd, &changed);
}

/*
 * Asynchronous events of the device, which the shape adds: who polls its file polls one that is readable for these, too.
 * The kernel has to see the device's own.
 */
static struct async {
	struct async *next;
	struct ibv_context *context;
	int both, timer, sent;
} *asyncs;

static void add_events(struct ibv_context *context)
{
	struct itimerspec every = {.it_value = {.tv_nsec = 2000000}, .it_interval = {.tv_nsec = 2000000}};
	struct epoll_event wanted = {.events = EPOLLIN};
	struct async *a = malloc(sizeof(*a));

	*a = (struct async){.context = context, .both = epoll_create1(EPOLL_CLOEXEC),
			    .timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
	if (a->both < 0 || a->timer < 0)
		abort();
	epoll_ctl(a->both, EPOLL_CTL_ADD, context->async_fd, &wanted);
	epoll_ctl(a->both, EPOLL_CTL_ADD, a->timer, &wanted);
	timerfd_settime(a->timer, 0, &every, NULL);
	pthread_mutex_lock(&mutex);
	a->next = asyncs;
	asyncs = a;
	pthread_mutex_unlock(&mutex);
}

static struct async **async_at(int fd)
{
	struct async **at = &asyncs;

	while (*at && (*at)->context->async_fd != fd)
		at = &(*at)->next;
	return at;
}

static int shape_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	struct pollfd changed[count + 1];
	int ready;

	memcpy(changed, fds, count * sizeof(*fds));
	pthread_mutex_lock(&mutex);
	for (nfds_t i = 0; i < count; i++)
		if (*async_at(fds[i].fd))
			changed[i].fd = (*async_at(fds[i].fd))->both;
	pthread_mutex_unlock(&mutex);
	ready = REAL(poll, changed, count, timeout);
	for (nfds_t i = 0; i < count; i++)
		fds[i].revents = changed[i].revents;
	return ready;
}

static int shape_ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	uint64_t times;
	struct async *a;

	pthread_mutex_lock(&mutex);
	a = *async_at(context->async_fd);
	pthread_mutex_unlock(&mutex);
	if (!a || read(a->timer, &times, sizeof(times)) != sizeof(times))
		return REAL(ibv_get_async_event, context, event);
	*event = (struct ibv_async_event){.event_type = events[a->sent++], .element.port_num = 1};
	if (a->sent == event_count)
		timerfd_settime(a->timer, 0, &(struct itimerspec){0}, NULL);
	return 0;
}

int shape_ibv_close_device(struct ibv_context *) __asm__("ibv_close_device");

int shape_ibv_close_device(struct ibv_context *context)
{
	struct async **at, *a;

	pthread_mutex_lock(&mutex);
	if ((a = *(at = async_at(context->async_fd))) != NULL) {
		*at = a->next;
		close(a->both);
		close(a->timer);
		free(a);
	}
	pthread_mutex_unlock(&mutex);
	return REAL(ibv_close_device, context);
}

void shape_context(struct ibv_context *context, struct below *below)
{
	if (!key_count)
		return;
	if (text("transport"))
		context->device->transport_type = is("transport", "unspecified") ? IBV_TRANSPORT_UNSPECIFIED :
			is("transport", "iwarp") ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
	if (event_count)
		add_events(context);
	device = *below;
	below->query_port = query_port;
	below->ops.poll_cq = poll_cq;
	below->ops.req_notify_cq = req_notify_cq;
	below->ops.post_send = post_send;
	below->ops.post_recv = post_recv;
	below->ops.post_srq_recv = post_srq_recv;
	below->ops.alloc_mw = alloc_mw;
	below->ops.bind_mw = bind_mw;
}

#define SHAPED(name) {#name, (void *)shape_##name}
call *shaped(const char *function)
{
	static const struct { const char *name; void *function; } functions[] = {
		SHAPED(ibv_query_device), SHAPED(ibv_query_gid), SHAPED(ibv_create_cq), SHAPED(ibv_resize_cq),
		SHAPED(ibv_destroy_cq), SHAPED(ibv_create_qp), SHAPED(ibv_modify_qp), SHAPED(ibv_destroy_qp),
		SHAPED(ibv_create_srq), SHAPED(ibv_modify_srq), SHAPED(ibv_destroy_srq), SHAPED(ibv_create_ah),
		SHAPED(ibv_get_async_event), SHAPED(poll)};

	for (unsigned i = 0; key_count && i < sizeof(functions) / sizeof(functions[0]); i++)
		if (strcmp(functions[i].name, function) == 0)
			return (call *)functions[i].function;
	return NULL;
}

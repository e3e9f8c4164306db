/*
 * Deposit: a client writes bytes into the memory of a server, by RDMA, and the
 * server tells the sum of what it has got. ../main.go is this program in Go.
 *
 *     deposit [-q qualifier] [-n bytes] ADAPTER            serves one client
 *     deposit [-q qualifier] [-n bytes] -c HOST ADAPTER    is the client
 */
#define _GNU_SOURCE
#include <endian.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>

/* step: agree */
#define MAGIC 0x64657073		/* begins a request */
#define MAX_BYTES (64 << 20)
#define PIECE (64 << 10)		/* bytes of one RDMA write */
#define WINDOW 8			/* writes outstanding at a time */
#define MESSAGE sizeof(uint32_t)	/* bytes of a message */
#define CONNECT_TIMEOUT 15000000	/* microseconds */
#define WAIT_TIMEOUT 60000000

/* Private data of the connect, big-endian. */
struct request {
	uint32_t magic;
	uint32_t bytes;
};

/* Private data of the accept, big-endian. */
struct place {
	uint64_t address;
	uint32_t length;
	uint32_t context;
};

/* Other cookies are those of RDMA writes. */
enum { COOKIE_SENT = 1ULL << 32, COOKIE_RECEIVED };

/* step: node */
struct node {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, requests, connection, completions;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;

	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	unsigned char *memory; /* the deposit, a message to send, one to receive */
	uint32_t bytes;

	uint32_t written; /* RDMA writes that have completed */
	int sent, received;
};

/* step: errors */
static int failed(const char *call, DAT_RETURN ret)
{
	const char *type = "", *subtype = "";

	if (DAT_GET_TYPE(ret) == DAT_SUCCESS)
		return 0;
	dat_strerror(ret, &type, &subtype);
	fprintf(stderr, "deposit: %s: %s %s\n", call, type, subtype);
	return 1;
}

#define TRY(function, ...)                                                     \
	do {                                                                   \
		if (failed(#function, function(__VA_ARGS__)))                  \
			return -1;                                             \
	} while (0)

static int complain(const char *message)
{
	fprintf(stderr, "deposit: %s\n", message);
	return -1;
}

/* step: open */
static int open_node(struct node *n, const char *adapter)
{
	n->async = DAT_HANDLE_NULL;
	TRY(dat_ia_open, (char *)adapter, 8, &n->async, &n->ia);
	TRY(dat_pz_create, n->ia, &n->pz);
	TRY(dat_evd_create, n->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
	    &n->connection);
	TRY(dat_evd_create, n->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
	    &n->completions);
	TRY(dat_ep_create, n->ia, n->pz, n->completions, n->completions,
	    n->connection, NULL, &n->ep);
	return 0;
}

/* step: memory */
static int allocate(struct node *n, uint32_t bytes, DAT_MEM_PRIV_FLAGS remote)
{
	DAT_VLEN size = bytes + 2 * MESSAGE, registered_size;
	DAT_VADDR registered_address;
	DAT_REGION_DESCRIPTION region;

	n->bytes = bytes;
	if (posix_memalign((void **)&n->memory, sysconf(_SC_PAGESIZE), size))
		return complain("no memory");
	memset(n->memory, 0, size);
	region.for_va = n->memory;
	TRY(dat_lmr_create, n->ia, DAT_MEM_TYPE_VIRTUAL, region, size, n->pz,
	    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG | remote,
	    DAT_VA_TYPE_VA, &n->lmr, &n->lmr_context, &n->rmr_context,
	    &registered_size, &registered_address);
	return 0;
}

static DAT_LMR_TRIPLET segment(struct node *n, uint32_t offset, uint32_t length)
{
	DAT_LMR_TRIPLET triplet = {
		.virtual_address = (DAT_VADDR)(uintptr_t)(n->memory + offset),
		.segment_length = length,
		.lmr_context = n->lmr_context,
	};
	return triplet;
}

static uint32_t sum(const unsigned char *memory, uint32_t bytes)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (uint32_t i = 0; i < bytes; i++)
		hash = (hash ^ memory[i]) * 16777619u;
	return hash;
}

/* step: connection events */
static int wait_connection(struct node *n, DAT_EVENT_NUMBER want, DAT_EVENT *event)
{
	DAT_COUNT more;

	TRY(dat_evd_wait, n->connection, WAIT_TIMEOUT, 1, event, &more);
	if (event->event_number != want) {
		fprintf(stderr, "deposit: got event 0x%x instead of 0x%x\n",
			event->event_number, want);
		return -1;
	}
	return 0;
}

/* step: completions */
static int progress(struct node *n)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event.event_data.dto_completion_event_data;

	TRY(dat_evd_wait, n->completions, WAIT_TIMEOUT, 1, &event, &more);
	/* The providers report some completions as those of an extension. */
	if (event.event_number != DAT_DTO_COMPLETION_EVENT &&
	    event.event_number != (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT)
		return complain("got an event that is no completion");
	if (dto->status != DAT_DTO_SUCCESS) {
		fprintf(stderr, "deposit: operation 0x%llx failed with status %d\n",
			(unsigned long long)dto->user_cookie.as_64, dto->status);
		return -1;
	}
	if (dto->user_cookie.as_64 == COOKIE_SENT)
		n->sent = 1;
	else if (dto->user_cookie.as_64 == COOKIE_RECEIVED)
		n->received = 1;
	else
		n->written++;
	return 0;
}

/* step: messages */
static int post_receive(struct node *n)
{
	DAT_LMR_TRIPLET iov = segment(n, n->bytes + MESSAGE, MESSAGE);
	DAT_DTO_COOKIE cookie = { .as_64 = COOKIE_RECEIVED };

	TRY(dat_ep_post_recv, n->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	return 0;
}

static int send_message(struct node *n, uint32_t value)
{
	DAT_LMR_TRIPLET iov = segment(n, n->bytes, MESSAGE);
	DAT_DTO_COOKIE cookie = { .as_64 = COOKIE_SENT };

	value = htobe32(value);
	memcpy(n->memory + n->bytes, &value, MESSAGE);
	TRY(dat_ep_post_send, n->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	return 0;
}

static uint32_t message(struct node *n)
{
	uint32_t value;

	memcpy(&value, n->memory + n->bytes + MESSAGE, MESSAGE);
	return be32toh(value);
}

/* step: listen */
static int take_request(struct node *n, DAT_CONN_QUAL qual, DAT_CR_HANDLE *cr)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_CR_PARAM param;
	struct request request;

	TRY(dat_evd_create, n->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &n->requests);
	TRY(dat_psp_create, n->ia, qual, n->requests, DAT_PSP_CONSUMER_FLAG, &n->psp);
	printf("deposit: waiting for a client at qualifier %llu\n",
	       (unsigned long long)qual);
	TRY(dat_evd_wait, n->requests, DAT_TIMEOUT_INFINITE, 1, &event, &more);
	*cr = event.event_data.cr_arrival_event_data.cr_handle;
	TRY(dat_cr_query, *cr, DAT_CR_FIELD_ALL, &param);
	memset(&request, 0, sizeof(request));
	if (param.private_data_size >= (DAT_COUNT)sizeof(request))
		memcpy(&request, param.private_data, sizeof(request));
	n->bytes = be32toh(request.bytes);
	if (be32toh(request.magic) != MAGIC || n->bytes < 1 || n->bytes > MAX_BYTES) {
		TRY(dat_cr_reject, *cr, 0, NULL);
		return complain("the client is not a deposit client");
	}
	return 0;
}

/* step: accept */
static int accept_request(struct node *n, DAT_CR_HANDLE cr)
{
	DAT_EVENT event;
	struct place place;

	if (allocate(n, n->bytes, DAT_MEM_PRIV_REMOTE_WRITE_FLAG) || post_receive(n))
		return -1;
	place.address = htobe64((uintptr_t)n->memory);
	place.length = htobe32(n->bytes);
	place.context = htobe32(n->rmr_context);
	TRY(dat_cr_accept, cr, n->ep, sizeof(place), &place);
	return wait_connection(n, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

/* step: serve */
static int serve(struct node *n, DAT_CONN_QUAL qual)
{
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	uint32_t value;

	if (take_request(n, qual, &cr) || accept_request(n, cr))
		return -1;
	while (!n->received)
		if (progress(n))
			return -1;
	if (message(n) != n->bytes)
		return complain("the client has not written all");
	value = sum(n->memory, n->bytes);
	printf("deposit: got %u bytes, sum 0x%08x\n", n->bytes, value);
	if (send_message(n, value))
		return -1;
	while (!n->sent)
		if (progress(n))
			return -1;
	TRY(dat_ep_disconnect, n->ep, DAT_CLOSE_GRACEFUL_FLAG);
	return wait_connection(n, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
}

/* step: connect */
static int resolve(const char *host, DAT_SOCK_ADDR6 *address)
{
	struct addrinfo *found;

	if (getaddrinfo(host, NULL, NULL, &found))
		return complain("no such host");
	memcpy(address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return 0;
}

static int connect_to(struct node *n, const char *host, DAT_CONN_QUAL qual,
		      DAT_RMR_TRIPLET *remote)
{
	DAT_SOCK_ADDR6 address;
	struct request request = { htobe32(MAGIC), htobe32(n->bytes) };
	struct place place;
	DAT_EVENT event;
	DAT_CONNECTION_EVENT_DATA *established = &event.event_data.connect_event_data;

	if (resolve(host, &address))
		return -1;
	TRY(dat_ep_connect, n->ep, (DAT_IA_ADDRESS_PTR)&address, qual, CONNECT_TIMEOUT,
	    sizeof(request), &request, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (wait_connection(n, DAT_CONNECTION_EVENT_ESTABLISHED, &event))
		return -1;
	if (established->private_data_size < (DAT_COUNT)sizeof(place))
		return complain("the server is not a deposit server");
	memcpy(&place, established->private_data, sizeof(place));
	remote->virtual_address = be64toh(place.address);
	remote->segment_length = be32toh(place.length);
	remote->rmr_context = be32toh(place.context);
	return 0;
}

/* step: write */
static int write_all(struct node *n, const DAT_RMR_TRIPLET *place)
{
	uint32_t pieces = (n->bytes + PIECE - 1) / PIECE, posted = 0;

	while (n->written < pieces) {
		while (posted < pieces && posted - n->written < WINDOW) {
			uint32_t offset = posted * PIECE;
			uint32_t left = n->bytes - offset;
			uint32_t length = left < PIECE ? left : PIECE;
			DAT_LMR_TRIPLET iov = segment(n, offset, length);
			DAT_RMR_TRIPLET remote = *place;
			DAT_DTO_COOKIE cookie = { .as_64 = posted };

			remote.virtual_address += offset;
			remote.segment_length = length;
			TRY(dat_ep_post_rdma_write, n->ep, 1, &iov, cookie, &remote,
			    DAT_COMPLETION_DEFAULT_FLAG);
			posted++;
		}
		if (progress(n))
			return -1;
	}
	return 0;
}

/* step: client */
static void fill(unsigned char *memory, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		memory[i] = i * 7 + (i >> 8);
}

static int deposit(struct node *n, const char *host, DAT_CONN_QUAL qual, uint32_t bytes)
{
	DAT_RMR_TRIPLET place;
	DAT_EVENT event;
	uint32_t own;

	if (allocate(n, bytes, DAT_MEM_PRIV_NONE_FLAG) || post_receive(n))
		return -1;
	fill(n->memory, bytes);
	own = sum(n->memory, bytes);
	if (connect_to(n, host, qual, &place) || write_all(n, &place) ||
	    send_message(n, bytes))
		return -1;
	while (!n->sent || !n->received)
		if (progress(n))
			return -1;
	if (message(n) != own)
		return complain("the server has another sum");
	printf("deposit: the server got %u bytes, sum 0x%08x as here\n", bytes, own);
	return wait_connection(n, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
}

/* step: asynchronous errors */
static void tell_async(struct node *n)
{
	DAT_EVENT event;

	while (n->async && dat_evd_dequeue(n->async, &event) == DAT_SUCCESS)
		fprintf(stderr, "deposit: asynchronous error 0x%x\n",
			event.event_number);
}

/* step: free */
static int free_node(struct node *n)
{
	int bad = 0;

	if (n->psp)
		bad |= failed("dat_psp_free", dat_psp_free(n->psp));
	if (n->ep)
		bad |= failed("dat_ep_free", dat_ep_free(n->ep));
	if (n->lmr)
		bad |= failed("dat_lmr_free", dat_lmr_free(n->lmr));
	if (n->pz)
		bad |= failed("dat_pz_free", dat_pz_free(n->pz));
	if (n->requests)
		bad |= failed("dat_evd_free", dat_evd_free(n->requests));
	if (n->connection)
		bad |= failed("dat_evd_free", dat_evd_free(n->connection));
	if (n->completions)
		bad |= failed("dat_evd_free", dat_evd_free(n->completions));
	if (n->ia)
		bad |= failed("dat_ia_close", dat_ia_close(n->ia, DAT_CLOSE_GRACEFUL_FLAG));
	free(n->memory);
	return bad ? -1 : 0;
}

/* step: main */
int main(int argc, char **argv)
{
	struct node n;
	const char *host = NULL;
	long qual = 7475, bytes = 1000000;
	int option, bad;

	while ((option = getopt(argc, argv, "q:n:c:")) != -1) {
		switch (option) {
		case 'q':
			qual = atol(optarg);
			break;
		case 'n':
			bytes = atol(optarg);
			break;
		case 'c':
			host = optarg;
			break;
		default:
			return 2;
		}
	}
	if (optind != argc - 1 || bytes < 1 || bytes > MAX_BYTES || qual < 1) {
		fprintf(stderr, "usage: deposit [-q qualifier] [-n bytes] [-c host] ADAPTER\n");
		return 2;
	}
	setlinebuf(stdout);
	memset(&n, 0, sizeof(n));
	bad = open_node(&n, argv[optind]) ||
	      (host ? deposit(&n, host, qual, bytes) : serve(&n, qual));
	if (bad)
		tell_async(&n);
	if (free_node(&n))
		bad = 1;
	return bad ? 1 : 0;
}

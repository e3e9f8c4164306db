/*
 * Deposit: a client writes bytes into the memory of a server, by RDMA, and the
 * server tells the sum of what it has got. ../main.go is this program in Go,
 * with the same functions in the same order.
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

#define MAGIC 0x64657073		/* begins a request */
#define MAX_BYTES (64 << 20)
#define PIECE (64 << 10)		/* bytes of one RDMA write */
#define WINDOW 8			/* writes outstanding at a time */
#define MESSAGE sizeof(uint32_t)	/* bytes of a message */
#define WAIT_TIMEOUT 60000000	/* microseconds */

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

struct node {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE requests, connection, completions;
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

static void stop(const char *message)
{
	fprintf(stderr, "deposit: %s\n", message);
	exit(1);
}

static void must(const char *call, DAT_RETURN ret)
{
	const char *type = "", *subtype = "";

	if (DAT_GET_TYPE(ret) == DAT_SUCCESS)
		return;
	dat_strerror(ret, &type, &subtype);
	fprintf(stderr, "deposit: %s: %s %s\n", call, type, subtype);
	exit(1);
}

#define TRY(function, ...) must(#function, function(__VA_ARGS__))

static void open_node(struct node *n, const char *adapter)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	TRY(dat_ia_open, (char *)adapter, 8, &async, &n->ia);
	TRY(dat_pz_create, n->ia, &n->pz);
	TRY(dat_evd_create, n->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
	    &n->connection);
	TRY(dat_evd_create, n->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
	    &n->completions);
	TRY(dat_ep_create, n->ia, n->pz, n->completions, n->completions,
	    n->connection, NULL, &n->ep);
}

static void allocate(struct node *n, uint32_t bytes, DAT_MEM_PRIV_FLAGS remote)
{
	DAT_VLEN size = bytes + 2 * MESSAGE, registered_size;
	DAT_VADDR registered_address;
	DAT_REGION_DESCRIPTION region;

	n->bytes = bytes;
	if (posix_memalign((void **)&n->memory, sysconf(_SC_PAGESIZE), size))
		stop("no memory");
	memset(n->memory, 0, size);
	region.for_va = n->memory;
	TRY(dat_lmr_create, n->ia, DAT_MEM_TYPE_VIRTUAL, region, size, n->pz,
	    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG | remote,
	    DAT_VA_TYPE_VA, &n->lmr, &n->lmr_context, &n->rmr_context,
	    &registered_size, &registered_address);
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

static void wait_connection(struct node *n, DAT_EVENT_NUMBER want, DAT_EVENT *event)
{
	DAT_COUNT more;

	TRY(dat_evd_wait, n->connection, WAIT_TIMEOUT, 1, event, &more);
	if (event->event_number == want)
		return;
	fprintf(stderr, "deposit: got event 0x%x instead of 0x%x\n",
		event->event_number, want);
	exit(1);
}

static void progress(struct node *n)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event.event_data.dto_completion_event_data;

	TRY(dat_evd_wait, n->completions, WAIT_TIMEOUT, 1, &event, &more);
	/* The providers report some completions as those of an extension. */
	if (event.event_number != DAT_DTO_COMPLETION_EVENT &&
	    event.event_number != (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT)
		stop("got an event that is no completion");
	if (dto->status != DAT_DTO_SUCCESS) {
		fprintf(stderr, "deposit: operation 0x%llx failed with status %d\n",
			(unsigned long long)dto->user_cookie.as_64, dto->status);
		exit(1);
	}
	if (dto->user_cookie.as_64 == COOKIE_SENT)
		n->sent = 1;
	else if (dto->user_cookie.as_64 == COOKIE_RECEIVED)
		n->received = 1;
	else
		n->written++;
}

static void post_receive(struct node *n)
{
	DAT_LMR_TRIPLET iov = segment(n, n->bytes + MESSAGE, MESSAGE);
	DAT_DTO_COOKIE cookie = { .as_64 = COOKIE_RECEIVED };

	TRY(dat_ep_post_recv, n->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

static void send_message(struct node *n, uint32_t value)
{
	DAT_LMR_TRIPLET iov = segment(n, n->bytes, MESSAGE);
	DAT_DTO_COOKIE cookie = { .as_64 = COOKIE_SENT };

	value = htobe32(value);
	memcpy(n->memory + n->bytes, &value, MESSAGE);
	TRY(dat_ep_post_send, n->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

static uint32_t message(struct node *n)
{
	uint32_t value;

	memcpy(&value, n->memory + n->bytes + MESSAGE, MESSAGE);
	return be32toh(value);
}

static DAT_CR_HANDLE take_request(struct node *n, DAT_CONN_QUAL qual)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	struct request request = { 0, 0 };

	TRY(dat_evd_create, n->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &n->requests);
	TRY(dat_psp_create, n->ia, qual, n->requests, DAT_PSP_CONSUMER_FLAG, &n->psp);
	printf("deposit: waiting for a client at qualifier %llu\n",
	       (unsigned long long)qual);
	TRY(dat_evd_wait, n->requests, DAT_TIMEOUT_INFINITE, 1, &event, &more);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	TRY(dat_cr_query, cr, DAT_CR_FIELD_ALL, &param);
	if (param.private_data_size >= (DAT_COUNT)sizeof(request))
		memcpy(&request, param.private_data, sizeof(request));
	n->bytes = be32toh(request.bytes);
	if (be32toh(request.magic) != MAGIC || n->bytes < 1 || n->bytes > MAX_BYTES) {
		TRY(dat_cr_reject, cr, 0, NULL);
		stop("the client is not a deposit client");
	}
	return cr;
}

static void accept_request(struct node *n, DAT_CR_HANDLE cr)
{
	DAT_EVENT event;
	struct place place;

	allocate(n, n->bytes, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	post_receive(n);
	place.address = htobe64((uintptr_t)n->memory);
	place.length = htobe32(n->bytes);
	place.context = htobe32(n->rmr_context);
	TRY(dat_cr_accept, cr, n->ep, sizeof(place), &place);
	wait_connection(n, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

/*
 * The server disconnects, when its answer has been delivered. If the client did
 * when it has the answer, the server's send might fail.
 */
static void serve(struct node *n, DAT_CONN_QUAL qual)
{
	DAT_EVENT event;
	uint32_t value;

	accept_request(n, take_request(n, qual));
	while (!n->received)
		progress(n);
	if (message(n) != n->bytes)
		stop("the client has not written all");
	value = sum(n->memory, n->bytes);
	printf("deposit: got %u bytes, sum 0x%08x\n", n->bytes, value);
	send_message(n, value);
	while (!n->sent)
		progress(n);
	TRY(dat_ep_disconnect, n->ep, DAT_CLOSE_GRACEFUL_FLAG);
	wait_connection(n, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
}

static DAT_RMR_TRIPLET connect_to(struct node *n, const char *host, DAT_CONN_QUAL qual)
{
	struct addrinfo *found;
	DAT_SOCK_ADDR6 address;
	struct request request = { htobe32(MAGIC), htobe32(n->bytes) };
	struct place place;
	DAT_RMR_TRIPLET remote;
	DAT_EVENT event;
	DAT_CONNECTION_EVENT_DATA *established = &event.event_data.connect_event_data;

	if (getaddrinfo(host, NULL, NULL, &found))
		stop("no such host");
	memcpy(&address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	TRY(dat_ep_connect, n->ep, (DAT_IA_ADDRESS_PTR)&address, qual, WAIT_TIMEOUT,
	    sizeof(request), &request, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	wait_connection(n, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	if (established->private_data_size < (DAT_COUNT)sizeof(place))
		stop("the server is not a deposit server");
	memcpy(&place, established->private_data, sizeof(place));
	remote.virtual_address = be64toh(place.address);
	remote.segment_length = be32toh(place.length);
	remote.rmr_context = be32toh(place.context);
	return remote;
}

/* The endpoint and the EVD must have room for as many writes as the window. */
static void write_all(struct node *n, DAT_RMR_TRIPLET place)
{
	uint32_t pieces = (n->bytes + PIECE - 1) / PIECE, posted = 0;

	while (n->written < pieces) {
		while (posted < pieces && posted - n->written < WINDOW) {
			uint32_t offset = posted * PIECE;
			uint32_t left = n->bytes - offset;
			uint32_t length = left < PIECE ? left : PIECE;
			DAT_LMR_TRIPLET iov = segment(n, offset, length);
			DAT_RMR_TRIPLET remote = place;
			DAT_DTO_COOKIE cookie = { .as_64 = posted };

			remote.virtual_address += offset;
			remote.segment_length = length;
			TRY(dat_ep_post_rdma_write, n->ep, 1, &iov, cookie, &remote,
			    DAT_COMPLETION_DEFAULT_FLAG);
			posted++;
		}
		progress(n);
	}
}

static void fill(unsigned char *memory, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		memory[i] = i * 7 + (i >> 8);
}

static void deposit(struct node *n, const char *host, DAT_CONN_QUAL qual, uint32_t bytes)
{
	DAT_EVENT event;
	uint32_t own;

	allocate(n, bytes, DAT_MEM_PRIV_NONE_FLAG);
	post_receive(n);
	fill(n->memory, bytes);
	own = sum(n->memory, bytes);
	write_all(n, connect_to(n, host, qual));
	send_message(n, bytes); /* arrives after the writes */
	while (!n->sent || !n->received)
		progress(n);
	if (message(n) != own)
		stop("the server has another sum");
	printf("deposit: the server got %u bytes, sum 0x%08x as here\n", bytes, own);
	wait_connection(n, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
}

static void free_node(struct node *n)
{
	if (n->psp) {
		TRY(dat_psp_free, n->psp);
		TRY(dat_evd_free, n->requests);
	}
	TRY(dat_ep_free, n->ep);
	TRY(dat_lmr_free, n->lmr);
	TRY(dat_pz_free, n->pz);
	TRY(dat_evd_free, n->connection);
	TRY(dat_evd_free, n->completions);
	TRY(dat_ia_close, n->ia, DAT_CLOSE_GRACEFUL_FLAG);
	free(n->memory);
}

int main(int argc, char **argv)
{
	struct node n;
	const char *host = NULL;
	long qual = 7475, bytes = 1000000;
	int option;

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
	open_node(&n, argv[optind]);
	if (host)
		deposit(&n, host, qual, bytes);
	else
		serve(&n, qual);
	free_node(&n);
	return 0;
}

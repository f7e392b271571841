/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What UCX itself gives: a ring of two ranks over UCP tags, in segments, with nothing around it. Small vectors are
 * exchanged whole. The ranks find each other by RANK, MASTER_ADDR and MASTER_PORT.
 */
#include <arpa/inet.h>
#include <sched.h>
#include <sys/socket.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "rounds.h"

#define WHOLE_MOST 8192
#define SEGMENT ((size_t)65536) /* elements: 256 KiB */
#define WINDOW 4
#define SEGMENTS_MOST 4096
#define ADDRESS_MOST 4096
#define CALLS 500

struct ucx {
	int rank;
	ucp_worker_h worker;
	ucp_ep_h peer;
	float *room; /* WINDOW segments */
	uint64_t tag;
};

static void ucx_die(const char *what)
{
	(void)fprintf(stderr, "reduce_ucx: %s failed\n", what);
	exit(1);
}

static void *ucx_post(void *request)
{
	if (UCS_PTR_IS_ERR(request))
		ucx_die("a message");
	return request;
}

static void *ucx_send(struct ucx *ucx, const float *data, size_t count, uint64_t number)
{
	const ucp_request_param_t none = {0};

	return ucx_post(ucp_tag_send_nbx(ucx->peer, data, count * sizeof(float), ucx->tag + number, &none));
}

static void *ucx_recv(struct ucx *ucx, float *data, size_t count, uint64_t number)
{
	const ucp_request_param_t late = {.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL};

	return ucx_post(ucp_tag_recv_nbx(ucx->worker, data, count * sizeof(float), ucx->tag + number, UINT64_MAX, &late));
}

static void ucx_wait(struct ucx *ucx, void *request)
{
	int idle = 0;

	if (!request)
		return;
	while (ucp_request_check_status(request) == UCS_INPROGRESS) {
		if (ucp_worker_progress(ucx->worker) == 0 && ++idle > 200)
			(void)sched_yield();
	}
	if (ucp_request_check_status(request) != UCS_OK)
		ucx_die("a request");
	ucp_request_free(request);
}

static void ucx_add(float *restrict to, const float *restrict from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] += from[i];
}

static void ucx_exchange(struct ucx *ucx, float *buffer, size_t count)
{
	void *received = ucx_recv(ucx, ucx->room, count, 0);
	void *sent = ucx_send(ucx, buffer, count, 0);

	ucx_wait(ucx, received);
	ucx_wait(ucx, sent);
	ucx_add(buffer, ucx->room, count);
}

/* Elements of a segment of a half. */
static size_t ucx_segment(size_t half, size_t index)
{
	size_t left = half - index * SEGMENT;

	return left < SEGMENT ? left : SEGMENT;
}

/* Own half goes to the other rank; its sum of the other half is sent back while further segments come. */
static void ucx_ring(struct ucx *ucx, float *own, size_t own_count, float *other, size_t other_count)
{
	void *first[SEGMENTS_MOST];
	void *second[SEGMENTS_MOST];
	void *back[SEGMENTS_MOST];
	void *coming[WINDOW];
	size_t own_segments = (own_count + SEGMENT - 1) / SEGMENT;
	size_t segments = (other_count + SEGMENT - 1) / SEGMENT;

	for (size_t i = 0; i < WINDOW && i < segments; i++)
		coming[i] = ucx_recv(ucx, ucx->room + i * SEGMENT, ucx_segment(other_count, i), i);
	for (size_t i = 0; i < own_segments; i++) {
		back[i] = ucx_recv(ucx, own + i * SEGMENT, ucx_segment(own_count, i), SEGMENTS_MOST + i);
		first[i] = NULL;
	}
	for (size_t i = 0; i < own_segments && i < WINDOW; i++)
		first[i] = ucx_send(ucx, own + i * SEGMENT, ucx_segment(own_count, i), i);
	for (size_t i = 0; i < segments; i++) {
		size_t count = ucx_segment(other_count, i);

		ucx_wait(ucx, coming[i % WINDOW]);
		ucx_add(other + i * SEGMENT, ucx->room + i % WINDOW * SEGMENT, count);
		if (i + WINDOW < segments)
			coming[i % WINDOW] =
				ucx_recv(ucx, ucx->room + i % WINDOW * SEGMENT, ucx_segment(other_count, i + WINDOW), i + WINDOW);
		if (i + WINDOW < own_segments)
			first[i + WINDOW] =
				ucx_send(ucx, own + (i + WINDOW) * SEGMENT, ucx_segment(own_count, i + WINDOW), i + WINDOW);
		second[i] = ucx_send(ucx, other + i * SEGMENT, count, SEGMENTS_MOST + i);
	}
	for (size_t i = 0; i < own_segments; i++) {
		ucx_wait(ucx, first[i]);
		ucx_wait(ucx, back[i]);
	}
	for (size_t i = 0; i < segments; i++)
		ucx_wait(ucx, second[i]);
}

static void ucx_all_reduce(void *arg, float *buffer, size_t count)
{
	struct ucx *ucx = arg;
	size_t half = count / 2;

	ucx->tag += 2 * SEGMENTS_MOST;
	if (count * sizeof(float) <= WHOLE_MOST)
		ucx_exchange(ucx, buffer, count);
	else if (ucx->rank == 0)
		ucx_ring(ucx, buffer, half, buffer + half, count - half);
	else
		ucx_ring(ucx, buffer + half, count - half, buffer, half);
}

static void ucx_barrier(void *arg)
{
	float nothing = 0;

	ucx_all_reduce(arg, &nothing, 1);
}

/* A connection between both ranks, for their addresses. */
static int ucx_socket(int rank)
{
	const char *host = getenv("MASTER_ADDR");
	const char *port = getenv("MASTER_PORT");
	struct sockaddr_in address = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int one = 1;

	if (!host || !port || fd < 0 || inet_pton(AF_INET, host, &address.sin_addr) != 1)
		ucx_die("MASTER_ADDR, MASTER_PORT");
	address.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
	if (rank == 0) {
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 1) < 0)
			ucx_die("listen()");
		return accept(fd, NULL, NULL);
	}
	for (int i = 0; i < CALLS; i++) {
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
			return fd;
		(void)usleep(20000);
	}
	return -1;
}

static void ucx_connect(struct ucx *ucx)
{
	const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
	const ucp_worker_params_t single = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
	                                    .thread_mode = UCS_THREAD_MODE_SINGLE};
	ucp_ep_params_t end = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
	char text[ADDRESS_MOST] = {0};
	static char other[ADDRESS_MOST];
	ucp_context_h context;
	ucp_address_t *address;
	size_t length = 0;
	int fd;

	if (ucp_init(&params, NULL, &context) != UCS_OK || ucp_worker_create(context, &single, &ucx->worker) != UCS_OK ||
	    ucp_worker_get_address(ucx->worker, &address, &length) != UCS_OK || length > sizeof(text))
		ucx_die("UCX");
	memcpy(text, address, length);
	fd = ucx_socket(ucx->rank);
	if (fd < 0 || send(fd, text, sizeof(text), 0) != sizeof(text) ||
	    recv(fd, other, sizeof(other), MSG_WAITALL) != sizeof(other))
		ucx_die("the exchange of addresses");
	(void)close(fd);
	end.address = (const ucp_address_t *)other;
	if (ucp_ep_create(ucx->worker, &end, &ucx->peer) != UCS_OK)
		ucx_die("ucp_ep_create()");
}

int main(int argc, char **argv)
{
	const char *rank = getenv("RANK");
	struct ucx ucx = {.rank = rank ? (int)strtol(rank, NULL, 10) : 0};
	struct rounds rounds = {
		.rank = ucx.rank, .world = 2, .arg = &ucx, .barrier = ucx_barrier, .all_reduce = ucx_all_reduce};

	ucx.room = calloc(WINDOW * SEGMENT, sizeof(float));
	ucx_connect(&ucx);
	ucx_barrier(&ucx);
	rounds_run_all(&rounds, argv + 1, argc - 1);
	ucx_barrier(&ucx);
	/* the other one may still need what this one sends: it goes with the process */
	(void)usleep(100000);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a known worker continues: through shared memory, over a second TCP connection, or over a backend, which a
 * thread of its own opens, because that waits for the worker, and others must not wait.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/core/bootstrap/protocol/socket.h"
#include "comm/core/error.h"
#include "comm/core/thread.h"
#include "comm/ps/server/attach.h"

/* How long a worker may take to open its end of a backend. */
#define OPEN_TIMEOUT (10 * RH_COMM_SECOND)

/* A backend that is being opened. The wire is the thread's until it is done. */
struct rh_ps_opening {
	pthread_t thread;
	struct rh_ps_wire *wire;
	struct rh_ps_fabric_plan plan;
	int wake;
	_Atomic bool done;
	int32_t status;
};

/* The nonces alone differ. */
static bool attach_is_same(const struct rh_ps_hello *first, const struct rh_ps_hello *second)
{
	struct rh_ps_hello hello = *second;

	memcpy(hello.nonce, first->nonce, sizeof(hello.nonce));
	return memcmp(&hello, first, sizeof(hello)) == 0;
}

struct rh_ps_conn *rh_ps_conn_find_first(const struct rh_ps_server *server, uint64_t ticket,
                                         const struct rh_ps_hello *hello)
{
	struct rh_ps_conn *conn;

	if (ticket == 0)
		return NULL;
	LIST_FOREACH(conn, &server->conns, link)
	{
		bool known = conn->phase == RH_PS_ON || conn->phase == RH_PS_SOURCE;

		if (known && conn->ticket == ticket && !conn->local && !conn->opening && attach_is_same(&conn->hello, hello))
			return conn;
	}
	return NULL;
}

static bool attach_near(struct rh_ps_conn *conn)
{
	int memory = -1;
	bool good = rh_ps_wire_memory(&memory) == 0 && rh_ps_wire_share(conn->wire, memory, true) == 0 &&
	            rh_ps_wire_send_fd(rh_ps_wire_fd(conn->wire), memory) == 0;

	if (memory >= 0)
		(void)close(memory);
	/* positions in the memory start anew */
	conn->mark_count = 0;
	conn->released = 0;
	return good;
}

/* The first connection stays, idle, to detect the death of the worker's host. */
static bool attach_far(const struct rh_ps_server *server, struct rh_ps_conn *conn, struct rh_ps_conn *first)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = conn};
	struct rh_ps_head ack = {.kind = RH_PS_REC_ACK};
	int fd = rh_ps_wire_fd(first->wire);

	if (!rh_ps_wire_add(conn->wire, &ack) || epoll_ctl(server->poller, EPOLL_CTL_MOD, fd, &event) < 0)
		return false;
	rh_comm_socket_prepare_bulk(rh_ps_wire_fd(conn->wire));
	rh_ps_wire_watch(conn->wire, rh_ps_wire_release(first->wire));
	return true;
}

struct rh_ps_conn *rh_ps_conn_attach(struct rh_ps_server *server, struct rh_ps_conn *conn)
{
	struct rh_ps_conn *first = rh_ps_conn_find_first(server, conn->attaching, &conn->hello);
	bool good = first != NULL;

	/* the record is in the wire's buffer, which is not used any more after this when memory is shared */
	rh_ps_wire_drop(conn->wire);
	if (good)
		good = conn->local ? attach_near(conn) : attach_far(server, conn, first);
	if (!good) {
		conn->broken = true;
		return NULL;
	}
	conn->worker = first->worker;
	conn->phase = first->phase;
	/* no second ATTACH is accepted */
	conn->ticket = 0;
	if (first->phase == RH_PS_SOURCE)
		server->source = conn;
	else
		server->peers[conn->worker].conn = conn;
	return first;
}

static void *opening_run(void *arg)
{
	struct rh_ps_opening *opening = arg;
	static const uint64_t one = 1;

	opening->status = rh_ps_fabric_connect(opening->wire, &opening->plan, NULL);
	atomic_store(&opening->done, true);
	(void)!write(opening->wake, &one, sizeof(one));
	return NULL;
}

static bool opening_start(struct rh_ps_server *server, struct rh_ps_conn *conn, bool near)
{
	struct rh_ps_opening *opening = calloc(1, sizeof(*opening));

	if (!opening)
		return false;
	opening->wire = conn->wire;
	opening->wake = server->wake;
	opening->plan = (struct rh_ps_fabric_plan){.fabric = &server->fabric,
	                                           .server = true,
	                                           .near = near,
	                                           .deadline = rh_comm_now() + OPEN_TIMEOUT,
	                                           .death_timeout = server->death_timeout};
	(void)epoll_ctl(server->poller, EPOLL_CTL_DEL, rh_ps_wire_fd(conn->wire), NULL);
	/* what the two exchange now depends on no backup */
	rh_ps_wire_hold(conn->wire, UINT64_MAX);
	if (rh_comm_thread_start(&opening->thread, opening_run, opening) != 0) {
		free(opening);
		return false;
	}
	conn->opening = opening;
	server->openings++;
	return true;
}

void rh_ps_conn_open_backend(struct rh_ps_server *server, struct rh_ps_conn *conn, const struct rh_ps_head *head,
                             const uint8_t *payload)
{
	struct rh_ps_fabric_hello hello;
	bool good = head->length == sizeof(hello) && rh_ps_fabric_is_on(&server->fabric) && !conn->local &&
	            !rh_ps_wire_is_foreign(conn->wire);

	if (good)
		memcpy(&hello, payload, sizeof(hello));
	rh_ps_wire_drop(conn->wire);
	if (!good || !opening_start(server, conn, hello.near != 0))
		conn->broken = true;
}

/* Waits for the thread. */
static int32_t opening_end(struct rh_ps_server *server, struct rh_ps_conn *conn)
{
	struct rh_ps_opening *opening = conn->opening;
	int32_t status;

	(void)pthread_join(opening->thread, NULL);
	status = opening->status;
	free(opening);
	conn->opening = NULL;
	server->openings--;
	return status;
}

void rh_ps_conn_cancel_opening(struct rh_ps_server *server, struct rh_ps_conn *conn)
{
	if (!conn->opening)
		return;
	(void)shutdown(rh_ps_wire_fd(conn->wire), SHUT_RDWR);
	(void)opening_end(server, conn);
}

bool rh_ps_conn_is_opening(const struct rh_ps_conn *conn)
{
	return conn->opening && !atomic_load(&conn->opening->done);
}

void rh_ps_conn_adopt(struct rh_ps_server *server)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct rh_ps_conn *conn;

	LIST_FOREACH(conn, &server->conns, link)
	{
		if (!conn->opening || rh_ps_conn_is_opening(conn))
			continue;
		event.data.ptr = conn;
		conn->events = EPOLLIN;
		conn->readable = true;
		if (opening_end(server, conn) < 0 ||
		    epoll_ctl(server->poller, EPOLL_CTL_ADD, rh_ps_wire_fd(conn->wire), &event) < 0)
			conn->broken = true;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/core/bootstrap/protocol/socket.h"
#include "comm/core/error.h"
#include "comm/ps/server/answers.h"
#include "comm/ps/server/attach.h"
#include "comm/ps/server/connections.h"
#include "comm/ps/server/requests.h"

/* Records that one connection may have done before the others get their turn. */
#define TURN 64

static void conn_add(struct rh_ps_server *server, int fd, bool local)
{
	struct rh_ps_conn *conn = calloc(1, sizeof(*conn));
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = conn};

	if (conn)
		conn->wire = rh_ps_wire_new(fd);
	if (!conn || !conn->wire || epoll_ctl(server->poller, EPOLL_CTL_ADD, fd, &event) < 0) {
		if (conn && conn->wire)
			rh_ps_wire_free(conn->wire);
		else
			(void)close(fd);
		free(conn);
		return;
	}
	conn->local = local;
	conn->events = EPOLLIN;
	conn->worker = -1;
	conn->since = rh_comm_now();
	conn->ticket = rh_ps_random_number();
	STAILQ_INIT(&conn->answers);
	LIST_INSERT_HEAD(&server->conns, conn, link);
}

void rh_ps_conn_accept(struct rh_ps_server *server, bool local)
{
	int fd = accept4(local ? server->local : server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0)
		conn_add(server, fd, local);
}

/* @param entry NULL: none is released */
static void conn_settle(struct rh_ps_server *server, struct rh_ps_entry *entry)
{
	if (entry)
		rh_ps_server_settle(server, entry);
}

void rh_ps_conn_lose(struct rh_ps_server *server, struct rh_ps_conn *conn)
{
	if (conn->phase == RH_PS_GONE)
		return;
	conn->phase = RH_PS_GONE;
	rh_ps_server_forget(server, conn);
	if (server->source == conn)
		server->source = NULL;
	if (conn->worker >= 0 && server->peers[conn->worker].conn == conn) {
		server->peers[conn->worker].conn = NULL;
		server->peers[conn->worker].lost = rh_comm_now();
	}
	while (!STAILQ_EMPTY(&conn->answers))
		conn_settle(server, rh_ps_answers_drop_first(conn));
}

void rh_ps_conn_free(struct rh_ps_server *server, struct rh_ps_conn *conn)
{
	rh_ps_conn_cancel_opening(server, conn);
	rh_ps_conn_lose(server, conn);
	LIST_REMOVE(conn, link);
	rh_ps_wire_free(conn->wire);
	free(conn);
}

static void conn_refuse(struct rh_ps_conn *conn, const struct rh_comm_error *reason)
{
	struct rh_ps_head head = {.kind = RH_PS_REC_REFUSED, .status = reason->code, .worker = reason->rank};

	head.length = (uint32_t)strlen(reason->text) + 1;
	(void)rh_ps_answers_put(conn, &head, reason->text);
	conn->broken = true;
}

static int32_t conn_check_hello(const struct rh_ps_server *server, const struct rh_ps_hello *hello,
                                struct rh_comm_error *err)
{
	const struct rh_ps_config *config = &server->store->config;

	if (hello->protocol != RH_PS_PROTOCOL)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "server %d uses protocol %d and worker %d protocol %u: use one version of the library "
		                    "everywhere",
		                    (int)config->index, RH_PS_PROTOCOL, (int)hello->worker, hello->protocol);
	if (hello->role != RH_PS_ROLE_WORKS && !(hello->role == RH_PS_ROLE_COPIES && server->copy))
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "this is server %d, not a scheduler",
		                    (int)config->index);
	if (!rh_comm_digest_equal(hello->job, server->job))
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "server %d belongs to another job",
		                    (int)config->index);
	if (hello->server != config->index || hello->servers != config->servers)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "this is server %d of %d, and worker %d takes it for %d of %d: all must know the same list "
		                    "of servers in the same order",
		                    (int)config->index, (int)config->servers, (int)hello->worker, (int)hello->server,
		                    (int)hello->servers);
	if (strncmp(hello->backend, server->backend, sizeof(server->backend)) != 0)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "server %d uses the backend \"%s\" and worker %d \"%.*s\": set RH_PS_BACKEND to the same "
		                    "everywhere",
		                    (int)config->index, server->backend, (int)hello->worker, RH_PS_BACKEND_MAX, hello->backend);
	/* who asks has not received the scheduler's latest decision yet, or this server has not: it is to ask again */
	if (server->is_backup != (hello->role == RH_PS_ROLE_COPIES))
		return rh_comm_fail(err, RH_COMM_EIO, RH_COMM_NO_RANK, "server %d is %s", (int)config->index,
		                    server->is_backup ? "a backup" : "the primary");
	if (hello->role == RH_PS_ROLE_COPIES)
		return 0;
	if (hello->workers != config->workers || hello->worker < 0 || hello->worker >= config->workers)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "server %d serves %d workers, and this is worker %d of %d", (int)config->index,
		                    (int)config->workers, (int)hello->worker, (int)hello->workers);
	return 0;
}

/* Prove to know the secret, and ask the other end to do the same. */
static void conn_challenge(const struct rh_ps_server *server, struct rh_ps_conn *conn)
{
	struct rh_ps_challenge challenge;

	rh_ps_random(conn->nonce, sizeof(conn->nonce));
	memcpy(challenge.nonce, conn->nonce, sizeof(challenge.nonce));
	rh_ps_prove(server->secret, "server", conn->hello.nonce, &conn->hello, challenge.proof);
	rh_ps_answers_put_record(conn, RH_PS_REC_CHALLENGE, &challenge, sizeof(challenge));
	conn->phase = RH_PS_PROVING;
}

static void conn_on_hello(struct rh_ps_server *server, struct rh_ps_conn *conn, const struct rh_ps_head *head,
                          const uint8_t *payload)
{
	struct rh_comm_error err;

	if (head->kind != RH_PS_REC_HELLO || !rh_ps_hello_read(&conn->hello, payload, head->length)) {
		conn->broken = true;
		return;
	}
	/* not one that attaches: that may stall */
	rh_comm_socket_watch_peer(rh_ps_wire_fd(conn->wire), server->death_timeout);
	if (conn_check_hello(server, &conn->hello, &err) < 0) {
		conn_refuse(conn, &err);
		return;
	}
	conn_challenge(server, conn);
}

/* A worker that was here before must be the same process, and so must we. */
static int32_t conn_check_return(const struct rh_ps_server *server, const struct rh_ps_hello *hello,
                                 struct rh_comm_error *err)
{
	const struct rh_ps_worker_record *record = &server->store->workers[hello->worker];

	if (hello->epoch == 0)
		return 0;
	if (hello->epoch != server->store->epoch)
		return rh_comm_fail(err, RH_COMM_EPEER, RH_COMM_NO_RANK,
		                    "server %d was restarted without the state that worker %d has worked with: give servers "
		                    "a folder to keep it",
		                    (int)server->store->config.index, (int)hello->worker);
	if (record->session == 0)
		return rh_comm_fail(err, RH_COMM_EPEER, RH_COMM_NO_RANK,
		                    "server %d has lost what it had acknowledged: it does not know worker %d any more: files "
		                    "of its folder are missing or cut off",
		                    (int)server->store->config.index, (int)hello->worker);
	if (hello->session != record->session)
		return rh_comm_fail(err, RH_COMM_EPEER, hello->worker, "another process has become worker %d",
		                    (int)hello->worker);
	return 0;
}

/* What a worker and a primary are answered alike. */
static void conn_send_welcome(const struct rh_ps_server *server, struct rh_ps_conn *conn, uint64_t last)
{
	struct rh_ps_welcome welcome;

	memset(&welcome, 0, sizeof(welcome));
	welcome.epoch = server->store->epoch;
	welcome.last = last;
	welcome.ticket = conn->ticket;
	/* one with a backup is as good: workers wait for the backup in its place */
	welcome.durable = server->journal || server->copy;
	welcome.mode = server->store->config.mode;
	memcpy(welcome.local, server->local_name, sizeof(welcome.local));
	rh_ps_answers_put_record(conn, RH_PS_REC_WELCOME, &welcome, sizeof(welcome));
}

/* The primary copies anew: what an earlier connection brought does not count. */
static void conn_welcome_primary(struct rh_ps_server *server, struct rh_ps_conn *conn)
{
	if (server->source)
		rh_ps_conn_lose(server, server->source);
	rh_ps_backup_restart(&server->backup);
	server->source = conn;
	conn->phase = RH_PS_SOURCE;
	conn_send_welcome(server, conn, 0);
}

static void conn_welcome(struct rh_ps_server *server, struct rh_ps_conn *conn)
{
	struct rh_ps_peer *peer = &server->peers[conn->hello.worker];

	if (peer->conn)
		rh_ps_conn_lose(server, peer->conn);
	*peer = (struct rh_ps_peer){.conn = conn, .last_received = rh_comm_now()};
	conn->worker = conn->hello.worker;
	conn->phase = RH_PS_ON;
	conn_send_welcome(server, conn, server->store->workers[conn->worker].last);
}

/* @return whether the other end knows the secret; else it is refused */
static bool conn_check_proof(const struct rh_ps_server *server, struct rh_ps_conn *conn, const struct rh_ps_head *head,
                             const uint8_t *payload)
{
	uint8_t expected[RH_COMM_DIGEST];
	struct rh_comm_error err;

	rh_ps_prove(server->secret, "worker", conn->nonce, &conn->hello, expected);
	if (head->kind == RH_PS_REC_PROOF && head->length == sizeof(expected) && rh_comm_digest_equal(payload, expected))
		return true;
	(void)rh_comm_fail(&err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "server %d has another secret",
	                   (int)server->store->config.index);
	conn_refuse(conn, &err);
	return false;
}

/* The first connection is proved. */
static void conn_admit(struct rh_ps_server *server, struct rh_ps_conn *conn)
{
	struct rh_ps_head session = {
		.kind = RH_PS_REC_SESSION, .sequence = conn->hello.session, .worker = conn->hello.worker};
	struct rh_ps_entry *entry;
	struct rh_comm_error err;

	/* the role may be another one since the greeting */
	if (conn_check_hello(server, &conn->hello, &err) < 0) {
		conn_refuse(conn, &err);
		return;
	}
	if (conn->hello.role == RH_PS_ROLE_COPIES) {
		conn_welcome_primary(server, conn);
		return;
	}
	if (conn_check_return(server, &conn->hello, &err) < 0) {
		conn_refuse(conn, &err);
		return;
	}
	if (conn->hello.epoch == 0 && rh_ps_server_take(server, &session, NULL, &entry) < 0)
		return;
	conn_welcome(server, conn);
}

/* A second connection: whoever made it must know the secret, too, and not the ticket alone, which crossed the wire. */
static void conn_on_attach(struct rh_ps_server *server, struct rh_ps_conn *conn, const struct rh_ps_head *head,
                           const uint8_t *payload)
{
	bool good = head->kind == RH_PS_REC_ATTACH && head->length == sizeof(conn->hello);

	if (good)
		memcpy(&conn->hello, payload, sizeof(conn->hello));
	if (!good || !rh_ps_conn_find_first(server, head->key, &conn->hello)) {
		conn->broken = true;
		return;
	}
	conn->attaching = head->key;
	conn_challenge(server, conn);
}

/* @return whether the record is to be dropped yet */
static bool conn_on_proof(struct rh_ps_server *server, struct rh_ps_conn *conn, const struct rh_ps_head *head,
                          const uint8_t *payload)
{
	struct rh_ps_conn *replaced;

	if (!conn_check_proof(server, conn, head, payload))
		return true;
	if (conn->attaching == 0) {
		conn_admit(server, conn);
		return true;
	}
	replaced = rh_ps_conn_attach(server, conn);
	if (replaced)
		rh_ps_conn_lose(server, replaced);
	return false;
}

/* Read what has arrived; over a backend only while the worker is connected. */
static void conn_fill(struct rh_ps_conn *conn)
{
	bool foreign = rh_ps_wire_is_foreign(conn->wire);
	bool due = conn->readable || (foreign && rh_ps_wire_moving(conn->wire));

	if (due && (!foreign || STAILQ_EMPTY(&conn->answers)) && rh_ps_wire_fill(conn->wire) < 0)
		conn->broken = true;
	conn->readable = false;
}

/* A backup whose options differ is of no use; a primary that sends nonsense is to copy anew. */
static void conn_on_copy(struct rh_ps_server *server, struct rh_ps_conn *conn, const struct rh_ps_head *head,
                         const uint8_t *payload)
{
	bool begun = server->backup.begun;
	struct rh_comm_error err = {0};
	int32_t r = rh_ps_backup_take(&server->backup, &server->store, head, payload, &err);

	if (r == RH_COMM_ENOMEM || (r < 0 && head->kind == RH_PS_REC_BEGIN && !begun))
		(void)rh_ps_server_fail(server, &err);
	else if (r < 0)
		rh_ps_conn_lose(server, conn);
}

/* @return whether the record is to be dropped yet */
static bool conn_on_record(struct rh_ps_server *server, struct rh_ps_conn *conn, struct rh_ps_head *head,
                           const uint8_t *payload)
{
	if (conn->phase == RH_PS_ON && head->kind == RH_PS_REC_CONNECT) {
		rh_ps_conn_open_backend(server, conn, head, payload);
		return false;
	}
	if (conn->phase == RH_PS_SOURCE) {
		conn_on_copy(server, conn, head, payload);
	} else if (conn->phase == RH_PS_ON) {
		rh_ps_server_request(server, conn, head, payload);
	} else if (conn->phase == RH_PS_PROVING) {
		return conn_on_proof(server, conn, head, payload);
	} else if (conn->local || head->kind == RH_PS_REC_ATTACH) {
		conn_on_attach(server, conn, head, payload);
	} else {
		conn_on_hello(server, conn, head, payload);
	}
	return true;
}

static void conn_receive(struct rh_ps_server *server, const struct rh_ps_conn *conn)
{
	if (conn->worker < 0)
		return;
	server->peers[conn->worker].last_received = rh_comm_now();
	server->peers[conn->worker].named = false;
}

bool rh_ps_conn_serve(struct rh_ps_server *server, struct rh_ps_conn *conn)
{
	struct rh_ps_entry *released = NULL;
	const uint8_t *payload;
	struct rh_ps_head head;
	int32_t r = 0;

	if (conn->opening)
		return false;
	while (rh_ps_answers_send_first(conn, &released))
		conn_settle(server, released);
	conn_fill(conn);
	for (int i = 0; i < TURN; i++) {
		if (!STAILQ_EMPTY(&conn->answers) || conn->phase == RH_PS_GONE || conn->opening || server->failed.code < 0 ||
		    !rh_ps_copy_may_take(server->copy))
			return false;
		r = rh_ps_wire_next(conn->wire, &head, &payload);
		if (r <= 0)
			break;
		if (conn_on_record(server, conn, &head, payload))
			rh_ps_wire_drop(conn->wire);
		conn_receive(server, conn);
	}
	/* records before a close are still handled; a refusal is sent by the next flush */
	if (r < 0)
		conn->broken = true;
	return r > 0;
}

/* The primary learns how much has been taken. */
static void conn_acknowledge(struct rh_ps_server *server, struct rh_ps_conn *conn)
{
	struct rh_ps_head head = {.kind = RH_PS_REC_ACK, .sequence = server->backup.received};

	if (server->backup.acked != server->backup.received && rh_ps_answers_put(conn, &head, NULL))
		server->backup.acked = server->backup.received;
}

/* Of what is added to the wire, publish what the backup has acknowledged all causes of. */
static void conn_gate(const struct rh_ps_server *server, struct rh_ps_conn *conn)
{
	uint64_t added = rh_ps_wire_added(conn->wire);
	uint64_t count;
	int32_t passed = 0;

	if (!rh_ps_copy_gates(server->copy)) {
		conn->mark_count = 0;
		conn->released = added;
		rh_ps_wire_hold(conn->wire, UINT64_MAX);
		return;
	}
	count = rh_ps_copy_sent(server->copy);
	if (added != (conn->mark_count > 0 ? conn->marks[conn->mark_count - 1].position : conn->released)) {
		if (conn->mark_count < RH_PS_MARKS)
			conn->mark_count++;
		conn->marks[conn->mark_count - 1] = (struct rh_ps_mark){added, count};
	}
	while (passed < conn->mark_count && conn->marks[passed].count <= rh_ps_copy_acked(server->copy))
		conn->released = conn->marks[passed++].position;
	conn->mark_count -= passed;
	memmove(conn->marks, conn->marks + passed, (size_t)conn->mark_count * sizeof(conn->marks[0]));
	rh_ps_wire_hold(conn->wire, conn->released);
}

void rh_ps_conn_flush(struct rh_ps_server *server, struct rh_ps_conn *conn)
{
	struct epoll_event event = {.data.ptr = conn};
	int fd = rh_ps_wire_fd(conn->wire);

	if (conn->phase == RH_PS_GONE || conn->opening)
		return;
	if (conn == server->source)
		conn_acknowledge(server, conn);
	if (server->copy)
		conn_gate(server, conn);
	if (rh_ps_wire_flush(conn->wire) < 0)
		conn->broken = true;
	/* a socket is not read while its worker takes no answers; one beside a ring or a backend always is */
	if (STAILQ_EMPTY(&conn->answers) || rh_ps_wire_is_shared(conn->wire) || rh_ps_wire_is_foreign(conn->wire))
		event.events |= EPOLLIN;
	if (rh_ps_wire_unsent(conn->wire))
		event.events |= EPOLLOUT;
	if (event.events != conn->events && epoll_ctl(server->poller, EPOLL_CTL_MOD, fd, &event) == 0)
		conn->events = event.events;
}

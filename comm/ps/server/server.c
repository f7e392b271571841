/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/server/attach.h"
#include "comm/ps/server/connections.h"
#include "comm/ps/server/state.h"
#include "comm/ps/server/waiters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "comm/core/bootstrap/protocol/socket.h"
#include "comm/core/error.h"
#include "comm/ps/scheduler/roles.h"

#define EVENTS 64
/* Time limit of the handshake of a connection. */
#define HELLO_TIMEOUT (10 * RH_COMM_SECOND)
/* How often waiting and silence are looked at, in milliseconds. */
#define TICK 100
#define TICK_IDLE 1000
/* So often what moves over a backend is looked at in a row without a pause. */
#define TURNS 2000
/* How long the last answers may take. */
#define DRAIN RH_COMM_SECOND

static int32_t server_watch(const struct rh_ps_server *server, int fd, const void *what)
{
	union {
		const void *from;
		void *ptr;
	} mark = {.from = what};
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = mark.ptr};

	return epoll_ctl(server->poller, EPOLL_CTL_ADD, fd, &event) < 0 ? RH_COMM_EIO : 0;
}

/* Events identify their descriptor by a pointer: to these members, or to a connection. */
static int32_t server_open_descriptors(struct rh_ps_server *server, const char *host, int32_t port,
                                       struct rh_comm_error *err)
{
	struct rh_comm_listener listener;
	int32_t r = rh_comm_socket_listen(host, port, &listener, err);

	if (r < 0)
		return r;
	server->listener = listener.fd;
	server->port = listener.port;
	server->poller = epoll_create1(EPOLL_CLOEXEC);
	server->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	/* without a local socket there is TCP */
	server->local = rh_ps_local_listen(server->local_name);
	if (server->local < 0)
		server->local_name[0] = '\0';
	if (server->poller < 0 || server->wake < 0 || server_watch(server, server->wake, &server->wake) < 0 ||
	    server_watch(server, server->listener, &server->listener) < 0 ||
	    (server->local >= 0 && server_watch(server, server->local, &server->local) < 0))
		return rh_comm_fail_os(err, errno, "parameter server");
	return 0;
}

static int32_t server_open_store(struct rh_ps_server *server, const struct rh_ps_server_settings *settings,
                                 struct rh_comm_error *err)
{
	struct rh_ps_journal_plan plan = {
		.folder = settings->folder,
		.config = settings->config,
		.synced = settings->durable == RH_PS_SYNCED,
		.bytes = (uint64_t)settings->snapshot,
		.epoch = rh_ps_random_number(),
	};
	bool all_left = true;
	int32_t r = 0;

	if (settings->folder)
		r = rh_ps_journal_open(&plan, &server->journal, &server->store, err);
	else
		server->store = rh_ps_store_new(&plan.config, plan.epoch);
	if (r < 0)
		return r;
	server->peers = calloc((size_t)settings->config.workers, sizeof(*server->peers));
	if (!server->store || !server->peers)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	/* when all have left, this is a new run with the old values */
	for (int32_t i = 0; i < settings->config.workers; i++)
		all_left = all_left && server->store->workers[i].left;
	for (int32_t i = 0; all_left && i < settings->config.workers; i++)
		server->store->workers[i].left = false;
	return 0;
}

/* With replicas a server is a backup until the scheduler makes it the primary. */
static int32_t server_open_copy(struct rh_ps_server *server, const struct rh_ps_server_settings *settings,
                                struct rh_comm_error *err)
{
	struct rh_ps_copy_plan plan = {
		.secret = server->secret,
		.job = server->job,
		.backend = server->backend,
		.poller = server->poller,
		.mark = &server->copy,
		.wake = server->wake,
		.no_shm = settings->no_shm,
		.death_timeout = settings->death_timeout,
	};

	if (settings->replicas < 2)
		return 0;
	server->is_backup = true;
	server->copy = rh_ps_copy_new(&plan);
	return server->copy ? 0 : rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
}

static int32_t server_open(struct rh_ps_server *server, const struct rh_ps_server_settings *settings,
                           struct rh_comm_error *err)
{
	int32_t r = server_open_store(server, settings, err);

	if (r < 0)
		return r;
	server->secret = strdup(settings->secret);
	if (!server->secret)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	rh_ps_job_digest(settings->job, server->job);
	server->grace = settings->grace;
	server->return_timeout = settings->return_timeout;
	server->death_timeout = settings->death_timeout;
	server->slow = settings->slow;
	(void)snprintf(server->backend, sizeof(server->backend), "%s", settings->backend);
	r = server_open_descriptors(server, settings->host, settings->port, err);
	if (r == 0)
		r = server_open_copy(server, settings, err);
	if (r == 0 && server->launch.world)
		r = rh_ps_launch_connect(&server->launch, settings->host, server->port, err);
	if (r == 0 && server->join)
		r = rh_ps_join_place(server->join, settings->host ? settings->host : getenv("DMLC_NODE_HOST"), server->port,
		                     err);
	if (r == 0 && server->join && server_watch(server, rh_ps_join_fd(server->join), &server->join) < 0)
		r = rh_comm_fail_os(err, errno, "parameter server");
	return r;
}

/* Through a scheduler, where there is one. */
static int32_t server_join(struct rh_ps_server *server, const struct rh_ps_server_options *options,
                           struct rh_ps_sources *sources, struct rh_comm_error *err)
{
	struct rh_ps_join_plan plan;
	int32_t r = rh_ps_roles_read_server(options, &sources->variables, &plan, err);

	if (r > 0)
		r = rh_ps_join_open(&plan, &server->join, err);
	if (r == 0 && server->join) {
		sources->found_by = "the scheduler";
		sources->found = rh_ps_join_cluster(server->join);
	}
	return r;
}

/* Find the other processes, where a source knows them. */
static int32_t server_find(struct rh_ps_server *server, const struct rh_ps_server_options *options,
                           struct rh_ps_sources *sources, struct rh_comm_error *err)
{
	const char *backend = rh_ps_backend_read(&sources->variables, options ? options->backend : NULL);
	int32_t r = rh_ps_fabric_open(&server->fabric, backend, err);

	if (r == 0 && strcmp(backend, "mpi") == 0)
		r = rh_ps_launch_open(true, &server->launch, err);
	else if (r == 0)
		r = server_join(server, options, sources, err);
	if (r == 0 && server->launch.world) {
		sources->found_by = "mpirun";
		sources->found = &server->launch.cluster;
	}
	return r;
}

static int32_t server_start(struct rh_ps_server *server, const struct rh_ps_server_options *options,
                            struct rh_comm_error *err)
{
	struct rh_ps_sources sources = {.variables = {rh_ps_getenv, NULL}};
	bool sane = options && options->size == sizeof(*options);
	struct rh_ps_server_settings settings;
	int32_t r = server_find(server, sane ? options : NULL, &sources, err);

	if (r == 0)
		r = rh_ps_server_settings_read(options, &sources, &settings, err);
	if (r == 0)
		r = server_open(server, &settings, err);
	rh_ps_launch_close(&server->launch);
	return r;
}

int32_t rh_ps_server_new(const struct rh_ps_server_options *options, struct rh_ps_server **ret_server,
                         struct rh_comm_error *err)
{
	struct rh_ps_server *server = calloc(1, sizeof(*server));
	int32_t r;

	if (!server)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	server->listener = -1;
	server->local = -1;
	server->poller = -1;
	server->wake = -1;
	r = server_start(server, options, err);
	if (r < 0) {
		rh_ps_server_free(server);
		return r;
	}
	*ret_server = server;
	return 0;
}

void rh_ps_server_free(struct rh_ps_server *server)
{
	const int *fds[4];

	if (!server)
		return;
	rh_ps_launch_close(&server->launch);
	rh_ps_join_free(server->join);
	while (!LIST_EMPTY(&server->conns))
		rh_ps_conn_free(server, LIST_FIRST(&server->conns));
	rh_ps_copy_free(server->copy);
	rh_ps_backup_deinit(&server->backup);
	fds[0] = &server->listener;
	fds[1] = &server->local;
	fds[2] = &server->poller;
	fds[3] = &server->wake;
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (*fds[i] >= 0)
			(void)close(*fds[i]);
	rh_ps_fabric_close(&server->fabric);
	rh_ps_journal_free(server->journal);
	rh_ps_store_free(server->store);
	free(server->peers);
	free(server->secret);
	free(server);
}

int32_t rh_ps_server_port(const struct rh_ps_server *server)
{
	return server->port;
}

void rh_ps_server_stop(struct rh_ps_server *server)
{
	static const uint64_t one = 1;

	atomic_store(&server->stop, true);
	(void)!write(server->wake, &one, sizeof(one));
}

/* Let everybody see what was done, once it is safe. */
static void server_publish(struct rh_ps_server *server)
{
	struct rh_comm_error err = {0};
	struct rh_ps_conn *conn;
	struct rh_ps_conn *next;

	if (server->journal && server->failed.code == 0 && rh_ps_journal_commit(server->journal, &err) < 0)
		(void)rh_ps_server_fail(server, &err);
	if (server->failed.code < 0)
		return;
	/* the backup works while the workers' turn comes */
	rh_ps_copy_flush(server->copy);
	for (conn = LIST_FIRST(&server->conns); conn; conn = next) {
		next = LIST_NEXT(conn, link);
		rh_ps_conn_flush(server, conn);
		if ((conn->broken || conn->phase == RH_PS_GONE) && !rh_ps_conn_is_opening(conn))
			rh_ps_conn_free(server, conn);
	}
}

static bool server_serve(struct rh_ps_server *server)
{
	struct rh_ps_conn *conn;
	bool more = false;

	LIST_FOREACH(conn, &server->conns, link)
	more |= rh_ps_conn_serve(server, conn);
	return more;
}

static bool server_may_sleep(struct rh_ps_server *server)
{
	struct rh_ps_conn *conn;
	bool may = true;

	LIST_FOREACH(conn, &server->conns, link)
	may &= conn->opening || rh_ps_wire_sleep(conn->wire);
	return may && rh_ps_copy_sleep(server->copy);
}

static bool server_is_moving(const struct rh_ps_server *server)
{
	struct rh_ps_conn *conn;
	bool moving = false;

	LIST_FOREACH(conn, &server->conns, link)
	moving |= !conn->opening && rh_ps_wire_moving(conn->wire);
	return moving;
}

/* What moves over a backend is looked at without a pause for a while, and then each millisecond. @return milliseconds
 */
static int server_find_nap(struct rh_ps_server *server)
{
	if (!server_is_moving(server)) {
		server->turns = 0;
		return LIST_EMPTY(&server->waiters) && !rh_ps_copy_is_calling(server->copy) ? TICK_IDLE : TICK;
	}
	return ++server->turns < TURNS ? 0 : 1;
}

static bool server_all_came(const struct rh_ps_server *server)
{
	for (int32_t i = 0; i < server->store->config.workers; i++)
		if (server->store->workers[i].session == 0)
			return false;
	return true;
}

/* A backup takes over: with what its primary has sent, or with nothing, if no worker has seen any value yet. */
static void server_promote(struct rh_ps_server *server, const struct rh_ps_role_note *note)
{
	struct rh_ps_store *store = NULL;
	struct rh_comm_error err;

	if (server->source)
		rh_ps_conn_lose(server, server->source);
	if (!server->backup.complete) {
		if (note->fresh)
			store = rh_ps_store_new(&server->store->config, rh_ps_random_number());
		if (!store) {
			(void)rh_comm_fail(&err, note->fresh ? RH_COMM_ENOMEM : RH_COMM_EPEER, RH_COMM_NO_RANK,
			                   note->fresh ? "out of memory" : "this backup does not have all values of its primary");
			(void)rh_ps_server_fail(server, &err);
			return;
		}
		rh_ps_store_free(server->store);
		server->store = store;
	}
	rh_ps_backup_deinit(&server->backup);
	server->is_backup = false;
	server->since = rh_comm_now();
}

static void server_take_role(struct rh_ps_server *server)
{
	struct rh_ps_role_note note;

	if (!rh_ps_join_take_role(server->join, &note) || !server->copy)
		return;
	if (server->is_backup)
		server_promote(server, &note);
	if (server->failed.code == 0)
		rh_ps_copy_start(server->copy, &note);
}

/* Without a scheduler nobody can decide who is the primary. */
static void server_check_decider(struct rh_ps_server *server)
{
	struct rh_comm_error err;

	if (!server->copy || server->join ||
	    (server->is_backup ? server->source != NULL : !rh_ps_copy_is_stuck(server->copy)))
		return;
	(void)rh_comm_fail(&err, RH_COMM_EPEER, RH_COMM_NO_RANK,
	                   server->is_backup
	                       ? "the primary of server %d is lost, and so is the scheduler, which could make "
	                         "this backup the primary"
	                       : "the backup of server %d is lost, and so is the scheduler, which could let "
	                         "this server go on alone: another server may be the primary",
	                   (int)server->store->config.index);
	(void)rh_ps_server_fail(server, &err);
}

/* A scheduler that is gone is not needed any more, once all have found each other. */
static void server_receive_scheduler(struct rh_ps_server *server)
{
	struct rh_comm_error err = {0};
	int32_t r = rh_ps_join_receive(server->join, &err);

	server_take_role(server);
	if (r >= 0)
		return;
	if (r != RH_COMM_EIO)
		(void)rh_ps_server_fail(server, &err);
	else if (!server_all_came(server))
		(void)rh_comm_fail(&server->failed, RH_COMM_EPEER, RH_COMM_NO_RANK, "%.300s, before all workers had come",
		                   err.text);
	rh_ps_join_free(server->join);
	server->join = NULL;
}

static void server_on_event(struct rh_ps_server *server, const struct epoll_event *event)
{
	struct rh_ps_conn *conn = event->data.ptr;
	uint64_t count;

	if (event->data.ptr == &server->join) {
		if (server->join)
			server_receive_scheduler(server);
	} else if (event->data.ptr == &server->copy) {
		rh_ps_copy_wake(server->copy);
	} else if (event->data.ptr == &server->wake) {
		(void)!read(server->wake, &count, sizeof(count));
	} else if (event->data.ptr == &server->listener) {
		rh_ps_conn_accept(server, false);
	} else if (event->data.ptr == &server->local) {
		rh_ps_conn_accept(server, true);
	} else {
		conn->readable |= (event->events & EPOLLIN) != 0;
		/* both directions are closed, so no answer could be received */
		conn->broken |= (event->events & (EPOLLHUP | EPOLLERR)) != 0 && !(event->events & EPOLLIN);
	}
}

static void server_poll(struct rh_ps_server *server, int timeout)
{
	struct epoll_event events[EVENTS];
	int count = epoll_wait(server->poller, events, EVENTS, timeout);

	if (count > 0)
		server->turns = 0;
	for (int i = 0; i < count; i++)
		server_on_event(server, &events[i]);
}

/* Silence and waiting. */
static void server_tick(struct rh_ps_server *server)
{
	int64_t now = rh_comm_now();
	struct rh_ps_conn *conn;

	if (!server->is_backup)
		rh_ps_server_tick(server, now);
	LIST_FOREACH(conn, &server->conns, link)
	{
		if ((conn->phase == RH_PS_NEW || conn->phase == RH_PS_PROVING) && now - conn->since > HELLO_TIMEOUT)
			conn->broken = true;
	}
}

static bool server_all_left(const struct rh_ps_server *server)
{
	for (int32_t i = 0; i < server->store->config.workers; i++)
		if (!server->store->workers[i].left)
			return false;
	return true;
}

/* All have left, and nothing waits for the backup that the last of them is to be answered. */
static bool server_is_done(const struct rh_ps_server *server)
{
	return server_all_left(server) &&
	       (!rh_ps_copy_gates(server->copy) || rh_ps_copy_acked(server->copy) >= rh_ps_copy_sent(server->copy));
}

/* @return whether there is more to copy at once */
static bool server_copy(struct rh_ps_server *server, int64_t now)
{
	bool more = rh_ps_copy_turn(server->copy, server->store, now);
	uint64_t term = 0;
	uint32_t report = rh_ps_copy_report(server->copy, &term);

	/* a connection that is closed is seen where it is read */
	if (report != 0 && server->join)
		(void)rh_ps_join_report(server->join, report, term, NULL);
	server_check_decider(server);
	return more;
}

/* Wait for something to do. @param more there is something already */
static void server_rest(struct rh_ps_server *server, bool more)
{
	if (rh_ps_copy_is_blocked(server->copy)) {
		rh_ps_copy_wait(server->copy, TICK);
		server_poll(server, 0);
	} else if (more || !server_may_sleep(server)) {
		server_poll(server, 0);
	} else {
		server_poll(server, server_find_nap(server));
	}
}

static void server_turn(struct rh_ps_server *server, int64_t *ticked)
{
	struct rh_comm_error err = {0};
	bool more;
	int64_t now;

	if (server->openings > 0)
		rh_ps_conn_adopt(server);
	now = rh_comm_now();
	more = server_copy(server, now);
	more |= server_serve(server);

	if (now - *ticked >= TICK * 1000) {
		server_tick(server);
		*ticked = now;
	}
	server_publish(server);
	if (server->journal && server->failed.code == 0 && rh_ps_journal_is_long(server->journal, server->store) &&
	    rh_ps_journal_renew(server->journal, server->store, &err) < 0)
		(void)rh_ps_server_fail(server, &err);
	if (server->failed.code == 0 && !server_is_done(server))
		server_rest(server, more);
}

/* The last answers are sent over a backend only while both ends poll it. */
static void server_drain(struct rh_ps_server *server)
{
	int64_t until = rh_comm_now() + DRAIN;

	while (server_is_moving(server) && rh_comm_now() < until) {
		server_publish(server);
		server_poll(server, ++server->turns < TURNS ? 0 : 1);
	}
}

int32_t rh_ps_server_run(struct rh_ps_server *server, struct rh_comm_error *err)
{
	struct rh_comm_error failed = {0};
	int64_t ticked = 0;

	server->since = rh_comm_now();
	while (!atomic_load(&server->stop) && server->failed.code == 0 && !server_is_done(server))
		server_turn(server, &ticked);
	atomic_store(&server->stop, false);
	server_drain(server);
	if (server->failed.code == 0 && server->journal && rh_ps_journal_renew(server->journal, server->store, &failed) < 0)
		(void)rh_ps_server_fail(server, &failed);
	/* one that is stopped before the end of the job leaves its values to its backup */
	if (server->failed.code == 0 && (!server->copy || server_all_left(server))) {
		rh_ps_join_leave(server->join);
		server->join = NULL;
	}
	if (server->failed.code < 0 && err)
		*err = server->failed;
	return server->failed.code;
}

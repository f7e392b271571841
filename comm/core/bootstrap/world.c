/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to all other ranks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/context.h"
#include "comm/core/error.h"
#include "comm/core/thread.h"

/* How long a reachable server takes to send its reason. */
#define FAIL_PATIENCE (2 * RH_COMM_SECOND)
/* It acknowledges at once, unless it is stopped, and sends its verdict later. */
#define VERDICT_SILENCE RH_COMM_SECOND
#define VERDICT_PATIENCE (8 * RH_COMM_SECOND)
/* Part of the protocol between ranks. */
#define ADDRESS_KEY "rh_comm/hub"

int32_t rh_comm_world_check(const struct rh_comm_world *world, struct rh_comm_error *err)
{
	return world->client ? rh_comm_client_check(world->client, err) : 0;
}

int32_t rh_comm_world_fail(struct rh_comm_world *world, const struct rh_comm_error *reason, struct rh_comm_error *err)
{
	if (!world->client) {
		if (err)
			*err = *reason;
		return reason->code;
	}
	if (rh_comm_client_check(world->client, NULL) == 0) {
		rh_comm_client_end(world->client, reason, NULL);
		/* A peer may be gone because it found out first that rank 0 is cut off: we find out within this time. */
		rh_comm_client_await_end(world->client, rh_comm_now() + world->env.death_timeout + FAIL_PATIENCE, reason);
	}
	return rh_comm_client_check(world->client, err);
}

void rh_comm_world_wake(struct rh_comm_world *world)
{
	if (world->client && atomic_load_explicit(&world->asleep, memory_order_seq_cst))
		rh_comm_client_wake(world->client);
}

/* The server, in rank 0, sends no verdict: all that is known is that rank 0 does not answer. */
static void world_blame_server(struct rh_comm_world *world, const struct rh_comm_error *reason)
{
	struct rh_comm_error verdict = *reason;

	if (reason->code == RH_COMM_ETIME)
		(void)rh_comm_fail(&verdict, RH_COMM_ETIME, 0, "%.400s; it waited for rank 0 (stopped or throttled)",
		                   reason->text);
	rh_comm_client_close(world->client, &verdict);
}

int32_t rh_comm_world_diagnose(const struct rh_comm *comm, const struct rh_comm_error *reason, uint64_t needed,
                               struct rh_comm_error *err)
{
	struct rh_comm_case about = {.query = {comm->name, needed}, .ranks = comm->ranks, .count = comm->size};
	struct rh_comm_world *world = comm->world;
	int64_t now = rh_comm_now();

	if (!world->client)
		return rh_comm_world_fail(world, reason, err);
	if (rh_comm_client_check(world->client, NULL) == 0) {
		rh_comm_client_end(world->client, reason, &about);
		if (!rh_comm_client_await_verdict(world->client, now, VERDICT_SILENCE, now + VERDICT_PATIENCE))
			world_blame_server(world, reason);
	}
	return rh_comm_client_check(world->client, err);
}

/*
 * Rank 0 publishes its server's address in the caller's key-value store, where the others read it. `host` has
 * RH_COMM_ADDRESS_ROOM bytes.
 */
static int32_t world_exchange_address(const struct rh_comm_options *options, struct rh_comm_world *world, char *host,
                                      struct rh_comm_error *err)
{
	struct rh_comm_published_address address = {0};
	int32_t r = 0;
	int64_t n;

	if (world->env.rank == 0) {
		r = rh_comm_published_address_make(&address, host, rh_comm_server_port(world->server), err);
		if (r < 0)
			return r;
		n = options->kv_set(options->kv_arg, ADDRESS_KEY, &address, sizeof(address));
	} else {
		n = options->kv_get(options->kv_arg, ADDRESS_KEY, &address, sizeof(address), world->env.init_timeout);
	}
	if (n < 0)
		return rh_comm_fail(err, RH_COMM_EIO, RH_COMM_NO_RANK, "the key-value store of the options failed");
	if (world->env.rank == 0)
		return 0;
	r = rh_comm_published_address_check(&address, n, 0, err);
	if (r < 0)
		return r;
	world->env.port = address.port;
	(void)snprintf(host, RH_COMM_ADDRESS_ROOM, "%s", address.host);
	return 0;
}

/* Start the server in rank 0, and find its address. `host` has RH_COMM_ADDRESS_ROOM bytes. */
static int32_t world_find_server(const struct rh_comm_options *options, struct rh_comm_world *world, char *host,
                                 struct rh_comm_error *err)
{
	bool foreign = options && options->kv_set && options->kv_get;
	int32_t r = 0;

	(void)snprintf(host, RH_COMM_ADDRESS_ROOM, "%s", world->env.host ? world->env.host : "");
	if (world->env.rank == 0)
		r = rh_comm_server_new(&world->env, &world->server, err);
	if (r == 0 && foreign)
		r = world_exchange_address(options, world, host, err);
	if (r == 0 && world->server) {
		world->env.port = rh_comm_server_port(world->server);
		(void)snprintf(host, RH_COMM_ADDRESS_ROOM, "%s", rh_comm_server_host(world->server));
	}
	world->env.host = host;
	return r;
}

static int32_t world_connect(const struct rh_comm_options *options, struct rh_comm_world *world,
                             void *(*service)(void *world), struct rh_comm_error *err)
{
	const char *named = world->env.host ? world->env.host : "";
	char host[RH_COMM_ADDRESS_ROOM];
	int32_t r = world_find_server(options, world, host, err);

	if (r == 0)
		(void)snprintf(world->address, sizeof(world->address), "%s", named);
	if (r == 0)
		r = rh_comm_client_new(&world->env, rh_comm_now() + world->env.init_timeout, &world->client, err);
	world->env.host = NULL;
	/* to itself rank 0 may be 127.0.0.1; the others know it by the name that all were given */
	if (r == 0 && (world->env.rank != 0 || !world->address[0]))
		r = rh_comm_client_address(world->client, world->address, sizeof(world->address));
	if (r < 0)
		return r;
	r = rh_comm_thread_start(&world->service, service, world);
	if (r != 0)
		return rh_comm_fail_os(err, r, "a thread for the context");
	world->serving = true;
	rh_comm_fork_handler_add(&world->fork_handler);
	return 0;
}

static void world_fork_prepare(void *self)
{
	const struct rh_comm_world *world = self;

	if (world->server)
		rh_comm_server_fork_prepare(world->server);
	rh_comm_client_fork_prepare(world->client);
}

static void world_fork_parent(void *self)
{
	const struct rh_comm_world *world = self;

	rh_comm_client_fork_parent(world->client);
	if (world->server)
		rh_comm_server_fork_parent(world->server);
}

static void world_fork_child(void *self)
{
	struct rh_comm_world *world = self;

	world->forked = true;
	rh_comm_client_fork_child(world->client);
	if (world->server)
		rh_comm_server_fork_child(world->server);
	world_fork_parent(self);
}

/* A full disk ends no training that only wanted to be looked at. */
static int32_t world_open_trace(struct rh_comm_world *world, struct rh_comm_error *err)
{
	const struct rh_comm_env *env = &world->env;
	struct rh_comm_trace_origin origin = {
		.folder = env->trace, .job = env->job, .rank = env->rank, .world = env->world};
	struct rh_comm_error why;

	if (origin.folder[0] != '\0') {
		if (rh_comm_trace_open(&origin, &world->trace, &why) == 0)
			return 0;
		(void)fprintf(stderr, "rh_comm: warning: %s; rank %d keeps fewer operations, in its own memory\n", why.text,
		              (int)env->rank);
		origin.folder = "";
	}
	return rh_comm_trace_open(&origin, &world->trace, err);
}

int32_t rh_comm_world_open(const struct rh_comm_options *options, const struct rh_comm_env *env,
                           void *(*service)(void *world), struct rh_comm_world **ret_world, struct rh_comm_error *err)
{
	struct rh_comm_world *world = calloc(1, sizeof(*world));
	int32_t r = 0;

	if (!world)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	(void)pthread_mutex_init(&world->lock, NULL);
	world->env = *env;
	world->fork_handler = (struct rh_comm_fork_handler){
		.prepare = world_fork_prepare, .parent = world_fork_parent, .child = world_fork_child, .self = world};
	if (env->job == env->job_text)
		world->env.job = world->env.job_text;
	r = world_open_trace(world, err);
	if (r == 0 && env->world > 1)
		r = world_connect(options, world, service, err);
	/* texts of the environment and the options do not outlive this call */
	world->env.job = world->env.secret = world->env.backend = world->env.trace = NULL;
	if (r < 0) {
		rh_comm_world_close(world);
		return r;
	}
	*ret_world = world;
	return 0;
}

void rh_comm_world_close(struct rh_comm_world *world)
{
	if (!world)
		return;
	rh_comm_fork_handler_remove(&world->fork_handler);
	atomic_store(&world->stop, true);
	if (world->serving) {
		rh_comm_client_wake(world->client);
		(void)pthread_join(world->service, NULL);
	}
	rh_comm_client_free(world->client);
	rh_comm_server_free(world->server);
	(void)pthread_mutex_destroy(&world->lock);
	rh_comm_trace_close(&world->trace);
	free(world->hosts);
	free(world);
}

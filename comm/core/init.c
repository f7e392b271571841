/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions that open, group, query and close contexts. */
#include <stdlib.h>
#include <string.h>

#include "comm/core/collective/dispatch.h"
#include "comm/core/collective/hierarchical.h"
#include "comm/core/context.h"
#include "comm/core/error.h"
#include "comm/core/request/service.h"

static const char *init_lookup(void *arg, const char *name)
{
	(void)arg;
	return getenv(name);
}

/* The others need not wait for one that cannot come. */
static void init_give_up(struct rh_comm_world *world, int32_t rank, const struct rh_comm_error *err)
{
	struct rh_comm_error reason;

	(void)rh_comm_fail(&reason, err->code, rank, "rank %d could not start: %.400s", (int)rank, err->text);
	(void)rh_comm_world_fail(world, &reason, NULL);
}

static int32_t init_open(struct rh_comm *comm, const char *backend, struct rh_comm_error *err)
{
	int32_t r;

	comm->start = rh_comm_dispatch;
	r = rh_comm_context_open(comm, backend, err);
	if (r < 0)
		return r;
	r = rh_comm_hierarchy_open(comm, err);
	if (r < 0)
		rh_comm_context_delist(comm);
	return r;
}

int32_t rh_comm_init(const struct rh_comm_options *options, struct rh_comm **ret_comm, struct rh_comm_error *err)
{
	struct rh_comm_options whole = {0};
	struct rh_comm_world *world = NULL;
	struct rh_comm_error room = {0};
	struct rh_comm_env env;
	struct rh_comm *comm;
	int32_t r;

	err = err ? err : &room;
	if (options)
		memcpy(&whole, options, options->size < sizeof(whole) ? options->size : sizeof(whole));
	r = rh_comm_env_read(&whole, init_lookup, NULL, &env, err);
	if (r == 0)
		r = rh_comm_world_open(&whole, &env, rh_comm_service_run, &world, err);
	if (r < 0)
		return r;
	comm = rh_comm_context_new(world, env.rank, env.world);
	r = comm ? init_open(comm, env.backend, err) : rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	if (r == 0) {
		*ret_comm = comm;
		return 0;
	}
	if (comm)
		r = rh_comm_context_give_up(comm, r, err);
	init_give_up(world, env.rank, err);
	if (comm)
		rh_comm_context_release(comm);
	rh_comm_world_close(world);
	return r;
}

static void init_leave(struct rh_comm *comm)
{
	struct rh_comm_world *world = comm->world;
	struct rh_comm_beat last = {.posted = comm->done, .done = comm->done, .peer = RH_COMM_NO_RANK};

	(void)pthread_mutex_lock(&world->lock);
	for (struct rh_comm *group = world->contexts; group; group = group->next)
		rh_comm_context_report_gone(group);
	(void)pthread_mutex_unlock(&world->lock);
	/* the others may still read what this rank sent: all leave together */
	rh_comm_client_leave(world->client, &last, rh_comm_now() + world->env.death_timeout);
}

void rh_comm_free(struct rh_comm *comm)
{
	struct rh_comm_world *world;

	/* in a child of fork() nothing of it is ours: threads, locks that they hold, memory that others share */
	if (!comm || comm->world->forked)
		return;
	world = comm->world;
	rh_comm_context_settle(comm);
	rh_comm_context_delist(comm);
	rh_comm_hierarchy_close(comm);
	if (comm->is_group) {
		rh_comm_context_report_gone(comm);
		rh_comm_context_release(comm);
		return;
	}
	if (world->client)
		init_leave(comm);
	rh_comm_context_release(comm);
	rh_comm_world_close(world);
}

int32_t rh_comm_group(struct rh_comm *comm, const int32_t *ranks, int32_t count, struct rh_comm **ret_comm,
                      struct rh_comm_error *err)
{
	struct rh_comm_error room = {0};
	struct rh_comm *group = NULL;
	int32_t r;

	err = err ? err : &room;
	r = rh_comm_context_group(comm, ranks, count, &group, err);
	if (r < 0)
		return r;
	r = rh_comm_hierarchy_open(group, err);
	if (r < 0) {
		rh_comm_free(group);
		return r;
	}
	*ret_comm = group;
	return 0;
}

void rh_comm_abort(struct rh_comm *comm, const char *why)
{
	int32_t rank = rh_comm_world_rank(comm, comm->rank);
	struct rh_comm_error reason;

	(void)rh_comm_fail(&reason, RH_COMM_EABORTED, rank, "rank %d aborted: %s", (int)rank, why ? why : "");
	(void)rh_comm_world_fail(comm->world, &reason, NULL);
}

int32_t rh_comm_rank(const struct rh_comm *comm)
{
	return comm->rank;
}

int32_t rh_comm_world(const struct rh_comm *comm)
{
	return comm->size;
}

int32_t rh_comm_local_rank(const struct rh_comm *comm)
{
	return comm->local_rank;
}

int32_t rh_comm_local_world(const struct rh_comm *comm)
{
	return comm->local_world;
}

int32_t rh_comm_host(const struct rh_comm *comm, int32_t rank)
{
	return rank >= 0 && rank < comm->size ? comm->hosts[rank] : -1;
}

const char *rh_comm_backend_name(const struct rh_comm *comm)
{
	return comm->module.backend->name;
}

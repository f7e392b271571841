/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: the world's own, and those of groups. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "comm/core/collective/team.h"
#include "comm/core/context.h"
#include "comm/core/error.h"
#include "comm/core/group.h"
#include "comm/core/memory/cuda.h"
#include "comm/core/memory/stage.h"
#include "comm/core/request/request.h"
#include "comm/core/select.h"

/* For so long a peer that takes nothing in keeps us from leaving. */
#define SETTLE_PATIENCE (2 * RH_COMM_SECOND)
#define SETTLE_YIELDS 64
#define SETTLE_PAUSE_NS 100000
#define CAUSE_PATIENCE RH_COMM_SECOND

struct rh_comm *rh_comm_context_new(struct rh_comm_world *world, int32_t rank, int32_t size)
{
	struct rh_comm *comm = calloc(1, sizeof(*comm));

	if (!comm)
		return NULL;
	comm->world = world;
	comm->rank = rank;
	comm->size = size;
	comm->last = &comm->first;
	atomic_init(&comm->spin, RH_COMM_SPIN);
	/* NOLINTNEXTLINE(clang-analyzer-core.*): there is one when rh_comm_world_open() returned 0 */
	comm->deadline = rh_comm_now() + world->env.init_timeout;
	comm->hosts = calloc((size_t)size, sizeof(*comm->hosts));
	(void)pthread_mutex_init(&comm->lock, NULL);
	if (comm->hosts)
		return comm;
	free(comm);
	return NULL;
}

void rh_comm_context_release(struct rh_comm *comm)
{
	rh_comm_cuda_close(comm);
	if (comm->self)
		comm->module.backend->close(comm->self);
	if (!comm->is_group)
		rh_comm_module_close(&comm->module);
	while (comm->spare) {
		struct rh_comm_request *request = comm->spare;

		comm->spare = request->next;
		free(request);
	}
	rh_comm_stage_close(comm);
	(void)pthread_mutex_destroy(&comm->lock);
	free(comm->ranks);
	free(comm->hosts);
	free(comm->made);
	free(comm);
}

static void list_add(struct rh_comm **at, struct rh_comm *comm)
{
	while (*at)
		at = &(*at)->next;
	*at = comm;
}

static void list_remove(struct rh_comm **at, struct rh_comm *comm)
{
	while (*at && *at != comm)
		at = &(*at)->next;
	if (*at)
		*at = comm->next;
	comm->next = NULL;
}

/* A group that is being created: the rendezvous server may query it. */
static void context_announce(struct rh_comm *comm)
{
	(void)pthread_mutex_lock(&comm->world->lock);
	list_add(&comm->world->opening, comm);
	(void)pthread_mutex_unlock(&comm->world->lock);
}

static void context_withdraw(struct rh_comm *comm)
{
	(void)pthread_mutex_lock(&comm->world->lock);
	list_remove(&comm->world->opening, comm);
	(void)pthread_mutex_unlock(&comm->world->lock);
}

/* The world's own context is the list's first. */
static void context_enlist(struct rh_comm *comm)
{
	(void)pthread_mutex_lock(&comm->world->lock);
	list_remove(&comm->world->opening, comm);
	list_add(&comm->world->contexts, comm);
	if (comm->is_group)
		rh_comm_trace_add_group(&comm->world->trace, comm->name, comm->ranks, comm->size);
	(void)pthread_mutex_unlock(&comm->world->lock);
}

void rh_comm_context_delist(struct rh_comm *comm)
{
	(void)pthread_mutex_lock(&comm->world->lock);
	list_remove(&comm->world->contexts, comm);
	(void)pthread_mutex_unlock(&comm->world->lock);
	/* the service thread may be asleep on it, for a millisecond */
	while (atomic_load(&comm->references) > 0)
		(void)sched_yield();
}

/* A backend may notice before us that a peer is gone; why it is we learn within this time. */
static void context_await_cause(const struct rh_comm_world *world)
{
	static const struct timespec pause = {0, 1000000};
	int64_t until = rh_comm_now() + CAUSE_PATIENCE;

	while (rh_comm_world_check(world, NULL) == 0 && rh_comm_now() < until)
		(void)nanosleep(&pause, NULL);
}

/* Let the backend connect. */
static int32_t context_connect(struct rh_comm *comm, struct rh_comm_error *err)
{
	int32_t r;

	rh_comm_team_init(comm);
	if (comm->size == 1)
		return 0;
	comm->error.code = 0;
	r = comm->module.backend->open(&comm->team, &comm->self);
	if (r == 0)
		return 0;
	comm->self = NULL;
	if (r == RH_COMM_EPEER)
		context_await_cause(comm->world);
	/* the death of another rank is a better message than that it was not reached */
	if (rh_comm_world_check(comm->world, err) < 0)
		return rh_comm_world_check(comm->world, err);
	if (comm->error.code == 0)
		return rh_comm_fail(err, r, RH_COMM_NO_RANK, "%s: %s", comm->module.backend->name, rh_comm_status_text(r));
	if (err)
		*err = comm->error;
	return r;
}

int32_t rh_comm_context_open(struct rh_comm *comm, const char *backend, struct rh_comm_error *err)
{
	struct rh_comm_world *world = comm->world;
	int32_t r = rh_comm_find_hosts(comm, err);

	if (r == 0)
		r = rh_comm_share_tune(comm, err);
	if (r == 0)
		r = rh_comm_select(comm, backend, &comm->module, err);
	if (r == 0)
		r = rh_comm_select_cuda(comm, backend, &comm->cuda.module, err);
	if (r < 0)
		return r;
	memcpy(comm->hosts, world->hosts, (size_t)comm->size * sizeof(*comm->hosts));
	r = context_connect(comm, err);
	if (r == 0)
		r = rh_comm_cuda_open(comm, err);
	if (r < 0)
		return r;
	context_enlist(comm);
	return 0;
}

/* After a timeout the world ends, and the rendezvous server finds the ranks that are late. */
int32_t rh_comm_context_give_up(const struct rh_comm *comm, int32_t r, struct rh_comm_error *err)
{
	struct rh_comm_error reason;

	if (rh_comm_now() < comm->deadline || rh_comm_world_check(comm->world, NULL) != 0)
		return r;
	(void)rh_comm_fail(&reason, RH_COMM_ETIME, err->rank,
	                   comm->is_group ? "rh_comm_group() was not done on %d ranks in time: %.300s"
	                                  : "rh_comm_init() was not done on %d ranks in time: %.300s",
	                   (int)comm->size, err->text);
	return rh_comm_world_diagnose(comm, &reason, RH_COMM_REACHED_OPENING, err);
}

/* Who waits for us in a group learns that we shall not come. What we began and did not end will never end. */
void rh_comm_context_report_gone(struct rh_comm *group)
{
	struct rh_comm_gone gone = {.group = group->name, .done = group->done, .size = group->size};

	(void)rh_comm_group_text(group, gone.text, sizeof(gone.text));
	if (group->is_group && !group->is_subgroup && group->world->client)
		rh_comm_client_gone(group->world->client, &gone);
}

/* Sent messages have to leave this process before it announces its end. */
void rh_comm_context_settle(struct rh_comm *comm)
{
	const struct rh_comm_backend *backend = comm->module.backend;
	static const struct timespec pause = {0, SETTLE_PAUSE_NS};
	int64_t until = rh_comm_now() + SETTLE_PATIENCE;
	int32_t r = RH_COMM_BUSY;

	if (!backend || !backend->idle || !comm->self)
		return;
	for (int round = 0; r == RH_COMM_BUSY && rh_comm_now() < until && rh_comm_world_check(comm->world, NULL) == 0;
	     round++) {
		(void)pthread_mutex_lock(&comm->lock);
		r = comm->aborted ? 0 : backend->idle(comm->self);
		(void)pthread_mutex_unlock(&comm->lock);
		/* the peer has to read now, maybe on this processor; no backend reports that */
		if (r == RH_COMM_BUSY && round < SETTLE_YIELDS)
			(void)sched_yield();
		else if (r == RH_COMM_BUSY)
			(void)nanosleep(&pause, NULL);
	}
}

static int32_t group_check(const struct rh_comm *comm, const int32_t *ranks, int32_t count, int32_t *ret_rank,
                           struct rh_comm_error *err)
{
	int32_t own = RH_COMM_NO_RANK;

	for (int32_t i = 0; i < count; i++) {
		if (ranks[i] < 0 || ranks[i] >= comm->size)
			return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "ranks[%d] is %d, which is not below %d", (int)i,
			                    (int)ranks[i], (int)comm->size);
		for (int32_t j = 0; j < i; j++) {
			if (ranks[i] == ranks[j])
				return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "rank %d is in the group twice",
				                    (int)ranks[i]);
		}
		if (ranks[i] == comm->rank)
			own = i;
	}
	if (own == RH_COMM_NO_RANK)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "rank %d is not in the group that it makes",
		                    (int)comm->rank);
	*ret_rank = own;
	return 0;
}

/* The prefix of the context that the group is made of, and its ranks. */
static uint64_t group_hash(const char *prefix, const int32_t *ranks, int32_t count)
{
	return rh_hash_more(rh_hash(prefix, strlen(prefix)), ranks, (size_t)count * sizeof(*ranks));
}

static struct rh_comm_group_count *group_made(struct rh_comm *comm, uint64_t hash)
{
	struct rh_comm_group_count *made;

	for (size_t i = 0; i < comm->made_count; i++) {
		if (comm->made[i].hash == hash)
			return &comm->made[i];
	}
	made = realloc(comm->made, (comm->made_count + 1) * sizeof(*made));
	if (!made)
		return NULL;
	comm->made = made;
	made = &comm->made[comm->made_count++];
	*made = (struct rh_comm_group_count){.hash = hash};
	return made;
}

/* All members find the same name, whatever other groups each of them has made. */
static int32_t group_name(struct rh_comm *comm, const int32_t *ranks, int32_t count, struct rh_comm *group)
{
	uint64_t hash = group_hash(comm->prefix, ranks, count);
	struct rh_comm_group_count *made;
	uint32_t times = 0;

	(void)pthread_mutex_lock(&comm->lock);
	made = group_made(comm, hash);
	if (made)
		times = made->times++;
	(void)pthread_mutex_unlock(&comm->lock);
	if (!made)
		return RH_COMM_ENOMEM;
	(void)snprintf(group->prefix, sizeof(group->prefix), "g%llx.%u/", (unsigned long long)hash, times);
	group->name = rh_hash(group->prefix, strlen(group->prefix));
	return 0;
}

int32_t rh_comm_context_group(struct rh_comm *comm, const int32_t *ranks, int32_t count, struct rh_comm **ret_group,
                              struct rh_comm_error *err)
{
	struct rh_comm *group;
	int32_t rank = 0;
	int32_t r = group_check(comm, ranks, count, &rank, err);

	if (r == 0)
		r = rh_comm_world_check(comm->world, err);
	if (r < 0)
		return r;
	group = rh_comm_context_new(comm->world, rank, count);
	if (!group)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	group->is_group = true;
	group->start = comm->start;
	group->module = comm->module;
	group->ranks = malloc((size_t)count * sizeof(*group->ranks));
	r = group->ranks ? group_name(comm, ranks, count, group) : RH_COMM_ENOMEM;
	if (r < 0) {
		rh_comm_context_release(group);
		return rh_comm_fail(err, r, RH_COMM_NO_RANK, "out of memory");
	}
	for (int32_t i = 0; i < count; i++) {
		group->hosts[i] = comm->hosts[ranks[i]];
		group->ranks[i] = rh_comm_world_rank(comm, ranks[i]);
	}
	group->cuda.module.backend = comm->cuda.module.backend;
	memcpy(group->cuda.why, comm->cuda.why, sizeof(group->cuda.why));
	context_announce(group);
	r = context_connect(group, err);
	if (r == 0)
		r = rh_comm_cuda_open(group, err);
	if (r < 0) {
		r = rh_comm_context_give_up(group, r, err);
		context_withdraw(group);
		rh_comm_context_release(group);
		return r;
	}
	context_enlist(group);
	*ret_group = group;
	return 0;
}

void rh_comm_context_close_group(struct rh_comm *group)
{
	if (!group)
		return;
	rh_comm_context_settle(group);
	rh_comm_context_delist(group);
	rh_comm_context_report_gone(group);
	rh_comm_context_release(group);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An NCCL for tests of logic, on host memory. Ranks are threads of one process, joined by the id. What a non-blocking
 * communicator was given is in progress for a few looks at ncclCommGetAsyncError() and enters its stream only then; it
 * runs when the same task is first in the streams of all ranks.
 */
#include <stdlib.h>
#include <string.h>

#include "comm/core/collective/reduce.h"
#include "comm/nccl/fake_parts.h"

#define RANKS 8
#define LOOKS 3
#define NCCL_REMOTE_ERROR 6
#define NCCL_INVALID_USAGE 5

struct fake_comm {
	struct team *team;
	int rank;
	int posted;
	int looks; /* until what it was given is no longer in progress */
	int error;
	struct task *waiting; /* for that; not in the stream yet */
	struct stream *into;
};

struct team {
	struct team *next;
	struct nccl_id id;
	int ranks;
	int joined;
	struct fake_comm *comms[RANKS];
};

/* The group that this thread is in: what it has called so far. */
struct group {
	int depth;
	struct fake_comm *comm;
	struct stream *stream;
	struct part parts[PARTS];
	int count;
};

static struct group *group_get(void)
{
	static _Thread_local struct group group;

	return &group;
}

int fake_comm_error(const struct fake_comm *comm)
{
	return comm ? comm->error : 0;
}

void fake_comms_forget(struct fake *fake, const struct stream *stream)
{
	for (struct team *team = fake->teams; team; team = team->next) {
		for (int rank = 0; rank < team->ranks; rank++) {
			if (team->comms[rank] && team->comms[rank]->into == stream)
				team->comms[rank]->into = NULL;
		}
	}
}

static int32_t type_of(int type)
{
	static const int32_t types[] = {RH_COMM_I8, RH_COMM_U8,  RH_COMM_I32, 0,           RH_COMM_I64,
	                                0,          RH_COMM_F16, RH_COMM_F32, RH_COMM_F64, RH_COMM_BF16};

	return types[type];
}

static int32_t reduction_of(int op)
{
	static const int32_t reductions[] = {RH_COMM_SUM, RH_COMM_PROD, RH_COMM_MAX, RH_COMM_MIN, RH_COMM_AVG};

	return reductions[op];
}

static size_t size_of(int type)
{
	static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

	return sizes[type];
}

/* Of rank r the task that is first in its stream, when it is this collective. */
static struct task *peer_task(const struct team *team, int rank, const struct task *own)
{
	const struct fake_comm *comm = team->comms[rank];
	struct task *task = comm && comm->into ? fake_stream_head(comm->into) : NULL;

	return task && task->kind == own->kind && task->comm == comm && task->number == own->number ? task : NULL;
}

static void reduce_all(struct team *team, struct task **tasks, size_t from, size_t count, void *out)
{
	const struct part *first = &tasks[0]->parts[0];
	size_t at = from * size_of(first->type);

	memcpy(out, (const char *)first->in + at, count * size_of(first->type));
	for (int rank = 1; rank < team->ranks; rank++)
		rh_comm_reduce(out, out, (const char *)tasks[rank]->parts[0].in + at, count, type_of(first->type),
		               reduction_of(first->op));
	if (reduction_of(first->op) == RH_COMM_AVG)
		rh_comm_divide(out, count, type_of(first->type), team->ranks);
}

/* All ranks' tasks are there: compute, into memory of its own first, as inputs may be outputs. */
static void collective_run(struct team *team, struct task **tasks)
{
	const struct part *first = &tasks[0]->parts[0];
	size_t bytes = first->count * size_of(first->type);
	size_t whole = bytes * (size_t)team->ranks;
	char *result = malloc(whole > 0 ? whole : 1);

	if (!result)
		abort();
	if (first->what == PART_ALL_REDUCE)
		reduce_all(team, tasks, 0, first->count, result);
	else if (first->what == PART_REDUCE_SCATTER)
		reduce_all(team, tasks, 0, first->count * (size_t)team->ranks, result);
	else if (first->what == PART_BROADCAST)
		memcpy(result, tasks[first->peer]->parts[0].in, bytes);
	for (int rank = 0; rank < team->ranks && first->what == PART_ALL_GATHER; rank++)
		memcpy(result + (size_t)rank * bytes, tasks[rank]->parts[0].in, bytes);
	for (int rank = 0; rank < team->ranks; rank++) {
		size_t at = first->what == PART_REDUCE_SCATTER ? (size_t)rank * bytes : 0;

		memcpy(tasks[rank]->parts[0].out, result + at, first->what == PART_ALL_GATHER ? whole : bytes);
		tasks[rank]->done = 1;
	}
	free(result);
}

void fake_collective_try(struct fake *fake, struct task *task)
{
	struct team *team = task->comm->team;
	struct task *tasks[RANKS];

	for (int rank = 0; rank < team->ranks; rank++) {
		tasks[rank] = peer_task(team, rank, task);
		if (!tasks[rank])
			return;
	}
	if (task->number == fake->fail_at) {
		for (int rank = 0; rank < team->ranks; rank++)
			team->comms[rank]->error = NCCL_REMOTE_ERROR;
		return;
	}
	collective_run(team, tasks);
}

static int part_deliver(const struct task *from, struct part *send, struct task *to)
{
	for (int i = 0; i < to->part_count; i++) {
		struct part *recv = &to->parts[i];

		if (recv->what != PART_RECV || recv->done || recv->peer != from->comm->rank)
			continue;
		memcpy(recv->out, send->in, send->count * size_of(send->type));
		recv->done = send->done = 1;
		return 1;
	}
	return 0;
}

static void messages_settle(struct task *task)
{
	task->done = 1;
	for (int i = 0; i < task->part_count; i++)
		task->done &= task->parts[i].done;
}

void fake_messages_try(struct task *task)
{
	struct team *team = task->comm->team;

	for (int i = 0; i < task->part_count; i++) {
		struct part *part = &task->parts[i];
		struct fake_comm *peer = team->comms[part->peer];
		struct task *other = peer && peer->into ? fake_stream_head(peer->into) : NULL;

		if (part->what != PART_SEND || part->done || !other || other->kind != TASK_MESSAGES || other->comm != peer)
			continue;
		if (part_deliver(task, part, other))
			messages_settle(other);
	}
	messages_settle(task);
}

void fake_fail_at(int number)
{
	struct fake *fake = fake_lock();

	fake->fail_at = number;
	(void)fake_unlock(fake, 0);
}

/* NCCL. */
EXPORT int ncclGetVersion(int *version);
EXPORT int ncclGetUniqueId(struct nccl_id *id);
EXPORT int ncclCommInitRankConfig(void **comm, int ranks, struct nccl_id id, int rank, struct nccl_config *config);
EXPORT int ncclCommFinalize(void *comm);
EXPORT int ncclCommDestroy(void *comm);
EXPORT int ncclCommAbort(void *comm);
EXPORT int ncclCommGetAsyncError(void *comm, int *status);
EXPORT const char *ncclGetErrorString(int status);
EXPORT const char *ncclGetLastError(void *comm);
EXPORT int ncclGroupStart(void);
EXPORT int ncclGroupEnd(void);
EXPORT int ncclAllReduce(const void *in, void *out, size_t count, int type, int op, void *comm, void *stream);
EXPORT int ncclReduceScatter(const void *in, void *out, size_t count, int type, int op, void *comm, void *stream);
EXPORT int ncclAllGather(const void *in, void *out, size_t count, int type, void *comm, void *stream);
EXPORT int ncclBroadcast(const void *in, void *out, size_t count, int type, int root, void *comm, void *stream);
EXPORT int ncclSend(const void *data, size_t count, int type, int peer, void *comm, void *stream);
EXPORT int ncclRecv(void *data, size_t count, int type, int peer, void *comm, void *stream);

int ncclGetVersion(int *version)
{
	const char *text = getenv("FAKE_NCCL_VERSION");

	*version = text ? (int)strtol(text, NULL, 10) : 22000;
	return 0;
}

int ncclGetUniqueId(struct nccl_id *id)
{
	struct fake *fake = fake_lock();

	memset(id, 0, sizeof(*id));
	fake->ids++;
	memcpy(id->internal, &fake->ids, sizeof(fake->ids));
	return fake_unlock(fake, 0);
}

static struct team *team_find(struct fake *fake, const struct nccl_id *id, int ranks)
{
	struct team *team = fake->teams;

	while (team && memcmp(&team->id, id, sizeof(*id)) != 0)
		team = team->next;
	if (team)
		return team;
	team = calloc(1, sizeof(*team));
	if (!team)
		abort();
	team->id = *id;
	team->ranks = ranks;
	team->next = fake->teams;
	fake->teams = team;
	return team;
}

int ncclCommInitRankConfig(void **comm, int ranks, struct nccl_id id, int rank, struct nccl_config *config)
{
	struct fake *fake = fake_lock();
	struct team *team = team_find(fake, &id, ranks);
	struct fake_comm *made = calloc(1, sizeof(*made));

	if (!made)
		abort();
	fake->misuses += config->size != sizeof(*config) || config->magic != NCCL_MAGIC || config->blocking != 0;
	fake->misuses += config->version < NCCL_OLDEST || team->ranks != ranks || team->comms[rank] != NULL;
	made->team = team;
	made->rank = rank;
	team->comms[rank] = made;
	team->joined++;
	fake->alive++;
	*comm = made;
	return fake_unlock(fake, NCCL_IN_PROGRESS);
}

static void comm_end(struct fake *fake, struct fake_comm *comm)
{
	free(comm->waiting);
	comm->waiting = NULL;
	while (comm->into && fake_stream_head(comm->into) && comm->into->first->comm == comm)
		comm->into->first->done = 1;
	comm->into = NULL;
	fake->alive--;
}

int ncclCommFinalize(void *arg)
{
	struct fake_comm *comm = arg;
	struct fake *fake = fake_lock();

	fake->misuses += comm->waiting != NULL;
	comm->looks = LOOKS;
	return fake_unlock(fake, NCCL_IN_PROGRESS);
}

int ncclCommDestroy(void *comm)
{
	struct fake *fake = fake_lock();

	comm_end(fake, comm);
	return fake_unlock(fake, 0);
}

int ncclCommAbort(void *comm)
{
	struct fake *fake = fake_lock();

	comm_end(fake, comm);
	return fake_unlock(fake, 0);
}

int ncclCommGetAsyncError(void *arg, int *status)
{
	struct fake_comm *comm = arg;
	struct fake *fake = fake_lock();

	*status = NCCL_OK;
	if (comm->error)
		*status = comm->error;
	else if (comm->team->joined < comm->team->ranks || comm->looks-- > 0)
		*status = NCCL_IN_PROGRESS;
	else if (comm->waiting)
		fake_stream_append(fake, comm->into, comm->waiting);
	if (*status == NCCL_OK)
		comm->waiting = NULL;
	return fake_unlock(fake, 0);
}

const char *ncclGetErrorString(int status)
{
	return status == NCCL_REMOTE_ERROR ? "remote process exited or there was a network error" : "fake NCCL error";
}

const char *ncclGetLastError(void *comm)
{
	(void)comm;
	return "fake details";
}

int ncclGroupStart(void)
{
	struct group *group = group_get();

	if (group->depth++ == 0)
		group->count = 0;
	return 0;
}

int ncclGroupEnd(void)
{
	struct group *group = group_get();
	struct fake_comm *comm = group->comm;
	struct fake *fake;
	struct task *task;

	if (--group->depth > 0 || group->count == 0)
		return 0;
	fake = fake_lock();
	if (comm->waiting || comm->looks > 0 || comm->team->joined < comm->team->ranks) {
		fake->misuses++;
		return fake_unlock(fake, NCCL_INVALID_USAGE);
	}
	task = fake_task_new(group->parts[0].what < PART_SEND ? TASK_COLLECTIVE : TASK_MESSAGES);
	task->comm = comm;
	task->number = task->kind == TASK_COLLECTIVE ? comm->posted++ : -1;
	task->part_count = group->count;
	memcpy(task->parts, group->parts, sizeof(task->parts));
	comm->waiting = task;
	comm->into = group->stream ? group->stream : &fake->none;
	comm->looks = LOOKS;
	return fake_unlock(fake, NCCL_IN_PROGRESS);
}

static int group_add(struct part part, void *comm, void *stream)
{
	struct group *group = group_get();
	int lone = group->depth == 0;

	if (lone)
		(void)ncclGroupStart();
	group->comm = comm;
	group->stream = stream;
	if (group->count == PARTS)
		abort();
	group->parts[group->count++] = part;
	return lone ? ncclGroupEnd() : 0;
}

int ncclAllReduce(const void *in, void *out, size_t count, int type, int op, void *comm, void *stream)
{
	return group_add((struct part){PART_ALL_REDUCE, in, out, count, type, op, 0, 0}, comm, stream);
}

int ncclReduceScatter(const void *in, void *out, size_t count, int type, int op, void *comm, void *stream)
{
	return group_add((struct part){PART_REDUCE_SCATTER, in, out, count, type, op, 0, 0}, comm, stream);
}

int ncclAllGather(const void *in, void *out, size_t count, int type, void *comm, void *stream)
{
	return group_add((struct part){PART_ALL_GATHER, in, out, count, type, 0, 0, 0}, comm, stream);
}

int ncclBroadcast(const void *in, void *out, size_t count, int type, int root, void *comm, void *stream)
{
	return group_add((struct part){PART_BROADCAST, in, out, count, type, 0, root, 0}, comm, stream);
}

int ncclSend(const void *data, size_t count, int type, int peer, void *comm, void *stream)
{
	return group_add((struct part){PART_SEND, data, NULL, count, type, 0, peer, 0}, comm, stream);
}

int ncclRecv(void *data, size_t count, int type, int peer, void *comm, void *stream)
{
	return group_add((struct part){PART_RECV, NULL, data, count, type, 0, peer, 0}, comm, stream);
}

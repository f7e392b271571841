/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/nccl/nccl.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KEY "nccl/id"
/* So many seconds the last bytes may take at the end. */
#define PATIENCE 5

static int32_t nccl_probe(int32_t rank, int32_t world, char *why, size_t room)
{
	struct nccl_api api = {0};
	int32_t r = nccl_api_load(&api, why, room);

	(void)rank;
	(void)world;
	nccl_api_unload(&api);
	return r;
}

/* Wait until NCCL has nothing under way, at most PATIENCE. */
static bool close_settle(struct nccl *nccl)
{
	time_t until = time(NULL) + PATIENCE;
	int status = NCCL_IN_PROGRESS;

	while (nccl->api.async_error(nccl->comm, &status) == NCCL_OK && status == NCCL_IN_PROGRESS && time(NULL) < until)
		(void)sched_yield();
	return status == NCCL_OK;
}

static void close_comm(struct nccl *nccl)
{
	int before = nccl_enter(nccl);
	int status = NCCL_OK;

	if (close_settle(nccl))
		status = nccl->api.finalize(nccl->comm);
	if ((status == NCCL_OK || status == NCCL_IN_PROGRESS) && close_settle(nccl))
		(void)nccl->api.destroy(nccl->comm);
	else
		(void)nccl->api.comm_abort(nccl->comm);
	nccl->comm = NULL;
	nccl_leave(nccl, before);
}

static void nccl_close(void *self)
{
	struct nccl *nccl = self;

	if (nccl->comm && (atomic_load(&nccl->aborted) || nccl->stage == NCCL_BROKEN))
		nccl_let_go(nccl);
	if (nccl->comm)
		close_comm(nccl);
	while (nccl->queued.first)
		nccl_work_free(nccl, nccl->queued.first);
	while (nccl->launched.first)
		nccl_work_free(nccl, nccl->launched.first);
	nccl_api_unload(&nccl->api);
	free(nccl);
}

/* Rank 0 makes the id by which all find each other when the first operation starts the communicator. */
static int32_t open_share_id(struct nccl *nccl)
{
	const struct rh_comm_team *team = nccl->team;
	int64_t n;
	int status;

	if (team->rank == 0) {
		status = nccl->api.get_unique_id(&nccl->id);
		if (status != NCCL_OK)
			return nccl_fail(nccl, "no id for a communicator", status);
		return team->put(team->core, KEY, &nccl->id, sizeof(nccl->id));
	}
	n = team->get(team->core, KEY, &nccl->id, sizeof(nccl->id));
	return n < 0 ? (int32_t)n : 0;
}

static int32_t nccl_open(const struct rh_comm_team *team, void **ret_self)
{
	struct nccl *nccl = calloc(1, sizeof(*nccl));
	char why[200] = "";
	int32_t r;

	if (!nccl)
		return RH_COMM_ENOMEM;
	nccl->team = team;
	nccl->queued.last = &nccl->queued.first;
	nccl->launched.last = &nccl->launched.first;
	r = nccl_api_load(&nccl->api, why, sizeof(why));
	if (r < 0)
		(void)team->fail(team->core, r, RH_COMM_NO_RANK, why);
	else
		r = open_share_id(nccl);
	if (r < 0) {
		nccl_close(nccl);
		return r;
	}
	*ret_self = nccl;
	return 0;
}

static int32_t nccl_collective(void *self, const struct rh_comm_op *op, uint64_t sequence, void **ret_work)
{
	(void)sequence;
	*ret_work = NULL;
	if (op->what == RH_COMM_BARRIER)
		return RH_COMM_ENOTSUP;
	return op->count == 0 ? 0 : nccl_post(self, op, ret_work);
}

/* Messages of no stream, of bytes; NCCL has no tags, so they meet in the order of posting. */
static int32_t nccl_message(struct nccl *nccl, struct rh_comm_op op, void **ret_work)
{
	op.size = sizeof(op);
	op.type = RH_COMM_U8;
	op.memory = RH_COMM_CUDA;
	return nccl_post(nccl, &op, ret_work);
}

static int32_t nccl_send(void *self, int32_t peer, uint64_t tag, const void *data, size_t length, void **ret_work)
{
	struct rh_comm_op op = {.what = RH_COMM_SEND, .in = data, .count = length, .peer = peer, .tag = (uint32_t)tag};

	return nccl_message(self, op, ret_work);
}

static int32_t nccl_recv(void *self, int32_t peer, uint64_t tag, void *data, size_t length, void **ret_work)
{
	struct rh_comm_op op = {.what = RH_COMM_RECV, .out = data, .count = length, .peer = peer, .tag = (uint32_t)tag};

	return nccl_message(self, op, ret_work);
}

static int32_t nccl_test(void *self, void *work)
{
	struct nccl *nccl = self;

	if (!atomic_load_explicit(&nccl->aborted, memory_order_relaxed))
		return nccl_look(nccl, work);
	nccl_let_go(nccl);
	nccl_work_free(nccl, work);
	return RH_COMM_EABORTED;
}

/* The next call, of test() or close(), gives the communicator up: no two calls of NCCL meet. */
static void nccl_abort(void *self)
{
	struct nccl *nccl = self;

	atomic_store(&nccl->aborted, true);
}

static const struct rh_comm_backend nccl_table = {
	.head = RH_COMM_HEAD(struct rh_comm_backend),
	.name = "nccl",
	.release = "0.1 over NCCL",
	.memories = RH_COMM_MEMORY_CUDA,
	.score = 80,
	.probe = nccl_probe,
	.open = nccl_open,
	.close = nccl_close,
	.send = nccl_send,
	.recv = nccl_recv,
	.collective = nccl_collective,
	.test = nccl_test,
	.abort = nccl_abort,
};

const struct rh_comm_backend *rh_comm_backend_entry_v0(void)
{
	return &nccl_table;
}

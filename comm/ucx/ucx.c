/* SPDX-License-Identifier: Apache-2.0 */
/* The backend's table: opens and closes contexts, dispatches work by its kind, ends work after an abort. */
#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "comm/ucx/connect.h"
#include "comm/ucx/message.h"
#include "comm/ucx/ring.h"
#include "comm/ucx/small.h"

/* With a network that reads and writes memory itself it is ahead of the native backend's sockets (which has 50). */
#define SCORE 40
#define SCORE_RDMA 60

#define OLDEST_MAJOR 1
#define OLDEST_MINOR 13

/* The number of the sender has 20 bits in a tag. */
#define WORLD_MAX (1 << 20)

/* After an abort: microseconds of progress, at most, until UCX has released all buffers. */
#define QUIESCE_TIME 100000

/* @return whether the kernel knows a device for RDMA */
static bool ucx_has_rdma(void)
{
	DIR *folder = opendir("/sys/class/infiniband");
	const struct dirent *entry;
	bool found = false;

	while (folder && !found && (entry = readdir(folder)))
		found = entry->d_name[0] != '.';
	if (folder)
		(void)closedir(folder);
	return found;
}

static int32_t ucx_probe(int32_t rank, int32_t world, char *why, size_t room)
{
	unsigned int major;
	unsigned int minor;
	unsigned int release;

	(void)rank;
	ucp_get_version(&major, &minor, &release);
	if (major < OLDEST_MAJOR || (major == OLDEST_MAJOR && minor < OLDEST_MINOR)) {
		(void)snprintf(why, room, "UCX is %u.%u, it must be %d.%d or newer", major, minor, OLDEST_MAJOR, OLDEST_MINOR);
		return RH_COMM_ENOTSUP;
	}
	if (world > WORLD_MAX) {
		(void)snprintf(why, room, "it can do %d ranks, these are %d", WORLD_MAX, (int)world);
		return RH_COMM_ENOTSUP;
	}
	return 0;
}

/* @return whether a message is still in flight */
static bool ucx_is_pending(const struct ucx *ucx)
{
	for (const struct ucx_work *work = ucx->works; work; work = work->next) {
		if (ucp_request_check_status(work->request) == UCS_INPROGRESS)
			return true;
	}
	for (const struct ucx_small *small = ucx->smalls_made; small; small = small->made) {
		if (small->recv && ucp_request_check_status(small->recv) == UCS_INPROGRESS)
			return true;
	}
	return false;
}

/*
 * After this nothing touches the buffers of pending messages. UCX ends a receive that is cancelled, and with a far
 * endpoint all that it has. What a near one still has moves only in ucp_worker_progress(), which is not called again.
 */
static void ucx_quiesce(struct ucx *ucx)
{
	ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
	int64_t until;

	if (ucx->quiesced)
		return;
	ucx->quiesced = true;
	for (struct ucx_work *work = ucx->works; work; work = work->next)
		ucp_request_cancel(ucx->worker, work->request);
	for (const struct ucx_small *small = ucx->smalls_made; small; small = small->made) {
		if (small->recv)
			ucp_request_cancel(ucx->worker, small->recv);
	}
	for (int32_t rank = 0; rank < ucx->team->world; rank++) {
		struct ucx_peer *peer = &ucx->peers[rank];

		if (!peer->ep || !peer->far)
			continue;
		ucx_finish(ucx, ucp_ep_close_nbx(peer->ep, &param));
		peer->ep = NULL;
	}
	until = ucx_now() + QUIESCE_TIME;
	while (ucx_is_pending(ucx) && ucx_now() < until) {
		if (ucp_worker_progress(ucx->worker) == 0)
			(void)sched_yield();
	}
}

static void ucx_close(void *self)
{
	struct ucx *ucx = self;

	if (atomic_load(&ucx->aborted))
		ucx_quiesce(ucx);
	if (ucx->peers)
		ucx_disconnect(ucx);
	ucx_free_rings(ucx);
	ucx_free_smalls(ucx);
	free(ucx->peers);
	free(ucx);
}

static int32_t ucx_open(const struct rh_comm_team *team, void **ret_self)
{
	struct ucx *ucx = calloc(1, sizeof(*ucx));
	int32_t r;

	if (!ucx)
		return RH_COMM_ENOMEM;
	ucx->team = team;
	ucx->rdma = ucx_has_rdma();
	ucx->peers = calloc((size_t)team->world, sizeof(*ucx->peers));
	r = ucx->peers ? ucx_connect(ucx) : RH_COMM_ENOMEM;
	if (r < 0) {
		ucx_close(ucx);
		return r;
	}
	*ret_self = ucx;
	return 0;
}

static int32_t ucx_collective(void *self, const struct rh_comm_op *op, uint64_t id, void **ret_work)
{
	struct ucx *ucx = self;
	int32_t world = ucx->team->world;
	size_t size = rh_comm_element_size(op->type);
	bool barrier = op->what == RH_COMM_BARRIER;

	if (ucx->team->local_world != world ||
	    (!barrier && (op->what != RH_COMM_ALL_REDUCE || op->count == 0 || size == 0)))
		return RH_COMM_ENOTSUP;
	if (!barrier && !ucx_small_fits(op, size))
		return ucx_ring_post(ucx, op, id, ret_work);
	/* other numbers of ranks have to be folded first, which the core does */
	if ((world & (world - 1)) != 0)
		return RH_COMM_ENOTSUP;
	return ucx_small_post(ucx, op, id, ret_work);
}

static int32_t ucx_test_aborted(struct ucx *ucx, void *work)
{
	ucx_quiesce(ucx);
	switch (*(const enum ucx_kind *)work) {
	case UCX_RING:
		ucx_ring_free(ucx, work);
		break;
	case UCX_SMALL:
		ucx_small_drop(ucx, work);
		break;
	case UCX_MESSAGE:
		ucx_message_free(ucx, work);
		break;
	}
	return RH_COMM_EABORTED;
}

static int32_t ucx_test(void *self, void *work)
{
	struct ucx *ucx = self;

	if (atomic_load_explicit(&ucx->aborted, memory_order_relaxed))
		return ucx_test_aborted(ucx, work);
	switch (*(const enum ucx_kind *)work) {
	case UCX_SMALL:
		return ucx_small_test(ucx, work);
	case UCX_RING:
		return ucx_ring_test(ucx, work);
	case UCX_MESSAGE:
		break;
	}
	return ucx_message_test(ucx, work);
}

static void ucx_abort(void *self)
{
	struct ucx *ucx = self;

	atomic_store(&ucx->aborted, true);
	/* who sleeps on the descriptor wakes up; this one function of UCX may be called from any thread */
	(void)ucp_worker_signal(ucx->worker);
}

static int32_t ucx_arm(void *self, uint64_t *ret_ticket)
{
	const struct ucx *ucx = self;

	*ret_ticket = 0;
	return ucp_worker_arm(ucx->worker) == UCS_OK ? 0 : RH_COMM_BUSY;
}

/* The descriptor stays readable once something has come, so no ticket is needed. */
static void ucx_pause(void *self, uint64_t ticket, int64_t time)
{
	const struct ucx *ucx = self;
	struct pollfd set = {.events = POLLIN};

	(void)ticket;
	if (ucp_worker_get_efd(ucx->worker, &set.fd) == UCS_OK)
		(void)poll(&set, 1, (int)((time + 999) / 1000));
}

#define UCX_TABLE(points)                                                                                             \
	{                                                                                                                 \
		.head = RH_COMM_HEAD(struct rh_comm_backend), .name = "ucx", .release = "0.1 over UCX",                       \
		.memories = RH_COMM_MEMORY_HOST, .score = (points), .probe = ucx_probe, .open = ucx_open, .close = ucx_close, \
		.send = ucx_send, .recv = ucx_recv, .collective = ucx_collective, .test = ucx_test, .abort = ucx_abort,       \
		.arm = ucx_arm, .pause = ucx_pause, .idle = ucx_idle, .find = ucx_find,                                       \
	}

static const struct rh_comm_backend ucx_table = UCX_TABLE(SCORE);
static const struct rh_comm_backend ucx_table_rdma = UCX_TABLE(SCORE_RDMA);

const struct rh_comm_backend *rh_comm_backend_entry_v0(void)
{
	return ucx_has_rdma() ? &ucx_table_rdma : &ucx_table;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "comm/ucx/ucx.h"

/* What the core's tags are made of (comm_backend.h), and what is left of that beside the number of the sender. */
#define TAG_COLLECTIVE (UINT64_C(1) << 63)
#define TAG_BLOCK_BITS 24
#define OWN_RANK_SHIFT 43
#define OWN_BLOCK_BITS 12
#define OWN_BODY_MASK ((UINT64_C(1) << OWN_RANK_SHIFT) - 1)
#define OWN_BLOCK_MASK ((UINT64_C(1) << OWN_BLOCK_BITS) - 1)

/* After an abort: for how many microseconds progress is made, at most, until UCX lets go of the buffers. */
#define LET_GO_TIME 100000

/*
 * UCX matches by tag alone, so the sender is part of it: 1 bit collective or not, 20 bits rank, then 43 of the core's:
 * a message's whole tag, of a collective the low 31 bits of its number and 12 of its block's.
 */
ucp_tag_t ucx_tag(int32_t sender, uint64_t tag)
{
	uint64_t body = tag & OWN_BODY_MASK;

	if (tag & TAG_COLLECTIVE)
		body = (tag >> TAG_BLOCK_BITS << OWN_BLOCK_BITS | (tag & OWN_BLOCK_MASK)) & OWN_BODY_MASK;
	return (tag & TAG_COLLECTIVE) | (uint64_t)sender << OWN_RANK_SHIFT | body;
}

static struct ucx_work *work_new(struct ucx *ucx, int32_t peer, size_t length)
{
	struct ucx_work *work = ucx->spare;

	if (work)
		ucx->spare = work->next;
	else
		work = malloc(sizeof(*work));
	if (!work)
		return NULL;
	work->kind = UCX_MESSAGE;
	work->after = NULL;
	work->request = NULL;
	work->length = length;
	work->peer = peer;
	work->receives = false;
	work->next = ucx->works;
	work->link = &ucx->works;
	if (work->next)
		work->next->link = &work->next;
	ucx->works = work;
	return work;
}

static void work_free(struct ucx *ucx, struct ucx_work *work)
{
	if (work->request)
		ucp_request_free(work->request);
	*work->link = work->next;
	if (work->next)
		work->next->link = work->link;
	work->next = ucx->spare;
	ucx->spare = work;
}

void ucx_free_works(struct ucx *ucx)
{
	while (ucx->works)
		work_free(ucx, ucx->works);
	while (ucx->spare) {
		struct ucx_work *work = ucx->spare;

		ucx->spare = work->next;
		free(work);
	}
}

int32_t ucx_explain(const struct ucx *ucx, int32_t peer, ucs_status_t status, bool fits)
{
	char text[64];

	if (status == UCS_ERR_MESSAGE_TRUNCATED || (status == UCS_OK && !fits))
		return ucx->team->fail(ucx->team->core, RH_COMM_EINVAL, peer,
		                       "a message has another length than the receiver expects");
	if (status == UCS_OK)
		return 0;
	if (status == UCS_ERR_NO_MEMORY)
		return ucx->team->fail(ucx->team->core, RH_COMM_ENOMEM, peer, "out of memory");
	(void)snprintf(text, sizeof(text), "the connection to rank %d is lost", (int)peer);
	return ucx_fail(ucx, RH_COMM_EPEER, peer, text, status);
}

static int32_t work_end(struct ucx *ucx, struct ucx_work *work, ucs_status_t status)
{
	int32_t peer = work->peer;
	/* NOLINTNEXTLINE(clang-analyzer-core.*): UCX fills info of what was received */
	bool fits = !work->receives || work->info.length == work->length;

	work_free(ucx, work);
	return ucx_explain(ucx, peer, status, fits);
}

static ucs_status_t work_status(struct ucx_work *work)
{
	if (work->receives)
		return ucp_tag_recv_request_test(work->request, &work->info);
	return ucp_request_check_status(work->request);
}

int32_t ucx_send(void *self, int32_t peer, uint64_t tag, const void *data, size_t length, void **ret_work)
{
	static const ucp_request_param_t param = {0};
	struct ucx *ucx = self;
	struct ucx_work *work;
	ucs_status_ptr_t request =
		ucp_tag_send_nbx(ucx->peers[peer].ep, data, length, ucx_tag(ucx->team->rank, tag), &param);

	*ret_work = NULL;
	if (ucx->holds)
		ucx->peers[peer].sent = true;
	if (!request)
		return 0;
	work = work_new(ucx, peer, length);
	if (!work) {
		ucx_finish(ucx, request);
		return RH_COMM_ENOMEM;
	}
	if (UCS_PTR_IS_ERR(request))
		return work_end(ucx, work, UCS_PTR_STATUS(request));
	work->request = request;
	*ret_work = work;
	return 0;
}

int32_t ucx_recv(void *self, int32_t peer, uint64_t tag, void *data, size_t length, void **ret_work)
{
	/* UCX 1.13 does not always tell the length of what it completes at once */
	static const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
	struct ucx *ucx = self;
	struct ucx_work *work = work_new(ucx, peer, length);
	ucs_status_ptr_t request;

	*ret_work = NULL;
	if (!work)
		return RH_COMM_ENOMEM;
	work->receives = true;
	request = ucp_tag_recv_nbx(ucx->worker, data, length, ucx_tag(peer, tag), UCX_TAG_WHOLE, &param);
	if (UCS_PTR_IS_ERR(request))
		return work_end(ucx, work, UCS_PTR_STATUS(request));
	work->request = request;
	*ret_work = work;
	return 0;
}

/* @return whether something is still under way */
static bool let_go_pending(const struct ucx *ucx)
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
void ucx_let_go(struct ucx *ucx)
{
	ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
	int64_t until;

	if (ucx->let_go)
		return;
	ucx->let_go = true;
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
	until = ucx_now() + LET_GO_TIME;
	while (let_go_pending(ucx) && ucx_now() < until) {
		if (ucp_worker_progress(ucx->worker) == 0)
			(void)sched_yield();
	}
}

/* UCX leaves receives from a broken peer posted. */
static int32_t look_broken(struct ucx *ucx, struct ucx_work *work)
{
	ucp_request_cancel(ucx->worker, work->request);
	ucx_finish(ucx, work->request);
	work->request = NULL;
	return work_end(ucx, work, ucx->peers[work->peer].broken);
}

int32_t ucx_look(struct ucx *ucx, struct ucx_work *work)
{
	ucs_status_t status = work_status(work);

	if (status != UCS_INPROGRESS)
		return work_end(ucx, work, status);
	return ucx->peers[work->peer].broken == UCS_OK ? RH_COMM_BUSY : look_broken(ucx, work);
}

/* Let UCX say when all that was sent to a rank has gone. */
static void idle_flush(struct ucx *ucx, int32_t rank)
{
	static const ucp_request_param_t param = {0};
	struct ucx_peer *peer = &ucx->peers[rank];
	struct ucx_work *work = work_new(ucx, rank, 0);
	ucs_status_ptr_t request;

	/* the next time, then */
	if (!work)
		return;
	peer->sent = false;
	request = ucp_ep_flush_nbx(peer->ep, &param);
	if (UCS_PTR_IS_PTR(request)) {
		work->request = request;
		peer->flush = work;
	} else {
		work_free(ucx, work);
	}
}

/*
 * Over TCP UCX counts a message as sent when its last bytes wait for room in the socket, and moves them only when
 * progress is made. Who sends and then computes, or sleeps, makes none. To wait for that in every send would take
 * longer than the send.
 */
int32_t ucx_idle(void *self)
{
	struct ucx *ucx = self;
	int32_t result = 0;

	if (!ucx->holds || atomic_load(&ucx->aborted))
		return 0;
	(void)ucp_worker_progress(ucx->worker);
	for (int32_t rank = 0; rank < ucx->team->world; rank++) {
		struct ucx_peer *peer = &ucx->peers[rank];

		if (peer->sent && !peer->flush && peer->broken == UCS_OK)
			idle_flush(ucx, rank);
		if (peer->flush && ucx_look(ucx, peer->flush) != RH_COMM_BUSY)
			peer->flush = NULL;
		if (peer->flush)
			result = RH_COMM_BUSY;
	}
	return result;
}

static int32_t test_aborted(struct ucx *ucx, void *work)
{
	ucx_let_go(ucx);
	switch (*(const enum ucx_kind *)work) {
	case UCX_RING:
		ucx_ring_free(ucx, work);
		break;
	case UCX_SMALL:
		ucx_small_drop(ucx, work);
		break;
	case UCX_MESSAGE:
		work_free(ucx, work);
		break;
	}
	return RH_COMM_EABORTED;
}

static int32_t test_message(struct ucx *ucx, struct ucx_work *work)
{
	int32_t r = ucx_look(ucx, work);

	if (r != RH_COMM_BUSY)
		return r;
	return ucp_worker_progress(ucx->worker) > 0 ? ucx_look(ucx, work) : RH_COMM_BUSY;
}

int32_t ucx_test(void *self, void *work)
{
	struct ucx *ucx = self;

	if (atomic_load_explicit(&ucx->aborted, memory_order_relaxed))
		return test_aborted(ucx, work);
	switch (*(const enum ucx_kind *)work) {
	case UCX_SMALL:
		return ucx_small_test(ucx, work);
	case UCX_RING:
		return ucx_ring_test(ucx, work);
	case UCX_MESSAGE:
		break;
	}
	return test_message(ucx, work);
}

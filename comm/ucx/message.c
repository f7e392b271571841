/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "comm/ucx/message.h"

/* What the core's tags are made of (comm_backend.h), and what is left of that beside the number of the sender. */
#define TAG_COLLECTIVE (UINT64_C(1) << 63)
#define TAG_BLOCK_BITS 24
#define OWN_RANK_SHIFT 43
#define OWN_BLOCK_BITS 12
#define OWN_BODY_MASK ((UINT64_C(1) << OWN_RANK_SHIFT) - 1)
#define OWN_BLOCK_MASK ((UINT64_C(1) << OWN_BLOCK_BITS) - 1)

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

static struct ucx_work *message_new(struct ucx *ucx, int32_t peer, size_t length)
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

void ucx_message_free(struct ucx *ucx, struct ucx_work *work)
{
	if (work->request)
		ucp_request_free(work->request);
	*work->link = work->next;
	if (work->next)
		work->next->link = work->link;
	work->next = ucx->spare;
	ucx->spare = work;
}

void ucx_messages_free(struct ucx *ucx)
{
	while (ucx->works)
		ucx_message_free(ucx, ucx->works);
	while (ucx->spare) {
		struct ucx_work *work = ucx->spare;

		ucx->spare = work->next;
		free(work);
	}
}

int32_t ucx_message_result(const struct ucx *ucx, int32_t peer, ucs_status_t status, bool fits)
{
	if (status == UCS_ERR_MESSAGE_TRUNCATED || (status == UCS_OK && !fits))
		return ucx->team->fail(ucx->team->core, RH_COMM_EINVAL, peer,
		                       "a message has another length than the receiver expects");
	if (status == UCS_OK)
		return 0;
	if (status == UCS_ERR_NO_MEMORY)
		return ucx->team->fail(ucx->team->core, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	return ucx_fail(ucx, RH_COMM_EPEER, peer, "the connection is lost", status);
}

static int32_t message_end(struct ucx *ucx, struct ucx_work *work, ucs_status_t status)
{
	int32_t peer = work->peer;
	/* NOLINTNEXTLINE(clang-analyzer-core.*): UCX fills info of what was received */
	bool fits = !work->receives || work->info.length == work->length;

	ucx_message_free(ucx, work);
	return ucx_message_result(ucx, peer, status, fits);
}

static ucs_status_t message_status(struct ucx_work *work)
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
	work = message_new(ucx, peer, length);
	if (!work) {
		ucx_finish(ucx, request);
		return RH_COMM_ENOMEM;
	}
	if (UCS_PTR_IS_ERR(request))
		return message_end(ucx, work, UCS_PTR_STATUS(request));
	work->request = request;
	*ret_work = work;
	return 0;
}

int32_t ucx_recv(void *self, int32_t peer, uint64_t tag, void *data, size_t length, void **ret_work)
{
	/* UCX 1.13 does not always report the length of a receive that completes at once */
	static const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
	struct ucx *ucx = self;
	struct ucx_work *work = message_new(ucx, peer, length);
	ucs_status_ptr_t request;

	*ret_work = NULL;
	if (!work)
		return RH_COMM_ENOMEM;
	work->receives = true;
	request = ucp_tag_recv_nbx(ucx->worker, data, length, ucx_tag(peer, tag), UCX_TAG_WHOLE, &param);
	if (UCS_PTR_IS_ERR(request))
		return message_end(ucx, work, UCS_PTR_STATUS(request));
	work->request = request;
	*ret_work = work;
	return 0;
}

int32_t ucx_find(void *self, int32_t first, uint64_t tag, int32_t *ret_peer)
{
	struct ucx *ucx = self;
	int32_t world = ucx->team->world;
	int32_t last = RH_COMM_NO_RANK;
	int32_t broken = 0;
	ucp_tag_recv_info_t info;

	if (atomic_load_explicit(&ucx->aborted, memory_order_relaxed))
		return RH_COMM_EABORTED;
	(void)ucp_worker_progress(ucx->worker);
	for (int32_t i = 0; i < world; i++) {
		int32_t rank = (first + i) % world;

		if (rank == ucx->team->rank)
			continue;
		if (ucp_tag_probe_nb(ucx->worker, ucx_tag(rank, tag), UCX_TAG_WHOLE, 0, &info)) {
			*ret_peer = rank;
			return 0;
		}
		if (ucx->peers[rank].broken != UCS_OK) {
			last = rank;
			broken++;
		}
	}
	return broken < world - 1 ? RH_COMM_BUSY : ucx_message_result(ucx, last, ucx->peers[last].broken, true);
}

/* UCX leaves receives from a broken peer posted. */
static int32_t message_end_broken(struct ucx *ucx, struct ucx_work *work)
{
	ucp_request_cancel(ucx->worker, work->request);
	ucx_finish(ucx, work->request);
	work->request = NULL;
	return message_end(ucx, work, ucx->peers[work->peer].broken);
}

int32_t ucx_message_poll(struct ucx *ucx, struct ucx_work *work)
{
	ucs_status_t status = message_status(work);

	if (status != UCS_INPROGRESS)
		return message_end(ucx, work, status);
	return ucx->peers[work->peer].broken == UCS_OK ? RH_COMM_BUSY : message_end_broken(ucx, work);
}

/* Request UCX to report when all that was sent to a rank is on its way. */
static void message_flush(struct ucx *ucx, int32_t rank)
{
	static const ucp_request_param_t param = {0};
	struct ucx_peer *peer = &ucx->peers[rank];
	struct ucx_work *work = message_new(ucx, rank, 0);
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
		ucx_message_free(ucx, work);
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
			message_flush(ucx, rank);
		if (peer->flush && ucx_message_poll(ucx, peer->flush) != RH_COMM_BUSY)
			peer->flush = NULL;
		if (peer->flush)
			result = RH_COMM_BUSY;
	}
	return result;
}

int32_t ucx_message_test(struct ucx *ucx, struct ucx_work *work)
{
	int32_t r = ucx_message_poll(ucx, work);

	if (r != RH_COMM_BUSY)
		return r;
	return ucp_worker_progress(ucx->worker) > 0 ? ucx_message_poll(ucx, work) : RH_COMM_BUSY;
}

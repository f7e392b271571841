/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduce of small vectors among the ranks of one host: whole, by recursive doubling. All ranks combine each element
 * in the order of ranks, so all end with the same bits. A barrier is the same without a vector.
 *
 * Ten nanoseconds are a twentieth of the time here. The line of memory that a send writes belongs to the other
 * processor, and until it has arrived this one can postpone only so many other writes before it stalls. So little is
 * written down between a send and the first look for an answer: what UCP needs to know of a receive is prepared once,
 * and UCP itself reports when it is done.
 */
#include <stdlib.h>

#include "comm/ucx/message.h"
#include "comm/ucx/small.h"

#define SMALL_BYTES (8 * 1024)
/* What is small is there sooner than the caller could look again. */
#define SMALL_POLLS 16

bool ucx_small_fits(const struct rh_comm_op *op, size_t size)
{
	return op->count * size <= SMALL_BYTES;
}

static void small_arrive(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info, void *arg)
{
	struct ucx_small *small = arg;

	(void)request;
	small->status = status;
	small->arrived = info->length;
	small->ready = true;
}

static int32_t small_peer(const struct ucx *ucx, const struct ucx_small *small)
{
	return ucx->team->rank ^ small->distance;
}

static int32_t small_exchange(struct ucx *ucx, struct ucx_small *small)
{
	int32_t peer = small_peer(ucx, small);
	uint64_t tag = ucx_collective_tag(small->id, (size_t)small->distance);
	ucp_tag_t expected = ucx_tag(peer, tag);
	ucs_status_ptr_t request;
	int32_t r;

	small->ready = false;
	/* the other rank waits for the send; nothing arrives before the next progress */
	r = ucx_send(ucx, peer, tag, small->own, small->length, &small->send);
	if (r < 0)
		return r;
	request = ucp_tag_recv_nbx(ucx->worker, small->spare, small->length, expected, UCX_TAG_WHOLE, &small->how);
	if (UCS_PTR_IS_ERR(request))
		return ucx_message_result(ucx, peer, UCS_PTR_STATUS(request), true);
	small->recv = request;
	return 0;
}

static void small_act(const struct ucx *ucx, struct ucx_small *small)
{
	bool lower = (ucx->team->rank & small->distance) == 0;

	if (small->count == 0)
		return;
	ucx->team->reduce(small->out, lower ? small->own : small->spare, lower ? small->spare : small->own, small->count,
	                  small->type, small->reduce);
	small->own = small->out;
}

/* What has come is good, and what was sent has gone. @return 0; RH_COMM_BUSY; RH_COMM_E* */
static int32_t small_look(struct ucx *ucx, struct ucx_small *small)
{
	int32_t r = 0;

	if (small->recv) {
		ucp_request_free(small->recv);
		small->recv = NULL;
		if (small->status != UCS_OK || small->arrived != small->length)
			return ucx_message_result(ucx, small_peer(ucx, small), small->status, small->arrived == small->length);
	}
	if (small->send)
		r = ucx_message_poll(ucx, small->send);
	if (r == 0)
		small->send = NULL;
	return r;
}

static int32_t small_step(struct ucx *ucx, struct ucx_small *small)
{
	while (small->ready) {
		int32_t r = small_look(ucx, small);

		if (r != 0)
			return r;
		small_act(ucx, small);
		small->distance *= 2;
		if (small->distance >= ucx->team->world) {
			if (small->count > 0 && small->reduce == RH_COMM_AVG)
				ucx->team->divide(small->out, small->count, small->type, ucx->team->world);
			return 0;
		}
		r = small_exchange(ucx, small);
		if (r < 0)
			return r;
	}
	return RH_COMM_BUSY;
}

static void small_free(struct ucx *ucx, struct ucx_small *small)
{
	small->next = ucx->smalls;
	ucx->smalls = small;
}

void ucx_small_drop(struct ucx *ucx, struct ucx_small *small)
{
	if (small->recv)
		ucp_request_free(small->recv);
	small->recv = NULL;
	small_free(ucx, small);
}

static struct ucx_small *small_new(struct ucx *ucx)
{
	struct ucx_small *small = ucx->smalls;

	if (small) {
		ucx->smalls = small->next;
		return small;
	}
	small = aligned_alloc(UCX_LINE, sizeof(*small) + SMALL_BYTES);
	if (!small)
		return NULL;
	small->kind = UCX_SMALL;
	small->recv = NULL;
	/* UCX 1.13 does not always report the length of a receive that completes at once */
	small->how = (ucp_request_param_t){.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL | UCP_OP_ATTR_FIELD_CALLBACK |
	                                                   UCP_OP_ATTR_FIELD_USER_DATA,
	                                   .cb.recv = small_arrive,
	                                   .user_data = small};
	small->made = ucx->smalls_made;
	ucx->smalls_made = small;
	return small;
}

int32_t ucx_small_post(struct ucx *ucx, const struct rh_comm_op *op, uint64_t id, void **ret_work)
{
	struct ucx_small *small = small_new(ucx);
	int32_t r;

	if (!small)
		return RH_COMM_ENOMEM;
	small->id = id;
	small->own = op->in;
	small->out = op->out;
	small->count = op->what == RH_COMM_BARRIER ? 0 : op->count;
	small->length = small->count * rh_comm_element_size(op->type);
	small->type = op->type;
	small->reduce = op->reduce;
	small->distance = 1;
	r = small_exchange(ucx, small);
	if (r < 0) {
		small_free(ucx, small);
		return r;
	}
	*ret_work = small;
	return 0;
}

int32_t ucx_small_test(struct ucx *ucx, struct ucx_small *small)
{
	for (int polls = ucx->team->crowded == 0 ? SMALL_POLLS : 1; polls > 0; polls--) {
		(void)ucp_worker_progress(ucx->worker);
		if (small->ready) {
			int32_t r = small_step(ucx, small);

			if (r != RH_COMM_BUSY)
				small_free(ucx, small);
			return r;
		}
	}
	return RH_COMM_BUSY;
}

void ucx_free_smalls(struct ucx *ucx)
{
	while (ucx->smalls_made) {
		struct ucx_small *small = ucx->smalls_made;

		ucx->smalls_made = small->made;
		free(small);
	}
}

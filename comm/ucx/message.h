/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ucx/message.h
 * @brief Point-to-point messages with tags. Functions return as those of struct rh_comm_backend do.
 */
#ifndef RH_COMM_UCX_MESSAGE_H
#define RH_COMM_UCX_MESSAGE_H

#include "comm/ucx/context.h"

/** A send, receive or flush that is not complete. */
struct ucx_work {
	enum ucx_kind kind;
	struct ucx_work *next;
	struct ucx_work **link; /**< the pointer to it */
	struct ucx_work *after; /**< the next send of the same all-reduce */
	void *request;          /**< of UCP; NULL: complete */
	ucp_tag_recv_info_t info;
	size_t length;
	int32_t peer;
	bool receives;
};

/** Bits of a tag that count: all. */
#define UCX_TAG_WHOLE UINT64_MAX

/** @return UCP's tag of a message from @p sender with the core's tag @p tag */
ucp_tag_t ucx_tag(int32_t sender, uint64_t tag);
/** @return the core's tag of message @p number of a collective */
static inline uint64_t ucx_collective_tag(uint64_t id, size_t number)
{
	return UINT64_C(1) << 63 | id << 24 | (number & ((UINT64_C(1) << 24) - 1));
}
/** Translate the status of a message, and report its error. @param fits it has the expected length. @return 0 or
 * RH_COMM_E* */
int32_t ucx_message_result(const struct ucx *ucx, int32_t peer, ucs_status_t status, bool fits);
/** @see struct rh_comm_backend.send */
int32_t ucx_send(void *self, int32_t peer, uint64_t tag, const void *data, size_t length, void **ret_work);
/** @see struct rh_comm_backend.recv */
int32_t ucx_recv(void *self, int32_t peer, uint64_t tag, void *data, size_t length, void **ret_work);
/** Check whether a message is complete, without making progress. @return as test() */
int32_t ucx_message_poll(struct ucx *ucx, struct ucx_work *work);
/** As ucx_message_poll(), and make progress. */
int32_t ucx_message_test(struct ucx *ucx, struct ucx_work *work);
/** @see struct rh_comm_backend.idle */
int32_t ucx_idle(void *self);
/** rh_comm_backend.find. UCX keeps what arrives before its receive, of any tag. */
int32_t ucx_find(void *self, int32_t first, uint64_t tag, int32_t *ret_peer);
/** Free one message. */
void ucx_message_free(struct ucx *ucx, struct ucx_work *work);
/** Free all messages. */
void ucx_messages_free(struct ucx *ucx);

#endif

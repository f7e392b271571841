/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/worker/messages/record.h
 * @brief What a plugin answers in a worker process, recorded there and replayed in the host.
 *
 * In the worker an operation runs with the same services as in the host; those that answer also write down what they
 * accepted. The host replays the record through the same services, with all their checks and limits.
 */
#ifndef RH_HOST_WORKER_MESSAGES_RECORD_H
#define RH_HOST_WORKER_MESSAGES_RECORD_H

#include "base/str.h"
#include "host/call/reply.h"
#include "host/worker/messages/wire.h"

/** A reply that is recorded. Plugins get a pointer to its first member. */
struct rh_recorder {
	struct rh_reply reply; /**< what the services of this process check and fill */
	struct rh_str *out;    /**< gets the record; borrowed */
};

/** How one call ended in the worker. Borrows from the message. */
struct rh_outcome {
	int32_t result;      /**< what the operation returned */
	int32_t status;      /**< rh_reply.status there */
	const char *message; /**< words of that status; NULL when it is 0 */
	bool looked;         /**< it looked at single replicas */
	bool no_memory;      /**< a text got no memory */
};

/** @return services for plugins of a worker: those that answer expect a struct rh_recorder; static storage */
const struct rh_services *rh_recorder_services(void);
/** Append how the call ended, behind its record. */
void rh_record_put_outcome(struct rh_str *out, const struct rh_outcome *outcome);
/**
 * Replay the record of one call, up to its outcome, into @p reply (NULL: skip it).
 * @param[out] ret_outcome how the call ended
 * @return 0, or RH_EPLUGIN when the message is malformed
 */
int rh_record_replay(struct rh_wire *wire, struct rh_reply *reply, struct rh_outcome *ret_outcome);

#endif

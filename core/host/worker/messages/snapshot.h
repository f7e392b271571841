/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/worker/messages/snapshot.h
 * @brief A snapshot of a job on its way to the worker process of a plugin.
 *
 * It has two parts. The job (its object, addresses and the plugin's settings) is sent when it differs from the last one
 * that was sent; the state (attempt, conditions, counts, pods) with each request.
 */
#ifndef RH_HOST_WORKER_MESSAGES_SNAPSHOT_H
#define RH_HOST_WORKER_MESSAGES_SNAPSHOT_H

#include "base/str.h"
#include "host/registry.h"
#include "host/worker/messages/wire.h"

/** Opaque: a snapshot that a worker read. */
struct rh_received;

/**
 * Append the kind, addresses and settings of @p snapshot's job, which the plugin of @p slot serves. The job's object
 * follows as a text.
 */
void rh_snapshot_put_context(struct rh_str *out, const struct rh_slot *slot, const struct rh_snapshot *snapshot);
/** Append its state. */
void rh_snapshot_put_state(struct rh_str *out, const struct rh_snapshot *snapshot);

/** @return an empty one for the plugin of @p slot (borrowed), or NULL when memory is out */
struct rh_received *rh_received_new(const struct rh_slot *slot);
/** Free it. NULL is nothing. */
void rh_received_free(struct rh_received *received);
/** Read what rh_snapshot_put_context() wrote, and the text of the job. @return 0, RH_ENOMEM, or RH_EINVAL (malformed)
 */
int rh_received_read_job(struct rh_received *received, struct rh_wire *wire);
/** Read what rh_snapshot_put_state() wrote about that job. @return as rh_received_read_job() */
int rh_received_read_state(struct rh_received *received, struct rh_wire *wire);
/** @return the snapshot, borrowed until the next read; looked is set to @p looked */
const struct rh_snapshot *rh_received_snapshot(struct rh_received *received, bool *looked);
/** @return a configuration that has the plugin's settings; borrowed */
const struct rh_config *rh_received_config(const struct rh_received *received);

#endif

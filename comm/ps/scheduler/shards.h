/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/scheduler/shards.h
 * @brief Which of the two servers of a shard is the primary, and whether the other one could take over. Pure.
 *
 * A shard is what one server number stands for: the values that its servers keep. The scheduler alone decides, so there
 * is one primary at a time: a primary does not answer without its backup before the scheduler has taken that backup out
 * of the choice, and a backup takes over only when it is in.
 */
#ifndef RH_COMM_PS_SCHEDULER_SHARDS_H
#define RH_COMM_PS_SCHEDULER_SHARDS_H

#include <stdbool.h>
#include <stdint.h>

/** Most servers of a shard. */
#define RH_PS_REPLICAS_MAX 2
/** No replica. */
#define RH_PS_NO_REPLICA (-1)

/** A shard. */
struct rh_ps_shard {
	int32_t primary;               /**< number of the replica; RH_PS_NO_REPLICA: none */
	int32_t ready;                 /**< the replica that has all values; RH_PS_NO_REPLICA: none */
	uint64_t term;                 /**< number of the latest decision */
	bool here[RH_PS_REPLICAS_MAX]; /**< it listens, and is connected to the scheduler */
	bool due;                      /**< the primary is to be informed of the decision */
};

/** A shard without servers. */
void rh_ps_shard_init(struct rh_ps_shard *shard);
/** A server of it has announced its address. */
void rh_ps_shard_come(struct rh_ps_shard *shard, int32_t replica);
/**
 * A server of it is gone. @param begun whether workers may have seen its values
 * @return whether another server is the primary now; false also when the values are lost, and then primary is
 * RH_PS_NO_REPLICA
 */
bool rh_ps_shard_lose(struct rh_ps_shard *shard, int32_t replica, bool begun);
/** A server reports that the other one has all values. @return whether that is new */
bool rh_ps_shard_sync(struct rh_ps_shard *shard, int32_t replica, uint64_t term);
/** A server reports that it has lost the other one. */
void rh_ps_shard_part(struct rh_ps_shard *shard, int32_t replica, uint64_t term);
/** @return the replica that the primary is to copy to; RH_PS_NO_REPLICA: none is there */
int32_t rh_ps_shard_peer(const struct rh_ps_shard *shard);

#endif

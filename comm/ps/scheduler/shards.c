/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/scheduler/shards.h"

void rh_ps_shard_init(struct rh_ps_shard *shard)
{
	*shard = (struct rh_ps_shard){.primary = RH_PS_NO_REPLICA, .ready = RH_PS_NO_REPLICA};
}

static int32_t shard_other(int32_t replica)
{
	return RH_PS_REPLICAS_MAX - 1 - replica;
}

/* The primary begins anew with a backup, or alone. */
static void shard_decide(struct rh_ps_shard *shard)
{
	shard->ready = RH_PS_NO_REPLICA;
	shard->term++;
	shard->due = shard->primary != RH_PS_NO_REPLICA;
}

void rh_ps_shard_come(struct rh_ps_shard *shard, int32_t replica)
{
	shard->here[replica] = true;
	if (shard->primary == RH_PS_NO_REPLICA)
		shard->primary = replica;
	shard_decide(shard);
}

bool rh_ps_shard_lose(struct rh_ps_shard *shard, int32_t replica, bool begun)
{
	int32_t heir = shard->ready;

	if (!shard->here[replica])
		return false;
	shard->here[replica] = false;
	if (replica != shard->primary) {
		shard_decide(shard);
		return false;
	}
	if (!begun && shard->here[shard_other(replica)])
		heir = shard_other(replica);
	shard->primary = heir;
	shard_decide(shard);
	return heir != RH_PS_NO_REPLICA;
}

static bool shard_is_current(const struct rh_ps_shard *shard, int32_t replica, uint64_t term)
{
	return replica == shard->primary && term == shard->term;
}

bool rh_ps_shard_sync(struct rh_ps_shard *shard, int32_t replica, uint64_t term)
{
	if (!shard_is_current(shard, replica, term) || !shard->here[shard_other(replica)])
		return false;
	shard->ready = shard_other(replica);
	return true;
}

void rh_ps_shard_part(struct rh_ps_shard *shard, int32_t replica, uint64_t term)
{
	if (shard_is_current(shard, replica, term))
		shard_decide(shard);
}

int32_t rh_ps_shard_peer(const struct rh_ps_shard *shard)
{
	int32_t other = shard->primary == RH_PS_NO_REPLICA ? RH_PS_NO_REPLICA : shard_other(shard->primary);

	return other != RH_PS_NO_REPLICA && shard->here[other] ? other : RH_PS_NO_REPLICA;
}

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/scheduler/slots.h
 * @brief State of a scheduler: the processes that it expects, which of them are there, and who serves what.
 */
#ifndef RH_COMM_PS_SCHEDULER_SLOTS_H
#define RH_COMM_PS_SCHEDULER_SLOTS_H

#include <poll.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "comm/ps/protocol/handshake.h"
#include "comm/ps/protocol/wire.h"
#include "comm/ps/scheduler/roles.h"
#include "comm/ps/scheduler/shards.h"

/** Room for the names of those who are waited for. */
#define RH_PS_NAMES_MAX 200

/** A server or a worker that is expected. */
struct rh_ps_slot {
	struct rh_ps_node *node;  /**< NULL: no process has it */
	bool taken;               /**< a process had it */
	bool left;                /**< in good order */
	int64_t lost;             /**< when its connection ended */
	struct rh_ps_place place; /**< of a server; port 0: not known yet */
};

/** Phase of a connection. */
enum rh_ps_node_phase {
	RH_PS_NODE_NEW,     /**< no record received */
	RH_PS_NODE_PROVING, /**< CHALLENGE is sent */
	RH_PS_NODE_ASSIGNED /**< it has a slot */
};

/** A connection. */
struct rh_ps_node {
	LIST_ENTRY(rh_ps_node) link;
	struct rh_ps_wire *wire;
	enum rh_ps_node_phase phase;
	bool broken;
	int64_t since;
	struct rh_ps_hello hello;
	uint8_t nonce[RH_PS_NONCE];
	struct rh_ps_slot *slot; /**< NULL: none, or another process has taken it */
	char host[RH_PS_HOST_MAX];
};

/** The scheduler. */
struct rh_ps_scheduler {
	struct rh_ps_scheduler_settings settings;
	char *secret;
	char *backend;
	uint8_t digest[RH_COMM_DIGEST];
	struct rh_ps_slot *servers; /**< those of replica 0 by number, then those of replica 1 */
	struct rh_ps_shard *shards; /**< by number; used with replicas only */
	struct rh_ps_slot *workers;
	struct pollfd *sets;
	size_t set_room;
	size_t node_count;
	int listener;
	int wake;
	_Atomic bool stop;
	bool complete; /**< all have been there at the same time */
	bool listed;   /**< workers have the addresses of the servers */
	int64_t until; /**< for all to come */
	struct rh_comm_error failed;
	LIST_HEAD(, rh_ps_node) nodes;
};

/** Send a record. @return false: the connection is broken */
bool rh_ps_node_send(struct rh_ps_node *node, const struct rh_ps_head *pattern, const void *payload, size_t length);
/** Send the reason, and close. */
void rh_ps_node_refuse(struct rh_ps_node *node, const struct rh_comm_error *reason);
/** @return slots of servers */
int32_t rh_ps_slots_servers(const struct rh_ps_scheduler *scheduler);
/** @return the slot for a process that greets; NULL: there is none */
struct rh_ps_slot *rh_ps_slots_find(const struct rh_ps_scheduler *scheduler, const struct rh_ps_hello *hello);
/** @return whether there is an address for each number of a server, and, at first, a backup for each that has all */
bool rh_ps_slots_are_placed(const struct rh_ps_scheduler *scheduler);
/** Send the addresses, once all are known. @param node NULL: to all */
void rh_ps_slots_send(struct rh_ps_scheduler *scheduler, struct rh_ps_node *node);
/** A server has announced its address, which its slot has. */
void rh_ps_slots_come(struct rh_ps_scheduler *scheduler, const struct rh_ps_slot *slot);
/** A server, or a worker, is gone without LEAVE. */
void rh_ps_slots_lose(struct rh_ps_scheduler *scheduler, const struct rh_ps_slot *slot);
/** A server reports about its backup. @param head SYNCED or ALONE */
void rh_ps_slots_report(struct rh_ps_scheduler *scheduler, const struct rh_ps_slot *slot,
                        const struct rh_ps_head *head);
/** Add the names of those that are not there to a text of RH_PS_NAMES_MAX. @return how many those are */
int32_t rh_ps_slots_list_missing(const struct rh_ps_scheduler *scheduler, char *names);
/** Fail when one has died and did not come back in time. */
void rh_ps_slots_check_lost(struct rh_ps_scheduler *scheduler, int64_t now);

#endif

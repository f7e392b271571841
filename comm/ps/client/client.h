/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/client/client.h
 * @brief What the files of the workers' side share: client.c is its interface, connect.c brings it there, link.c is the
 * way to one server.
 */
#ifndef RH_COMM_PS_CLIENT_CLIENT_H
#define RH_COMM_PS_CLIENT_CLIENT_H

#include <pthread.h>
#include <stdbool.h>

#include "comm/core/fork.h"
#include "comm/ps/options.h"
#include "comm/ps/protocol/fabric.h"
#include "comm/ps/protocol/handshake.h"
#include "comm/ps/protocol/wire.h"
#include "comm/ps/scheduler/join.h"
#include "roundhouse/ps.h"

/** One part of one operation. */
struct rh_ps_part {
	struct rh_ps_request *request;
	uint32_t kind; /**< RH_PS_REC_INIT … */
	uint32_t flags;
	uint64_t key;
	uint32_t number; /**< of the part */
	uint32_t bytes;
	int32_t type;
	uint32_t reserved;
	const uint8_t *in; /**< NULL: no payload */
	uint8_t *out;      /**< NULL: no value wanted */
	int64_t timeout;   /**< microseconds that the server may wait; negative: no limit */
};

/** Operations that were posted together. */
struct rh_ps_request {
	struct rh_ps *ps;
	int64_t deadline;         /**< when even the servers' own answers about time are overdue */
	size_t left;              /**< parts that are not done */
	double rate;              /**< payload of RATE */
	struct rh_comm_error err; /**< the first error */
	struct rh_ps_part parts[];
};

/** The way to one server. */
struct rh_ps_link {
	struct rh_ps *ps;
	int32_t index;
	int32_t port;
	char *host;
	struct rh_ps_wire *wire;   /**< NULL: the server is away */
	struct rh_ps_part **parts; /**< in flight, by number: a ring; NULL: done */
	size_t room;               /**< a power of two */
	uint64_t first;            /**< number of the first one in flight */
	uint64_t sent;             /**< number of the next one to send */
	uint64_t next;             /**< number of the next one to be posted */
	uint64_t counted;          /**< the last one that changed something and was answered for */
	uint64_t epoch;            /**< state of the server; 0: not known yet */
	bool durable;              /**< it has a folder */
	bool readable;
	int64_t heard; /**< when it said something, or was first asked for something */
	int64_t asked; /**< when it was asked whether it is there; 0: it has answered since */
	bool named;    /**< it has been called slow */
	int64_t lost;  /**< when it went away */
	int64_t call;  /**< when to call it again */
	int64_t pause;
};

/** A worker. */
struct rh_ps {
	struct rh_ps_settings settings;
	uint64_t session;
	uint8_t job[RH_COMM_DIGEST];
	struct rh_ps_fabric fabric;
	struct rh_ps_join *join; /**< NULL: there is no scheduler */
	int64_t spin;            /**< microseconds to look before sleeping */
	int32_t turns;           /**< in a row that something moved of which no descriptor tells */
	pthread_mutex_t lock;
	pthread_cond_t news;
	bool driven; /**< a thread sleeps on the descriptors for all */
	int bell;    /**< wakes that thread */
	struct rh_comm_fork_handler forking;
	bool forked;                /**< this process is a child of the one that has connected: all here is its parent's */
	struct rh_comm_error fatal; /**< why nothing works any more */
	int32_t link_count;
	struct rh_ps_link *links;
};

/** Free a worker, whatever it holds so far. Nothing is said to servers. */
void rh_ps_client_destroy(struct rh_ps *ps);
/** Take the address "host:port" apart. @return 0, RH_COMM_EINVAL or RH_COMM_ENOMEM */
int32_t rh_ps_link_init(struct rh_ps_link *link, struct rh_ps *ps, int32_t index, const char *address, size_t length);
/** Go on at another address. @return as rh_ps_link_init() */
int32_t rh_ps_link_move(struct rh_ps_link *link, const char *address, size_t length);
/** Free what it holds. */
void rh_ps_link_deinit(struct rh_ps_link *link);
/** Call the server and get to know it. Blocks until @p deadline at most. @return 0, RH_COMM_EIO: try again; RH_COMM_E*
 */
int32_t rh_ps_link_open(struct rh_ps_link *link, int64_t deadline, struct rh_comm_error *err);
/** Make room for @p count more parts in flight. @return 0 or RH_COMM_ENOMEM */
int32_t rh_ps_link_reserve(struct rh_ps_link *link, size_t count);
/** Put one in flight, for which there is room. */
void rh_ps_link_post(struct rh_ps_link *link, struct rh_ps_part *part);
/** Move on. @param look read also what only closing would tell. @return 0, or RH_COMM_E*: the server is lost for good
 */
int32_t rh_ps_link_progress(struct rh_ps_link *link, bool look, struct rh_comm_error *err);
/** Forget all that is in flight, and close. */
void rh_ps_link_close(struct rh_ps_link *link);

#endif

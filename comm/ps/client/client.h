/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/client/client.h
 * @brief A worker: client.c has its operations, connect.c connects it, link.c is the connection to one server.
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
	uint32_t width;    /**< elements of a row; 0: the value has none */
	const uint8_t *in; /**< NULL: no elements are sent */
	uint8_t *out;      /**< NULL: no value is requested */
	int64_t timeout;   /**< microseconds that the server may wait; negative: no limit */
	/** of a request that names rows: which of the value, the caller's */
	const uint64_t *index;
	size_t index_count;
	uint64_t base; /**< the first row of the part */
	uint32_t rows; /**< different ones that are named */
	uint32_t reserved;
};

/** Operations that were posted together. */
struct rh_ps_request {
	struct rh_ps *ps;
	int64_t deadline;         /**< when even the servers' timeout errors are overdue */
	size_t left;              /**< parts that are not done */
	double rate;              /**< payload of RATE */
	struct rh_comm_error err; /**< the first error */
	struct rh_ps_part parts[];
};

/** The connection to one server. */
struct rh_ps_link {
	struct rh_ps *ps;
	int32_t index;
	int32_t mode; /**< RH_PS_SYNC …, since the first connection */
	struct rh_ps_place place;
	struct rh_ps_wire *wire;   /**< NULL: not connected */
	struct rh_ps_part **parts; /**< in flight, by number: a ring; NULL: done */
	size_t room;               /**< a power of two */
	uint64_t first;            /**< number of the first one in flight */
	uint64_t sent;             /**< number of the next one to send */
	uint64_t next;             /**< number of the next one to be posted */
	uint64_t counted;          /**< the latest one that changed something and was answered */
	uint64_t epoch;            /**< state of the server; 0: not known yet */
	bool durable;              /**< it has a folder */
	bool readable;
	int64_t last_received; /**< when its latest record arrived, or the first request was sent */
	int64_t asked;         /**< when the unanswered PING was sent; 0: none */
	bool named;            /**< a warning that it is slow was printed */
	int64_t lost;          /**< when the connection was lost */
	int64_t call;          /**< when to reconnect */
	int64_t pause;
};

/** A worker. */
struct rh_ps {
	struct rh_ps_settings settings;
	uint64_t session;
	uint8_t job[RH_COMM_DIGEST];
	struct rh_ps_fabric fabric;
	struct rh_ps_join *join; /**< NULL: no scheduler */
	int64_t spin;            /**< microseconds of spinning before sleeping */
	int32_t turns;           /**< turns in a row with progress that no descriptor signals */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool driven; /**< a thread sleeps on the descriptors for all */
	int wake;    /**< eventfd that wakes that thread */
	struct rh_comm_fork_handler forking;
	bool forked;                /**< this process is a forked child: everything here belongs to its parent */
	struct rh_comm_error fatal; /**< the error that ended the worker */
	int32_t link_count;
	struct rh_ps_link *links;
};

/** Free a worker in any state. Servers are not notified. */
void rh_ps_client_destroy(struct rh_ps *ps);
/** Begin with a server that is not called yet, at @p place, which is copied. */
void rh_ps_link_init(struct rh_ps_link *link, struct rh_ps *ps, int32_t index, const struct rh_ps_place *place);
/** Free what it holds. */
void rh_ps_link_deinit(struct rh_ps_link *link);
/** Connect and perform the handshake. Blocks until @p deadline at most. @return 0, RH_COMM_EIO: try again; RH_COMM_E*
 */
int32_t rh_ps_link_open(struct rh_ps_link *link, int64_t deadline, struct rh_comm_error *err);
/** Take the servers' addresses that the scheduler has sent since. @return 0; RH_COMM_E*: why it has given the job up */
int32_t rh_ps_link_follow(struct rh_ps *ps, struct rh_comm_error *err);
/** Make room for @p count more parts in flight. @return 0 or RH_COMM_ENOMEM */
int32_t rh_ps_link_reserve(struct rh_ps_link *link, size_t count);
/** Post a part, for which there is room. */
void rh_ps_link_post(struct rh_ps_link *link, struct rh_ps_part *part);
/** Make progress. @param look read, too, what only reveals a closed connection. @return 0, or RH_COMM_E*: the server is
 * lost for good
 */
int32_t rh_ps_link_progress(struct rh_ps_link *link, bool look, struct rh_comm_error *err);
/** Drop all parts in flight, and close. */
void rh_ps_link_close(struct rh_ps_link *link);

#endif

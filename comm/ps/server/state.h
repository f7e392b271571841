/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/server/state.h
 * @brief State of a server and its connections. One thread uses it.
 *
 * server.c starts it and runs the loop, connections.c reads records, attach.c switches to another transport, requests.c
 * executes requests, answers.c sends the answers, waiters.c checks requests that wait.
 */
#ifndef RH_COMM_PS_SERVER_STATE_H
#define RH_COMM_PS_SERVER_STATE_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "comm/ps/protocol/fabric.h"
#include "comm/ps/protocol/handshake.h"
#include "comm/ps/protocol/wire.h"
#include "comm/ps/scheduler/join.h"
#include "comm/ps/scheduler/launch.h"
#include "comm/ps/server/durable/journal.h"
#include "comm/ps/server/replica/backup.h"
#include "comm/ps/server/replica/copy.h"
#include "comm/ps/server/store.h"
#include "roundhouse/ps.h"

/** Phase of a connection. */
enum rh_ps_phase {
	RH_PS_NEW,     /**< no record received */
	RH_PS_PROVING, /**< CHALLENGE is sent */
	RH_PS_ON,      /**< it belongs to a worker */
	RH_PS_SOURCE,  /**< it belongs to the primary, of which this is the backup */
	RH_PS_GONE     /**< to be closed */
};

/** An answer that waits for room in the wire. */
struct rh_ps_answer {
	STAILQ_ENTRY(rh_ps_answer) link;
	struct rh_ps_head head;
	struct rh_ps_entry *entry; /**< the value is its; NULL: none */
	struct rh_ps_entry *held;  /**< the same, when its hold counts this answer; else NULL */
	uint32_t row_count;        /**< rows of the value that are sent */
	uint8_t *index;            /**< owned; their indices; NULL: all of the value is sent */
};

/** Most marks of a connection. */
#define RH_PS_MARKS 8

/** What was added to a wire up to a position depends on what the backup has to acknowledge first. */
struct rh_ps_mark {
	uint64_t position; /**< rh_ps_wire_added() */
	uint64_t count;    /**< rh_ps_copy_sent() */
};

/** A backend that is being opened; attach.c's. */
struct rh_ps_opening;

/** A connection. */
struct rh_ps_conn {
	LIST_ENTRY(rh_ps_conn) link;
	struct rh_ps_wire *wire;
	enum rh_ps_phase phase;
	bool local;    /**< it came over the local socket */
	bool readable; /**< the descriptor is */
	bool broken;   /**< closed by the other end; what has arrived is still handled */
	uint32_t events;
	int32_t worker; /**< -1: not known */
	int64_t since;
	uint64_t ticket;    /**< for ATTACH, of this first connection; 0: none is accepted */
	uint64_t attaching; /**< this is a second connection: the ticket of the first one; 0: it is a first one */
	struct rh_ps_hello hello;
	uint8_t nonce[RH_PS_NONCE];
	struct rh_ps_opening *opening;       /**< NULL: none; else a thread owns the wire */
	STAILQ_HEAD(, rh_ps_answer) answers; /**< not empty: nothing more is read */
	struct rh_ps_mark marks[RH_PS_MARKS];
	int32_t mark_count;
	uint64_t released; /**< position up to which answers may be published */
};

/** A request that waits for an entry. */
struct rh_ps_waiter {
	LIST_ENTRY(rh_ps_waiter) of_entry;
	LIST_ENTRY(rh_ps_waiter) of_server;
	struct rh_ps_conn *conn;
	struct rh_ps_entry *entry;
	struct rh_ps_head head;
	uint8_t *index;  /**< owned; of head.rows rows; NULL: it names none */
	uint64_t pushed; /**< pushes of its own before it */
	int64_t since;
	int64_t deadline; /**< RH_COMM_NEVER: none */
};

/** The connection of a worker. */
struct rh_ps_peer {
	struct rh_ps_conn *conn; /**< NULL: none */
	int64_t lost;            /**< when it was lost; 0: it is connected, or never was */
	int64_t last_received;   /**< when its latest record arrived */
	bool named;              /**< a warning that it is slow was printed since then */
};

/** The server. */
struct rh_ps_server {
	struct rh_ps_store *store;
	struct rh_ps_journal *journal; /**< NULL: not durable */
	struct rh_ps_peer *peers;
	char *secret;
	uint8_t job[RH_COMM_DIGEST];
	int64_t grace;
	int64_t return_timeout; /**< how long all workers may be absent before it ends, microseconds */
	int64_t since;          /**< when it began to serve, microseconds */
	int64_t death_timeout;
	int64_t slow; /**< microseconds until a warning names a slow worker; RH_COMM_NEVER: no warnings */
	struct rh_ps_fabric fabric;
	struct rh_ps_launch launch; /**< of its start */
	struct rh_ps_join *join;    /**< NULL: no scheduler, or no longer connected */
	struct rh_ps_copy *copy;    /**< NULL: no replicas */
	bool is_backup;             /**< with replicas: the scheduler has not made it the primary */
	struct rh_ps_backup backup; /**< while it is a backup */
	struct rh_ps_conn *source;  /**< the primary's connection; NULL: none */
	char backend[RH_PS_BACKEND_MAX];
	int32_t openings; /**< connections whose backend is being opened */
	int32_t turns;    /**< turns in a row with progress that no descriptor signals */
	int32_t port;
	int listener;
	int local;
	char local_name[RH_PS_LOCAL_NAME];
	int poller;
	int wake;
	_Atomic bool stop;
	struct rh_comm_error failed; /**< why it ended */
	LIST_HEAD(, rh_ps_conn) conns;
	LIST_HEAD(, rh_ps_waiter) waiters;
};

/** Record why the server ends; the first reason stays. @return reason->code */
static inline int32_t rh_ps_server_fail(struct rh_ps_server *server, const struct rh_comm_error *reason)
{
	if (server->failed.code == 0)
		server->failed = *reason;
	return reason->code;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/server/server.h
 * @brief What the files of the server share.
 *
 * server.c starts it and turns the loop, connections.c talks, attach.c changes over to what carries the data,
 * requests.c does what is asked for, waiters.c watches who waits for whom.
 */
#ifndef RH_COMM_PS_SERVER_SERVER_H
#define RH_COMM_PS_SERVER_SERVER_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "comm/ps/protocol/hello.h"
#include "comm/ps/protocol/meet.h"
#include "comm/ps/protocol/wire.h"
#include "comm/ps/scheduler/join.h"
#include "comm/ps/scheduler/launch.h"
#include "comm/ps/server/journal.h"
#include "comm/ps/server/store.h"
#include "roundhouse/ps.h"

/** How far a connection is. */
enum rh_ps_phase {
	RH_PS_NEW,     /**< nobody has said anything */
	RH_PS_PROVING, /**< it has been asked for a proof */
	RH_PS_ON,      /**< it is a worker's */
	RH_PS_GONE     /**< to be closed */
};

/** An answer for which there was no room. */
struct rh_ps_answer {
	STAILQ_ENTRY(rh_ps_answer) link;
	struct rh_ps_head head;
	struct rh_ps_entry *entry; /**< the value is its; NULL: none */
	struct rh_ps_entry *held;  /**< the same, when its hold counts this answer; else NULL */
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
	bool broken;   /**< the other end has closed; what is there is still looked at */
	uint32_t events;
	int32_t worker; /**< -1: not known */
	int64_t since;
	uint64_t ticket;
	struct rh_ps_hello hello;
	uint8_t nonce[RH_PS_NONCE];
	struct rh_ps_opening *opening;       /**< NULL: none; else nothing else of the connection is to be touched */
	STAILQ_HEAD(, rh_ps_answer) answers; /**< not empty: nothing more is read */
};

/** Somebody who waits for an entry. */
struct rh_ps_waiter {
	LIST_ENTRY(rh_ps_waiter) of_entry;
	LIST_ENTRY(rh_ps_waiter) of_server;
	struct rh_ps_conn *conn;
	struct rh_ps_entry *entry;
	struct rh_ps_head head;
	uint64_t pushed; /**< pushes of its own before it */
	int64_t since;
	int64_t deadline; /**< RH_COMM_NEVER: none */
};

/** Where a worker is. */
struct rh_ps_peer {
	struct rh_ps_conn *conn; /**< NULL: nowhere */
	int64_t lost;            /**< since when; 0: it is here, or was never */
	int64_t heard;           /**< when it said something */
	bool named;              /**< it has been called slow since then */
};

/** The server. */
struct rh_ps_server {
	struct rh_ps_store *store;
	struct rh_ps_journal *journal; /**< NULL: nothing is kept */
	struct rh_ps_peer *peers;
	char *secret;
	uint8_t job[RH_COMM_DIGEST];
	int64_t grace;
	int64_t return_timeout; /**< that all workers may be away before it ends */
	int64_t since;          /**< when it began to serve */
	int64_t death_timeout;
	int64_t slow; /**< after which who is waited for is named; RH_COMM_NEVER: nobody is */
	struct rh_ps_fabric fabric;
	struct rh_ps_launch launch; /**< while it starts */
	struct rh_ps_join *join;    /**< NULL: there is no scheduler, or it is gone */
	char backend[RH_PS_BACKEND_MAX];
	int32_t openings; /**< connections whose backend is being opened */
	int32_t turns;    /**< in a row that something moved of which no descriptor tells */
	int32_t port;
	int listener;
	int local;
	char local_name[RH_PS_LOCAL_NAME];
	int poller;
	int wake;
	_Atomic bool stop;
	struct rh_comm_error failed; /**< why it cannot go on */
	LIST_HEAD(, rh_ps_conn) conns;
	LIST_HEAD(, rh_ps_waiter) waiters;
};

/** @name connections.c @{ */
/** Accept what comes. */
void rh_ps_conn_accept(struct rh_ps_server *server, bool local);
/** Read and do what has come, some of it. @return whether there is more */
bool rh_ps_conn_serve(struct rh_ps_server *server, struct rh_ps_conn *conn);
/** Let the other side see what was answered, and wait for the right things. */
void rh_ps_conn_flush(struct rh_ps_server *server, struct rh_ps_conn *conn);
/** The worker is no longer here. */
void rh_ps_conn_lose(struct rh_ps_server *server, struct rh_ps_conn *conn);
/** Free it. */
void rh_ps_conn_free(struct rh_ps_server *server, struct rh_ps_conn *conn);
/**
 * Answer a request. @param entry whose value is to be sent; NULL: none. The value is sent as it is now
 */
void rh_ps_conn_answer(struct rh_ps_server *server, struct rh_ps_conn *conn, const struct rh_ps_head *request,
                       struct rh_ps_entry *entry);
/** Answer a request with an error. */
void rh_ps_conn_refuse(struct rh_ps_server *server, struct rh_ps_conn *conn, const struct rh_ps_head *request,
                       const struct rh_comm_error *reason);
/** @} */

/** @name attach.c @{ */
/** A worker that is known has come over another connection: from now on that one is its own. Drops the record. */
void rh_ps_conn_attach(struct rh_ps_server *server, struct rh_ps_conn *conn, const struct rh_ps_head *head);
/** A worker wants to open the backend: begin. Drops the record. */
void rh_ps_conn_meet(struct rh_ps_server *server, struct rh_ps_conn *conn, const struct rh_ps_head *head,
                     const uint8_t *payload);
/** @return whether a thread has the connection */
bool rh_ps_conn_is_meeting(const struct rh_ps_conn *conn);
/** Give up opening. Blocks while the backend does, some seconds at most. */
void rh_ps_conn_stop_meeting(struct rh_ps_server *server, struct rh_ps_conn *conn);
/** Go on with connections whose backend is open. */
void rh_ps_conn_adopt(struct rh_ps_server *server);
/** @} */

/** @name requests.c @{ */
/** Take a record that changes something: into the log, then into the store. @return 0, or RH_COMM_E*: the end */
int32_t rh_ps_server_take(struct rh_ps_server *server, const struct rh_ps_head *head, const uint8_t *payload,
                          struct rh_ps_entry **ret_entry);
/** Do what a worker asks for. @return whether it was a request */
bool rh_ps_server_request(struct rh_ps_server *server, struct rh_ps_conn *conn, struct rh_ps_head *head,
                          const uint8_t *payload);
/** Apply rounds, and answer who waited for them. */
void rh_ps_server_settle(struct rh_ps_server *server, struct rh_ps_entry *entry);
/** Nobody waits over this connection any more. */
void rh_ps_server_forget(struct rh_ps_server *server, const struct rh_ps_conn *conn);
/** @} */

/** @name waiters.c @{ */
/** Free one. */
void rh_ps_waiter_free(struct rh_ps_waiter *waiter);
/** End waiting that has become too long, or is for somebody who is gone, and name who is slow; end when all are gone.
 */
void rh_ps_server_tick(struct rh_ps_server *server, int64_t now);
/** @} */

/** Remember why the server cannot go on; the first reason stays. @return @p code */
int32_t rh_ps_server_fail(struct rh_ps_server *server, const struct rh_comm_error *reason);

#endif

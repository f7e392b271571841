/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/server_peers.h
 * @brief State of the rendezvous server, and the functions on connections that its files share. All of it belongs to
 * the server's thread.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_SERVER_PEERS_H
#define RH_COMM_CORE_BOOTSTRAP_SERVER_PEERS_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>

#include "comm/core/bootstrap/protocol/frame.h"
#include "comm/core/bootstrap/server.h"

/** Stage of a connection. */
enum server_stage { SERVER_HELLO, SERVER_PROOF, SERVER_MEMBER, SERVER_LEFT, SERVER_REFUSED };

/** The latest warning about a rank that others wait for. */
struct server_warned {
	int64_t at;      /**< when; 0: never */
	int64_t waiting; /**< microseconds that the wait had taken then */
	bool silent;     /**< it called the rank stopped */
};

/** A connection. */
struct server_peer {
	int fd;
	enum server_stage stage;
	struct rh_comm_hello hello;
	uint8_t nonce[RH_COMM_NONCE];
	struct rh_comm_buffer in;
	struct rh_comm_buffer out;
	struct rh_comm_beat beat;
	struct rh_comm_beat stalled; /**< its heartbeat when a stall was reported for it */
	struct rh_comm_answer answer;
	int64_t answered; /**< when the answer arrived; 0: never */
	int64_t since;    /**< of the connection, then of the last heartbeat */
	struct server_warned warned;
	struct rh_comm_pace_history *pace; /**< NULL: it has reported none; owned */
	char address[64];
};

/** A value that a rank has put. */
struct server_value {
	char *key;
	void *data;
	size_t length;
};

/** A get that waits for its value. */
struct server_get {
	char *key;
	int32_t rank;
	uint64_t number;
};

/** A rank that has left a group. */
struct server_gone {
	struct rh_comm_gone what;
	int32_t rank;
	int64_t since;
};

/** An inquiry: the ranks are queried for their progress. */
struct server_inquiry {
	struct rh_comm_end end; /**< sent to all ranks at the end of the inquiry; code 0: only if the ranks have diverged */
	bool report;            /**< nothing ends: print who is waited for */
	int64_t waiting;        /**< of a report: microseconds that the wait has taken */
	int32_t *ranks;         /**< the ranks that are queried; NULL: all */
	int32_t count;
	struct server_peer **peers; /**< by rank; NULL: not connected */
	int64_t since;              /**< when it began; 0: none is open */
	int64_t asked;              /**< when the latest query was sent */
};

/** The latest collective that opened an inquiry because a rank has waited long for it. */
struct server_watch {
	uint64_t group;
	uint64_t number;
	int64_t waiting; /**< microseconds of waiting after which the next inquiry opens */
	int64_t next;    /**< time before which no inquiry opens */
};

/** What the ranks' waits say of their pace. */
struct server_pace {
	struct rh_comm_pace found; /**< the rank in it stays until it has come in time for a while */
	bool fresh;                /**< a rank has reported since the latest judgement */
	int64_t judged;            /**< when that was */
	int32_t quiet;             /**< judgements in a row that named nobody, or another rank */
};

/** The rendezvous server. */
struct rh_comm_server {
	pthread_t thread;
	pthread_mutex_t lock; /**< held by the thread except while it polls; fork() takes it */
	int listener;
	bool full; /**< no descriptor was free: no connection is accepted until the next tick */
	int wake;
	int32_t world;
	int32_t port;
	char host[64];
	uint8_t job[RH_COMM_DIGEST];
	char *secret;
	int64_t death_timeout;
	bool log;
	struct server_peer **peers;
	struct pollfd *set; /**< for poll() */
	size_t peer_count;
	struct server_value *values;
	size_t value_count;
	struct server_get *gets;
	size_t get_count;
	struct server_gone *gone; /**< of groups that still have members */
	size_t gone_count;
	int32_t left;
	bool over;
	int64_t slow;                  /**< microseconds after which a rank is called slow */
	struct server_inquiry inquiry; /**< the open one */
	struct server_watch watch;
	struct server_pace pace;
};

/**
 * Make room for one more item of an array of @p count items, which grows by doubling.
 * @return the array; NULL: out of memory, and the old one is unchanged
 */
void *rh_comm_server_grow(void *items, size_t count, size_t size);
/** @return whether the peer has completed the handshake */
bool rh_comm_server_is_rank(const struct server_peer *peer);
/** @return whether nothing has come from the rank for so long that it is stopped or throttled; its host answers */
bool rh_comm_server_is_silent(const struct server_peer *peer, int64_t now);
/**
 * Whoever waits for a rank, and in whichever operation, one warning is enough: the next one is about a wait that began
 * after it, or is twice as long, or says that the rank is stopped.
 * @return whether @p warning about @p peer is due; then it is noted as its latest
 */
bool rh_comm_server_warns(struct server_peer *peer, const struct server_warned *warning);
/** @return the connection of a rank, or NULL */
struct server_peer *rh_comm_server_find(const struct rh_comm_server *server, int32_t rank);
/** Queue a frame: @p head, then @p data, each of which may be empty. Without memory the connection is closed. */
void rh_comm_server_send(struct server_peer *peer, uint32_t kind, const void *head, size_t head_length,
                         const void *data, size_t length);
/** Queue a frame for all ranks. */
void rh_comm_server_broadcast(struct rh_comm_server *server, uint32_t kind, const void *data, size_t length);
/** End the world: send the reason to all ranks. Only the first call has an effect. */
void rh_comm_server_end(struct rh_comm_server *server, const struct rh_comm_end *end);

#endif

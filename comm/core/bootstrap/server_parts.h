/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/server_parts.h
 * @brief What the files of the hub share. All of it is the hub's thread's.
 *
 * hub.c moves bytes, server_greet.c lets ranks in, server_store.c keeps values, server_judge.c finds out who is dead,
 * slow or gone, server_case.c who is behind or at odds with the others.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_SERVER_PARTS_H
#define RH_COMM_CORE_BOOTSTRAP_SERVER_PARTS_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>

#include "comm/core/bootstrap/frame.h"
#include "comm/core/bootstrap/server.h"

/** How far a connection is. */
enum server_stage { SERVER_HELLO, SERVER_PROOF, SERVER_MEMBER, SERVER_LEFT, SERVER_REFUSED };

/** A connection. */
struct server_peer {
	int fd;
	enum server_stage stage;
	struct rh_comm_hello hello;
	uint8_t nonce[RH_COMM_NONCE];
	struct rh_comm_buffer in;
	struct rh_comm_buffer out;
	struct rh_comm_beat beat;
	struct rh_comm_answer answer;
	int64_t answered;   /**< when that was; 0: never */
	int64_t since;      /**< of the connection, then of the last heartbeat */
	uint64_t warned;    /**< the operation for which it was called slow, as operations are counted */
	bool called_silent; /**< and that it was called stopped then */
	char address[64];
};

/** What a rank has put. */
struct server_value {
	char *key;
	void *data;
	size_t length;
};

/** Who waits for a value. */
struct server_wish {
	char *key;
	int32_t rank;
	uint64_t number;
};

/** Who has left a group. */
struct server_gone {
	struct rh_comm_gone what;
	int32_t rank;
	int64_t since;
};

/** What all are asked about. */
struct server_about {
	struct rh_comm_end end; /**< to be said once all have answered; code 0: nothing, unless they are at odds */
	int32_t *ranks;         /**< who is concerned; NULL: all */
	int32_t count;
	struct server_peer **peers; /**< by rank; NULL: there is none, or it is not known yet */
	int64_t since;              /**< 0: nobody is asked */
	int64_t asked;              /**< the last time */
};

/** The last collective that somebody had waited for so long that all were asked about it. */
struct server_watch {
	uint64_t group;
	uint64_t number;
	int64_t waiting; /**< when it has been waited for so long, all are asked again */
	int64_t next;    /**< nobody is asked about any before that */
};

/** The hub. */
struct rh_comm_server {
	pthread_t thread;
	pthread_mutex_t lock; /**< held by the thread but while it waits, for fork() */
	int listener;
	bool full; /**< no descriptor was free for who calls: nobody is let in until the next tick */
	int wake;
	int32_t world;
	int32_t port;
	char host[64];
	uint8_t job[RH_COMM_DIGEST];
	char *secret;
	int64_t death_timeout;
	bool log;
	struct server_peer **peers;
	struct pollfd *set; /**< what is waited for */
	size_t peer_count;
	struct server_value *values;
	size_t value_count;
	struct server_wish *wishes;
	size_t wish_count;
	struct server_gone *gone; /**< of groups that some rank is still in */
	size_t gone_count;
	int32_t left;
	bool over;
	int64_t slow;              /**< microseconds after which a rank is called slow */
	struct server_about about; /**< what all are asked about now */
	struct server_watch watch;
};

/** @return room for one more item of an array that grows by doubling, when @p count is a power of two; NULL: no memory
 */
void *rh_comm_server_grow(void *items, size_t count, size_t size);
/** @return whether it has shown that it is a rank */
bool rh_comm_server_is_rank(const struct server_peer *peer);
/** @return the connection of a rank, or NULL */
struct server_peer *rh_comm_server_find(const struct rh_comm_server *server, int32_t rank);
/** Queue a frame. */
void rh_comm_server_send(struct server_peer *peer, uint32_t kind, const void *head, size_t head_length,
                         const void *data, size_t length);
/** Queue a frame for all ranks. */
void rh_comm_server_broadcast(struct rh_comm_server *server, uint32_t kind, const void *data, size_t length);

/** @name server_greet.c @{ */
/** Take what came from a connection that is no rank yet. */
void rh_comm_server_greet(struct rh_comm_server *server, struct server_peer *peer, uint32_t kind,
                          const uint8_t *payload, size_t length);
/** @} */

/** @name server_store.c @{ */
/** A rank puts a value; the first one of a key stays. */
void rh_comm_server_on_put(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                           size_t length);
/** A rank wants a value, now or when it comes. */
void rh_comm_server_on_get(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                           size_t length);
/** Forget all. */
void rh_comm_server_store_deinit(struct rh_comm_server *server);
/** @} */

/** @name server_judge.c @{ */
/** A rank says how it does. */
void rh_comm_server_on_beat(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                            size_t length);
/** The world is over: tell it once. */
void rh_comm_server_end(struct rh_comm_server *server, const struct rh_comm_end *end);
/** A rank goes. */
void rh_comm_server_on_leave(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                             size_t length);
/** A rank has left a group. */
void rh_comm_server_on_gone(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                            size_t length);
/** A connection is lost: @p number is errno, or 0 when it was closed. A rank that had not said LEAVE is dead. */
void rh_comm_server_lose(struct rh_comm_server *server, struct server_peer *peer, int number);
/** Look who waits for whom: name the slow, end the world for who will never come. */
void rh_comm_server_judge(struct rh_comm_server *server, int64_t now);
/** @} */

/** @name server_case.c @{ */
/** A rank wants everything to end, at once or after all were asked. */
void rh_comm_server_on_end(struct rh_comm_server *server, const struct server_peer *peer, const uint8_t *payload,
                           size_t length);
/** A rank says how far it is, and with what. */
void rh_comm_server_on_answer(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                              size_t length);
/** A heartbeat has come: ask all when its rank has waited for long. */
void rh_comm_server_watch(struct rh_comm_server *server, const struct server_peer *peer, int64_t now);
/** Give the verdict when all have answered, or had the time to. */
void rh_comm_server_judge_case(struct rh_comm_server *server, int64_t now);
/** Forget it. */
void rh_comm_server_case_deinit(struct rh_comm_server *server);
/** @} */

#endif

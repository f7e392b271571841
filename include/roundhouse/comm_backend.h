/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file roundhouse/comm_backend.h
 * @brief The ABI between rh_comm and one backend: what moves bytes between ranks.
 *
 * A backend is a shared object librhcomm_NAME.so that exports rh_comm_backend_entry_v0() and links nothing of rh_comm.
 * It needs send, recv, test and abort; every collective that it does not do itself the core makes of those. Liveness,
 * time limits, fusion and the parameter server are the core's.
 *
 * Threads: the core calls one context from one thread at a time, not always the same one; abort() may come from another
 * one beside any call. No call but open(), close() and pause() blocks.
 */
#ifndef ROUNDHOUSE_COMM_BACKEND_H
#define ROUNDHOUSE_COMM_BACKEND_H

#include "roundhouse/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Breaking level; part of the entry symbol's name. */
#define RH_COMM_BACKEND_MAJOR 0
/** Growth level; in major 0, library and backend must agree on it. */
#define RH_COMM_BACKEND_MINOR 6
/** Who defines this ABI. */
#define RH_COMM_BACKEND_VENDOR "roundhouse"

/** First bytes of every struct that crosses the border. */
struct rh_comm_head {
	uint32_t size;   /**< sizeof the struct where it was compiled */
	uint16_t major;  /**< RH_COMM_BACKEND_MAJOR there */
	uint16_t minor;  /**< RH_COMM_BACKEND_MINOR there */
	char vendor[16]; /**< RH_COMM_BACKEND_VENDOR there, zero-padded */
};

/** Fills the head of a struct of type @p T. */
#define RH_COMM_HEAD(T)                                                                           \
	{                                                                                             \
		(uint32_t)sizeof(T), RH_COMM_BACKEND_MAJOR, RH_COMM_BACKEND_MINOR, RH_COMM_BACKEND_VENDOR \
	}

/** @name Kinds of memory, as bits @{ */
#define RH_COMM_MEMORY_HOST UINT32_C(1)
#define RH_COMM_MEMORY_CUDA UINT32_C(2)
/** @} */

/** What the core gives to a backend's context. Valid until close(). */
struct rh_comm_team {
	struct rh_comm_head head; /**< RH_COMM_HEAD(struct rh_comm_team) */
	int32_t rank;             /**< ours */
	int32_t world;            /**< number of ranks */
	int32_t local_rank;       /**< our place among the ranks that share memory with us */
	int32_t local_world;      /**< how many those are */
	const int32_t *hosts;     /**< for each rank the number of its host, 0 …: equal numbers share memory */
	int64_t deadline;         /**< CLOCK_MONOTONIC microseconds by which open() must be done */
	int64_t death_timeout;    /**< microseconds of silence after which a host counts as lost */
	const char *address;      /**< of this rank, for its peers: a name or an IP address */
	void *core;               /**< for the functions below */
	/** Publish @p value under @p key for all ranks of the team. @return 0 or RH_COMM_E* */
	int32_t (*put)(void *core, const char *key, const void *value, size_t length);
	/** Wait for what a rank put there, at most until the deadline. @return its length; RH_COMM_E* */
	int64_t (*get)(void *core, const char *key, void *value, size_t room);
	/** Read a setting: RH_COMM_<NAME>_<key> or configuration. @return borrowed, or NULL */
	const char *(*setting)(void *core, const char *key);
	/**
	 * Say how open() or an operation failed. @param rank of the team, at fault; or RH_COMM_NO_RANK. @param text names
	 * no rank: the core says which one it is in the world, and in which group. @return @p code
	 */
	int32_t (*fail)(void *core, int32_t code, int32_t rank, const char *text);
	/** out[i] = a[i] op b[i]; out may be a or b. AVG is SUM here: who has the total divides it. */
	void (*reduce)(void *out, const void *a, const void *b, size_t count, int32_t type, int32_t reduce);
	/** Divide each element, which is how AVG ends. */
	void (*divide)(void *data, size_t count, int32_t type, int32_t divisor);
	/**
	 * What RH_COMM_TUNE says of a collective of @p bytes, the same on every rank.
	 * @param[out] ret_algorithm a name, or NULL: no preference @param[out] ret_chunk bytes; 0: no preference
	 */
	void (*tuned)(void *core, int32_t what, size_t bytes, const char **ret_algorithm, size_t *ret_chunk);
	int32_t crowded; /**< ranks of this machine outnumber its processors: spinning takes time from who works */
	/** Is there still a world to connect to? open() asks while it waits. Quick. @return 0, or what ended it */
	int32_t (*check)(void *core);
};

/**
 * @return bytes of one element of @p type, RH_COMM_F32 …; 0: it is none, or one that this header does not have yet.
 * collective() refuses such a type by RH_COMM_ENOTSUP, and the core does the operation.
 */
static inline size_t rh_comm_element_size(int32_t type)
{
	static const uint8_t sizes[] = {0, 4, 8, 2, 2, 1, 4, 8, 1, 2, 2, 4, 8, 1, 1};

	return type >= RH_COMM_F32 && type <= RH_COMM_F8_E5M2 ? sizes[type] : 0;
}

/** A backend. Append only; a NULL operation is one that it leaves to the core. */
struct rh_comm_backend {
	struct rh_comm_head head; /**< RH_COMM_HEAD(struct rh_comm_backend) */
	const char *name;         /**< "ucx" */
	const char *release;      /**< of the backend and of what it wraps, for people */
	uint32_t memories;        /**< RH_COMM_MEMORY_* that it moves by itself */
	int32_t score;            /**< for "auto": the highest that probe() of every rank lets pass wins; native has 50 */
	/**
	 * Can it work here? Quick, without side effects, never aborts the process.
	 * @param[out] why one line when not. @return 0 or RH_COMM_ENOTSUP
	 */
	int32_t (*probe)(int32_t rank, int32_t world, char *why, size_t room);
	/** Connect to all ranks of the team. May block until the deadline. @return 0 or RH_COMM_E* */
	int32_t (*open)(const struct rh_comm_team *team, void **ret_self);
	/** Free everything; no operation is in flight, or abort() was called. */
	void (*close)(void *self);
	/**
	 * Post a send of @p length bytes. A tag's highest bit says collective: then 39 bits are the low ones of its id and
	 * the low 24 of its block, of which a backend with narrower tags may drop high ones; else the low 32 are the user's
	 * tag.
	 * @return 0 and *@p ret_work (NULL: it is done already); RH_COMM_E*
	 */
	int32_t (*send)(void *self, int32_t peer, uint64_t tag, const void *data, size_t length, void **ret_work);
	/** Post a receive of exactly @p length bytes. @return as send() */
	int32_t (*recv)(void *self, int32_t peer, uint64_t tag, void *data, size_t length, void **ret_work);
	/**
	 * Post a collective itself. @p op is checked and complete, in and out are set. @p id has the collective's number
	 * in its low 14 bits; the others stand for what it and all before it are. Ranks that have posted the same have the
	 * same id; where another rank's differs, test() is to answer RH_COMM_EINVAL, or never to end, and the core finds
	 * which ranks differ. @return 0 and *@p ret_work; RH_COMM_ENOTSUP: the core is to do it of messages; the answer
	 * must be the same on every rank, and is so for operations that it does not know. AVG is the backend's own to
	 * finish. Of CUDA memory messages come here too, as only @p op knows their stream, with @p id 0
	 */
	int32_t (*collective)(void *self, const struct rh_comm_op *op, uint64_t id, void **ret_work);
	/** Move on, and look at @p work. @return 0: done, and @p work is freed; RH_COMM_BUSY; RH_COMM_E*: failed, freed */
	int32_t (*test)(void *self, void *work);
	/** Make every pending test() end soon with an error. From any thread. */
	void (*abort)(void *self);
	/**
	 * Prepare to sleep: progress from now on ends the pause() that gets @p ret_ticket, or keeps it from beginning.
	 * The core looks at all work once more before it sleeps. NULL, as pause(): the core naps by the clock.
	 * @return 0; RH_COMM_BUSY: there is something to do, do not sleep
	 */
	int32_t (*arm)(void *self, uint64_t *ret_ticket);
	/**
	 * Sleep until there may be something to do, at most @p time microseconds. Unlike the others it blocks, and is
	 * called by several threads at once and beside any other call but close().
	 */
	void (*pause)(void *self, uint64_t ticket, int64_t time);
	/**
	 * Move on what test() has called done and is yet to leave this process: nobody else does when the program computes
	 * from here on. Called several times a second while no operation is in flight. NULL: done means gone.
	 * @return 0; RH_COMM_BUSY: there is more, call again soon
	 */
	int32_t (*idle)(void *self);
	/**
	 * Move on, and find a rank of which a message of @p tag has begun to arrive that no receive is posted for; recv()
	 * is to take it. Ranks are looked at from @p first on, then from 0: who is the caller's choice. Messages of other
	 * tags must not keep it from being found. Until there is one, pause() ends when something arrives. NULL: there are
	 * no receives from any rank.
	 * @return 0 and *@p ret_peer; RH_COMM_BUSY: there is none yet; RH_COMM_E*: there will be none
	 */
	int32_t (*find)(void *self, int32_t first, uint64_t tag, int32_t *ret_peer);
};

/** Type of the one exported function. @return static data, never NULL */
typedef const struct rh_comm_backend *rh_comm_backend_entry_fn(void);

/** Name of the entry function of this major version. */
#define RH_COMM_BACKEND_SYMBOL "rh_comm_backend_entry_v0"

/** The entry function. A backend defines it. @return the backend's table, static storage */
RH_COMM_API const struct rh_comm_backend *rh_comm_backend_entry_v0(void);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file roundhouse/ps.h
 * @brief rh_ps: a parameter server, and the workers' side of it.
 *
 * Servers keep values under keys. A value is cut into parts, and the parts are spread over all servers. Workers push
 * gradients, or anything else that is to be added up, and pull values. Every worker gives all its requests a number,
 * and a server counts each number once: what a worker sends again after a lost connection never counts twice. A server
 * that has a folder acknowledges nothing that is not in it, and goes on from there after it was killed; workers wait
 * for it and send again what was not acknowledged.
 *
 * Results and errors are those of roundhouse/comm.h; the rank of an error is the number of a worker, or of a server
 * where the text says so. Threads: any thread may call anything but the functions that free, which must be the last
 * call. Requests move on inside calls of this header only. Nothing is printed but warnings of slow servers and workers,
 * and which server has a backup or takes over, on standard error, unless RH_COMM_LOG is "off".
 */
#ifndef ROUNDHOUSE_PS_H
#define ROUNDHOUSE_PS_H

#include "roundhouse/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @name When a pushed value counts (rh_ps_server_options.mode) @{ */
/**
 * By rounds: the n-th push of a key by each worker makes round n, which changes the value once all workers have pushed.
 * A pull waits for the round of the worker's own last push of that key.
 */
#define RH_PS_SYNC 1
#define RH_PS_ASYNC 2 /**< at once; a pull gets what is there */
/** At once; a pull waits while a worker is more than @e staleness pushes of that key behind the one that pulls. */
#define RH_PS_STALE 3
/** @} */

/** @name What a push does to the value (rh_ps_server_options.rule). g is a push, or the mean of a round. @{ */
#define RH_PS_SUM 1      /**< the value grows by the push, or by the sum of the round */
#define RH_PS_AVERAGE 2  /**< it grows by the push divided by the number of workers: by the mean of a round */
#define RH_PS_TOTAL 3    /**< it becomes the sum of the round; RH_PS_SYNC only */
#define RH_PS_MEAN 4     /**< it becomes the mean of the round; RH_PS_SYNC only */
#define RH_PS_SGD 5      /**< value -= rate g; f32 and f64 only, as those that follow */
#define RH_PS_MOMENTUM 6 /**< m = momentum m + g; value -= rate m */
#define RH_PS_ADAM 7     /**< Adam (Kingma and Ba 2015, algorithm 1) */
#define RH_PS_ADAGRAD 8  /**< s += g g; value -= rate g / (sqrt(s) + epsilon) */
/** @} */

/** @name What is safe once it is acknowledged (rh_ps_server_options.durable) @{ */
#define RH_PS_LOGGED 1 /**< it survives the death of the server process */
#define RH_PS_SYNCED 2 /**< it survives the death of the server's host: fdatasync() before each batch of answers */
/** @} */

/** Highest number of workers and of servers. */
#define RH_PS_MAX 1024

/** Opaque scheduler. */
struct rh_ps_scheduler;
/** Opaque server. */
struct rh_ps_server;
/** Opaque worker's side. */
struct rh_ps;
/** Opaque requests in flight. */
struct rh_ps_request;

/**
 * How to serve. Zero and NULL mean "from the environment" (docs/ps.md lists it: RH_PS_*, TF_CONFIG, DMLC_*), and where
 * that says nothing, what stands here.
 */
struct rh_ps_server_options {
	uint32_t size;         /**< sizeof(struct rh_ps_server_options) where it was compiled */
	int32_t has_index;     /**< not 0: index counts */
	int32_t index;         /**< which of the servers this is, 0 … servers - 1 */
	int32_t servers;       /**< number of servers; 0: 1 */
	int32_t workers;       /**< number of workers */
	int32_t mode;          /**< RH_PS_SYNC … */
	int32_t staleness;     /**< RH_PS_STALE: pushes that a worker may be ahead of the slowest one */
	int32_t rule;          /**< RH_PS_SUM … */
	double rate;           /**< learning rate; 0: 0.01; rh_ps_set_rate() changes it */
	double momentum;       /**< 0: 0.9 */
	double beta1;          /**< of Adam; 0: 0.9 */
	double beta2;          /**< of Adam; 0: 0.999 */
	double epsilon;        /**< of Adam and Adagrad; 0: 1e-8 */
	const char *host;      /**< address to listen on; NULL: all */
	int32_t port;          /**< 0: any that is free; rh_ps_server_port() returns it */
	const char *folder;    /**< where the state is kept, made when missing; NULL: nowhere */
	int32_t durable;       /**< with a folder: RH_PS_LOGGED or RH_PS_SYNCED; 0: RH_PS_LOGGED */
	const char *job;       /**< job id: workers of another one are refused */
	const char *secret;    /**< shared secret; it never crosses the wire */
	int64_t grace;         /**< microseconds that a lost worker may stay away before waiting for it fails; 0: 1 s */
	int64_t death_timeout; /**< microseconds of silence after which a host counts as lost; 0: 5 s */
	int64_t snapshot;      /**< bytes of log after which the state is written anew; 0: 256 MiB */
	const char *backend;   /**< "own": shared memory and TCP; else a backend of rh_comm: "native", "ucx", … */
};

/** How to be the scheduler through which servers and workers find each other. Zero and NULL as above. */
struct rh_ps_scheduler_options {
	uint32_t size;         /**< sizeof(struct rh_ps_scheduler_options) where it was compiled */
	int32_t servers;       /**< number of servers */
	int32_t workers;       /**< number of workers */
	int32_t port;          /**< 0: DMLC_PS_ROOT_PORT, else any that is free; -1: any that is free */
	const char *host;      /**< address to listen on, when it is this machine's; NULL: DMLC_PS_ROOT_URI, else all */
	const char *job;       /**< job id: others are refused */
	const char *secret;    /**< shared secret */
	const char *backend;   /**< as the servers' and workers' */
	int64_t init_timeout;  /**< microseconds for all to come; 0: 300 s; -1: no limit */
	int64_t grace;         /**< microseconds that one who has died may take to come back; 0: 60 s */
	int64_t death_timeout; /**< microseconds of silence after which a host counts as lost; 0: 5 s */
	/**
	 * Servers for each value: 1, or 2: every server has a backup, to which it sends what changes a value before it
	 * acknowledges it, and which takes over when it dies. Then twice as many servers are to come. 0: RH_PS_REPLICAS,
	 * else
	 * 1. Callers whose header ends before this member have 0.
	 */
	int32_t replicas;
	int32_t reserved; /**< 0 */
};

/** How to work with servers. Zero and NULL as above. */
struct rh_ps_options {
	uint32_t size;       /**< sizeof(struct rh_ps_options) where it was compiled */
	int32_t has_worker;  /**< not 0: worker counts */
	int32_t worker;      /**< which of the workers this is, 0 … workers - 1 */
	int32_t workers;     /**< number of workers */
	const char *servers; /**< all servers in their order: "host:port,host:port"; "[::1]:9000" for IPv6 */
	const char *job;     /**< job id */
	const char *secret;  /**< shared secret */
	int64_t part;        /**< bytes of a part; 0: 262144; from 4096 to 1048576, a multiple of 64, the same everywhere */
	int64_t init_timeout;  /**< microseconds for all servers to come; 0: 300 s */
	int64_t op_timeout;    /**< microseconds that one operation may take; 0: 1800 s; -1: no limit */
	int64_t grace;         /**< microseconds to wait for a lost server; 0: 60 s when it has a folder, else 1 s */
	int64_t death_timeout; /**< microseconds of silence after which a host counts as lost; 0: 5 s */
	int32_t no_shm;        /**< not 0: no shared memory, also on the same host */
	int32_t reserved;      /**< 0 */
	const char *backend;   /**< as the servers' */
};

/** @name Operations (rh_ps_op.what) @{ */
/**
 * Make the key known: every worker does it once for each key, and waits for it before anything else with it. Worker 0
 * gives the first value (NULL: zeros); the others' in does not count, and they wait for worker 0. A key that is known
 * keeps its value. With out, all get the value that is there: the broadcast of a model.
 */
#define RH_PS_INIT 1
#define RH_PS_PUSH 2      /**< in: count elements */
#define RH_PS_PULL 3      /**< out: count elements */
#define RH_PS_PUSH_PULL 4 /**< both, in one trip */
#define RH_PS_BARRIER 5   /**< wait until all workers are here; no key, no buffers */
/**
 * Push rows of a value, as the gradient of an embedding: in has row_count rows of width elements. The elements of a row
 * that is named more than once are summed. The rule changes the rows that were pushed to, and no other: momentum and
 * Adam's means of a row rest while it is not pushed to, and Adam counts the steps of each row. In a round, the rows of
 * all workers are added up, and the mean is by the number of all workers; RH_PS_TOTAL and RH_PS_MEAN replace the rows
 * of the round. It counts as the worker's push of that key, also without any row, in rounds and for staleness.
 */
#define RH_PS_PUSH_ROWS 6
#define RH_PS_PULL_ROWS 7      /**< pull rows: out gets row_count rows of width elements */
#define RH_PS_PUSH_PULL_ROWS 8 /**< push rows and pull the same ones, in one trip; out may be in */
/** @} */

/** One operation. Buffers, and rows, stay the caller's, and must live unchanged until it is done. */
struct rh_ps_op {
	uint32_t size;  /**< sizeof(struct rh_ps_op) where it was compiled */
	int32_t what;   /**< RH_PS_INIT … */
	uint64_t key;   /**< any but UINT64_MAX */
	const void *in; /**< what is pushed, or the first value */
	void *out;      /**< what is pulled */
	size_t count;   /**< elements of the whole value; the same in every operation with this key */
	int32_t type;   /**< RH_COMM_F32 …; likewise */
	/**
	 * Elements of a row, of which count is a multiple: likewise, RH_PS_INIT too. A row fits a part. 0: the value has no
	 * rows
	 */
	int32_t width;
	int64_t timeout; /**< microseconds; 0: the worker's op_timeout; -1: no limit */
	/**
	 * RH_PS_PUSH_ROWS and the like: which rows, ascending, a row as often as in or out has it; else NULL. Callers
	 * whose header ends before this member have none
	 */
	const uint64_t *rows;
	size_t row_count; /**< how many; 0: none, and then rows, in and out may be NULL */
};

/**
 * Start to listen, and take up the state that the folder holds.
 * @param options NULL: all from the environment. @return 0 or RH_COMM_E*
 */
RH_COMM_API int32_t rh_ps_server_new(const struct rh_ps_server_options *options, struct rh_ps_server **ret_server,
                                     struct rh_comm_error *err);
/** @return the port that it listens on */
RH_COMM_API int32_t rh_ps_server_port(const struct rh_ps_server *server);
/**
 * Serve until all workers have left, or rh_ps_server_stop(). Blocks. Then the state is in the folder.
 * @return 0; RH_COMM_EPEER: the workers that have not left are gone without rh_ps_free(), and none has come back within
 * RH_PS_RETURN_TIMEOUT (300 s), whatever the mode; the error names one; RH_COMM_EIO: the folder cannot be written, and
 * nothing that was not acknowledged counts; RH_COMM_ENOMEM
 */
RH_COMM_API int32_t rh_ps_server_run(struct rh_ps_server *server, struct rh_comm_error *err);
/** End rh_ps_server_run() soon. From any thread, and from a signal handler. */
RH_COMM_API void rh_ps_server_stop(struct rh_ps_server *server);
/** Free it. Its workers see that it is gone. NULL is nothing. */
RH_COMM_API void rh_ps_server_free(struct rh_ps_server *server);

/** Start to listen. @param options NULL: all from the environment (DMLC_*). @return 0 or RH_COMM_E* */
RH_COMM_API int32_t rh_ps_scheduler_new(const struct rh_ps_scheduler_options *options,
                                        struct rh_ps_scheduler **ret_scheduler, struct rh_comm_error *err);
/** @return the port that it listens on */
RH_COMM_API int32_t rh_ps_scheduler_port(const struct rh_ps_scheduler *scheduler);
/**
 * Bring servers and workers together until all workers have left, or rh_ps_scheduler_stop(). Blocks.
 * @return 0; RH_COMM_ETIME: not all came in time, and who did not; RH_COMM_EPEER: one has died and did not come back
 * within the grace, and which. The connected ones get the same error
 */
RH_COMM_API int32_t rh_ps_scheduler_run(struct rh_ps_scheduler *scheduler, struct rh_comm_error *err);
/** End rh_ps_scheduler_run() soon. From any thread, and from a signal handler. */
RH_COMM_API void rh_ps_scheduler_stop(struct rh_ps_scheduler *scheduler);
/** Free it. NULL is nothing. */
RH_COMM_API void rh_ps_scheduler_free(struct rh_ps_scheduler *scheduler);

/**
 * Connect to all servers. Blocks until all are there.
 * @param options NULL: all from the environment. @return 0 or RH_COMM_E*
 */
RH_COMM_API int32_t rh_ps_connect(const struct rh_ps_options *options, struct rh_ps **ret_ps,
                                  struct rh_comm_error *err);
/** Leave: nobody waits for this worker any more. NULL is nothing. */
RH_COMM_API void rh_ps_free(struct rh_ps *ps);
/** @return which of the workers this is */
RH_COMM_API int32_t rh_ps_worker(const struct rh_ps *ps);
/** @return the number of workers */
RH_COMM_API int32_t rh_ps_workers(const struct rh_ps *ps);
/** @return how many of the servers are reached through shared memory; the rest are reached through TCP */
RH_COMM_API int32_t rh_ps_shared(const struct rh_ps *ps);
/**
 * Start operations. Those of one worker on one key take effect in the order of posting. Never waits for a peer, but
 * for up to a second while a lost server is called again.
 * @param ops @p count of them, copied. @return 0, then *@p ret_request is to be handed to rh_ps_wait() or rh_ps_test();
 * RH_COMM_E*: none was started
 */
RH_COMM_API int32_t rh_ps_post(struct rh_ps *ps, const struct rh_ps_op *ops, size_t count,
                               struct rh_ps_request **ret_request, struct rh_comm_error *err);
/** Look whether all are done. @return 0 or RH_COMM_E*: done, the request is freed; RH_COMM_BUSY: not yet */
RH_COMM_API int32_t rh_ps_test(struct rh_ps_request *request, struct rh_comm_error *err);
/**
 * Wait until all are done, and free the request.
 * @return 0; RH_COMM_EINVAL: a server refused one, with its reason; RH_COMM_ETIME: a limit is over, and who was waited
 * for; RH_COMM_EPEER: a worker that was waited for is gone; or a server is, then every later operation says so too
 */
RH_COMM_API int32_t rh_ps_wait(struct rh_ps_request *request, struct rh_comm_error *err);
/** Post and wait in one. @return 0 or RH_COMM_E* */
RH_COMM_API int32_t rh_ps_run(struct rh_ps *ps, const struct rh_ps_op *ops, size_t count, struct rh_comm_error *err);
/** Change the learning rate of all servers, for what is applied from then on. Waits. @return 0 or RH_COMM_E* */
RH_COMM_API int32_t rh_ps_set_rate(struct rh_ps *ps, double rate, struct rh_comm_error *err);

#ifdef __cplusplus
}
#endif

#endif

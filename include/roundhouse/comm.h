/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file roundhouse/comm.h
 * @brief rh_comm: collectives and messages between the processes of a training job.
 *
 * A context is one rank's seat in a world of ranks. Operations are posted and then tested or waited for; several may be
 * in flight. Every rank must post the same collectives in the same order, with the same count, type, reduction and
 * root, or all get RH_COMM_EINVAL, which names a rank that differs from the others and what each side has posted.
 * They may be waited for in any order. All ranks end with the same bits, and the same call on the same inputs gives the
 * same bits again. What a peer's death, an abort or a time limit ends is an error that names the rank, on every rank,
 * and from then on every operation of the context returns that error: free it, and start a new one.
 *
 * Threads: any thread may call anything but rh_comm_free(), which must be the last call. Callbacks: none. Signals: none
 * are used. Nothing is printed, but one line at rh_comm_init() and warnings of slow ranks go to standard error unless
 * RH_COMM_LOG is "off".
 */
#ifndef ROUNDHOUSE_COMM_H
#define ROUNDHOUSE_COMM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of this interface: raised when something is added (minor) or broken (major, and the library's soname). */
#define RH_COMM_MAJOR 0
/** @see RH_COMM_MAJOR */
#define RH_COMM_MINOR 5

/** Marks what the library exports. */
#define RH_COMM_API __attribute__((visibility("default")))

/** @name Results: 0 is done, RH_COMM_BUSY under way, negative an error @{ */
#define RH_COMM_BUSY 1         /**< posted and not done yet; no error */
#define RH_COMM_EINVAL (-1)    /**< wrong arguments or configuration, or diverging ranks; a retry cannot help */
#define RH_COMM_ENOMEM (-2)    /**< out of memory */
#define RH_COMM_EIO (-5)       /**< the operating system refused; the text has its words */
#define RH_COMM_EPEER (-20)    /**< a rank died or was cut off; the error names it */
#define RH_COMM_ETIME (-21)    /**< a time limit is over; the error names the ranks that were waited for */
#define RH_COMM_EABORTED (-22) /**< somebody called rh_comm_abort(); the error names the rank and its reason */
#define RH_COMM_ENOTSUP (-23)  /**< the backend cannot do that */
#define RH_COMM_EBACKEND (-24) /**< the backend failed; the text has its words */
/** @} */

/** @name Element types @{ */
#define RH_COMM_F32 1
#define RH_COMM_F64 2
#define RH_COMM_F16 3  /**< IEEE 754 binary16; reduced in f32, rounded to nearest even once a hop */
#define RH_COMM_BF16 4 /**< likewise */
#define RH_COMM_I8 5
#define RH_COMM_I32 6
#define RH_COMM_I64 7
#define RH_COMM_U8 8
#define RH_COMM_I16 9
#define RH_COMM_U16 10
#define RH_COMM_U32 11
#define RH_COMM_U64 12
/** float8 e4m3fn of OCP, as torch has it: no infinity, NaN above 448; reduced in f32, rounded to nearest even once a
 * hop */
#define RH_COMM_F8_E4M3 13
#define RH_COMM_F8_E5M2 14 /**< float8 e5m2 of OCP; likewise, infinite above 57344 */
/** @} */

/** @name Reductions @{ */
#define RH_COMM_SUM 1 /**< integers wrap around */
#define RH_COMM_AVG 2 /**< sum, then divided by the number of ranks; integers round towards zero */
#define RH_COMM_MIN 3 /**< NaN where any rank has one */
#define RH_COMM_MAX 4 /**< likewise */
#define RH_COMM_PROD 5
#define RH_COMM_BAND 6 /**< bitwise and; of integers alone, as the next two */
#define RH_COMM_BOR 7  /**< bitwise or */
#define RH_COMM_BXOR 8 /**< bitwise exclusive or */
/** @} */

/** @name Operations @{ */
#define RH_COMM_ALL_REDUCE 1     /**< in, out: count elements */
#define RH_COMM_REDUCE_SCATTER 2 /**< in: count elements for each rank; out: count */
#define RH_COMM_ALL_GATHER 3     /**< in: count; out: count from each rank, by rank */
#define RH_COMM_BROADCAST 4      /**< in of rank peer goes to out of all */
#define RH_COMM_BARRIER 5        /**< no buffers */
#define RH_COMM_SEND 6           /**< in: count elements to rank peer */
#define RH_COMM_RECV 7           /**< out: count elements from rank peer, or any; the sizes must agree */
#define RH_COMM_ALL_TO_ALL 8     /**< in: count elements for each rank, by rank; out: count from each; not in place */
/**
 * in: in_counts[r] elements for each rank r, by rank, behind each other; out: out_counts[r] from each. What a rank has
 * for another must be what that one expects, or all get RH_COMM_EINVAL, which names the rank that has it. Not in place
 */
#define RH_COMM_ALL_TO_ALL_V 9
#define RH_COMM_GATHER 10 /**< in: count elements; out, of rank peer alone: count from each rank, by rank */
/** in: count elements; of rank peer out: out_counts[r] from each rank r. Its own count is out_counts[peer] */
#define RH_COMM_GATHER_V 11
#define RH_COMM_SCATTER 12 /**< in, of rank peer alone: count elements for each rank, by rank; out: count */
/** of rank peer in: in_counts[r] elements for each rank r; out: count. Its own count is in_counts[peer] */
#define RH_COMM_SCATTER_V 13
#define RH_COMM_REDUCE 14 /**< in: count elements; out, of rank peer alone: count */
/** in: out_counts[own rank] elements; out: out_counts[r] from each rank r, by rank. All ranks give the same counts */
#define RH_COMM_ALL_GATHER_V 15
/** in: in_counts[r] elements for each rank r; out: in_counts[own rank]. All ranks give the same counts. Not in place */
#define RH_COMM_REDUCE_SCATTER_V 16
/** @} */

/** A rank is unknown. */
#define RH_COMM_NO_RANK (-1)
/**
 * The peer of a RECV of host memory: whichever other rank sends a message of the tag. Who has one is taken in turn.
 * Receives of a tag meet messages in the order of posting, those from one rank among them. count is not 0: of nothing,
 * nothing travels. A rank that has left sends nothing; once all others have left, it is RH_COMM_EPEER.
 */
#define RH_COMM_ANY_RANK (-2)

/** What went wrong. */
struct rh_comm_error {
	int32_t code;   /**< RH_COMM_E*; 0: nothing */
	int32_t rank;   /**< the rank it is about; RH_COMM_NO_RANK: none */
	char text[504]; /**< one sentence for people: what, where, what to do */
};

/** Opaque context. */
struct rh_comm;
/** Opaque operation in flight. */
struct rh_comm_request;

/**
 * How to start. Zero and NULL mean "from the environment" (docs/comm.md lists it): RH_COMM_*, Open MPI's, RANK and
 * WORLD_SIZE with MASTER_ADDR, DMLC_*. Two variables that disagree are an error that names both; where has_rank is set,
 * none is read.
 */
struct rh_comm_options {
	uint32_t size;         /**< sizeof(struct rh_comm_options) where it was compiled */
	int32_t has_rank;      /**< not 0: rank and world count */
	int32_t rank;          /**< 0 … world - 1 */
	int32_t world;         /**< number of ranks */
	const char *backend;   /**< "auto", "native", "ucx", "mpi", "nccl" */
	const char *host;      /**< where rank 0 listens */
	int32_t port;          /**< there; 0: RH_COMM_PORT, else MASTER_PORT + 1 */
	const char *job;       /**< job id: ranks of another job or attempt are refused */
	const char *secret;    /**< shared secret; it never crosses the wire */
	int64_t init_timeout;  /**< microseconds for all ranks to come; 0: 300 s */
	int64_t op_timeout;    /**< microseconds that one operation may take; 0: 1800 s; -1: no limit */
	int64_t death_timeout; /**< microseconds of silence after which a host counts as lost; 0: 5 s */
	/** Bootstrap through somebody else's key-value store (torch's); NULL: our own. Called from any thread. */
	int32_t (*kv_set)(void *arg, const char *key, const void *value, size_t length);
	/** Wait for @p key. @return its length, or negative; what does not fit @p room is an error */
	int64_t (*kv_get)(void *arg, const char *key, void *value, size_t room, int64_t timeout);
	void *kv_arg; /**< first argument of both */
};

/** @name Where buffers lie (rh_comm_op.memory) @{ */
#define RH_COMM_HOST 0 /**< memory that the processor reads and writes */
#define RH_COMM_CUDA 1 /**< memory of a CUDA device */
/** @} */

/** One operation. Buffers stay the caller's and must live until it is done. */
struct rh_comm_op {
	uint32_t size;    /**< sizeof(struct rh_comm_op) where it was compiled */
	int32_t what;     /**< RH_COMM_ALL_REDUCE … */
	const void *in;   /**< NULL is out, or, where each rank's part has its place in out, that of this rank: in place */
	void *out;        /**< where the result goes; the operation says how long it is. NULL where there is none */
	size_t count;     /**< elements; see the operation */
	int32_t type;     /**< RH_COMM_F32 … */
	int32_t reduce;   /**< RH_COMM_SUM … */
	int32_t peer;     /**< root, destination or source; of RECV also RH_COMM_ANY_RANK */
	uint32_t tag;     /**< of messages: only those with the same tag meet, in the order of posting */
	int32_t memory;   /**< RH_COMM_HOST or RH_COMM_CUDA, up to RECV; the same on all ranks of the operation */
	int32_t reserved; /**< 0 */
	/**
	 * CUDA memory: the caller's cudaStream_t, else NULL. What is in it so far comes before the operation; put there
	 * what is to follow once the operation is done. Tags of such messages do not count: they meet in the order of
	 * posting
	 */
	void *stream;
	int64_t timeout; /**< microseconds; 0: the context's; -1: no limit */
	/** elements of in for each rank, by rank; the operation says who reads them. They must live as long as buffers */
	const size_t *in_counts;
	const size_t *out_counts; /**< elements of out from each rank; likewise */
	int32_t *source;          /**< RECV: the rank that sent it is written there when it is done; NULL: nowhere */
};

/**
 * Join the world. Blocks until all ranks have come. Collective.
 * @param options NULL: all from the environment. @return 0 or RH_COMM_E*
 */
RH_COMM_API int32_t rh_comm_init(const struct rh_comm_options *options, struct rh_comm **ret_comm,
                                 struct rh_comm_error *err);
/**
 * Leave. Peers that still have operations with us get RH_COMM_EPEER; one that leaves too does not. Own operations must
 * be done: wait for them, after rh_comm_abort() if need be. In a child of fork() it does nothing. NULL is nothing.
 */
RH_COMM_API void rh_comm_free(struct rh_comm *comm);
/**
 * Make a context of the ranks in @p ranks, which become 0 … count - 1 in that order. Collective among those. Blocks
 * until all of them have called it, for init_timeout at most; then the world is over for all its ranks.
 * @return 0 or RH_COMM_E*; RH_COMM_ETIME names who has not called it, or is stopped
 */
RH_COMM_API int32_t rh_comm_group(struct rh_comm *comm, const int32_t *ranks, int32_t count, struct rh_comm **ret_comm,
                                  struct rh_comm_error *err);
/** @return this process's rank */
RH_COMM_API int32_t rh_comm_rank(const struct rh_comm *comm);
/** @return the number of ranks */
RH_COMM_API int32_t rh_comm_world(const struct rh_comm *comm);
/** @return its place among the ranks that share memory with it */
RH_COMM_API int32_t rh_comm_local_rank(const struct rh_comm *comm);
/** @return how many ranks share memory with it, itself counted */
RH_COMM_API int32_t rh_comm_local_world(const struct rh_comm *comm);
/** @return the number of @p rank's host: ranks of equal numbers share memory; -1: there is no such rank */
RH_COMM_API int32_t rh_comm_host(const struct rh_comm *comm, int32_t rank);
/** @return name of the backend that moves host memory: "native"; static storage */
RH_COMM_API const char *rh_comm_backend_name(const struct rh_comm *comm);
/**
 * Start an operation. Never blocks on a peer.
 * @return 0, then *@p ret_request is to be handed to rh_comm_wait() or rh_comm_test() until that says done; RH_COMM_E*
 */
RH_COMM_API int32_t rh_comm_post(struct rh_comm *comm, const struct rh_comm_op *op,
                                 struct rh_comm_request **ret_request, struct rh_comm_error *err);
/**
 * Start many operations at once, as one request. All-reduces in a row of one type and reduction are copied into buckets
 * of at most RH_COMM_FUSION bytes (4 MiB), which travel as one vector each: many small tensors cost as much as a few
 * large ones. The row's order is the order of the buckets, and must be the same on all ranks.
 * @param ops read before this returns; their buffers must live until the request is done
 * @return as rh_comm_post(); nothing has been posted on RH_COMM_EINVAL and RH_COMM_ENOMEM
 */
RH_COMM_API int32_t rh_comm_post_batch(struct rh_comm *comm, const struct rh_comm_op *ops, size_t count,
                                       struct rh_comm_request **ret_request, struct rh_comm_error *err);
/** Look whether it is done. @return 0 or RH_COMM_E*: done, the request is freed; RH_COMM_BUSY: not yet */
RH_COMM_API int32_t rh_comm_test(struct rh_comm_request *request, struct rh_comm_error *err);
/** Wait until it is done, and free it. Spins for a moment, then yields, then sleeps. @return 0 or RH_COMM_E* */
RH_COMM_API int32_t rh_comm_wait(struct rh_comm_request *request, struct rh_comm_error *err);
/**
 * Wait at most @p time microseconds: for callers that have to look at something else now and then, as signals.
 * @return as rh_comm_test()
 */
RH_COMM_API int32_t rh_comm_wait_for(struct rh_comm_request *request, int64_t time, struct rh_comm_error *err);
/** Post and wait in one: the fastest way for small operations. @return 0 or RH_COMM_E* */
RH_COMM_API int32_t rh_comm_run(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_error *err);
/**
 * rh_comm_run() that waits at most @p time microseconds.
 * @return 0 or RH_COMM_E*; RH_COMM_BUSY, then *@p ret_request is to be waited for or tested as after rh_comm_post()
 */
RH_COMM_API int32_t rh_comm_run_for(struct rh_comm *comm, const struct rh_comm_op *op, int64_t time,
                                    struct rh_comm_request **ret_request, struct rh_comm_error *err);
/**
 * End all pending and later operations of all ranks with RH_COMM_EABORTED. From any thread; async-signal-unsafe.
 * @param why for people; copied
 */
RH_COMM_API void rh_comm_abort(struct rh_comm *comm, const char *why);
/** @return bytes of one element of @p type; 0: there is no such type */
RH_COMM_API size_t rh_comm_type_size(int32_t type);
/** @return "RH_COMM_EPEER: a rank died or was cut off", …; static storage */
RH_COMM_API const char *rh_comm_status_text(int32_t code);

/** All-reduce in place and wait. @return 0 or RH_COMM_E* */
static inline int32_t rh_comm_all_reduce(struct rh_comm *comm, void *buffer, size_t count, int32_t type, int32_t reduce,
                                         struct rh_comm_error *err)
{
	struct rh_comm_op op = {
		sizeof(op), RH_COMM_ALL_REDUCE, buffer, buffer, count, type, reduce, 0, 0, 0, 0, NULL, 0, NULL, NULL, NULL};

	return rh_comm_run(comm, &op, err);
}

#ifdef __cplusplus
}
#endif

#endif

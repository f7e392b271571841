/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/env.h
 * @brief This process's rank and the address of rank 0, from the options and the environment. Pure: variables come from
 * a function.
 *
 * Sources, all of which must agree: the options, RH_COMM_*, Open MPI's and PMI's variables, and torch's (RANK,
 * WORLD_SIZE, LOCAL_RANK), which are V1's PyTorchJob contract too.
 */
#ifndef RH_COMM_CORE_ENV_H
#define RH_COMM_CORE_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roundhouse/comm.h"

/** Most ranks of a world. */
#define RH_COMM_WORLD_MAX 65536

/** @name Default timeouts, microseconds: to connect, of one operation, of a silent host @{ */
#define RH_COMM_DEFAULT_INIT_TIMEOUT INT64_C(300000000)
#define RH_COMM_DEFAULT_OP_TIMEOUT INT64_C(1800000000)
#define RH_COMM_DEFAULT_DEATH_TIMEOUT INT64_C(5000000)
/** @} */

/** @return the value of variable @p name, or NULL; as getenv() */
typedef const char *rh_comm_lookup_fn(void *arg, const char *name);

/** Where variables are looked up. */
struct rh_comm_variables {
	rh_comm_lookup_fn *lookup;
	void *arg; /**< of lookup */
};

/** @return the value of variable @p name; NULL when it is not set or empty */
const char *rh_comm_env_text(const struct rh_comm_variables *variables, const char *name);
/**
 * Read a whole number from @p min to @p max.
 * @return 1: *@p ret_value is set; 0: the variable is not set; RH_COMM_EINVAL naming it
 */
int32_t rh_comm_env_number(const struct rh_comm_variables *variables, const char *name, int64_t min, int64_t max,
                           int64_t *ret_value, struct rh_comm_error *err);

/**
 * Read a time: seconds in the environment, microseconds in options.
 * @param option of the options: 0: not set, negative: never. @param fallback the default, microseconds
 * @return 0 or RH_COMM_EINVAL naming the variable
 */
int32_t rh_comm_env_time(const struct rh_comm_variables *variables, const char *name, int64_t option, int64_t fallback,
                         int64_t *ret_time, struct rh_comm_error *err);

/** The settings of this process. Texts are borrowed from the options or the environment. */
struct rh_comm_env {
	int32_t rank;
	int32_t world;
	const char *host;     /**< where rank 0 listens; NULL only in a world of one or under a foreign key-value store */
	int32_t port;         /**< there */
	const char *backend;  /**< never NULL */
	const char *job;      /**< "": not set */
	const char *secret;   /**< "": not set */
	bool launched_by_mpi; /**< a launcher of MPI started us */
	bool log;             /**< print warnings on standard error */
	int64_t init_timeout; /**< microseconds */
	int64_t op_timeout;   /**< microseconds; RH_COMM_NEVER: none */
	int64_t death_timeout;
	int64_t slow;      /**< microseconds until a warning names a rank that others wait for */
	size_t fusion;     /**< bytes of a bucket of small tensors; 0: no buckets */
	const char *tune;  /**< "": not set */
	const char *trace; /**< folder for the file of the trace; "": not set */
	char job_text[64]; /**< room for a job id of the launcher */
};

/**
 * Read all sources.
 * @param options NULL: none. @return 0, or RH_COMM_EINVAL naming the variables: two that disagree, one that is
 * missing or malformed
 */
int32_t rh_comm_env_read(const struct rh_comm_options *options, rh_comm_lookup_fn *lookup, void *arg,
                         struct rh_comm_env *ret_env, struct rh_comm_error *err);

#endif

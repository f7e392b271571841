/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/options.h
 * @brief Settings of servers and workers, from the options and the environment. Pure: variables come from a function.
 */
#ifndef RH_COMM_PS_OPTIONS_H
#define RH_COMM_PS_OPTIONS_H

#include "comm/core/env.h"
#include "comm/ps/scheduler/place.h"
#include "comm/ps/server/store.h"

/** Settings of a server. Texts are borrowed from the options or the environment. */
struct rh_ps_server_settings {
	struct rh_ps_config config;
	const char *host;   /**< NULL: all addresses */
	int32_t port;       /**< 0: any */
	const char *folder; /**< NULL: none */
	int32_t durable;    /**< RH_PS_LOGGED or RH_PS_SYNCED */
	const char *job;
	const char *secret;
	int64_t return_timeout; /**< microseconds that all workers may be absent before the server ends */
	int64_t grace;
	int64_t death_timeout;
	int64_t snapshot;
	int64_t slow; /**< microseconds until a warning names a slow process; RH_COMM_NEVER: no warnings */
	const char *backend;
	int32_t replicas; /**< servers for each value: 1 or 2 */
	bool no_shm;      /**< a backup is never reached through shared memory */
};

/** Settings of a worker. Texts are borrowed as above. */
struct rh_ps_settings {
	int32_t worker;
	int32_t workers;
	struct rh_ps_place *places; /**< owned; of all servers, in their order */
	int32_t server_count;
	const char *job;
	const char *secret;
	int64_t part;
	int64_t init_timeout;
	int64_t op_timeout; /**< RH_COMM_NEVER: no limit */
	int64_t grace;      /**< 0: the server's */
	int64_t death_timeout;
	int64_t slow;
	int32_t no_shm;
	const char *backend;
};

/** A cluster as TF_CONFIG describes it. All zero is none. */
struct rh_ps_cluster {
	struct rh_ps_place *places; /**< owned; addresses of the servers; NULL: not known */
	int32_t server_count;
	int32_t workers;  /**< Chief, Master and Workers */
	int32_t server;   /**< number of this server; -1: another role */
	int32_t worker;   /**< number of this worker, the Chief is 0; -1: another role */
	int32_t replicas; /**< servers for each value, from a scheduler; 0: not known */
};

/** Address of a scheduler. */
struct rh_ps_root {
	const char *host;
	int32_t port;
};

/** Sources of settings beside the options. */
struct rh_ps_sources {
	struct rh_comm_variables variables;
	const char *found_by;              /**< source of what follows: "mpirun"; NULL: none */
	const struct rh_ps_cluster *found; /**< the cluster, from found_by */
};

/** @return getenv(@p name); @p arg is not used */
const char *rh_ps_getenv(void *arg, const char *name);
/** Read all sources for a server. @param options NULL: none. @return 0, RH_COMM_EINVAL or RH_COMM_ENOMEM */
int32_t rh_ps_server_settings_read(const struct rh_ps_server_options *options, const struct rh_ps_sources *sources,
                                   struct rh_ps_server_settings *ret_settings, struct rh_comm_error *err);
/** Read all sources for a worker. @param options NULL: none. @return 0, RH_COMM_EINVAL or RH_COMM_ENOMEM */
int32_t rh_ps_settings_read(const struct rh_ps_options *options, const struct rh_ps_sources *sources,
                            struct rh_ps_settings *ret_settings, struct rh_comm_error *err);
/** @return the selected backend; never NULL. @param option of the options; may be NULL */
const char *rh_ps_backend_read(const struct rh_comm_variables *variables, const char *option);
/** Free what settings own. */
void rh_ps_settings_free(struct rh_ps_settings *settings);
/**
 * Read the parameter servers and workers of TF_CONFIG.
 * @param text NULL: there is none. @return 0; RH_COMM_EINVAL: it is malformed; RH_COMM_ENOMEM
 */
int32_t rh_ps_cluster_read(const char *text, struct rh_ps_cluster *ret_cluster, struct rh_comm_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/scheduler/roles.h
 * @brief Reads the variables DMLC_* of a job with a scheduler. Pure: variables come from a function.
 */
#ifndef RH_COMM_PS_SCHEDULER_ROLES_H
#define RH_COMM_PS_SCHEDULER_ROLES_H

#include "comm/ps/scheduler/join.h"

/** Settings of a scheduler. Texts are borrowed from the options or the environment. */
struct rh_ps_scheduler_settings {
	int32_t servers;
	int32_t workers;
	const char *host; /**< NULL: all addresses */
	int32_t port;
	const char *job;
	const char *secret;
	const char *backend;
	int64_t init_timeout;
	int64_t death_timeout;
	int64_t grace;
	int32_t replicas; /**< servers for each value: 1 or 2 */
	bool quiet;       /**< print nothing */
};

/** Read the settings of a scheduler. @param options NULL: none. @return 0 or RH_COMM_EINVAL */
int32_t rh_ps_scheduler_settings_read(const struct rh_ps_scheduler_options *options,
                                      const struct rh_comm_variables *variables,
                                      struct rh_ps_scheduler_settings *ret_settings, struct rh_comm_error *err);
/**
 * Does a server use a scheduler?
 * @return 1: yes, with @p ret_plan; 0: no; RH_COMM_EINVAL: DMLC_ROLE is another role, or DMLC_PS_ROOT_*
 * is missing
 */
int32_t rh_ps_roles_read_server(const struct rh_ps_server_options *options, const struct rh_comm_variables *variables,
                                struct rh_ps_join_plan *ret_plan, struct rh_comm_error *err);
/** Does a worker? Not when the addresses of the servers are configured. @return as above */
int32_t rh_ps_roles_read_worker(const struct rh_ps_options *options, const struct rh_comm_variables *variables,
                                struct rh_ps_join_plan *ret_plan, struct rh_comm_error *err);

#endif

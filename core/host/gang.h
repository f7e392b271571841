/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/gang.h
 * @brief Gang scheduling: the PodGroup of a job, and what its pods carry so that a scheduler starts them together
 * (COMPAT B.8).
 */
#ifndef RH_HOST_GANG_H
#define RH_HOST_GANG_H

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "job/job.h"

/** Which kind of PodGroup a scheduler wants. */
enum rh_gang_kind {
	RH_GANG_NONE,
	RH_GANG_VOLCANO,
	RH_GANG_SCHEDULER_PLUGINS /**< the coscheduling plugin of kubernetes-sigs/scheduler-plugins */
};

/** The kind of every PodGroup object, whoever defines it. */
#define RH_GANG_OBJECT "PodGroup"

/** The gang scheduler. All zero is none. */
struct rh_gang {
	enum rh_gang_kind kind;
	char scheduler[RH_SUBDOMAIN_MAX + 1]; /**< for pods whose template names no scheduler; "" without a gang */
};

/**
 * Read our own spelling: "none", "volcano", "scheduler-plugins" (its pods get the scheduler's usual name,
 * "scheduler-plugins-scheduler") or "scheduler-plugins:NAME". @return 0 or RH_EINVAL
 */
int rh_gang_parse(const char *text, struct rh_gang *ret_gang, struct rh_error *err);
/**
 * Read V1's flag --gang-scheduler-name: "" and "None" are none, "volcano" in any case is Volcano, any other word is the
 * name of a scheduler with the coscheduling plugin. @return 0, or RH_EINVAL for what can be no scheduler's name
 */
int rh_gang_parse_flag(const char *text, struct rh_gang *ret_gang, struct rh_error *err);
/** @return whether there is a gang scheduler; @p gang may be NULL */
bool rh_gang_is_on(const struct rh_gang *gang);
/** @return the apiVersion of its PodGroups, static storage; NULL without a gang scheduler */
const char *rh_gang_api_version(const struct rh_gang *gang);
/** @return whether pods are not to be made before the scheduler has put their PodGroup into its queue, as Volcano does
 */
bool rh_gang_queues(const struct rh_gang *gang);
/** @return whether the template names another scheduler than the gang's: it is kept, and users are told */
bool rh_gang_is_bypassed(const struct rh_gang *gang, const struct rh_replica_spec *spec);
/**
 * Add to @p pod, the body of any pod of @p spec, what ties it to the PodGroup. Without a gang scheduler it is nothing.
 * @return 0 or RH_ENOMEM
 */
int rh_gang_decorate(const struct rh_gang *gang, const struct rh_job *job, const struct rh_replica_spec *spec,
                     struct rh_json *pod);
/**
 * Make the PodGroup, without namespace and owner. @param[out] ret_group owned by the caller
 * @return 0, RH_EINVAL (a quantity that is none) or RH_ENOMEM
 */
int rh_gang_pod_group(const struct rh_gang *gang, const struct rh_job *job, struct rh_json **ret_group,
                      struct rh_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file config/gang.h
 * @brief Which gang scheduler starts the pods of a job together.
 */
#ifndef RH_CONFIG_GANG_H
#define RH_CONFIG_GANG_H

#include <stdbool.h>

#include "base/error.h"
#include "job/values/names.h"

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

#endif

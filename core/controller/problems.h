/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/problems.h
 * @brief Watches that fail: logged once, and shown until they work again.
 */
#ifndef RH_CONTROLLER_PROBLEMS_H
#define RH_CONTROLLER_PROBLEMS_H

#include "base/json.h"
#include "base/map.h"
#include "base/str.h"
#include "host/host.h"
#include "kube/kubeconfig/kubeconfig.h"
#include "kube/store/store.h"

/** A failing watch. Strings are owned. */
struct rh_problem {
	char *resource;
	char *verb;
	char *namespace_;
	char *message;
	int32_t status;
};

/** The present problems. All zero is empty. */
struct rh_problems {
	const struct rh_kubeconfig *kubeconfig; /**< for hints about credentials; borrowed; NULL: no such hints */
	struct rh_map *items;                   /**< "verb resource" to struct rh_problem; NULL before the first one */
};

/** Log a problem of a watch with a hint, and keep it until it ends. @param host to find the kind of a resource */
void rh_problems_report(struct rh_problems *problems, const struct rh_host *host,
                        const struct rh_kube_problem *problem);
/** Append the problems to @p list, an array. @return 0 or RH_ENOMEM */
int rh_problems_json(const struct rh_problems *problems, struct rh_json *list);
/** Append the hint for a problem; nothing when there is none. */
void rh_problem_hint(const struct rh_problems *problems, const struct rh_host *host,
                     const struct rh_kube_problem *problem, struct rh_str *out);
/** Free all problems. */
void rh_problems_deinit(struct rh_problems *problems);

#endif

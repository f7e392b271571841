/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/pod/environment.h
 * @brief The environment of one container.
 *
 * The pod's variables override those inherited from this machine (PATH, HOME, virtual environment), as they override an
 * image's environment on a cluster. $(VAR) expands only the pod's own variables, as there.
 */
#ifndef RH_LOCAL_POD_ENVIRONMENT_H
#define RH_LOCAL_POD_ENVIRONMENT_H

#include <stddef.h>

#include "local/pod/context.h"

/** Origin of a variable, in ascending precedence. */
enum rh_env_origin {
	RH_ENV_INHERITED, /**< this machine, or the environment configured for the image */
	RH_ENV_FROM,      /**< envFrom */
	RH_ENV_OWN        /**< env */
};

/** One variable. Texts are owned. */
struct rh_env_item {
	char *name;
	char *value;
	enum rh_env_origin origin;
};

/** Variables in order of definition. All zero is empty. */
struct rh_environment {
	struct rh_env_item *items;
	size_t count;
	size_t capacity;
};

/** Free what @p environment owns and make it empty. */
void rh_environment_deinit(struct rh_environment *environment);
/** Set a variable; an existing one keeps its position and gets the higher origin. @return 0 or RH_ENOMEM */
int rh_environment_set(struct rh_environment *environment, const char *name, const char *value,
                       enum rh_env_origin origin);
/** @return the value of @p name, if its origin is @p least or higher; borrowed until the next change; else NULL */
const char *rh_environment_get(const struct rh_environment *environment, const char *name, enum rh_env_origin least);
/** Take @p name out, if it is there. */
void rh_environment_remove(struct rh_environment *environment, const char *name);
/** Set all of "NAME=value", NULL-terminated, as inherited. @return 0 or RH_ENOMEM */
int rh_environment_inherit(struct rh_environment *environment, const char *const *entries);
/**
 * Append @p text with its $(NAME) references replaced by values whose origin is @p least or higher. $$ becomes $,
 * and a reference to an unknown name stays as it is (Kubernetes third_party/forked/golang/expansion).
 */
void rh_environment_expand(const struct rh_environment *environment, const char *text, enum rh_env_origin least,
                           struct rh_str *out);
/**
 * Add the variables of a container: envFrom, then env.
 * @return 0, RH_ENOENT (a ConfigMap, Secret or key is missing), RH_EINVAL or RH_ENOMEM
 */
int rh_environment_add(struct rh_environment *environment, const struct rh_pod_context *context,
                       const struct rh_json *container, struct rh_error *err);
/** @return ["NAME=value", …], owned by the caller; NULL: out of memory */
struct rh_json *rh_environment_json(const struct rh_environment *environment) __attribute__((warn_unused_result));

/** A local environment that is freed when it goes out of scope. */
#define rh_auto_environment __attribute__((cleanup(rh_environment_deinit))) struct rh_environment

#endif

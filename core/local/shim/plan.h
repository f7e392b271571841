/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim/plan.h
 * @brief The parsed plan of a pod. For the shim alone; its JSON form is described in local/shim.h.
 */
#ifndef RH_LOCAL_SHIM_PLAN_H
#define RH_LOCAL_SHIM_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

/** Largest number of a plan: 285 years in microseconds, 8 PiB. Sums of a few of them fit into an int64_t. */
#define RH_SHIM_AMOUNT_MAX (INT64_C(1) << 53)

/** When an ended container is restarted. */
enum rh_shim_policy { RH_SHIM_NEVER, RH_SHIM_ON_FAILURE, RH_SHIM_ALWAYS };

/** One bind mount. Strings are borrowed from the plan. */
struct rh_shim_mount {
	const char *from;
	const char *to;
	bool read_only;
};

/** A tmpfs that all containers share. Its path is borrowed from the plan. */
struct rh_shim_tmpfs {
	const char *path;
	int64_t size; /**< bytes; 0: the system's default */
};

/** One container. Strings are borrowed from the plan, arrays are owned. */
struct rh_shim_spec {
	const char *name;
	const char **argv; /**< NULL-terminated, at least one */
	const char **env;  /**< NULL-terminated */
	const char *cwd;
	const char *log;
	struct rh_shim_mount *mounts;
	size_t mount_count;
	int64_t memory; /**< bytes; 0: no limit */
	int64_t cpu;    /**< thousandths of a processor; 0: no limit */
	int64_t uid;    /**< -1: the shim's own; likewise gid */
	int64_t gid;
	bool init;
	bool terminal; /**< its standard streams are the pseudo-terminal of RH_SHIM_TERMINAL_FD */
	bool sidecar;  /**< an init container that is not waited for, and ends after the regular containers */
};

/** A plan. All zero is empty. */
struct rh_shim_plan {
	struct rh_json *json; /**< owner of all strings */
	const char *pod;
	const char *dir;
	bool detached;
	enum rh_shim_policy policy;
	int64_t backoff; /**< microseconds, likewise the next two */
	int64_t backoff_max;
	int64_t grace;
	struct rh_shim_tmpfs *tmpfs;
	size_t tmpfs_count;
	struct rh_shim_spec *specs; /**< init containers first */
	size_t spec_count;
};

/**
 * Parse @p json and take ownership of it, also on failure. @return 0, RH_EINVAL (names the member) or RH_ENOMEM; @p
 * plan must be deinitialised, also after a failure
 */
int rh_shim_plan_parse(struct rh_json *json, struct rh_shim_plan *plan, struct rh_error *err);
/** Read the plan from @p fd to its end. Blocks. @return as rh_shim_plan_parse(), or RH_EIO */
int rh_shim_plan_read(int fd, struct rh_shim_plan *plan, struct rh_error *err);
/** Free what @p plan owns. */
void rh_shim_plan_deinit(struct rh_shim_plan *plan);
/** @return whether it needs a mount namespace */
bool rh_shim_plan_mounts(const struct rh_shim_plan *plan);
/** @return the entry RH_SHIM_MARK of its environment, borrowed, or NULL */
const char *rh_shim_spec_mark(const struct rh_shim_spec *spec);

#endif

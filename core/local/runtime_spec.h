/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/runtime_spec.h
 * @brief From a Pod object to the plan that a shim carries out: arguments, environment, volumes, limits.
 *
 * The same input gives the same plan. Beside making it, only the folders and files of volumes are written, below the
 * pod's own directory.
 */
#ifndef RH_LOCAL_RUNTIME_SPEC_H
#define RH_LOCAL_RUNTIME_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "config/config.h"

/** Variable that names the file in which torch's @record writes what was raised. */
#define RH_RUNTIME_SPEC_ERROR_VARIABLE "TORCHELASTIC_ERROR_FILE"
/** That file is CONTAINER.error.json in the pod's private directory, where the pod does not name one itself. */
#define RH_RUNTIME_SPEC_ERROR_FILE ".error.json"

/** The address at which a pod sees this machine: status.hostIP. */
#define RH_RUNTIME_SPEC_HOST_IP "127.0.0.1"

/**
 * Find a ConfigMap or Secret (@p kind). @return the whole object, borrowed until the plan is made, or NULL when there
 * is none
 */
typedef const struct rh_json *rh_runtime_spec_lookup_fn(void *arg, const char *kind, const char *namespace_,
                                                        const char *name);

/** What this machine lets us do; the answers of rh_runtime_spec_can_mount() and rh_runtime_spec_can_limit(), asked
 * once. */
struct rh_runtime_spec_machine {
	bool can_mount; /**< a private mount namespace: volumes appear at their mountPath, service names in /etc/hosts */
	bool can_limit; /**< cgroups of our own: cpu and memory limits are enforced */
	struct rh_error no_limit; /**< its message says why not */
};

/** What a plan is made from. All borrowed for the call; paths are absolute. */
struct rh_runtime_spec_input {
	const struct rh_json *pod;      /**< as it stands in the store: metadata with name, namespace and uid, and spec */
	const struct rh_config *config; /**< back-off times, grace period, [images] */
	rh_runtime_spec_lookup_fn *lookup;
	void *lookup_arg;
	struct rh_runtime_spec_machine machine;
	const char *const
		*environment;        /**< "NAME=value", NULL-terminated: what containers inherit; NULL: this process's own */
	const char *pod_dir;     /**< the pod's private directory; made with mode 0700 where it is missing */
	const char *pods_dir;    /**< what the pod is told as RH_EXEC_PODS (local/exec.h); NULL: nothing */
	const char *program;     /**< likewise as RH_EXEC_PROGRAM */
	const char *log_dir;     /**< exists; each container appends to CONTAINER.log in it */
	const char *work_dir;    /**< where containers without a workingDir start: the folder of the job file */
	const char *pod_ip;      /**< "127.1.0.3" */
	const char *hosts;       /**< text of /etc/hosts with service names, or NULL */
	const char *const *gpus; /**< devices that rh_devices_pick() chose: as many as rh_runtime_spec_gpus() says */
	size_t gpu_count;
	bool detached; /**< the pod goes on when its runner ends */
};

/**
 * Make the plan of a pod (its form: local/shim.h). It holds secrets: keep it out of files and logs. Writes the files of
 * volumes: blocks for as long.
 * @param[out] ret_plan owned by the caller
 * @param notes gets sentences for the user, each ended by a newline, about what this machine does not do ("cpu limits
 * of …"); pods of one job bring the same ones again and again, so tell each once; may be NULL
 * @return 0; RH_ENOENT: a ConfigMap, Secret or key is not there (yet): the pod waits, reason
 * CreateContainerConfigError; RH_EINVAL: this pod cannot run here, ever; RH_EIO; RH_ENOMEM. The message is fit for the
 * pod's status
 */
int rh_runtime_spec_make(const struct rh_runtime_spec_input *input, struct rh_json **ret_plan, struct rh_str *notes,
                         struct rh_error *err);
/**
 * How many GPUs a pod asks for (nvidia.com/gpu of its limits): those of all containers and sidecars, or of its
 * greediest init container and the sidecars before it when that is more.
 * @return a count, or RH_EINVAL when it is no whole number
 */
int rh_runtime_spec_gpus(const struct rh_json *pod, struct rh_error *err);
/** Try a private mount namespace in a process that ends at once. Blocks for a moment. @return whether it can be had */
bool rh_runtime_spec_can_mount(void);
/** @param[out] why_not its message says what is in the way; may be NULL. @return whether this process may make cgroups
 * with memory and cpu limits */
bool rh_runtime_spec_can_limit(struct rh_error *why_not);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/preflight/preflight.h
 * @brief Finds, before a run starts, what would make its jobs fail on this machine. Pure: the facts of the machine are
 * a parameter (local/preflight/machine.h reads them).
 */
#ifndef RH_LOCAL_PREFLIGHT_PREFLIGHT_H
#define RH_LOCAL_PREFLIGHT_PREFLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "job/job.h"
#include "job/manifest.h"
#include "job/rules/findings.h"

/** What a path of this machine is: bits of rh_preflight_look_fn. @{ */
#define RH_LOOK_THERE 1u   /**< it exists */
#define RH_LOOK_FOLDER 2u  /**< a folder */
#define RH_LOOK_EXECUTE 4u /**< no folder, and not a file that this process may not execute */
#define RH_LOOK_WRITE 8u   /**< this process may write it */
/** @} */

/** Look at the absolute @p path, symbolic links followed. @return RH_LOOK_* bits; 0: it does not exist */
typedef unsigned rh_preflight_look_fn(void *arg, const char *path);

/** @return bytes that this user may still write to the file system of @p path, an existing folder; -1: unknown */
typedef int64_t rh_preflight_room_fn(void *arg, const char *path);

/** Room for who listens on a port. */
#define RH_PREFLIGHT_WHO_SIZE 160

/**
 * Look for a server that listens on the TCP @p port: on any address if @p everywhere, else on all of them.
 * @param[out] who set where there is one: "process 4242 (python3 -m http.server)". @return whether there is one
 */
typedef bool rh_preflight_port_fn(void *arg, int32_t port, bool everywhere, char who[RH_PREFLIGHT_WHO_SIZE]);

/** Facts of a machine. Borrowed for the checks. */
struct rh_preflight_machine {
	rh_preflight_look_fn *look;
	rh_preflight_room_fn *room; /**< NULL: unknown of every file system */
	rh_preflight_port_fn *port; /**< NULL: unknown of every port */
	void *arg;                  /**< of look(), room() and port() */
	const char *path;           /**< $PATH of this process; NULL: not set */
	size_t gpus;                /**< NVIDIA devices that this process may use */
	int64_t memory;             /**< bytes; 0: unknown */
	int64_t shm;                /**< size of /dev/shm, bytes; 0: unknown */
	bool can_mount;             /**< as rh_runtime_spec_machine.can_mount */
};

/** One call of the program. All borrowed. */
struct rh_preflight {
	const struct rh_config *config;     /**< [images], state-dir */
	const struct rh_manifest *manifest; /**< with the ConfigMaps and Secrets; NULL: there are none */
	struct rh_preflight_machine machine;
	const char *log_dir; /**< folder that the user chose for logs; NULL: none */
};

/** One job of it. All borrowed. */
struct rh_preflight_job {
	const struct rh_job *job;
	const char *folder; /**< of the job's file, absolute: where relative paths start */
	/** By job->specs: the Pod of the first replica, as the plugin makes it for this machine; NULL: its replicas are not
	 * checked. */
	const struct rh_json *const *pods;
};

/**
 * Add all that would make the job fail here: programs, scripts and folders that are missing, mappings of images that
 * lead nowhere, containers without a command, claims without a folder, hostPath volumes that cannot be used, ConfigMaps
 * and Secrets that no file has, ports of torchrun's first rank that are in use, and GPUs that there are not. Each
 * finding names the field and the fix. Requests for more memory than there is, and containerPorts that are in use, are
 * warnings: the job may run.
 *
 * What cannot be known before the start is not checked: words with $(VARIABLE), paths in volumes whose content is made
 * for the pod, and paths where an init container of the pod may have made the file.
 * @return 0 or RH_ENOMEM
 */
int rh_preflight_check(const struct rh_preflight *all, const struct rh_preflight_job *job,
                       struct rh_findings *findings);
/**
 * Add what does not belong to one job: a folder of logs that cannot be made or written, and, as warnings, file systems
 * that are nearly full where the run writes: that of the logs, and that of volumes. @return 0 or RH_ENOMEM
 */
int rh_preflight_check_call(const struct rh_preflight *all, struct rh_findings *findings);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/pod/volumes.h
 * @brief A pod's volumes: folders and files of this machine.
 */
#ifndef RH_LOCAL_POD_VOLUMES_H
#define RH_LOCAL_POD_VOLUMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "local/pod/context.h"

/** One volume. */
struct rh_volume {
	const char *name; /**< borrowed from the pod */
	char *path;       /**< owned; where it is on this machine, absolute */
	bool empty;       /**< an emptyDir */
	bool memory;      /**< to be mounted as a file system in memory */
	bool read_only;   /**< ConfigMaps, Secrets and the like */
	int64_t size;     /**< of one in memory, bytes; 0: not limited */
};

/** The volumes that some container mounts. All zero is none. */
struct rh_volumes {
	struct rh_volume *items;
	size_t count;
};

/** Free what @p volumes holds. */
void rh_volumes_deinit(struct rh_volumes *volumes);
/**
 * Make the volumes that containers of the pod mount, below the pod's directory.
 * @param volumes must be empty
 * @return 0, RH_ENOENT (a ConfigMap, Secret or key is missing), RH_EINVAL (a sort of volume that is not had here),
 * RH_EIO or RH_ENOMEM
 */
int rh_volumes_make(const struct rh_pod_context *context, struct rh_volumes *volumes, struct rh_error *err);
/** @return the volume @p name, or NULL */
const struct rh_volume *rh_volumes_find(const struct rh_volumes *volumes, const char *name);
/**
 * Write the files of a volume: what @p source (a member of the volume or of one of its projections: "configMap",
 * "secret", "downwardAPI") says. @return as rh_volumes_make()
 */
int rh_volume_files(const struct rh_pod_context *context, const char *folder, const struct rh_json *source,
                    struct rh_error *err);

/** Local volumes that are freed when they go out of scope. */
#define rh_auto_volumes __attribute__((cleanup(rh_volumes_deinit))) struct rh_volumes

#endif

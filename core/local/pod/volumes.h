/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/pod/volumes.h
 * @brief Volumes of a pod as folders and files of this machine.
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
	char *path;       /**< owned; absolute path on this machine */
	bool empty;       /**< an emptyDir */
	bool memory;      /**< mounted as tmpfs */
	bool read_only;   /**< ConfigMaps, Secrets and similar */
	int64_t size;     /**< limit of a tmpfs in bytes; 0: none */
};

/** The volumes that containers mount. All zero is empty. */
struct rh_volumes {
	struct rh_volume *items;
	size_t count;
};

/** Section of the settings that give claims (PersistentVolumeClaims) a folder; only the command line sets them. */
#define RH_VOLUMES_SECTION "volumes"

/** @return the absolute folder that stands for the claim @p name, borrowed; NULL: there is none */
const char *rh_volumes_claim(const struct rh_config *config, const char *name);
/**
 * @param claim a PersistentVolumeClaim object, or NULL
 * @return whether it asks for a new volume, as a cluster makes it: not for one that is there (volumeName, selector),
 * and not for the content of another (dataSource, dataSourceRef)
 */
bool rh_volumes_is_new(const struct rh_json *claim);
/** Free what @p volumes owns. */
void rh_volumes_deinit(struct rh_volumes *volumes);
/**
 * Create the volumes that containers of the pod mount, below the pod's directory.
 * @param volumes must be empty
 * @return 0, RH_ENOENT (a ConfigMap, Secret or key is missing), RH_EINVAL (unsupported type of volume),
 * RH_EIO or RH_ENOMEM
 */
int rh_volumes_make(const struct rh_pod_context *context, struct rh_volumes *volumes, struct rh_error *err);
/** @return the volume @p name, borrowed, or NULL */
const struct rh_volume *rh_volumes_find(const struct rh_volumes *volumes, const char *name);
/**
 * Write the files of a volume from @p source, a member of the volume or of one of its projections ("configMap",
 * "secret", "downwardAPI"). @return as rh_volumes_make()
 */
int rh_volume_files(const struct rh_pod_context *context, const char *folder, const struct rh_json *source,
                    struct rh_error *err);

/** Local volumes that are freed when they go out of scope. */
#define rh_auto_volumes __attribute__((cleanup(rh_volumes_deinit))) struct rh_volumes

#endif

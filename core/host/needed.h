/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/needed.h
 * @brief Which plugins the objects of some files need. Private to the host. Pure, but for the names of files.
 */
#ifndef RH_HOST_NEEDED_H
#define RH_HOST_NEEDED_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "host/files.h"
#include "job/manifest.h"

/**
 * Find the plugins that nothing here asks for: they are of this release, so what they serve is known without loading
 * them; they serve no kind of @p manifest under any version; and no section of the configuration is for them. None is
 * found where that would not be sure or would make a message poorer: when a file is of somebody else, who may make jobs
 * of any kind; when the allow-list leaves one out; when an object is neither Kubernetes' own (apiVersion v1) nor of a
 * kind that such a plugin serves; when no object is a job.
 * @param[out] ret_unneeded an entry for each file
 */
void rh_needed_find(const struct rh_config *config, const struct rh_files *files, const struct rh_manifest *manifest,
                    bool *ret_unneeded);

#endif

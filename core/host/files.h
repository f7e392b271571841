/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/files.h
 * @brief The files of plugins: which there are, what they are called, and which are of this release.
 */
#ifndef RH_HOST_FILES_H
#define RH_HOST_FILES_H

#include <stddef.h>

#include <stdbool.h>

#include "base/error.h"

/** How the files of plugins end. */
#define RH_PLUGIN_ENDING ".so"

/** Paths of plugin files. All zero is none. */
struct rh_files {
	char **items; /**< owned */
	size_t count;
};

/** Free them and make it empty. */
void rh_files_deinit(struct rh_files *files);
/**
 * Append the plugin files of the folder @p path, sorted by name. A missing folder is empty.
 * @return 0, RH_ENOMEM, or RH_EIO when it cannot be read
 */
int rh_files_list(const char *path, struct rh_files *files, struct rh_error *err);
/** @return the name of a plugin file without folder and ending, owned by the caller; NULL when memory is out */
char *rh_files_name(const char *path);
/**
 * Look whether the file is one of this release's plugins, in the release's own folder. @return the kinds that it
 * serves, in any version, as "Kind|Kind"; NULL: it is not
 */
const char *rh_files_own_kinds(const char *path);

#endif

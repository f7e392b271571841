/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/page/files.h
 * @brief The logs of a kept run.
 */
#ifndef RH_CLI_PAGE_FILES_H
#define RH_CLI_PAGE_FILES_H

#include <stddef.h>

#include "local/keep/kept.h"

/** One log. Strings are owned. */
struct rh_page_file {
	char *job;       /**< name of its folder of logs */
	char *replica;   /**< "worker-1" */
	char *container; /**< its name */
	char *path;      /**< of the log */
	char *times;     /**< of its file of times, which need not exist */
};

/** All logs, by job, replica (worker-2 before worker-10) and container. All zero is none. */
struct rh_page_files {
	struct rh_page_file *items; /**< owned */
	size_t count;
	size_t capacity;
};

/**
 * Find the logs of a run. Where its state cannot be read, all that lie in its folder count. Blocks for the folders; one
 * that cannot be read has no logs.
 * @param[out] ret_files owned by the caller, also after a failure
 * @return 0 or RH_ENOMEM
 */
int rh_page_files_find(const struct rh_kept *kept, struct rh_page_files *ret_files);
/** Free what @p files has. */
void rh_page_files_deinit(struct rh_page_files *files);

/** Logs that are freed when they go out of scope. */
#define rh_auto_page_files __attribute__((cleanup(rh_page_files_deinit))) struct rh_page_files

#endif

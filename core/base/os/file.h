/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/os/file.h
 * @brief Read, write and remove files and folders.
 */
#ifndef RH_BASE_OS_FILE_H
#define RH_BASE_OS_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/error.h"
#include "base/mem.h"

/**
 * Read a whole file (also a pipe, as a shell's <(command) is one), or standard input for "-". Blocks.
 * @param limit most bytes; a larger file is refused by name and size before it is read
 * @param[out] ret_text zero-terminated, owned by the caller
 * @param[out] ret_length bytes without the zero; may be NULL
 * @return 0, RH_EIO, RH_ENOENT, RH_EINVAL (too large, a directory) or RH_ENOMEM
 */
int rh_file_read(const char *path, size_t limit, char **ret_text, size_t *ret_length, struct rh_error *err);
/** rh_file_read() of an open descriptor, from its position to its end; @p name is for messages. */
int rh_fd_read(int fd, const char *name, size_t limit, char **ret_text, size_t *ret_length, struct rh_error *err);
/**
 * Write all bytes to @p path so that a reader sees the old file or the whole new one (temporary file, fsync, rename).
 * @return 0 or RH_EIO
 */
int rh_file_write_atomic(const char *path, const char *bytes, size_t length, mode_t mode, struct rh_error *err);
/** Write all bytes to an open descriptor; goes on after EINTR and short writes. @return 0 or RH_EIO */
int rh_fd_write_all(int fd, const char *bytes, size_t length, struct rh_error *err);
/** Make @p path and its parents, as `mkdir -p`, with @p mode less the umask. @return 0 or RH_EIO */
int rh_dir_make(const char *path, mode_t mode, struct rh_error *err);
/** As rh_dir_make(), but new folders have exactly @p mode: the umask is ignored. @return 0 or RH_EIO */
int rh_dir_make_exact(const char *path, mode_t mode, struct rh_error *err);
/**
 * Remove a folder and all below it, however deep, without following links. A missing one is success.
 * @return 0 or RH_EIO
 */
int rh_dir_remove(const char *path, struct rh_error *err);
/** @return "base/name" owned by the caller (@p name alone when it is absolute), or NULL when memory is out */
char *rh_path_join(const char *base, const char *name) __attribute__((warn_unused_result));
/** @return the folder that the file is in, "." for a bare name, owned by the caller; or NULL when memory is out */
char *rh_path_folder(const char *path) __attribute__((warn_unused_result));
/**
 * Find what a path that leads nowhere may mean, for "did you mean". Blocks for the folder.
 * @param folder where relative paths start
 * @return @p path with the nearest name of its folder in place of its last one (rh_nearest()), owned by the caller;
 * NULL: none is near enough, the folder cannot be read, or memory is out
 */
char *rh_path_nearest(const char *folder, const char *path) __attribute__((warn_unused_result));
/**
 * Find the folder of the running program. @param[out] ret_folder owned by the caller; NULL when it is unknown.
 * @return 0 or RH_ENOMEM
 */
int rh_program_folder(char **ret_folder);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/library/trust.h
 * @brief Whether a file that is to be loaded is out of the reach of others.
 *
 * Code and configuration run with the rights of whoever loads them, so whoever can change them, or put others in their
 * place, has these rights. librhcomm, which depends on nothing of the core, is built with this file, too: it uses the C
 * library alone.
 */
#ifndef RH_BASE_LIBRARY_TRUST_H
#define RH_BASE_LIBRARY_TRUST_H

#include <limits.h>
#include <stddef.h>

/**
 * Open a regular file to read, and see that only root, the caller, and whoever can replace @p self anyway, can change
 * it: the file and every folder above it, behind all links, belong to root, to the caller or to the owner of @p self,
 * and neither group nor others may write to them. These do not count: the write bits of a folder that is sticky (only
 * owners remove and rename what is in it), those of a read-only mount, those of a group that may write to @p self or
 * into its folder, and the folders that @p self lies in.
 *
 * What passes stays what it is under its name @p ret_real until somebody who is trusted changes it, because nobody else
 * may write to any folder on the way. So the name may be handed on, for instance to dlopen(), which finds $ORIGIN only
 * by name. Blocks as open() does; may be called from any thread.
 *
 * @param self the program or library that loads it; NULL: none, or unknown
 * @param[out] ret_real the file's path without links
 * @param[out] ret_why on failure what is wrong and what to do; cut to @p room bytes
 * @return the descriptor, close-on-exec, owned by the caller; or -1
 */
int rh_trust_open(const char *path, const char *self, char ret_real[PATH_MAX], char *ret_why, size_t room);
/**
 * See that nobody else can put a file into the folder @p path, by the rules of rh_trust_open(); that it is sticky does
 * not help. Where the folder does not exist, that holds for the nearest one above it that exists: nobody else may be
 * able to make it.
 * @param path absolute. @param self as of rh_trust_open()
 * @param[out] ret_why on failure what is wrong and what to do; cut to @p room bytes
 * @return 0 or -1
 */
int rh_trust_folder(const char *path, const char *self, char *ret_why, size_t room);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/library/sealed.h
 * @brief A copy of a file in memory that nobody can change any more, not even this process.
 *
 * A file that is mapped shows what is written to it later. So what is to be loaded because of its content (a hash, a
 * signature) is copied first, the copy is checked, and the copy is loaded. librhcomm is built with this file, too: it
 * uses the C library alone.
 */
#ifndef RH_BASE_LIBRARY_SEALED_H
#define RH_BASE_LIBRARY_SEALED_H

#include <stddef.h>

/** Room for the name of a copy. */
#define RH_SEALED_NAME_SIZE 32

/**
 * Copy the file behind @p fd into memory (memfd_create) and seal it against writing, growing and shrinking. Blocks on
 * the file. @param name what /proc/self/maps shows. @param limit most bytes
 * @param[out] ret_why on failure what is wrong and what to do; cut to @p room bytes
 * @return the descriptor, close-on-exec, owned by the caller; or -1
 */
int rh_sealed_copy(int fd, const char *name, size_t limit, char *ret_why, size_t room);
/** Write the name under which this process, and what it forks, can open the copy: "/proc/self/fd/N". */
void rh_sealed_name(int fd, char ret_name[RH_SEALED_NAME_SIZE]);
/** @return the descriptor that such a name names, or -1 when it is the name of something else */
int rh_sealed_descriptor(const char *name);

#endif

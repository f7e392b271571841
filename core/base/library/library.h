/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/library/library.h
 * @brief Loads a shared object together with the libraries that it brings along, all of which are checked before.
 *
 * librhcomm is built with this file, too: it uses the C library alone.
 */
#ifndef RH_BASE_LIBRARY_LIBRARY_H
#define RH_BASE_LIBRARY_LIBRARY_H

#include <stddef.h>

/** A shared object that is to be loaded. All borrowed. */
struct rh_library {
	int fd;           /**< the file, open to read */
	const char *real; /**< its path without links, of which $ORIGIN is the folder */
	const char *name; /**< what is loaded: @ref real, or the name of a copy of the file (base/library/sealed.h) */
	const char *self; /**< the program or library that loads it (base/library/trust.h) */
};

/**
 * Load a shared object with dlopen(RTLD_NOW | RTLD_LOCAL), which runs its constructors. Before that, whatever the
 * object's RPATH and RUNPATH make the system's loader look at is checked by the rules of base/library/trust.h: each
 * folder that they name, each library that they bring in, and what these name and bring in. A relative folder is
 * refused, because the current folder would decide. What is found nowhere there comes from the folders of the system,
 * or from those that $LD_LIBRARY_PATH names for whoever runs the program, and is not checked.
 * @param[out] ret_why on failure what is wrong and what to do; cut to @p room bytes
 * @return the handle for rh_library_close(), or NULL
 */
void *rh_library_open(const struct rh_library *library, char *ret_why, size_t room);
/** Unload it. A copy's descriptor, which @ref rh_library.name names, is closed behind it. */
void rh_library_close(void *handle);

#endif

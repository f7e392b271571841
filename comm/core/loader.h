/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/loader.h
 * @brief Loads backends: built in, or from shared objects beside the library.
 */
#ifndef RH_COMM_CORE_LOADER_H
#define RH_COMM_CORE_LOADER_H

#include <stddef.h>

#include "roundhouse/comm_backend.h"

/** Room for the name of a backend, with its NUL. */
#define RH_COMM_NAME_MAX 32

/** Room for the reason why a backend is not available. */
#define RH_COMM_WHY_ROOM 200
/** File names of backends: prefix, name, suffix. */
#define RH_COMM_FILE_PREFIX "librhcomm_"
#define RH_COMM_FILE_SUFFIX ".so"

/** The backend that is always available: shared memory and TCP (comm/native). */
extern const struct rh_comm_backend rh_comm_native;

/** A loaded backend. All zero: none. */
struct rh_comm_module {
	const struct rh_comm_backend *backend;
	void *library; /**< of rh_library_open(); NULL: it is built in */
};

/**
 * Load a backend by name, without asking other ranks.
 * @param[out] why RH_COMM_WHY_ROOM bytes: one line that says why it is not available. @return 0 or RH_COMM_ENOTSUP
 */
int32_t rh_comm_module_open(const char *name, struct rh_comm_module *ret_module, char *why);
/** Unload it and clear the module. */
void rh_comm_module_close(struct rh_comm_module *module);
/** Get the folder in which backends are found. @param[out] folder ends with a slash; "" when it is unknown */
void rh_comm_module_folder(char *folder, size_t room);

#endif

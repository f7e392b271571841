/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/memory/symbols.h
 * @brief Libraries that are loaded at run time, and tables of their functions.
 *
 * The backend nccl is linked with this file, too, so it depends on nothing of the library.
 */
#ifndef RH_COMM_CORE_MEMORY_SYMBOLS_H
#define RH_COMM_CORE_MEMORY_SYMBOLS_H

#include <stddef.h>

/** One function: the place for its address, and its name. */
struct rh_comm_symbol {
	size_t offset; /**< of the pointer in the caller's struct */
	const char *name;
};

/**
 * Load the first of @p names that is loaded already, else the first that can be.
 * @param own the only file to load, from the environment; NULL or "": @p names are tried. @param names ends with NULL
 * @return the caller's, for dlclose(); NULL: none
 */
void *rh_comm_symbols_open(const char *own, const char *const *names);
/** rh_comm_symbols_open() for the CUDA runtime; RH_COMM_CUDART is the one file. */
void *rh_comm_symbols_open_cuda(void);
/** Look all of them up. @param table the struct. @return NULL, or the name of one that is missing */
const char *rh_comm_symbols_find(void *library, const struct rh_comm_symbol *symbols, size_t count, void *table);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/exports.h
 * @brief Which symbols a shared object exports, read from its file.
 */
#ifndef RH_CONFORMANCE_EXPORTS_H
#define RH_CONFORMANCE_EXPORTS_H

#include <stddef.h>

#include "base/str.h"

/**
 * List the symbols that others could use, beside @p expected and what linkers add. Pure.
 * @param file content of a 64-bit ELF file; any other has none
 * @param[out] ret_names appended: the first few, with commas between them
 * @return how many there are
 */
size_t rh_exports(const char *file, size_t length, const char *expected, struct rh_str *ret_names);

#endif

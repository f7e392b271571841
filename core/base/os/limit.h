/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/os/limit.h
 * @brief Limits of this process.
 */
#ifndef RH_BASE_OS_LIMIT_H
#define RH_BASE_OS_LIMIT_H

#include <stdint.h>

/**
 * Set both limits of @p resource (RLIMIT_AS) to @p most, so that neither can be raised again. A hard limit that is
 * lower stays, and so do both where the kernel refuses.
 */
void rh_limit_lower(int resource, uint64_t most);

#endif

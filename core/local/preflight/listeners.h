/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/preflight/listeners.h
 * @brief Which process listens on a TCP port of this machine, from /proc.
 */
#ifndef RH_LOCAL_PREFLIGHT_LISTENERS_H
#define RH_LOCAL_PREFLIGHT_LISTENERS_H

#include <stdbool.h>
#include <stdint.h>

#include "local/preflight/preflight.h"

/** @see rh_preflight_port_fn; @p arg is not used. Blocks for files in /proc. */
bool rh_preflight_listener(void *arg, int32_t port, bool everywhere, char who[RH_PREFLIGHT_WHO_SIZE]);

#endif

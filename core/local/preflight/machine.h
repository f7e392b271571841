/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/preflight/machine.h
 * @brief The facts of this machine for a preflight.
 */
#ifndef RH_LOCAL_PREFLIGHT_MACHINE_H
#define RH_LOCAL_PREFLIGHT_MACHINE_H

#include "local/preflight/preflight.h"

/** Read them. $PATH is borrowed from the environment. Blocks for the devices. @param can_mount what
 * rh_runtime_spec_can_mount() says; of no account where no job has volumes */
void rh_preflight_machine_read(bool can_mount, struct rh_preflight_machine *ret_machine);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/holds.h
 * @brief What all runs of one user on this machine share out among themselves: numbers, each held by one process at a
 * time.
 *
 * A number is a byte of one file, held by a lock on it that belongs to the open file (F_OFD_SETLK): it ends with the
 * process, however that ends, and no number of holds needs more than one descriptor. The file goes when the last
 * process that has it open closes it.
 */
#ifndef RH_LOCAL_HOLDS_H
#define RH_LOCAL_HOLDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"

/** @name Where the ranges of numbers start @{ */
#define RH_HOLD_PORT INT64_C(0x10000)  /**< + port */
#define RH_HOLD_BLOCK INT64_C(0x20000) /**< + x * 256 + y of the addresses 127.x.y.* */
#define RH_HOLD_GPU INT64_C(0x30000)   /**< + number of the device */
/** @} */

/** Opaque: the open file. */
struct rh_holds;

/** Make @p folder (mode 0700) if need be, check that it is the caller's own, and open the file. @return 0, RH_EINVAL
 * (not the caller's own), RH_EIO or RH_ENOMEM */
int rh_holds_open(const char *folder, struct rh_holds **ret_holds, struct rh_error *err);
/** Give back all that is held. NULL is nothing. */
void rh_holds_free(struct rh_holds *holds);
RH_DEFINE_CLEANUP(holds);
/** Take @p number, which this process must not hold already. Never blocks. @return false when another process holds it
 */
bool rh_holds_take(struct rh_holds *holds, int64_t number);
/** Give @p number back. */
void rh_holds_drop(struct rh_holds *holds, int64_t number);
/** Make @p folder with mode 0700 if need be. One that is there must belong to the caller, and nobody else may write
 * into it: others could put files in the way. Its mode is left as it is, for it may be any folder that a user named.
 * @return 0, RH_EINVAL or RH_EIO */
int rh_holds_folder(const char *folder, struct rh_error *err);

#endif

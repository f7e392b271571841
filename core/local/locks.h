/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/locks.h
 * @brief What all runs of one user on this machine share out among themselves: numbers, each held by one process at a
 * time.
 *
 * A number is a byte of one file, held by a lock on it that belongs to the open file (F_OFD_SETLK): it ends with the
 * process, however that ends, and no number of holds needs more than one descriptor. The file goes when the last
 * process that has it open closes it.
 */
#ifndef RH_LOCAL_LOCKS_H
#define RH_LOCAL_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"

/** @name Where the ranges of numbers start @{ */
#define RH_LOCK_PORT INT64_C(0x10000)  /**< + port */
#define RH_LOCK_BLOCK INT64_C(0x20000) /**< + x * 256 + y of the addresses 127.x.y.* */
#define RH_LOCK_GPU INT64_C(0x30000)   /**< + number of the device */
/** @} */

/** Opaque: the open file. */
struct rh_locks;

/** Make @p folder (mode 0700) if need be, check that it is the caller's own, and open the file. @return 0, RH_EINVAL
 * (not the caller's own), RH_EIO or RH_ENOMEM */
int rh_locks_open(const char *folder, struct rh_locks **ret_holds, struct rh_error *err);
/** Give back all that is held. NULL is nothing. */
void rh_locks_free(struct rh_locks *locks);
RH_DEFINE_CLEANUP(locks);
/** Take @p number, which this process must not hold already. Never blocks. @return false when another process holds it
 */
bool rh_locks_take(struct rh_locks *locks, int64_t number);
/** Give @p number back. */
void rh_locks_drop(struct rh_locks *locks, int64_t number);
/** Make @p folder with mode 0700 if need be. One that is there must belong to the caller, and nobody else may write
 * into it: others could put files in the way. Its mode is left as it is, for it may be any folder that a user named.
 * @return 0, RH_EINVAL or RH_EIO */
int rh_locks_folder(const char *folder, struct rh_error *err);

#endif

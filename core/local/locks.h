/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/locks.h
 * @brief Locks that the runs of one user on this machine share: numbers, each held by at most one process.
 *
 * A number is a byte of one file, locked by an open file description lock (F_OFD_SETLK): the lock ends with the
 * process, and all locks share one descriptor. The last process that closes the file removes it.
 */
#ifndef RH_LOCAL_LOCKS_H
#define RH_LOCAL_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"

/** @name Starts of the ranges of numbers @{ */
#define RH_LOCK_PORT INT64_C(0x10000)  /**< + port */
#define RH_LOCK_BLOCK INT64_C(0x20000) /**< + x * 256 + y of the addresses 127.x.y.* */
#define RH_LOCK_GPU INT64_C(0x30000)   /**< + number of the device */
/** @} */

/** Opaque: the open file. */
struct rh_locks;

/** Create @p folder with mode 0700 if it is missing, check that it belongs to the caller, and open the file.
 * @param[out] ret_holds owned by the caller. @return 0, RH_EINVAL (another owner), RH_EIO or RH_ENOMEM */
int rh_locks_open(const char *folder, struct rh_locks **ret_holds, struct rh_error *err);
/** Release all locks and free @p locks. NULL is ignored. */
void rh_locks_free(struct rh_locks *locks);
RH_DEFINE_CLEANUP(locks);
/** Take @p number, which this process must not hold. Never blocks. @return false when another process holds it
 */
bool rh_locks_take(struct rh_locks *locks, int64_t number);
/** Release @p number. */
void rh_locks_drop(struct rh_locks *locks, int64_t number);
/** Create @p folder with mode 0700 if it is missing. An existing one must belong to the caller and be writable for
 * the owner only, because others could place files there. Its mode is not changed, because the user may have chosen the
 * folder.
 * @return 0, RH_EINVAL or RH_EIO */
int rh_locks_folder(const char *folder, struct rh_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/os/notify.h
 * @brief Changes in folders, by inotify(7): a file is written, comes, goes or is renamed.
 *
 * What changed is not reported: who is called looks for itself. A mounted ConfigMap or Secret, whose files are links
 * through ..data, changes by a rename of that link in its folder, so watching the folder is enough.
 */
#ifndef RH_BASE_OS_NOTIFY_H
#define RH_BASE_OS_NOTIFY_H

#include "base/error.h"
#include "base/mem.h"
#include "base/os/loop.h"

/** Opaque. */
struct rh_notify;

/** Something changed in a folder that is watched. */
typedef void rh_notify_fn(void *arg);

/**
 * @param loop borrowed for the life of the object. @param[out] ret_notify owned by the caller
 * @return 0, RH_ENOMEM, or RH_EIO (the system allows no further inotify instance)
 */
int rh_notify_new(struct rh_loop *loop, rh_notify_fn *fn, void *arg, struct rh_notify **ret_notify,
                  struct rh_error *err);
/**
 * Watch a folder, in place of the one that had the path before. It is watched until it is removed, or renamed away.
 * @return 0, RH_ENOENT (there is no such folder) or RH_EIO
 */
int rh_notify_add(struct rh_notify *notify, const char *folder, struct rh_error *err);
/** End all watches. NULL is ignored. */
void rh_notify_free(struct rh_notify *notify);
RH_DEFINE_CLEANUP(notify);

#endif

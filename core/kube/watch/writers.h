/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/watch/writers.h
 * @brief What of metadata.managedFields a watch passes on.
 */
#ifndef RH_KUBE_WATCH_WRITERS_H
#define RH_KUBE_WATCH_WRITERS_H

#include "base/json.h"

/**
 * Leave of metadata.managedFields the entries with f:spec: in which version, and when. All of it is often half of the
 * object. @return 0 or RH_ENOMEM
 */
int rh_writers_trim(struct rh_json *object);

#endif

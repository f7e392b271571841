/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/pod/fields.h
 * @brief The Kubernetes downward API: fieldRef and resourceFieldRef.
 */
#ifndef RH_LOCAL_POD_FIELDS_H
#define RH_LOCAL_POD_FIELDS_H

#include "local/pod/context.h"

/**
 * Read a field: metadata.name, namespace, uid, labels['KEY'], annotations['KEY'] or all labels or annotations;
 * spec.nodeName, spec.serviceAccountName; status.hostIP, hostIPs, podIP, podIPs. A missing label is "".
 * @param[out] ret_text owned by the caller
 * @return 0, RH_EINVAL (no such field) or RH_ENOMEM
 */
int rh_pod_field(const struct rh_pod_context *context, const char *path, char **ret_text, struct rh_error *err);
/**
 * Read a resource of a container: {"containerName"?, "resource": "limits.cpu", "divisor"?}. The default of a limit is
 * the machine's capacity; the default of a request is the limit, or 0.
 * @param container the container with the reference; NULL: containerName is required
 * @return as rh_pod_field()
 */
int rh_pod_resource(const struct rh_pod_context *context, const struct rh_json *container,
                    const struct rh_json *reference, char **ret_text, struct rh_error *err);
/** Read a quantity of a container, @p list "limits" or "requests". @return 1 and *@p ret_milli; 0: not set; RH_EINVAL
 */
int rh_pod_quantity(const struct rh_json *container, const char *list, const char *resource, int64_t *ret_milli,
                    struct rh_error *err);

#endif

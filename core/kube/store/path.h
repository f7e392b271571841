/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/store/path.h
 * @brief Paths of an API server, percent-encoded (RFC 3986).
 */
#ifndef RH_KUBE_STORE_PATH_H
#define RH_KUBE_STORE_PATH_H

#include <stddef.h>

#include "base/str.h"
#include "store/store.h"

/** The target of a path. All borrowed. */
struct rh_kube_target {
	const struct rh_resource *resource;
	const char *namespace_;  /**< NULL: all namespaces */
	const char *name;        /**< NULL: the collection */
	const char *subresource; /**< "status"; NULL: none */
};

/** Append the path: "/api/v1/namespaces/default/pods/p", "/apis/kubeflow.org/v1/pytorchjobs". */
void rh_kube_path_append(struct rh_str *out, const struct rh_kube_target *target);
/** Append one parameter to a query, with & behind an earlier one: "watch=true&labelSelector=a%2Fb". */
void rh_kube_query_add(struct rh_str *query, const char *key, const char *value);
/** Append a query to a path: "?", and what rh_kube_query_add() has put into @p query. Nothing if that is empty. */
void rh_kube_path_query(struct rh_str *path, const struct rh_str *query);
/** Append @p text with everything but RFC 3986's unreserved characters encoded. */
void rh_kube_path_encode(struct rh_str *out, const char *text);
/** Append the display name of a resource: "pods", "pytorchjobs.kubeflow.org". */
void rh_kube_path_resource(struct rh_str *out, const struct rh_resource *resource);

#endif

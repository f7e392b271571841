/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/json/path.h
 * @brief Values of a JSON tree by their path. Other users include base/json.h.
 */
#ifndef RH_BASE_JSON_PATH_H
#define RH_BASE_JSON_PATH_H

#include <stddef.h>

#include "base/json/value.h"

/**
 * Walk a path of members and items: "spec.template.containers[0].name"; a key with dots stands in brackets and quotes:
 * `metadata.labels["training.kubeflow.org/job-name"]`. A path that is not well formed finds nothing.
 * @return borrowed, or NULL when any step is absent
 */
struct rh_json *rh_json_at(const struct rh_json *json, const char *path);
/** Where a list was looked at last. All zero is nowhere. Good until the tree is changed. */
struct rh_json_spot {
	const struct rh_json *list;
	struct rh_json *item;
	size_t index; /**< of the item */
};

/** As rh_json_at(); items of one list that are asked for in their order are found at once. @param spot NULL: none */
struct rh_json *rh_json_at_near(const struct rh_json *json, const char *path, struct rh_json_spot *spot);
/** @return the string at @p path, borrowed, or NULL when it is absent or no string */
const char *rh_json_string_at(const struct rh_json *json, const char *path);
/**
 * Find an item of a list by what it is called, as Kubernetes' lists of conditions and containers have it.
 * @param list NULL, or no list: nothing is found
 * @return the first item whose member @p key is the string @p text, borrowed; NULL: there is none, or @p text is NULL
 */
struct rh_json *rh_json_find(const struct rh_json *list, const char *key, const char *text);

#endif

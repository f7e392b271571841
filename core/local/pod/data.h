/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/pod/data.h
 * @brief Decoded data of a ConfigMap or Secret.
 */
#ifndef RH_LOCAL_POD_DATA_H
#define RH_LOCAL_POD_DATA_H

#include <stdbool.h>
#include <stddef.h>

#include "local/pod/context.h"

/** One entry. */
struct rh_data_item {
	const char *key; /**< borrowed from the object */
	char *bytes;     /**< owned, NUL-terminated */
	size_t length;
	bool binary; /**< of a ConfigMap's binaryData: allowed in files, not in variables, as in the kubelet */
};

/** All entries. All zero is empty. */
struct rh_data {
	struct rh_data_item *items;
	size_t count;
};

/** Free what @p data owns and make it empty. */
void rh_data_deinit(struct rh_data *data);
/**
 * Find the object that @p reference ({"name", "optional"?}) names and decode it.
 * @param kind "ConfigMap" or "Secret"
 * @param[out] ret_data must be empty; the caller deinitialises it
 * @return 1; 0: missing and optional; RH_ENOENT: missing; RH_EINVAL: malformed object; RH_ENOMEM
 */
int rh_data_find(const struct rh_pod_context *context, const char *kind, const struct rh_json *reference,
                 struct rh_data *ret_data, struct rh_error *err);
/** @return the entry @p key, or NULL */
const struct rh_data_item *rh_data_item(const struct rh_data *data, const char *key);
/** @return @p kind as Kubernetes writes it in messages: "configmap" */
const char *rh_data_name(const char *kind);

/** Local data that is freed when it goes out of scope. */
#define rh_auto_data __attribute__((cleanup(rh_data_deinit))) struct rh_data

#endif

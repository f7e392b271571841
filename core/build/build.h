/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file build/build.h
 * @brief The bodies of a job's objects: pods, Services, and what the plugin adds. Pure: same job, same bodies.
 *
 * A builder computes once for each job what is constant: copies of the templates with ports and labels, and the
 * plugin's edits that do not differ between replicas.
 */
#ifndef RH_BUILD_BUILD_H
#define RH_BUILD_BUILD_H

#include "host/operations.h"

/** Opaque builder for one job. */
struct rh_builder;

/**
 * @param snapshot job, addresses and attempt are used; they are borrowed for the life of the builder
 * @return 0 or RH_ENOMEM
 */
int rh_builder_new(const struct rh_snapshot *snapshot, struct rh_builder **ret_builder, struct rh_error *err);
/** Add the job's controller owner reference to @p metadata (v1-behaviour C.1). @return 0 or RH_ENOMEM */
int rh_build_owner(const struct rh_job *job, struct rh_json *metadata);
/** Free it. NULL is allowed. */
void rh_builder_free(struct rh_builder *builder);
RH_DEFINE_CLEANUP(builder);
/**
 * Make the Pod of a replica (v1-behaviour C.1, C.2, A.3-5, and the plugin's part). @param[out] ret_pod owned by the
 * caller.
 * @return 0, RH_EPLUGIN, RH_EINVAL or RH_ENOMEM
 */
int rh_build_pod(struct rh_builder *builder, const char *type, int32_t index, struct rh_json **ret_pod,
                 struct rh_error *err);
/**
 * Make the headless Service of a replica (v1-behaviour D.1). @param[out] ret_service owned by the caller.
 * @return 0 or RH_ENOMEM
 */
int rh_build_service(struct rh_builder *builder, const char *type, int32_t index, struct rh_json **ret_service,
                     struct rh_error *err);
/**
 * Make the further objects (v1-behaviour D.5 for PyTorch; the PodGroup where there is a gang scheduler), namespace and
 * owner added. @param[out] ret_objects an array, owned by the caller.
 * @return as rh_build_pod()
 */
int rh_build_objects(struct rh_builder *builder, struct rh_json **ret_objects, struct rh_error *err);
/**
 * Let the plugin make @p object, one of rh_build_objects() whose content comes from random bytes or a pair of keys
 * (job/keep.h), and add what rh_build_objects() adds. @param snapshot as for rh_builder_new()
 * @param[out] ret_object owned by the caller, who frees it by rh_json_free_secret()
 * @return as rh_build_pod(), or RH_EAGAIN while the kernel has no random bytes yet
 */
int rh_build_made(const struct rh_snapshot *snapshot, const struct rh_json *object, struct rh_json **ret_object,
                  struct rh_error *err);

#endif

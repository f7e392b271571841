/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/preflight/parts.h
 * @brief What the rules of the preflight share. For core/local/preflight alone.
 */
#ifndef RH_LOCAL_PREFLIGHT_PARTS_H
#define RH_LOCAL_PREFLIGHT_PARTS_H

#include "local/preflight/preflight.h"

/** One pod under check. All borrowed. */
struct rh_preflight_pod {
	const struct rh_preflight *all;
	const char *folder;              /**< of the job's file */
	const char *namespace_;          /**< of the job */
	const struct rh_json *spec;      /**< of the pod, with what the plugin adds */
	const struct rh_json *template_; /**< of the template: what the user can correct */
	const char *place;               /**< of the template's spec: "spec.pytorchReplicaSpecs[Master].template.spec" */
	struct rh_findings *findings;
};

/** One container of it. */
struct rh_preflight_container {
	const struct rh_preflight_pod *pod;
	const struct rh_json *json; /**< with what the plugin adds */
	const char *place;          /**< "….template.spec.containers[0]" */
	bool after_init;            /**< init containers run before it, and may make files */
};

/** Check image, command, script and working directory. @return 0 or RH_ENOMEM */
int rh_preflight_program(const struct rh_preflight_container *container);
/** Check the ConfigMaps and Secrets that its variables come from. @return 0 or RH_ENOMEM */
int rh_preflight_variables(const struct rh_preflight_container *container);
/** Check that the reference {"name", "key"?, "optional"?} of @p kind can be resolved. @param name_member "name" or
 * "secretName". @return 0 or RH_ENOMEM */
int rh_preflight_reference(const struct rh_preflight_pod *pod, const char *place, const char *kind,
                           const struct rh_json *reference, const char *name_member);
/** Check the ports that its command, arguments and variables fix. @return 0 or RH_ENOMEM */
int rh_preflight_ports(const struct rh_preflight_container *container);
/** Check the port that the template sets for its kind. @return 0 or RH_ENOMEM */
int rh_preflight_own_port(const struct rh_preflight_pod *pod, const struct rh_job *job,
                          const struct rh_replica_spec *spec);
/** Check the volumes of a pod. @return 0 or RH_ENOMEM */
int rh_preflight_volumes(const struct rh_preflight_pod *pod);
/**
 * Find where the absolute @p path of a container lies on this machine, by its volumeMounts.
 * @param[out] ret_real owned by the caller; NULL: it cannot be known before the start
 * @return 0 or RH_ENOMEM
 */
int rh_preflight_real(const struct rh_preflight_container *container, const char *path, char **ret_real);

#endif

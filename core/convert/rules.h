/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file convert/rules.h
 * @brief Rules of conversion, as data, and what applies them. For core/convert alone.
 */
#ifndef RH_CONVERT_RULES_H
#define RH_CONVERT_RULES_H

#include <stdbool.h>

#include "convert/convert.h"

/** API of the target RH_CONVERT_TRAINJOB. */
#define RH_CONVERT_TRAINER "trainer.kubeflow.org/v1alpha1"
/** A kind, and the member of the object under conversion that is to become an object of its own. */
#define RH_CONVERT_RUNTIME "TrainingRuntime"
#define RH_CONVERT_CLUSTER_RUNTIME "ClusterTrainingRuntime" /**< a runtime for all namespaces */
#define RH_CONVERT_TRAINJOB_KIND "TrainJob"                 /**< the only job of that API */

/** Most versions of one step from an API to another. */
#define RH_CONVERT_VERSIONS_MAX 3

struct rh_convert_rule;

/** A field that a rule was found to fit. */
struct rh_convert_field {
	struct rh_conversion *conversion; /**< its object is being rewritten */
	const struct rh_convert_rule *rule;
	struct rh_json *parent; /**< object that has the member, or could have it; borrowed */
	const char *key;        /**< the member; borrowed */
	const char *path;       /**< where it stands, as users write it: "spec.mpiReplicaSpecs[Worker].replicas" */
	const char *star;       /**< the key that "[*]" stands for; NULL: the rule has none */
};

/** What a note says about a field. */
struct rh_convert_remark {
	enum rh_convert_effect effect;
	const char *to;     /**< the new place or value; NULL: none */
	const char *detail; /**< the consequence; NULL: none */
};

/** What becomes of one field. A row with path NULL ends a list. */
struct rh_convert_rule {
	/**
	 * "spec.mpiReplicaSpecs[Worker].restartPolicy"; "[*]" is each member of a map. A rule whose maps are absent does
	 * not apply, but for a default of a field that is in no member of a map: the maps are made then
	 */
	const char *path;
	const char *to; /**< the new place, with "[*]" for the same member; NULL: the old one */
	enum rh_convert_effect effect;
	const char *value; /**< JSON that takes the value's place; NULL: the value itself. For @p apply its argument */
	const char *when;  /**< only for this value, as JSON; NULL: any */
	bool absent;       /**< only where there is no value: another default; needs @p value */
	const char *why;   /**< the consequence, for notes and documentation; NULL: none */
	/** In place of the above. @return 0, RH_EINVAL or RH_ENOMEM */
	int (*apply)(const struct rh_convert_field *field, struct rh_error *err);
};

/** One step from an API to another. */
struct rh_convert_api {
	const char *group;
	const char *versions[RH_CONVERT_VERSIONS_MAX + 1]; /**< NULL ends them */
	const char *kind;
	const char *policy; /**< member that the mlPolicy of a TrainJob's runtime has; NULL: the kind has no runtime */
	const char *to_api; /**< "kubeflow.org/v1" */
	const char *to_kind;
	const struct rh_convert_rule *const *rules; /**< lists, in order; NULL ends them */
};

/** All steps; a row with group NULL ends them. */
extern const struct rh_convert_api rh_convert_apis[];

/** Rules of V1's kinds before they had spec.runPolicy. */
extern const struct rh_convert_rule rh_convert_flat_policy[];
/** TFJob and PyTorchJob of v1alpha1, whose replicas are a list. */
extern const struct rh_convert_rule rh_convert_tf_list[];
extern const struct rh_convert_rule rh_convert_pytorch_list[]; /**< @see rh_convert_tf_list */
/** Defaults of TFJob, MXJob and XGBoostJob that V1 changed. */
extern const struct rh_convert_rule rh_convert_clean_running[];
/** MPIJob of v1alpha1: one template, and a number of GPUs. */
extern const struct rh_convert_rule rh_convert_mpi_units[];
extern const struct rh_convert_rule rh_convert_mpi_alpha2[]; /**< MPIJob of v1alpha2 */
/** What an MPIJob of both had where it set no backoffLimit. */
extern const struct rh_convert_rule rh_convert_mpi_backoff[];
extern const struct rh_convert_rule rh_convert_mpi2_to_v1[]; /**< MPIJob of v2beta1 to v1 */
extern const struct rh_convert_rule rh_convert_v1_to_mpi2[]; /**< and back */
/** PyTorchJob of v1 to Trainer's TrainJob. Behind each such list comes that of runPolicy. */
extern const struct rh_convert_rule rh_convert_pytorch_to_trainjob[];
extern const struct rh_convert_rule rh_convert_xgboost_to_trainjob[]; /**< @see rh_convert_pytorch_to_trainjob */
extern const struct rh_convert_rule rh_convert_jax_to_trainjob[];     /**< @see rh_convert_pytorch_to_trainjob */
/** MPIJob of v1 to TrainJob: the launcher, workers with sshd. */
extern const struct rh_convert_rule rh_convert_mpi_to_trainjob[];
extern const struct rh_convert_rule rh_convert_mpi2_to_trainjob[];   /**< MPIJob of v2beta1, likewise */
extern const struct rh_convert_rule rh_convert_tf_to_trainjob[];     /**< a replicated job for each type */
extern const struct rh_convert_rule rh_convert_paddle_to_trainjob[]; /**< likewise */
/** What a job of V1 without a limit of restarts gets. */
extern const struct rh_convert_rule rh_convert_backoff_to_trainjob[];
/** What becomes of runPolicy in a TrainJob. */
extern const struct rh_convert_rule rh_convert_policy_to_trainjob[];
/** What of a TrainJob is the same for all kinds of V1, before and after the rules of the kind. */
extern const struct rh_convert_rule rh_convert_trainjob_first[];
extern const struct rh_convert_rule rh_convert_trainjob_last[]; /**< @see rh_convert_trainjob_first */
/** The replicated job "node" of a runtime to the replicas of PyTorchJob, XGBoostJob and JAXJob. */
extern const struct rh_convert_rule rh_convert_torch_to_v1[];
extern const struct rh_convert_rule rh_convert_xgboost_to_v1[]; /**< @see rh_convert_torch_to_v1 */
extern const struct rh_convert_rule rh_convert_jax_to_v1[];     /**< @see rh_convert_torch_to_v1 */
extern const struct rh_convert_rule rh_convert_nodes_backoff[]; /**< the limit of restarts of "node" */
extern const struct rh_convert_rule rh_convert_mpi_to_v1[];     /**< "launcher" and "node" to an MPIJob of v1 */

/** Apply one rule to the whole object. @return 0, RH_EINVAL or RH_ENOMEM */
int rh_convert_apply(struct rh_conversion *conversion, const struct rh_convert_rule *rule, struct rh_error *err);
/**
 * Add a note about @p field. @param to the new place or value; NULL: none. @param detail NULL: none
 * @return 0 or RH_ENOMEM
 */
int rh_convert_note(const struct rh_convert_field *field, enum rh_convert_effect effect, const char *to,
                    const char *detail);
/** Add a note about the field at a path. @param format of the path, as of printf. @return 0 or RH_ENOMEM */
int rh_convert_note_at(struct rh_conversion *conversion, const struct rh_convert_remark *remark, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));
/**
 * Add a note for each field in which @p json and @p other differ; where @p other is NULL for each field of @p json.
 * @param path where @p json stands; used as room
 * @return 0 or RH_ENOMEM
 */
int rh_convert_note_tree(struct rh_conversion *conversion, const struct rh_convert_remark *remark, struct rh_str *path,
                         const struct rh_json *json, const struct rh_json *other);
/** @return whether the command or the arguments of @p container name sshd */
bool rh_convert_starts_sshd(const struct rh_json *container);
/**
 * Put @p value (taken; NULL counts as out of memory) at @p path of @p object; maps on the way are made.
 * @param star what "[*]" in the path stands for
 * @return 0; RH_EINVAL: something on the way is not an object; or RH_ENOMEM
 */
int rh_convert_put(struct rh_json *object, const char *path, const char *star, struct rh_json *value,
                   struct rh_error *err);
/** @return the words of notes and tables: "moved", "changed", "implied", "lost" */
const char *rh_convert_effect_name(enum rh_convert_effect effect);

#endif

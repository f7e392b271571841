/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file convert/runtime.h
 * @brief A TrainingRuntime of Kubeflow Trainer 2.3 under construction, out of a job of V1. For core/convert alone.
 */
#ifndef RH_CONVERT_RUNTIME_H
#define RH_CONVERT_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "convert/rules.h"

/** Trainer knows the replicated job of the nodes, and the main container of each, by this name. */
#define RH_RUNTIME_NODE "node"
/** The replicated job that starts mpirun. */
#define RH_RUNTIME_LAUNCHER "launcher"
/** Where the replicated jobs stand in the object under conversion. */
#define RH_RUNTIME_JOBS RH_CONVERT_RUNTIME ".spec.template.spec.replicatedJobs"
/** Label of the template of a replicated job whose container "node" gets what spec.trainer says. */
#define RH_RUNTIME_STEP "trainer.kubeflow.org/trainjob-ancestor-step"
/** Label of a runtime; the SDK skips runtimes without it. */
#define RH_RUNTIME_FRAMEWORK "trainer.kubeflow.org/framework"
/** Exit codes from here on are retried by V1's restartPolicy ExitCode. */
#define RH_RUNTIME_RETRIED 128

/** One replicated job, made of a replica type of V1. All pointers borrowed. */
struct rh_runtime_part {
	const char *name;              /**< of the replicated job: "node" */
	const char *type;              /**< the replica type, as the job writes it */
	const struct rh_json *replica; /**< its replica spec */
	const char *main;              /**< name of the main container; where there is none of it, or NULL: the first */
	const char *restart;           /**< V1's default restartPolicy */
	int64_t pods;                  /**< 0: Trainer's number of nodes */
	bool trainer;                  /**< spec.trainer of the TrainJob is for this one */
	bool job_restarts;             /**< restartPolicy Never has the meaning that a Job gives it, not V1's */
};

/** @return the member of @p types that V1 takes for the type @p name, which may be written in any case, or NULL */
const struct rh_json *rh_runtime_type(const struct rh_json *types, const char *name);
/** @return replicas of a replica spec; @p fallback where there is no number, 0 where @p replica is NULL */
int64_t rh_runtime_replicas(const struct rh_json *replica, int64_t fallback);
/** @return the container of a pod template that is called @p name, else the first one; NULL: there is no container */
struct rh_json *rh_runtime_main(const struct rh_json *template, const char *name);
/**
 * Make the TrainingRuntime of the job under conversion, without replicated jobs, and spec.runtimeRef.
 * @param framework for the label. @param[out] ret_spec spec of the runtime, borrowed
 * @return 0; RH_EINVAL: the job has no name; or RH_ENOMEM
 */
int rh_runtime_begin(const struct rh_convert_field *field, const char *framework, struct rh_json **ret_spec,
                     struct rh_error *err);
/**
 * Append a replicated job. The main container is called "node". Notes say what V1 has and a Job has not. Its
 * backoffLimit is set where restartPolicy alone decides it.
 * @param[out] ret_job the Job's template, with metadata and spec, borrowed
 * @return 0; RH_EINVAL: no container, or two that would be called "node"; or RH_ENOMEM
 */
int rh_runtime_add(const struct rh_convert_field *field, const struct rh_runtime_part *part, struct rh_json **ret_job,
                   struct rh_error *err);
/** Say what becomes of the restart policies of a replica type. @return 0 or RH_ENOMEM */
int rh_runtime_note_restart(const struct rh_convert_field *field, const char *type, const struct rh_json *replica);
/** Let the TrainJob be complete when all pods of @p job are. @return 0 or RH_ENOMEM */
int rh_runtime_succeed_with(const struct rh_convert_field *field, const char *job);
/** Set @p name to @p value in the env of @p container, behind all others. @return 0 or RH_ENOMEM */
int rh_runtime_env(struct rh_json *container, const char *name, const char *value);

#endif

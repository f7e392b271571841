/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file convert/convert.h
 * @brief Jobs from one API to another: the old versions of V1's kinds, MPIJob of the MPI Operator, V1's own, and
 * TrainJob of Kubeflow Trainer.
 *
 * Nothing is dropped in silence: every field that moves, changes or has no counterpart is a note. What the source API
 * did not define is kept where it stands, and `roundhouse lint` finds it there.
 */
#ifndef RH_CONVERT_CONVERT_H
#define RH_CONVERT_CONVERT_H

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"

/** The API that a job is converted to. */
enum rh_convert_target {
	RH_CONVERT_V1,      /**< kubeflow.org/v1 */
	RH_CONVERT_MPI2,    /**< kubeflow.org/v2beta1, of the MPI Operator; for MPIJobs */
	RH_CONVERT_TRAINJOB /**< TrainJob of Kubeflow Trainer, with a TrainingRuntime */
};

/** What happens to a field. */
enum rh_convert_effect {
	RH_CONVERT_MOVED,   /**< the same value in another place */
	RH_CONVERT_CHANGED, /**< another value, or the same with another meaning */
	RH_CONVERT_IMPLIED, /**< left out, because the target does so anyway */
	RH_CONVERT_LOST     /**< no counterpart */
};

/** The result of one conversion. All zero is empty. */
struct rh_conversion {
	struct rh_json *object;  /**< the converted job; owned */
	struct rh_json *runtime; /**< the TrainingRuntime that a TrainJob refers to; owned; NULL: none */
	/**
	 * Owned array of {"effect": "moved"|"changed"|"implied"|"lost", "path", "to", "detail"}; "to" is the new place, or
	 * the new value as JSON, and absent where there is neither; "detail" is the consequence as a sentence without a
	 * full stop, absent where there is none
	 */
	struct rh_json *notes;
	bool lossy; /**< a note is RH_CONVERT_LOST */
};

/** Free what @p conversion owns and make it empty. */
void rh_conversion_deinit(struct rh_conversion *conversion);

/** A local conversion that is freed when it goes out of scope. */
#define rh_auto_conversion __attribute__((cleanup(rh_conversion_deinit))) struct rh_conversion

/**
 * Pure, never blocks.
 * @return whether @p object is a job of an API that is converted, and not of the target's already. With RH_CONVERT_MPI2
 * this holds for all of them, so that rh_convert() refuses those that are not MPIJobs; with RH_CONVERT_TRAINJOB for all
 * of kubeflow.org, too
 */
bool rh_convert_is_due(const struct rh_json *object, enum rh_convert_target target);
/** The runtime that a TrainJob refers to. All borrowed from the job, or static. */
struct rh_convert_reference {
	const char *kind;       /**< "TrainingRuntime" or "ClusterTrainingRuntime" */
	const char *namespace_; /**< NULL: it has none */
	const char *name;
};

/** Pure. @return whether rh_convert() of @p object takes a runtime: it is a TrainJob */
bool rh_convert_needs_runtime(const struct rh_json *object);
/** Get the runtime of a TrainJob. Pure. @return 0, or RH_EINVAL: it names none, or one of another kind */
int rh_convert_runtime_of(const struct rh_json *object, struct rh_convert_reference *ret, struct rh_error *err);
/**
 * Convert one job. Conversions follow each other where one does not suffice: TFJob of v1alpha1 to v1. Status is left
 * out. Pure, never blocks.
 * @param object a whole object; borrowed
 * @param runtime of a TrainJob; borrowed; NULL: the object is none
 * @param[out] ret filled; freed by the caller, also after a failure. A job that is of the target's API already is
 * copied, without notes
 * @return 0; RH_EINVAL: there is no way to the target, or a field has the wrong type, and the message names it; or
 * RH_ENOMEM
 */
int rh_convert(const struct rh_json *object, const struct rh_json *runtime, enum rh_convert_target target,
               struct rh_conversion *ret, struct rh_error *err);
/** Called for one kind of one API. @return 0, or a negative rh_status, which ends the calls */
typedef int rh_convert_source_fn(void *arg, const char *api_version, const char *kind, struct rh_error *err);
/**
 * Call @p fn for each API and kind from which there is a way to @p target, each once.
 * @return 0, what @p fn returned, or RH_ENOMEM
 */
int rh_convert_each_source(enum rh_convert_target target, rh_convert_source_fn *fn, void *arg, struct rh_error *err);
/**
 * Append the tables of docs/migration.md: for each pair of APIs what becomes of each field, as Markdown.
 * @return 0 or RH_ENOMEM
 */
int rh_convert_print_tables(struct rh_str *out);

#endif

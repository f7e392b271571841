/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file trainer/runtime/runtime.h
 * @brief Replica types from job and runtime: what the files of this folder share, and what pods need of it.
 */
#ifndef RH_TRAINER_RUNTIME_RUNTIME_H
#define RH_TRAINER_RUNTIME_RUNTIME_H

#include "../trainer.h"

/** Apply @p patch to @p into as Kubernetes' strategic merge does (trainer_merge.c). */
void trainer_merge(struct tree *tree, struct tree_node *into, const struct tree_node *patch);

/** Refuse what is not served or not allowed (trainer_check.c). @param spec the runtime's */
void trainer_check(struct trainer_call *call, struct tree *tree, const struct tree_node *spec);
/** Refuse fields of the runtime that nobody reads (trainer_served.c). */
void trainer_check_served(struct trainer_call *call, struct tree *tree, const struct tree_node *spec);
/** Put the job's trainer and initializer into the runtime's replicated jobs (trainer_apply.c). */
void trainer_apply(struct trainer_call *call, struct tree *tree, struct tree_node *spec);
/** @return spec of the runtime as it is written, in @p tree; NULL: there is none (trainer_expand.c) */
struct tree_node *trainer_read(struct trainer_call *call, struct tree *tree);
/** Put the job's patches, trainer and initializer into @p spec, which trainer_read() gave (trainer_expand.c). */
void trainer_complete(struct trainer_call *call, struct tree *tree, struct tree_node *spec);

#endif

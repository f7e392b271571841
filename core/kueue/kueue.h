/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kueue/kueue.h
 * @brief Jobs in queues of Kueue: a Workload for each, and its admission as the gate of the engine.
 *
 * A job with the label kueue.x-k8s.io/queue-name is as if suspended until Kueue has admitted its Workload. It needs no
 * part of Kueue that knows the kind. One thread; the owner connects it with an engine and calls rh_kueue_step() after
 * the engine's step.
 */
#ifndef RH_KUEUE_KUEUE_H
#define RH_KUEUE_KUEUE_H

#include <stdint.h>

#include "engine/engine.h"

/** Opaque. */
struct rh_kueue;

/** Begin to watch Workloads, flavors and priorities. @return 0 or RH_ENOMEM */
int rh_kueue_new(const struct rh_host *host, struct rh_store *store, struct rh_kueue **ret_kueue, struct rh_error *err);
/** Free it, after its engine, and before its store. NULL is allowed. */
void rh_kueue_free(struct rh_kueue *kueue);
RH_DEFINE_CLEANUP(kueue);
/** Set the engine whose jobs these are, before the first step. Borrowed. */
void rh_kueue_set_engine(struct rh_kueue *kueue, struct rh_engine *engine);

/** For rh_engine_options.changed. */
void rh_kueue_changed(struct rh_kueue *kueue, const struct rh_engine_change *change);
/** For rh_engine_options.gate. */
void rh_kueue_gate(struct rh_kueue *kueue, const struct rh_job *job, struct rh_gate *ret_gate);
/** For rh_engine_options.still. */
void rh_kueue_still(struct rh_kueue *kueue, const struct rh_job *job);
/**
 * A watch fails, or works again. @param resource "workloads.kueue.x-k8s.io"; others than ours are ignored.
 * @param message of the server; NULL: it works again
 */
void rh_kueue_problem(struct rh_kueue *kueue, const char *resource, const char *message);
/** Do what is due. @param now wall-clock microseconds */
void rh_kueue_step(struct rh_kueue *kueue, int64_t now);
/** @return when rh_kueue_step() is due without any callback, wall-clock microseconds; RH_NEVER: not at all */
int64_t rh_kueue_deadline(const struct rh_kueue *kueue);

#endif

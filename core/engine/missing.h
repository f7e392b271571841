/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/missing.h
 * @brief A rank of a job that others wait for: what a decision knows of it, and how an engine learns it.
 */
#ifndef RH_ENGINE_MISSING_H
#define RH_ENGINE_MISSING_H

#include <stdbool.h>
#include <stdint.h>

#include "roundhouse/plugin.h"

struct rh_engine;

/** What is known of ranks that wait. Texts are borrowed. All zero: nobody waits. Times are wall-clock microseconds. */
struct rh_missing {
	const char *text;     /**< who waits for whom, in one sentence; NULL: nobody waits */
	const char *address;  /**< IP address of the pod of the rank that does not come; "": not known */
	const char *reporter; /**< UID of the pod whose log has it; NULL: it does not come from a log */
	const char *refusal;  /**< why the store does not evict that pod; NULL: it was not asked, or does */
	int32_t rank;         /**< that does not come; -1: none is named */
	int64_t since;        /**< when that rank was named first, without a break since */
	int64_t seen;         /**< when that was found last */
	int64_t tried;        /**< `seen` of the last try to evict its pod; 0: there was none */
	bool evicting;        /**< a request for it is in flight */
};

/** What an observer of the ranks reports to an engine. Texts are copied. */
struct rh_missing_report {
	const char *text;    /**< as in struct rh_missing; NULL: nobody waits any more */
	const char *address; /**< likewise */
	int32_t rank;        /**< likewise */
};

/**
 * Report to the engine what is seen of the ranks of a job, now and each time that it is seen again: something is done
 * only while it is. Without such a job nothing happens.
 * @param now wall-clock microseconds
 */
void rh_engine_note_missing(struct rh_engine *engine, const struct rh_kind *kind, const char *namespace_,
                            const char *name, const struct rh_missing_report *report, int64_t now);

#endif

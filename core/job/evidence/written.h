/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/evidence/written.h
 * @brief What failed containers of one pod wrote last, where it was read from their logs and not from the pod's status.
 */
#ifndef RH_JOB_EVIDENCE_WRITTEN_H
#define RH_JOB_EVIDENCE_WRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/values/names.h"

/** What one container wrote before one of its ends. All owned. */
struct rh_written {
	struct rh_written *next; /**< of the same pod */
	char *container;
	char *text;       /**< what belongs to the end (rh_evidence_excerpt()) */
	int64_t ended_at; /**< which end it is: microseconds, as the pod's status has it */
};

/** Most containers of one pod whose logs are read. */
#define RH_UNREAD_MAX 4

/** A failed container whose output is not known. */
struct rh_unread {
	char container[RH_LABEL_MAX + 1];
	int64_t ended_at;  /**< as in struct rh_written */
	int32_t exit_code; /**< of that end */
	bool previous;     /**< it was started again since */
};

/** Those of one pod, in the order in which they are read. A value without owned members. */
struct rh_unread_list {
	size_t count;
	struct rh_unread items[RH_UNREAD_MAX];
};

/** Free @p list and what follows it. NULL is allowed. */
void rh_written_free(struct rh_written *list);
/**
 * Put what the container wrote before @p list.
 * @param text all that was read; the lines that belong to the end are kept
 * @return 0 or RH_ENOMEM
 */
int rh_written_add(struct rh_written **list, const struct rh_unread *of, const char *text);
/** @return what that container wrote before that end, borrowed; NULL: it is not in @p list */
const char *rh_written_find(const struct rh_written *list, const char *container, int64_t ended_at);

#endif

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

#include "base/str.h"

/** What one container wrote before one of its ends. All owned. */
struct rh_written {
	struct rh_written *next; /**< of the same pod */
	char *container;
	char *text;       /**< what belongs to the end (rh_evidence_excerpt()) */
	int64_t ended_at; /**< which end it is: microseconds, as the pod's status has it */
};

/** A failed container whose output is not known. */
struct rh_unread {
	const char *container; /**< not terminated; borrowed from the text that it was read from */
	size_t length;
	int64_t ended_at;  /**< as in struct rh_written */
	int32_t exit_code; /**< of that end */
	bool previous;     /**< it was started again since */
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

/** Append a container to a list as text, which rh_unread_next() reads. */
void rh_unread_append(struct rh_str *list, const struct rh_unread *unread);
/** Read the next container from *@p at, and advance it. @return whether there was one */
bool rh_unread_next(const char **at, struct rh_unread *ret_unread);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/evidence/rows.h
 * @brief Table of known messages that classify an end. Private to job/evidence.
 */
#ifndef RH_JOB_EVIDENCE_ROWS_H
#define RH_JOB_EVIDENCE_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "job/evidence/evidence.h"

/** One known message. */
struct rh_evidence_row {
	enum rh_blame blame;
	bool accuses;          /**< "rank N" in it names the rank that is to blame */
	const char *framework; /**< the program or library that writes it */
	const char *text;      /**< a part of one line, case-sensitive */
	const char *source;    /**< source file or function that writes it */
};

/**
 * @return the row whose text is in the @p length bytes of @p text, the first of the table where there are several;
 * NULL: there is none. Static storage
 */
const struct rh_evidence_row *rh_evidence_row(const char *text, size_t length);

#endif

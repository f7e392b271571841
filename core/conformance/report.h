/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/report.h
 * @brief What the conformance kit found.
 *
 * A report has one row for each check, whether it found something or not.
 */
#ifndef RH_CONFORMANCE_REPORT_H
#define RH_CONFORMANCE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/str.h"

/** What is checked, in the order of the report. */
enum rh_check {
	RH_CHECK_LOAD,
	RH_CHECK_DEFINITION,
	RH_CHECK_EXPORTS,
	RH_CHECK_CRASH,
	RH_CHECK_EXIT,
	RH_CHECK_TIME,
	RH_CHECK_MEMORY,
	RH_CHECK_LEAK,
	RH_CHECK_THREADS,
	RH_CHECK_FILES,
	RH_CHECK_DESCRIPTORS,
	RH_CHECK_OUTPUT,
	RH_CHECK_PROCESS,
	RH_CHECK_ANSWERS,
	RH_CHECK_TEXTS,
	RH_CHECK_CORE,
	RH_CHECK_ENV,
	RH_CHECK_OBJECTS,
	RH_CHECK_RBAC,
	RH_CHECK_CONTRACT,
	RH_CHECK_VERDICTS,
	RH_CHECK_PURITY,
	RH_CHECK_GOLDEN,
	RH_CHECK_SERVER,
	RH_CHECK_COUNT
};

/** Most findings of one check that are kept; further ones are counted. */
#define RH_REPORT_PER_CHECK 8

/** One finding. Fixed size, so that it can lie in memory that processes share. */
struct rh_report_finding {
	int32_t check;   /**< enum rh_check */
	int32_t warning; /**< 1: it should be changed, and is not a failure */
	int32_t count;   /**< how often it was found */
	char where[240]; /**< operation, kind and case: where it was found first */
	char what[800];  /**< what is wrong; may have several lines in a comparison with recorded objects */
};

/** A report. All zero is the empty one. */
struct rh_report {
	struct rh_report_finding *findings; /**< owned; in the order in which they were found */
	size_t count;
	uint32_t skipped[RH_CHECK_COUNT]; /**< 1: the check was not made */
	char plugin[64];                  /**< its name; "" when it could not be loaded */
	char release[64];
	size_t cases;   /**< jobs that were generated */
	size_t calls;   /**< operations that were called */
	int64_t took;   /**< microseconds */
	char file[512]; /**< the file that was tested */
};

/** What is known of a check beforehand. Static storage. */
struct rh_check_info {
	const char *name; /**< for programs: "crash" */
	const char *good; /**< what holds when nothing is found */
	const char *fix;  /**< how to mend it */
};

/** @return what is known of @p check */
const struct rh_check_info *rh_check_info(enum rh_check check);
/** Free what @p report holds and make it empty. */
void rh_report_deinit(struct rh_report *report);
/**
 * Add a finding of the caller's own check. @param where, what copied, cut off where they are too long
 * @return 0 or RH_ENOMEM
 */
int rh_report_add(struct rh_report *report, enum rh_check check, bool warning, const char *where, const char *what);
/** @return number of findings that are errors, or warnings where @p warnings is true */
size_t rh_report_count(const struct rh_report *report, bool warnings);

/** Append the report for people. @param colour with escape sequences of a terminal */
void rh_report_text(const struct rh_report *report, bool colour, struct rh_str *out);
/** @return the report as JSON, owned by the caller, or NULL when memory is out */
struct rh_json *rh_report_json(const struct rh_report *report) __attribute__((warn_unused_result));
/** Append the report as JUnit XML: a test case for each check. */
void rh_report_junit(const struct rh_report *report, struct rh_str *out);

/** A local report that is freed when it goes out of scope. */
#define rh_auto_report __attribute__((cleanup(rh_report_deinit))) struct rh_report

#endif

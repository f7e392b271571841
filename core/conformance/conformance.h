/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/conformance.h
 * @brief The conformance kit: one plugin file, held against what plugin.h promises, before its author ships it.
 *
 * The plugin runs in child processes, so that a crash, a hang or an exit is a finding like any other. Each operation is
 * called with generated jobs (conformance/jobs/cases.h), more than once, in different order and in a second process.
 * What it answers, and what it does beside answering, is checked.
 */
#ifndef RH_CONFORMANCE_CONFORMANCE_H
#define RH_CONFORMANCE_CONFORMANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "config/config.h"
#include "conformance/report.h"

/** What is tested, and how. All borrowed for the call. */
struct rh_conformance {
	const struct rh_config *config; /**< settings and time limit of the plugin */
	const char *file;               /**< the plugin */
	const char *record;             /**< folder that gets the objects of the jobs; NULL: none */
	const char *golden;             /**< folder with objects to compare with; NULL: none */
	char *const *jobs;              /**< files with jobs of the plugin's kinds */
	size_t job_count;
	/** Called a few times each second. @param done cases so far, of @p total, which is 0 while it is not known */
	void (*progress)(void *arg, size_t done, size_t total);
	void *arg; /**< of progress */
};

/**
 * Test a plugin. Blocks until the child processes ended. Must be called while the process has one thread.
 * @param[out] report filled, also with what failed; freed by the caller
 * @return 0 whatever the findings are; RH_ENOENT, RH_EINVAL: a file cannot be used; RH_EIO or RH_ENOMEM
 */
int rh_conformance_run(const struct rh_conformance *test, struct rh_report *report, struct rh_error *err);

#endif

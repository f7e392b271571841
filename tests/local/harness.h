/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/harness.h
 * @brief rh_run() for tests: input is a job as text, output are the callbacks. A failure in here fails the test that
 * calls.
 */
#ifndef RH_TEST_LOCAL_HARNESS_H
#define RH_TEST_LOCAL_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/str.h"
#include "config/config.h"
#include "host/host.h"
#include "local/run.h"

/** One run and its callbacks. */
struct test_run {
	char *scratch; /**< all that the run writes is below it */
	char *tmpdir_before;
	struct rh_config *config; /**< short times; a test may change it before test_run_go() */
	struct rh_host *host;
	struct rh_run_options options; /**< likewise */
	struct rh_error err;
	int result;
	struct rh_str lines; /**< "worker-0 pytorch: text", one a line, in the order in which they came */
	struct rh_str notes;
	struct rh_str events; /**< "Reason: message", one a line */
	struct rh_str table;  /**< "worker-0 Failed 3 restarts=0", one a line */
	struct rh_str faults; /**< the sentence about each job's first fault, one a line */
	struct rh_json *job;  /**< its last reported state; owned */
	int64_t longest;      /**< duration of a replica, microseconds */
	size_t pods_reported;
	/** Called for each line, after it was noted; may be NULL. */
	void (*on_line)(struct test_run *run, const char *line);
	/** The same for notes. */
	void (*on_note)(struct test_run *run, const char *note);
	int counter;     /**< for on_line */
	int descriptors; /**< open before the run */
};

/** cmocka's set-up and tear-down: *state is a struct test_run. The tear-down fails when processes, files, descriptors
 * or locks are left. */
int test_run_set_up(void **state);
/** @see test_run_set_up */
int test_run_tear_down(void **state);
/** Run the manifest @p yaml. @return the result, also in run->result */
int test_run_go(struct test_run *run, const char *yaml);
/** Run a PyTorchJob "j" of one Master and some Workers, all under one restart policy. @p spec holds further members of
 * the spec, @p master and @p worker are shell scripts. @return as test_run_go() */
struct test_job {
	const char *annotations; /**< YAML flow map; NULL: none */
	const char *spec;        /**< YAML lines, indented by two spaces; NULL: none */
	const char *policy;      /**< NULL: Never */
	const char *pod;         /**< further members of every pod spec, YAML lines indented by ten spaces; NULL: none */
	const char *master;      /**< script, one line, without single quotes */
	const char *worker;      /**< NULL: no Workers */
	int workers;             /**< 0: 1 */
};
/** @see struct test_job */
int test_run_job(struct test_run *run, const struct test_job *job);
/** Run such a job. Its pods have a folder of marks in which they see what has to happen before they go on: no time
 * shows it on a busy machine. */
void test_run_in_place(struct test_run *run, const struct test_job *job);
/** Likewise test_run_go(). */
void test_run_go_in_place(struct test_run *run, const char *yaml);
/** Shell: make the mark @p name, a literal. */
#define TEST_MARK(name) ": >$PLACE_OF_TEST/" name "; "
/** Shell: wait for the mark @p name, a literal. */
#define TEST_AWAIT(name) "until [ -e $PLACE_OF_TEST/" name " ]; do sleep 0.02; done; "
/** Make the mark @p name from a callback of the run. */
void test_run_mark(const char *name);
/** Fail, and print what was seen, unless the run ended with @p result. */
void test_run_expect_result(const struct test_run *run, int result);
/** Fail unless @p text is part of what @p seen holds. */
void test_run_expect(const struct rh_str *seen, const char *text);
/** @return how often @p text stands in what @p seen holds */
size_t test_run_times(const struct rh_str *seen, const char *text);
/** @return the job's condition @p type when it is True: its message, borrowed; else NULL */
const char *test_run_condition(const struct test_run *run, const char *type);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every fault of a plugin in every operation, in a process of its own (tests/host/worker/trouble.c): the message names
 * plugin, operation, job and what happened, and the next job is fine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "host/fixture.h"
#include "job/expansion.h"

enum trouble_operation { EXPAND, VALIDATE, POD, OBJECTS, MAKE, JUDGE, OPERATIONS };

static const char *const trouble_names[OPERATIONS] = {
	[EXPAND] = "expand",   [VALIDATE] = "validate", [POD] = "pod",
	[OBJECTS] = "objects", [MAKE] = "make",         [JUDGE] = "judge",
};

/* A fault, and what the message says of it. The operations in without have no such fault. */
struct trouble_fault {
	const char *name;
	const char *words;
	unsigned int without;
};

/* The process is gone: these messages name the file, too. */
static const struct trouble_fault trouble_ends[] = {
	{"segv", "it crashed in %s(): Segmentation fault", 0},
	{"bus", "it crashed in %s(): Bus error", 0},
	{"fpe", "it crashed in %s(): Floating point exception", 0},
	{"ill", "it crashed in %s(): Illegal instruction", 0},
	{"trap", "it crashed in %s(): Trace/breakpoint trap", 0},
	{"abort", "it crashed in %s(): Aborted", 0},
	{"limit", "it crashed in %s(): CPU time limit exceeded", 0},
	{"killed", "its worker process was killed, or closed the connection, in %s()", 0},
	{"stack", "it crashed in %s(): Segmentation fault", 0},
	{"memory", "it crashed in %s(): Aborted", 0},
	{"words", "it crashed in %s(): Segmentation fault; it wrote: first line last words", 0},
	{"exit", "it ended the process in %s(), with status 0", 0},
	{"exit7", "it ended the process in %s(), with status 7", 0},
	{"leave", "it ended the process in %s(), with status 0", 0},
	{"kernel", "it ended the process in %s(), with status 0", 0},
	{"garbage", "its worker process sent a malformed answer in %s()", 0},
	{"huge", "its worker process sent a malformed answer in %s()", 0},
	{"alien", "its worker process sent a malformed answer in %s()", 0},
	{"half", "it ended the process in %s(), with status 0", 0},
	{"close", "in %s()", 0},
};

/* It does not come back. */
static const char *const trouble_hangs[] = {"sleep", "deaf"};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* The process lives on, and what it answered does not count. What refuse() gets is a text, whatever is in it. */
static const struct trouble_fault trouble_answers[] = {
	{"json", "", 1U << VALIDATE},
	{"deep", "nested too deeply", 1U << VALIDATE},
	{"large", "", 0},
	{"bytes", "not UTF-8", 1U << VALIDATE},
	{"null", "NULL", 0},
	{"unheard", "", 1U << VALIDATE},
	{"status", "-12345", 0},
};

static const char trouble_job[] = "apiVersion: example.org/v1\n"
								  "kind: TroubleJob\n"
								  "metadata: {name: %s, annotations: {example.org/trouble: '%s %s'}}\n"
								  "spec: {}\n";

static struct rh_job *trouble_parse(const struct fixture *fixture, const char *name, const char *operation,
                                    const char *fault)
{
	rh_auto_free char *text = rh_asprintf(trouble_job, name, operation, fault);
	struct rh_job *job = NULL;

	assert_non_null(text);
	assert_int_equal(rh_host_parse(fixture->host, fixture_yaml(text), &job, NULL), 0);
	return job;
}

static int trouble_pod(const struct rh_snapshot *snapshot, struct rh_error *err)
{
	rh_auto(json) pod = fixture_yaml("spec: {containers: [{name: c}]}");

	return rh_host_pod(snapshot, "node", 0, pod, err);
}

static int trouble_objects(const struct rh_snapshot *snapshot, struct rh_error *err)
{
	rh_auto(json) objects = NULL;

	return rh_host_objects(snapshot, &objects, err);
}

static int trouble_make(const struct rh_snapshot *snapshot, struct rh_error *err)
{
	static const uint8_t random[8] = {1};
	const struct rh_made made = {.head = RH_HEAD(struct rh_made),
	                             .api_version = "v1",
	                             .kind = "Secret",
	                             .name = "keys",
	                             .random = random,
	                             .random_bytes = sizeof(random)};
	struct rh_json *object = NULL;
	int r = rh_host_make(snapshot, &made, &object, err);

	rh_json_free_secret(object);
	return r;
}

static int trouble_judge(const struct rh_snapshot *snapshot, struct rh_error *err)
{
	struct rh_judgement judgement = {0};
	int r = rh_host_judge(snapshot, &judgement, err);

	rh_judgement_deinit(&judgement);
	return r;
}

/* Do the operation, and what has to come before it. @return as rh_host_pod() */
static int trouble_do(const struct fixture *fixture, struct rh_job *job, enum trouble_operation operation,
                      struct rh_error *err)
{
	struct rh_counts counts[RH_TYPES_MAX] = {{.desired = 1}};
	struct rh_snapshot snapshot = {.host = fixture->host, .job = job, .counts = counts};
	rh_auto_findings findings = {0};
	int r = rh_host_expand(&snapshot, job, err);

	if (r < 0 || operation == EXPAND)
		return r;
	if (operation == VALIDATE)
		return rh_host_validate(&snapshot, &findings, err);
	if (operation == POD)
		return trouble_pod(&snapshot, err);
	if (operation == OBJECTS)
		return trouble_objects(&snapshot, err);
	return operation == MAKE ? trouble_make(&snapshot, err) : trouble_judge(&snapshot, err);
}

/* A sanitizer's own handlers end a process that crashes, and its memory has no limit. */
static bool trouble_is_tried(const struct trouble_fault *fault, enum trouble_operation operation)
{
#ifdef RH_INSTRUMENTED
	if (strncmp(fault->words, "it crashed", strlen("it crashed")) == 0)
		return false;
#endif
	return !(fault->without & 1U << operation);
}

/* The words of the fault are a format with the name of the operation. @return whether the operation failed, and the
 * message is right
 */
static bool trouble_fails(const struct fixture *fixture, enum trouble_operation operation,
                          const struct trouble_fault *fault, bool names_file)
{
	rh_auto(job) job = trouble_parse(fixture, "one", trouble_names[operation], fault->name);
	rh_auto_free char *called = rh_asprintf("%s()", trouble_names[operation]);
	struct rh_error err = {0};
	rh_auto_str words = {0};
	const char *at = strstr(fault->words, "%s");
	int r = trouble_do(fixture, job, operation, &err);

	if (at)
		rh_str_appendf(&words, "%.*s%s%s", (int)(at - fault->words), fault->words, trouble_names[operation], at + 2);
	else
		rh_str_append(&words, fault->words);
	if (r < 0 && called && strstr(err.message, called) && strstr(err.message, "TroubleJob default/one: ") &&
	    strstr(err.message, "plugin trouble") && strstr(err.message, rh_str_text(&words)) &&
	    (!names_file || strstr(err.message, RH_TROUBLE)))
		return true;
	(void)fprintf(stderr, "%s %s: %d: %s\n", trouble_names[operation], fault->name, r, err.message);
	return false;
}

/* @return whether a job without trouble is fine */
static bool trouble_goes_on(const struct fixture *fixture, enum trouble_operation operation)
{
	rh_auto(job) job = trouble_parse(fixture, "two", "no", "trouble");
	struct rh_error err = {0};
	int r = trouble_do(fixture, job, operation, &err);

	if (r < 0)
		(void)fprintf(stderr, "%s of the next job: %s\n", trouble_names[operation], err.message);
	return r == 0;
}

static void trouble_try_all(const struct trouble_fault *faults, size_t count, bool names_file)
{
	auto_fixture fixture = {0};
	size_t failed = 0;

	fixture_open_where(&fixture, RH_TROUBLE, true,
	                   "{apiVersion: example.org/v1, kind: TroubleJob, metadata: {name: j}, "
	                   "spec: {}}");
	for (size_t i = 0; i < count; i++) {
		for (enum trouble_operation operation = 0; operation < OPERATIONS; operation++) {
			if (!trouble_is_tried(&faults[i], operation))
				continue;
			failed += !trouble_fails(&fixture, operation, &faults[i], names_file);
			failed += !trouble_goes_on(&fixture, operation);
		}
	}
	assert_int_equal(failed, 0);
}

static void test_trouble__it_ends(void **state)
{
	(void)state;
	trouble_try_all(trouble_ends, COUNT(trouble_ends), true);
}

static void test_trouble__it_answers_nonsense(void **state)
{
	(void)state;
	trouble_try_all(trouble_answers, COUNT(trouble_answers), false);
}

/* In a process of its own, so that all of them wait at once. */
static int trouble_hang(enum trouble_operation operation, const char *name)
{
	const struct trouble_fault fault = {name, "it did not come back from %s() within 3 s ([plugins] time-limit)", 0};
	static const struct trouble_fault kernel = {"kernel", "it ended the process", 0};
	struct fixture fixture = {0};

	fixture_open_where(&fixture, RH_TROUBLE, true,
	                   "{apiVersion: example.org/v1, kind: TroubleJob, metadata: {name: j}, "
	                   "spec: {}}");
	/* the next process has this limit */
	fixture.config->plugin_time_limit = 3 * RH_SECOND;
	return trouble_fails(&fixture, operation, &kernel, true) && trouble_fails(&fixture, operation, &fault, true) ? 0
	                                                                                                             : 1;
}

static void test_trouble__it_hangs(void **state)
{
	pid_t children[COUNT(trouble_hangs) * OPERATIONS];
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(trouble_hangs); i++) {
		for (enum trouble_operation operation = 0; operation < OPERATIONS; operation++) {
			children[count] = fork();
			assert_true(children[count] >= 0);
			if (children[count++] == 0)
				_exit(trouble_hang(operation, trouble_hangs[i]));
		}
	}
	for (size_t i = 0; i < count; i++) {
		int status = -1;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trouble__it_ends),
		cmocka_unit_test(test_trouble__it_answers_nonsense),
		cmocka_unit_test(test_trouble__it_hangs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/loop.h"
#include "host/fixture.h"
#include "host/registry.h"

/* More than a process may be unused, and than it may take to end. */
#define LONG (3600 * RH_SECOND)

/* A loop with the worker process of PyTorch's plugin. */
struct stage {
	struct fixture fixture;
	struct rh_loop *loop;
	struct rh_host_attachment *attachment;
	bool ready; /* an answer came */
};

static void stage_open(struct stage *stage)
{
	struct rh_error err = {0};

	fixture_open_where(&stage->fixture, RH_PLUGIN_DIR "/pytorch.so", true, fixture_job);
	if (rh_loop_new(&stage->loop, &err) < 0 ||
	    rh_host_attach(stage->fixture.host, stage->loop, 0, &stage->attachment, &err) < 0)
		fail_msg("%s", err.message);
}

static void stage_close(struct stage *stage)
{
	rh_host_attachment_free(stage->attachment);
	rh_loop_free(stage->loop);
	fixture_close(&stage->fixture);
}

#define auto_stage __attribute__((cleanup(stage_close))) struct stage

/* @return number of child processes of this one */
static size_t count_children(void)
{
	char path[64];
	long pid;
	size_t count = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)gettid());
	file = fopen(path, "r");
	if (!file)
		skip(); /* a kernel without this file */
	while (fscanf(file, "%ld", &pid) == 1)
		count++;
	(void)fclose(file);
	return count;
}

/* The deadline of an unused process is one of the loop's, which ends it then: no time passes in this test. */
static void test_attach__the_loop_ends_a_process_that_is_unused(void **state)
{
	auto_stage stage = {0};
	int64_t now = rh_clock_monotonic();
	int64_t unused;
	int64_t gone;

	(void)state;
	stage_open(&stage);
	assert_int_equal(count_children(), 1);
	unused = rh_loop_turn(stage.loop, now);
	assert_true(unused > now);
	assert_true(unused < now + LONG);
	assert_true(rh_loop_turn(stage.loop, unused - 1) == unused);
	gone = rh_loop_turn(stage.loop, unused);
	assert_true(gone > unused);
	assert_true(gone < unused + LONG);
	assert_true(rh_loop_turn(stage.loop, gone) == RH_NEVER);
	assert_int_equal(count_children(), 0);
}

static void on_ready(void *arg)
{
	struct stage *stage = arg;

	stage->ready = true;
	rh_loop_stop(stage->loop);
}

/* An answer wakes the loop, whose deadline is far away. */
static void test_attach__an_answer_wakes_the_loop(void **state)
{
	auto_stage stage = {0};
	rh_auto_findings findings = {0};
	struct rh_snapshot *snapshot = &stage.fixture.snapshot;
	int r;

	(void)state;
	stage_open(&stage);
	stage.fixture.host->patience = 0;
	snapshot->answers = rh_answers_new(on_ready, &stage);
	assert_non_null(snapshot->answers);
	/* an answer that comes while it is waited for is none that the loop brings */
	while ((r = rh_host_validate(snapshot, &findings, NULL)) == 0)
		rh_answers_clear(snapshot->answers);
	assert_int_equal(r, RH_EAGAIN);
	rh_loop_run(stage.loop);
	assert_true(stage.ready);
	assert_int_equal(rh_host_validate(snapshot, &findings, NULL), 0);
	rh_answers_free(snapshot->answers);
}

/* Plugins are exchanged while the loop goes on. */
static void test_attach__its_sources_end_with_it(void **state)
{
	auto_stage stage = {0};

	(void)state;
	stage_open(&stage);
	assert_true(rh_loop_turn(stage.loop, rh_clock_monotonic()) != RH_NEVER);
	rh_host_attachment_free(rh_take(stage.attachment));
	assert_true(rh_loop_turn(stage.loop, rh_clock_monotonic()) == RH_NEVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attach__the_loop_ends_a_process_that_is_unused),
		cmocka_unit_test(test_attach__an_answer_wakes_the_loop),
		cmocka_unit_test(test_attach__its_sources_end_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

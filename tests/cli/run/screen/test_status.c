/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/screen/status.h"

#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

static struct rh_status_line full(void)
{
	struct rh_status_line status = {.job = rh_strdup("digits"),
	                                .load = {.processes = 3, .cpu = 1.8, .memory = 1 << 30}};

	rh_str_append(&status.state, "Running");
	rh_str_append(&status.replicas, "Master 1/1 running  Worker 2/2 running");
	rh_str_append(&status.running, "3/3");
	return status;
}

static void read_line(struct rh_status_line *status, const char *name, const char *text, int64_t now)
{
	(void)rh_status_read_line(status, name, text, strlen(text), now);
}

static void expect(const struct rh_status_line *status, size_t width, const char *shown)
{
	rh_auto_str line = {0};

	rh_status_append(status, width, RH_SECOND, &line);
	assert_string_equal(rh_str_text(&line), shown);
}

/* What a replica reports counts before what is read from its output. */
static void test_status__a_report(void **state)
{
	struct rh_status_line status = full();

	(void)state;
	read_line(&status, "digits/worker-0", "Epoch [3/10], Step [100/600]", RH_SECOND);
	rh_str_append(&status.reported, "45%  1:20 left");
	expect(&status, 50, "digits  Running  3/3  45%  1:20 left");
	rh_status_deinit(&status);
}

static void test_status__widths(void **state)
{
	struct rh_status_line status = full();

	(void)state;
	expect(&status, 100, "digits  Running  Master 1/1 running  Worker 2/2 running  cpu 180%  mem 1.0G");
	expect(&status, 40, "digits  Running  3/3  cpu 180%  mem 1.0G");
	expect(&status, 37, "digits  Running  3/3");
	expect(&status, 4, "digi");
	read_line(&status, "digits/worker-0", "Epoch [3/10], Step [100/600]", RH_SECOND);
	expect(&status, 120,
	       "digits  Running  Master 1/1 running  Worker 2/2 running  cpu 180%  mem 1.0G  epoch 3/10  step 100/600");
	expect(&status, 80, "digits  Running  3/3  cpu 180%  mem 1.0G  epoch 3/10  step 100/600");
	expect(&status, 60, "digits  Running  3/3  epoch 3/10  step 100/600");
	expect(&status, 37, "digits  3/3  epoch 3/10  step 100/600");
	expect(&status, 32, "digits  epoch 3/10  step 100/600");
	expect(&status, 24, "epoch 3/10  step 100/600");
	expect(&status, 10, "epoch 3/10");
	rh_status_deinit(&status);
}

/* GPUs are shown where a replica uses one, and stay longer than processors where there is little room. */
static void test_status__gpus(void **state)
{
	struct rh_status_line status = full();

	(void)state;
	status.gpu = (struct rh_gpu_total){.count = 2, .memory = INT64_C(12) << 30, .share = 1.87};
	expect(&status, 120,
	       "digits  Running  Master 1/1 running  Worker 2/2 running  cpu 180%  mem 1.0G  gpu 187%  gpu mem 12G");
	expect(&status, 70, "digits  Running  3/3  cpu 180%  mem 1.0G  gpu 187%  gpu mem 12G");
	expect(&status, 60, "digits  Running  3/3  gpu 187%  gpu mem 12G");
	expect(&status, 42, "digits  Running  3/3");
	status.gpu.share = -1;
	expect(&status, 60, "digits  Running  3/3  cpu 180%  mem 1.0G  gpu mem 12G");
	status.gpu = (struct rh_gpu_total){.count = 2, .memory = -1, .share = 1};
	expect(&status, 60, "digits  Running  3/3  cpu 180%  mem 1.0G  gpu 100%");
	status.gpu.share = -1;
	expect(&status, 60, "digits  Running  3/3  cpu 180%  mem 1.0G");
	status.gpu = (struct rh_gpu_total){.count = 0};
	expect(&status, 60, "digits  Running  3/3  cpu 180%  mem 1.0G");
	rh_status_deinit(&status);
}

/* What rh_comm counts stands where nothing else says how far the training is. */
static void test_status__counters(void **state)
{
	struct rh_status_line status = full();

	(void)state;
	status.load.operations = 1240;
	expect(&status, 70, "digits  Running  3/3  cpu 180%  mem 1.0G  rh_comm 1240 operations");
	status.load.operation_rate = 3.25;
	expect(&status, 40, "digits  rh_comm 1240 operations, 3.2/s");
	status.load.operation_rate = 4321.9;
	expect(&status, 36, "rh_comm 1240 operations, 4322/s");
	read_line(&status, "digits/worker-0", "Step [100/600]", RH_SECOND);
	expect(&status, 37, "digits  Running  3/3  step 100/600");
	rh_status_deinit(&status);
}

/* A stall counts before progress, which does not go on. */
static void test_status__who_does_not_come(void **state)
{
	struct rh_status_line status = full();

	(void)state;
	read_line(&status, "digits/worker-0", "Step [100/600]", RH_SECOND);
	rh_copy(status.load.stalled, sizeof(status.load.stalled), "rank 1 did not come to number 6, barrier");
	expect(&status, 60, "digits  stalled: rank 1 did not come to number 6, barrier");
	status.load.stalled[0] = '\0';
	expect(&status, 37, "digits  Running  3/3  step 100/600");
	rh_status_deinit(&status);
}

static void test_status__nothing_before_a_job(void **state)
{
	struct rh_status_line status = {.job = NULL};

	(void)state;
	expect(&status, 80, "");
	rh_status_deinit(&status);
}

/* All wait for the slowest one, but not for one that has written no progress for a minute. */
static void test_status__slowest_replica(void **state)
{
	struct rh_status_line status = full();
	int64_t later = 200 * RH_SECOND;

	(void)state;
	assert_null(rh_status_progress(&status, 0));
	read_line(&status, "a/worker-0", "step 50/100", 0);
	read_line(&status, "a/worker-1", "step 40/100", 0);
	read_line(&status, "a/worker-2", "no progress", 0);
	assert_string_equal(rh_status_progress(&status, 0)->step.count, "40/100");
	read_line(&status, "a/worker-1", "step 60/100", 0);
	assert_string_equal(rh_status_progress(&status, 0)->step.count, "50/100");
	read_line(&status, "a/worker-1", "step 70/100", later);
	assert_string_equal(rh_status_progress(&status, later)->step.count, "70/100");
	assert_string_equal(rh_status_progress(&status, 2 * later)->step.count, "50/100");
	rh_status_deinit(&status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status__a_report),
		cmocka_unit_test(test_status__widths),
		cmocka_unit_test(test_status__gpus),
		cmocka_unit_test(test_status__counters),
		cmocka_unit_test(test_status__who_does_not_come),
		cmocka_unit_test(test_status__nothing_before_a_job),
		cmocka_unit_test(test_status__slowest_replica),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "local/keep/usage.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/clock.h"

static void test_usage__rates_are_those_of_each_replica(void **state)
{
	struct rh_usage_replica replicas[3] = {{.shim = 10}, {.shim = 20}, {.shim = 30}};
	struct rh_usage_process old[] = {
		{.pid = 11, .cpu = RH_SECOND, .read = 100, .written = 1000, .memory = 5},
		{.pid = 12, .cpu = RH_SECOND, .memory = 5}, /* it ends */
	};
	struct rh_usage_process new[] = {
		{.pid = 21, .cpu = RH_SECOND, .read = 40, .memory = 7, .replica = 1}, /* it is new */
		{.pid = 11, .cpu = 4 * RH_SECOND, .read = 300, .written = 3000, .memory = 50},
	};
	const struct rh_usage before = {replicas, 3, old, 2};
	const struct rh_usage now = {replicas, 3, new, 2};
	struct rh_usage_rate rates[3];

	(void)state;
	rh_usage_rates(&now, &before, 2 * RH_SECOND, rates);
	assert_int_equal(rates[0].processes, 1);
	assert_int_equal(rates[0].memory, 50);
	assert_float_equal(rates[0].cpu, 1.5, 1e-9);
	assert_float_equal(rates[0].read, 100, 1e-9);
	assert_float_equal(rates[0].written, 1000, 1e-9);
	assert_float_equal(rates[1].cpu, 0.5, 1e-9);
	assert_float_equal(rates[1].read, 20, 1e-9);
	assert_int_equal(rates[2].processes, 0);
	rh_usage_rates(&now, &before, 0, rates);
	assert_int_equal(rates[0].memory, 50);
	assert_float_equal(rates[0].cpu, 0, 0);
	rh_usage_rates(&now, NULL, 4 * RH_SECOND, rates);
	assert_float_equal(rates[0].cpu, 1, 1e-9);
}

/* The number of a process that has ended is given to another one. */
static void test_usage__a_number_that_is_used_again(void **state)
{
	struct rh_usage_replica replicas[1] = {{.shim = 10}};
	struct rh_usage_process old[] = {{.pid = 11, .cpu = 100 * RH_SECOND, .read = 1000}};
	struct rh_usage_process new[] = {{.pid = 11, .cpu = RH_SECOND, .read = 10}};
	const struct rh_usage before = {replicas, 1, old, 1};
	const struct rh_usage now = {replicas, 1, new, 1};
	struct rh_usage_rate rate;

	(void)state;
	rh_usage_rates(&now, &before, RH_SECOND, &rate);
	assert_float_equal(rate.cpu, 1, 1e-9);
	assert_float_equal(rate.read, 10, 1e-9);
}

/* Processes below this one, each the child of the one before, which live until the pipe closes. */
static void start_chain(int depth, int alive, int ids)
{
	pid_t pid = depth > 0 ? fork() : -1;
	char byte;

	if (pid != 0)
		return;
	pid = getpid();
	assert_int_equal(write(ids, &pid, sizeof(pid)), sizeof(pid));
	start_chain(depth - 1, alive, ids);
	while (read(alive, &byte, 1) > 0)
		;
	(void)waitpid(-1, NULL, 0);
	_exit(0);
}

/* A process is its nearest shim's, however deep it is; shims are none of them. */
static void test_usage__processes_below_shims(void **state)
{
	enum { DEPTH = 20, SECOND = 7 };
	pid_t chain[DEPTH];
	int alive[2];
	int ids[2];
	struct rh_usage usage;
	size_t found[2] = {0, 0};

	(void)state;
	assert_int_equal(pipe2(alive, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ids, O_CLOEXEC), 0);
	if (fork() == 0) {
		(void)close(alive[1]);
		start_chain(DEPTH, alive[0], ids[1]);
		(void)waitpid(-1, NULL, 0);
		_exit(0);
	}
	for (int i = 0; i < DEPTH; i++)
		assert_int_equal(read(ids[0], &chain[i], sizeof(chain[i])), sizeof(chain[i]));
	assert_int_equal(rh_usage_read_below((const pid_t[]){chain[0], chain[SECOND]}, 2, &usage), 0);
	for (size_t i = 0; i < usage.process_count; i++) {
		assert_true(i == 0 || usage.processes[i - 1].pid < usage.processes[i].pid);
		assert_true(usage.processes[i].replica < 2);
		found[usage.processes[i].replica]++;
	}
	assert_int_equal(found[0], SECOND - 1);
	assert_int_equal(found[1], DEPTH - 1 - SECOND);
	assert_null(rh_usage_find(&usage, chain[0]));
	assert_null(rh_usage_find(&usage, chain[SECOND]));
	assert_int_equal(rh_usage_find(&usage, chain[DEPTH - 1])->replica, 1);
	rh_usage_deinit(&usage);
	(void)close(alive[1]);
	(void)waitpid(-1, NULL, 0);
	(void)close(alive[0]);
	(void)close(ids[0]);
	(void)close(ids[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usage__rates_are_those_of_each_replica),
		cmocka_unit_test(test_usage__a_number_that_is_used_again),
		cmocka_unit_test(test_usage__processes_below_shims),
	};

	return cmocka_run_group_tests_name("local/keep/usage", tests, NULL, NULL);
}

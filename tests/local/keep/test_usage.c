/* SPDX-License-Identifier: Apache-2.0 */
#include "local/keep/usage.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usage__rates_are_those_of_each_replica),
		cmocka_unit_test(test_usage__a_number_that_is_used_again),
	};

	return cmocka_run_group_tests_name("local/keep/usage", tests, NULL, NULL);
}

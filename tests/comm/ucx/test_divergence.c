/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that post different collectives over the backend ucx, or are stopped. */
#include <stdlib.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/divergence.h"

static void test_divergence__a_group_is_named_with_ranks_of_the_world(void **state)
{
	(void)state;
	divergence_check_group("ucx", false);
	divergence_check_group("ucx", true);
}

static void test_divergence__divergent_ranks(void **state)
{
	(void)state;
	divergence_check("ucx", false);
	divergence_check("ucx", true);
}

static void test_divergence__a_stopped_rank_is_named(void **state)
{
	(void)state;
	divergence_check_stopped("ucx", false);
	divergence_check_stopped("ucx", true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_divergence__a_group_is_named_with_ranks_of_the_world),
		cmocka_unit_test(test_divergence__divergent_ranks),
		cmocka_unit_test(test_divergence__a_stopped_rank_is_named),
	};

	if (setenv("RH_COMM_PATH", RH_COMM_MODULES, 1) < 0)
		return 1;
	return cmocka_run_group_tests_name("comm/ucx/divergence", tests, NULL, NULL);
}

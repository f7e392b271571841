/* SPDX-License-Identifier: Apache-2.0 */
/* What a run that is kept writes. */
#include "local/keep/keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/file.h"
#include "local/harness.h"

static int replaced;
static int in_vain; /* by the same text */

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

int __wrap_rename(const char *from, const char *to)
{
	rh_auto_free char *old = NULL, *text = NULL;
	size_t length = strlen(to);

	if (length > 11 && strcmp(to + length - 11, "/state.json") == 0) {
		(void)rh_file_read(to, 65536, &old, NULL, NULL); /* there is none at first */
		assert_int_equal(rh_file_read(from, 65536, &text, NULL, NULL), 0);
		replaced++;
		in_vain += old && strcmp(old, text) == 0;
	}
	return __real_rename(from, to);
}

/* The job changes more often than what is kept of it. */
static void test_keep__the_state_is_replaced_when_it_changes(void **state)
{
	struct test_run *run = *state;
	const struct test_job job = {.master = "sleep 0.1", .worker = "sleep 0.05", .workers = 3};

	rh_auto_free char *kept = rh_path_join(run->scratch, "roundhouse");

	assert_int_equal(setenv("XDG_STATE_HOME", run->scratch, 1), 0);
	run->options.keep = true;
	test_run_job(run, &job);
	(void)unsetenv("XDG_STATE_HOME");
	assert_int_equal(rh_dir_remove(kept, NULL), 0);
	assert_int_equal(run->result, RH_RUN_SUCCEEDED);
	assert_true(replaced >= 3); /* it runs, has succeeded, and has ended */
	assert_int_equal(in_vain, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_keep__the_state_is_replaced_when_it_changes, test_run_set_up,
	                                    test_run_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "local/pod_record.h"

#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/mem.h"
#include "base/os/file.h"
#include "local/scratch.h"

static int set_up(void **state)
{
	*state = test_scratch();
	return 0;
}

static int tear_down(void **state)
{
	test_scratch_remove(*state);
	return 0;
}

/* A job whose name begins as another one's, and names with a dash and a dot: nothing is cut out of a name. */
static void test_pod_record__is_read_as_it_was_written(void **state)
{
	const struct rh_pod_record written = {"team", "a-b.c-worker-1", "a-b.c", "worker-1"};
	rh_auto_pod_record record = {0};

	for (int i = 0; i < 2; i++) { /* a pod that could not be started is started again */
		rh_pod_record_deinit(&record);
		assert_int_equal(rh_pod_record_write(*state, &written, NULL), 0);
		assert_int_equal(rh_pod_record_read(*state, &record), 0);
		assert_string_equal(record.namespace_, "team");
		assert_string_equal(record.pod, "a-b.c-worker-1");
		assert_string_equal(record.job, "a-b.c");
		assert_string_equal(record.replica, "worker-1");
	}
}

static void test_pod_record__what_is_no_record(void **state)
{
	static const char *const rows[] = {
		"",
		"[]",
		"{\"namespace\":\"n\",\"pod\":\"p\",\"job\":\"j\"}",
		"{\"namespace\":\"n\",\"pod\":\"p\",\"job\":\"j\",\"replica\":1}",
		"{\"namespace\":\"n\",\"pod\":\"p\",\"job\":\"j\",\"replica\":\"w",
	};
	rh_auto_free char *path = rh_path_join(*state, RH_POD_RECORD);
	struct rh_pod_record record = {0};

	assert_int_equal(rh_pod_record_read(*state, &record), RH_ENOENT);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(rh_file_write_atomic(path, rows[i], strlen(rows[i]), 0600, NULL), 0);
		assert_int_equal(rh_pod_record_read(*state, &record), RH_EINVAL);
		assert_null(record.pod);
	}
}

static void test_pod_record__a_folder_that_is_missing(void **state)
{
	const struct rh_pod_record written = {"n", "p", "j", "w-0"};
	rh_auto_free char *folder = rh_path_join(*state, "missing");
	struct rh_error err = {0};

	assert_int_equal(rh_pod_record_write(folder, &written, &err), RH_EIO);
	assert_non_null(strstr(err.message, "missing/" RH_POD_RECORD));
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_pod_record__is_read_as_it_was_written),
		ROW(test_pod_record__what_is_no_record),
		ROW(test_pod_record__a_folder_that_is_missing),
	};

	return cmocka_run_group_tests_name("local/pod_record", tests, NULL, NULL);
}

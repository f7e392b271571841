/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/ps/server/durable/image.h"
#include "comm/ps/server/journals.h"

static void test_journal__brings_back_what_was_committed(void **state)
{
	struct journals_kept before;
	struct journals_kept after;

	journals_open(*state, &before);
	journals_work(&before);
	rh_ps_journal_free(before.journal);
	journals_open(*state, &after);
	journals_assert_same(before.store, after.store);
	/* and both go on in the same way */
	before.journal = after.journal;
	journals_put(&before, RH_PS_REC_PUSH, 1, 5);
	journals_put(&after, RH_PS_REC_PUSH, 1, 5);
	journals_assert_same(before.store, after.store);
	rh_ps_store_free(before.store);
	journals_close(&after);
}

/* From a log, and from an image, which has the rows of a round that waits for worker 1. */
static void test_journal__brings_back_rows(void **state)
{
	struct journals_kept before;
	struct journals_kept after;
	struct rh_comm_error err;

	journals_open(*state, &before);
	journals_work(&before);
	for (uint64_t i = 6; i < 12; i += 2)
		assert_int_equal(journals_put_rows(&before, 0, i), 0);
	assert_int_equal(journals_put_rows(&before, 1, 8), 0);
	for (int image = 0; image < 2; image++) {
		if (image)
			assert_int_equal(rh_ps_journal_renew(before.journal, before.store, &err), 0);
		else
			assert_int_equal(rh_ps_journal_commit(before.journal, &err), 0);
		rh_ps_journal_free(before.journal);
		journals_open(*state, &after);
		journals_assert_same(before.store, after.store);
		before.journal = after.journal;
		rh_ps_store_free(after.store);
	}
	rh_ps_store_free(before.store);
	rh_ps_journal_free(before.journal);
}

/* No bit of a log, or of an image, with rows can change unnoticed. */
static void test_journal__refuses_damaged_rows(void **state)
{
	const struct journals_folder *folder = *state;
	const char *files[] = {"log-0.1", "state-0.2"};
	struct journals_kept kept;
	struct rh_comm_error err;
	char name[128];

	journals_open(folder, &kept);
	journals_work(&kept);
	assert_int_equal(journals_put_rows(&kept, 0, 6), 0);
	assert_int_equal(rh_ps_journal_commit(kept.journal, &err), 0);
	journals_close(&kept);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (i == 1) {
			journals_open(folder, &kept);
			assert_int_equal(rh_ps_journal_renew(kept.journal, kept.store, &err), 0);
			journals_close(&kept);
		}
		(void)snprintf(name, sizeof(name), "%s/%s", folder->path, files[i]);
		/* an image begins with what it is of, and that has errors of its own */
		for (off_t at = i == 0 ? 0 : 200; at < journals_size(name); at += 5) {
			journals_flip(name, at);
			journals_assert_refused(folder, RH_COMM_EIO, "is damaged");
			journals_flip(name, at);
		}
	}
	journals_open(folder, &kept);
	journals_close(&kept);
}

static void test_journal__renews_the_image(void **state)
{
	const struct journals_folder *folder = *state;
	struct journals_kept before;
	struct journals_kept after;
	struct rh_comm_error err;
	char name[128];

	journals_open(folder, &before);
	journals_work(&before);
	assert_false(rh_ps_journal_is_long(before.journal, before.store));
	assert_int_equal(rh_ps_journal_renew(before.journal, before.store, &err), 0);
	journals_put(&before, RH_PS_REC_PUSH, 0, 6);
	assert_int_equal(rh_ps_journal_commit(before.journal, &err), 0);
	(void)snprintf(name, sizeof(name), "%s/state-0.1", folder->path);
	assert_int_equal(access(name, F_OK), -1);
	(void)snprintf(name, sizeof(name), "%s/log-0.1", folder->path);
	assert_int_equal(access(name, F_OK), -1);
	rh_ps_journal_free(before.journal);
	journals_open(folder, &after);
	journals_assert_same(before.store, after.store);
	rh_ps_store_free(before.store);
	journals_close(&after);
}

/* Wherever the log is torn, what was whole before comes back, and the next start finds a good log. */
static void test_journal__cuts_a_torn_end(void **state)
{
	static const off_t torn[] = {1, 8, 63, 64, 65, 463};
	const struct journals_folder *folder = *state;
	struct journals_kept kept;
	struct rh_comm_error err;
	char log[128];
	off_t whole;

	(void)snprintf(log, sizeof(log), "%s/log-0.1", folder->path);
	journals_open(folder, &kept);
	journals_work(&kept);
	whole = journals_size(log);
	for (size_t i = 0; i < sizeof(torn) / sizeof(torn[0]); i++) {
		journals_put(&kept, RH_PS_REC_PUSH, 1, 5);
		assert_int_equal(rh_ps_journal_commit(kept.journal, &err), 0);
		journals_close(&kept);
		assert_int_equal(truncate(log, whole + torn[i]), 0);
		journals_open(folder, &kept);
		assert_int_equal(kept.store->workers[1].last, 4);
		assert_int_equal(kept.store->workers[0].last, 5);
		assert_int_equal(journals_size(log), whole);
	}
	journals_close(&kept);
}

/* Not even in its last record, which a killed process would have left too short: somebody may have been answered. */
static void test_journal__refuses_a_damaged_log(void **state)
{
	const struct journals_folder *folder = *state;
	struct journals_kept before;
	struct journals_kept after;
	char log[128];
	off_t length;

	(void)snprintf(log, sizeof(log), "%s/log-0.1", folder->path);
	journals_open(folder, &before);
	journals_work(&before);
	rh_ps_journal_free(before.journal);
	length = journals_size(log);
	for (off_t at = 0; at < length; at += 7) {
		journals_flip(log, at);
		journals_assert_refused(folder, RH_COMM_EIO, "log-0.1 is damaged at byte ");
		journals_flip(log, at);
	}
	assert_int_equal(journals_size(log), length);
	journals_open(folder, &after);
	journals_assert_same(before.store, after.store);
	rh_ps_store_free(before.store);
	journals_close(&after);
}

/* A hole in the midst of a log is no end of it, wherever it begins and ends. */
static void test_journal__refuses_a_log_that_lacks_something(void **state)
{
	const struct journals_folder *folder = *state;
	struct journals_kept kept;
	uint8_t bytes[16 * JOURNALS_RECORD];
	char log[128];
	off_t length;
	int fd;

	(void)snprintf(log, sizeof(log), "%s/log-0.1", folder->path);
	journals_open(folder, &kept);
	journals_work(&kept);
	journals_close(&kept);
	length = journals_size(log);
	assert_true(length < (off_t)sizeof(bytes));
	fd = open(log, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), length);
	for (off_t from = 10; from < length - (off_t)JOURNALS_RECORD - 50; from += 333) {
		assert_int_equal(ftruncate(fd, from), 0);
		assert_int_equal(pwrite(fd, bytes + from + 50, (size_t)(length - from - 50), from), length - from - 50);
		journals_assert_refused(folder, RH_COMM_EIO, "log-0.1 is damaged at byte ");
	}
	(void)close(fd);
	assert_int_equal(unlink(log), 0);
	journals_assert_refused(folder, RH_COMM_EIO, "open log-0.1");
}

static void test_journal__refuses_a_damaged_image(void **state)
{
	const struct journals_folder *folder = *state;
	struct rh_ps_journal_plan plan = journals_plan(folder);
	struct rh_comm_error err = {0};
	struct journals_kept kept;
	char image[128];
	off_t length;

	(void)snprintf(image, sizeof(image), "%s/state-0.2", folder->path);
	journals_open(folder, &kept);
	journals_work(&kept);
	assert_int_equal(rh_ps_journal_renew(kept.journal, kept.store, &err), 0);
	journals_close(&kept);
	length = journals_size(image);
	for (off_t at = 0; at < length; at += length / 50) {
		journals_flip(image, at);
		assert_true(rh_ps_journal_open(&plan, &kept.journal, &kept.store, &err) < 0);
		assert_non_null(strstr(err.text, "state-0.2"));
		journals_flip(image, at);
	}
	journals_open(folder, &kept);
	journals_close(&kept);
	assert_int_equal(truncate(image, length - 1), 0);
	assert_int_equal(rh_ps_journal_open(&plan, &kept.journal, &kept.store, &err), RH_COMM_EIO);
}

/* Records of protocol 3 have another head. */
static void test_journal__refuses_an_image_of_an_earlier_version(void **state)
{
	const struct journals_folder *folder = *state;
	struct journals_kept kept;
	char name[128];
	int fd;

	journals_open(folder, &kept);
	journals_work(&kept);
	journals_close(&kept);
	(void)snprintf(name, sizeof(name), "%s/state-0.1", folder->path);
	fd = open(name, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "RHPSIMG1", 8, 0), 8);
	(void)close(fd);
	journals_assert_refused(folder, RH_COMM_EINVAL, "state-0.1 was written by an earlier version of the library");
}

static void test_journal__refuses_the_folder_of_another_server(void **state)
{
	static const struct {
		int32_t workers;
		int32_t mode;
		int32_t rule;
		const char *words;
	} rows[] = {
		{3, RH_PS_SYNC, RH_PS_MOMENTUM, "number of workers is 2 there and 3 here"},
		{2, RH_PS_ASYNC, RH_PS_MOMENTUM, "mode"},
		{2, RH_PS_SYNC, RH_PS_ADAM, "rule"},
	};
	struct journals_kept kept;

	journals_open(*state, &kept);
	journals_work(&kept);
	journals_close(&kept);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_ps_journal_plan plan = journals_plan(*state);
		struct rh_comm_error err = {0};

		plan.config.workers = rows[i].workers;
		plan.config.mode = rows[i].mode;
		plan.config.rule = rows[i].rule;
		assert_int_equal(rh_ps_journal_open(&plan, &kept.journal, &kept.store, &err), RH_COMM_EINVAL);
		if (!strstr(err.text, rows[i].words))
			fail_msg("%s", err.text);
	}
}

static void test_journal__one_server_at_a_time(void **state)
{
	struct rh_ps_journal_plan plan = journals_plan(*state);
	struct rh_comm_error err = {0};
	struct journals_kept first;
	struct journals_kept other;

	journals_open(*state, &first);
	assert_int_equal(rh_ps_journal_open(&plan, &other.journal, &other.store, &err), RH_COMM_EINVAL);
	assert_non_null(strstr(err.text, "another parameter server 0 uses"));
	/* another index is another server */
	plan.config.servers = 2;
	plan.config.index = 1;
	assert_int_equal(rh_ps_journal_open(&plan, &other.journal, &other.store, &err), 0);
	journals_close(&other);
	journals_close(&first);
}

static void test_journal__a_failed_write_is_an_error_for_good(void **state)
{
	struct rh_ps_journal_plan plan = journals_plan(*state);
	struct rh_comm_error err = {0};
	struct journals_kept kept;

	plan.folder = "/proc/self/none";
	assert_int_equal(rh_ps_journal_open(&plan, &kept.journal, &kept.store, &err), RH_COMM_EIO);
	assert_non_null(strstr(err.text, "/proc/self/none"));
}

static void test_journal__sums_see_every_bit(void **state)
{
	uint8_t data[100] = {0};
	uint64_t plain = rh_ps_sum(1, data, sizeof(data));

	(void)state;
	for (size_t bit = 0; bit < sizeof(data) * 8; bit++) {
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_true(rh_ps_sum(1, data, sizeof(data)) != plain);
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_true(rh_ps_sum(1, data, sizeof(data) - 1) != plain);
	assert_true(rh_ps_sum(2, data, sizeof(data)) != plain);
	assert_true(rh_ps_sum(1, data, sizeof(data)) == plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_journal__brings_back_what_was_committed, journals_make_folder,
	                                    journals_remove_folder),
		cmocka_unit_test_setup_teardown(test_journal__brings_back_rows, journals_make_folder, journals_remove_folder),
		cmocka_unit_test_setup_teardown(test_journal__refuses_damaged_rows, journals_make_folder,
	                                    journals_remove_folder),
		cmocka_unit_test_setup_teardown(test_journal__renews_the_image, journals_make_folder, journals_remove_folder),
		cmocka_unit_test_setup_teardown(test_journal__cuts_a_torn_end, journals_make_folder, journals_remove_folder),
		cmocka_unit_test_setup_teardown(test_journal__refuses_a_damaged_log, journals_make_folder,
	                                    journals_remove_folder),
		cmocka_unit_test_setup_teardown(test_journal__refuses_a_log_that_lacks_something, journals_make_folder,
	                                    journals_remove_folder),
		cmocka_unit_test_setup_teardown(test_journal__refuses_a_damaged_image, journals_make_folder,
	                                    journals_remove_folder),
		cmocka_unit_test_setup_teardown(test_journal__refuses_an_image_of_an_earlier_version, journals_make_folder,
	                                    journals_remove_folder),
		cmocka_unit_test_setup_teardown(test_journal__refuses_the_folder_of_another_server, journals_make_folder,
	                                    journals_remove_folder),
		cmocka_unit_test_setup_teardown(test_journal__one_server_at_a_time, journals_make_folder,
	                                    journals_remove_folder),
		cmocka_unit_test_setup_teardown(test_journal__a_failed_write_is_an_error_for_good, journals_make_folder,
	                                    journals_remove_folder),
		cmocka_unit_test(test_journal__sums_see_every_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

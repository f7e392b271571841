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

#include "comm/ps/image.h"
#include "comm/ps/journal.h"

#define COUNT 100

struct folder {
	char path[64];
};

static int make_folder(void **state)
{
	struct folder *folder = calloc(1, sizeof(*folder));

	assert_non_null(folder);
	(void)snprintf(folder->path, sizeof(folder->path), "/tmp/rh-test-journal-XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	*state = folder;
	return 0;
}

static int remove_folder(void **state)
{
	struct folder *folder = *state;
	DIR *listing = opendir(folder->path);
	const struct dirent *file;

	while ((file = readdir(listing)))
		(void)unlinkat(dirfd(listing), file->d_name, 0);
	(void)closedir(listing);
	(void)rmdir(folder->path);
	free(folder);
	return 0;
}

/* A server that is killed: nothing is closed in good order. */
struct kept {
	struct rh_ps_journal *journal;
	struct rh_ps_store *store;
};

static struct rh_ps_journal_plan make_plan(const struct folder *folder)
{
	return (struct rh_ps_journal_plan){
		.folder = folder->path,
		.config =
			{.servers = 1, .workers = 2, .mode = RH_PS_SYNC, .rule = RH_PS_MOMENTUM, .rate = 0.1, .momentum = 0.9},
		.bytes = 1 << 20,
		.epoch = 77,
	};
}

static void open_kept(const struct folder *folder, struct kept *kept)
{
	struct rh_ps_journal_plan plan = make_plan(folder);
	struct rh_comm_error err = {0};

	if (rh_ps_journal_open(&plan, &kept->journal, &kept->store, &err) < 0)
		fail_msg("%s", err.text);
}

static void close_kept(const struct kept *kept)
{
	rh_ps_journal_free(kept->journal);
	rh_ps_store_free(kept->store);
}

static void put(const struct kept *kept, uint32_t kind, int32_t worker, uint64_t sequence)
{
	struct rh_ps_head head = {.kind = kind,
	                          .length = COUNT * sizeof(float),
	                          .bytes = COUNT * sizeof(float),
	                          .key = 5,
	                          .type = RH_COMM_F32,
	                          .sequence = sequence,
	                          .worker = worker};
	struct rh_ps_entry *entry = NULL;
	struct rh_comm_error err;
	float values[COUNT];

	for (int i = 0; i < COUNT; i++)
		values[i] = (float)(sequence + 1) / (float)(i + worker + 1);
	assert_int_equal(rh_ps_store_check(kept->store, &head, &err), 1);
	assert_int_equal(rh_ps_journal_add(kept->journal, &head, (uint8_t *)values, &err), 0);
	assert_int_equal(rh_ps_store_take(kept->store, &head, (uint8_t *)values, &entry, &err), 0);
	while (rh_ps_store_settle(kept->store, entry))
		;
}

/* Some rounds, the last of which worker 1 has not pushed yet. */
static void work(const struct kept *kept)
{
	struct rh_comm_error err;

	put(kept, RH_PS_REC_INIT, 0, 1);
	for (uint64_t i = 2; i < 6; i++) {
		put(kept, RH_PS_REC_PUSH, 0, i);
		if (i < 5)
			put(kept, RH_PS_REC_PUSH, 1, i);
	}
	assert_int_equal(rh_ps_journal_commit(kept->journal, &err), 0);
}

static void assert_same(const struct rh_ps_store *a, const struct rh_ps_store *b)
{
	const struct rh_ps_entry *left = rh_ps_store_find(a, 5, 0);
	const struct rh_ps_entry *right = rh_ps_store_find(b, 5, 0);

	assert_int_equal(a->epoch, b->epoch);
	assert_non_null(left);
	assert_non_null(right);
	assert_true(right->known);
	assert_int_equal(left->version, right->version);
	assert_memory_equal(left->value, right->value, left->bytes);
	assert_memory_equal(left->slots[0], right->slots[0], left->bytes);
	assert_memory_equal(left->pushed, right->pushed, 2 * sizeof(*left->pushed));
	assert_int_equal(left->rounds != NULL, right->rounds != NULL);
	if (left->rounds)
		assert_memory_equal(left->rounds->data, right->rounds->data, left->bytes);
	for (int i = 0; i < 2; i++)
		assert_int_equal(a->seats[i].last, b->seats[i].last);
}

static void test_journal__brings_back_what_was_committed(void **state)
{
	struct kept before;
	struct kept after;

	open_kept(*state, &before);
	work(&before);
	rh_ps_journal_free(before.journal);
	open_kept(*state, &after);
	assert_same(before.store, after.store);
	/* and both go on in the same way */
	before.journal = after.journal;
	put(&before, RH_PS_REC_PUSH, 1, 5);
	put(&after, RH_PS_REC_PUSH, 1, 5);
	assert_same(before.store, after.store);
	rh_ps_store_free(before.store);
	close_kept(&after);
}

static void test_journal__renews_the_image(void **state)
{
	const struct folder *folder = *state;
	struct kept before;
	struct kept after;
	struct rh_comm_error err;
	char name[128];

	open_kept(folder, &before);
	work(&before);
	assert_false(rh_ps_journal_is_long(before.journal, before.store));
	assert_int_equal(rh_ps_journal_renew(before.journal, before.store, &err), 0);
	put(&before, RH_PS_REC_PUSH, 0, 6);
	assert_int_equal(rh_ps_journal_commit(before.journal, &err), 0);
	(void)snprintf(name, sizeof(name), "%s/state-0.1", folder->path);
	assert_int_equal(access(name, F_OK), -1);
	(void)snprintf(name, sizeof(name), "%s/log-0.1", folder->path);
	assert_int_equal(access(name, F_OK), -1);
	rh_ps_journal_free(before.journal);
	open_kept(folder, &after);
	assert_same(before.store, after.store);
	rh_ps_store_free(before.store);
	close_kept(&after);
}

static off_t size_of(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_size;
}

/* Wherever the log is torn, what was whole before comes back, and the next start finds a good log. */
static void test_journal__cuts_a_torn_end(void **state)
{
	static const off_t torn[] = {1, 8, 63, 64, 65, 463};
	const struct folder *folder = *state;
	struct kept kept;
	struct rh_comm_error err;
	char log[128];
	off_t whole;

	(void)snprintf(log, sizeof(log), "%s/log-0.1", folder->path);
	open_kept(folder, &kept);
	work(&kept);
	whole = size_of(log);
	for (size_t i = 0; i < sizeof(torn) / sizeof(torn[0]); i++) {
		put(&kept, RH_PS_REC_PUSH, 1, 5);
		assert_int_equal(rh_ps_journal_commit(kept.journal, &err), 0);
		close_kept(&kept);
		assert_int_equal(truncate(log, whole + torn[i]), 0);
		open_kept(folder, &kept);
		assert_int_equal(kept.store->seats[1].last, 4);
		assert_int_equal(kept.store->seats[0].last, 5);
		assert_int_equal(size_of(log), whole);
	}
	close_kept(&kept);
}

static void flip(const char *path, off_t at)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	(void)close(fd);
}

static void test_journal__a_damaged_record_does_not_count(void **state)
{
	const struct folder *folder = *state;
	struct kept kept;
	char log[128];

	(void)snprintf(log, sizeof(log), "%s/log-0.1", folder->path);
	open_kept(folder, &kept);
	work(&kept);
	close_kept(&kept);
	flip(log, size_of(log) - 10);
	open_kept(folder, &kept);
	assert_int_equal(kept.store->seats[0].last, 4);
	close_kept(&kept);
}

static void test_journal__refuses_a_damaged_image(void **state)
{
	const struct folder *folder = *state;
	struct rh_ps_journal_plan plan = make_plan(folder);
	struct rh_comm_error err = {0};
	struct kept kept;
	char image[128];
	off_t length;

	(void)snprintf(image, sizeof(image), "%s/state-0.2", folder->path);
	open_kept(folder, &kept);
	work(&kept);
	assert_int_equal(rh_ps_journal_renew(kept.journal, kept.store, &err), 0);
	close_kept(&kept);
	length = size_of(image);
	for (off_t at = 0; at < length; at += length / 50) {
		flip(image, at);
		assert_true(rh_ps_journal_open(&plan, &kept.journal, &kept.store, &err) < 0);
		assert_non_null(strstr(err.text, "state-0.2"));
		flip(image, at);
	}
	open_kept(folder, &kept);
	close_kept(&kept);
	assert_int_equal(truncate(image, length - 1), 0);
	assert_int_equal(rh_ps_journal_open(&plan, &kept.journal, &kept.store, &err), RH_COMM_EIO);
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
	struct kept kept;

	open_kept(*state, &kept);
	work(&kept);
	close_kept(&kept);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_ps_journal_plan plan = make_plan(*state);
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
	struct rh_ps_journal_plan plan = make_plan(*state);
	struct rh_comm_error err = {0};
	struct kept first;
	struct kept other;

	open_kept(*state, &first);
	assert_int_equal(rh_ps_journal_open(&plan, &other.journal, &other.store, &err), RH_COMM_EINVAL);
	assert_non_null(strstr(err.text, "another parameter server 0 uses"));
	/* another index is another server */
	plan.config.servers = 2;
	plan.config.index = 1;
	assert_int_equal(rh_ps_journal_open(&plan, &other.journal, &other.store, &err), 0);
	close_kept(&other);
	close_kept(&first);
}

static void test_journal__a_failed_write_is_an_error_for_good(void **state)
{
	struct rh_ps_journal_plan plan = make_plan(*state);
	struct rh_comm_error err = {0};
	struct kept kept;

	(void)state;
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
		cmocka_unit_test_setup_teardown(test_journal__brings_back_what_was_committed, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_journal__renews_the_image, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_journal__cuts_a_torn_end, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_journal__a_damaged_record_does_not_count, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_journal__refuses_a_damaged_image, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_journal__refuses_the_folder_of_another_server, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_journal__one_server_at_a_time, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_journal__a_failed_write_is_an_error_for_good, make_folder, remove_folder),
		cmocka_unit_test(test_journal__sums_see_every_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a parameter server keeps when the disk is full or fails: all that it has answered for, or it says that not. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/ps/server/journals.h"

/* The linker's --wrap calls ours for writev, and the real one __real_writev. */
ssize_t __real_writev(int fd, const struct iovec *parts, int count);
int __real_fdatasync(int fd);
int __real_fsync(int fd);
ssize_t __wrap_writev(int fd, const struct iovec *parts, int count);
int __wrap_fdatasync(int fd);
int __wrap_fsync(int fd);

/* How the disk does. All zero but for `room` and `syncs` is well. */
struct disk {
	size_t most;   /* bytes that one call takes; 0: any number */
	int64_t room;  /* bytes that are left; negative: enough */
	int64_t syncs; /* that still go well; negative: all */
	int64_t synced;
};

static struct disk *disk_get(void)
{
	static struct disk disk = {.room = -1, .syncs = -1};

	return &disk;
}

static int disk_mend(void **state)
{
	*disk_get() = (struct disk){.room = -1, .syncs = -1};
	return journals_remove_folder(state);
}

static bool disk_sync(void)
{
	struct disk *disk = disk_get();

	if (disk->syncs == 0) {
		errno = EIO;
		return false;
	}
	disk->syncs -= disk->syncs > 0;
	disk->synced++;
	return true;
}

/* Only the first part of the vector, as much of it as there is room for: writev() may do so. */
ssize_t __wrap_writev(int fd, const struct iovec *parts, int count)
{
	struct disk *disk = disk_get();
	size_t length = parts->iov_len;
	ssize_t n;

	if (disk->most == 0 && disk->room < 0)
		return __real_writev(fd, parts, count);
	if (disk->most > 0 && length > disk->most)
		length = disk->most;
	if (disk->room >= 0 && length > (size_t)disk->room)
		length = (size_t)disk->room;
	if (length == 0 && parts->iov_len > 0) {
		errno = ENOSPC;
		return -1;
	}
	n = write(fd, parts->iov_base, length);
	if (disk->room >= 0 && n > 0)
		disk->room -= n;
	return n;
}

int __wrap_fdatasync(int fd)
{
	return disk_sync() ? __real_fdatasync(fd) : -1;
}

int __wrap_fsync(int fd)
{
	return disk_sync() ? __real_fsync(fd) : -1;
}

static void open_synced(const struct journals_folder *folder, struct journals_kept *ret_kept)
{
	struct rh_ps_journal_plan plan = journals_plan(folder);
	struct rh_comm_error err = {0};

	plan.synced = true;
	if (rh_ps_journal_open(&plan, &ret_kept->journal, &ret_kept->store, &err) < 0)
		fail_msg("%s", err.text);
}

/* Requests 1 … of both workers, in turn, each answered for after a commit. @return the last that was */
static uint64_t answer(const struct journals_kept *kept, uint64_t from, uint64_t to)
{
	struct rh_comm_error err;

	for (uint64_t i = from; i <= to; i++) {
		if (journals_put(kept, i == 1 ? RH_PS_REC_INIT : RH_PS_REC_PUSH, 0, i) < 0 ||
		    (i > 1 && journals_put(kept, RH_PS_REC_PUSH, 1, i) < 0) || rh_ps_journal_commit(kept->journal, &err) < 0)
			return i - 1;
	}
	return to;
}

/* Nothing more may be answered for, also when there is room again: the log may end in half a record. */
static void assert_broken(const struct journals_kept *kept)
{
	struct rh_comm_error err = {0};

	*disk_get() = (struct disk){.room = -1, .syncs = -1};
	assert_int_equal(rh_ps_journal_commit(kept->journal, &err), RH_COMM_EIO);
	assert_int_equal(rh_ps_journal_renew(kept->journal, kept->store, &err), RH_COMM_EIO);
	assert_non_null(strstr(err.text, "cannot be written"));
}

/* The folder holds what was answered for, and at most the one request that was under way. */
static void assert_kept(const struct journals_folder *folder, uint64_t answered)
{
	struct journals_kept kept;
	struct journals_kept other;
	void *elsewhere;
	uint64_t first;
	uint64_t second;

	open_synced(folder, &kept);
	first = kept.store->workers[0].last;
	second = kept.store->workers[1].last;
	assert_in_range(first, answered, answered + 1);
	assert_in_range(second, answered > 1 ? answered : 0, answered + 1);
	assert_int_equal(journals_make_folder(&elsewhere), 0);
	journals_open(elsewhere, &other);
	if (first > 0) {
		uint64_t both = first > 1 && second < first ? first - 1 : first;

		assert_int_equal(answer(&other, 1, both), both);
		if (both < first)
			assert_int_equal(journals_put(&other, RH_PS_REC_PUSH, 0, first), 0);
		journals_assert_same(other.store, kept.store);
	}
	journals_close(&other);
	assert_int_equal(journals_remove_folder(&elsewhere), 0);
	journals_close(&kept);
}

static void test_journal_failure__short_writes_are_gone_on_with(void **state)
{
	static const size_t most[] = {1, 7, 64, 100, 463};

	(void)state;
	for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		void *other;
		struct journals_kept kept;

		assert_int_equal(journals_make_folder(&other), 0);
		journals_open(other, &kept);
		disk_get()->most = most[i];
		assert_int_equal(answer(&kept, 1, 6), 6);
		disk_get()->most = 0;
		journals_close(&kept);
		assert_kept(other, 6);
		assert_int_equal(journals_remove_folder(&other), 0);
	}
}

static void test_journal_failure__full_disk_loses_nothing_that_was_answered_for(void **state)
{
	(void)state;
	for (int64_t room = 0; room < 11 * (int64_t)JOURNALS_RECORD; room += 113) {
		void *folder;
		struct journals_kept kept;
		uint64_t answered;

		assert_int_equal(journals_make_folder(&folder), 0);
		journals_open(folder, &kept);
		disk_get()->room = room;
		answered = answer(&kept, 1, 6);
		assert_in_range(answered, 0, 5);
		assert_broken(&kept);
		journals_close(&kept);
		assert_kept(folder, answered);
		assert_int_equal(journals_remove_folder(&folder), 0);
	}
}

static void test_journal_failure__failed_sync_is_never_tried_again(void **state)
{
	(void)state;
	for (int64_t syncs = 0; syncs < 6; syncs++) {
		void *folder;
		struct journals_kept kept;

		assert_int_equal(journals_make_folder(&folder), 0);
		open_synced(folder, &kept);
		disk_get()->syncs = syncs;
		assert_int_equal(answer(&kept, 1, 9), (uint64_t)syncs);
		assert_broken(&kept);
		journals_close(&kept);
		assert_kept(folder, (uint64_t)syncs);
		assert_int_equal(journals_remove_folder(&folder), 0);
	}
}

/* What a killed server wrote may be whole, and yet on no disk: it is answered for now. */
static void test_journal_failure__synced_log_is_synced_after_a_start(void **state)
{
	struct journals_kept kept;
	struct rh_comm_error err;

	journals_open(*state, &kept);
	assert_int_equal(answer(&kept, 1, 3), 3);
	journals_close(&kept);
	open_synced(*state, &kept);
	disk_get()->synced = 0;
	assert_int_equal(rh_ps_journal_commit(kept.journal, &err), 0);
	assert_int_equal(disk_get()->synced, 1);
	assert_int_equal(rh_ps_journal_commit(kept.journal, &err), 0);
	assert_int_equal(disk_get()->synced, 1);
	journals_close(&kept);
}

/* The limit on the size of files stands for a full disk: what is above it is an error of write(). */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Wherever an image's writing ends, the last image and its log still count. */
static void test_journal_failure__image_that_cannot_be_written_loses_nothing(void **state)
{
	struct rh_comm_error err = {0};

	(void)state;
	(void)signal(SIGXFSZ, SIG_IGN);
	for (rlim_t bytes = 0; bytes < 1000; bytes += 171) {
		void *folder;
		struct journals_kept kept;

		assert_int_equal(journals_make_folder(&folder), 0);
		journals_open(folder, &kept);
		assert_int_equal(answer(&kept, 1, 4), 4);
		limit_files(bytes);
		assert_int_equal(rh_ps_journal_renew(kept.journal, kept.store, &err), RH_COMM_EIO);
		limit_files(RLIM_INFINITY);
		assert_non_null(strstr(err.text, "write state-0.2"));
		assert_broken(&kept);
		journals_close(&kept);
		assert_kept(folder, 4);
		assert_int_equal(journals_remove_folder(&folder), 0);
	}
	(void)signal(SIGXFSZ, SIG_DFL);
}

static void test_journal_failure__image_that_is_not_synced_loses_nothing(void **state)
{
	struct rh_comm_error err = {0};

	(void)state;
	for (int64_t syncs = 0; syncs < 2; syncs++) {
		void *folder;
		struct journals_kept kept;

		assert_int_equal(journals_make_folder(&folder), 0);
		journals_open(folder, &kept);
		assert_int_equal(answer(&kept, 1, 4), 4);
		disk_get()->syncs = syncs;
		assert_int_equal(rh_ps_journal_renew(kept.journal, kept.store, &err), RH_COMM_EIO);
		assert_broken(&kept);
		journals_close(&kept);
		assert_kept(folder, 4);
		assert_int_equal(journals_remove_folder(&folder), 0);
	}
}

static void copy(const struct journals_folder *folder, const char *from, const char *to)
{
	char paths[2][128];
	uint8_t bytes[20 * JOURNALS_RECORD];
	ssize_t n;
	int fd;

	(void)snprintf(paths[0], sizeof(paths[0]), "%s/%s", folder->path, from);
	(void)snprintf(paths[1], sizeof(paths[1]), "%s/%s", folder->path, to);
	fd = open(paths[0], O_RDONLY | O_CLOEXEC);
	n = read(fd, bytes, sizeof(bytes));
	assert_in_range(n, 1, sizeof(bytes) - 1);
	(void)close(fd);
	fd = open(paths[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, bytes, (size_t)n), n);
	(void)close(fd);
}

static void remove_file(const struct journals_folder *folder, const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	assert_int_equal(unlink(path), 0);
}

/* Of an image that was begun, and of a run whose image somebody took away, nothing comes back. */
static void test_journal_failure__leftovers_do_not_count(void **state)
{
	const struct journals_folder *folder = *state;
	struct journals_kept kept;
	struct rh_comm_error err;

	journals_open(folder, &kept);
	assert_int_equal(answer(&kept, 1, 9), 9);
	journals_close(&kept);
	copy(folder, "log-0.1", "log-0.2");
	copy(folder, "log-0.1", "state-0.2.new");
	remove_file(folder, "state-0.1");
	remove_file(folder, "log-0.1");
	journals_open(folder, &kept);
	assert_int_equal(answer(&kept, 1, 4), 4);
	assert_int_equal(rh_ps_journal_renew(kept.journal, kept.store, &err), 0);
	journals_close(&kept);
	assert_kept(folder, 4);
}

static void test_journal_failure__image_that_cannot_be_read_is_not_called_damaged(void **state)
{
	const struct journals_folder *folder = *state;
	struct journals_kept kept;
	char image[128];

	(void)snprintf(image, sizeof(image), "%s/state-0.1", folder->path);
	journals_open(folder, &kept);
	journals_close(&kept);
	assert_int_equal(unlink(image), 0);
	/* nothing is mapped at address 0 */
	assert_int_equal(symlink("/proc/self/mem", image), 0);
	journals_assert_refused(folder, RH_COMM_EIO, "read state-0.1: Input/output error");
}

#define CASE(name) cmocka_unit_test_setup_teardown(test_journal_failure__##name, journals_make_folder, disk_mend)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(short_writes_are_gone_on_with),
		CASE(full_disk_loses_nothing_that_was_answered_for),
		CASE(failed_sync_is_never_tried_again),
		CASE(synced_log_is_synced_after_a_start),
		CASE(image_that_cannot_be_written_loses_nothing),
		CASE(image_that_is_not_synced_loses_nothing),
		CASE(leftovers_do_not_count),
		CASE(image_that_cannot_be_read_is_not_called_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

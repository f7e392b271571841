/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/support.h"

/* The folder of one test, and paths in it. */
struct scratch {
	char folder[64];
	char path[128];
};

static int scratch_make(void **state)
{
	static struct scratch scratch;

	rh_copy(scratch.folder, sizeof(scratch.folder), "/tmp/rh-test-file-XXXXXX");
	if (!mkdtemp(scratch.folder))
		return -1;
	*state = &scratch;
	return 0;
}

static int scratch_remove(void **state)
{
	const struct scratch *scratch = *state;

	return rh_dir_remove(scratch->folder, NULL);
}

static const char *scratch_path(struct scratch *scratch, const char *name)
{
	snprintf(scratch->path, sizeof(scratch->path), "%s/%s", scratch->folder, name);
	return scratch->path;
}

static void scratch_write(const char *path, const char *text)
{
	struct rh_error err = {0};

	if (rh_file_write_atomic(path, text, strlen(text), 0600, &err) < 0)
		fail_msg("%s", err.message);
}

static bool scratch_exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static void test_file__write_and_read(void **state)
{
	const char *path = scratch_path(*state, "a");
	rh_auto_free char *text = NULL;
	size_t length = 0;
	struct stat st;

	assert_int_equal(rh_file_write_atomic(path, "a\0b", 3, 0640, NULL), 0);
	assert_int_equal(rh_file_read(path, 100, &text, &length, NULL), 0);
	assert_int_equal(length, 3);
	assert_memory_equal(text, "a\0b\0", 4);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
}

static void test_file__write_replaces_the_whole_file(void **state)
{
	const char *path = scratch_path(*state, "a");
	rh_auto_free char *text = NULL;
	rh_auto_close int old = -1;
	char buffer[16] = "";

	scratch_write(path, "a longer text");
	old = open(path, O_RDONLY | O_CLOEXEC);
	scratch_write(path, "short");
	assert_int_equal(rh_file_read(path, 100, &text, NULL, NULL), 0);
	assert_string_equal(text, "short");
	assert_int_equal(read(old, buffer, sizeof(buffer)), 13);
}

static void test_file__write_leaves_nothing_behind_when_it_fails(void **state)
{
	struct rh_error err = {0};
	const struct scratch *scratch = *state;
	const char *path = scratch_path(*state, "folder");

	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(rh_file_write_atomic(path, "x", 1, 0600, &err), RH_EIO);
	assert_non_null(strstr(err.message, path));
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(scratch->folder), 0);
	assert_int_equal(mkdir(scratch->folder, 0700), 0);
}

static void test_file__write_into_a_missing_folder(void **state)
{
	struct rh_error err = {0};

	assert_int_equal(rh_file_write_atomic(scratch_path(*state, "no/a"), "x", 1, 0600, &err), RH_EIO);
	assert_non_null(strstr(err.message, "No such file"));
}

/* A full disk, as the limit on file sizes lets one pretend. */
static void test_file__write_reports_a_full_disk(void **state)
{
	const char *path = scratch_path(*state, "a");
	struct rlimit old, small = {.rlim_cur = 10, .rlim_max = RLIM_INFINITY};
	struct rh_error err = {0};
	int r;

	scratch_write(path, "old");
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	r = rh_file_write_atomic(path, "more than ten bytes", 19, 0600, &err);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(r, RH_EIO);
	assert_non_null(strstr(err.message, path));
	rh_auto_free char *text = NULL;
	assert_int_equal(rh_file_read(path, 100, &text, NULL, NULL), 0);
	assert_string_equal(text, "old");
}

static void test_file__read_empty(void **state)
{
	const char *path = scratch_path(*state, "a");
	rh_auto_free char *text = NULL;
	size_t length = 7;

	scratch_write(path, "");
	assert_int_equal(rh_file_read(path, 0, &text, &length, NULL), 0);
	assert_string_equal(text, "");
	assert_int_equal(length, 0);
}

static void test_file__read_at_the_limit(void **state)
{
	const char *path = scratch_path(*state, "a");
	rh_auto_free char *text = NULL;
	struct rh_error err = {0};

	scratch_write(path, "12345");
	assert_int_equal(rh_file_read(path, 5, &text, NULL, NULL), 0);
	assert_int_equal(rh_file_read(path, 4, &text, NULL, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, path));
	assert_non_null(strstr(err.message, "5 bytes, more than the limit of 4 bytes"));
}

static void test_file__read_does_not_read_what_is_too_large(void **state)
{
	const char *path = scratch_path(*state, "a");
	char *text = NULL;
	struct rh_error err = {0};

	scratch_write(path, "x");
	assert_int_equal(truncate(path, INT64_C(1) << 40), 0);
	assert_int_equal(rh_file_read(path, 1000, &text, NULL, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "1099511627776"));
	assert_null(text);
}

static void test_file__read_refuses(void **state)
{
	struct rh_error err = {0};
	char *text = NULL;
	const struct scratch *scratch = *state;

	assert_int_equal(rh_file_read(scratch->folder, 10, &text, NULL, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "is a directory"));
	assert_int_equal(rh_file_read(scratch_path(*state, "no"), 10, &text, NULL, &err), RH_ENOENT);
	assert_non_null(strstr(err.message, "cannot open"));
	assert_int_equal(rh_file_read("/proc/self/mem", 10, &text, NULL, &err), RH_EIO);
	assert_non_null(strstr(err.message, "cannot read"));
	assert_null(text);
}

static void test_file__read_what_has_no_size(void **state)
{
	rh_auto_free char *text = NULL;
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(rh_file_read("/proc/self/status", 100000, &text, NULL, NULL), 0);
	assert_non_null(strstr(text, "Pid:"));
	assert_int_equal(rh_file_read("/dev/zero", 100000, &text, NULL, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "larger than the limit of 100000 bytes"));
}

static void test_file__read_standard_input(void **state)
{
	rh_auto_free char *text = NULL;
	int saved = dup(STDIN_FILENO), ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "piped", 5), 5);
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	assert_int_equal(rh_file_read("-", 100, &text, NULL, NULL), 0);
	assert_string_equal(text, "piped");
	dup2(saved, STDIN_FILENO);
	close(saved);
}

static int test_file_read_one(void *arg)
{
	rh_auto_free char *text = NULL;

	return rh_file_read(arg, 100, &text, NULL, NULL);
}

static void test_file__read_without_memory(void **state)
{
	char path[128];

	rh_copy(path, sizeof(path), scratch_path(*state, "a"));
	scratch_write(path, "text");
	support_fail_each(test_file_read_one, path);
}

static void test_file__fd_write_all_waits_for_room(void **state)
{
	rh_auto_free char *bytes = rh_alloc(1 << 20);
	int ends[2], status;
	pid_t reader;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	reader = fork();
	if (reader == 0) {
		static char sink[4096];
		size_t got = 0;
		ssize_t n;

		close(ends[1]);
		while ((n = read(ends[0], sink, sizeof(sink))) > 0)
			got += (size_t)n;
		_exit(got == 1 << 20 ? 0 : 1);
	}
	close(ends[0]);
	assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(rh_fd_write_all(ends[1], bytes, 1 << 20, NULL), 0);
	close(ends[1]);
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_int_equal(status, 0);
}

static void test_file__fd_write_all_fails(void **state)
{
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(rh_fd_write_all(-1, "x", 1, &err), RH_EIO);
	assert_non_null(strstr(err.message, "cannot write"));
	assert_int_equal(rh_fd_write_all(-1, "", 0, &err), 0);
}

static void test_file__dir_make(void **state)
{
	const char *path = scratch_path(*state, "a/b/c");
	struct stat st;

	assert_int_equal(rh_dir_make(path, 0750, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(rh_dir_make(path, 0750, NULL), 0);
	assert_int_equal(rh_dir_make(scratch_path(*state, "d//e/"), 0750, NULL), 0);
	assert_true(scratch_exists(scratch_path(*state, "d/e")));
	assert_int_equal(rh_dir_make("/", 0750, NULL), 0);
}

static void test_file__dir_make_exact(void **state)
{
	mode_t saved = umask(077);
	struct stat st;

	assert_int_equal(rh_dir_make(scratch_path(*state, "private"), 0755, NULL), 0);
	assert_int_equal(rh_dir_make_exact(scratch_path(*state, "private/a/b"), 0755, NULL), 0);
	(void)umask(saved);
	assert_int_equal(stat(scratch_path(*state, "private"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(scratch_path(*state, "private/a"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(stat(scratch_path(*state, "private/a/b"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
}

static void test_file__dir_make_refuses_a_file_on_the_way(void **state)
{
	struct rh_error err = {0};

	scratch_write(scratch_path(*state, "file"), "x");
	assert_int_equal(rh_dir_make(scratch_path(*state, "file"), 0750, &err), RH_EIO);
	assert_non_null(strstr(err.message, "Not a directory"));
	assert_int_equal(rh_dir_make(scratch_path(*state, "file/a"), 0750, &err), RH_EIO);
	assert_non_null(strstr(err.message, "file"));
}

static void test_file__dir_remove(void **state)
{
	const char *path;

	rh_dir_make(scratch_path(*state, "tree/a/b"), 0700, NULL);
	rh_dir_make(scratch_path(*state, "tree/empty"), 0700, NULL);
	scratch_write(scratch_path(*state, "tree/a/b/file"), "x");
	scratch_write(scratch_path(*state, "tree/.hidden"), "x");
	path = scratch_path(*state, "tree");
	assert_int_equal(rh_dir_remove(path, NULL), 0);
	assert_false(scratch_exists(path));
	assert_int_equal(rh_dir_remove(path, NULL), 0);
}

static void test_file__dir_remove_leaves_what_links_point_to(void **state)
{
	char target[128];

	rh_dir_make(scratch_path(*state, "kept"), 0700, NULL);
	rh_copy(target, sizeof(target), scratch_path(*state, "kept"));
	scratch_write(scratch_path(*state, "kept/file"), "x");
	rh_dir_make(scratch_path(*state, "tree"), 0700, NULL);
	assert_int_equal(symlink(target, scratch_path(*state, "tree/link")), 0);
	assert_int_equal(symlink(target, scratch_path(*state, "top")), 0);
	assert_int_equal(rh_dir_remove(scratch_path(*state, "tree"), NULL), 0);
	assert_int_equal(rh_dir_remove(scratch_path(*state, "top"), NULL), 0);
	assert_false(scratch_exists(scratch_path(*state, "top")));
	assert_true(scratch_exists(scratch_path(*state, "kept/file")));
}

static void test_file__dir_remove_goes_into_closed_folders(void **state)
{
	rh_dir_make(scratch_path(*state, "tree/closed/below"), 0700, NULL);
	scratch_write(scratch_path(*state, "tree/closed/below/file"), "x");
	assert_int_equal(chmod(scratch_path(*state, "tree/closed/below"), 0500), 0);
	assert_int_equal(chmod(scratch_path(*state, "tree/closed"), 0), 0);
	assert_int_equal(rh_dir_remove(scratch_path(*state, "tree"), NULL), 0);
	assert_false(scratch_exists(scratch_path(*state, "tree")));
}

/* Far deeper than descriptors, or PATH_MAX, reach. */
static void test_file__dir_remove_of_a_deep_tree(void **state)
{
	struct rlimit before, few;
	int at;

	rh_dir_make(scratch_path(*state, "tree"), 0700, NULL);
	scratch_write(scratch_path(*state, "tree/file"), "x");
	at = open(scratch_path(*state, "tree"), O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 3000; i++) {
		int below;

		assert_int_equal(mkdirat(at, "folder", 0700), 0);
		below = openat(at, "folder", O_RDONLY | O_DIRECTORY);
		assert_true(below >= 0);
		assert_int_equal(mkdirat(below, "beside", 0700), 0);
		close(at);
		at = below;
	}
	close(at);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 128;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(rh_dir_remove(scratch_path(*state, "tree"), NULL), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_false(scratch_exists(scratch_path(*state, "tree")));
}

static void test_file__dir_remove_reports_where_it_failed(void **state)
{
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(rh_dir_remove("/proc/self/fdinfo", &err), RH_EIO);
	assert_non_null(strstr(err.message, "/proc/self/fdinfo"));
}

static void test_file__path_folder(void **state)
{
	static const char *const rows[][2] = {{"a", "."},     {"a/b", "a"},     {"/a", "/"},
	                                      {"/a/b", "/a"}, {"a/b/c", "a/b"}, {"", "."}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *folder = rh_path_folder(rows[i][0]);

		assert_string_equal(folder, rows[i][1]);
	}
}

static void test_file__path_nearest(void **state)
{
	static const char *const rows[][2] = {{"trian.yaml", "train.yaml"},
	                                      {"sub/tran.py", "sub/train.py"},
	                                      {"./trian.yaml", "./train.yaml"},
	                                      {"TRAIN.yaml", "train.yaml"},
	                                      {"other.json", NULL},
	                                      {"none/train.py", NULL},
	                                      {"", NULL}};
	rh_auto_free char *sub = rh_path_join(*state, "sub");

	assert_int_equal(rh_dir_make(sub, 0700, NULL), 0);
	for (size_t i = 0; i < 3; i++) {
		static const char *const names[] = {"sub/train.py", "train.yaml", "train.yaml.old"};
		rh_auto_free char *path = rh_path_join(*state, names[i]);

		assert_int_equal(rh_file_write_atomic(path, "x", 1, 0600, NULL), 0);
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *near = rh_path_nearest(*state, rows[i][0]);

		if (rows[i][1])
			assert_string_equal(near, rows[i][1]);
		else
			assert_null(near);
	}
}

static void test_file__path_join(void **state)
{
	static const struct {
		const char *base, *name, *expected;
	} rows[] = {
		{"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"/", "b", "/b"}, {"a", "/b", "/b"}, {"", "b", "b"}, {"a", "", "a/"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *path = rh_path_join(rows[i].base, rows[i].name);

		assert_string_equal(path, rows[i].expected);
	}
}

#define SCRATCH_TEST(function) cmocka_unit_test_setup_teardown(function, scratch_make, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_file__write_and_read),
		SCRATCH_TEST(test_file__write_replaces_the_whole_file),
		SCRATCH_TEST(test_file__write_leaves_nothing_behind_when_it_fails),
		SCRATCH_TEST(test_file__write_into_a_missing_folder),
		SCRATCH_TEST(test_file__write_reports_a_full_disk),
		SCRATCH_TEST(test_file__read_empty),
		SCRATCH_TEST(test_file__read_at_the_limit),
		SCRATCH_TEST(test_file__read_does_not_read_what_is_too_large),
		SCRATCH_TEST(test_file__read_refuses),
		cmocka_unit_test(test_file__read_what_has_no_size),
		cmocka_unit_test(test_file__read_standard_input),
		SCRATCH_TEST(test_file__read_without_memory),
		cmocka_unit_test(test_file__fd_write_all_waits_for_room),
		cmocka_unit_test(test_file__fd_write_all_fails),
		SCRATCH_TEST(test_file__dir_make),
		SCRATCH_TEST(test_file__dir_make_exact),
		SCRATCH_TEST(test_file__dir_make_refuses_a_file_on_the_way),
		SCRATCH_TEST(test_file__dir_remove),
		SCRATCH_TEST(test_file__dir_remove_leaves_what_links_point_to),
		SCRATCH_TEST(test_file__dir_remove_goes_into_closed_folders),
		SCRATCH_TEST(test_file__dir_remove_of_a_deep_tree),
		cmocka_unit_test(test_file__dir_remove_reports_where_it_failed),
		cmocka_unit_test(test_file__path_folder),
		cmocka_unit_test(test_file__path_join),
		SCRATCH_TEST(test_file__path_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/library/trust.h"
#include "base/os/file.h"

/** A folder of the test with outer/inner/file in it. */
struct place {
	char root[64], outer[128], inner[192], file[256];
};

static void place_close(struct place *place)
{
	assert_int_equal(rh_dir_remove(place->root, NULL), 0);
}

static void place_open(struct place *place)
{
	(void)snprintf(place->root, sizeof(place->root), "/tmp/test_trust_XXXXXX");
	assert_non_null(mkdtemp(place->root));
	(void)snprintf(place->outer, sizeof(place->outer), "%s/outer", place->root);
	(void)snprintf(place->inner, sizeof(place->inner), "%s/inner", place->outer);
	(void)snprintf(place->file, sizeof(place->file), "%s/file", place->inner);
	assert_int_equal(mkdir(place->outer, 0755), 0);
	assert_int_equal(mkdir(place->inner, 0755), 0);
	assert_int_equal(rh_file_write_atomic(place->file, "x", 1, 0644, NULL), 0);
	assert_int_equal(chmod(place->outer, 0755) | chmod(place->inner, 0755) | chmod(place->file, 0644), 0);
}

#define auto_place __attribute__((cleanup(place_close))) struct place

/** @param words what the refusal says; NULL: the file is taken */
static void assert_trust(const char *path, const char *self, const char *words)
{
	char real[PATH_MAX];
	char why[512] = "";
	int fd = rh_trust_open(path, self, real, why, sizeof(why));

	if (words ? fd >= 0 || !strstr(why, words) : fd < 0)
		fail_msg("%s: %d, \"%s\" does not say \"%s\"", path, fd, why, words ? words : "");
	if (fd >= 0)
		assert_int_equal(close(fd), 0);
}

static void test_trust__who_else_may_write(void **state)
{
	static const struct {
		int part; /* 0 the file, 1 its folder, 2 the one above, 3 the one above that */
		mode_t mode;
		const char *words;
	} rows[] = {
		{0, 0644, NULL},
		{0, 0664, "can be written by its group; take that away with chmod g-w"},
		{0, 0646, "can be written by every user; take that away with chmod o-w"},
		{0, 01646, "can be written by every user"},
		{1, 0775, "can be written by its group"},
		{1, 0777, "can be written by every user"},
		{1, 01777, NULL},
		{2, 0775, "can be written by its group"},
		{2, 0777, "can be written by every user"},
		{2, 01777, NULL},
		{3, 0777, "can be written by every user"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_place place;
		const char *const parts[] = {place.file, place.inner, place.outer, place.root};

		place_open(&place);
		assert_int_equal(chmod(parts[rows[i].part], rows[i].mode), 0);
		assert_trust(place.file, "/proc/self/exe", rows[i].words);
		if (rows[i].words)
			assert_trust(place.file, NULL, parts[rows[i].part]);
	}
}

/* Who can replace the program gains nothing by replacing what it loads. */
static void test_trust__who_may_write_the_program_may_write_this(void **state)
{
	char program[320];
	auto_place place;

	(void)state;
	place_open(&place);
	(void)snprintf(program, sizeof(program), "%s/program", place.outer);
	assert_int_equal(rh_file_write_atomic(program, "x", 1, 0755, NULL), 0);
	assert_int_equal(chmod(program, 0755), 0);
	assert_int_equal(chmod(place.file, 0664), 0);
	assert_trust(place.file, program, "by its group");
	assert_int_equal(chmod(place.outer, 0775), 0);
	assert_trust(place.file, program, NULL);
	assert_trust(place.file, NULL, "by its group");
	assert_int_equal(chmod(place.inner, 0777), 0);
	assert_trust(place.file, program, "by every user");
}

static void test_trust__another_user(void **state)
{
	char program[320];
	auto_place place;

	(void)state;
	if (geteuid() != 0)
		skip();
	place_open(&place);
	(void)snprintf(program, sizeof(program), "%s/program", place.root);
	assert_int_equal(rh_file_write_atomic(program, "x", 1, 0755, NULL), 0);
	assert_int_equal(chown(place.outer, 12345, (gid_t)-1), 0);
	assert_trust(place.file, program, "belongs to user 12345; it must belong to root or to the user who runs this");
	assert_int_equal(chown(program, 12345, (gid_t)-1), 0);
	assert_trust(place.file, program, NULL);
	assert_int_equal(chown(place.outer, 0, (gid_t)-1), 0);
	assert_int_equal(chown(place.file, 54321, (gid_t)-1), 0);
	assert_trust(place.file, program, "file");
}

/* A link is judged by what it leads to. */
static void test_trust__links(void **state)
{
	char link[320], real[PATH_MAX], why[512];
	auto_place place;
	int fd;

	(void)state;
	place_open(&place);
	(void)snprintf(link, sizeof(link), "%s/link", place.root);
	assert_int_equal(symlink("outer/inner/../inner/file", link), 0);
	fd = rh_trust_open(link, NULL, real, why, sizeof(why));
	assert_true(fd >= 0);
	assert_string_equal(real, place.file);
	assert_int_equal(close(fd), 0);
	assert_int_equal(chmod(place.outer, 0777), 0);
	assert_trust(link, NULL, "by every user");
}

/* Opens what the kernel finds under a path, and says its name without links. */
static void assert_real(const char *path, const char *self, const char *real)
{
	char found[PATH_MAX], why[512] = "";
	struct stat st, named;
	int fd = rh_trust_open(path, self, found, why, sizeof(why));

	if (fd < 0 || strcmp(found, real) != 0)
		fail_msg("%s: %d, \"%s\", not \"%s\": %s", path, fd, fd < 0 ? "" : found, real, why);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(stat(path, &named), 0);
	assert_true(st.st_dev == named.st_dev && st.st_ino == named.st_ino);
	assert_int_equal(close(fd), 0);
}

/* ".." behind a link is not the folder that the link is in. */
static void test_trust__the_way_back_from_a_link(void **state)
{
	char path[400], deeper[320], above[320];
	auto_place place;

	(void)state;
	place_open(&place);
	(void)snprintf(deeper, sizeof(deeper), "%s/x", place.outer);
	(void)snprintf(above, sizeof(above), "%s/x", place.root);
	assert_int_equal(rh_file_write_atomic(deeper, "1", 1, 0644, NULL), 0);
	assert_int_equal(rh_file_write_atomic(above, "2", 1, 0644, NULL), 0);
	assert_int_equal(chmod(deeper, 0644) | chmod(above, 0644), 0);
	(void)snprintf(path, sizeof(path), "%s/link", place.root);
	assert_int_equal(symlink("outer/inner", path), 0);
	(void)snprintf(path, sizeof(path), "%s/link/../x", place.root);
	assert_real(path, NULL, deeper);
	assert_real(path, above, deeper);
	(void)snprintf(path, sizeof(path), "%s/link/file", place.root);
	assert_real(path, above, place.file);
	(void)snprintf(path, sizeof(path), "%s/.//outer/inner/../../outer/./inner//file", place.root);
	assert_real(path, above, place.file);
	/* what is not a folder has no way back: the kernel finds nothing */
	(void)snprintf(path, sizeof(path), "%s/../inner/file", deeper);
	assert_trust(path, NULL, "cannot open it: Not a directory");
}

static void test_trust__what_is_no_file(void **state)
{
	char path[320];
	auto_place place;

	(void)state;
	place_open(&place);
	assert_trust("", NULL, "cannot open it: No such file or directory");
	assert_trust("/nonexistent", NULL, "cannot open it: No such file or directory");
	assert_trust(place.inner, NULL, "it is not a regular file");
	assert_trust("/", NULL, "it is not a regular file");
	(void)snprintf(path, sizeof(path), "%s/pipe", place.root);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_trust(path, NULL, "it is not a regular file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trust__who_else_may_write),
		cmocka_unit_test(test_trust__who_may_write_the_program_may_write_this),
		cmocka_unit_test(test_trust__another_user),
		cmocka_unit_test(test_trust__links),
		cmocka_unit_test(test_trust__the_way_back_from_a_link),
		cmocka_unit_test(test_trust__what_is_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

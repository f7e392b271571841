/* SPDX-License-Identifier: Apache-2.0 */
/* Backends that must be refused, each with its reason; they are built from bad_backend.c. */
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

#include "comm/ranks.h"

static int32_t open_with(const char *backend, struct rh_comm_error *err)
{
	const struct rh_comm_options options = {
		.size = sizeof(options), .has_rank = 1, .rank = 0, .world = 1, .backend = backend};
	struct rh_comm *comm = NULL;
	int32_t r = rh_comm_init(&options, &comm, err);

	if (r == 0)
		assert_string_equal(rh_comm_backend_name(comm), strcmp(backend, "auto") == 0 ? "native" : backend);
	else
		assert_null(comm);
	rh_comm_free(comm);
	return r;
}

static void test_loader__refusals(void **state)
{
	static const struct {
		const char *backend;
		const char *error; /* NULL: it is taken */
	} rows[] = {
		{"native", NULL},
		{"good", NULL},
		{"vendor", "it is for the ABI of \"somebody\", this is \"roundhouse\""},
		{"major", "it was built for ABI 7."},
		{"minor", "this library has 0."},
		{"short", "bytes, this library needs"},
		{"named", "it calls itself \"otherwise\""},
		{"lacking", "it lacks one of probe, open"},
		{"symbol", "undefined symbol: rh_comm_backend_entry_v0"},
		{"missing", "No such file"},
		{"unwilling", "the backend unwilling is not available: the moon is not full"},
		{"cuda", "it does not move host memory"},
		{"../good", "\"../good\" is not a valid name of a backend"},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "is not a valid name of a backend"},
	};

	(void)state;
	assert_int_equal(setenv("RH_COMM_PATH", RH_BAD_BACKENDS, 1), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rh_comm_error err = {.text = ""};
		int32_t r = open_with(rows[i].backend, &err);

		if (rows[i].error ? r != RH_COMM_EINVAL || !strstr(err.text, rows[i].error) : r != 0)
			fail_msg("%s: %d: %s", rows[i].backend, (int)r, err.text);
	}
}

static void test_loader__auto_goes_on_without_them(void **state)
{
	struct rh_comm_error err = {.text = ""};

	(void)state;
	assert_int_equal(setenv("RH_COMM_PATH", "/nonexistent", 1), 0);
	assert_int_equal(setenv("RH_COMM_LOG", "off", 1), 0);
	assert_int_equal(open_with("auto", &err), 0);
}

static int check_backend_reduces(struct rh_comm *comm, const void *arg)
{
	struct rh_comm_error err = {0};
	int32_t value = 1;

	if (ranks_check_backend(comm, arg) != 0)
		return 1;
	if (rh_comm_all_reduce(comm, &value, 1, RH_COMM_I32, RH_COMM_SUM, &err) != 0)
		return 2;
	return value == rh_comm_world(comm) ? 0 : 3;
}

static void test_loader__auto_takes_one_of_somebody_else_that_all_ranks_have(void **state)
{
	static const char *const all[] = {RH_THIRD_BACKENDS, RH_THIRD_BACKENDS};
	static const char *const one[] = {RH_THIRD_BACKENDS, "/nonexistent"};
	struct ranks_plan plan = {
		.world = 2, .backend = "auto", .modules = all, .fn = check_backend_reduces, .arg = "mailbox"};

	(void)state;
	ranks_run(&plan);
	plan.modules = one;
	plan.arg = "native";
	ranks_run(&plan);
}

/* Copy the good backend to @p path. */
static void copy_good(const char *path)
{
	static char bytes[1 << 20];
	FILE *from = fopen(RH_BAD_BACKENDS "/librhcomm_good.so", "rb");
	FILE *to = fopen(path, "wb");
	size_t size;

	assert_true(from && to);
	size = fread(bytes, 1, sizeof(bytes), from);
	assert_true(size > 0 && size < sizeof(bytes));
	assert_int_equal(fwrite(bytes, 1, size, to), size);
	assert_int_equal(fclose(from) | fclose(to), 0);
}

/* What is loaded runs with the rights of the job. */
static void test_loader__backends_that_others_can_write(void **state)
{
	static const struct {
		mode_t file;
		mode_t folder;
		mode_t above;
		const char *error; /* NULL: it is taken */
	} rows[] = {
		{0644, 0755, 0755, NULL},
		{0666, 0755, 0755, "can be written by every user"},
		{0664, 0755, 0755, "can be written by its group"},
		{0644, 0777, 0755, "can be written by every user"},
		{0644, 0755, 0777, "can be written by every user"},
	};
	char above[64] = "/tmp/test_loader_XXXXXX", folder[128], file[192];

	(void)state;
	assert_non_null(mkdtemp(above));
	(void)snprintf(folder, sizeof(folder), "%s/backends", above);
	(void)snprintf(file, sizeof(file), "%s/librhcomm_good.so", folder);
	assert_int_equal(mkdir(folder, 0755), 0);
	copy_good(file);
	assert_int_equal(setenv("RH_COMM_PATH", folder, 1), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rh_comm_error err = {.text = ""};
		int32_t r;

		assert_int_equal(chmod(file, rows[i].file) | chmod(folder, rows[i].folder) | chmod(above, rows[i].above), 0);
		r = open_with("good", &err);
		if (rows[i].error ? r != RH_COMM_EINVAL || !strstr(err.text, rows[i].error) : r != 0)
			fail_msg("%o %o %o: %d: %s", rows[i].file, rows[i].folder, rows[i].above, (int)r, err.text);
	}
	assert_int_equal(unlink(file) | rmdir(folder) | rmdir(above), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loader__refusals),
		cmocka_unit_test(test_loader__backends_that_others_can_write),
		cmocka_unit_test(test_loader__auto_goes_on_without_them),
		cmocka_unit_test(test_loader__auto_takes_one_of_somebody_else_that_all_ranks_have),
	};

	return cmocka_run_group_tests_name("comm/core/loader", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared objects of library/, which bring libbrought.so along in different ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/library/library.h"
#include "base/library/sealed.h"
#include "base/os/file.h"

/* A folder with a copy of one needy object, and libbrought.so in lib/ below it. */
struct place {
	char root[64], lib[96], object[128], brought[128];
};

static void place_copy(const char *name, const char *to)
{
	rh_auto_free char *from = rh_path_join(RH_LIBRARY_DIR, name);
	rh_auto_free char *bytes = NULL;
	size_t length;

	assert_int_equal(rh_file_read(from, 64u << 20, &bytes, &length, NULL), 0);
	assert_int_equal(rh_file_write_atomic(to, bytes, length, 0755, NULL), 0);
	assert_int_equal(chmod(to, 0755), 0);
}

static void place_open(struct place *place, const char *object)
{
	(void)snprintf(place->root, sizeof(place->root), "/tmp/test_library_XXXXXX");
	assert_non_null(mkdtemp(place->root));
	(void)snprintf(place->lib, sizeof(place->lib), "%s/lib", place->root);
	(void)snprintf(place->object, sizeof(place->object), "%s/%s", place->root, object);
	(void)snprintf(place->brought, sizeof(place->brought), "%s/libbrought.so", place->lib);
	assert_int_equal(mkdir(place->lib, 0755), 0);
	assert_int_equal(chmod(place->lib, 0755), 0);
	place_copy(object, place->object);
	place_copy("libbrought.so", place->brought);
}

static void place_close(struct place *place)
{
	assert_int_equal(rh_dir_remove(place->root, NULL), 0);
}

#define auto_place __attribute__((cleanup(place_close))) struct place

static void *load(const struct place *place, bool copied, char *why, size_t room)
{
	char name[RH_SEALED_NAME_SIZE];
	struct rh_library library = {.real = place->object, .name = place->object};
	int fd = open(place->object, O_RDONLY | O_CLOEXEC);
	void *handle;

	assert_true(fd >= 0);
	library.fd = fd;
	if (copied) {
		library.fd = rh_sealed_copy(fd, "needy", SIZE_MAX, why, room);
		assert_true(library.fd >= 0);
		rh_sealed_name(library.fd, name);
		library.name = name;
	}
	handle = rh_library_open(&library, why, room);
	if (copied && !handle)
		assert_int_equal(close(library.fd), 0);
	assert_int_equal(close(fd), 0);
	return handle;
}

static void assert_value(void *handle)
{
	int (*value)(void) = NULL;

	*(void **)&value = dlsym(handle, "needy_value");
	assert_non_null(value);
	assert_int_equal(value(), 42);
}

/* @param words what the refusal says; NULL: it loads */
static void assert_loads(const struct place *place, bool copied, const char *words)
{
	char why[1024] = "";
	void *handle = load(place, copied, why, sizeof(why));

	if (words ? handle || !strstr(why, words) : !handle)
		fail_msg("%s: \"%s\" does not say \"%s\"", place->object, why, words ? words : "");
	if (handle) {
		assert_value(handle);
		rh_library_close(handle);
	}
}

static void test_library__brought_along(void **state)
{
	static const char *const objects[] = {"needy_origin.so", "needy_rpath.so"};

	(void)state;
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
		auto_place place;

		place_open(&place, objects[i]);
		assert_loads(&place, false, NULL);
		assert_loads(&place, true, NULL);
	}
}

/* Two copies may be loaded one after the other: they get different names. */
static void test_library__copies_do_not_get_mixed_up(void **state)
{
	char why[1024];
	auto_place place;
	void *first, *second;

	(void)state;
	place_open(&place, "needy_origin.so");
	first = load(&place, true, why, sizeof(why));
	second = load(&place, true, why, sizeof(why));
	assert_non_null(first);
	assert_non_null(second);
	assert_ptr_not_equal(first, second);
	rh_library_close(first);
	assert_value(second);
	rh_library_close(second);
}

static void test_library__what_others_can_change(void **state)
{
	static const struct {
		bool file;
		mode_t mode;
		const char *words;
	} rows[] = {
		{true, 0775, "libbrought.so\" can be written by its group; take that away with chmod g-w"},
		{true, 0757, "libbrought.so\" can be written by every user"},
		{false, 0775, "makes others choose its libraries: folder"},
		{false, 0777, "/lib\" can be written by every user; take that away with chmod o-w"},
		{false, 01777, "/lib\" can be written by every user"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_place place;

		place_open(&place, "needy_origin.so");
		assert_int_equal(chmod(rows[i].file ? place.brought : place.lib, rows[i].mode), 0);
		assert_loads(&place, false, rows[i].words);
		assert_loads(&place, true, rows[i].words);
	}
}

static void test_library__another_user_owns_it(void **state)
{
	auto_place place;

	(void)state;
	place_open(&place, "needy_origin.so");
	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(place.brought, 54321, (gid_t)-1), 0);
	assert_loads(&place, false, "needs the library");
	assert_loads(&place, false, "belongs to user 54321");
}

/* Whoever may make the folder may put a library there. */
static void test_library__a_folder_that_others_can_make(void **state)
{
	auto_place place;

	(void)state;
	place_open(&place, "needy_tmp.so");
	assert_loads(&place, false, "folder \"/tmp\" can be written by every user");
}

static void test_library__paths_that_the_current_folder_decides(void **state)
{
	static const char *const rows[][2] = {
		{"needy_relative.so", "its RUNPATH has \"lib\"; link it with folders that start with / or $ORIGIN/"},
		{"needy_token.so", "its RUNPATH has \"$LIB/x\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_place place;

		place_open(&place, rows[i][0]);
		assert_loads(&place, false, rows[i][1]);
	}
}

static void test_library__what_is_missing(void **state)
{
	auto_place place;

	(void)state;
	place_open(&place, "needy_origin.so");
	assert_int_equal(unlink(place.brought), 0);
	assert_loads(&place, false, "it does not load: libbrought.so: cannot open");
	assert_loads(&place, true, "it does not load: libbrought.so: cannot open");
}

static void test_library__a_sealed_copy_stays(void **state)
{
	char why[256];
	auto_place place;
	int fd, copy;

	(void)state;
	place_open(&place, "needy_origin.so");
	fd = open(place.object, O_RDONLY | O_CLOEXEC);
	copy = rh_sealed_copy(fd, "needy", SIZE_MAX, why, sizeof(why));
	assert_true(copy >= 0);
	assert_int_equal(pwrite(copy, "x", 1, 0), -1);
	assert_int_equal(ftruncate(copy, 0), -1);
	assert_int_equal(close(copy), 0);
	assert_int_equal(rh_sealed_copy(fd, "needy", 16, why, sizeof(why)), -1);
	assert_string_equal(why, "cannot copy it into memory to check it: File too large");
	assert_int_equal(close(fd), 0);
	assert_int_equal(rh_sealed_descriptor("/proc/self/fd/17"), 17);
	assert_int_equal(rh_sealed_descriptor("/proc/self/fd/17/x"), -1);
	assert_int_equal(rh_sealed_descriptor("/lib/x.so"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_library__brought_along),
		cmocka_unit_test(test_library__copies_do_not_get_mixed_up),
		cmocka_unit_test(test_library__what_others_can_change),
		cmocka_unit_test(test_library__another_user_owns_it),
		cmocka_unit_test(test_library__a_folder_that_others_can_make),
		cmocka_unit_test(test_library__paths_that_the_current_folder_decides),
		cmocka_unit_test(test_library__what_is_missing),
		cmocka_unit_test(test_library__a_sealed_copy_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

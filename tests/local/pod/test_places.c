/* SPDX-License-Identifier: Apache-2.0 */
#include "local/pod/places.h"

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
#include "local/pod/input.h"

/* Three volumes: a folder, files, and one in memory. */
struct fixture {
	void *test;
	struct rh_volume items[3];
	struct rh_volumes volumes;
	struct rh_environment environment;
};

static int set_up(void **state)
{
	struct fixture *fixture = rh_alloc(sizeof(*fixture));
	const struct test_pod *test;

	(void)test_pod_setup(&fixture->test);
	test = fixture->test;
	fixture->items[0] = (struct rh_volume){.name = "data", .path = rh_path_join(test->folder, "data"), .empty = true};
	fixture->items[1] =
		(struct rh_volume){.name = "conf", .path = rh_path_join(test->folder, "conf"), .read_only = true};
	fixture->items[2] =
		(struct rh_volume){.name = "shm", .path = rh_path_join(test->folder, "shm"), .empty = true, .memory = true};
	fixture->volumes = (struct rh_volumes){.items = fixture->items, .count = 3};
	assert_int_equal(rh_environment_set(&fixture->environment, "RANK", "7", RH_ENV_OWN), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < 3; i++)
		rh_free(fixture->items[i].path);
	rh_environment_deinit(&fixture->environment);
	(void)test_pod_teardown(&fixture->test);
	rh_free(fixture);
	return 0;
}

static int make(const struct fixture *fixture, const char *mounts, struct rh_places *places, struct rh_error *err)
{
	rh_auto_free char *text = rh_asprintf("{name: main, volumeMounts: [%s]}", mounts);
	rh_auto(json) container = test_pod_yaml(text);

	return rh_places_make(&fixture->volumes, container, &fixture->environment, places, err);
}

static void test_places__are_found(void **state)
{
	const struct fixture *fixture = *state;
	const struct test_pod *test = fixture->test;
	static const struct {
		const char *mount;
		const char *from; /* below the test's folder */
		const char *to;
		bool read_only;
	} rows[] = {
		{"{name: data, mountPath: /data}", "data", "/data", false},
		{"{name: data, mountPath: /data/}", "data", "/data", false},
		{"{name: data, mountPath: '//a/./b//c/'}", "data", "/a/b/c", false},
		{"{name: data, mountPath: rel}", "data", "/rel", false},
		{"{name: data, mountPath: /data, readOnly: true}", "data", "/data", true},
		{"{name: conf, mountPath: /conf}", "conf", "/conf", true},
		{"{name: conf, mountPath: /conf, readOnly: false}", "conf", "/conf", true},
		{"{name: data, mountPath: /data, subPath: a/b}", "data/a/b", "/data", false},
		{"{name: data, mountPath: /data, subPathExpr: rank-$(RANK)}", "data/rank-7", "/data", false},
		{"{name: shm, mountPath: /dev/shm}", "shm", "/dev/shm", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *from = rh_path_join(test->folder, rows[i].from);
		rh_auto_places places = {0};
		struct rh_error err = {0};

		if (make(fixture, rows[i].mount, &places, &err) != 0)
			fail_msg("%s: %s", rows[i].mount, err.message);
		assert_int_equal(places.count, 1);
		if (strcmp(places.items[0].from, from) != 0 || strcmp(places.items[0].to, rows[i].to) != 0 ||
		    places.items[0].read_only != rows[i].read_only)
			fail_msg("%s: %s at %s", rows[i].mount, places.items[0].from, places.items[0].to);
	}
	/* what a subPath names is there */
	assert_int_equal(test_pod_mode(test->folder, "data/a"), 0755);
	assert_int_equal(test_pod_mode(test->folder, "data/a/b"), 0755);
	assert_int_equal(test_pod_mode(test->folder, "data/rank-7"), 0755);
}

static void test_places__are_refused(void **state)
{
	static const struct {
		const char *mount;
		const char *word;
	} rows[] = {
		{"{name: none, mountPath: /x}", "volume \"none\""},
		{"{mountPath: /x}", "volume \"\""},
		{"{name: data}", "mountPath"},
		{"{name: data, mountPath: /}", "root"},
		{"{name: data, mountPath: /a/../b}", "mountPath"},
		{"{name: data, mountPath: /x, subPath: ../y}", "subPath \"../y\""},
		{"{name: data, mountPath: /x, subPath: /y}", "subPath \"/y\""},
		{"{name: data, mountPath: /x, subPathExpr: 'a/../$(RANK)'}", "subPath"},
		{"{name: conf, mountPath: /x, subPath: gone}", "subPath \"gone\" is not in the volume"},
		{"{name: shm, mountPath: /x, subPath: z}", "in memory"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_places places = {0};
		struct rh_error err = {0};

		if (make(*state, rows[i].mount, &places, &err) != RH_EINVAL || !strstr(err.message, rows[i].word))
			fail_msg("%s: %s", rows[i].mount, err.message);
	}
}

static void test_places__shorter_ones_first(void **state)
{
	rh_auto_places places = {0};
	rh_auto(json) json = NULL;

	assert_int_equal(make(*state,
	                      "{name: data, mountPath: /a/b/c}, {name: conf, mountPath: /z}, {name: data, mountPath: /a}",
	                      &places, NULL),
	                 0);
	assert_string_equal(places.items[0].to, "/a");
	assert_string_equal(places.items[1].to, "/z");
	assert_string_equal(places.items[2].to, "/a/b/c");
	json = rh_places_json(&places);
	assert_int_equal(rh_json_size(json), 3);
	assert_string_equal(rh_json_string_at(json, "[1].to"), "/z");
	assert_true(rh_json_bool(rh_json_at(json, "[1].readOnly"), false));
}

static void test_places__translate_what_starts_with_them(void **state)
{
	static struct rh_place items[] = {
		{"a", (char *)(uintptr_t) "/real/a", (char *)(uintptr_t) "/data", false},
		{"b", (char *)(uintptr_t) "/real/b", (char *)(uintptr_t) "/data/inner", false},
	};
	const struct rh_places places = {items, 2};
	static const struct {
		const char *text;
		const char *translated;
	} rows[] = {
		{"/data", "/real/a"},           {"/data/", "/real/a/"},
		{"/data/x/y", "/real/a/x/y"},   {"/data/inner", "/real/b"},
		{"/data/inner/q", "/real/b/q"}, {"/data/innermost", "/real/a/innermost"},
		{"/database", "/database"},     {"/other", "/other"},
		{"x/data", "x/data"},           {"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *text = rh_places_translate(&places, rows[i].text);

		assert_string_equal(text, rows[i].translated);
	}
}

static void test_places__cover_paths(void **state)
{
	static struct rh_place items[] = {
		{"a", (char *)(uintptr_t) "/real/a", (char *)(uintptr_t) "/tmp", false},
		{"b", (char *)(uintptr_t) "/tmp/same", (char *)(uintptr_t) "/tmp/same", false},
	};
	const struct rh_places places = {items, 2};

	(void)state;
	assert_true(rh_places_cover(&places, "/tmp"));
	assert_true(rh_places_cover(&places, "/tmp/run/pods"));
	assert_false(rh_places_cover(&places, "/tmpx"));
	assert_false(rh_places_cover(&places, "/home"));
	/* there the machine's own files are seen again */
	assert_false(rh_places_cover(&places, "/tmp/same/job"));
}

static void test_places__know_where_they_are_named(void **state)
{
	static struct rh_place items[] = {{"a", NULL, (char *)(uintptr_t) "/data", false}};
	const struct rh_places places = {items, 1};
	static const struct {
		const char *text;
		bool named;
	} rows[] = {
		{"/data", true},
		{"--input=/data/train", true},
		{"python train.py /data", true},
		{"cat '/data/x'", true},
		{"a:/data:b", true},
		{"(cd /data; ls)", true},
		{"cat</data/x", true},
		{"/data,/other", true},
		{"/database", false},
		{"/data.csv", false},
		{"/data-1", false},
		{"/data_2", false},
		{"/mnt/data", false},
		{"$HOME/data", false},
		{"${HOME}/data", false},
		{"$(HOME)/data", false},
		{"~/data", false},
		{"./data", false},
		{"s3://bucket/data", false},
		{"data", false},
		{"", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if ((rh_places_named(&places, rows[i].text) != NULL) != rows[i].named)
			fail_msg("%s", rows[i].text);
	}
}

static void test_places__same_ones_need_nothing(void **state)
{
	struct fixture *fixture = *state;
	rh_auto_places places = {0};

	/* an emptyDir over a folder that may be written, a folder of the machine at its own place, and two others */
	rh_free(fixture->items[1].path);
	fixture->items[1].path = rh_strdup("/etc");
	assert_int_equal(
		make(fixture,
	         "{name: data, mountPath: /tmp}, {name: conf, mountPath: /etc}, {name: data, mountPath: /no/such}, "
	         "{name: conf, mountPath: /tmp}",
	         &places, NULL),
		0);
	rh_places_drop_same(&places, &fixture->volumes);
	assert_int_equal(places.count, 2);
	assert_string_equal(places.items[0].to, "/tmp");
	assert_string_equal(places.items[0].volume, "conf");
	assert_string_equal(places.items[1].to, "/no/such");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_places__are_found),
		CASE(test_places__are_refused),
		CASE(test_places__shorter_ones_first),
		cmocka_unit_test(test_places__cover_paths),
		CASE(test_places__same_ones_need_nothing),
		cmocka_unit_test(test_places__translate_what_starts_with_them),
		cmocka_unit_test(test_places__know_where_they_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

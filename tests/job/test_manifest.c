/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "job/manifest.h"
#include "job/support.h"

static int manifest_parse(struct rh_manifest *manifest, const char *source, const char *text, struct rh_error *err)
{
	return rh_manifest_parse(manifest, source, text, strlen(text), err);
}

#define OBJECT(kind, name) "apiVersion: v1\nkind: " kind "\nmetadata:\n  name: " name "\n"

static void test_manifest__one(void **state)
{
	rh_auto_manifest manifest = {0};

	(void)state;
	assert_int_equal(manifest_parse(&manifest, "job.yaml", OBJECT("ConfigMap", "a"), NULL), 0);
	assert_int_equal(manifest.count, 1);
	assert_string_equal(manifest.items[0].source, "job.yaml");
	assert_string_equal(rh_json_string_at(manifest.items[0].object, "metadata.name"), "a");
}

static void test_manifest__documents(void **state)
{
	rh_auto_manifest manifest = {0};
	const char *text = "---\n---\n" OBJECT("ConfigMap", "a") "---\n# nothing\n---\n" OBJECT("Secret", "a");

	(void)state;
	assert_int_equal(manifest_parse(&manifest, "f", text, NULL), 0);
	assert_int_equal(manifest.count, 2);
	assert_string_equal(manifest.items[0].source, "f, document 1");
	assert_string_equal(manifest.items[1].source, "f, document 2");
}

static void test_manifest__list(void **state)
{
	rh_auto_manifest manifest = {0};
	const char *text = "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":["
					   "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\"}},"
					   "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"b\"}}]}";

	(void)state;
	assert_int_equal(manifest_parse(&manifest, "f", text, NULL), 0);
	assert_int_equal(manifest.count, 2);
	assert_string_equal(manifest.items[1].source, "f, item 2");
	assert_string_equal(rh_json_string_at(manifest.items[1].object, "metadata.name"), "b");
}

static void test_manifest__empty_list(void **state)
{
	rh_auto_manifest manifest = {0};

	(void)state;
	assert_int_equal(manifest_parse(&manifest, "f", "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[]}", NULL), 0);
	assert_int_equal(manifest.count, 0);
}

struct bad_row {
	const char *name;
	const char *text;
	const char *message;
};

static const struct bad_row bad_rows[] = {
	{"nothing", "", "f: has no object; write at least one job"},
	{"only comments", "# a\n---\n# b\n", "f: has no object; write at least one job"},
	{"text", "hello", "f: it must be a map with apiVersion, kind and metadata, not of type string"},
	{"a list of maps", "- a: 1\n", "f: it must be a map with apiVersion, kind and metadata, not of type array"},
	{"no apiVersion", "kind: Job\nmetadata: {name: a}\n", "f: apiVersion: Required value"},
	{"empty apiVersion", "apiVersion: ''\nkind: Job\n", "f: apiVersion: Required value"},
	{"no kind", "apiVersion: v1\nmetadata: {name: a}\n", "f: kind: Required value"},
	{"kind of wrong type", "apiVersion: v1\nkind: [a]\n",
     "f: kind: Invalid value: \"array\": kind in body must be of type string: \"array\"; it is [\"a\"]"},
	{"no metadata", "apiVersion: v1\nkind: Secret\n", "f: metadata.name: Required value"},
	{"metadata of wrong type", "apiVersion: v1\nkind: Secret\nmetadata: x\n",
     "f: metadata: Invalid value: \"string\": metadata in body must be of type object: \"string\"; it is \"x\""},
	{"name of wrong type", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: 5\n",
     "f: metadata.name: Invalid value: \"integer\": metadata.name in body must be of type string: \"integer\"; it is "
     "5"},
	{"namespace of wrong type", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  namespace: []\n",
     "f: metadata.namespace: Invalid value: \"array\": metadata.namespace in body must be of type string: \"array\"; "
     "it is []"},
	{"empty generateName", "apiVersion: v1\nkind: Secret\nmetadata:\n  generateName: ''\n",
     "f: metadata.generateName: Required value"},
	{"generateName of wrong type", "apiVersion: v1\nkind: Secret\nmetadata:\n  generateName: 5\n",
     "f: metadata.generateName: Invalid value: \"integer\": metadata.generateName in body must be of type string: "
     "\"integer\"; it is 5"},
	{"second document", OBJECT("Secret", "a") "---\nkind: x\n", "f, document 2: apiVersion: Required value"},
	{"twice the same", OBJECT("Secret", "a") "---\n" OBJECT("Secret", "a"),
     "f, document 2: Secret default/a already exists, in f, document 1"},
	{"default is a namespace", OBJECT("Secret", "a") "---\n" OBJECT("Secret", "a") "  namespace: default\n",
     "f, document 2: Secret default/a already exists, in f, document 1"},
	{"item of a list", "apiVersion: v1\nkind: List\nitems:\n- kind: Secret\n", "f, item 1: apiVersion: Required value"},
	{"null in a list", "apiVersion: v1\nkind: List\nitems: [null]\n",
     "f, item 1: it must be a map with apiVersion, kind and metadata, not of type null"},
	{"a list in a list", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: List, items: []}\n",
     "f, item 1: a List must not contain another List"},
	{"items that are no list", "apiVersion: v1\nkind: List\nitems: {}\n", "f: metadata.name: Required value"},
};

#define GENERATED(kind, base) "apiVersion: v1\nkind: " kind "\nmetadata:\n  generateName: " base "\n"

/* The same each time, and none that is taken; an object with both keeps its name. */
static void test_manifest__names_are_made(void **state)
{
	static const char *const names[] = {"a-bbbbc", "a-bbbbb", "a-bbbbd", "own"};
	rh_auto_manifest manifest = {0};
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(manifest_parse(&manifest, "f",
	                                OBJECT("Secret", "a-bbbbc") "---\n" GENERATED("Secret", "a-") "---\n" GENERATED(
										"Secret", "a-") "---\n" GENERATED("Secret", "b-") "  name: own\n",
	                                &err),
	                 0);
	assert_int_equal(manifest.count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(rh_json_string_at(manifest.items[i].object, "metadata.name"), names[i]);
		assert_int_equal(manifest.items[i].named, i == 1 || i == 2);
	}
	assert_string_equal(rh_json_string_at(manifest.items[1].object, "metadata.generateName"), "a-");
}

static void test_manifest__the_caller_says_where_names_begin(void **state)
{
	rh_auto_manifest manifest = {.suffix = UINT32_MAX};
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(manifest_parse(&manifest, "f", GENERATED("Secret", "a-") "---\n" GENERATED("Secret", "a-"), &err),
	                 0);
	assert_string_not_equal(rh_json_string_at(manifest.items[0].object, "metadata.name"), "a-bbbbb");
	assert_string_equal(rh_json_string_at(manifest.items[1].object, "metadata.name"), "a-bbbbb");
}

static void test_manifest__bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_rows) / sizeof(bad_rows[0]); i++) {
		rh_auto_manifest manifest = {0};
		struct rh_error err = {0};

		if (manifest_parse(&manifest, "f", bad_rows[i].text, &err) != RH_EINVAL ||
		    strcmp(err.message, bad_rows[i].message) != 0)
			fail_msg("%s: %s", bad_rows[i].name, err.message);
	}
}

static void test_manifest__broken_yaml_names_the_file(void **state)
{
	rh_auto_manifest manifest = {0};
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(manifest_parse(&manifest, "job.yaml", "a: [1,\n", &err), RH_EINVAL);
	assert_true(rh_starts_with(err.message, "job.yaml: line "));
}

static void test_manifest__same_in_two_files(void **state)
{
	rh_auto_manifest manifest = {0};
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(manifest_parse(&manifest, "a.yaml", OBJECT("Secret", "s"), NULL), 0);
	assert_int_equal(manifest_parse(&manifest, "b.yaml", OBJECT("ConfigMap", "s"), NULL), 0);
	assert_int_equal(manifest_parse(&manifest, "c.yaml", OBJECT("Secret", "s") "  namespace: other\n", NULL), 0);
	assert_int_equal(manifest_parse(&manifest, "d.yaml", OBJECT("Secret", "s"), &err), RH_EINVAL);
	assert_string_equal(err.message, "d.yaml: Secret default/s already exists, in a.yaml");
	assert_int_equal(manifest.count, 3);
}

static void test_manifest__find(void **state)
{
	rh_auto_manifest manifest = {0};
	const char *text =
		OBJECT("Secret", "a") "---\n" OBJECT("Secret", "a") "  namespace: lab\n---\n" OBJECT("ConfigMap", "a");

	(void)state;
	assert_int_equal(manifest_parse(&manifest, "f", text, NULL), 0);
	assert_ptr_equal(rh_manifest_find(&manifest, "Secret", "default", "a"), manifest.items[0].object);
	assert_ptr_equal(rh_manifest_find(&manifest, "Secret", "lab", "a"), manifest.items[1].object);
	assert_ptr_equal(rh_manifest_find(&manifest, "ConfigMap", "default", "a"), manifest.items[2].object);
	assert_null(rh_manifest_find(&manifest, "ConfigMap", "lab", "a"));
	assert_null(rh_manifest_find(&manifest, "Secret", "default", "b"));
	assert_null(rh_manifest_find(&manifest, "Pod", "default", "a"));
}

static void test_manifest__read_file(void **state)
{
	char path[] = "/tmp/test_manifest_XXXXXX";
	int fd = mkstemp(path);
	rh_auto_manifest manifest = {0};
	static const char text[] = OBJECT("Secret", "a");

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	assert_int_equal(close(fd), 0);
	assert_int_equal(rh_manifest_read(&manifest, path, NULL), 0);
	assert_string_equal(manifest.items[0].source, path);
	assert_int_equal(unlink(path), 0);
}

static void test_manifest__read_too_large(void **state)
{
	char path[] = "/tmp/test_manifest_XXXXXX";
	int fd = mkstemp(path);
	rh_auto_manifest manifest = {0};
	struct rh_error err = {0};

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, RH_MANIFEST_FILE_MAX + 1), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(rh_manifest_read(&manifest, path, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, path));
	assert_int_equal(unlink(path), 0);
}

static void test_manifest__read_missing(void **state)
{
	rh_auto_manifest manifest = {0};
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(rh_manifest_read(&manifest, "/nonexistent/job.yaml", &err), RH_ENOENT);
	assert_non_null(strstr(err.message, "/nonexistent/job.yaml"));
}

static void test_manifest__failing_allocations(void **state)
{
	const char *text = OBJECT("Secret", "a") "---\n" OBJECT("Secret", "b");
	long failures = 0;
	int r;

	(void)state;
	do {
		rh_auto_manifest manifest = {0};
		struct rh_error err = {0};

		rh_mem_fail_after(failures++);
		r = manifest_parse(&manifest, "f", text, &err);
		rh_mem_fail_after(-1);
		if (r != 0 && r != RH_ENOMEM)
			fail_msg("after %ld allocations: %d, %s", failures - 1, r, err.message);
	} while (r != 0);
	assert_true(failures > 20);
}

/* What is there already stays. */
static void test_manifest__move(void **state)
{
	rh_auto_manifest manifest = {0};
	rh_auto_manifest other = {0};

	(void)state;
	assert_int_equal(manifest_parse(&manifest, "f", OBJECT("ConfigMap", "a"), NULL), 0);
	assert_int_equal(manifest_parse(&other, "o", OBJECT("ConfigMap", "b") "---\n" OBJECT("ConfigMap", "a"), NULL), 0);
	assert_int_equal(rh_manifest_move(&manifest, &other), 0);
	assert_int_equal(other.count, 0);
	assert_int_equal(manifest.count, 2);
	assert_string_equal(manifest.items[0].source, "f");
	assert_string_equal(manifest.items[1].source, "o, document 1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_manifest__one),
		cmocka_unit_test(test_manifest__documents),
		cmocka_unit_test(test_manifest__list),
		cmocka_unit_test(test_manifest__empty_list),
		cmocka_unit_test(test_manifest__names_are_made),
		cmocka_unit_test(test_manifest__the_caller_says_where_names_begin),
		cmocka_unit_test(test_manifest__bad),
		cmocka_unit_test(test_manifest__broken_yaml_names_the_file),
		cmocka_unit_test(test_manifest__same_in_two_files),
		cmocka_unit_test(test_manifest__find),
		cmocka_unit_test(test_manifest__move),
		cmocka_unit_test(test_manifest__read_file),
		cmocka_unit_test(test_manifest__read_too_large),
		cmocka_unit_test(test_manifest__read_missing),
		cmocka_unit_test(test_manifest__failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

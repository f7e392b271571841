/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/support.h"
#include "kube/watch/known.h"

static struct rh_json *object(const char *name, const char *uid, const char *version, const char *labels)
{
	rh_auto_free char *text = rh_asprintf(
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"d\",\"uid\":\"%s\",\"resourceVersion\":\"%s\",\"labels\":%s}}",
		name, uid, version, labels);

	return support_json(text);
}

static void put(struct rh_known *known, const char *name, const char *uid, const char *version, uint32_t mark)
{
	rh_auto(json) json = object(name, uid, version, "{}");

	assert_int_equal(rh_known_put(known, json, mark), 0);
}

static void note(void *arg, const struct rh_json *identity)
{
	rh_str_appendf(arg, "%s:%s ", rh_json_string_at(identity, "metadata.name"),
	               rh_json_string_at(identity, "metadata.uid"));
}

static void note_all(void *arg, const struct rh_json *identity)
{
	rh_json_print(identity, false, arg);
}

static void test_known__compares(void **state)
{
	static const struct {
		const char *name, *uid, *version;
		enum rh_known_change change;
	} rows[] = {
		{"b", "1", "5", RH_KNOWN_NEW},      {"a", "1", "5", RH_KNOWN_SAME},      {"a", "1", "6", RH_KNOWN_CHANGED},
		{"a", "1", "4", RH_KNOWN_CHANGED},  {"a", "2", "5", RH_KNOWN_OTHER},     {"a", "1", "", RH_KNOWN_CHANGED},
		{"a", "1", "5x", RH_KNOWN_CHANGED}, {"o", "1", "odd", RH_KNOWN_CHANGED},
	};
	rh_auto(known) known = rh_known_new(&rh_resource_pods);

	(void)state;
	put(known, "a", "1", "5", 1);
	put(known, "o", "1", "odd", 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) json = object(rows[i].name, rows[i].uid, rows[i].version, "{}");
		struct rh_known_object *found;

		assert_int_equal(rh_known_compare(known, json, &found), rows[i].change);
		assert_int_equal(found == NULL, rows[i].change == RH_KNOWN_NEW);
	}
}

static void test_known__objects_of_clusters_have_no_namespace(void **state)
{
	rh_auto(known) known = rh_known_new(&rh_resource_pods);
	rh_auto(json) json = support_json("{\"metadata\":{\"name\":\"n\",\"uid\":\"u\"}}");
	rh_auto_str reported = {0};

	(void)state;
	assert_int_equal(rh_known_put(known, json, 1), 0);
	assert_int_equal(rh_known_emit(known, json, note_all, &reported), 0);
	assert_string_equal(rh_str_text(&reported),
	                    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"n\",\"uid\":\"u\"}}");
}

/* Whatever labels somebody writes, of this object and of every other its identity is kept. */
static void test_known__labels_displace_nothing(void **state)
{
	rh_auto(known) known = rh_known_new(&rh_resource_pods);
	rh_auto_str labels = {0};
	rh_auto_str reported = {0};
	rh_auto(json) many = NULL;
	rh_auto(json) few = object("b", "2", "6", "{\"training.kubeflow.org/job-name\":\"j\"}");

	(void)state;
	for (int i = 0; i < 100; i++)
		rh_str_appendf(&labels, "%s\"training.kubeflow.org/%d\":\"%d\"", i ? "," : "{", i, i);
	rh_str_append(&labels, "}");
	many = object("a", "1", "5", rh_str_text(&labels));
	assert_int_equal(rh_known_put(known, many, 1), 0);
	assert_int_equal(rh_known_put(known, few, 1), 0);
	assert_int_equal(rh_known_emit(known, few, note_all, &reported), 0);
	assert_string_equal(rh_str_text(&reported),
	                    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"b\",\"uid\":\"2\","
	                    "\"namespace\":\"d\",\"resourceVersion\":\"6\"}}");
	rh_str_clear(&reported);
	assert_int_equal(rh_known_sweep(known, 2, "9", note, &reported), 0);
	assert_string_equal(rh_str_text(&reported), "a:1 b:2 ");
}

static void test_known__sweeps_what_was_not_marked(void **state)
{
	rh_auto(known) known = rh_known_new(&rh_resource_pods);
	rh_auto(json) b = object("b", "2", "5", "{}");
	struct rh_known_object *found;
	rh_auto_str reported = {0};

	(void)state;
	put(known, "a", "1", "5", 1);
	put(known, "b", "2", "5", 1);
	put(known, "c", "3", "5", 1);
	put(known, "d", "4", "5", 2);
	assert_int_equal(rh_known_compare(known, b, &found), RH_KNOWN_SAME);
	rh_known_seen(found, 2);
	assert_int_equal(rh_known_sweep(known, 2, "9", note, &reported), 0);
	assert_string_equal(rh_str_text(&reported), "a:1 c:3 ");
	assert_int_equal(rh_known_size(known), 2);
	rh_known_remove(known, b);
	rh_known_remove(known, b);
	assert_int_equal(rh_known_size(known), 1);
}

/* The second call finishes what failed for lack of memory, and nothing is reported twice. */
static void test_known__a_sweep_can_be_repeated(void **state)
{
	(void)state;
	for (long n = 0; n < 60; n++) {
		rh_auto(known) known = rh_known_new(&rh_resource_pods);
		rh_auto_str reported = {0};
		int r;

		put(known, "a", "1", "5", 1);
		put(known, "b", "2", "5", 1);
		rh_mem_fail_after(n);
		r = rh_known_sweep(known, 2, "9", note, &reported);
		rh_mem_fail_after(-1);
		assert_true(r == 0 || r == RH_ENOMEM);
		reported.failed = false;
		assert_int_equal(rh_known_sweep(known, 2, "9", note, &reported), 0);
		assert_int_equal(rh_known_size(known), 0);
		if (r == 0 && n > 40)
			assert_string_equal(rh_str_text(&reported), "a:1 b:2 ");
	}
}

static void test_known__learns_what_answers_show(void **state)
{
	rh_auto(known) known = rh_known_new(&rh_resource_pods);
	rh_auto(json) pod =
		support_json("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":"
	                 "\"d\",\"uid\":\"1\",\"resourceVersion\":\"7\"}}");
	rh_auto(json) service = support_json("{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"s\"}}");
	struct rh_known_object *found;
	rh_auto_str reported = {0};

	(void)state;
	rh_known_learn(known, service, note, &reported);
	rh_known_learn(known, pod, note, &reported);
	rh_known_learn(known, pod, note, &reported);
	assert_int_equal(rh_known_size(known), 1);
	assert_int_equal(rh_known_compare(known, pod, &found), RH_KNOWN_NEW);
	assert_int_equal(rh_known_sweep(known, 1, "6", note, &reported), 0);
	assert_string_equal(rh_str_text(&reported), "");
	assert_int_equal(rh_known_sweep(known, 1, "7", note, &reported), 0);
	assert_string_equal(rh_str_text(&reported), "a:1 ");
	assert_int_equal(rh_known_put(known, pod, 1), 0);
	rh_known_learn(known, pod, note, &reported);
	assert_int_equal(rh_known_compare(known, pod, &found), RH_KNOWN_SAME);
}

static void test_known__learns_that_another_has_the_name(void **state)
{
	static const struct {
		const char *version, *reported;
	} rows[] = {{"8", "a:1 "}, {"6", ""}, {"odd", ""}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(known) known = rh_known_new(&rh_resource_pods);
		rh_auto(json) pod = object("a", "2", rows[i].version, "{}");
		rh_auto_str reported = {0};

		assert_int_equal(rh_json_set_string(pod, "apiVersion", "v1"), 0);
		assert_int_equal(rh_json_set_string(pod, "kind", "Pod"), 0);
		put(known, "a", "1", "7", 1);
		rh_known_learn(known, pod, note, &reported);
		assert_string_equal(rh_str_text(&reported), rows[i].reported);
		assert_int_equal(rh_known_sweep(known, 2, "9", note, &reported), 0);
		assert_string_equal(rh_str_text(&reported), *rows[i].reported ? "a:1 a:2 " : "a:1 ");
	}
}

static int fill(void *arg)
{
	rh_auto(known) known = rh_known_new(&rh_resource_pods);

	return known ? rh_known_put(known, arg, 1) : RH_ENOMEM;
}

static void test_known__survives_out_of_memory(void **state)
{
	rh_auto(json) json = object("a", "1", "5", "{\"app\":\"x\"}");

	(void)state;
	support_fail_each(fill, json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known__compares),
		cmocka_unit_test(test_known__objects_of_clusters_have_no_namespace),
		cmocka_unit_test(test_known__labels_displace_nothing),
		cmocka_unit_test(test_known__sweeps_what_was_not_marked),
		cmocka_unit_test(test_known__a_sweep_can_be_repeated),
		cmocka_unit_test(test_known__learns_what_answers_show),
		cmocka_unit_test(test_known__learns_that_another_has_the_name),
		cmocka_unit_test(test_known__survives_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "host/fixture.h"
#include "host/registry.h"
#include "job/kinds.h"

static void abi_assert_words(const char *name, const struct rh_error *err, const char *words)
{
	if (!strstr(err->message, words))
		fail_msg("%s: \"%s\" does not say \"%s\"", name, err->message, words);
}

/** A head that does not fit, and what the refusal must name. */
struct abi_head_case {
	const char *name;
	struct rh_head head;
	const char *words[2];
};

static const struct abi_head_case abi_heads[] = {
	{"shorter than a head", {8, 1, 0, RH_ABI_VENDOR}, {"8 bytes", "this host wants at least"}},
	{"size 0", {0, 1, 0, RH_ABI_VENDOR}, {"0 bytes", "this host wants at least"}},
	{"one byte short",
     {offsetof(struct rh_plugin, settings) - 1, 1, 0, RH_ABI_VENDOR},
     {"bytes", "this host wants at least"}},
	{"short, of a later minor",
     {sizeof(struct rh_head), 1, 9, RH_ABI_VENDOR},
     {"24 bytes", "this host wants at least"}},
	{"other vendor", {sizeof(struct rh_plugin), 1, 0, "acme"}, {"\"acme\"", "\"roundhouse\""}},
	{"longer vendor", {sizeof(struct rh_plugin), 1, 0, "roundhouse2"}, {"\"roundhouse2\"", "\"roundhouse\""}},
	{"vendor of bytes", {sizeof(struct rh_plugin), 1, 0, "\033[2J\xff"}, {"\"?[2J?\"", "\"roundhouse\""}},
	{"no vendor", {sizeof(struct rh_plugin), 1, 0, ""}, {"\"\"", "\"roundhouse\""}},
	{"later major", {sizeof(struct rh_plugin), 2, 1, RH_ABI_VENDOR}, {"ABI 2.1", "this host has 1.2"}},
	{"earlier major", {sizeof(struct rh_plugin), 0, 1, RH_ABI_VENDOR}, {"ABI 0.1", "this host has 1.2"}},
};

static void test_abi__heads(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(abi_heads) / sizeof(abi_heads[0]); i++) {
		struct rh_plugin plugin = *fixture_plugin();
		struct rh_error err = {0};

		plugin.head = abi_heads[i].head;
		/* nothing behind the head may be read */
		plugin.name = (const char *)8;
		assert_int_equal(rh_abi_check_plugin(&plugin, &err), RH_EPLUGIN);
		abi_assert_words(abi_heads[i].name, &err, abi_heads[i].words[0]);
		abi_assert_words(abi_heads[i].name, &err, abi_heads[i].words[1]);
	}
}

/* What a later minor version has more lies behind what this host reads. */
static void test_abi__any_minor_fits(void **state)
{
	static const struct rh_head heads[] = {
		{sizeof(struct rh_plugin), 1, 0, RH_ABI_VENDOR},
		{sizeof(struct rh_plugin) + 64, 1, 7, RH_ABI_VENDOR},
		{sizeof(struct rh_plugin), 1, UINT16_MAX, RH_ABI_VENDOR},
		{UINT32_MAX, 1, UINT16_MAX, RH_ABI_VENDOR},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct rh_plugin plugin = *fixture_plugin();
		struct rh_kind kind = test_pytorch;

		plugin.head = heads[i];
		assert_int_equal(rh_abi_check_plugin(&plugin, NULL), 0);
		kind.head = heads[i];
		kind.head.size += heads[i].size == UINT32_MAX ? 0 : sizeof(kind) - sizeof(plugin);
		assert_int_equal(rh_abi_check_kind(&kind, NULL), 0);
	}
}

/* The vendor fills all its room: it has no terminating zero. */
static void test_abi__a_vendor_without_end_is_cut(void **state)
{
	struct rh_plugin plugin = *fixture_plugin();
	struct rh_error err = {0};

	(void)state;
	memset(plugin.head.vendor, 'v', sizeof(plugin.head.vendor));
	assert_int_equal(rh_abi_check_plugin(&plugin, &err), RH_EPLUGIN);
	abi_assert_words("vendor", &err, "\"vvvvvvvvvvvvvvvv\"");
}

static void test_abi__plugins(void **state)
{
	static const struct {
		const char *name;
		const char *release;
		const char *words; /**< NULL: fits */
	} rows[] = {
		{"fake-2", "1", NULL},          {NULL, "1", "name is NULL"},  {"", "1", "name is \"\""},
		{"Fake", "1", "lower-case"},    {"a/b", "1", "lower-case"},   {"a b", "1", "lower-case"},
		{"a", NULL, "release is NULL"}, {"a", "", "release is \"\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_plugin plugin = *fixture_plugin();
		struct rh_error err = {0};

		plugin.name = rows[i].name;
		plugin.release = rows[i].release;
		assert_int_equal(rh_abi_check_plugin(&plugin, &err), rows[i].words ? RH_EPLUGIN : 0);
		abi_assert_words("plugin", &err, rows[i].words ? rows[i].words : "");
	}
}

static void test_abi__a_plugin_needs_describe(void **state)
{
	struct rh_plugin plugin = *fixture_plugin();
	struct rh_error err = {0};

	(void)state;
	plugin.describe = NULL;
	assert_int_equal(rh_abi_check_plugin(&plugin, &err), RH_EPLUGIN);
	abi_assert_words("describe", &err, "no describe()");
}

static void test_abi__the_kinds_of_v1_fit(void **state)
{
	static const struct rh_kind *const kinds[] = {&test_pytorch, &test_tensorflow, &test_xgboost,
	                                              &test_paddle,  &test_jax,        &test_mpi};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct rh_error err = {0};

		if (rh_abi_check_kind(kinds[i], &err) < 0)
			fail_msg("%s: %s", kinds[i]->kind, err.message);
	}
}

static void test_abi__a_kind_may_have_no_port(void **state)
{
	struct rh_kind kind = test_pytorch;

	(void)state;
	kind.port_name = NULL;
	kind.port = 0;
	assert_int_equal(rh_abi_check_kind(&kind, NULL), 0);
}

static void abi_no_kind(struct rh_kind *kind)
{
	kind->kind = NULL;
}

static void abi_bad_kind(struct rh_kind *kind)
{
	kind->kind = "1Job";
}

static void abi_no_group(struct rh_kind *kind)
{
	kind->group = NULL;
}

static void abi_bad_group(struct rh_kind *kind)
{
	kind->group = "Not a domain";
}

static void abi_no_plural(struct rh_kind *kind)
{
	kind->plural = NULL;
}

static void abi_no_controller(struct rh_kind *kind)
{
	kind->controller = "";
}

static void abi_no_field(struct rh_kind *kind)
{
	kind->replicas_field = "a.b";
}

static void abi_bad_container(struct rh_kind *kind)
{
	kind->container = "Main";
}

static void abi_bad_policy(struct rh_kind *kind)
{
	kind->restart_policy = "Sometimes";
}

static void abi_bad_port(struct rh_kind *kind)
{
	kind->port = 65536;
}

static void abi_bad_port_name(struct rh_kind *kind)
{
	kind->port_name = "Port";
}

static void abi_no_types(struct rh_kind *kind)
{
	kind->types = NULL;
}

static void abi_empty_types(struct rh_kind *kind)
{
	static const struct rh_replica_type *const none[] = {NULL};

	kind->types = none;
}

static void abi_twice(struct rh_kind *kind)
{
	static const struct rh_replica_type a = {.head = RH_HEAD(struct rh_replica_type), .name = "Worker"};
	static const struct rh_replica_type b = {.head = RH_HEAD(struct rh_replica_type), .name = "worker"};
	static const struct rh_replica_type *const types[] = {&a, &b, NULL};

	kind->types = types;
}

static void abi_bad_range(struct rh_kind *kind)
{
	static const struct rh_replica_type type = {
		.head = RH_HEAD(struct rh_replica_type), .name = "Worker", .min_replicas = 3, .max_replicas = 2};
	static const struct rh_replica_type *const types[] = {&type, NULL};

	kind->types = types;
}

static void abi_many_without_index(struct rh_kind *kind)
{
	static const struct rh_replica_type type = {
		.head = RH_HEAD(struct rh_replica_type), .name = "Launcher", .flags = RH_REPLICA_UNINDEXED};
	static const struct rh_replica_type *const types[] = {&type, NULL};

	kind->types = types;
}

static void abi_bad_type_head(struct rh_kind *kind)
{
	static const struct rh_replica_type type = {.name = "Worker"};
	static const struct rh_replica_type *const types[] = {&type, NULL};

	kind->types = types;
}

static void abi_too_many_types(struct rh_kind *kind)
{
	static const struct rh_replica_type type[] = {
		{.head = RH_HEAD(struct rh_replica_type), .name = "A"}, {.head = RH_HEAD(struct rh_replica_type), .name = "B"},
		{.head = RH_HEAD(struct rh_replica_type), .name = "C"}, {.head = RH_HEAD(struct rh_replica_type), .name = "D"},
		{.head = RH_HEAD(struct rh_replica_type), .name = "E"}, {.head = RH_HEAD(struct rh_replica_type), .name = "F"},
		{.head = RH_HEAD(struct rh_replica_type), .name = "G"}, {.head = RH_HEAD(struct rh_replica_type), .name = "H"},
		{.head = RH_HEAD(struct rh_replica_type), .name = "I"}, {.head = RH_HEAD(struct rh_replica_type), .name = "J"},
		{.head = RH_HEAD(struct rh_replica_type), .name = "K"}, {.head = RH_HEAD(struct rh_replica_type), .name = "L"},
		{.head = RH_HEAD(struct rh_replica_type), .name = "M"}, {.head = RH_HEAD(struct rh_replica_type), .name = "N"},
		{.head = RH_HEAD(struct rh_replica_type), .name = "O"}, {.head = RH_HEAD(struct rh_replica_type), .name = "P"},
		{.head = RH_HEAD(struct rh_replica_type), .name = "Q"}};
	static const struct rh_replica_type *const types[] = {
		&type[0], &type[1],  &type[2],  &type[3],  &type[4],  &type[5],  &type[6],  &type[7],  &type[8],
		&type[9], &type[10], &type[11], &type[12], &type[13], &type[14], &type[15], &type[16], NULL};

	kind->types = types;
}

static void abi_bad_fallback(struct rh_kind *kind)
{
	kind->leader_fallback = "Chief";
}

static void abi_bad_scale(struct rh_kind *kind)
{
	kind->scale_type = "worker";
}

static void abi_bad_schema(struct rh_kind *kind)
{
	kind->spec_schema = "{";
}

static void abi_schema_of_other_type(struct rh_kind *kind)
{
	kind->spec_schema = "[]";
}

static void abi_rules_of_other_type(struct rh_kind *kind)
{
	kind->rbac_rules = "{}";
}

static void abi_old_head(struct rh_kind *kind)
{
	kind->head.major = 0;
}

static const struct {
	void (*change)(struct rh_kind *kind);
	const char *words;
} abi_kinds[] = {
	{abi_no_kind, "kind is NULL"},
	{abi_bad_kind, "kind is \"1Job\""},
	{abi_no_group, "group is NULL"},
	{abi_bad_group, "group is \"Not a domain\""},
	{abi_no_plural, "plural is NULL"},
	{abi_no_controller, "controller is \"\""},
	{abi_no_field, "replicas_field is \"a.b\""},
	{abi_bad_container, "container \"Main\" is no name of a container"},
	{abi_bad_policy, "restart_policy is \"Sometimes\""},
	{abi_bad_port, "port 65536"},
	{abi_bad_port_name, "port_name \"Port\""},
	{abi_no_types, "no replica type"},
	{abi_empty_types, "no replica type"},
	{abi_twice, "worker is there twice"},
	{abi_bad_range, "max_replicas is less than min_replicas"},
	{abi_many_without_index, "replica type Launcher: max_replicas is 0, without an index it must be 1"},
	{abi_bad_type_head, "struct rh_replica_type has 0 bytes"},
	{abi_too_many_types, "more than 16 replica types"},
	{abi_bad_fallback, "leader_fallback \"Chief\""},
	{abi_bad_scale, "scale_type \"worker\""},
	{abi_bad_schema, "spec_schema"},
	{abi_schema_of_other_type, "spec_schema is JSON of type array"},
	{abi_rules_of_other_type, "rbac_rules is JSON of type object"},
	{abi_old_head, "struct rh_kind is of plugin ABI 0.2, this host has 1.2"},
};

static void test_abi__kinds(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(abi_kinds) / sizeof(abi_kinds[0]); i++) {
		struct rh_kind kind = test_pytorch;
		struct rh_error err = {0};

		abi_kinds[i].change(&kind);
		assert_int_equal(rh_abi_check_kind(&kind, &err), RH_EPLUGIN);
		abi_assert_words("kind", &err, abi_kinds[i].words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_abi__heads),
		cmocka_unit_test(test_abi__any_minor_fits),
		cmocka_unit_test(test_abi__a_vendor_without_end_is_cut),
		cmocka_unit_test(test_abi__plugins),
		cmocka_unit_test(test_abi__a_plugin_needs_describe),
		cmocka_unit_test(test_abi__the_kinds_of_v1_fit),
		cmocka_unit_test(test_abi__a_kind_may_have_no_port),
		cmocka_unit_test(test_abi__kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

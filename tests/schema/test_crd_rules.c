/* SPDX-License-Identifier: Apache-2.0 */
/* That the rules say what they mean is tested on a real API server (tests/cluster/test_crds.py); here, which there are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "job/kinds.h"
#include "job/support.h"
#include "schema/crd.h"

#define RULES_JOB "spec.versions[0].schema.openAPIV3Schema"
#define RULES_SPEC RULES_JOB ".properties.spec"

/** A kind and the rules at one place of its CRD: "FIELD REASON MESSAGE: RULE" a line, "old" where it sees the old
 * value. */
struct rules_case {
	const char *name;
	const struct rh_kind *kind;
	const char *wanted;
};

static const char *rules_text(const struct rh_json *rule, const char *key)
{
	const char *text = rh_json_string(rh_json_get(rule, key));

	return text ? text : "-";
}

/* The rules at @p path, which has %s for the map of the kind's replicas. */
static char *rules_list(const struct rh_kind *kind, const char *path)
{
	rh_auto_str at = {0};
	rh_auto_str out = {0};
	rh_auto(json) crd = NULL;
	struct rh_error err = {0};
	const struct rh_json *rule;

	if (rh_crd_build(kind, NULL, &crd, &err) < 0)
		fail_msg("%s", err.message);
	rh_str_append(&at, path);
	rh_str_append(&at, ".x-kubernetes-validations");
	for (rule = rh_json_first(rh_json_at(crd, rh_str_text(&at))); rule; rule = rh_json_next(rule))
		rh_str_appendf(&out, "%s %s %s%s: %s\n", rules_text(rule, "fieldPath"), rules_text(rule, "reason"),
		               rules_text(rule, "message"),
		               rh_json_bool(rh_json_get(rule, "optionalOldSelf"), false) ? " (old)" : "",
		               rules_text(rule, "rule"));
	return rh_str_take(&out);
}

static void rules_check(const struct rules_case *row, const char *path)
{
	rh_auto_free char *found = rules_list(row->kind, path);

	if (strcmp(found, row->wanted) != 0)
		fail_msg("%s:\n%s", row->name, found);
}

static void rules_have(const char *found, const char *wanted)
{
	if (!strstr(found, wanted))
		fail_msg("no %s in:\n%s", wanted, found);
}

#define MAP "pytorchReplicaSpecs"
#define OF_MASTER "." MAP ".Master"

static void test_crd_rules__replica_types(void **state)
{
	static const struct {
		struct rules_case row;
		const char *path;
	} rows[] = {
		{{"case counts, one master", &test_pytorch,
	      "- - unsupported replica type: supported values: \"Master\", \"Worker\": "
	      "self.all(t, t.lowerAscii() in ['master', 'worker'])\n"
	      "- - unsupported replica type: upper and lower case count: it is \"Master\": "
	      "self.all(t, t == 'Master' || t.lowerAscii() != 'master')\n"
	      "- - unsupported replica type: upper and lower case count: it is \"Worker\": "
	      "self.all(t, t == 'Worker' || t.lowerAscii() != 'worker')\n"
	      "- FieldValueRequired must have at least one replica type: size(self) > 0\n"},
	     RULES_SPEC ".properties.pytorchReplicaSpecs"},
		{{"any type", &test_tensorflow,
	      "- - a replica type must consist of at most 63 letters, digits or '-', and start and end with a letter or "
	      "digit, "
	      "because pods are named after it: self.all(t, size(t) <= 63 && "
	      "t.matches('^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$'))\n"
	      "- FieldValueRequired must have at least one replica type: size(self) > 0\n"},
	     RULES_SPEC ".properties.tfReplicaSpecs"},
		{{"a required type with a default", &test_mpi,
	      "- - unsupported replica type: supported values: \"Worker\", \"Launcher\": "
	      "self.all(t, t.lowerAscii() in ['worker', 'launcher'])\n"
	      "- - unsupported replica type: upper and lower case count: it is \"Worker\": "
	      "self.all(t, t == 'Worker' || t.lowerAscii() != 'worker')\n"
	      "- - unsupported replica type: upper and lower case count: it is \"Launcher\": "
	      "self.all(t, t == 'Launcher' || t.lowerAscii() != 'launcher')\n"},
	     RULES_SPEC ".properties.mpiReplicaSpecs"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		rules_check(&rows[i].row, rows[i].path);
}

static void test_crd_rules__types_in_any_case(void **state)
{
	static const struct rh_replica_type some = {.head = RH_HEAD(struct rh_replica_type),
	                                            .name = "Master",
	                                            .default_replicas = 3,
	                                            .min_replicas = 2,
	                                            .max_replicas = 4,
	                                            .flags = RH_REPLICA_REQUIRED};
	static const struct rh_replica_type *const types[] = {&some, NULL};
	struct rh_kind kind = test_pytorch;
	const struct rules_case row = {"required, bounded, in any case", &kind,
	                               "- - unsupported replica type: supported values: \"Master\": "
	                               "self.all(t, t.lowerAscii() in ['master'])\n"};
	rh_auto_free char *spec = NULL;

	(void)state;
	kind.types = types;
	kind.flags |= RH_KIND_ANY_CASE;
	rules_check(&row, RULES_SPEC ".properties.pytorchReplicaSpecs");
	spec = rules_list(&kind, RULES_SPEC);
	rules_have(spec, OF_MASTER " FieldValueRequired must be present (old): "
	                           "self." MAP ".exists(t, t.lowerAscii() == 'master') || oldSelf.hasValue() && "
	                           "!(has(oldSelf.value()." MAP ") && "
	                           "oldSelf.value()." MAP ".exists(t, t.lowerAscii() == 'master'))\n");
	rules_have(spec, OF_MASTER ".replicas FieldValueForbidden must be at least 2 (old): "
	                           "self." MAP ".all(t, t.lowerAscii() != 'master' || "
	                           "self." MAP "[t].?replicas.orValue(3) >= 2 || oldSelf.?" MAP "[?t].hasValue() && "
	                           "oldSelf.?" MAP "[?t].?replicas == self." MAP "[t].?replicas)\n");
	rules_have(spec, OF_MASTER ".replicas FieldValueForbidden must be at most 4 (old): ");
}

/* The API server prints what follows a rule's own place behind a dot; map.[Type] is no path of V1. */
static void test_crd_rules__types_are_named_from_spec(void **state)
{
	rh_auto_free char *pytorch = NULL;
	rh_auto_free char *mpi = NULL;

	(void)state;
	pytorch = rules_list(&test_pytorch, RULES_SPEC);
	rules_have(pytorch, OF_MASTER ".replicas FieldValueForbidden must be 1 (old): !('Master' in self." MAP ") || "
	                              "self." MAP "['Master'].?replicas.orValue(-1) == 1 || "
	                              "oldSelf.?" MAP "[?'Master'].hasValue() && "
	                              "oldSelf.?" MAP "[?'Master'].?replicas == self." MAP "['Master'].?replicas\n");
	rules_have(pytorch, "." MAP ".Worker.replicas FieldValueForbidden must be at least 1 (old): ");
	mpi = rules_list(&test_mpi, RULES_SPEC);
	rules_have(mpi, ".mpiReplicaSpecs.Launcher FieldValueRequired must be present (old): "
	                "'Launcher' in self.mpiReplicaSpecs || oldSelf.hasValue() && "
	                "!oldSelf.?mpiReplicaSpecs[?'Launcher'].hasValue()\n");
	rules_have(mpi, ".mpiReplicaSpecs.Launcher.replicas FieldValueForbidden must be 1 (old): ");
}

static void test_crd_rules__a_type_that_is_no_identifier(void **state)
{
	static const struct rh_replica_type odd = {
		.head = RH_HEAD(struct rh_replica_type), .name = "A-B", .max_replicas = 1, .flags = RH_REPLICA_REQUIRED};
	static const struct rh_replica_type *const types[] = {&odd, NULL};
	struct rh_kind kind = test_pytorch;
	rh_auto_free char *found = NULL;

	(void)state;
	kind.types = types;
	found = rules_list(&kind, RULES_SPEC);
	rules_have(found, "." MAP "['A-B'] FieldValueRequired must be present");
	rules_have(found, "." MAP "['A-B'].replicas FieldValueForbidden must be at most 1");
}

static void test_crd_rules__one_replica_type(void **state)
{
	static const struct rules_case rows[] = {
		{"a named container", &test_jax,
	     ".template.spec.containers FieldValueRequired must be specified: has(self.template) && "
	     "has(self.template.spec) && "
	     "has(self.template.spec.containers) && size(self.template.spec.containers) > 0\n"
	     ".template.spec.containers FieldValueRequired must have at least one container with name jax: "
	     "has(self.template) && "
	     "has(self.template.spec) && has(self.template.spec.containers) && "
	     "self.template.spec.containers.exists(c, c.name == 'jax')\n"},
		{"any container", &test_mpi,
	     ".template.spec.containers FieldValueRequired must be specified: has(self.template) && "
	     "has(self.template.spec) && "
	     "has(self.template.spec.containers) && size(self.template.spec.containers) > 0\n"},
	};

	(void)state;
	rules_check(&rows[0], RULES_SPEC ".properties.jaxReplicaSpecs.additionalProperties");
	rules_check(&rows[1], RULES_SPEC ".properties.mpiReplicaSpecs.additionalProperties");
}

/* Each update of the status asks these again, so each must let a stored job pass. */
static void test_crd_rules__rules_of_the_whole_job_forgive(void **state)
{
	const struct rh_kind *const kinds[] = {&test_pytorch, &test_tensorflow, &test_xgboost,
	                                       &test_paddle,  &test_jax,        &test_mpi};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		rh_auto_free char *found = rules_list(kinds[i], RULES_JOB);
		char *rest = found;

		for (char *line = strsep(&rest, "\n"); line && *line; line = strsep(&rest, "\n")) {
			if (!strstr(line, " (old): ") || !strstr(line, "oldSelf.hasValue()"))
				fail_msg("%s: %s", kinds[i]->kind, line);
		}
	}
}

static void test_crd_rules__names(void **state)
{
	static const struct {
		const struct rh_kind *kind;
		bool dns, services;
	} rows[] = {{&test_pytorch, true, true}, {&test_mpi, false, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *found = rules_list(rows[i].kind, RULES_JOB);

		assert_non_null(strstr(found, ".metadata.name - must be no more than 63 characters"));
		assert_int_equal(strstr(found, "DNS-1035") != NULL, rows[i].dns);
		assert_int_equal(strstr(found, "NAME-TYPE-INDEX") != NULL, rows[i].services);
		assert_non_null(
			strstr(found, "FieldValueRequired must be required (old): oldSelf.hasValue() || has(self.spec)"));
	}
}

static void test_crd_rules__a_plugins_own(void **state)
{
	struct rh_kind kind = test_jax;
	rh_auto_free char *spec = NULL;
	rh_auto_free char *map = NULL;

	(void)state;
	kind.cel_rules =
		"[{\"at\":\"spec\",\"rule\":\"a\",\"message\":\"A\",\"fieldPath\":\".x\",\"optionalOldSelf\":true},"
		"{\"at\":\"replicas\",\"rule\":\"b\",\"message\":\"B\",\"reason\":\"FieldValueForbidden\"}]";
	spec = rules_list(&kind, RULES_SPEC);
	map = rules_list(&kind, RULES_SPEC ".properties.jaxReplicaSpecs");
	assert_non_null(strstr(spec, "\n.x - A (old): a\n"));
	assert_non_null(strstr(map, "\n- FieldValueForbidden B: b\n"));
}

/* The place is for us; the API server would refuse a CRD that has it. */
static void test_crd_rules__the_place_is_left_out(void **state)
{
	struct rh_kind kind = test_jax;
	rh_auto(json) crd = NULL;
	rh_auto_free char *text = NULL;

	(void)state;
	kind.cel_rules = "[{\"at\":\"spec\",\"rule\":\"a\"}]";
	assert_int_equal(rh_crd_build(&kind, NULL, &crd, NULL), 0);
	text = rh_json_text(crd);
	assert_non_null(strstr(text, "{\"rule\":\"a\"}"));
	assert_null(strstr(text, "\"at\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crd_rules__replica_types),
		cmocka_unit_test(test_crd_rules__types_are_named_from_spec),
		cmocka_unit_test(test_crd_rules__types_in_any_case),
		cmocka_unit_test(test_crd_rules__a_type_that_is_no_identifier),
		cmocka_unit_test(test_crd_rules__one_replica_type),
		cmocka_unit_test(test_crd_rules__rules_of_the_whole_job_forgive),
		cmocka_unit_test(test_crd_rules__names),
		cmocka_unit_test(test_crd_rules__a_plugins_own),
		cmocka_unit_test(test_crd_rules__the_place_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

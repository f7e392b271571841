/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/explain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "job/kinds.h"

/** Far more allocations than one page takes. */
#define EXPLAIN_FAILURES_MAX 200000

static const char explain_contract[] = "[{\"what\":\"env\",\"name\":\"RANK\",\"value\":\"the rank\"}]";
static const char explain_cel[] =
	"[{\"at\":\"replicas\",\"fieldPath\":\".Master\",\"rule\":\"true\",\"message\":\"must be loved\"},"
	"{\"at\":\"spec\",\"rule\":\"true\",\"message\":\"must be short\"},{\"at\":\"spec\",\"rule\":\"true\"}]";
static const char explain_schema[] =
	"{\"count\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":9,\"description\":\"How many. Default: 3.\"},"
	"\"mode\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"],\"default\":\"b\"},"
	"\"code\":{\"type\":\"string\",\"pattern\":\"^x\"},"
	"\"list\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"key\":{\"type\":\"string\"}}}},"
	"\"free\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true},"
	"\"map\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"},\"description\":\"Default: {}.\"}}";

static const struct rh_replica_type explain_master = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Master",
	.default_replicas = 1,
	.min_replicas = 1,
	.max_replicas = 1,
	.flags = RH_REPLICA_LEADER | RH_REPLICA_EXPLICIT,
};

static const struct rh_replica_type explain_worker = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Worker",
	.default_replicas = 1,
	.min_replicas = 2,
	.max_replicas = 5,
};

static const struct rh_replica_type *const explain_types[] = {&explain_master, &explain_worker, NULL};

/** A PyTorchJob with more to say than V1's. */
static const struct rh_kind explain_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "kubeflow.org",
	.version = "v1",
	.kind = "PyTorchJob",
	.plural = "pytorchjobs",
	.singular = "pytorchjob",
	.framework = "pytorch",
	.controller = "pytorchjob-controller",
	.replicas_field = "pytorchReplicaSpecs",
	.types = explain_types,
	.leader_fallback = "Worker",
	.container = "pytorch",
	.port_name = "pytorchjob-port",
	.port = 23456,
	.restart_policy = "OnFailure",
	.spec_schema = explain_schema,
	.flags = RH_KIND_SERVICES | RH_KIND_DNS_NAME,
	.contract = explain_contract,
	.cel_rules = explain_cel,
};

static const struct rh_kind *explain_describe(void *self, uint32_t index)
{
	static const struct rh_kind *const kinds[] = {&explain_kind, &test_mpi, &test_tensorflow, NULL};

	(void)self;
	return kinds[index];
}

static const struct rh_plugin explain_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "fake",
	.release = "1.2.3",
	.describe = explain_describe,
};

/** A host with one plugin, and the page that was asked for last. */
struct explain {
	struct rh_config *config;
	struct rh_host *host;
	struct rh_json *page;
	struct rh_error err;
};

static void explain_open(struct explain *test)
{
	memset(test, 0, sizeof(*test));
	test->config = rh_config_new();
	assert_int_equal(rh_host_new(test->config, &test->host, NULL), 0);
	if (rh_host_add(test->host, "/lib/fake.so", &explain_plugin, &test->err) < 0)
		fail_msg("%s", test->err.message);
}

static void explain_close(struct explain *test)
{
	rh_json_free(test->page);
	rh_host_free(test->host);
	rh_config_free(test->config);
}

#define auto_explain __attribute__((cleanup(explain_close))) struct explain

static void explain_ask(struct explain *test, const char *what)
{
	rh_json_free(test->page);
	test->page = NULL;
	if (rh_explain(test->host, what, &test->page, &test->err) < 0)
		fail_msg("%s: %s", what, test->err.message);
}

/** Compare the text at @p path of the page; NULL: there is none. */
static void explain_assert(const struct explain *test, const char *what, const char *path, const char *want)
{
	const struct rh_json *value = rh_json_at(test->page, path);
	rh_auto_free char *got = value ? rh_json_text(value) : NULL;

	if (!rh_text_equal(rh_json_string(value) ? rh_json_string(value) : got, want))
		fail_msg("%s: %s is %s, not %s", what, path, got ? got : "absent", want ? want : "absent");
}

static void test_explain__a_kind_has_many_names(void **state)
{
	static const char *const names[] = {"PyTorchJob", "pytorchjob", "pytorchjobs", "PYTORCHJOBS"};
	auto_explain test;

	(void)state;
	explain_open(&test);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		explain_ask(&test, names[i]);
		explain_assert(&test, names[i], "kind", "PyTorchJob");
		explain_assert(&test, names[i], "path", NULL);
	}
}

static void test_explain__a_kind(void **state)
{
	static const struct {
		const char *path;
		const char *want;
	} rows[] = {
		{"plural", "pytorchjobs"},
		{"singular", "pytorchjob"},
		{"apiVersion", "kubeflow.org/v1"},
		{"plugin.name", "fake"},
		{"plugin.release", "1.2.3"},
		{"plugin.file", "/lib/fake.so"},
		{"container", "pytorch"},
		{"port.name", "pytorchjob-port"},
		{"port.number", "23456"},
		{"replicaTypes[0].name", "Master"},
		{"replicaTypes[0].replicas", "1"},
		{"replicaTypes[0].rules", "exactly 1; must be written; its pods have the master role"},
		{"replicaTypes[1].name", "Worker"},
		{"replicaTypes[1].rules", "at least 2; at most 5"},
		{"replicaTypes[2]", NULL},
		{"rules[0]", "every container has an image, and one has the name pytorch"},
		{"rules[1]", "Worker 0 has the master role where no type has it"},
		{"rules[2]", "spec.pytorchReplicaSpecs.Master: must be loved"},
		{"rules[3]", "spec: must be short"},
		{"rules[4]", NULL},
		{"contract[0].name", "RANK"},
		{"fields[0].path", "spec.count"},
	};
	auto_explain test;

	(void)state;
	explain_open(&test);
	explain_ask(&test, "pytorchjob");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		explain_assert(&test, "pytorchjob", rows[i].path, rows[i].want);
}

static void test_explain__kinds_that_say_less(void **state)
{
	auto_explain test;

	(void)state;
	explain_open(&test);
	explain_ask(&test, "mpijobs");
	explain_assert(&test, "mpijobs", "container", test_mpi.container);
	explain_assert(&test, "mpijobs", "port", NULL);
	explain_assert(&test, "mpijobs", "contract", NULL);
	explain_ask(&test, "tfjob");
	explain_assert(&test, "tfjob", "rules[2]", "replica types may be written in any case");
	explain_assert(&test, "tfjob", "rules[3]", "further replica types are let in");
}

/** One field: its page. */
struct explain_case {
	const char *what;
	const char *path;
	const char *type;
	const char *fallback; /**< NULL: absent */
	const char *rules;    /**< NULL: absent */
};

static const struct explain_case explain_cases[] = {
	{"pytorchjob.spec.count", "spec.count", "integer", "3", "at least 1; at most 9"},
	{"pytorchjob.spec.mode", "spec.mode", "string", "\"b\"", "one of \"a\", \"b\""},
	{"pytorchjob.spec.code", "spec.code", "string", NULL, "matches ^x"},
	{"pytorchjob.spec.list", "spec.list", "[]object", NULL, NULL},
	{"pytorchjob.spec.list.key", "spec.list[].key", "string", NULL, NULL},
	{"pytorchjob.spec.list[7].key", "spec.list[].key", "string", NULL, NULL},
	{"pytorchjob.spec.list[7]", "spec.list[]", "object", NULL, NULL},
	{"pytorchjob.spec.free", "spec.free", "object", NULL, NULL},
	{"pytorchjob.spec.map", "spec.map", "map[string]string", "{}", NULL},
	{"pytorchjob.spec.map.any", "spec.map[any]", "string", NULL, NULL},
	{"pytorchjob.metadata.name", "metadata.name", "string", NULL, "a DNS-1035 label"},
	{"pytorchjob.spec.pytorchReplicaSpecs", "spec.pytorchReplicaSpecs", "map[string]object", NULL, NULL},
	{"pytorchjob.spec.pytorchReplicaSpecs.Master.replicas", "spec.pytorchReplicaSpecs[Master].replicas", "integer", "1",
     "exactly 1; must be written"},
	{"pytorchjob.spec.pytorchReplicaSpecs[worker].restartPolicy", "spec.pytorchReplicaSpecs[Worker].restartPolicy",
     "string", "OnFailure", "supported values: \"Always\", \"ExitCode\", \"Never\", \"OnFailure\""},
	{"mpijob.spec.mpiReplicaSpecs.replicas", "spec.mpiReplicaSpecs[TYPE].replicas", "integer", "Worker 0, Launcher 1",
     "at least 0; at most 10000000"},
	{"mpijob.spec.mpiReplicaSpecs.worker.replicas", "spec.mpiReplicaSpecs[Worker].replicas", "integer", "0",
     "at least 0; at most 10000000"},
	{"tfjob.spec.tfReplicaSpecs.Tuner.replicas", "spec.tfReplicaSpecs[Tuner].replicas", "integer", "1",
     "at least 0; at most 10000000"},
	{"mpijob.spec.mpiReplicaSpecs.worker.template.spec.containers.env.name",
     "spec.mpiReplicaSpecs[Worker].template.spec.containers[].env[].name", "string", NULL, NULL},
	{"mpijob.spec.mpiReplicaSpecs.template", "spec.mpiReplicaSpecs[TYPE].template", "PodTemplateSpec", NULL, NULL},
	{"tfjob.spec.tfReplicaSpecs.PS.template.spec.containers[0].resources.limits.cpu",
     "spec.tfReplicaSpecs[PS].template.spec.containers[].resources.limits[cpu]", "integer or string", NULL, NULL},
	{"tfjob.spec.runPolicy.cleanPodPolicy", "spec.runPolicy.cleanPodPolicy", "string", "None",
     "one of \"All\", \"None\", \"Running\""},
};

static void test_explain__fields(void **state)
{
	auto_explain test;

	(void)state;
	explain_open(&test);
	for (size_t i = 0; i < sizeof(explain_cases) / sizeof(explain_cases[0]); i++) {
		const struct explain_case *row = &explain_cases[i];

		explain_ask(&test, row->what);
		explain_assert(&test, row->what, "path", row->path);
		explain_assert(&test, row->what, "type", row->type);
		explain_assert(&test, row->what, "default", row->fallback);
		explain_assert(&test, row->what, "rules", row->rules);
		explain_assert(&test, row->what, "replicaTypes", NULL);
		explain_assert(&test, row->what, "contract", NULL);
	}
}

/* The default stands apart from the words that name it. */
static void test_explain__descriptions(void **state)
{
	auto_explain test;

	(void)state;
	explain_open(&test);
	explain_ask(&test, "pytorchjob.spec.count");
	explain_assert(&test, "count", "description", "How many.");
	explain_ask(&test, "pytorchjob.spec.map");
	explain_assert(&test, "map", "description", NULL);
	explain_ask(&test, "pytorchjob.metadata");
	explain_assert(&test, "metadata", "description", "Name, namespace, labels and annotations of the job.");
}

/* What is below a field is listed down to types of Kubernetes. */
static void test_explain__lists_what_is_below(void **state)
{
	auto_explain test;

	(void)state;
	explain_open(&test);
	explain_ask(&test, "pytorchjob.spec.list");
	explain_assert(&test, "list", "fields[0].path", "spec.list[].key");
	explain_assert(&test, "list", "fields[1]", NULL);
	explain_ask(&test, "pytorchjob.spec.pytorchReplicaSpecs.master");
	explain_assert(&test, "master", "fields[0].path", "spec.pytorchReplicaSpecs[Master].replicas");
	explain_assert(&test, "master", "fields[2].path", "spec.pytorchReplicaSpecs[Master].template");
	explain_assert(&test, "master", "fields[3]", NULL);
	explain_ask(&test, "pytorchjob.spec.pytorchReplicaSpecs.template.spec.volumes");
	explain_assert(&test, "volumes", "fields[0].type", "AWSElasticBlockStoreVolumeSource");
}

/* Nearest first; a message that is too long is cut, but never the first names. */
static void test_explain__what_is_not_there(void **state)
{
	static const struct {
		const char *what;
		const char *words;
	} rows[] = {
		{"", "the name of a kind is missing"},
		{"pytorchjbo", "did you mean PyTorchJob?"},
		{"xyz", "there are PyTorchJob, MPIJob, TFJob"},
		{"pytorchjob.sepc", "PyTorchJob: it has no field \"sepc\"; there are spec, metadata"},
		{"pytorchjob.spec.mdoe", "PyTorchJob: spec has no field \"mdoe\"; there are mode, count, code"},
		{"pytorchjob.spec.count.x", "PyTorchJob: spec.count is integer and has no fields that a schema names"},
		{"pytorchjob.spec.free.x", "PyTorchJob: spec.free is object and has no fields that a schema names"},
		{"pytorchjob.spec.list.kye", "PyTorchJob: spec.list[] has no field \"kye\"; there are key"},
		{"pytorchjob.spec.pytorchReplicaSpecs.Chief",
	     "PyTorchJob: spec.pytorchReplicaSpecs has no field \"Chief\"; there are Master, Worker, replicas"},
		{"mpijob.spec.mpiReplicaSpecs.worker.template.spec.container", "there are containers, activeDeadlineSeconds"},
	};
	auto_explain test;

	(void)state;
	explain_open(&test);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(rh_explain(test.host, rows[i].what, &test.page, &test.err), RH_ENOENT);
		if (!strstr(test.err.message, rows[i].words))
			fail_msg("\"%s\" does not say \"%s\"", test.err.message, rows[i].words);
		assert_null(test.page);
	}
}

static void test_explain__survives_allocation_failures(void **state)
{
	static const char *const asked[] = {"pytorchjob", "tfjob.spec.runPolicy", "pytorchjob.spec.x"};
	auto_explain test;

	(void)state;
	explain_open(&test);
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		int r = RH_ENOMEM;

		/* most are those of one and the same parse, so not each of them is tried */
		for (long n = 0; r == RH_ENOMEM && n < EXPLAIN_FAILURES_MAX; n += 1 + n / 50) {
			struct rh_json *page = NULL;

			rh_mem_fail_after(n);
			r = rh_explain(test.host, asked[i], &page, NULL);
			rh_mem_fail_after(-1);
			assert_true(r == 0 ? page != NULL : page == NULL);
			rh_json_free(page);
		}
		assert_int_equal(r, i == 2 ? RH_ENOENT : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_explain__a_kind_has_many_names),
		cmocka_unit_test(test_explain__a_kind),
		cmocka_unit_test(test_explain__kinds_that_say_less),
		cmocka_unit_test(test_explain__fields),
		cmocka_unit_test(test_explain__descriptions),
		cmocka_unit_test(test_explain__lists_what_is_below),
		cmocka_unit_test(test_explain__what_is_not_there),
		cmocka_unit_test(test_explain__survives_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

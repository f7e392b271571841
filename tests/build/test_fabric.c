/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "build/fabric.h"
#include "host/fixture.h"

#define FABRIC_JOB(annotation, pod)                                                 \
	"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n"                               \
	"metadata: {name: j, namespace: team, uid: u, annotations: {" annotation "}}\n" \
	"spec:\n  pytorchReplicaSpecs:\n    Master: {template: {spec: {" pod "}}}\n"
#define UCX "roundhouse.dev/comm: ucx"
#define PLAIN "containers: [{name: pytorch, image: i}]"
#define IDENTITY(backend) \
	"{\"name\":\"RH_COMM_BACKEND\",\"value\":\"" backend "\"},{\"name\":\"RH_COMM_JOB\",\"value\":\"u.0\"}"
#define SHM(size) "[{\"name\":\"roundhouse-dev-shm\",\"emptyDir\":{\"medium\":\"Memory\",\"sizeLimit\":\"" size "\"}}]"
#define MOUNT "[{\"name\":\"roundhouse-dev-shm\",\"mountPath\":\"/dev/shm\"}]"

/* What a test compares: the configuration, the job, and what stands at a place of its pod. */
struct pod_row {
	const char *name;
	const char *ini;
	const char *job;
	const char *place;
	const char *want; /* NULL: nothing */
};

#define INJECTED "[comm]\nimage = r.example/rh:1\n"
#define INJECTOR                                                                                                       \
	"{\"name\":\"roundhouse-comm\",\"image\":\"r.example/rh:1\",\"imagePullPolicy\":\"IfNotPresent\",\"command\":["    \
	"\"/usr/bin/roundhouse\",\"inject\",\"/opt/roundhouse\"],\"resources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":"  \
	"\"64Mi\"},\"requests\":{\"cpu\":\"10m\",\"memory\":\"16Mi\"}},\"securityContext\":{\"allowPrivilegeEscalation\":" \
	"false,\"readOnlyRootFilesystem\":true,\"capabilities\":{\"drop\":[\"ALL\"]}},\"volumeMounts\":[{\"name\":"        \
	"\"roundhouse-comm\",\"mountPath\":\"/opt/roundhouse\"}]}"

#define PROFILES                                                                              \
	"[comm]\nshm-size = 2Gi\nresources = a/b=1\nenv.A = common\nenv.B = common\n"             \
	"[comm ethernet]\nnode-selector = net=eth, zone=z\nshm-size = 3Gi\n"                      \
	"[comm rdma]\nnode-selector = net=rdma\nbackends = nccl, ucx\nshm-size = 8Gi\n"           \
	"resources = rdma/hca=2,rdma/hcb=1\ncapabilities = IPC_LOCK, SYS_NICE\nenv.A = special\n" \
	"[comm late]\nnode-selector = net=rdma\nshm-size = 9Gi\n"

static const struct pod_row pod_rows[] = {
	{"no backend, nothing", "[comm]\nshm-size = 2Gi\nenv.A = 1\n", FABRIC_JOB("", PLAIN), "spec.volumes", NULL},
	{"none by the annotation", "[comm]\nbackend = ucx\n", FABRIC_JOB("roundhouse.dev/comm: none", PLAIN),
     "spec.containers[0].env", NULL},
	{"a word that is not a backend", "", FABRIC_JOB("roundhouse.dev/comm: TCP!", PLAIN), "spec.containers[0].env",
     NULL},
	{"a backend that the image brings", "", FABRIC_JOB("roundhouse.dev/comm: mailbox", PLAIN), "spec.containers[0].env",
     "[" IDENTITY("mailbox") "]"},
	{"the annotation's", "", FABRIC_JOB(UCX, PLAIN), "spec.containers[0].env", "[" IDENTITY("ucx") "]"},
	{"the configured one", "[comm]\nbackend = auto\n", FABRIC_JOB("", PLAIN), "spec.containers[0].env",
     "[" IDENTITY("auto") "]"},
	{"the annotation wins", "[comm]\nbackend = auto\n", FABRIC_JOB(UCX, PLAIN), "spec.containers[0].env",
     "[" IDENTITY("ucx") "]"},
	{"the default size", "", FABRIC_JOB(UCX, PLAIN), "spec.volumes", SHM("1Gi")},
	{"the mount", "", FABRIC_JOB(UCX, PLAIN), "spec.containers[0].volumeMounts", MOUNT},
	{"all containers have it", "", FABRIC_JOB(UCX, "containers: [{name: side}, {name: pytorch}]"),
     "spec.containers[0].volumeMounts", MOUNT},
	{"a mount of the job's own", "",
     FABRIC_JOB(UCX, "containers: [{name: pytorch, volumeMounts: [{name: own, mountPath: /dev/shm}]}]"), "spec.volumes",
     NULL},
	{"variables of the job's own", "[comm]\nenv.A = 1\nenv.C = 3\n",
     FABRIC_JOB(UCX,
                "containers: [{name: pytorch, env: [{name: A, value: own}, {name: RH_COMM_BACKEND, value: mpi}]}]"),
     "spec.containers[0].env",
     "[{\"name\":\"A\",\"value\":\"own\"},{\"name\":\"RH_COMM_BACKEND\",\"value\":\"mpi\"},"
     "{\"name\":\"RH_COMM_JOB\",\"value\":\"u.0\"},{\"name\":\"C\",\"value\":\"3\"}]"},
	{"the last of two values", "[comm]\nenv.A = 1\nenv.A = 2\n", FABRIC_JOB(UCX, PLAIN), "spec.containers[0].env",
     "[" IDENTITY("ucx") ",{\"name\":\"A\",\"value\":\"2\"}]"},
	{"the library by an init container", INJECTED, FABRIC_JOB(UCX, "initContainers: [{name: own}], " PLAIN),
     "spec.initContainers", "[{\"name\":\"own\"}," INJECTOR "]"},
	{"its mount", INJECTED, FABRIC_JOB(UCX, PLAIN), "spec.containers[0].volumeMounts[0]",
     "{\"name\":\"roundhouse-comm\",\"mountPath\":\"/opt/roundhouse\",\"readOnly\":true}"},
	{"its volume", INJECTED, FABRIC_JOB(UCX, PLAIN), "spec.volumes[0]",
     "{\"name\":\"roundhouse-comm\",\"emptyDir\":{}}"},
	{"its variable", INJECTED, FABRIC_JOB(UCX, PLAIN), "spec.containers[0].env[2]",
     "{\"name\":\"PYTHONPATH\",\"value\":\"/opt/roundhouse\"}"},
	{"a path of the job's own", INJECTED,
     FABRIC_JOB(UCX, "containers: [{name: pytorch, env: [{name: PYTHONPATH, value: /own}]}]"),
     "spec.containers[0].env[3]", NULL},
	{"none without a backend", INJECTED, FABRIC_JOB("", PLAIN), "spec.initContainers", NULL},
	{"the job's own container", INJECTED, FABRIC_JOB(UCX, "initContainers: [{name: roundhouse-comm}], " PLAIN),
     "spec.initContainers", "[{\"name\":\"roundhouse-comm\"}]"},
	{"the job's own volume", INJECTED,
     FABRIC_JOB(UCX, "volumes: [{name: roundhouse-comm, hostPath: {path: /x}}], " PLAIN), "spec.initContainers", NULL},
	{"a profile whose images have it", INJECTED "[comm x]\nimage =\nnode-selector = net=x\n",
     FABRIC_JOB(UCX, "nodeSelector: {net: x}, " PLAIN), "spec.initContainers", NULL},
	{"without a profile that fits", PROFILES, FABRIC_JOB(UCX, PLAIN), "spec.volumes", SHM("2Gi")},
	{"half a selector is none", PROFILES, FABRIC_JOB(UCX, "nodeSelector: {net: eth}, " PLAIN), "spec.volumes",
     SHM("2Gi")},
	{"a whole selector", PROFILES, FABRIC_JOB(UCX, "nodeSelector: {net: eth, zone: z, more: m}, " PLAIN),
     "spec.volumes", SHM("3Gi")},
	{"what a profile leaves open", PROFILES, FABRIC_JOB(UCX, "nodeSelector: {net: eth, zone: z}, " PLAIN),
     "spec.containers[0].resources", "{\"limits\":{\"a/b\":\"1\"}}"},
	{"the first profile", PROFILES, FABRIC_JOB(UCX, "nodeSelector: {net: rdma}, " PLAIN), "spec.volumes", SHM("8Gi")},
	{"a profile of other backends", PROFILES,
     FABRIC_JOB("roundhouse.dev/comm: native", "nodeSelector: {net: rdma}, " PLAIN), "spec.volumes", SHM("9Gi")},
	{"resources of the profile", PROFILES, FABRIC_JOB(UCX, "nodeSelector: {net: rdma}, " PLAIN),
     "spec.containers[0].resources", "{\"limits\":{\"rdma/hca\":\"2\",\"rdma/hcb\":\"1\"}}"},
	{"resources of the job's own", PROFILES,
     FABRIC_JOB(UCX, "nodeSelector: {net: rdma}, containers: [{name: pytorch, resources: {limits: {rdma/hca: '5'}, "
                     "requests: {rdma/hcb: '6'}}}]"),
     "spec.containers[0].resources", "{\"limits\":{\"rdma/hca\":\"5\"},\"requests\":{\"rdma/hcb\":\"6\"}}"},
	{"capabilities", PROFILES, FABRIC_JOB(UCX, "nodeSelector: {net: rdma}, " PLAIN),
     "spec.containers[0].securityContext", "{\"capabilities\":{\"add\":[\"IPC_LOCK\",\"SYS_NICE\"]}}"},
	{"capabilities of the job's own", PROFILES,
     FABRIC_JOB(UCX, "nodeSelector: {net: rdma}, containers: [{name: pytorch, securityContext: {capabilities: {drop: "
                     "[SYS_NICE], add: [IPC_LOCK]}}}]"),
     "spec.containers[0].securityContext", "{\"capabilities\":{\"drop\":[\"SYS_NICE\"],\"add\":[\"IPC_LOCK\"]}}"},
	{"the main container alone", PROFILES,
     FABRIC_JOB(UCX, "nodeSelector: {net: rdma}, containers: [{name: side}, {name: pytorch}]"),
     "spec.containers[0].resources", NULL},
	{"variables of the profile", PROFILES, FABRIC_JOB(UCX, "nodeSelector: {net: rdma}, " PLAIN),
     "spec.containers[0].env",
     "[" IDENTITY("ucx") ",{\"name\":\"A\",\"value\":\"special\"},{\"name\":\"B\",\"value\":\"common\"}]"},
};

/* Build the pod of the one replica. @return it, owned by the caller */
static struct rh_json *build(struct fixture *fixture)
{
	struct rh_builder *builder = NULL;
	struct rh_json *pod = NULL;

	assert_int_equal(rh_builder_new(&fixture->snapshot, &builder, &fixture->err), 0);
	assert_int_equal(rh_build_pod(builder, "Master", 0, &pod, &fixture->err), 0);
	rh_builder_free(builder);
	return pod;
}

static void configure(struct fixture *fixture, const char *ini)
{
	if (rh_config_parse(fixture->config, "x.ini", ini, strlen(ini), &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
}

static void test_fabric__pods(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pod_rows) / sizeof(*pod_rows); i++) {
		const struct pod_row *row = &pod_rows[i];
		auto_fixture fixture = {0};
		rh_auto(json) pod = NULL;
		const struct rh_json *have;

		fixture_open(&fixture, fixture_plugin(), row->job);
		configure(&fixture, row->ini);
		pod = build(&fixture);
		have = rh_json_at(pod, row->place);
		if (row->want ? !have : have != NULL)
			fail_msg("%s: %s is %s", row->name, row->place, have ? "there" : "not there");
		if (have) {
			rh_auto_free char *text = rh_json_text(have);

			if (strcmp(text, row->want) != 0)
				fail_msg("%s: %s is\n%s, not\n%s", row->name, row->place, text, row->want);
		}
	}
}

static void test_fabric__one_machine_lends_its_own(void **state)
{
	struct rh_address address = {.type = "Master", .host = "127.1.0.1", .port = 20000};
	const struct rh_addresses plan = {&address, 1};
	auto_fixture fixture = {0};
	rh_auto(json) pod = NULL;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), FABRIC_JOB(UCX, "nodeSelector: {net: rdma}, " PLAIN));
	configure(&fixture, PROFILES);
	fixture.snapshot.addresses = &plan;
	pod = build(&fixture);
	assert_null(rh_json_at(pod, "spec.volumes"));
	assert_null(rh_json_at(pod, "spec.containers[0].resources"));
	assert_null(rh_json_at(pod, "spec.containers[0].securityContext"));
	assert_string_equal(rh_json_string_at(rh_json_at(pod, "spec.containers[0].env[0]"), "value"), "ucx");
	assert_string_equal(rh_json_string_at(rh_json_at(pod, "spec.containers[0].env[2]"), "value"), "special");
}

/* Ranks of two attempts must not meet; a job that is not stored has no UID. */
static void test_fabric__job_id(void **state)
{
	auto_fixture fixture = {0};
	rh_auto(json) pod = NULL;
	rh_auto(json) unstored = NULL;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), FABRIC_JOB(UCX, PLAIN));
	fixture.snapshot.attempt = 3;
	pod = build(&fixture);
	assert_string_equal(rh_json_string_at(rh_json_at(pod, "spec.containers[0].env[1]"), "value"), "u.3");
	fixture.job->uid = "";
	unstored = build(&fixture);
	assert_string_equal(rh_json_string_at(rh_json_at(unstored, "spec.containers[0].env[1]"), "value"), "team/j.3");
}

static void test_fabric__memory(void **state)
{
	auto_fixture fixture = {0};
	int r = RH_ENOMEM;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), FABRIC_JOB(UCX, "nodeSelector: {net: rdma}, " PLAIN));
	configure(&fixture, PROFILES);
	for (size_t n = 0; r == RH_ENOMEM; n++) {
		struct rh_builder *builder = NULL;
		struct rh_json *pod = NULL;

		assert_in_range(n, 0, 1000);
		rh_mem_fail_after((long)n);
		r = rh_builder_new(&fixture.snapshot, &builder, &fixture.err);
		if (r == 0)
			r = rh_build_pod(builder, "Master", 0, &pod, &fixture.err);
		rh_mem_fail_after(-1);
		rh_builder_free(builder);
		rh_json_free(pod);
	}
	assert_int_equal(r, 0);
}

struct check_row {
	const char *section;
	const char *key;
	const char *value;
	const char *words; /* of the refusal; NULL: it is right */
};

static const struct check_row check_rows[] = {
	{"comm", "backend", "auto", NULL},
	{"comm", "backend", "none", NULL},
	{"comm", "backend", "tcp", "\"tcp\" is not a backend; there are none, auto, native"},
	{"comm", "shm-size", "512Mi", NULL},
	{"comm", "shm-size", "much", "\"much\" is not a size"},
	{"comm", "shm-size", "0", "\"0\" is not a size"},
	{"comm", "image", "r.example/rh:1", NULL},
	{"comm", "image", "", NULL},
	{"comm", "image", "a b", "image: \"a b\" is not a reference"},
	{"comm rdma", "image", "r.example/rh:1", NULL},
	{"comm", "resources", "rdma/hca=1, x/y=2", NULL},
	{"comm", "resources", "", NULL},
	{"comm", "resources", "rdma/hca", "\"rdma/hca\" is not a pair"},
	{"comm", "resources", "=1", "is not a pair"},
	{"comm", "resources", "rdma/hca=one", "\"one\" of rdma/hca is not a quantity"},
	{"comm", "capabilities", "IPC_LOCK,SYS_NICE", NULL},
	{"comm", "capabilities", "CAP_IPC_LOCK", "without CAP_"},
	{"comm", "capabilities", "ipc_lock", "in capitals"},
	{"comm", "env.UCX_TLS", "rc,sm=x", NULL},
	{"comm", "env.", "x", "unknown key"},
	{"comm", "shm-siez", "1Gi", "did you mean \"shm-size\""},
	{"comm", "colour", "red", "remove it"},
	{"comm", "node-selector", "a=b", "in a section [comm NAME]"},
	{"comm", "backends", "ucx", "in a section [comm NAME]"},
	{"comm rdma", "node-selector", "a=b", NULL},
	{"comm rdma", "node-selector", "a", "is not a pair"},
	{"comm rdma", "backends", "ucx, nccl", NULL},
	{"comm rdma", "backends", "ucx, gloo", "\"gloo\" is not a backend"},
	{"comm rdma", "backend", "ucx", "a profile has \"backends\""},
};

static void test_fabric__settings(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(check_rows) / sizeof(*check_rows); i++) {
		const struct check_row *row = &check_rows[i];
		struct rh_error err = {0};
		int r = rh_fabric_check(row->section, row->key, row->value, &err);

		if (r != (row->words ? RH_EINVAL : 0))
			fail_msg("[%s] %s = %s: %d: %s", row->section, row->key, row->value, r, err.message);
		if (row->words && !strstr(err.message, row->words))
			fail_msg("[%s] %s = %s: %s", row->section, row->key, row->value, err.message);
	}
}

static void test_fabric__sections(void **state)
{
	(void)state;
	assert_true(rh_fabric_is_section("comm"));
	assert_true(rh_fabric_is_section("comm rdma"));
	assert_false(rh_fabric_is_section("comm "));
	assert_false(rh_fabric_is_section("common"));
	assert_false(rh_fabric_is_section("local"));
}

static void test_fabric__a_file_with_a_mistake(void **state)
{
	static const char ini[] = "[comm]\nbackend = ucx\n[comm rdma]\nshm-size = x\n";
	rh_auto(config) config = rh_config_new();
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(rh_config_parse(config, "x.ini", ini, strlen(ini), &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "x.ini:4: "));
	assert_non_null(strstr(err.message, "shm-size"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fabric__pods),
		cmocka_unit_test(test_fabric__one_machine_lends_its_own),
		cmocka_unit_test(test_fabric__job_id),
		cmocka_unit_test(test_fabric__memory),
		cmocka_unit_test(test_fabric__settings),
		cmocka_unit_test(test_fabric__sections),
		cmocka_unit_test(test_fabric__a_file_with_a_mistake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

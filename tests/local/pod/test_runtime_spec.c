/* SPDX-License-Identifier: Apache-2.0 */
/* Whole plans, as a shim gets them. */
#include "local/runtime_spec.h"

#include <string.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "local/pod/input.h"
#include "local/shim/plan.h"

static struct rh_json *make(struct test_pod *test)
{
	struct rh_json *plan = NULL;
	struct rh_error err = {0};

	if (rh_runtime_spec_make(&test->input, &plan, &test->notes, &err) != 0)
		fail_msg("%s", err.message);
	return plan;
}

/* What the plan's first container has for @p name in its environment, or NULL. Borrowed. */
static const char *variable(const struct rh_json *plan, const char *name)
{
	const struct rh_json *entry = rh_json_first(rh_json_at(plan, "containers[0].env"));
	size_t length = strlen(name);

	for (; entry; entry = rh_json_next(entry)) {
		const char *text = rh_json_string(entry);

		if (rh_starts_with(text, name) && text[length] == '=')
			return text + length + 1;
	}
	return NULL;
}

static int64_t number(const struct rh_json *plan, const char *path)
{
	int64_t value = -1;

	(void)rh_json_integer(rh_json_at(plan, path), &value);
	return value;
}

static void test_runtime_spec__is_one_that_a_shim_reads(void **state)
{
	struct test_pod *test = *state;
	struct rh_shim_plan plan = {0};
	struct rh_error err = {0};

	test_pod_spec(
		test, "{restartPolicy: OnFailure, terminationGracePeriodSeconds: 7, initContainers: [{name: first, command: "
			  "[true]}], containers: [{name: main, command: [python3, -u], args: [train.py]}]}");
	/* "true" is a boolean in YAML */
	assert_int_equal(rh_json_set(rh_json_at(test->pod, "spec.initContainers[0]"), "command", test_pod_yaml("['true']")),
	                 0);
	test->input.detached = true;
	if (rh_shim_plan_parse(make(test), &plan, &err) != 0)
		fail_msg("%s", err.message);
	assert_string_equal(plan.pod, "job-worker-1");
	assert_string_equal(plan.dir, test->pod_dir);
	assert_true(plan.detached && plan.policy == RH_SHIM_ON_FAILURE);
	assert_int_equal(plan.grace, 7 * RH_SECOND);
	assert_int_equal(plan.backoff, test->config->restart_backoff);
	assert_int_equal(plan.backoff_max, test->config->restart_backoff_max);
	assert_int_equal(plan.spec_count, 2);
	assert_true(plan.specs[0].init);
	assert_string_equal(plan.specs[1].argv[1], "-u");
	assert_string_equal(plan.specs[1].argv[2], "train.py");
	assert_string_equal(plan.specs[1].cwd, "/jobs");
	assert_string_equal(plan.specs[1].log, "/logs/main.log");
	assert_string_equal(rh_shim_spec_mark(&plan.specs[1]), "ROUNDHOUSE_CONTAINER=u-1/main");
	assert_int_equal(test_pod_mode(test->folder, "pod"), 0700);
	rh_shim_plan_deinit(&plan);
}

static void test_runtime_spec__defaults(void **state)
{
	struct test_pod *test = *state;
	rh_auto(json) plan = NULL;

	test_pod_spec(test, "{containers: [{name: main, command: [x]}]}");
	plan = make(test);
	assert_string_equal(rh_json_string(rh_json_get(plan, "restartPolicy")), "Always");
	assert_int_equal(number(plan, "grace"), test->config->grace_period);
	assert_int_equal(rh_json_size(rh_json_get(plan, "init")), 0);
	assert_null(rh_json_at(plan, "containers[0].mounts"));
	assert_string_equal(rh_str_text(&test->notes), "");
}

static void test_runtime_spec__environment(void **state)
{
	struct test_pod *test = *state;
	rh_auto(json) plan = NULL;

	test_pod_spec(test,
	              "{containers: [{name: main, command: [x], workingDir: sub, env: [{name: HOME, value: /root}, {name: "
	              "ROUNDHOUSE_CONTAINER, value: forged}]}]}");
	plan = make(test);
	assert_string_equal(variable(plan, "PATH"), "/usr/bin:/bin");
	assert_string_equal(variable(plan, "HOME"), "/root");
	assert_string_equal(variable(plan, "HOSTNAME"), "job-worker-1");
	assert_string_equal(variable(plan, "PWD"), "/jobs/sub");
	assert_string_equal(variable(plan, "ROUNDHOUSE_CONTAINER"), "u-1/main");
	assert_null(variable(plan, "CUDA_VISIBLE_DEVICES"));
	assert_null(variable(plan, "KUBERNETES_SERVICE_HOST"));
	assert_string_equal(rh_json_string_at(plan, "containers[0].cwd"), "/jobs/sub");
}

/* Variables for `roundhouse exec` in the pod: those of the pod or of an outer run do not replace them.
 */
static void test_runtime_spec__environment_of_exec(void **state)
{
	struct test_pod *test = *state;
	rh_auto(json) plan = NULL;
	rh_auto(json) bare = NULL;

	test_pod_spec(test, "{containers: [{name: main, command: [x], env: [{name: ROUNDHOUSE_PODS, value: forged}, {name: "
	                    "ROUNDHOUSE_NAMESPACE, value: forged}]}]}");
	bare = make(test);
	assert_string_equal(variable(bare, "ROUNDHOUSE_PODS"), "forged");
	assert_null(variable(bare, "ROUNDHOUSE_PROGRAM"));
	test->input.pods_dir = "/runs/1/pods";
	test->input.program = "/usr/bin/roundhouse";
	plan = make(test);
	assert_string_equal(variable(plan, "ROUNDHOUSE_PODS"), "/runs/1/pods");
	assert_string_equal(variable(plan, "ROUNDHOUSE_NAMESPACE"), rh_json_string_at(test->pod, "metadata.namespace"));
	assert_string_equal(variable(plan, "ROUNDHOUSE_PROGRAM"), "/usr/bin/roundhouse");
}

static void test_runtime_spec__arguments_expand(void **state)
{
	struct test_pod *test = *state;
	rh_auto(json) plan = NULL;

	test_pod_spec(test,
	              "{containers: [{name: main, envFrom: [{configMapRef: {name: files}}], env: [{name: A, value: x}], "
	              "command: [run, '$(A)', '$(a.txt)'], args: ['$(HOME)', '$$(A)', '']}]}");
	plan = make(test);
	assert_int_equal(rh_json_size(rh_json_at(plan, "containers[0].argv")), 6);
	assert_string_equal(rh_json_string_at(plan, "containers[0].argv[1]"), "x");
	assert_string_equal(rh_json_string_at(plan, "containers[0].argv[2]"), "A");
	assert_string_equal(rh_json_string_at(plan, "containers[0].argv[3]"), "$(HOME)");
	assert_string_equal(rh_json_string_at(plan, "containers[0].argv[4]"), "$(A)");
	assert_string_equal(rh_json_string_at(plan, "containers[0].argv[5]"), "");
}

static void test_runtime_spec__refusals(void **state)
{
	static const struct {
		const char *spec;
		int r;
		const char *word;
	} rows[] = {
		{"{containers: []}", RH_EINVAL, "a container"},
		{"{containers: [{name: main, image: i}]}", RH_EINVAL,
	     "container \"main\" has no command: on one machine its image \"i\""},
		{"{containers: [{name: main, args: [x]}]}", RH_EINVAL, "has no command"},
		{"{containers: [{name: main, command: [1]}]}", RH_EINVAL, "command must be a list of strings"},
		{"{containers: [{name: ../m, command: [x]}]}", RH_EINVAL, "name"},
		{"{containers: [{command: [x]}]}", RH_EINVAL, "name"},
		{"{containers: [{name: main, command: [x]}], initContainers: [{name: i, restartPolicy: Never, command: [x]}]}",
	     RH_EINVAL, "sidecar"},
		{"{containers: [{name: main, restartPolicy: Always, command: [x]}]}", RH_EINVAL, "that of its replica"},
		{"{containers: [{name: main, command: [x], env: [{name: A, valueFrom: {secretKeyRef: {name: q, key: k}}}]}]}",
	     RH_ENOENT, "secret \"q\" not found"},
		{"{containers: [{name: main, command: [x], volumeMounts: [{name: v, mountPath: /v}]}]}", RH_EINVAL,
	     "a volume \"v\" that the pod does not have"},
		{"{containers: [{name: main, command: [x], resources: {limits: {nvidia.com/gpu: 1}}}]}", RH_EINVAL, "GPUs"},
		{"{containers: [{name: main, command: [x], resources: {limits: {memory: lots}}}]}", RH_EINVAL,
	     "resources.limits[\"memory\"]"},
	};
	struct test_pod *test = *state;

	test->input.machine.can_limit = true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_json *plan = NULL;
		struct rh_error err = {0};
		int r;

		test_pod_spec(test, rows[i].spec);
		r = rh_runtime_spec_make(&test->input, &plan, NULL, &err);
		if (r != rows[i].r || !strstr(err.message, rows[i].word) || plan)
			fail_msg("%s: %d %s", rows[i].spec, r, err.message);
	}
}

static void test_runtime_spec__limits(void **state)
{
	struct test_pod *test = *state;
	rh_auto(json) without = NULL;
	rh_auto(json) with = NULL;

	test_pod_spec(test, "{containers: [{name: main, command: [x], resources: {limits: {cpu: 1500m, memory: 1Gi}}}]}");
	without = make(test);
	assert_int_equal(number(without, "containers[0].memory"), -1);
	assert_int_equal(number(without, "containers[0].cpu"), -1);
	assert_non_null(strstr(rh_str_text(&test->notes), "limits of cpu and memory are not enforced"));
	rh_str_clear(&test->notes);
	test->input.machine.can_limit = true;
	with = make(test);
	assert_int_equal(number(with, "containers[0].memory"), 1073741824);
	assert_int_equal(number(with, "containers[0].cpu"), 1500);
	assert_string_equal(rh_str_text(&test->notes), "");
}

/* A plan travels as JSON, in which a number beyond 2^53 is none: no amount that a pod may name can break it. */
static void test_runtime_spec__amounts_without_end(void **state)
{
	struct test_pod *test = *state;
	struct rh_shim_plan plan = {0};
	struct rh_error err = {0};

	test->input.machine.can_limit = true;
	test->input.machine.can_mount = true;
	test->config->restart_backoff_max = INT64_MAX;
	test_pod_spec(test, "{terminationGracePeriodSeconds: 9007199254740992, volumes: [{name: v, emptyDir: {medium: "
	                    "Memory, sizeLimit: 9Ei}}], containers: [{name: main, command: [x], resources: {limits: {cpu: "
	                    "9E, memory: 9Ei}}, volumeMounts: [{name: v, mountPath: /v}]}]}");
	if (rh_shim_plan_parse(make(test), &plan, &err) != 0)
		fail_msg("%s", err.message);
	assert_int_equal(plan.grace, INT32_MAX * RH_SECOND);
	assert_int_equal(plan.backoff_max, RH_SHIM_AMOUNT_MAX);
	assert_int_equal(plan.specs[0].memory, RH_SHIM_AMOUNT_MAX);
	assert_int_equal(plan.specs[0].cpu, RH_SHIM_AMOUNT_MAX);
	assert_int_equal(plan.tmpfs[0].size, RH_SHIM_AMOUNT_MAX);
	rh_shim_plan_deinit(&plan);
}

/* 4294967296 as a uid_t is 0: root. */
static void test_runtime_spec__users_that_are_none(void **state)
{
	static const char *const rows[][2] = {
		{"{securityContext: {runAsUser: 4294967296}, containers: [{name: main, command: [x]}]}",
	     "container \"main\": securityContext.runAsUser: Invalid value: 4294967296: must be between 0 and 2147483647"},
		{"{containers: [{name: main, command: [x], securityContext: {runAsGroup: -1}}]}",
	     "container \"main\": securityContext.runAsGroup: Invalid value: -1: must be between 0 and 2147483647"},
	};
	struct test_pod *test = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_json *plan = NULL;
		struct rh_error err = {0};

		test_pod_spec(test, rows[i][0]);
		assert_int_equal(rh_runtime_spec_make(&test->input, &plan, NULL, &err), RH_EINVAL);
		assert_string_equal(err.message, rows[i][1]);
	}
}

static void test_runtime_spec__users(void **state)
{
	struct test_pod *test = *state;
	rh_auto(json) plan = NULL;

	test_pod_spec(
		test,
		"{securityContext: {runAsUser: 12345, runAsGroup: 23456}, containers: [{name: main, command: [x]}, {name: "
		"own, command: [x], securityContext: {runAsUser: 34567}}]}");
	plan = make(test);
	if (geteuid() == 0) {
		assert_int_equal(number(plan, "containers[0].uid"), 12345);
		assert_int_equal(number(plan, "containers[0].gid"), 23456);
		assert_int_equal(number(plan, "containers[1].uid"), 34567);
		assert_string_equal(rh_str_text(&test->notes), "");
	} else {
		assert_int_equal(number(plan, "containers[0].uid"), -1);
		assert_non_null(strstr(rh_str_text(&test->notes), "securityContext.runAsUser is not honoured"));
	}
}

static void test_runtime_spec__gpus(void **state)
{
	static const struct {
		const char *spec;
		int count; /* negative: refused */
	} rows[] = {
		{"{containers: [{name: a}]}", 0},
		{"{containers: [{name: a, resources: {limits: {nvidia.com/gpu: 2}}}]}", 2},
		{"{containers: [{name: a, resources: {limits: {nvidia.com/gpu: '2'}}}, {name: b, resources: {limits: "
	     "{nvidia.com/gpu: "
	     "1}}}]}",
	     3},
		{"{containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}], initContainers: [{name: i, resources: "
	     "{limits: "
	     "{nvidia.com/gpu: 4}}}]}",
	     4},
		{"{containers: [{name: a, resources: {requests: {nvidia.com/gpu: 2}}}]}", 0},
		{"{containers: [{name: a, resources: {limits: {nvidia.com/gpu: 0}}}]}", 0},
		{"{containers: [{name: a, resources: {limits: {nvidia.com/gpu: 500m}}}]}", RH_EINVAL},
		{"{containers: [{name: a, resources: {limits: {nvidia.com/gpu: -1}}}]}", RH_EINVAL},
		{"{containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1e9}}}]}", RH_EINVAL},
		{"{containers: [{name: a}], initContainers: [{name: i, resources: {limits: {nvidia.com/gpu: x}}}]}", RH_EINVAL},
	};
	struct test_pod *test = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_error err = {0};
		int r;

		test_pod_spec(test, rows[i].spec);
		r = rh_runtime_spec_gpus(test->pod, &err);
		if (r != rows[i].count)
			fail_msg("%s: %d %s", rows[i].spec, r, err.message);
	}
}

/* Regular containers share the devices out; init containers, which run before, get the first ones. */
static void test_runtime_spec__gpus_are_shared_out(void **state)
{
	static const char *const gpus[] = {"3", "5", "GPU-7"};
	struct test_pod *test = *state;
	rh_auto(json) plan = NULL;
	rh_auto_free char *text = NULL;

	test_pod_spec(
		test, "{containers: [{name: a, command: [x], resources: {limits: {nvidia.com/gpu: 2}}, env: [{name: "
			  "CUDA_VISIBLE_DEVICES, value: '0,1'}]}, {name: b, command: [x], resources: {limits: {nvidia.com/gpu: "
			  "1}}}], initContainers: [{name: h, command: [x], resources: {limits: {nvidia.com/gpu: 3}}}, {name: i, "
			  "command: [x], resources: {limits: {nvidia.com/gpu: 1}}}]}");
	test->input.gpus = gpus;
	test->input.gpu_count = 3;
	plan = make(test);
	assert_string_equal(variable(plan, "CUDA_VISIBLE_DEVICES"), "3,5");
	text = rh_json_text(rh_json_at(plan, "containers[1].env"));
	assert_non_null(strstr(text, "\"CUDA_VISIBLE_DEVICES=GPU-7\""));
	rh_free(rh_take(text));
	text = rh_json_text(rh_json_at(plan, "init[1].env"));
	assert_non_null(strstr(text, "\"CUDA_VISIBLE_DEVICES=3\""));
}

static const char volumes_spec[] =
	"{containers: [{name: main, command: [x], args: ['$(DATA)/train'], workingDir: /data/work, env: [{name: DATA, "
	"value: "
	"/data}, {name: DEEP, value: '$(DATA)/a/b'}, {name: OTHER, value: /database}], volumeMounts: [{name: data, "
	"mountPath: "
	"/data}, {name: settings, mountPath: /etc/settings}, {name: shm, mountPath: /dev/shm}]}], volumes: [{name: data, "
	"emptyDir: {}}, {name: settings, configMap: {name: files}}, {name: shm, emptyDir: {medium: Memory, sizeLimit: "
	"1Mi}}]}";

static void test_runtime_spec__volumes_with_mounts(void **state)
{
	struct test_pod *test = *state;
	rh_auto(json) plan = NULL;
	rh_auto_free char *shm = rh_asprintf("%s/volumes/shm", test->pod_dir);
	rh_auto_free char *hosts = NULL;

	test_pod_spec(test, volumes_spec);
	test->input.machine.can_mount = true;
	test->input.hosts = "127.0.0.1 localhost\n";
	plan = make(test);
	assert_int_equal(rh_json_size(rh_json_at(plan, "containers[0].mounts")), 4);
	assert_string_equal(rh_json_string_at(plan, "containers[0].mounts[0].to"), "/data");
	assert_string_equal(rh_json_string_at(plan, "containers[0].mounts[2].to"), "/etc/settings");
	assert_true(rh_json_bool(rh_json_at(plan, "containers[0].mounts[2].readOnly"), false));
	assert_string_equal(rh_json_string_at(plan, "containers[0].mounts[3].to"), "/etc/hosts");
	assert_string_equal(rh_json_string_at(plan, "tmpfs[0].path"), shm);
	assert_int_equal(number(plan, "tmpfs[0].size"), 1048576);
	assert_string_equal(rh_json_string_at(plan, "containers[0].argv[1]"), "/data/train");
	assert_string_equal(rh_json_string_at(plan, "containers[0].cwd"), "/data/work");
	hosts = test_pod_read(test->pod_dir, "hosts");
	assert_string_equal(hosts, "127.0.0.1 localhost\n");
	assert_int_equal(test_pod_mode(test->pod_dir, "hosts"), 0644);
}

static void test_runtime_spec__volumes_without_mounts(void **state)
{
	struct test_pod *test = *state;
	rh_auto(json) plan = NULL;
	rh_auto_free char *data = rh_asprintf("%s/volumes/data", test->pod_dir);
	rh_auto_free char *deep = rh_asprintf("%s/a/b", data);
	rh_auto_free char *train = rh_asprintf("%s/train", data);
	rh_auto_free char *work = rh_asprintf("%s/work", data);

	test_pod_spec(test, volumes_spec);
	test->input.hosts = "127.0.0.1 localhost\n";
	plan = make(test);
	assert_null(rh_json_at(plan, "containers[0].mounts"));
	assert_null(rh_json_get(plan, "tmpfs"));
	assert_string_equal(variable(plan, "DATA"), data);
	assert_string_equal(variable(plan, "DEEP"), deep);
	assert_string_equal(variable(plan, "OTHER"), "/database");
	assert_string_equal(rh_json_string_at(plan, "containers[0].argv[1]"), train);
	assert_string_equal(rh_json_string_at(plan, "containers[0].cwd"), work);
}

static void test_runtime_spec__paths_without_mounts_are_refused(void **state)
{
	static const struct {
		const char *container;
		const char *word;
	} rows[] = {
		{"command: [x, --data=/data/train]",
	     "container \"main\": an argument \"--data=/data/train\" names mountPath \"/data\""},
		{"command: [sh, -c, 'ls /data | wc']", "of volume \"data\""},
		{"command: [x], args: [/data]", "an argument \"/data\""},
		{"command: [x], env: [{name: A, value: 'a:/data'}]", "the value of env \"A\""},
	};
	struct test_pod *test = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *spec = rh_asprintf(
			"{containers: [{name: main, %s, volumeMounts: [{name: data, mountPath: /data}]}], volumes: [{name: "
			"data, emptyDir: {}}]}",
			rows[i].container);
		struct rh_json *plan = NULL;
		struct rh_error err = {0};

		test_pod_spec(test, spec);
		if (rh_runtime_spec_make(&test->input, &plan, NULL, &err) != RH_EINVAL || !strstr(err.message, rows[i].word))
			fail_msg("%s: %s", rows[i].container, err.message);
		test->input.machine.can_mount = true;
		assert_int_equal(rh_runtime_spec_make(&test->input, &plan, NULL, &err), 0);
		rh_json_free(plan);
		test->input.machine.can_mount = false;
	}
}

static void test_runtime_spec__notes_what_has_no_effect(void **state)
{
	struct test_pod *test = *state;
	rh_auto(json) plan = NULL;

	test_pod_spec(test, "{containers: [{name: main, command: [x], livenessProbe: {}, lifecycle: {}}]}");
	plan = make(test);
	assert_string_equal(rh_str_text(&test->notes), "container \"main\": livenessProbe has no effect on one machine\n"
	                                               "container \"main\": lifecycle has no effect on one machine\n");
}

static void test_runtime_spec__without_uid_or_folder(void **state)
{
	struct test_pod *test = *state;
	struct rh_json *plan = NULL;
	struct rh_error err = {0};

	test->input.pod_dir = "/proc/no/such";
	assert_int_equal(rh_runtime_spec_make(&test->input, &plan, NULL, &err), RH_EIO);
	test->input.pod_dir = test->pod_dir;
	rh_json_remove(rh_json_get(test->pod, "metadata"), "uid");
	assert_int_equal(rh_runtime_spec_make(&test->input, &plan, NULL, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "metadata.uid"));
}

static void test_runtime_spec__survives_a_lack_of_memory(void **state)
{
	struct test_pod *test = *state;
	int r = RH_ENOMEM;

	test_pod_spec(test, volumes_spec);
	for (int mounts = 0; mounts < 2; mounts++) {
		test->input.machine.can_mount = mounts == 1;
		r = RH_ENOMEM;
		for (long i = 0; r != 0; i++) {
			struct rh_json *plan = NULL;

			(void)rh_mem_fail_after(i);
			r = rh_runtime_spec_make(&test->input, &plan, &test->notes, NULL);
			(void)rh_mem_fail_after(-1);
			assert_true(r == 0 || (r == RH_ENOMEM && !plan));
			rh_json_free(plan);
			rh_str_deinit(&test->notes);
		}
	}
}

/* The answers are the machine's; that asking does no harm is what counts. */
static void test_runtime_spec__asks_the_machine(void **state)
{
	rh_auto_free char *before = NULL;
	rh_auto_free char *after = NULL;

	(void)state;
	assert_int_equal(rh_file_read("/proc/self/mounts", 1024 * 1024, &before, NULL, NULL), 0);
	(void)rh_runtime_spec_can_mount();
	(void)rh_runtime_spec_can_limit(NULL);
	assert_int_equal(rh_file_read("/proc/self/mounts", 1024 * 1024, &after, NULL, NULL), 0);
	assert_string_equal(before, after);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, test_pod_setup, test_pod_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_runtime_spec__is_one_that_a_shim_reads),
		CASE(test_runtime_spec__defaults),
		CASE(test_runtime_spec__environment),
		CASE(test_runtime_spec__environment_of_exec),
		CASE(test_runtime_spec__arguments_expand),
		CASE(test_runtime_spec__refusals),
		CASE(test_runtime_spec__limits),
		CASE(test_runtime_spec__amounts_without_end),
		CASE(test_runtime_spec__users),
		CASE(test_runtime_spec__users_that_are_none),
		CASE(test_runtime_spec__gpus),
		CASE(test_runtime_spec__gpus_are_shared_out),
		CASE(test_runtime_spec__volumes_with_mounts),
		CASE(test_runtime_spec__volumes_without_mounts),
		CASE(test_runtime_spec__paths_without_mounts_are_refused),
		CASE(test_runtime_spec__notes_what_has_no_effect),
		CASE(test_runtime_spec__without_uid_or_folder),
		CASE(test_runtime_spec__survives_a_lack_of_memory),
		CASE(test_runtime_spec__asks_the_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

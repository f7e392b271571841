/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/clock.h"
#include "base/os/file.h"
#include "local/harness.h"
#include "local/runtime_spec.h"
#include "local/scratch.h"

static void test_run__success(void **state)
{
	struct test_run *run = *state;
	const struct test_job job = {.master = "echo rank $RANK of $WORLD_SIZE at $MASTER_ADDR",
	                             .worker = "echo rank $RANK of $WORLD_SIZE; echo oops >&2",
	                             .workers = 2};

	run->options.linger = RH_NEVER / 4;
	test_run_job(run, &job);
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
	test_run_expect(&run->lines, "master-0 pytorch: rank 0 of 3 at 127.");
	test_run_expect(&run->lines, "worker-0 pytorch: rank 1 of 3\n");
	test_run_expect(&run->lines, "worker-1 pytorch: rank 2 of 3\n");
	test_run_expect(&run->lines, "worker-1 pytorch: oops\n");
	assert_string_equal(rh_str_text(&run->table), "j Master-0 Succeeded 0 restarts=0\n"
	                                              "j Worker-0 Succeeded 0 restarts=0\n"
	                                              "j Worker-1 Succeeded 0 restarts=0\n");
	test_run_expect(&run->events, "SuccessfulCreatePod: Created pod: j-master-0\n");
	assert_non_null(test_run_condition(run, "Succeeded"));
	assert_true(run->pods_reported >= 3);
}

static void test_run__last_line_without_newline(void **state)
{
	struct test_run *run = *state;
	const struct test_job job = {.master = "printf one; printf two"};

	test_run_job(run, &job);
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
	assert_string_equal(rh_str_text(&run->lines), "master-0 pytorch: onetwo\n");
}

static void test_run__failure_names_the_first_fault(void **state)
{
	struct test_run *run = *state;
	const struct test_job job = {
		.master = "sleep 600", .worker = "[ $RANK = 1 ] || exec sleep 600; echo no such rank; exit 3", .workers = 2};

	test_run_job(run, &job);
	test_run_expect_result(run, RH_RUN_FAILED);
	test_run_expect(&run->table, "j Master-0 Stopped 143 restarts=0\n");
	test_run_expect(&run->table, "j Worker-0 Failed 3 restarts=0\n");
	test_run_expect(&run->table, "j Worker-1 Stopped 143 restarts=0\n");
	assert_non_null(test_run_condition(run, "Failed"));
	assert_non_null(strstr(test_run_condition(run, "Failed"), "no such rank"));
	assert_non_null(strstr(test_run_condition(run, "Failed"), "exited with code 3"));
}

static void test_run__healthy_replica_that_hangs_hides_no_failure(void **state)
{
	struct test_run *run = *state;
	rh_auto_free char *up = rh_path_join(run->scratch, "up");
	rh_auto_free char *master = rh_asprintf("trap : TERM; touch \"%s\"; while :; do sleep 1; done", up);
	rh_auto_free char *worker = rh_asprintf("until [ -e \"%s\" ]; do sleep 0.02; done; exit 1", up);
	const struct test_job job = {.master = master, .worker = worker};

	run->config->grace_period = RH_SECOND / 2;
	test_run_job(run, &job);
	(void)unlink(up);
	test_run_expect_result(run, RH_RUN_FAILED);
	test_run_expect(&run->table, "j Master-0 Stopped 137 restarts=0\n");
}

static void test_run__program_that_does_not_exist(void **state)
{
	struct test_run *run = *state;

	test_run_go(run,
	            "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j}\nspec:\n  pytorchReplicaSpecs:\n"
	            "    Master:\n      replicas: 1\n      restartPolicy: Never\n      template:\n        spec:\n"
	            "          containers: [{name: pytorch, image: none, command: [/no/such/program]}]\n");
	test_run_expect_result(run, RH_RUN_FAILED);
	test_run_expect(&run->table, "j Master-0 Failed 127 restarts=0\n");
	assert_non_null(strstr(test_run_condition(run, "Failed"), "/no/such/program"));
}

/* A script that ends with `code` as long as it has run fewer than `times` times, counted in the run's scratch folder.
 */
static char *failing_script(const struct test_run *run, int times, const char *code, const char *then)
{
	return rh_asprintf(
		"n=$(cat \"%s/../count-%d\" 2>/dev/null | wc -c); printf x >>\"%s/../count-%d\"; [ $n -ge %d ] || exit %s; %s",
		run->scratch, (int)getpid(), run->scratch, (int)getpid(), times, code, then);
}

static void forget_count(const struct test_run *run)
{
	rh_auto_free char *path = rh_asprintf("%s/../count-%d", run->scratch, (int)getpid());

	(void)unlink(path);
}

/* A restart policy, what the container ends with at first, and what becomes of the job. */
struct restart_row {
	const char *policy;
	const char *code;
	int result;
	const char *table;
};

static const struct restart_row restart_rows[] = {
	{"OnFailure", "1", RH_RUN_SUCCEEDED, "j Master-0 Succeeded 0 restarts=2\n"},
	{"OnFailure", "137", RH_RUN_SUCCEEDED, "j Master-0 Succeeded 0 restarts=2\n"},
	{"ExitCode", "130", RH_RUN_SUCCEEDED, "j Master-0 Succeeded 0 restarts=2\n"},
	{"ExitCode", "1", RH_RUN_FAILED, "j Master-0 Failed 1 restarts=0\n"},
	{"Never", "130", RH_RUN_FAILED, "j Master-0 Failed 130 restarts=0\n"},
};

static void test_run__restart_policies(void **state)
{
	struct test_run *run = *state;

	for (size_t i = 0; i < sizeof(restart_rows) / sizeof(restart_rows[0]); i++) {
		const struct restart_row *row = &restart_rows[i];
		rh_auto_free char *script = failing_script(run, 2, row->code, "exit 0");
		const struct test_job job = {.policy = row->policy, .master = script};

		rh_str_clear(&run->table);
		test_run_job(run, &job);
		forget_count(run);
		test_run_expect_result(run, row->result);
		assert_string_equal(rh_str_text(&run->table), row->table);
	}
}

static void test_run__backoff_limit(void **state)
{
	struct test_run *run = *state;
	const struct test_job job = {.policy = "OnFailure", .spec = "  runPolicy: {backoffLimit: 2}\n", .master = "exit 1"};
	const struct test_job recreated = {
		.policy = "ExitCode", .spec = "  runPolicy: {backoffLimit: 2}\n", .master = "exit 137"};

	test_run_job(run, &job);
	test_run_expect_result(run, RH_RUN_FAILED);
	assert_non_null(strstr(test_run_condition(run, "Failed"), "backoff limit"));
	/* it was running again when the limit ended it, but that is not how it ended */
	test_run_expect(&run->table, "j Master-0 Failed 1 restarts=2\n");
	test_run_job(run, &recreated);
	test_run_expect_result(run, RH_RUN_FAILED);
	assert_non_null(strstr(test_run_condition(run, "Failed"), "backoff limit"));
	test_run_expect(&run->table, "j Master-0 Failed 137 restarts=2\n");
}

/* A job without backoffLimit: the same quick failure again and again has an end here, and none on a cluster. */
static void test_run__crash_loop_ends(void **state)
{
	static const struct {
		const char *policy;
		const char *script;
		const char *pod;
		const char *table;
	} rows[] = {
		{"OnFailure", TEST_AWAIT("up") "exit 3", NULL, "j Master-0 Failed 3 restarts="},
		{"Always", TEST_AWAIT("up") "exit 3", NULL, "j Master-0 Failed 3 restarts="},
		{"ExitCode", TEST_AWAIT("up") "exit 130", NULL, "j Master-0 Failed 130 restarts="},
		{"OnFailure", "exit 0", "          initContainers: [{name: first, image: x, command: [sh, -c, exit 5]}]\n",
	     "-0 Failed of first 5 restarts="},
	};
	struct test_run *run = *state;

	run->options.max_restarts = 3;
	run->config->grace_period = 60 * RH_SECOND;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct test_job job = {.policy = rows[i].policy,
		                             .master = rows[i].script,
		                             .pod = rows[i].pod,
		                             .worker = TEST_MARK("up") "exec sleep 600"};

		rh_str_clear(&run->table);
		test_run_in_place(run, &job);
		test_run_expect_result(run, RH_RUN_FAILED);
		assert_non_null(strstr(test_run_condition(run, "Failed"), "-0 was restarted 3 times in a row"));
		test_run_expect(&run->table, rows[i].table);
		if (!rows[i].pod)
			test_run_expect(&run->table, "j Worker-0 Stopped 143 restarts=0\n");
	}
}

static void test_run__crash_loop_that_is_none(void **state)
{
	struct test_run *run = *state;
	/* each failure is another one than that before */
	rh_auto_free char *path = rh_path_join(run->scratch, "../roundhouse-test-count");
	rh_auto_free char *own = rh_asprintf("%s-%d", path, (int)getpid());
	rh_auto_free char *script =
		rh_asprintf("printf x >>\"%s\"; n=$(wc -c <\"%s\"); [ $n -lt 8 ] || exit 0; exit $((n %% 2 + 1))", own, own);
	const struct test_job job = {.policy = "OnFailure", .master = script};

	run->options.max_restarts = 3;
	test_run_job(run, &job);
	(void)unlink(own);
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
	run->options.max_restarts = 0;
	{
		rh_auto_free char *same = failing_script(run, 6, "4", "exit 0");
		const struct test_job endless = {.policy = "OnFailure", .master = same};

		test_run_job(run, &endless);
		forget_count(run);
	}
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
}

/* A job that succeeds by its Master alone, and a Worker that does not. */
static void test_run__strict(void **state)
{
	struct test_run *run = *state;
	rh_auto_free char *done = rh_path_join(run->scratch, "done");
	rh_auto_free char *master = rh_asprintf("touch \"%s\"", done);
	rh_auto_free char *worker = rh_asprintf("until [ -e \"%s\" ]; do sleep 0.02; done; sleep 2; exit 4", done);
	const struct test_job job = {.master = master, .worker = worker};

	run->options.linger = 60 * RH_SECOND; /* a busy machine starts the worker late */
	for (int strict = 0; strict < 2; strict++) {
		run->options.strict = strict != 0;
		rh_str_clear(&run->notes);
		test_run_job(run, &job);
		(void)unlink(done);
		test_run_expect_result(run, strict ? RH_RUN_FAILED : RH_RUN_SUCCEEDED);
		assert_non_null(test_run_condition(run, "Succeeded"));
		test_run_expect(&run->table, "j Worker-0 Failed 4 restarts=0\n");
		test_run_expect(&run->notes,
		                "warning: PyTorchJob j succeeded by the rules of its kind, and these replicas failed: "
		                "Worker-0; --strict");
	}
}

/* A replica that fails by a container beside its main one, and one that was started twice. */
static void test_run__table_says_who_failed(void **state)
{
	struct test_run *run = *state;
	const struct test_job twice = {
		.policy = "OnFailure",
		.master = "[ -e \"$HOME_OF_TEST\" ] && exit 0; sleep 0.5; touch \"$HOME_OF_TEST\"; exit 1"};
	rh_auto_free char *path = rh_path_join(run->scratch, "../roundhouse-test-once");

	test_run_go(run,
	            "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j}\nspec:\n  pytorchReplicaSpecs:\n"
	            "    Master:\n      replicas: 1\n      restartPolicy: Never\n      template:\n        spec:\n"
	            "          containers:\n          - {name: pytorch, image: none, command: ['true']}\n"
	            "          - {name: beside, image: none, command: [sh, -c, exit 6]}\n");
	test_run_expect_result(run, RH_RUN_FAILED);
	test_run_expect(&run->table, "j Master-0 Failed of beside 6 restarts=0\n");
	(void)setenv("HOME_OF_TEST", path, 1);
	test_run_job(run, &twice);
	(void)unlink(path);
	(void)unsetenv("HOME_OF_TEST");
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
	test_run_expect(&run->table, "j Master-0 Succeeded 0 restarts=1\n");
	assert_true(run->longest >= RH_SECOND / 2); /* of both starts */
}

static void test_run__deadline(void **state)
{
	struct test_run *run = *state;
	const struct test_job job = {.spec = "  runPolicy: {activeDeadlineSeconds: 1}\n", .master = "sleep 600"};

	test_run_job(run, &job);
	test_run_expect_result(run, RH_RUN_FAILED);
	assert_non_null(strstr(test_run_condition(run, "Failed"), "active longer than specified deadline"));
	test_run_expect(&run->table, "j Master-0 Stopped 143");
}

/* Under scope job, a failure of one starts all again, on other ports and at the same addresses. */
static void test_run__scope_job(void **state)
{
	struct test_run *run = *state;
	rh_auto_free char *count = failing_script(run, 1, "137", "echo again");
	rh_auto_free char *worker = rh_asprintf(TEST_AWAIT("began") "%s", count);
	const struct test_job job = {
		.annotations = "{roundhouse.dev/restart: job}",
		.policy = "OnFailure",
		.master = "echo place $MASTER_ADDR $MASTER_PORT; [ -e $PLACE_OF_TEST/began ] && exit 0; " TEST_MARK(
			"began") "sleep 600",
		.worker = worker};
	char host[2][32];
	int port[2];

	run->options.linger = RH_NEVER / 4;
	test_run_in_place(run, &job);
	forget_count(run);
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
	assert_int_equal(test_run_times(&run->lines, "master-0 pytorch: place "), 2);
	assert_int_equal(sscanf(strstr(rh_str_text(&run->lines), "place "), "place %31s %d", host[0], &port[0]), 2);
	assert_int_equal(
		sscanf(strstr(strstr(rh_str_text(&run->lines), "place ") + 1, "place "), "place %31s %d", host[1], &port[1]),
		2);
	assert_string_equal(host[0], host[1]);
	assert_int_not_equal(port[0], port[1]);
	test_run_expect(&run->table, "j Master-0 Succeeded 0 restarts=1\n");
	test_run_expect(&run->table, "j Worker-0 Succeeded 0 restarts=1\n");
}

static void test_run__ttl_is_not_waited_for(void **state)
{
	struct test_run *run = *state;
	const struct test_job later = {.spec = "  runPolicy: {ttlSecondsAfterFinished: 3600}\n", .master = "exit 0"};
	const struct test_job now = {.spec = "  runPolicy: {ttlSecondsAfterFinished: 0}\n", .master = "echo done"};

	test_run_job(run, &later);
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
	test_run_job(run, &now);
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
	test_run_expect(&run->lines, "master-0 pytorch: done\n");
}

/* A spec that can never run here, and its message. */
struct refused_row {
	const char *spec;
	const char *pod;
	const char *message;
};

static const struct refused_row refused_rows[] = {
	{"  runPolicy: {suspend: true}\n", NULL, "test.yaml: PyTorchJob j: spec.runPolicy.suspend is true"},
	{"  runPolicy: {managedBy: kueue.x-k8s.io/multikueue}\n", NULL,
     "test.yaml: PyTorchJob j: spec.runPolicy.managedBy is \"kueue.x-k8s.io/multikueue\""},
};

static void test_run__jobs_that_would_never_start(void **state)
{
	struct test_run *run = *state;

	for (size_t i = 0; i < sizeof(refused_rows) / sizeof(refused_rows[0]); i++) {
		const struct test_job job = {.spec = refused_rows[i].spec, .master = "true"};

		assert_int_equal(test_run_job(run, &job), RH_EINVAL);
		if (!strstr(run->err.message, refused_rows[i].message))
			fail_msg("\"%s\" is not in \"%s\"", refused_rows[i].message, run->err.message);
	}
	assert_int_equal(test_run_go(run, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"), RH_EINVAL);
	assert_string_equal(run->err.message, "there is no job to run");
}

static const char gpu_yaml[] =
	"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j}\nspec:\n  pytorchReplicaSpecs:\n"
	"    Master:\n      replicas: 1\n      template:\n        spec:\n"
	"          containers: [{name: pytorch, image: none, command: [env], resources: {limits: {nvidia.com/gpu: 2}}}]\n"
	"    Worker:\n      replicas: 3\n      template:\n        spec:\n"
	"          containers: [{name: pytorch, image: none, command: [env], resources: {limits: {nvidia.com/gpu: 2}}}]\n";

static void test_run__gpus(void **state)
{
	struct test_run *run = *state;

	(void)setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6", 1);
	assert_int_equal(test_run_go(run, gpu_yaml), RH_EINVAL);
	assert_string_equal(run->err.message, "test.yaml: PyTorchJob j: its replicas ask for 8 nvidia.com/gpu in all; this "
	                                      "machine has 7");
	(void)setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7", 1);
	test_run_go(run, gpu_yaml);
	(void)unsetenv("CUDA_VISIBLE_DEVICES");
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
	assert_int_equal(test_run_times(&run->lines, "pytorch: CUDA_VISIBLE_DEVICES="), 4);
}

static const char one_gpu_yaml[] =
	"---\napiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: %s}\nspec:\n  pytorchReplicaSpecs:\n"
	"    Master:\n      replicas: 1\n      restartPolicy: Never\n      template:\n        spec:\n"
	"          containers: [{name: pytorch, image: none, command: [sh, -c, \"echo $CUDA_VISIBLE_DEVICES; %s\"], "
	"resources: {limits: {nvidia.com/gpu: 1}}}]\n";

static void mark_wait(struct test_run *run, const char *note)
{
	(void)run;
	if (strstr(note, "-master-0 waits: "))
		test_run_mark("waits");
}

/* Two jobs, one device: the one waits for the other, which ends when that is reported. */
static void test_run__gpu_is_waited_for(void **state)
{
	struct test_run *run = *state;
	rh_auto_str yaml = {0};

	rh_str_appendf(&yaml, one_gpu_yaml, "a", TEST_AWAIT("waits"));
	rh_str_appendf(&yaml, one_gpu_yaml, "b", TEST_AWAIT("waits"));
	run->on_note = mark_wait;
	(void)setenv("CUDA_VISIBLE_DEVICES", "5", 1);
	test_run_go_in_place(run, rh_str_text(&yaml));
	(void)unsetenv("CUDA_VISIBLE_DEVICES");
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
	assert_int_equal(test_run_times(&run->lines, "master-0 pytorch: 5\n"), 2);
	test_run_expect(&run->notes, "-master-0 waits: ");
}

/* V1's Service names are found by every program, where the machine lets a pod have its own /etc/hosts. */
static void test_run__service_names(void **state)
{
	struct test_run *run = *state;
	const struct test_job job = {.master = "getent hosts j-worker-0 j-worker-0.default.svc localhost",
	                             .worker = "true"};

	if (!rh_runtime_spec_can_mount())
		return;
	test_run_job(run, &job);
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
	assert_int_equal(test_run_times(&run->lines, "j-worker-0 j-worker-0.default "), 2);
	test_run_expect(&run->lines, "localhost");
}

static const char config_yaml[] =
	"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {rate: \"0.1\", steps: \"7\"}\n---\n"
	"apiVersion: v1\nkind: Secret\nmetadata: {name: token}\nstringData: {key: open}\n---\n"
	"apiVersion: v1\nkind: Service\nmetadata: {name: other}\n---\n"
	"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j}\nspec:\n  pytorchReplicaSpecs:\n"
	"    Master:\n      replicas: 1\n      restartPolicy: Never\n      template:\n        spec:\n"
	"          containers:\n          - name: pytorch\n            image: none\n"
	"            command: [sh, -c, 'echo $RATE $KEY $ALL_steps at $IP']\n"
	"            envFrom: [{prefix: ALL_, configMapRef: {name: settings}}]\n"
	"            env:\n"
	"            - {name: RATE, valueFrom: {configMapKeyRef: {name: settings, key: rate}}}\n"
	"            - {name: KEY, valueFrom: {secretKeyRef: {name: token, key: key}}}\n"
	"            - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}\n";

static void test_run__config_maps_and_secrets(void **state)
{
	struct test_run *run = *state;

	test_run_go(run, config_yaml);
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
	test_run_expect(&run->lines, "master-0 pytorch: 0.1 open 7 at 127.");
	test_run_expect(&run->notes, "Service other means nothing on one machine and is left out\n");
}

static void test_run__missing_config_map(void **state)
{
	struct test_run *run = *state;
	const char *job = strstr(config_yaml, "apiVersion: kubeflow.org/v1");

	test_run_go(run, job);
	test_run_expect_result(run, RH_RUN_FAILED);
	assert_non_null(strstr(test_run_condition(run, "Failed"),
	                       "PyTorchJob j cannot run on this machine: replica master-0: CreateContainerConfigError: "));
	test_run_expect(&run->table, "j Master-0 Never started -1 restarts=0\n");
}

static void test_run__init_containers_in_order(void **state)
{
	struct test_run *run = *state;
	const struct test_job job = {.pod =
	                                 "          initContainers:\n"
	                                 "          - {name: one, image: none, command: [sh, -c, \"sleep 0.2; echo 1\"]}\n"
	                                 "          - {name: two, image: none, command: [echo, \"2\"]}\n",
	                             .master = "echo 3"};

	test_run_job(run, &job);
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
	assert_string_equal(rh_str_text(&run->lines), "master-0 one: 1\nmaster-0 two: 2\nmaster-0 pytorch: 3\n");
}

static void test_run__several_jobs(void **state)
{
	struct test_run *run = *state;
	rh_auto_str yaml = {0};

	for (int i = 0; i < 3; i++)
		rh_str_appendf(
			&yaml,
			"---\napiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: job%d}\nspec:\n"
			"  pytorchReplicaSpecs:\n    Master:\n      replicas: 1\n      restartPolicy: Never\n"
			"      template: {spec: {containers: [{name: pytorch, image: none, command: [sh, -c, 'exit %d']}]}}\n",
			i, i == 1 ? 5 : 0);
	test_run_go(run, rh_str_text(&yaml));
	test_run_expect_result(run, RH_RUN_FAILED);
	assert_string_equal(rh_str_text(&run->table), "job0 Master-0 Succeeded 0 restarts=0\n"
	                                              "job1 Master-0 Failed 5 restarts=0\n"
	                                              "job2 Master-0 Succeeded 0 restarts=0\n");
}

/* Kill the shim, whose process id is that of the script's parent. */
static void kill_shim(struct test_run *run, const char *line)
{
	int shim = 0;

	if (sscanf(line, "parent %d", &shim) == 1 && run->counter++ == 0)
		(void)kill(shim, SIGKILL);
}

static void test_run__killed_shim_leaves_nothing(void **state)
{
	struct test_run *run = *state;
	rh_auto_free char *flag = rh_asprintf("%s/../flag-%d", run->scratch, (int)getpid());
	rh_auto_free char *script =
		rh_asprintf("if [ -e \"%s\" ]; then exit 0; fi; touch \"%s\"; setsid sh -c \"sleep 611 & sleep 611\" & "
	                "echo parent $PPID; sleep 611",
	                flag, flag);
	const struct test_job job = {.policy = "ExitCode", .master = script};

	run->on_line = kill_shim;
	test_run_job(run, &job);
	(void)unlink(flag);
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
	test_run_expect(&run->table, "j Master-0 Succeeded 0 restarts=1\n");
}

static void test_run__log_dir(void **state)
{
	struct test_run *run = *state;
	rh_auto_free char *logs = rh_path_join(run->scratch, "logs");
	rh_auto_free char *file = rh_path_join(logs, "j/master-0/pytorch.log");
	const struct test_job first = {.master = "echo first"};
	rh_auto_free char *flag = rh_path_join(run->scratch, "flag");
	rh_auto_free char *script =
		rh_asprintf("if [ -e \"%s\" ]; then echo b; else touch \"%s\"; echo a; exit 200; fi", flag, flag);
	const struct test_job second = {.policy = "ExitCode", .master = script};
	rh_auto_free char *text = NULL;

	run->options.log_dir = logs;
	test_run_job(run, &first);
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
	assert_int_equal(rh_file_read(file, 1000, &text, NULL, NULL), 0);
	assert_string_equal(text, "first\n");
	test_run_job(run, &second);
	(void)unlink(flag);
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
	rh_free(rh_take(text));
	assert_int_equal(rh_file_read(file, 1000, &text, NULL, NULL), 0);
	assert_string_equal(text, "a\nb\n");
	test_run_expect(&run->lines, "first\nmaster-0 pytorch: a\nmaster-0 pytorch: b\n");
	assert_int_equal(rh_dir_remove(logs, NULL), 0);
}

static void test_run__log_dir_that_cannot_be_made(void **state)
{
	struct test_run *run = *state;
	const struct test_job job = {.master = "true"};

	run->options.log_dir = "/dev/null/logs";
	assert_true(test_run_job(run, &job) < 0);
	assert_non_null(strstr(run->err.message, "/dev/null"));
}

static void test_run__much_output(void **state)
{
	struct test_run *run = *state;
	const struct test_job job = {.master = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"};

	test_run_job(run, &job);
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
	assert_int_equal(test_run_times(&run->lines, "\n"), 20000);
	test_run_expect(&run->lines, "line 19999\n");
}

static void test_run__many_replicas(void **state)
{
	struct test_run *run = *state;

	test_run_go(
		run,
		"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j}\nspec:\n  pytorchReplicaSpecs:\n"
		"    Master: {replicas: 1, restartPolicy: Never, template: {spec: {containers: [{name: pytorch, image: none, "
		"command: [sleep, \"1\"]}]}}}\n"
		"    Worker: {replicas: 60, restartPolicy: Never, template: {spec: {containers: [{name: pytorch, image: none, "
		"command: [/bin/true]}]}}}\n");
	test_run_expect_result(run, RH_RUN_SUCCEEDED);
	/* the job has succeeded with its master: on a busy machine some workers are stopped before they have ended */
	assert_int_equal(test_run_times(&run->table, " restarts=0"), 61);
	assert_int_equal(test_run_times(&run->table, " Failed "), 0);
}

static void give_memory_back(int number)
{
	(void)number;
	(void)rh_mem_fail_after(-1);
}

/* Memory is out after `count` allocations, for a moment. */
static void short_of_memory(long count)
{
	const struct itimerval moment = {.it_value = {.tv_usec = 30000}};

	assert_int_equal(setitimer(ITIMER_REAL, &moment, NULL), 0);
	(void)rh_mem_fail_after(count);
}

static void enough_memory(void)
{
	const struct itimerval never = {.it_value = {.tv_usec = 0}};

	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	(void)rh_mem_fail_after(-1);
}

/* Either nothing starts and an error is returned, or the run fails, or it continues once there is memory again. */
static void test_run__short_memory(void **state)
{
	struct test_run *run = *state;
	const struct rh_run_hooks hooks = {.arg = NULL};
	const struct sigaction action = {.sa_handler = give_memory_back};
	rh_auto_manifest manifest = {0};
	static const char yaml[] = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j}\nspec: "
							   "{pytorchReplicaSpecs: {Master: {replicas: 1, "
							   "restartPolicy: Never, template: {spec: {containers: [{name: pytorch, image: none, "
							   "command: [\"true\"]}]}}}}}\n";
	int succeeded = 0;

	assert_int_equal(rh_manifest_parse(&manifest, "test.yaml", yaml, sizeof(yaml) - 1, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	run->options.manifest = &manifest;
	run->options.hooks = hooks;
	for (long count = 0; count < 5000 && succeeded<20; count += succeeded> 0 ? 41 : 1) {
		int r;

		short_of_memory(count);
		r = rh_run(&run->options, &run->err);
		enough_memory();
		if (r != RH_ENOMEM && r != RH_RUN_FAILED && r != RH_RUN_SUCCEEDED)
			fail_msg("after %ld allocations: %d, %s", count, r, run->err.message);
		succeeded += r == RH_RUN_SUCCEEDED ? 1 : 0;
	}
	assert_int_equal(succeeded, 20);
	run->options.manifest = NULL;
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, test_run_set_up, test_run_tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		ROW(test_run__success),
		ROW(test_run__last_line_without_newline),
		ROW(test_run__failure_names_the_first_fault),
		ROW(test_run__healthy_replica_that_hangs_hides_no_failure),
		ROW(test_run__program_that_does_not_exist),
		ROW(test_run__restart_policies),
		ROW(test_run__backoff_limit),
		ROW(test_run__crash_loop_ends),
		ROW(test_run__crash_loop_that_is_none),
		ROW(test_run__strict),
		ROW(test_run__table_says_who_failed),
		ROW(test_run__deadline),
		ROW(test_run__scope_job),
		ROW(test_run__ttl_is_not_waited_for),
		ROW(test_run__jobs_that_would_never_start),
		ROW(test_run__gpus),
		ROW(test_run__gpu_is_waited_for),
		ROW(test_run__service_names),
		ROW(test_run__config_maps_and_secrets),
		ROW(test_run__missing_config_map),
		ROW(test_run__init_containers_in_order),
		ROW(test_run__several_jobs),
		ROW(test_run__killed_shim_leaves_nothing),
		ROW(test_run__log_dir),
		ROW(test_run__log_dir_that_cannot_be_made),
		ROW(test_run__short_memory),
		ROW(test_run__much_output),
		ROW(test_run__many_replicas),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("local/run", tests, NULL, NULL);
}

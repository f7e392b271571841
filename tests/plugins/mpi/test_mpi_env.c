/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "jobs.h"

/** A launcher whose template's spec has these members beside its containers; what its container says is @p container.
 */
#define ENV_LAUNCHER(spec, container) \
	"    Launcher: {template: {spec: {" spec "containers: [{name: main, " container "}]}}}\n"
#define ENV_MPI "OMPI_MCA_plm_rsh_agent=/etc/mpi/kubexec.sh\nOMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile\n"
#define ENV_NO_GPU "NVIDIA_VISIBLE_DEVICES=\nNVIDIA_DRIVER_CAPABILITIES=\n"
#define ENV_INTEL "I_MPI_HYDRA_BOOTSTRAP=rsh\nI_MPI_HYDRA_BOOTSTRAP_EXEC=/etc/mpi/kubexec.sh\n"

/** Members of the launcher's container, and its variables in order (v1-behaviour C.11). */
struct env_case {
	const char *name;
	const char *job;
	const char *env;
};

static const struct env_case env_cases[] = {
	{"plain", JOBS_JOB("", ENV_LAUNCHER("", "image: i")), ENV_MPI ENV_NO_GPU ENV_INTEL},
	{"own variables first", JOBS_JOB("", ENV_LAUNCHER("", "env: [{name: A, value: b}]")),
     "A=b\n" ENV_MPI ENV_NO_GPU ENV_INTEL},
	{"a GPU by its full name", JOBS_JOB("", ENV_LAUNCHER("", "resources: {limits: {nvidia.com/gpu: 1}}")),
     ENV_MPI ENV_INTEL},
	{"another maker's", JOBS_JOB("", ENV_LAUNCHER("", "resources: {limits: {example.org/gpu-slice: 2, cpu: 1}}")),
     ENV_MPI ENV_INTEL},
	{"a request alone is none", JOBS_JOB("", ENV_LAUNCHER("", "resources: {requests: {nvidia.com/gpu: 1}}")),
     ENV_MPI ENV_NO_GPU ENV_INTEL},
	{"own bootstrap", JOBS_JOB("", ENV_LAUNCHER("", "env: [{name: I_MPI_HYDRA_BOOTSTRAP, value: ssh}]")),
     "I_MPI_HYDRA_BOOTSTRAP=ssh\n" ENV_MPI ENV_NO_GPU "I_MPI_HYDRA_BOOTSTRAP_EXEC=/etc/mpi/kubexec.sh\n"},
	{"own agent", JOBS_JOB("", ENV_LAUNCHER("", "env: [{name: I_MPI_HYDRA_BOOTSTRAP_EXEC, value: x}]")),
     "I_MPI_HYDRA_BOOTSTRAP_EXEC=x\n" ENV_MPI ENV_NO_GPU "I_MPI_HYDRA_BOOTSTRAP=rsh\n"},
};

static void test_mpi_env__variables_of_the_launcher(void **state)
{
	(void)state;
	for (size_t i = 0; i < KIT_COUNT(env_cases); i++) {
		auto_kit kit;

		print_message("%s\n", env_cases[i].name);
		kit_open(&kit, "mpi", NULL, env_cases[i].job);
		rh_auto(json) pod = kit_pod(&kit, "Launcher", 0);
		kit_assert_env(pod, 0, env_cases[i].env);
	}
}

#define ENV_MOUNTS(mounts) "[" mounts "{\"name\":\"mpi-job-config\",\"mountPath\":\"/etc/mpi\"}]"
#define ENV_KUBECTL "{\"name\":\"mpi-job-kubectl\",\"mountPath\":\"/opt/kube\"},"
#define ENV_ITEM(key, mode) "{\"key\":\"" key "\",\"path\":\"" key "\",\"mode\":" mode "}"
#define ENV_CONFIG(items) \
	"{\"name\":\"mpi-job-config\",\"configMap\":{\"name\":\"mnist-config\",\"items\":[" items "]}}]"

/* Behind what the template has: volumes, mounts, init container, account. */
static void test_mpi_env__launcher(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, "mpi", NULL,
	         JOBS_JOB("", ENV_LAUNCHER("volumes: [{name: v, emptyDir: {}}], initContainers: [{name: mine}], ",
	                                   "volumeMounts: [{name: v, mountPath: /v}]")));
	rh_auto(json) pod = kit_pod(&kit, "Launcher", 0);
	assert_string_equal(rh_json_string_at(pod, "metadata.name"), "mnist-launcher");
	assert_string_equal(rh_json_string_at(pod, "spec.serviceAccountName"), "mnist-launcher");
	fixture_assert_json(rh_json_at(pod, "spec.containers[0].volumeMounts"),
	                    ENV_MOUNTS("{\"name\":\"v\",\"mountPath\":\"/v\"}," ENV_KUBECTL));
	fixture_assert_json(
		rh_json_at(pod, "spec.volumes"),
		"[{\"name\":\"v\",\"emptyDir\":{}},{\"name\":\"mpi-job-kubectl\",\"emptyDir\":{}}," ENV_CONFIG(
			ENV_ITEM("kubexec.sh", "365") "," ENV_ITEM("hostfile", "292") "," ENV_ITEM("discover_hosts.sh", "365")));
	fixture_assert_json(
		rh_json_at(pod, "spec.initContainers"),
		"[{\"name\":\"mine\"},{\"name\":\"kubectl-delivery\",\"image\":\"kubeflow/kubectl-delivery:latest\","
		"\"imagePullPolicy\":\"IfNotPresent\",\"env\":[{\"name\":\"TARGET_DIR\",\"value\":\"/opt/kube\"},"
		"{\"name\":\"NAMESPACE\",\"value\":\"team\"}],\"resources\":{"
		"\"limits\":{\"cpu\":\"100m\",\"ephemeral-storage\":\"5Gi\",\"memory\":\"512Mi\"},"
		"\"requests\":{\"cpu\":\"100m\",\"ephemeral-storage\":\"5Gi\",\"memory\":\"512Mi\"}},"
		"\"volumeMounts\":" ENV_MOUNTS(ENV_KUBECTL) "}]");
}

static void test_mpi_env__account_and_image_of_the_user(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, "mpi", "[plugin mpi]\nkubectl-delivery-image = a\"b\\c\n",
	         JOBS_JOB("", ENV_LAUNCHER("serviceAccountName: mine, ", "image: i")));
	rh_auto(json) pod = kit_pod(&kit, "Launcher", 0);
	assert_string_equal(rh_json_string_at(pod, "spec.serviceAccountName"), "mine");
	assert_string_equal(rh_json_string_at(pod, "spec.initContainers[0].image"), "a\"b\\c");
}

/** What a worker's container says, and what it runs. */
struct worker_case {
	const char *container;
	const char *command;
	const char *args;
};

static const struct worker_case worker_cases[] = {
	{"image: i", "[\"sleep\"]", "[\"365d\"]"},
	{"command: [], args: [x]", "[\"sleep\"]", "[\"365d\"]"},
	{"args: [x]", "[\"sleep\"]", "[\"365d\"]"},
	{"command: [sshd], args: [-D]", "[\"sshd\"]", "[\"-D\"]"},
};

static void test_mpi_env__worker(void **state)
{
	(void)state;
	for (size_t i = 0; i < KIT_COUNT(worker_cases); i++) {
		rh_auto_str job = {0};
		auto_kit kit;

		rh_str_appendf(&job,
		               "%s    Worker: {replicas: 1, template: {spec: {containers: [{name: w, %s}, {name: side}]}}}\n",
		               JOBS_JOB("", ENV_LAUNCHER("", "image: i")), worker_cases[i].container);
		kit_open(&kit, "mpi", NULL, rh_str_text(&job));
		rh_auto(json) pod = kit_pod(&kit, "Worker", 0);
		fixture_assert_json(rh_json_at(pod, "spec.containers[0].command"), worker_cases[i].command);
		fixture_assert_json(rh_json_at(pod, "spec.containers[0].args"), worker_cases[i].args);
		fixture_assert_json(rh_json_at(pod, "spec.containers[0].volumeMounts"), ENV_MOUNTS(""));
		fixture_assert_json(rh_json_at(pod, "spec.volumes"), "[" ENV_CONFIG(ENV_ITEM("kubexec.sh", "365")));
		fixture_assert_json(rh_json_at(pod, "spec.containers[1]"), "{\"name\":\"side\"}");
		assert_null(rh_json_at(pod, "spec.containers[0].env"));
		assert_null(rh_json_at(pod, "spec.serviceAccountName"));
	}
}

#define ENV_LOCAL                                                      \
	"OMPI_MCA_oob_tcp_if_include=lo\nOMPI_MCA_btl_tcp_if_include=lo\n" \
	"OMPI_ALLOW_RUN_AS_ROOT=1\nOMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"
#define ENV_LAUNCHER_LOCAL "TMPDIR=/opt/mpi-job\nMPI_KUBECTL=/opt/kube/kubectl\n"
#define ENV_SESSION "{\"name\":\"mpi-job-session\",\"mountPath\":\"/opt/mpi-job\"},"

/** Open a job that is to run on one machine. */
static void env_open_local(struct kit *kit, const struct rh_addresses *plan, const char *job)
{
	kit_open(kit, "mpi", NULL, job);
	kit->fixture.snapshot.addresses = plan;
}

/* One machine has no image that brings kubectl, no network of its own for pods, and its /tmp outlives them. */
static void test_mpi_env__launcher_on_one_machine(void **state)
{
	struct rh_address places[] = {{.type = "Launcher", .host = "127.1.0.1", .port = 20000}};
	const struct rh_addresses plan = {places, 1};
	auto_kit kit;

	(void)state;
	env_open_local(&kit, &plan, JOBS_JOB("", ENV_LAUNCHER("", "image: i")));
	rh_auto(json) pod = kit_pod(&kit, "Launcher", 0);
	kit_assert_env(pod, 0, ENV_MPI ENV_NO_GPU ENV_INTEL ENV_LOCAL ENV_LAUNCHER_LOCAL);
	fixture_assert_json(rh_json_at(pod, "spec.initContainers[0].command"),
	                    "[\"/bin/sh\",\"-c\",\"ln -sf \\\"$ROUNDHOUSE_PROGRAM\\\" \\\"$TARGET_DIR/kubectl\\\"\"]");
	fixture_assert_json(rh_json_at(pod, "spec.containers[0].volumeMounts"), ENV_MOUNTS(ENV_SESSION ENV_KUBECTL));
	fixture_assert_json(rh_json_at(pod, "spec.volumes[0]"), "{\"name\":\"mpi-job-session\",\"emptyDir\":{}}");
}

static void test_mpi_env__worker_on_one_machine(void **state)
{
	struct rh_address places[] = {{.type = "Worker", .host = "127.1.0.2", .port = 20001}};
	const struct rh_addresses plan = {places, 1};
	auto_kit kit;

	(void)state;
	env_open_local(&kit, &plan, JOBS_JOB("", ENV_LAUNCHER("", "image: i") JOBS_TYPE("Worker", "1")));
	rh_auto(json) pod = kit_pod(&kit, "Worker", 0);
	kit_assert_env(pod, 0,
	               ENV_LOCAL "OMPI_MCA_orte_tmpdir_base=/opt/mpi-job\n"
	                         "OMPI_MCA_btl_vader_backing_directory=/opt/mpi-job\n");
	fixture_assert_json(rh_json_at(pod, "spec.containers[0].volumeMounts"), ENV_MOUNTS(ENV_SESSION));
}

/* A user who knows better is asked first. */
static void test_mpi_env__own_variables_on_one_machine(void **state)
{
	struct rh_address places[] = {{.type = "Launcher", .host = "127.1.0.1", .port = 20000}};
	const struct rh_addresses plan = {places, 1};
	auto_kit kit;

	(void)state;
	env_open_local(&kit, &plan,
	               JOBS_JOB("", ENV_LAUNCHER("", "env: [{name: OMPI_MCA_btl_tcp_if_include, value: eth0}, "
	                                             "{name: OMPI_MCA_orte_tmpdir_base, value: /tmp}, "
	                                             "{name: TMPDIR, value: /scratch}]")));
	rh_auto(json) pod = kit_pod(&kit, "Launcher", 0);
	kit_assert_env(
		pod, 0,
		"OMPI_MCA_btl_tcp_if_include=eth0\nOMPI_MCA_orte_tmpdir_base=/tmp\nTMPDIR=/scratch\n" ENV_MPI ENV_NO_GPU
			ENV_INTEL "OMPI_MCA_oob_tcp_if_include=lo\nOMPI_ALLOW_RUN_AS_ROOT=1\nOMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"
		"MPI_KUBECTL=/opt/kube/kubectl\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mpi_env__variables_of_the_launcher),
		cmocka_unit_test(test_mpi_env__launcher),
		cmocka_unit_test(test_mpi_env__account_and_image_of_the_user),
		cmocka_unit_test(test_mpi_env__worker),
		cmocka_unit_test(test_mpi_env__launcher_on_one_machine),
		cmocka_unit_test(test_mpi_env__worker_on_one_machine),
		cmocka_unit_test(test_mpi_env__own_variables_on_one_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

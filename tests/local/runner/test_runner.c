/* SPDX-License-Identifier: Apache-2.0 */
#include "local/runner.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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
#include "job/support.h"
#include "local/exec.h"
#include "local/scratch.h"
#include "store/memory.h"

/* No test may wait longer for what it expects. */
#define LIMIT (60 * RH_SECOND)
/* The restart policy of most pods here. */
#define NEVER "'restartPolicy':'Never'"

/* A store with a runner, and the runner's callbacks. */
struct fixture {
	int64_t now; /* of the last step */
	char *scratch;
	struct rh_config *config;
	struct rh_locks *locks;
	struct rh_memory_store *store;
	struct rh_loop *loop;
	struct rh_runner *runner;
	int64_t deadline;
	bool (*until)(struct fixture *fixture); /* ends the loop */
	struct rh_str lines;
	struct rh_str notes;
	struct rh_str refused;
	struct rh_str phases; /* "name: phase", one for each change of a phase */
	char phase[32];
	int deleted;
	int lost;
	long memory; /* allocations that succeed in each turn of the runner; < 0: all */
	struct rh_json *secret;
};

static const struct rh_json *find_object(void *arg, const char *kind, const char *namespace_, const char *name)
{
	const struct fixture *fixture = arg;

	(void)namespace_;
	return strcmp(kind, "Secret") == 0 && strcmp(name, "s") == 0 ? fixture->secret : NULL;
}

static const char *find_address(void *arg, const struct rh_json *pod)
{
	(void)arg;
	return rh_json_string_at(pod, "metadata.labels.address");
}

static const char *find_folder(void *arg, const struct rh_json *pod)
{
	(void)pod;
	return ((const struct fixture *)arg)->scratch;
}

static const char *name_replica(void *arg, const struct rh_json *pod, char buffer[RH_NAME_SIZE])
{
	(void)arg;
	rh_copy(buffer, RH_NAME_SIZE, rh_json_string_at(pod, "metadata.labels.replica"));
	return buffer;
}

static void take_line(void *arg, const char *job, const char *replica, const char *container, const char *text,
                      size_t length)
{
	struct fixture *fixture = arg;

	rh_str_appendf(&fixture->lines, "%s/%s/%s: %.*s\n", job, replica, container, (int)length, text);
}

static void take_note(void *arg, const char *text)
{
	rh_str_appendf(&((struct fixture *)arg)->notes, "%s\n", text);
}

static void take_refusal(void *arg, const struct rh_json *pod, const char *reason, const char *message)
{
	rh_str_appendf(&((struct fixture *)arg)->refused, "%s: %s: %s\n", rh_json_string_at(pod, "metadata.labels.replica"),
	               reason, message);
}

static void take_loss(void *arg)
{
	((struct fixture *)arg)->lost++;
}

static void take_pod(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	struct fixture *fixture = arg;
	const char *phase = rh_json_string_at(object, "status.phase");

	if (event == RH_WATCH_DELETED)
		fixture->deleted++;
	if ((event != RH_WATCH_ADDED && event != RH_WATCH_MODIFIED) || !phase || strcmp(phase, fixture->phase) == 0)
		return;
	rh_copy(fixture->phase, sizeof(fixture->phase), phase);
	rh_str_appendf(&fixture->phases, "%s ", phase);
}

static void take_turn(void *arg, int64_t now)
{
	struct fixture *fixture = arg;

	fixture->now = now;
	rh_memory_store_set_time(fixture->store, rh_clock_wall());
	rh_memory_store_drain(fixture->store);
	(void)rh_mem_fail_after(fixture->memory);
	rh_runner_start_queued(fixture->runner, rh_clock_wall());
	rh_runner_step(fixture->runner, rh_clock_wall());
	(void)rh_mem_fail_after(-1);
	if (fixture->until(fixture) || now > fixture->deadline)
		rh_loop_stop(fixture->loop);
}

static int64_t next_turn(void *arg)
{
	const struct fixture *fixture = arg;
	int64_t due = rh_runner_deadline(fixture->runner);
	int64_t start = rh_runner_start_deadline(fixture->runner);

	if (rh_memory_store_pending(fixture->store) > 0)
		return fixture->now;
	due = start < due ? start : due;
	return due < fixture->now + RH_SECOND ? due : fixture->now + RH_SECOND;
}

static int set_up(void **state)
{
	struct fixture *fixture = rh_alloc(sizeof(*fixture));
	const struct rh_loop_source source = {.step = take_turn, .deadline = next_turn, .arg = fixture};
	struct rh_runner_options options = {.dir = NULL};
	struct rh_error err = {0};

	*state = fixture;
	fixture->memory = -1;
	fixture->scratch = test_scratch();
	fixture->config = rh_config_new();
	fixture->config->restart_backoff = RH_SECOND / 50;
	fixture->secret = test_json("{'apiVersion':'v1','kind':'Secret','metadata':{'name':'s'},'data':{'k':'dg=='}}");
	assert_int_equal(rh_locks_open(fixture->scratch, &fixture->locks, &err), 0);
	assert_int_equal(rh_loop_new(&fixture->loop, &err), 0);
	assert_int_equal(rh_loop_add(fixture->loop, &source, NULL, &err), 0);
	assert_int_equal(rh_memory_store_new(true, NULL, NULL, &fixture->store), 0);
	options = (struct rh_runner_options){.store = rh_memory_store_face(fixture->store),
	                                     .loop = fixture->loop,
	                                     .config = fixture->config,
	                                     .locks = fixture->locks,
	                                     .dir = fixture->scratch,
	                                     .log_dir = fixture->scratch};
	options.hooks = (struct rh_runner_hooks){.find = find_object,
	                                         .address = find_address,
	                                         .folder = find_folder,
	                                         .replica = name_replica,
	                                         .line = take_line,
	                                         .note = take_note,
	                                         .refused = take_refusal,
	                                         .lost = take_loss,
	                                         .arg = fixture};
	assert_int_equal(rh_runner_new(&options, &fixture->runner, &err), 0);
	assert_true(options.store->watch(options.store, &rh_resource_pods, NULL, take_pod, fixture));
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	rh_runner_free(fixture->runner);
	rh_memory_store_free(fixture->store);
	rh_loop_free(fixture->loop);
	rh_locks_free(fixture->locks);
	rh_config_free(fixture->config);
	rh_json_free(fixture->secret);
	rh_str_deinit(&fixture->lines);
	rh_str_deinit(&fixture->notes);
	rh_str_deinit(&fixture->refused);
	rh_str_deinit(&fixture->phases);
	test_scratch_remove(fixture->scratch);
	rh_free(fixture);
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : -1; /* no process may be left */
}

static void ignore_outcome(void *arg, const struct rh_outcome *outcome)
{
	(void)arg;
	assert_int_equal(outcome->code, RH_OUTCOME_OK);
}

/* Create the pod "j-w-0" with a script as its only container; all members of its spec but that as test_json() text. */
static void create_pod(struct fixture *fixture, const char *script, const char *members)
{
	struct rh_store *store = rh_memory_store_face(fixture->store);
	rh_auto_free char *text =
		rh_asprintf("{'apiVersion':'v1','kind':'Pod','metadata':{'name':'j-w-0','namespace':'n','labels':{'address':'"
	                "127.7.7.7','replica':'w-0',"
	                "'training.kubeflow.org/job-name':'j'}},'spec':{'containers':[{'name':'c','image':'i',"
	                "'command':['sh','-c','%s']}],%s}}",
	                script, members);
	struct rh_request request = {.verb = RH_VERB_CREATE, .resource = &rh_resource_pods, .namespace_ = "n"};

	request.body = test_json(text);
	assert_int_equal(store->submit(store, &request, ignore_outcome, NULL, NULL, NULL), 0);
}

static void delete_pod(struct fixture *fixture, int64_t grace)
{
	struct rh_store *store = rh_memory_store_face(fixture->store);
	struct rh_request request = {.verb = RH_VERB_DELETE,
	                             .resource = &rh_resource_pods,
	                             .namespace_ = "n",
	                             .name = "j-w-0",
	                             .grace_seconds = grace};

	assert_int_equal(store->submit(store, &request, ignore_outcome, NULL, NULL, NULL), 0);
}

static const struct rh_json *pod_of(const struct fixture *fixture)
{
	return rh_memory_store_find(fixture->store, &rh_resource_pods, "n", "j-w-0");
}

static void run_until(struct fixture *fixture, bool (*until)(struct fixture *fixture))
{
	fixture->until = until;
	fixture->deadline = rh_clock_monotonic() + LIMIT;
	rh_loop_run(fixture->loop);
	if (!until(fixture))
		fail_msg("it took too long\nlines:\n%s\nphases: %s\nrefused: %s", rh_str_text(&fixture->lines),
		         rh_str_text(&fixture->phases), rh_str_text(&fixture->refused));
}

static bool is_running(struct fixture *fixture)
{
	return strcmp(fixture->phase, "Running") == 0;
}

static bool has_ended(struct fixture *fixture)
{
	const char *phase = rh_json_string_at(pod_of(fixture), "status.phase");

	return phase && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0) &&
	       rh_runner_alive(fixture->runner) == 0;
}

/* Without a turn of the loop. */
static void await_file(const struct fixture *fixture, const char *name)
{
	rh_auto_free char *path = rh_path_join(fixture->scratch, name);
	int64_t limit = rh_clock_monotonic() + LIMIT;

	while (access(path, F_OK) < 0 && rh_clock_monotonic() < limit)
		(void)usleep(1000);
	assert_int_equal(access(path, F_OK), 0);
}

static bool is_gone(struct fixture *fixture)
{
	return !pod_of(fixture) && fixture->deleted > 0 && rh_runner_alive(fixture->runner) == 0;
}

static bool has_printed(struct fixture *fixture)
{
	return fixture->lines.length > 0;
}

static bool is_refused(struct fixture *fixture)
{
	return fixture->refused.length > 0 && rh_runner_alive(fixture->runner) == 0 &&
	       rh_memory_store_pending(fixture->store) == 0;
}

static void test_runner__pod_runs_to_its_end(void **state)
{
	struct fixture *fixture = *state;
	rh_auto_free char *go = rh_path_join(fixture->scratch, "go");
	rh_auto_free char *script = rh_asprintf("echo hello; until [ -e %s ]; do sleep 0.02; done", go);

	create_pod(fixture, script, NEVER);
	run_until(fixture, is_running);
	test_scratch_append(fixture->scratch, "go", "", 0);
	run_until(fixture, has_ended);
	assert_string_equal(rh_str_text(&fixture->lines), "j/w-0/c: hello\n");
	assert_string_equal(rh_str_text(&fixture->phases), "Pending Running Succeeded ");
	assert_string_equal(rh_json_string_at(pod_of(fixture), "status.podIP"), "127.7.7.7");
	assert_string_equal(rh_json_string_at(pod_of(fixture), "status.containerStatuses[0].state.terminated.reason"),
	                    "Completed");
}

static void test_runner__last_lines_of_a_failure(void **state)
{
	struct fixture *fixture = *state;

	create_pod(fixture, "echo one; echo two; exit 4", NEVER);
	run_until(fixture, has_ended);
	assert_string_equal(rh_json_string_at(pod_of(fixture), "status.phase"), "Failed");
	assert_string_equal(rh_json_string_at(pod_of(fixture), "status.containerStatuses[0].state.terminated.message"),
	                    "one\ntwo");
}

static void test_runner__restart_in_place(void **state)
{
	struct fixture *fixture = *state;
	int64_t restarts = 0;

	create_pod(fixture, "echo run; [ -e flag ] && exit 0; touch flag; exit 5", "'restartPolicy':'OnFailure'");
	run_until(fixture, has_ended);
	assert_string_equal(rh_json_string_at(pod_of(fixture), "status.phase"), "Succeeded");
	assert_true(rh_json_integer(rh_json_at(pod_of(fixture), "status.containerStatuses[0].restartCount"), &restarts));
	assert_int_equal(restarts, 1);
	assert_string_equal(rh_str_text(&fixture->lines), "j/w-0/c: run\nj/w-0/c: run\n");
}

static bool has_restarted(struct fixture *fixture)
{
	return rh_json_at(pod_of(fixture), "status.containerStatuses[0].lastState.terminated") != NULL;
}

/* The report of an end is read when the next instance of the container has written. */
static void test_runner__lines_are_those_of_the_instance(void **state)
{
	struct fixture *fixture = *state;

	create_pod(fixture,
	           "[ -e old ] && { echo new; touch new; exec sleep 100; }; touch old; echo old; "
	           "until [ -e go ]; do sleep 0.01; done; exit 5",
	           "'restartPolicy':'OnFailure'");
	run_until(fixture, has_printed);
	test_scratch_append(fixture->scratch, "go", "", 0);
	await_file(fixture, "new");
	run_until(fixture, has_restarted);
	assert_string_equal(rh_json_string_at(pod_of(fixture), "status.containerStatuses[0].lastState.terminated.message"),
	                    "old");
	delete_pod(fixture, 0);
	run_until(fixture, is_gone);
}

static void test_runner__deletion_is_graceful(void **state)
{
	struct fixture *fixture = *state;

	create_pod(fixture, "trap \\\"echo bye; exit 0\\\" TERM; echo up; while :; do sleep 0.05; done", NEVER);
	run_until(fixture, has_printed);
	delete_pod(fixture, 30);
	run_until(fixture, is_gone);
	assert_non_null(strstr(rh_str_text(&fixture->lines), "j/w-0/c: bye\n"));
	assert_string_equal(rh_str_text(&fixture->phases), "Pending Running Succeeded ");
}

static void test_runner__grace_period_ends(void **state)
{
	struct fixture *fixture = *state;

	create_pod(fixture, "trap : TERM; echo up; while :; do sleep 0.05; done", NEVER);
	run_until(fixture, has_printed);
	delete_pod(fixture, 1);
	run_until(fixture, is_gone);
	assert_string_equal(rh_str_text(&fixture->phases), "Pending Running Failed ");
}

/* A second deletion may be harder than the first. */
static void test_runner__grace_period_is_cut(void **state)
{
	struct fixture *fixture = *state;

	create_pod(fixture, "trap \\\"echo no\\\" TERM; echo up; while :; do sleep 0.05; done", NEVER);
	run_until(fixture, has_printed);
	delete_pod(fixture, 3600);
	rh_str_clear(&fixture->lines);
	run_until(fixture, has_printed);
	delete_pod(fixture, 1);
	run_until(fixture, is_gone);
}

static void test_runner__pod_deleted_before_its_start(void **state)
{
	struct fixture *fixture = *state;

	create_pod(fixture, "echo up", NEVER);
	delete_pod(fixture, 30);
	run_until(fixture, is_gone);
	assert_string_equal(rh_str_text(&fixture->lines), "");
}

/* The watch delivers what a pod is started with: nothing but that is read. */
static void test_runner__pod_starts_in_the_turn_of_its_event(void **state)
{
	struct fixture *fixture = *state;

	create_pod(fixture, "echo up", NEVER);
	rh_memory_store_drain(fixture->store);
	assert_int_equal(rh_memory_store_pending(fixture->store), 0);
	assert_int_equal(rh_runner_alive(fixture->runner), 0);
	rh_runner_start_queued(fixture->runner, rh_clock_wall());
	assert_int_equal(rh_memory_store_pending(fixture->store), 0);
	assert_int_equal(rh_runner_alive(fixture->runner), 1);
	assert_true(rh_runner_start_deadline(fixture->runner) == RH_NEVER);
	run_until(fixture, has_ended);
}

/* Memory was short when its event came: it is not started until it is seen again. */
static void test_runner__pod_waits_for_its_object(void **state)
{
	struct fixture *fixture = *state;

	create_pod(fixture, "echo up", NEVER);
	rh_memory_store_drain(fixture->store);
	(void)rh_mem_fail_after(0);
	rh_runner_see(fixture->runner, pod_of(fixture));
	(void)rh_mem_fail_after(-1);
	assert_int_equal(fixture->lost, 1);
	rh_runner_start_queued(fixture->runner, rh_clock_wall());
	assert_int_equal(rh_runner_alive(fixture->runner), 0);
	rh_runner_see(fixture->runner, pod_of(fixture));
	assert_true(rh_runner_start_deadline(fixture->runner) <= rh_clock_monotonic());
	run_until(fixture, has_ended);
	assert_string_equal(rh_str_text(&fixture->lines), "j/w-0/c: up\n");
}

/* What was forced out of the store is killed, and its successor waits for its end: both would have one address. */
static void test_runner__successor_waits(void **state)
{
	struct fixture *fixture = *state;

	create_pod(fixture, "trap : TERM; echo first; echo $$ >first; while :; do sleep 0.05; done", NEVER);
	run_until(fixture, has_printed);
	delete_pod(fixture, 0);
	create_pod(fixture, "echo second; kill -0 $(cat first) && echo both", NEVER);
	run_until(fixture, has_ended);
	assert_non_null(strstr(rh_str_text(&fixture->lines), "j/w-0/c: second\n"));
	assert_null(strstr(rh_str_text(&fixture->lines), "j/w-0/c: both\n"));
	assert_int_equal(fixture->deleted, 1);
}

static void test_runner__refused_pod_waits(void **state)
{
	struct fixture *fixture = *state;

	create_pod(fixture, "true",
	           NEVER ",'initContainers':[{'name':'i','image':'i','command':['true'],"
	                 "'envFrom':[{'secretRef':{'name':'absent'}}]}]");
	run_until(fixture, is_refused);
	assert_non_null(strstr(rh_str_text(&fixture->refused), "w-0: CreateContainerConfigError: "));
	assert_string_equal(rh_json_string_at(pod_of(fixture), "status.phase"), "Pending");
	assert_string_equal(rh_json_string_at(pod_of(fixture), "status.containerStatuses[0].state.waiting.reason"),
	                    "CreateContainerConfigError");
	delete_pod(fixture, 30);
	run_until(fixture, is_gone);
}

static void test_runner__killed_shim(void **state)
{
	struct fixture *fixture = *state;
	int shim = 0;

	create_pod(fixture, "setsid sleep 622 & setsid setsid sleep 622 & echo $PPID; sleep 622", NEVER);
	run_until(fixture, has_printed);
	assert_int_equal(sscanf(rh_str_text(&fixture->lines), "j/w-0/c: %d", &shim), 1);
	assert_int_equal(kill(shim, SIGKILL), 0);
	run_until(fixture, has_ended);
	assert_string_equal(rh_json_string_at(pod_of(fixture), "status.phase"), "Failed");
	assert_string_equal(rh_json_string_at(pod_of(fixture), "status.reason"), "ContainerStatusUnknown");
	assert_string_equal(rh_json_string_at(pod_of(fixture), "status.containerStatuses[0].state.terminated.reason"),
	                    "ContainerStatusUnknown");
}

static void test_runner__kill_ends_all(void **state)
{
	struct fixture *fixture = *state;

	create_pod(fixture, "trap : TERM INT; echo up; while :; do sleep 0.05; done", NEVER);
	run_until(fixture, has_printed);
	rh_runner_kill(fixture->runner, NULL);
	run_until(fixture, has_ended);
	assert_string_equal(rh_json_string_at(pod_of(fixture), "status.phase"), "Failed");
}

/* The tear-down sees that nothing is left. */
static void test_runner__free_ends_all(void **state)
{
	struct fixture *fixture = *state;

	create_pod(fixture, "trap : TERM; setsid sleep 633 & echo up; while :; do sleep 0.05; done", NEVER);
	run_until(fixture, has_printed);
}

/* Memory is short in every turn until the pod has been started, then there is some again: nothing is lost by it. */
static void test_runner__short_memory(void **state)
{
	struct fixture *fixture = *state;

	for (long memory = 0; memory < 12; memory++) {
		fixture->memory = memory;
		create_pod(fixture, "echo up", NEVER);
		fixture->until = has_printed;
		fixture->deadline = rh_clock_monotonic() + RH_SECOND / 20;
		rh_loop_run(fixture->loop);
		fixture->memory = -1;
		run_until(fixture, has_ended);
		assert_string_equal(rh_json_string_at(pod_of(fixture), "status.phase"), "Succeeded");
		fixture->deleted = 0;
		delete_pod(fixture, 0);
		run_until(fixture, is_gone);
	}
}

static void test_runner__folders(void **state)
{
	struct fixture *fixture = *state;
	rh_auto_free char *log = rh_runner_log_path(fixture->scratch, "j", "w-0", "c");
	rh_auto_free char *uid = NULL;
	rh_auto_free char *dir = NULL;

	create_pod(fixture, "pwd", NEVER);
	run_until(fixture, has_ended);
	uid = rh_strdup(rh_json_string_at(pod_of(fixture), "metadata.uid"));
	dir = rh_path_join(fixture->scratch, uid);
	assert_int_equal(access(log, F_OK), 0);
	assert_int_equal(access(dir, F_OK), 0);
	assert_non_null(strstr(rh_str_text(&fixture->lines), fixture->scratch));
	delete_pod(fixture, 30);
	run_until(fixture, is_gone);
	assert_int_equal(access(dir, F_OK), -1);
	assert_int_equal(access(log, F_OK), 0);
}

/* @return where the pod's name leads, owned by the caller; NULL: nowhere */
static char *named_pod(const struct fixture *fixture)
{
	rh_auto_free char *path = rh_path_join(fixture->scratch, "n.j-w-0");
	char uid[128] = "";

	return readlink(path, uid, sizeof(uid) - 1) > 0 ? rh_strdup(uid) : NULL;
}

/* A pod is found by its name as long as it is there; one that takes its place has the name from then on. */
/* The folder says whose it is. */
static void assert_recorded(const struct fixture *fixture)
{
	rh_auto_pod_record record = {0};

	assert_int_equal(rh_exec_link_read(fixture->scratch, "n.j-w-0", &record), 0);
	assert_string_equal(record.namespace_, "n");
	assert_string_equal(record.pod, "j-w-0");
	assert_string_equal(record.job, "j");
	assert_string_equal(record.replica, "w-0");
}

static void test_runner__pods_have_names(void **state)
{
	struct fixture *fixture = *state;
	rh_auto_free char *first = NULL;
	rh_auto_free char *second = NULL;
	rh_auto_free char *after = NULL;

	create_pod(fixture, "echo up; exec sleep 600", NEVER);
	run_until(fixture, has_printed);
	first = named_pod(fixture);
	assert_string_equal(first, rh_json_string_at(pod_of(fixture), "metadata.uid"));
	assert_recorded(fixture);
	rh_str_clear(&fixture->lines);
	delete_pod(fixture, 0);
	create_pod(fixture, "echo up; exec sleep 600", NEVER);
	run_until(fixture, has_printed);
	second = named_pod(fixture);
	assert_string_equal(second, rh_json_string_at(pod_of(fixture), "metadata.uid"));
	assert_string_not_equal(first, second);
	fixture->deleted = 0;
	delete_pod(fixture, 0);
	run_until(fixture, is_gone);
	after = named_pod(fixture);
	assert_null(after);
}

static void test_runner__sets_variables_of_pod_folders(void **state)
{
	struct fixture *fixture = *state;

	/* a path may have a space */
	create_pod(fixture, "echo in $ROUNDHOUSE_NAMESPACE $ROUNDHOUSE_PODS; IFS=; test -x $ROUNDHOUSE_PROGRAM", NEVER);
	run_until(fixture, has_ended);
	assert_string_equal(rh_json_string_at(pod_of(fixture), "status.phase"), "Succeeded");
	assert_non_null(strstr(rh_str_text(&fixture->lines), ": in n /"));
	assert_non_null(strstr(rh_str_text(&fixture->lines), fixture->scratch));
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		ROW(test_runner__pod_runs_to_its_end),
		ROW(test_runner__last_lines_of_a_failure),
		ROW(test_runner__lines_are_those_of_the_instance),
		ROW(test_runner__restart_in_place),
		ROW(test_runner__deletion_is_graceful),
		ROW(test_runner__grace_period_ends),
		ROW(test_runner__grace_period_is_cut),
		ROW(test_runner__pod_deleted_before_its_start),
		ROW(test_runner__pod_starts_in_the_turn_of_its_event),
		ROW(test_runner__pod_waits_for_its_object),
		ROW(test_runner__successor_waits),
		ROW(test_runner__refused_pod_waits),
		ROW(test_runner__killed_shim),
		ROW(test_runner__kill_ends_all),
		ROW(test_runner__free_ends_all),
		ROW(test_runner__short_memory),
		ROW(test_runner__folders),
		ROW(test_runner__pods_have_names),
		ROW(test_runner__sets_variables_of_pod_folders),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("local/runner", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "local/harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/os/loop.h"
#include "job/manifest.h"
#include "local/scratch.h"

static void take_line(void *arg, const char *job, const char *replica, const char *container, const char *text,
                      size_t length)
{
	struct test_run *run = arg;
	rh_auto_free char *line = rh_strndup(text, length);

	(void)job;
	rh_str_appendf(&run->lines, "%s %s: %s\n", replica, container, line);
	if (run->on_line)
		run->on_line(run, line);
}

static void take_event(void *arg, const struct rh_json *event)
{
	struct test_run *run = arg;

	rh_str_appendf(&run->events, "%s: %s\n", rh_json_string_at(event, "reason"), rh_json_string_at(event, "message"));
}

static void take_job(void *arg, const struct rh_json *job, const struct rh_run_fault *fault)
{
	struct test_run *run = arg;

	(void)fault;
	rh_json_free(run->job);
	run->job = rh_json_copy(job);
}

static void take_pod(void *arg, const char *replica, const struct rh_json *pod)
{
	struct test_run *run = arg;

	assert_true(rh_ends_with(rh_json_string_at(pod, "metadata.name"), replica));
	assert_non_null(rh_json_string_at(pod, "metadata.uid"));
	run->pods_reported++;
}

static void take_replica(void *arg, const struct rh_run_replica *replica)
{
	struct test_run *run = arg;

	rh_str_appendf(&run->table, "%s %s-%d %s%s%s %d restarts=%d\n", replica->job, replica->type, (int)replica->index,
	               replica->outcome, replica->container ? " of " : "", replica->container ? replica->container : "",
	               (int)replica->exit_code, (int)replica->restarts);
	assert_true(replica->duration >= 0);
	run->longest = replica->duration > run->longest ? replica->duration : run->longest;
}

static void take_warning(void *arg, const char *text)
{
	struct test_run *run = arg;

	rh_str_appendf(&run->notes, "warning: %s\n", text);
}

static void take_note(void *arg, const char *text)
{
	struct test_run *run = arg;

	rh_str_appendf(&run->notes, "%s\n", text);
	if (run->on_note)
		run->on_note(run, text);
}

static void take_first_fault(void *arg, const struct rh_run_fault *fault)
{
	struct test_run *run = arg;

	rh_str_appendf(&run->faults, "%s\n", fault->text);
}

/* Plugins are never unloaded and the host is the same for all, so one is enough for a program; its end frees it. */
static struct rh_host *open_host(const struct rh_config *config)
{
	struct rh_host *host = NULL;
	struct rh_error err = {0};

	assert_int_equal(rh_host_new(config, &host, &err), 0);
	if (rh_host_load_file(host, RH_PLUGIN_DIR "/pytorch.so", &err) < 0)
		fail_msg("%s", err.message);
	return host;
}

static int count_descriptors(void)
{
	return (int)test_scratch_count("/proc/self/fd");
}

/* The first loop of a process opens descriptors for signals that stay for the next ones. */
static void warm_up(void)
{
	struct rh_loop *loop = NULL;

	assert_int_equal(rh_loop_new(&loop, NULL), 0);
	rh_loop_free(loop);
}

int test_run_set_up(void **state)
{
	struct test_run *run = rh_alloc(sizeof(*run));

	warm_up();
	run->descriptors = count_descriptors();
	run->scratch = test_scratch();
	run->tmpdir_before = rh_strdup(getenv("TMPDIR"));
	(void)setenv("TMPDIR", run->scratch, 1);
	run->config = rh_config_new();
	rh_free(run->config->state_dir);
	run->config->state_dir = rh_path_join(run->scratch, "state");
	run->config->restart_backoff = RH_SECOND / 50;
	run->config->restart_backoff_max = RH_SECOND / 10;
	run->config->grace_period = 2 * RH_SECOND;
	run->host = open_host(run->config);
	run->options = (struct rh_run_options){
		.host = run->host, .config = run->config, .timeout = 60 * RH_SECOND, .linger = -1, .max_restarts = -1};
	run->options.hooks = (struct rh_run_hooks){.line = take_line,
	                                           .event = take_event,
	                                           .job = take_job,
	                                           .pod = take_pod,
	                                           .replica = take_replica,
	                                           .warning = take_warning,
	                                           .note = take_note,
	                                           .first_fault = take_first_fault,
	                                           .arg = run};
	*state = run;
	return 0;
}

int test_run_tear_down(void **state)
{
	struct test_run *run = *state;
	int left = (int)test_scratch_count(run->scratch);
	int descriptors;

	rh_host_free(run->host);
	rh_config_free(run->config);
	rh_json_free(run->job);
	rh_str_deinit(&run->lines);
	rh_str_deinit(&run->notes);
	rh_str_deinit(&run->events);
	rh_str_deinit(&run->table);
	rh_str_deinit(&run->faults);
	if (run->tmpdir_before)
		(void)setenv("TMPDIR", run->tmpdir_before, 1);
	else
		(void)unsetenv("TMPDIR");
	test_scratch_remove(run->scratch);
	descriptors = count_descriptors() - run->descriptors;
	rh_free(run->tmpdir_before);
	rh_free(run);
	if (left > 0)
		print_error("%d files or folders are left\n", left);
	if (descriptors > 0)
		print_error("%d descriptors are left\n", descriptors);
	if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD) {
		print_error("processes are left\n");
		return -1;
	}
	return left > 0 || descriptors > 0 ? -1 : 0;
}

int test_run_go(struct test_run *run, const char *yaml)
{
	rh_auto_manifest manifest = {0};

	if (rh_manifest_parse(&manifest, "test.yaml", yaml, strlen(yaml), &run->err) < 0)
		fail_msg("%s\n%s", run->err.message, yaml);
	run->options.manifest = &manifest;
	run->result = rh_run(&run->options, &run->err);
	run->options.manifest = NULL;
	return run->result;
}

static void append_replicas(struct rh_str *yaml, const struct test_job *job, const char *type, int replicas,
                            const char *script)
{
	rh_str_appendf(yaml,
	               "    %s:\n      replicas: %d\n      restartPolicy: %s\n      template:\n        spec:\n%s"
	               "          containers:\n          - name: pytorch\n            image: none\n"
	               "            command: [sh, -c, '%s']\n",
	               type, replicas, job->policy ? job->policy : "Never", job->pod ? job->pod : "", script);
}

int test_run_job(struct test_run *run, const struct test_job *job)
{
	rh_auto_str yaml = {0};

	rh_str_appendf(&yaml,
	               "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata:\n  name: j\n  annotations: %s\nspec:\n%s"
	               "  pytorchReplicaSpecs:\n",
	               job->annotations ? job->annotations : "{}", job->spec ? job->spec : "");
	append_replicas(&yaml, job, "Master", 1, job->master);
	if (job->worker)
		append_replicas(&yaml, job, "Worker", job->workers ? job->workers : 1, job->worker);
	return test_run_go(run, rh_str_text(&yaml));
}

/* @return a folder of marks for the run; give it to leave_place() */
static char *enter_place(const struct test_run *run)
{
	char *place = rh_asprintf("%s/../place-%d", run->scratch, (int)getpid());

	(void)rh_dir_remove(place, NULL);
	assert_int_equal(rh_dir_make(place, 0700, NULL), 0);
	(void)setenv("PLACE_OF_TEST", place, 1);
	return place;
}

static void leave_place(char *place)
{
	(void)unsetenv("PLACE_OF_TEST");
	test_scratch_remove(place);
}

void test_run_in_place(struct test_run *run, const struct test_job *job)
{
	char *place = enter_place(run);

	test_run_job(run, job);
	leave_place(place);
}

void test_run_go_in_place(struct test_run *run, const char *yaml)
{
	char *place = enter_place(run);

	test_run_go(run, yaml);
	leave_place(place);
}

void test_run_mark(const char *name)
{
	rh_auto_free char *path = rh_path_join(getenv("PLACE_OF_TEST"), name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
}

void test_run_expect_result(const struct test_run *run, int result)
{
	if (run->result != result)
		fail_msg("result %d, not %d: %s\nnotes:\n%s\nlines:\n%s\nevents:\n%s\ntable:\n%s", run->result, result,
		         run->err.message, rh_str_text(&run->notes), rh_str_text(&run->lines), rh_str_text(&run->events),
		         rh_str_text(&run->table));
}

void test_run_expect(const struct rh_str *seen, const char *text)
{
	if (!strstr(rh_str_text(seen), text))
		fail_msg("\"%s\" is not in:\n%s", text, rh_str_text(seen));
}

size_t test_run_times(const struct rh_str *seen, const char *text)
{
	size_t count = 0;

	for (const char *at = strstr(rh_str_text(seen), text); at; at = strstr(at + 1, text))
		count++;
	return count;
}

const char *test_run_condition(const struct test_run *run, const char *type)
{
	const struct rh_json *item = rh_json_first(rh_json_at(run->job, "status.conditions"));

	for (; item; item = rh_json_next(item)) {
		if (rh_text_equal(rh_json_string(rh_json_get(item, "type")), type) &&
		    rh_text_equal(rh_json_string(rh_json_get(item, "status")), "True"))
			return rh_json_string(rh_json_get(item, "message"));
	}
	return NULL;
}

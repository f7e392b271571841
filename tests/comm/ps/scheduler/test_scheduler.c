/* SPDX-License-Identifier: Apache-2.0 */
/* Servers and workers that know only the scheduler's address, from DMLC_*. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/ps/scheduler/roles.h"
#include "comm/ps/servers.h"

#define COUNT 3000
#define PUSHES 200
#define NODES 8
#define VARIABLES_MAX 7
#define WAIT_MS 60000

/* What the processes of a test share. */
struct scene {
	_Atomic int pushed;
	struct rh_comm_error errors[NODES]; /* how each process failed */
	char folder[64];
	int32_t port;
	int used;
	pid_t pids[NODES];
};

typedef int32_t part_fn(struct scene *scene, struct rh_comm_error *err);

static int open_scene(void **state)
{
	struct scene *scene = mmap(NULL, sizeof(*scene), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(scene, MAP_FAILED);
	(void)snprintf(scene->folder, sizeof(scene->folder), "/tmp/rh-test-ps-XXXXXX");
	assert_non_null(mkdtemp(scene->folder));
	*state = scene;
	return 0;
}

static int close_scene(void **state)
{
	struct scene *scene = *state;
	DIR *listing = opendir(scene->folder);
	const struct dirent *file;

	for (int i = 0; i < scene->used; i++) {
		if (scene->pids[i] <= 0)
			continue;
		(void)kill(scene->pids[i], SIGKILL);
		(void)waitpid(scene->pids[i], NULL, 0);
	}
	while ((file = readdir(listing)))
		(void)unlinkat(dirfd(listing), file->d_name, 0);
	(void)closedir(listing);
	(void)rmdir(scene->folder);
	(void)munmap(scene, sizeof(*scene));
	return 0;
}

/* Start a process that plays a part; it ends with 0, or with 1 and its error in the scene. @return its number */
static int start(struct scene *scene, const char *role, part_fn *fn)
{
	int number = scene->used++;
	char port[16];
	pid_t pid;

	assert_true(number < NODES);
	pid = fork();
	if (pid != 0) {
		scene->pids[number] = pid;
		return number;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)snprintf(port, sizeof(port), "%d", (int)scene->port);
	(void)setenv("DMLC_ROLE", role, 1);
	(void)setenv("DMLC_PS_ROOT_URI", "127.0.0.1", 1);
	(void)setenv("DMLC_PS_ROOT_PORT", port, 1);
	_exit(fn(scene, &scene->errors[number]) < 0);
}

static void await(const struct scene *scene, int pushed)
{
	for (int i = 0; i < WAIT_MS && scene->pushed < pushed; i++)
		(void)usleep(1000);
	assert_true(scene->pushed >= pushed);
}

static int wait_for(struct scene *scene, int number)
{
	int status = -1;

	assert_int_equal(waitpid(scene->pids[number], &status, 0), scene->pids[number]);
	scene->pids[number] = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void must_end_well(struct scene *scene, int number)
{
	if (wait_for(scene, number) != 0)
		fail_msg("process %d: %s", number, scene->errors[number].text);
}

static void must_fail(struct scene *scene, int number, int32_t code, const char *words)
{
	assert_int_equal(wait_for(scene, number), 1);
	if (!strstr(scene->errors[number].text, words))
		fail_msg("process %d: \"%s\" is not in: %s", number, words, scene->errors[number].text);
	assert_int_equal(scene->errors[number].code, code);
}

/* @return the scheduler's process */
static int start_scheduler(struct scene *scene, int32_t servers, int32_t workers, int64_t init_timeout, int64_t grace)
{
	struct rh_ps_scheduler_options options = {.size = sizeof(options),
	                                          .servers = servers,
	                                          .workers = workers,
	                                          .host = "127.0.0.1",
	                                          .port = scene->port > 0 ? scene->port : -1,
	                                          .init_timeout = init_timeout,
	                                          .grace = grace};
	struct rh_ps_scheduler *scheduler = NULL;
	struct rh_comm_error err = {0};
	int number = scene->used++;
	pid_t pid;

	if (rh_ps_scheduler_new(&options, &scheduler, &err) < 0)
		fail_msg("%s", err.text);
	scene->port = rh_ps_scheduler_port(scheduler);
	pid = fork();
	if (pid == 0) {
		int32_t r;

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		r = rh_ps_scheduler_run(scheduler, &scene->errors[number]);
		rh_ps_scheduler_free(scheduler);
		_exit(r < 0);
	}
	scene->pids[number] = pid;
	rh_ps_scheduler_free(scheduler);
	return number;
}

static int32_t serve_with(const struct rh_ps_server_options *pattern, struct rh_comm_error *err)
{
	struct rh_ps_server_options options = *pattern;
	struct rh_ps_server *server = NULL;
	int32_t r;

	options.size = sizeof(options);
	options.mode = RH_PS_ASYNC;
	options.rule = RH_PS_SUM;
	r = rh_ps_server_new(&options, &server, err);
	if (r == 0)
		r = rh_ps_server_run(server, err);
	rh_ps_server_free(server);
	return r;
}

static int32_t serve(struct scene *scene, struct rh_comm_error *err)
{
	const struct rh_ps_server_options options = {.host = "127.0.0.1"};

	(void)scene;
	return serve_with(&options, err);
}

static int32_t serve_durably(struct scene *scene, struct rh_comm_error *err)
{
	const struct rh_ps_server_options options = {.host = "127.0.0.1", .folder = scene->folder};

	return serve_with(&options, err);
}

/* Push ones, and find every one counted once. */
static int32_t push(struct rh_ps *ps, struct scene *scene, struct rh_comm_error *err)
{
	float in[COUNT];
	float out[COUNT];
	struct rh_ps_op op = {.size = sizeof(op), .what = RH_PS_INIT, .key = 3, .count = COUNT, .type = RH_COMM_F32};
	struct rh_ps_op barrier = {.size = sizeof(barrier), .what = RH_PS_BARRIER};
	int32_t r = rh_ps_run(ps, &op, 1, err);

	for (int i = 0; i < COUNT; i++)
		in[i] = 1;
	op.in = in;
	op.what = RH_PS_PUSH;
	for (int i = 0; i < PUSHES && r == 0; i++) {
		r = rh_ps_run(ps, &op, 1, err);
		scene->pushed++;
	}
	if (r == 0)
		r = rh_ps_run(ps, &barrier, 1, err);
	op.what = RH_PS_PULL;
	op.out = out;
	if (r == 0)
		r = rh_ps_run(ps, &op, 1, err);
	for (int i = 0; i < COUNT && r == 0; i++)
		if (out[i] != (float)(PUSHES * rh_ps_workers(ps)))
			r = RH_COMM_EINVAL;
	return r;
}

static int32_t work_with(struct rh_ps_options options, struct scene *scene, struct rh_comm_error *err)
{
	struct rh_ps *ps = NULL;
	int32_t r;

	options.size = sizeof(options);
	options.part = 4096;
	r = rh_ps_connect(&options, &ps, err);
	if (r == 0)
		r = push(ps, scene, err);
	rh_ps_free(ps);
	return r;
}

static int32_t work(struct scene *scene, struct rh_comm_error *err)
{
	return work_with((struct rh_ps_options){.reserved = 0}, scene, err);
}

static int32_t work_impatiently(struct scene *scene, struct rh_comm_error *err)
{
	return work_with((struct rh_ps_options){.init_timeout = 1500000}, scene, err);
}

static int32_t work_of_another_secret(struct scene *scene, struct rh_comm_error *err)
{
	return work_with((struct rh_ps_options){.secret = "another"}, scene, err);
}

static int32_t work_of_another_job(struct scene *scene, struct rh_comm_error *err)
{
	return work_with((struct rh_ps_options){.job = "another"}, scene, err);
}

static int32_t work_as_fifth(struct scene *scene, struct rh_comm_error *err)
{
	return work_with((struct rh_ps_options){.has_worker = 1, .worker = 4}, scene, err);
}

static int32_t work_over_native(struct scene *scene, struct rh_comm_error *err)
{
	return work_with((struct rh_ps_options){.backend = "native"}, scene, err);
}

/* Come, and die without a word. */
static int32_t die(struct scene *scene, struct rh_comm_error *err)
{
	struct rh_ps_options options = {.size = sizeof(options), .has_worker = 1, .worker = 1};
	struct rh_ps *ps = NULL;

	(void)scene;
	if (rh_ps_connect(&options, &ps, err) == 0)
		(void)raise(SIGKILL);
	return RH_COMM_EINVAL;
}

static void test_scheduler__brings_all_together(void **state)
{
	struct scene *scene = *state;
	int first = start_scheduler(scene, 2, 3, 0, 0);

	(void)start(scene, "worker", work);
	(void)start(scene, "server", serve);
	(void)start(scene, "worker", work);
	(void)start(scene, "server", serve);
	(void)start(scene, "worker", work);
	for (int i = scene->used - 1; i >= first; i--)
		must_end_well(scene, i);
}

static void test_scheduler__a_server_that_moves_is_found_again(void **state)
{
	struct scene *scene = *state;
	int first = start_scheduler(scene, 1, 2, 0, 0);
	int server = start(scene, "server", serve_durably);

	(void)start(scene, "worker", work);
	(void)start(scene, "worker", work);
	await(scene, PUSHES / 2);
	(void)kill(scene->pids[server], SIGKILL);
	assert_int_equal(wait_for(scene, server), 128 + SIGKILL);
	/* on another port, as none is configured */
	(void)start(scene, "server", serve_durably);
	for (int i = first; i < scene->used; i++)
		if (i != server)
			must_end_well(scene, i);
}

static void test_scheduler__names_who_does_not_come(void **state)
{
	struct scene *scene = *state;
	int scheduler = start_scheduler(scene, 2, 1, 1000000, 0);
	int server = start(scene, "server", serve);
	int worker = start(scene, "worker", work);

	must_fail(scene, scheduler, RH_COMM_ETIME, "server 1 did not come in time");
	must_fail(scene, server, RH_COMM_ETIME, "the scheduler gives up: server 1 did not come in time");
	must_fail(scene, worker, RH_COMM_ETIME, "the scheduler gives up: server 1 did not come in time");
}

static void test_scheduler__names_who_has_died(void **state)
{
	struct scene *scene = *state;
	int scheduler = start_scheduler(scene, 1, 2, 0, 300000);
	int server = start(scene, "server", serve);
	int worker = start(scene, "worker", work);
	int dead;

	/* who comes when all have given up would wait for others at their addresses until RH_PS_INIT_TIMEOUT */
	await(scene, PUSHES);
	dead = start(scene, "worker", die);
	assert_int_equal(wait_for(scene, dead), 128 + SIGKILL);
	must_fail(scene, scheduler, RH_COMM_EPEER, "worker 1 died and did not come back");
	must_fail(scene, server, RH_COMM_EPEER, "worker 1 died and did not come back");
	/* whatever it waited for: the key's barrier, or a server that has given up */
	assert_int_equal(wait_for(scene, worker), 1);
	assert_int_equal(scene->errors[worker].code, RH_COMM_EPEER);
}

static void test_scheduler__its_death_is_named(void **state)
{
	struct scene *scene = *state;
	int scheduler = start_scheduler(scene, 1, 2, 0, 0);
	int server = start(scene, "server", serve);
	int worker = start(scene, "worker", work_impatiently);

	/* the worker has found the server, and waits for the other worker */
	await(scene, PUSHES);
	(void)kill(scene->pids[scheduler], SIGKILL);
	assert_int_equal(wait_for(scene, scheduler), 128 + SIGKILL);
	must_fail(scene, server, RH_COMM_EPEER, "is gone, before all workers had come");
	assert_int_equal(wait_for(scene, worker), 1);
	assert_int_equal(scene->errors[worker].code, RH_COMM_EPEER);
	/* who comes now does not find it */
	worker = start(scene, "worker", work_impatiently);
	must_fail(scene, worker, RH_COMM_ETIME, "the scheduler at 127.0.0.1 port");
}

static void test_scheduler__refuses_with_reasons(void **state)
{
	static const struct {
		part_fn *fn;
		const char *words;
	} rows[] = {
		{work_of_another_secret, "another secret"},
		{work_of_another_job, "the scheduler belongs to another job"},
		{work_as_fifth, "configured for 1 servers and 1 workers, and this is worker 4"},
		{work_over_native, "the backend \"own\" and this worker \"native\""},
	};
	struct scene *scene = *state;

	(void)start_scheduler(scene, 1, 1, 0, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		must_fail(scene, start(scene, "worker", rows[i].fn), RH_COMM_EINVAL, rows[i].words);
}

static const char *lookup(void *arg, const char *name)
{
	const char *const *variables = arg;

	for (; variables[0]; variables += 2)
		if (strcmp(variables[0], name) == 0)
			return variables[1];
	return NULL;
}

static void test_scheduler__roles_are_read(void **state)
{
	static const struct {
		const char *variables[VARIABLES_MAX];
		int32_t server; /* as rh_ps_roles_read_server(); worker likewise */
		int32_t worker;
		const char *words; /* of the error */
	} rows[] = {
		{{"DMLC_PS_ROOT_URI", "a", "DMLC_PS_ROOT_PORT", "9"}, 0, 0, ""},
		{{"DMLC_ROLE", "server", "DMLC_PS_ROOT_URI", "a", "DMLC_PS_ROOT_PORT", "9"},
	     1,
	     RH_COMM_EINVAL,
	     "DMLC_ROLE is \"server\", and this is a worker"},
		{{"DMLC_ROLE", "worker", "DMLC_PS_ROOT_URI", "a", "RH_PS_SERVERS", "b:1"},
	     RH_COMM_EINVAL,
	     0,
	     "DMLC_ROLE is \"worker\", and this is a server"},
		{{"DMLC_ROLE", "worker", "DMLC_PS_ROOT_URI", "a"}, RH_COMM_EINVAL, RH_COMM_EINVAL, "set DMLC_PS_ROOT_PORT"},
		{{"DMLC_ROLE", "worker", "DMLC_PS_ROOT_PORT", "1"}, RH_COMM_EINVAL, RH_COMM_EINVAL, "set DMLC_PS_ROOT_URI"},
		{{"DMLC_ROLE", "server", "TF_CONFIG", "{}"}, 0, 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		union {
			const char *const *from;
			void *to;
		} borrowed = {.from = rows[i].variables};
		struct rh_comm_variables variables = {lookup, borrowed.to};
		struct rh_ps_join_plan plan;
		struct rh_comm_error err = {0};

		assert_int_equal(rh_ps_roles_read_server(NULL, &variables, &plan, &err), rows[i].server);
		assert_int_equal(rh_ps_roles_read_worker(NULL, &variables, &plan, &err), rows[i].worker);
		if (!strstr(err.text, rows[i].words))
			fail_msg("row %zu: %s", i, err.text);
	}
}

static void test_scheduler__needs_numbers(void **state)
{
	struct rh_ps_scheduler_options options = {.size = sizeof(options), .workers = 1, .port = -1};
	struct rh_ps_scheduler *scheduler = NULL;
	struct rh_comm_error err = {0};

	(void)state;
	assert_int_equal(rh_ps_scheduler_new(&options, &scheduler, &err), RH_COMM_EINVAL);
	assert_non_null(strstr(err.text, "set DMLC_NUM_SERVER"));
	options.size = 1;
	assert_int_equal(rh_ps_scheduler_new(&options, &scheduler, &err), RH_COMM_EINVAL);
	assert_non_null(strstr(err.text, "sizeof(struct rh_ps_scheduler_options)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_scheduler__brings_all_together, open_scene, close_scene),
		cmocka_unit_test_setup_teardown(test_scheduler__a_server_that_moves_is_found_again, open_scene, close_scene),
		cmocka_unit_test_setup_teardown(test_scheduler__names_who_does_not_come, open_scene, close_scene),
		cmocka_unit_test_setup_teardown(test_scheduler__names_who_has_died, open_scene, close_scene),
		cmocka_unit_test_setup_teardown(test_scheduler__its_death_is_named, open_scene, close_scene),
		cmocka_unit_test_setup_teardown(test_scheduler__refuses_with_reasons, open_scene, close_scene),
		cmocka_unit_test(test_scheduler__roles_are_read),
		cmocka_unit_test(test_scheduler__needs_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

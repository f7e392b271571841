/* SPDX-License-Identifier: Apache-2.0 */
/* Servers and workers that are stopped for longer than a silent host may be: nobody gives them up, and they are named.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/ps/servers.h"

/* 4 MB: a few of them are more than the sockets of both ends hold. */
#define COUNT 1000000
#define PUSHES 12
#define PULLS 12
/* A lost host is given up, and who is slow is named, after a second; so long they are stopped. */
#define LIMIT 1000000
#define STOPPED_S 4
#define WARNINGS_MAX 8192
#define WAIT_MS 60000

/* What processes of a test say to one another, and their standard error. */
struct scene {
	_Atomic int acknowledged;
	int log;
	int own;
	char path[64];
};

static int open_scene(void **state)
{
	struct scene *scene = mmap(NULL, sizeof(*scene), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(scene, MAP_FAILED);
	(void)snprintf(scene->path, sizeof(scene->path), "/tmp/rh-test-ps-log-XXXXXX");
	scene->log = mkstemp(scene->path);
	assert_true(scene->log >= 0);
	scene->own = dup(STDERR_FILENO);
	assert_true(dup2(scene->log, STDERR_FILENO) >= 0);
	assert_int_equal(setenv("RH_COMM_SLOW", "1", 1), 0);
	*state = scene;
	return 0;
}

static int close_scene(void **state)
{
	struct scene *scene = *state;

	(void)dup2(scene->own, STDERR_FILENO);
	(void)close(scene->own);
	(void)close(scene->log);
	(void)unlink(scene->path);
	(void)munmap(scene, sizeof(*scene));
	return 0;
}

static bool has_line(const struct scene *scene, const char *words)
{
	char text[WARNINGS_MAX] = "";
	ssize_t n = pread(scene->log, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return strstr(text, words) != NULL;
}

static void await_words(const struct scene *scene, const char *words)
{
	for (int i = 0; i < WAIT_MS && !has_line(scene, words); i++)
		(void)usleep(1000);
	if (!has_line(scene, words))
		fail_msg("no process printed \"%s\"", words);
}

static void sleep_for(int seconds)
{
	struct timespec left = {seconds, 0};

	while (nanosleep(&left, &left) < 0)
		;
}

static float *make_floats(float value)
{
	float *values = calloc(COUNT, sizeof(*values));

	must(values != NULL, "out of memory");
	for (size_t i = 0; i < COUNT; i++)
		values[i] = value;
	return values;
}

static int push_all(struct rh_ps *ps, void *arg)
{
	struct scene *scene = arg;
	float *in = make_floats(1);
	float *out = make_floats(0);
	struct rh_ps_op ops[PUSHES];
	struct rh_ps_op op = workers_op(RH_PS_INIT, NULL, NULL, COUNT);

	must_run(ps, &op, 1);
	ops[0] = workers_op(RH_PS_PUSH, in, NULL, COUNT);
	for (int i = 1; i < PUSHES; i++)
		ops[i] = ops[0];
	must_run(ps, ops, 1);
	scene->acknowledged++;
	/* the server is stopped now, or soon, in the middle of these */
	for (int i = 0; i < 4; i++)
		must_run(ps, ops, PUSHES);
	op = workers_op(RH_PS_PULL, NULL, out, COUNT);
	must_run(ps, &op, 1);
	for (size_t i = 0; i < COUNT; i++)
		must(out[i] == 1 + 4 * PUSHES, "a push was lost, or counted twice");
	free(in);
	free(out);
	return 0;
}

static void stop_server(struct scene *scene, int tcp)
{
	struct servers servers = {
		.options = {.workers = 1, .mode = RH_PS_ASYNC, .rule = RH_PS_SUM, .death_timeout = LIMIT, .grace = LIMIT}};
	struct workers_plan plan = {
		.options = {.no_shm = tcp, .death_timeout = LIMIT, .grace = LIMIT}, .fn = push_all, .arg = scene};
	struct workers workers;

	servers_start(&servers, 1);
	workers_start(&servers, &plan, &workers);
	for (int i = 0; i < WAIT_MS && scene->acknowledged == 0; i++)
		(void)usleep(1000);
	assert_true(scene->acknowledged > 0);
	assert_int_equal(kill(servers.pids[0], SIGSTOP), 0);
	sleep_for(STOPPED_S);
	await_words(scene, "worker 0: server 0 at 127.0.0.1");
	await_words(scene, "is slow or stopped: it has sent nothing for");
	assert_int_equal(kill(servers.pids[0], SIGCONT), 0);
	assert_int_equal(workers_wait(&workers, 0), 0);
	servers_wait(&servers);
}

static void test_stopped__a_server_loses_nothing_over_tcp(void **state)
{
	stop_server(*state, 1);
}

static void test_stopped__a_server_loses_nothing(void **state)
{
	stop_server(*state, 0);
}

/* Worker 1 asks for much, and is stopped before it reads any of it; worker 0 waits for it. */
static int pull_all(struct rh_ps *ps, void *arg)
{
	float *out = make_floats(0);
	struct rh_ps_op op = workers_op(RH_PS_INIT, NULL, NULL, COUNT);
	struct rh_ps_op barrier = {.size = sizeof(barrier), .what = RH_PS_BARRIER};
	struct rh_ps_request *request = NULL;
	struct rh_ps_op pulls[PULLS];
	struct rh_comm_error err = {0};

	(void)arg;
	if (rh_ps_worker(ps) == 0)
		op.in = out;
	for (size_t i = 0; i < COUNT; i++)
		out[i] = 5;
	must_run(ps, &op, 1);
	memset(out, 0, COUNT * sizeof(*out));
	for (int i = 0; i < PULLS; i++)
		pulls[i] = workers_op(RH_PS_PULL, NULL, out, COUNT);
	must(rh_ps_post(ps, pulls, PULLS, &request, &err) == 0, err.text);
	if (rh_ps_worker(ps) == 1)
		(void)raise(SIGSTOP);
	must(rh_ps_wait(request, &err) == 0, err.text);
	for (size_t i = 0; i < COUNT; i++)
		must(out[i] == 5, "a value is wrong");
	must_run(ps, &barrier, 1);
	free(out);
	return 0;
}

static void stop_worker(struct scene *scene, int tcp)
{
	struct servers servers = {
		.options = {.workers = 2, .mode = RH_PS_ASYNC, .rule = RH_PS_SUM, .death_timeout = LIMIT, .grace = LIMIT}};
	struct workers_plan plan = {
		.options = {.no_shm = tcp, .death_timeout = LIMIT, .grace = LIMIT}, .fn = pull_all, .arg = scene};
	struct workers workers;
	int status = 0;

	servers_start(&servers, 1);
	workers_start(&servers, &plan, &workers);
	assert_int_equal(waitpid(workers.pids[1], &status, WUNTRACED), workers.pids[1]);
	assert_true(WIFSTOPPED(status));
	sleep_for(STOPPED_S);
	await_words(scene, "server 0: worker 1 is slow or stopped");
	await_words(scene, "worker 0 waits for it: barrier 1");
	assert_int_equal(kill(workers.pids[1], SIGCONT), 0);
	assert_int_equal(workers_wait(&workers, 0), 0);
	assert_int_equal(workers_wait(&workers, 1), 0);
	servers_wait(&servers);
}

static void test_stopped__a_worker_loses_nothing_over_tcp(void **state)
{
	stop_worker(*state, 1);
}

static void test_stopped__a_worker_loses_nothing(void **state)
{
	stop_worker(*state, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_stopped__a_server_loses_nothing_over_tcp, open_scene, close_scene),
		cmocka_unit_test_setup_teardown(test_stopped__a_server_loses_nothing, open_scene, close_scene),
		cmocka_unit_test_setup_teardown(test_stopped__a_worker_loses_nothing_over_tcp, open_scene, close_scene),
		cmocka_unit_test_setup_teardown(test_stopped__a_worker_loses_nothing, open_scene, close_scene),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Servers with backups: any one of them is killed at any moment, and every push counts once. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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

#define SHARDS 2
#define SERVERS (2 * SHARDS)
#define WORKERS 2
#define COUNT 20000
#define PUSHES 200
#define KILLS 6
#define WAIT_MS 120000

/* What the processes of a test share. */
struct board {
	_Atomic int pushed;  /* acknowledged pushes of all workers */
	_Atomic bool over;   /* no server is killed any more */
	_Atomic int slowest; /* milliseconds of the slowest operation */
};

/* A job with a scheduler. */
struct job {
	struct board *board;
	struct rh_ps_server_options options;
	bool tcp;
	int32_t port;
	int lines; /* what the scheduler prints */
	pid_t scheduler;
	pid_t servers[SERVERS];
	pid_t workers[WORKERS];
	uint64_t random;
};

/* xorshift: the same moments in each run of a seed. */
static uint64_t job_random(struct job *job, uint64_t below)
{
	job->random ^= job->random << 13;
	job->random ^= job->random >> 7;
	job->random ^= job->random << 17;
	return job->random % below;
}

static void job_pause(void)
{
	const struct timespec pause = {0, 1000000};

	(void)nanosleep(&pause, NULL);
}

static void job_await(const struct job *job, int pushed)
{
	for (int i = 0; i < WAIT_MS && job->board->pushed < pushed; i++)
		job_pause();
	assert_true(job->board->pushed >= pushed);
}

/* Read lines of the scheduler up to one that has `words`. */
static void job_await_line(const struct job *job, const char *words)
{
	char line[400];
	size_t length = 0;

	for (;;) {
		assert_true(length < sizeof(line));
		/* the end: the scheduler is gone */
		assert_int_equal(read(job->lines, line + length, 1), 1);
		if (line[length] != '\n') {
			length++;
			continue;
		}
		line[length] = '\0';
		length = 0;
		if (strstr(line, words))
			return;
	}
}

static void job_set_role(const struct job *job, const char *role)
{
	char port[16];

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)snprintf(port, sizeof(port), "%d", (int)job->port);
	(void)setenv("DMLC_ROLE", role, 1);
	(void)setenv("DMLC_PS_ROOT_URI", "127.0.0.1", 1);
	(void)setenv("DMLC_PS_ROOT_PORT", port, 1);
	if (job->tcp)
		(void)setenv("RH_PS_SHM", "off", 1);
}

static int job_end(int32_t r, const struct rh_comm_error *err, const char *who)
{
	if (r < 0)
		(void)fprintf(stderr, "%s: %s\n", who, err->text);
	return r < 0;
}

static void job_start_scheduler(struct job *job)
{
	struct rh_ps_scheduler_options options = {
		.size = sizeof(options), .servers = SHARDS, .workers = WORKERS, .replicas = 2, .host = "127.0.0.1", .port = -1};
	struct rh_ps_scheduler *scheduler = NULL;
	struct rh_comm_error err = {0};
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(rh_ps_scheduler_new(&options, &scheduler, &err), 0);
	job->port = rh_ps_scheduler_port(scheduler);
	job->lines = pipes[0];
	job->scheduler = fork();
	if (job->scheduler == 0) {
		int32_t r;

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(pipes[1], STDERR_FILENO);
		(void)close(pipes[1]);
		r = rh_ps_scheduler_run(scheduler, &err);
		rh_ps_scheduler_free(scheduler);
		_exit(job_end(r, &err, "scheduler"));
	}
	(void)close(pipes[1]);
	rh_ps_scheduler_free(scheduler);
}

static void job_start_server(struct job *job, int number)
{
	struct rh_ps_server_options options = job->options;
	struct rh_ps_server *server = NULL;
	struct rh_comm_error err = {0};
	int32_t r;

	job->servers[number] = fork();
	if (job->servers[number] != 0)
		return;
	job_set_role(job, "server");
	options.size = sizeof(options);
	options.host = "127.0.0.1";
	r = rh_ps_server_new(&options, &server, &err);
	if (r == 0)
		r = rh_ps_server_run(server, &err);
	rh_ps_server_free(server);
	_exit(job_end(r, &err, "server"));
}

static int job_milliseconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

/* Push ones, and find every one of them counted once. */
static int job_work(struct rh_ps *ps, struct board *board)
{
	static float in[COUNT];
	static float out[COUNT];
	struct rh_ps_op barrier = {.size = sizeof(barrier), .what = RH_PS_BARRIER};
	struct rh_ps_op op = workers_op(RH_PS_INIT, NULL, NULL, COUNT);

	for (size_t i = 0; i < COUNT; i++)
		in[i] = 1;
	must_run(ps, &op, 1);
	for (int i = 0; i < PUSHES; i++) {
		int began = job_milliseconds();

		op = i % 2 ? workers_op(RH_PS_PUSH, in, NULL, COUNT) : workers_op(RH_PS_PUSH_PULL, in, out, COUNT);
		must_run(ps, &op, 1);
		board->pushed++;
		began = job_milliseconds() - began;
		if (began > board->slowest)
			board->slowest = began;
	}
	while (!board->over)
		job_pause();
	must_run(ps, &barrier, 1);
	op = workers_op(RH_PS_PULL, NULL, out, COUNT);
	must_run(ps, &op, 1);
	for (size_t i = 0; i < COUNT; i++)
		must(out[i] == (float)(PUSHES * WORKERS), "a push was lost, or counted twice");
	return 0;
}

static void job_start_worker(struct job *job, int number)
{
	struct rh_ps_options options = {
		.size = sizeof(options), .has_worker = 1, .worker = number, .workers = WORKERS, .part = 4096};
	struct rh_comm_error err = {0};
	struct rh_ps *ps = NULL;
	int status;

	job->workers[number] = fork();
	if (job->workers[number] != 0)
		return;
	job_set_role(job, "worker");
	if (rh_ps_connect(&options, &ps, &err) < 0)
		_exit(job_end(-1, &err, "worker"));
	status = job_work(ps, job->board);
	rh_ps_free(ps);
	_exit(status);
}

static void job_start(struct job *job, struct board *board, int32_t mode, uint64_t seed)
{
	memset(board, 0, sizeof(*board));
	job->board = board;
	job->random = seed;
	job->options.mode = mode;
	job->options.staleness = 5;
	job->options.rule = RH_PS_SUM;
	job_start_scheduler(job);
	for (int i = 0; i < SERVERS; i++)
		job_start_server(job, i);
	for (int i = 0; i < WORKERS; i++)
		job_start_worker(job, i);
}

static void job_wait(pid_t pid, const char *who)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0)
		fail_msg("%s ended with status %x", who, (unsigned int)status);
}

static void job_finish(struct job *job)
{
	job->board->over = true;
	for (int i = 0; i < WORKERS; i++)
		job_wait(job->workers[i], "a worker");
	for (int i = 0; i < SERVERS; i++)
		job_wait(job->servers[i], "a server");
	job_wait(job->scheduler, "the scheduler");
	(void)close(job->lines);
}

static void job_kill(struct job *job, int number)
{
	assert_int_equal(kill(job->servers[number], SIGKILL), 0);
	assert_int_equal(waitpid(job->servers[number], NULL, 0), job->servers[number]);
}

/* One server at a time dies, and another one takes its place, from which on it may be the next. */
static void kill_servers(struct board *board, int32_t mode, bool tcp, uint64_t seed)
{
	struct job job = {.tcp = tcp};

	job_start(&job, board, mode, seed);
	for (int i = 0; i < SHARDS; i++)
		job_await_line(&job, "it has a backup at");
	for (int i = 0; i < KILLS; i++) {
		int step = PUSHES * WORKERS / (KILLS + 1);
		int number = (int)job_random(&job, SERVERS);

		job_await(&job, i * step + 1 + (int)job_random(&job, (uint64_t)step));
		job_kill(&job, number);
		job_start_server(&job, number);
		job_await_line(&job, "it has a backup at");
	}
	job_finish(&job);
	print_message("seed %llu: the slowest operation took %d ms\n", (unsigned long long)seed, (int)board->slowest);
}

static int make_board(void **state)
{
	*state = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return *state == MAP_FAILED;
}

static int remove_board(void **state)
{
	return munmap(*state, sizeof(struct board));
}

static void test_replicas__killed_servers_lose_nothing_async(void **state)
{
	kill_servers(*state, RH_PS_ASYNC, false, 11);
}

static void test_replicas__killed_servers_lose_nothing_sync(void **state)
{
	kill_servers(*state, RH_PS_SYNC, false, 12);
}

static void test_replicas__killed_servers_lose_nothing_over_tcp(void **state)
{
	kill_servers(*state, RH_PS_STALE, true, 13);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_replicas__killed_servers_lose_nothing_async, make_board, remove_board),
		cmocka_unit_test_setup_teardown(test_replicas__killed_servers_lose_nothing_sync, make_board, remove_board),
		cmocka_unit_test_setup_teardown(test_replicas__killed_servers_lose_nothing_over_tcp, make_board, remove_board),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that runs out at each allocation in turn: an error, never a crash, a leak, or a push that counts twice. */
#include <signal.h>
#include <stdio.h>
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

#include "comm/alloc_failure.h"
#include "comm/ps/protocol/message_stream.h"
#include "comm/ps/servers.h"

#define COUNT 3000
/* More than any of these parts allocates. */
#define MOST 2000

static void test_memory__a_server_starts_or_says_why(void **state)
{
	struct rh_ps_server_options options = {
		.size = sizeof(options), .workers = 2, .host = "127.0.0.1", .mode = RH_PS_SYNC, .rule = RH_PS_SUM};
	bool failed = true;

	(void)state;
	for (long first = 0; failed; first++) {
		struct rh_ps_server *server = NULL;
		struct rh_comm_error err = {0};
		int32_t r;

		assert_true(first < MOST);
		alloc_failure_arm(first, 1);
		r = rh_ps_server_new(&options, &server, &err);
		failed = alloc_failure_disarm();
		if (r < 0)
			assert_int_equal(r, RH_COMM_ENOMEM);
		assert_true(r == 0 || failed);
		rh_ps_server_free(server);
	}
}

static void test_memory__a_scheduler_starts_or_says_why(void **state)
{
	struct rh_ps_scheduler_options options = {
		.size = sizeof(options), .servers = 1, .workers = 1, .host = "127.0.0.1", .port = -1};
	bool failed = true;

	(void)state;
	for (long first = 0; failed; first++) {
		struct rh_ps_scheduler *scheduler = NULL;
		struct rh_comm_error err = {0};
		int32_t r;

		assert_true(first < MOST);
		alloc_failure_arm(first, 1);
		r = rh_ps_scheduler_new(&options, &scheduler, &err);
		failed = alloc_failure_disarm();
		assert_true(failed ? r == RH_COMM_ENOMEM : r == 0);
		rh_ps_scheduler_free(scheduler);
	}
}

/* The value shows which pushes counted: all that succeeded, and no other one twice. */
static void check_count(struct rh_ps *ps, bool good, float *pushed)
{
	float out[COUNT] = {0};
	struct rh_ps_op pull = workers_op(RH_PS_PULL, NULL, out, COUNT);

	if (good)
		*pushed += 1;
	if (rh_ps_run(ps, &pull, 1, NULL) < 0)
		return;
	assert_true(out[0] == *pushed || (!good && out[0] == *pushed + 1));
	*pushed = out[0];
}

static void push_with_failure(const struct servers *servers, long first, bool *ret_failed, float *pushed)
{
	struct rh_ps_options options = {.size = sizeof(options),
	                                .has_worker = 1,
	                                .workers = 2,
	                                .servers = servers->addresses,
	                                .part = 4096,
	                                .no_shm = first % 2 == 1};
	static float in[COUNT];
	struct rh_ps_op push = workers_op(RH_PS_PUSH, in, NULL, COUNT);
	struct rh_comm_error err = {0};
	struct rh_ps *ps = NULL;
	int32_t r;

	for (int i = 0; i < COUNT; i++)
		in[i] = 1;
	alloc_failure_arm(first / 2, 1);
	r = rh_ps_connect(&options, &ps, &err);
	if (r == 0)
		r = rh_ps_run(ps, &push, 1, &err);
	*ret_failed = alloc_failure_disarm();
	if (r < 0)
		assert_true(*ret_failed && (r == RH_COMM_ENOMEM || r == RH_COMM_EPEER));
	if (ps)
		check_count(ps, r == 0, pushed);
	rh_ps_free(ps);
}

/* A worker whose memory ends at each allocation in turn, against a server that has enough. */
static void test_memory__a_worker_fails_or_its_pushes_count_once(void **state)
{
	/* the second worker never comes, and so the server stays */
	struct servers servers = {.options = {.workers = 2, .mode = RH_PS_ASYNC, .rule = RH_PS_SUM}};
	struct rh_ps_op init = workers_op(RH_PS_INIT, NULL, NULL, COUNT);
	bool failed[2] = {true, true};
	struct rh_comm_error err = {0};
	float pushed = 0;
	struct rh_ps *ps;

	(void)state;
	servers_start(&servers, 1);
	ps = servers_connect(&servers, 0, false);
	assert_int_equal(rh_ps_run(ps, &init, 1, &err), 0);
	rh_ps_free(ps);
	for (long first = 0; failed[0] || failed[1]; first++) {
		assert_true(first < MOST);
		push_with_failure(&servers, first, &failed[first % 2], &pushed);
	}
	assert_true(pushed >= 2);
	servers_stop(&servers);
}

/* A process that serves, and whose memory ends once. */
static pid_t start_server(struct rh_ps_server *server, long first, _Atomic bool *failed)
{
	pid_t pid = fork();
	int32_t r;

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	alloc_failure_arm(first, 1);
	r = rh_ps_server_run(server, NULL);
	*failed = alloc_failure_disarm();
	rh_ps_server_free(server);
	_exit(r == 0 ? 0 : r == RH_COMM_ENOMEM ? 1 : 2);
}

/* @return how the worker fared */
static int32_t push_once(int32_t port, bool no_shm)
{
	char address[32];
	struct rh_ps_options options = {.size = sizeof(options),
	                                .has_worker = 1,
	                                .workers = 1,
	                                .servers = address,
	                                .part = 4096,
	                                .no_shm = no_shm,
	                                .grace = 1000,
	                                .init_timeout = 3000000};
	static float in[COUNT];
	static float out[COUNT];
	struct rh_ps_op ops[2] = {workers_op(RH_PS_INIT, NULL, NULL, COUNT), workers_op(RH_PS_PUSH_PULL, in, out, COUNT)};
	struct rh_comm_error err = {0};
	struct rh_ps *ps = NULL;
	int32_t r;

	for (int i = 0; i < COUNT; i++)
		in[i] = 2;
	(void)snprintf(address, sizeof(address), "127.0.0.1:%d", (int)port);
	r = rh_ps_connect(&options, &ps, &err);
	if (r == 0)
		r = rh_ps_run(ps, &ops[0], 1, &err);
	if (r == 0)
		r = rh_ps_run(ps, &ops[1], 1, &err);
	if (r == 0)
		assert_true(out[0] == 2 && out[COUNT - 1] == 2);
	rh_ps_free(ps);
	return r;
}

/* @return whether the worker fared well */
static bool serve_with_failure(long first, bool no_shm, _Atomic bool *failed)
{
	struct rh_ps_server_options options = {
		.size = sizeof(options), .workers = 1, .host = "127.0.0.1", .mode = RH_PS_SYNC, .rule = RH_PS_SUM};
	struct rh_ps_server *server = NULL;
	struct rh_comm_error err = {0};
	int32_t port;
	int32_t r;
	pid_t pid;
	int status = 0;

	assert_int_equal(rh_ps_server_new(&options, &server, &err), 0);
	port = rh_ps_server_port(server);
	/* as long as the process says nothing, it may have failed */
	*failed = true;
	pid = start_server(server, first, failed);
	rh_ps_server_free(server);
	r = push_once(port, no_shm);
	if (r < 0)
		(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status))
		assert_in_range(WEXITSTATUS(status), 0, 1);
	else
		assert_int_equal(WTERMSIG(status), SIGKILL);
	return r == 0;
}

/* The worker retries, or gets the error that the server is lost; any other answer is correct. */
static void test_memory__a_server_that_serves_survives_it(void **state)
{
	_Atomic bool *failed = mmap(NULL, sizeof(*failed), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(failed, MAP_FAILED);
	for (int no_shm = 0; no_shm < 2; no_shm++) {
		*failed = true;
		for (long first = 0; *failed; first++) {
			bool good = serve_with_failure(first, no_shm != 0, failed);

			assert_true(first < MOST);
			assert_true(good || *failed);
		}
	}
	(void)munmap((void *)failed, sizeof(*failed));
}

static void close_nothing(void *self)
{
	(void)self;
}

static void test_memory__blocks_are_there_or_not(void **state)
{
	static const struct rh_comm_backend none = {.close = close_nothing};
	const struct rh_ps_message_stream_plan plan = {.backend = &none, .control = -1, .free_team = close_nothing};
	bool failed = true;

	(void)state;
	for (long first = 0; failed; first++) {
		struct rh_ps_message_stream *blocks;

		alloc_failure_arm(first, 1);
		blocks = rh_ps_message_stream_new(&plan);
		failed = alloc_failure_disarm();
		assert_true(failed == !blocks);
		if (blocks)
			rh_ps_message_stream_operations.close(blocks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory__a_server_starts_or_says_why),
		cmocka_unit_test(test_memory__a_scheduler_starts_or_says_why),
		cmocka_unit_test(test_memory__a_worker_fails_or_its_pushes_count_once),
		cmocka_unit_test(test_memory__a_server_that_serves_survives_it),
		cmocka_unit_test(test_memory__blocks_are_there_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

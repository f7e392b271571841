/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameter server over the backend nccl, on the NCCL and CUDA runtime of ours in tests/comm/nccl: servers and
 * workers are threads. It says nothing of speed or of the real NCCL.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/nccl/fake.h"
#include "roundhouse/ps.h"

#define WORKERS 2
#define COUNT 200000
#define ROUNDS 5

/* One worker. */
struct work {
	pthread_t thread;
	char address[32];
	int32_t worker;
	struct rh_comm_error err;
	bool right; /* all values were */
};

static void *serve(void *arg)
{
	return rh_ps_server_run(arg, NULL) == 0 ? arg : NULL;
}

/* Rounds: every pull sees exactly those that the worker has pushed. */
static bool push_rounds(struct rh_ps *ps, struct work *work, float *in, float *out)
{
	struct rh_ps_op op = {
		.size = sizeof(op), .what = RH_PS_INIT, .key = 1, .out = out, .count = COUNT, .type = RH_COMM_F32};
	bool right = rh_ps_run(ps, &op, 1, &work->err) == 0;

	for (size_t i = 0; i < COUNT; i++)
		in[i] = (float)(work->worker + 1);
	op.what = RH_PS_PUSH_PULL;
	op.in = in;
	for (int round = 1; round <= ROUNDS && right; round++) {
		int sum = round * WORKERS * (WORKERS + 1) / 2;

		right = rh_ps_run(ps, &op, 1, &work->err) == 0;
		for (size_t i = 0; i < COUNT && right; i++)
			right = out[i] == (float)sum;
	}
	return right;
}

static void *run_worker(void *arg)
{
	struct work *work = arg;
	struct rh_ps_options options = {.size = sizeof(options),
	                                .has_worker = 1,
	                                .worker = work->worker,
	                                .workers = WORKERS,
	                                .servers = work->address,
	                                .backend = "nccl"};
	float *values = calloc(2 * COUNT, sizeof(*values));
	struct rh_ps *ps = NULL;

	if (values && rh_ps_connect(&options, &ps, &work->err) == 0)
		work->right = rh_ps_shared(ps) == 0 && push_rounds(ps, work, values, values + COUNT);
	rh_ps_free(ps);
	free(values);
	return NULL;
}

static struct rh_ps_server *start_server(const char *backend)
{
	struct rh_ps_server_options options = {.size = sizeof(options),
	                                       .workers = WORKERS,
	                                       .host = "127.0.0.1",
	                                       .mode = RH_PS_SYNC,
	                                       .rule = RH_PS_SUM,
	                                       .backend = backend};
	struct rh_ps_server *server = NULL;
	struct rh_comm_error err = {0};

	if (rh_ps_server_new(&options, &server, &err) < 0)
		fail_msg("%s", err.text);
	return server;
}

static void test_nccl__rounds_are_exact(void **state)
{
	struct rh_ps_server *server = start_server("nccl");
	struct work works[WORKERS] = {{.worker = 0}};
	pthread_t thread;
	void *good = NULL;

	(void)state;
	fake_copies_reset();
	assert_int_equal(pthread_create(&thread, NULL, serve, server), 0);
	for (int i = 0; i < WORKERS; i++) {
		works[i].worker = i;
		(void)snprintf(works[i].address, sizeof(works[i].address), "127.0.0.1:%d", (int)rh_ps_server_port(server));
		assert_int_equal(pthread_create(&works[i].thread, NULL, run_worker, &works[i]), 0);
	}
	for (int i = 0; i < WORKERS; i++) {
		assert_int_equal(pthread_join(works[i].thread, NULL), 0);
		if (!works[i].right)
			fail_msg("worker %d: %s", i, works[i].err.text);
	}
	assert_int_equal(pthread_join(thread, &good), 0);
	assert_ptr_equal(good, server);
	rh_ps_server_free(server);
	/* it went through memory that the device reaches, and all of it was given back */
	assert_true(fake_copies().pinned_most > 0);
	assert_int_equal(fake_alive(), 0);
	assert_int_equal(fake_misuses(), 0);
}

static void test_nccl__another_backend_is_refused(void **state)
{
	struct rh_ps_server *server = start_server("own");
	struct work work = {.worker = 0};
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, serve, server), 0);
	(void)snprintf(work.address, sizeof(work.address), "127.0.0.1:%d", (int)rh_ps_server_port(server));
	(void)run_worker(&work);
	assert_int_equal(work.err.code, RH_COMM_EINVAL);
	assert_non_null(strstr(work.err.text, "uses the backend \"own\" and worker 0 \"nccl\""));
	rh_ps_server_stop(server);
	assert_int_equal(pthread_join(thread, NULL), 0);
	rh_ps_server_free(server);
}

static void test_nccl__without_a_runtime_there_is_a_reason(void **state)
{
	struct rh_ps_server_options options = {.size = sizeof(options), .workers = 1, .backend = "nccl"};
	struct rh_ps_server *server = NULL;
	struct rh_comm_error err = {0};

	(void)state;
	assert_int_equal(setenv("RH_COMM_CUDART", "/nowhere/libcudart.so", 1), 0);
	assert_int_equal(rh_ps_server_new(&options, &server, &err), RH_COMM_EINVAL);
	assert_non_null(strstr(err.text, "cannot use the backend nccl: no CUDA runtime is found"));
	assert_int_equal(setenv("RH_COMM_CUDART", RH_FAKE_NCCL, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nccl__rounds_are_exact),
		cmocka_unit_test(test_nccl__another_backend_is_refused),
		cmocka_unit_test(test_nccl__without_a_runtime_there_is_a_reason),
	};

	(void)setenv("RH_COMM_PATH", RH_COMM_MODULES, 1);
	(void)setenv("RH_COMM_CUDART", RH_FAKE_NCCL, 1);
	(void)setenv("RH_COMM_NCCL_LIBRARY", RH_FAKE_NCCL, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

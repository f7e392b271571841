/* SPDX-License-Identifier: Apache-2.0 */
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

#include "comm/ps/servers.h"

#define LARGE 50001
#define SMALL 3
#define ROUNDS 20
#define KEYS 500

static float *make_floats(size_t count, float value)
{
	float *values = calloc(count, sizeof(*values));

	must(values != NULL, "out of memory");
	for (size_t i = 0; i < count; i++)
		values[i] = value;
	return values;
}

static void must_be(const float *values, size_t count, float expected, const char *what)
{
	for (size_t i = 0; i < count; i++) {
		if (values[i] != expected)
			(void)fprintf(stderr, "element %zu is %g and must be %g\n", i, (double)values[i], (double)expected);
		must(values[i] == expected, what);
	}
}

/* Rounds: every pull sees exactly the rounds that the worker itself has pushed. */
static int do_rounds(struct rh_ps *ps, void *arg)
{
	float *in = make_floats(LARGE, (float)(rh_ps_worker(ps) + 1));
	float *out = make_floats(LARGE, 0);
	struct rh_ps_op init = workers_op_on(RH_PS_INIT, 7, in, out, LARGE);
	struct rh_ps_op op = workers_op_on(RH_PS_PUSH_PULL, 7, in, out, LARGE);
	float workers = (float)rh_ps_workers(ps);
	float sum = workers * (workers + 1) / 2;

	(void)arg;
	must_run(ps, &init, 1);
	must_be(out, LARGE, 1, "the first value is not worker 0's");
	for (int i = 1; i <= ROUNDS; i++) {
		must_run(ps, &op, 1);
		must_be(out, LARGE, 1 + sum * (float)i, "wrong round");
	}
	free(in);
	free(out);
	return 0;
}

static void test_ps__rounds_are_exact(void **state)
{
	static const struct {
		int32_t servers;
		int32_t workers;
	} rows[] = {{1, 1}, {1, 3}, {2, 4}, {3, 2}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct servers servers = {.options = {.workers = rows[i].workers, .mode = RH_PS_SYNC, .rule = RH_PS_SUM}};

		servers_start(&servers, rows[i].servers);
		workers_run(&servers, do_rounds, NULL);
	}
}

/* All rounds posted at once: pulls stay exact though nobody waits in between. */
static int do_pipelined_rounds(struct rh_ps *ps, void *arg)
{
	float *in = make_floats(LARGE, 1);
	float *out = make_floats((size_t)LARGE * ROUNDS, 0);
	struct rh_ps_op init = workers_op_on(RH_PS_INIT, 9, NULL, NULL, LARGE);
	struct rh_ps_op ops[ROUNDS];

	(void)arg;
	for (int i = 0; i < ROUNDS; i++)
		ops[i] = workers_op_on(RH_PS_PUSH_PULL, 9, in, out + (size_t)i * LARGE, LARGE);
	must_run(ps, &init, 1);
	must_run(ps, ops, ROUNDS);
	for (int i = 0; i < ROUNDS; i++)
		must_be(out + (size_t)i * LARGE, LARGE, (float)((i + 1) * rh_ps_workers(ps)), "wrong round");
	free(in);
	free(out);
	return 0;
}

static void test_ps__pipelined_rounds_are_exact(void **state)
{
	struct servers servers = {.options = {.workers = 3, .mode = RH_PS_SYNC, .rule = RH_PS_SUM}};

	(void)state;
	servers_start(&servers, 2);
	workers_run(&servers, do_pipelined_rounds, NULL);
}

/* Pushes of all workers, in any order, each counted once. */
static int do_sum(struct rh_ps *ps, void *arg)
{
	float *in = make_floats(LARGE, 1);
	float *out = make_floats(LARGE, 0);
	struct rh_ps_op ops[2] = {workers_op_on(RH_PS_INIT, 1, NULL, NULL, LARGE),
	                          workers_op_on(RH_PS_INIT, 2, NULL, NULL, SMALL)};
	struct rh_ps_op barrier = {.size = sizeof(barrier), .what = RH_PS_BARRIER};

	(void)arg;
	must_run(ps, ops, 2);
	ops[0] = workers_op_on(RH_PS_PUSH, 1, in, NULL, LARGE);
	ops[1] = workers_op_on(RH_PS_PUSH_PULL, 2, in, out, SMALL);
	for (int i = 0; i < ROUNDS; i++)
		must_run(ps, ops, 2);
	must_run(ps, &barrier, 1);
	ops[0] = workers_op_on(RH_PS_PULL, 1, NULL, out, LARGE);
	must_run(ps, ops, 1);
	must_be(out, LARGE, (float)(ROUNDS * rh_ps_workers(ps)), "a push was lost, or counted twice");
	ops[0] = workers_op_on(RH_PS_PULL, 2, NULL, out, SMALL);
	must_run(ps, ops, 1);
	must_be(out, SMALL, (float)(ROUNDS * rh_ps_workers(ps)), "a push was lost, or counted twice");
	free(in);
	free(out);
	return 0;
}

static void test_ps__asynchronous_pushes_all_count(void **state)
{
	static const int32_t modes[] = {RH_PS_ASYNC, RH_PS_STALE};

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct servers servers = {.options = {.workers = 4, .mode = modes[i], .staleness = 1, .rule = RH_PS_SUM}};

		servers_start(&servers, 2);
		workers_run(&servers, do_sum, NULL);
	}
}

static int do_tcp(struct rh_ps *ps, void *arg)
{
	(void)arg;
	must(rh_ps_shared(ps) == 0, "memory is shared though it must not be");
	return do_sum(ps, NULL);
}

static void test_ps__goes_over_tcp_alone(void **state)
{
	struct servers servers = {.options = {.workers = 2, .mode = RH_PS_ASYNC, .rule = RH_PS_SUM}};
	struct workers_plan plan = {.options = {.no_shm = 1}, .fn = do_tcp};
	struct workers workers;

	(void)state;
	servers_start(&servers, 2);
	workers_start(&servers, &plan, &workers);
	assert_int_equal(workers_wait(&workers, 0), 0);
	assert_int_equal(workers_wait(&workers, 1), 0);
	servers_wait(&servers);
}

static int do_small_keys(struct rh_ps *ps, void *arg)
{
	struct rh_ps_op *ops = calloc(KEYS, sizeof(*ops));
	float *in = make_floats(KEYS, 0);
	float *out = make_floats(KEYS, 0);

	(void)arg;
	must(rh_ps_shared(ps) == (servers_are_own() ? 2 : 0), "memory is not shared, or is though it must not be");
	for (size_t i = 0; i < KEYS; i++) {
		in[i] = (float)i;
		ops[i] = workers_op_on(RH_PS_INIT, i * 3, &in[i], NULL, 1);
	}
	must_run(ps, ops, KEYS);
	for (size_t i = 0; i < KEYS; i++)
		ops[i] = workers_op_on(RH_PS_PUSH_PULL, i * 3, &in[i], &out[i], 1);
	must_run(ps, ops, KEYS);
	for (size_t i = 0; i < KEYS; i++)
		must(out[i] == (float)i * (float)(1 + rh_ps_workers(ps)), "wrong value of a small key");
	free(ops);
	free(in);
	free(out);
	return 0;
}

static void test_ps__many_small_keys_at_once(void **state)
{
	struct servers servers = {.options = {.workers = 2, .mode = RH_PS_SYNC, .rule = RH_PS_SUM}};

	(void)state;
	servers_start(&servers, 2);
	workers_run(&servers, do_small_keys, NULL);
}

/* A model of one parameter, y = w x, learnt by all workers together. */
static int do_learning(struct rh_ps *ps, void *arg)
{
	float weight = 0;
	float gradient;
	struct rh_ps_op init = workers_op_on(RH_PS_INIT, 1, &weight, &weight, 1);
	struct rh_ps_op op = workers_op_on(RH_PS_PUSH_PULL, 1, &gradient, &weight, 1);

	(void)arg;
	must_run(ps, &init, 1);
	must(rh_ps_set_rate(ps, 0.05, NULL) == 0, "the rate cannot be set");
	for (int i = 0; i < 400; i++) {
		float x = (float)(i % 3) + (float)rh_ps_worker(ps) / 2;

		gradient = 2 * (weight * x - 3 * x) * x;
		must_run(ps, &op, 1);
	}
	must(weight > 2.99F && weight < 3.01F, "nothing was learnt");
	return 0;
}

static void test_ps__optimizers_learn(void **state)
{
	static const int32_t rules[] = {RH_PS_SGD, RH_PS_MOMENTUM, RH_PS_ADAM};

	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		struct servers servers = {
			.options = {.workers = 2, .mode = RH_PS_SYNC, .rule = rules[i], .momentum = 0.5, .rate = 0.001}};

		servers_start(&servers, 1);
		workers_run(&servers, do_learning, NULL);
	}
}

struct helper {
	struct rh_ps *ps;
	uint64_t key;
};

static void *push_from_thread(void *arg)
{
	const struct helper *helper = arg;
	float *in = make_floats(LARGE, 1);
	float *out = make_floats(LARGE, 0);
	struct rh_ps_op op = workers_op_on(RH_PS_INIT, helper->key, NULL, NULL, LARGE);

	must_run(helper->ps, &op, 1);
	op = workers_op_on(RH_PS_PUSH_PULL, helper->key, in, out, LARGE);
	for (int i = 1; i <= ROUNDS; i++) {
		must_run(helper->ps, &op, 1);
		must_be(out, LARGE, (float)i, "wrong value in a thread");
	}
	free(in);
	free(out);
	return NULL;
}

static int do_threads(struct rh_ps *ps, void *arg)
{
	pthread_t threads[4];
	struct helper helpers[4];

	(void)arg;
	for (size_t i = 0; i < 4; i++) {
		helpers[i] = (struct helper){ps, i};
		must(pthread_create(&threads[i], NULL, push_from_thread, &helpers[i]) == 0, "no thread");
	}
	for (size_t i = 0; i < 4; i++)
		(void)pthread_join(threads[i], NULL);
	return 0;
}

static void test_ps__threads_share_a_worker(void **state)
{
	(void)state;
	for (int tcp = 0; tcp < 2; tcp++) {
		struct servers servers = {.options = {.workers = 1, .mode = RH_PS_ASYNC, .rule = RH_PS_SUM}};
		struct workers_plan plan = {.options = {.no_shm = tcp}, .fn = do_threads};
		struct workers workers;

		servers_start(&servers, 2);
		workers_start(&servers, &plan, &workers);
		assert_int_equal(workers_wait(&workers, 0), 0);
		servers_wait(&servers);
	}
}

static void test_ps__test_moves_on_without_waiting(void **state)
{
	struct servers servers = {.options = {.workers = 1, .mode = RH_PS_SYNC, .rule = RH_PS_SUM}};
	float in = 2;
	float out = 0;
	struct rh_ps_op ops[2] = {workers_op_on(RH_PS_INIT, 1, NULL, NULL, 1),
	                          workers_op_on(RH_PS_PUSH_PULL, 1, &in, &out, 1)};
	struct rh_ps_request *request = NULL;
	struct rh_comm_error err = {0};
	struct rh_ps *ps;
	int32_t r;

	(void)state;
	servers_start(&servers, 1);
	ps = servers_connect(&servers, 0, false);
	assert_int_equal(rh_ps_post(ps, ops, 2, &request, &err), 0);
	do
		r = rh_ps_test(request, &err);
	while (r == RH_COMM_BUSY);
	assert_int_equal(r, 0);
	assert_float_equal(out, 2, 0);
	rh_ps_free(ps);
	servers_wait(&servers);
}

static void test_ps__refuses_wrong_operations(void **state)
{
	static const struct {
		const char *name;
		struct rh_ps_op op;
		const char *words;
	} rows[] = {
		{"size", {.size = 1}, "op.size"},
		{"what", {.size = sizeof(struct rh_ps_op), .what = 9}, "not a valid operation"},
		{"key", {.size = sizeof(struct rh_ps_op), .what = RH_PS_PULL, .key = UINT64_MAX}, "not a valid key"},
		{"type", {.size = sizeof(struct rh_ps_op), .what = RH_PS_PULL, .count = 1, .type = 99}, "cannot be kept"},
		{"count", {.size = sizeof(struct rh_ps_op), .what = RH_PS_PULL, .type = RH_COMM_F32}, "cannot be kept"},
		{"in", {.size = sizeof(struct rh_ps_op), .what = RH_PS_PUSH, .count = 1, .type = RH_COMM_F32}, "op.in"},
		{"out", {.size = sizeof(struct rh_ps_op), .what = RH_PS_PULL, .count = 1, .type = RH_COMM_F32}, "op.out"},
	};
	struct servers servers = {.options = {.workers = 1, .mode = RH_PS_SYNC, .rule = RH_PS_SUM}};
	struct rh_ps *ps;

	(void)state;
	servers_start(&servers, 1);
	ps = servers_connect(&servers, 0, false);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_comm_error err = {0};

		if (rh_ps_run(ps, &rows[i].op, 1, &err) != RH_COMM_EINVAL || !strstr(err.text, rows[i].words))
			fail_msg("%s: %s", rows[i].name, err.text);
	}
	assert_int_equal(rh_ps_set_rate(ps, -1, NULL), RH_COMM_EINVAL);
	rh_ps_free(ps);
	servers_wait(&servers);
}

/* What a server refuses ends that operation alone. */
static void test_ps__servers_refuse_with_reasons(void **state)
{
	struct servers servers = {.options = {.workers = 1, .mode = RH_PS_SYNC, .rule = RH_PS_SUM}};
	float values[4] = {1, 2, 3, 4};
	struct rh_ps_op op = workers_op_on(RH_PS_PUSH, 1, values, NULL, 4);
	struct rh_comm_error err = {0};
	struct rh_ps *ps;

	(void)state;
	servers_start(&servers, 1);
	ps = servers_connect(&servers, 0, false);
	assert_int_equal(rh_ps_run(ps, &op, 1, &err), RH_COMM_EINVAL);
	assert_non_null(strstr(err.text, "key 1 part 0 is not known"));
	op.what = RH_PS_INIT;
	assert_int_equal(rh_ps_run(ps, &op, 1, &err), 0);
	op = workers_op_on(RH_PS_PUSH, 1, values, NULL, 3);
	assert_int_equal(rh_ps_run(ps, &op, 1, &err), RH_COMM_EINVAL);
	assert_non_null(strstr(err.text, "same count"));
	op = workers_op_on(RH_PS_PULL, 1, NULL, values, 4);
	assert_int_equal(rh_ps_run(ps, &op, 1, &err), 0);
	rh_ps_free(ps);
	servers_wait(&servers);
}

static void test_ps__refuses_who_does_not_belong(void **state)
{
	static const struct {
		const char *name;
		const char *secret;
		const char *job;
		int32_t workers;
		const char *second; /* server */
		const char *words;
	} rows[] = {
		{"secret", "other", "j", 1, "", "another secret"},
		{"job", "s", "other", 1, "", "another job"},
		{"workers", "s", "j", 2, "", "serves 1 workers"},
		{"servers", "s", "j", 1, ",127.0.0.1:1", "server 0 of 1"},
		{"address", "s", "j", 1, ",nonsense", "must be host:port"},
	};
	struct servers servers = {
		.options = {.workers = 1, .mode = RH_PS_SYNC, .rule = RH_PS_SUM, .secret = "s", .job = "j"}};

	(void)state;
	servers_start(&servers, 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char addresses[300];
		struct rh_ps_options options = {.size = sizeof(options),
		                                .has_worker = 1,
		                                .workers = rows[i].workers,
		                                .servers = addresses,
		                                .secret = rows[i].secret,
		                                .job = rows[i].job};
		struct rh_comm_error err = {0};
		struct rh_ps *ps;

		(void)snprintf(addresses, sizeof(addresses), "%s%s", servers.addresses, rows[i].second);
		if (rh_ps_connect(&options, &ps, &err) != RH_COMM_EINVAL || !strstr(err.text, rows[i].words))
			fail_msg("%s: %s", rows[i].name, err.text);
	}
	servers_stop(&servers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ps__rounds_are_exact),
		cmocka_unit_test(test_ps__pipelined_rounds_are_exact),
		cmocka_unit_test(test_ps__asynchronous_pushes_all_count),
		cmocka_unit_test(test_ps__goes_over_tcp_alone),
		cmocka_unit_test(test_ps__many_small_keys_at_once),
		cmocka_unit_test(test_ps__optimizers_learn),
		cmocka_unit_test(test_ps__threads_share_a_worker),
		cmocka_unit_test(test_ps__test_moves_on_without_waiting),
		cmocka_unit_test(test_ps__refuses_wrong_operations),
		cmocka_unit_test(test_ps__servers_refuse_with_reasons),
		cmocka_unit_test(test_ps__refuses_who_does_not_belong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/loop.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/clock.h"

/* What a test sees of its loop. */
struct seen {
	struct rh_loop *loop;
	struct rh_loop_watch *watch;
	int fds[2];
	int turns;
	int stop_at; /* turn that ends the loop */
	int64_t delay;
	int64_t started;
	int signals;
	int bytes;
	unsigned ready; /* events that a watch reported */
	bool closed;
};

static void take_turn(void *arg, int64_t now)
{
	struct seen *seen = arg;

	seen->started = now;
	if (++seen->turns >= seen->stop_at)
		rh_loop_stop(seen->loop);
}

static int64_t next_turn(void *arg)
{
	const struct seen *seen = arg;

	return seen->delay == RH_NEVER ? RH_NEVER : seen->started + seen->delay;
}

static struct rh_loop *open_loop(struct seen *seen)
{
	const struct rh_loop_source source = {.step = take_turn, .deadline = next_turn, .arg = seen};
	struct rh_error err = {0};

	if (rh_loop_new(&seen->loop, &err) < 0 || rh_loop_add(seen->loop, &source, NULL, &err) < 0)
		fail_msg("%s", err.message);
	return seen->loop;
}

static void test_loop__zero_delay_turns_at_once(void **state)
{
	struct seen seen = {.stop_at = 1000, .delay = 0};
	rh_auto(loop) loop = open_loop(&seen);

	(void)state;
	rh_loop_run(loop);
	assert_int_equal(seen.turns, 1000);
}

static void test_loop__sleeps_for_the_given_time(void **state)
{
	struct seen seen = {.stop_at = 4, .delay = RH_SECOND / 50};
	rh_auto(loop) loop = open_loop(&seen);
	int64_t start = rh_clock_monotonic();

	(void)state;
	rh_loop_run(loop);
	assert_int_equal(seen.turns, 4);
	assert_true(rh_clock_monotonic() - start >= 3 * (RH_SECOND / 50) - 3000); /* a timer counts whole milliseconds */
}

static void take_signal(void *arg, int number)
{
	struct seen *seen = arg;

	assert_int_equal(number, SIGUSR1);
	seen->signals++;
	rh_loop_stop(seen->loop);
}

static void test_loop__signals_wake_it(void **state)
{
	struct seen seen = {.stop_at = 1000, .delay = RH_NEVER};
	rh_auto(loop) loop = open_loop(&seen);

	(void)state;
	assert_int_equal(rh_loop_signal(loop, SIGUSR1, take_signal, &seen, NULL), 0);
	assert_int_equal(raise(SIGUSR1), 0);
	rh_loop_run(loop);
	assert_int_equal(seen.signals, 1);
}

static void test_loop__signals_get_their_handler_back(void **state)
{
	struct seen seen = {.stop_at = 1, .delay = 0};
	struct sigaction after;
	struct rh_loop *loop = open_loop(&seen);

	(void)state;
	assert_int_equal(rh_loop_signal(loop, SIGUSR2, take_signal, &seen, NULL), 0);
	rh_loop_free(loop);
	assert_int_equal(sigaction(SIGUSR2, NULL, &after), 0);
	assert_true(after.sa_handler == SIG_DFL);
}

static void take_bytes(void *arg)
{
	struct seen *seen = arg;
	char byte;
	ssize_t n = read(seen->fds[0], &byte, 1);

	seen->bytes += n > 0 ? 1 : 0;
	if (n == 0) {
		rh_loop_unwatch(seen->watch);
		seen->watch = NULL;
		seen->closed = true;
		rh_loop_stop(seen->loop);
	}
}

static void test_loop__descriptors_wake_it(void **state)
{
	struct seen seen = {.stop_at = 1000, .delay = RH_NEVER};
	rh_auto(loop) loop = open_loop(&seen);

	(void)state;
	assert_int_equal(pipe(seen.fds), 0);
	assert_int_equal(rh_loop_watch(loop, seen.fds[0], take_bytes, &seen, &seen.watch, NULL), 0);
	assert_int_equal(write(seen.fds[1], "abc", 3), 3);
	assert_int_equal(close(seen.fds[1]), 0);
	rh_loop_run(loop);
	assert_int_equal(seen.bytes, 3);
	assert_true(seen.closed);
	assert_true(seen.turns >= 3);
	assert_int_equal(close(seen.fds[0]), 0);
}

/* A pair of sockets of which one end is watched. */
static void open_pair(struct seen *seen)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, seen->fds), 0);
}

static void take_ready(void *arg)
{
	struct seen *seen = arg;

	seen->ready = rh_loop_ready(seen->watch);
	rh_loop_stop(seen->loop);
}

static void test_loop__reports_what_is_ready(void **state)
{
	static const struct {
		const char *name;
		unsigned wanted;
		bool readable, full, closed;
		unsigned expected; /* 0: it sleeps */
	} rows[] = {
		{"reading", RH_LOOP_READ, true, false, false, RH_LOOP_READ},
		{"nothing to read", RH_LOOP_READ, false, false, false, 0},
		{"writing", RH_LOOP_WRITE, true, false, false, RH_LOOP_WRITE},
		{"no room", RH_LOOP_WRITE, true, true, false, 0},
		{"both", RH_LOOP_READ | RH_LOOP_WRITE, true, false, false, RH_LOOP_READ | RH_LOOP_WRITE},
		{"both, one is ready", RH_LOOP_READ | RH_LOOP_WRITE, true, true, false, RH_LOOP_READ},
		{"nothing", 0, true, false, false, 0},
		{"closed, reading", RH_LOOP_READ, false, false, true, RH_LOOP_READ},
		{"closed, both", RH_LOOP_READ | RH_LOOP_WRITE, false, false, true, RH_LOOP_READ | RH_LOOP_WRITE},
	};
	static const char fill[4096] = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seen seen = {.stop_at = 20, .delay = 1000};
		rh_auto(loop) loop = open_loop(&seen);

		print_message("           row: %s\n", rows[i].name);
		open_pair(&seen);
		assert_int_equal(rh_loop_watch(loop, seen.fds[0], take_ready, &seen, &seen.watch, NULL), 0);
		assert_int_equal(rh_loop_watch_for(seen.watch, rows[i].wanted, NULL), 0);
		while (rows[i].full && write(seen.fds[0], fill, sizeof(fill)) > 0)
			continue;
		if (rows[i].readable)
			assert_int_equal(write(seen.fds[1], "x", 1), 1);
		if (rows[i].closed)
			assert_int_equal(close(seen.fds[1]), 0);
		rh_loop_run(loop);
		assert_int_equal(seen.ready, rows[i].expected);
		rh_loop_unwatch(seen.watch);
		assert_int_equal(close(seen.fds[0]), 0);
		if (!rows[i].closed)
			assert_int_equal(close(seen.fds[1]), 0);
	}
}

/* Off, and on again for something else, on the same watch. */
static void test_loop__what_is_watched_changes(void **state)
{
	struct seen seen = {.stop_at = 20, .delay = 1000};
	rh_auto(loop) loop = open_loop(&seen);

	(void)state;
	open_pair(&seen);
	assert_int_equal(rh_loop_watch(loop, seen.fds[0], take_ready, &seen, &seen.watch, NULL), 0);
	assert_int_equal(write(seen.fds[1], "x", 1), 1);
	assert_int_equal(rh_loop_watch_for(seen.watch, 0, NULL), 0);
	rh_loop_run(loop);
	assert_int_equal(seen.ready, 0);
	seen.stop_at = 40;
	assert_int_equal(rh_loop_watch_for(seen.watch, RH_LOOP_WRITE, NULL), 0);
	rh_loop_run(loop);
	assert_int_equal(seen.ready, RH_LOOP_WRITE);
	seen.stop_at = 60;
	assert_int_equal(rh_loop_watch_for(seen.watch, RH_LOOP_READ, NULL), 0);
	rh_loop_run(loop);
	assert_int_equal(seen.ready, RH_LOOP_READ);
	rh_loop_unwatch(seen.watch);
	/* at once again: a connection that is closed gives its number to the next */
	assert_int_equal(rh_loop_watch(loop, seen.fds[0], take_ready, &seen, &seen.watch, NULL), 0);
	seen.ready = 0;
	seen.stop_at = 80;
	rh_loop_run(loop);
	assert_int_equal(seen.ready, RH_LOOP_READ);
	assert_int_equal(close(seen.fds[0]), 0);
	assert_int_equal(close(seen.fds[1]), 0);
}

static void test_loop__free_ends_what_is_watched(void **state)
{
	struct seen seen = {.stop_at = 3, .delay = 0};
	struct rh_loop *loop = open_loop(&seen);

	(void)state;
	assert_int_equal(pipe(seen.fds), 0);
	assert_int_equal(rh_loop_watch(loop, seen.fds[0], take_bytes, &seen, &seen.watch, NULL), 0);
	rh_loop_run(loop);
	rh_loop_unwatch(NULL);
	rh_loop_free(loop);
	rh_loop_free(NULL);
	assert_int_equal(close(seen.fds[0]), 0);
	assert_int_equal(close(seen.fds[1]), 0);
}

static void test_loop__bad_descriptor_is_refused(void **state)
{
	struct seen seen = {.stop_at = 1, .delay = 0};
	rh_auto(loop) loop = open_loop(&seen);
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(rh_loop_watch(loop, -1, take_bytes, &seen, &seen.watch, &err), RH_EIO);
	assert_non_null(strstr(err.message, "event loop: watch: "));
	assert_int_equal(rh_loop_signal(loop, SIGKILL, take_signal, &seen, &err), RH_EIO);
	rh_loop_run(loop);
}

static void test_loop__without_memory(void **state)
{
	struct seen seen = {.stop_at = 1, .delay = 0};
	rh_auto(loop) loop = NULL;

	(void)state;
	(void)rh_mem_fail_after(0);
	assert_int_equal(rh_loop_new(&loop, NULL), RH_ENOMEM);
	(void)rh_mem_fail_after(-1);
	loop = open_loop(&seen);
	(void)rh_mem_fail_after(0);
	assert_int_equal(rh_loop_signal(loop, SIGUSR1, take_signal, &seen, NULL), RH_ENOMEM);
	assert_int_equal(rh_loop_watch(loop, 0, take_bytes, &seen, &seen.watch, NULL), RH_ENOMEM);
	assert_int_equal(rh_loop_add(loop, &(struct rh_loop_source){.arg = NULL}, NULL, NULL), RH_ENOMEM);
	(void)rh_mem_fail_after(-1);
}

/* Sources in virtual time: each writes its letter when it is stepped. */
struct source {
	struct rh_loop *loop;
	struct rh_loop_entry *entry;
	struct rh_loop_entry *removes; /* its step ends this one */
	const struct rh_loop_source *adds;
	char *steps;
	int64_t deadline;
	int64_t now; /* of the last step */
	bool stops;
	char letter;
};

static void step_source(void *arg, int64_t now)
{
	struct source *source = arg;
	size_t length = strlen(source->steps);

	source->steps[length] = source->letter;
	source->steps[length + 1] = '\0';
	source->now = now;
	rh_loop_remove(source->loop, rh_take(source->removes));
	if (source->adds)
		assert_int_equal(rh_loop_add(source->loop, rh_take(source->adds), NULL, NULL), 0);
	if (source->stops)
		rh_loop_stop(source->loop);
}

static int64_t source_deadline(void *arg)
{
	return ((const struct source *)arg)->deadline;
}

static struct rh_loop *open_sources(struct source *sources, size_t count, const int *orders, char *steps)
{
	struct rh_loop *loop = NULL;

	assert_int_equal(rh_loop_new(&loop, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		const struct rh_loop_source source = {step_source, source_deadline, &sources[i], orders[i]};

		sources[i].loop = loop;
		sources[i].steps = steps;
		sources[i].letter = (char)('a' + i);
		assert_int_equal(rh_loop_add(loop, &source, &sources[i].entry, NULL), 0);
	}
	return loop;
}

static void test_loop__sources_have_an_order(void **state)
{
	char steps[32] = "";
	struct source sources[4] = {{.deadline = RH_NEVER}, {.deadline = 700}, {.deadline = 400}, {.deadline = 900}};
	rh_auto(loop) loop = open_sources(sources, 4, (const int[]){0, 5, -1, 0}, steps);

	(void)state;
	assert_int_equal(rh_loop_turn(loop, 100), 400);
	assert_string_equal(steps, "cadb");
	assert_int_equal(sources[1].now, 100);
	sources[2].deadline = RH_NEVER;
	sources[3].deadline = 50; /* it has passed: at once */
	assert_int_equal(rh_loop_turn(loop, 200), 50);
	assert_string_equal(steps, "cadbcadb");
}

static void test_loop__sources_come_and_go_in_a_step(void **state)
{
	char steps[32] = "";
	struct source sources[3] = {{.deadline = 10}, {.deadline = 20}, {.deadline = 30}};
	struct source late = {.deadline = 40, .letter = 'z', .steps = steps};
	const struct rh_loop_source source = {step_source, source_deadline, &late, 3};
	rh_auto(loop) loop = open_sources(sources, 3, (const int[]){0, 1, 2}, steps);

	(void)state;
	late.loop = loop;
	sources[0].adds = &source;
	sources[0].removes = sources[1].entry;
	sources[2].removes = sources[0].entry;
	assert_int_equal(rh_loop_turn(loop, 0), 30); /* the deadline of what is gone does not count */
	assert_string_equal(steps, "acz");
	assert_int_equal(rh_loop_turn(loop, 0), 30);
	assert_string_equal(steps, "aczcz");
}

static void test_loop__a_stop_ends_the_turn(void **state)
{
	char steps[32] = "";
	struct source sources[2] = {{.deadline = 10, .stops = true}, {.deadline = 20}};
	rh_auto(loop) loop = open_sources(sources, 2, (const int[]){0, 0}, steps);

	(void)state;
	assert_int_equal(rh_loop_turn(loop, 0), RH_NEVER);
	rh_loop_run(loop); /* it is stopped already */
	assert_string_equal(steps, "a");
	sources[0].stops = false;
	sources[1].stops = true;
	rh_loop_run(loop);
	assert_string_equal(steps, "aab");
}

static void test_loop__sources_without_functions(void **state)
{
	rh_auto(loop) loop = NULL;

	(void)state;
	assert_int_equal(rh_loop_new(&loop, NULL), 0);
	assert_int_equal(rh_loop_turn(loop, 0), RH_NEVER);
	assert_int_equal(rh_loop_add(loop, &(struct rh_loop_source){.arg = NULL}, NULL, NULL), 0);
	assert_int_equal(rh_loop_turn(loop, 0), RH_NEVER);
	rh_loop_remove(loop, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loop__zero_delay_turns_at_once),
		cmocka_unit_test(test_loop__sleeps_for_the_given_time),
		cmocka_unit_test(test_loop__signals_wake_it),
		cmocka_unit_test(test_loop__signals_get_their_handler_back),
		cmocka_unit_test(test_loop__descriptors_wake_it),
		cmocka_unit_test(test_loop__reports_what_is_ready),
		cmocka_unit_test(test_loop__what_is_watched_changes),
		cmocka_unit_test(test_loop__free_ends_what_is_watched),
		cmocka_unit_test(test_loop__bad_descriptor_is_refused),
		cmocka_unit_test(test_loop__without_memory),
		cmocka_unit_test(test_loop__sources_have_an_order),
		cmocka_unit_test(test_loop__sources_come_and_go_in_a_step),
		cmocka_unit_test(test_loop__a_stop_ends_the_turn),
		cmocka_unit_test(test_loop__sources_without_functions),
	};

	return cmocka_run_group_tests_name("base/os/loop", tests, NULL, NULL);
}

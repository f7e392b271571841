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

static int64_t take_turn(void *arg)
{
	struct seen *seen = arg;

	if (++seen->turns >= seen->stop_at)
		rh_loop_stop(seen->loop);
	return seen->delay;
}

static struct rh_loop *open_loop(struct seen *seen)
{
	struct rh_error err = {0};

	if (rh_loop_new(take_turn, seen, &seen->loop, &err) < 0)
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
	assert_int_equal(rh_loop_new(take_turn, &seen, &loop, NULL), RH_ENOMEM);
	(void)rh_mem_fail_after(-1);
	loop = open_loop(&seen);
	(void)rh_mem_fail_after(0);
	assert_int_equal(rh_loop_signal(loop, SIGUSR1, take_signal, &seen, NULL), RH_ENOMEM);
	assert_int_equal(rh_loop_watch(loop, 0, take_bytes, &seen, &seen.watch, NULL), RH_ENOMEM);
	(void)rh_mem_fail_after(-1);
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
	};

	return cmocka_run_group_tests_name("base/os/loop", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/loop.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/clock.h"

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

static void test_loop__sleeps_as_long_as_told(void **state)
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
		cmocka_unit_test(test_loop__sleeps_as_long_as_told),
		cmocka_unit_test(test_loop__signals_wake_it),
		cmocka_unit_test(test_loop__signals_get_their_handler_back),
		cmocka_unit_test(test_loop__descriptors_wake_it),
		cmocka_unit_test(test_loop__free_ends_what_is_watched),
		cmocka_unit_test(test_loop__bad_descriptor_is_refused),
		cmocka_unit_test(test_loop__without_memory),
	};

	return cmocka_run_group_tests_name("base/loop", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/os/clock.h"
#include "base/support.h"
#include "kube/store/window.h"

#define MS (RH_SECOND / 1000)

/* Send as many as may go. @return how many went */
static size_t send_all(struct rh_window *window, int64_t now)
{
	size_t count = 0;
	int64_t when;

	while (rh_window_open(window, false, now, &when)) {
		rh_window_send(window, now);
		count++;
		assert_true(count <= RH_WINDOW_MAX);
	}
	return count;
}

/* Answer @p count requests that were sent @p latency before @p now. */
static void answer(struct rh_window *window, size_t count, int32_t status, int64_t latency, int64_t now)
{
	for (size_t i = 0; i < count; i++)
		rh_window_end(window, &(struct rh_window_answer){.status = status, .sent_at = now - latency}, now);
}

static void test_window__is_bounded(void **state)
{
	static const struct {
		size_t wanted, got;
	} rows[] = {{0, 32}, {1, 1}, {7, 7}, {100000, RH_WINDOW_MAX}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_window window;
		int64_t when = 0;

		rh_window_init(&window, rows[i].wanted, 0, 0);
		assert_int_equal(send_all(&window, 5), rows[i].got);
		assert_false(rh_window_open(&window, false, 5, &when));
		assert_true(when == RH_NEVER);
		answer(&window, 1, 200, 5, 5);
		assert_true(rh_window_open(&window, false, 5, &when));
	}
}

static void test_window__grows_by_one_a_round_when_it_is_full(void **state)
{
	struct rh_window window;
	int64_t now = RH_SECOND;

	(void)state;
	rh_window_init(&window, 8, 0, 0);
	for (size_t round = 0; round < 10; round++) {
		assert_int_equal(send_all(&window, now), round == 0 ? 8 : 9);
		assert_int_equal(window.in_flight, 8 + round);
		now += 10 * MS;
		answer(&window, 8, 201, 10 * MS, now);
	}
	answer(&window, 9, 201, 10 * MS, now);
	assert_int_equal(window.in_flight, 0);
}

static void test_window__does_not_grow_unused(void **state)
{
	struct rh_window window;

	(void)state;
	rh_window_init(&window, 4, 0, 0);
	for (int64_t i = 1; i < 100; i++) {
		rh_window_send(&window, i * RH_SECOND);
		answer(&window, 1, 200, 0, i * RH_SECOND);
	}
	assert_int_equal(window.size, 4);
}

static void test_window__halves_once_for_a_burst_of_429(void **state)
{
	struct rh_window window;
	int64_t now = RH_SECOND;
	int64_t when;

	(void)state;
	rh_window_init(&window, 32, 0, 0);
	assert_int_equal(send_all(&window, now), 32);
	now += 10 * MS;
	answer(&window, 20, 429, 10 * MS, now);
	assert_int_equal(window.size, 16);
	answer(&window, 12, 200, 10 * MS, now + 5 * MS);
	assert_false(rh_window_open(&window, false, now + 10 * MS, &when));
	assert_true(when == now + 0 * MS + RH_SECOND);
	assert_int_equal(send_all(&window, when), 16);
}

static void test_window__retry_after_holds_for_all(void **state)
{
	static const struct {
		int32_t status;
		int64_t retry_after, blocked;
	} rows[] = {
		{429, 3 * RH_SECOND, 3 * RH_SECOND},
		{429, 0, RH_SECOND},
		{503, 2 * RH_SECOND, 2 * RH_SECOND},
		{503, 0, 0},
		{0, 0, RH_SECOND},
		{429, 9000 * RH_SECOND, 60 * RH_SECOND},
		{200, 0, 0},
		{409, 0, 0},
		{500, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_window window;
		int64_t when = 0;
		bool open;

		rh_window_init(&window, 4, 0, 0);
		rh_window_send(&window, 0);
		rh_window_end(&window, &(struct rh_window_answer){rows[i].status, 0, rows[i].retry_after, false}, 10);
		open = rh_window_open(&window, false, 10, &when);
		assert_int_equal(open, rows[i].blocked == 0);
		assert_true(open || when == 10 + rows[i].blocked);
		assert_true(open || rh_window_open(&window, false, when, &when));
	}
}

/* A server that works on some requests at once, each for the same time, and lets the others wait in their order. */
struct server {
	size_t places;
	int64_t service;
	int64_t free_at[64];          /* when each of its places is free again */
	int64_t sent[RH_WINDOW_MAX];  /* of the requests in flight, in their order */
	int64_t ready[RH_WINDOW_MAX]; /* when each is answered */
	size_t first, count;
	size_t answered;
};

static void server_take(struct server *server, int64_t now)
{
	size_t slot = (server->first + server->count++) % RH_WINDOW_MAX;
	size_t place = 0;

	for (size_t i = 1; i < server->places; i++) {
		if (server->free_at[i] < server->free_at[place])
			place = i;
	}
	if (server->free_at[place] < now)
		server->free_at[place] = now;
	server->free_at[place] += server->service;
	server->sent[slot] = now;
	server->ready[slot] = server->free_at[place];
}

/* Keep the window full until @p until. @return the time then */
static int64_t serve(struct server *server, struct rh_window *window, int64_t now, int64_t until)
{
	int64_t when;

	while (now < until) {
		while (rh_window_open(window, false, now, &when)) {
			rh_window_send(window, now);
			server_take(server, now);
		}
		now = server->ready[server->first];
		rh_window_end(window, &(struct rh_window_answer){.status = 201, .sent_at = server->sent[server->first]}, now);
		server->first = (server->first + 1) % RH_WINDOW_MAX;
		server->count--;
		server->answered++;
	}
	return now;
}

/* The window holds what the server works on, and a few more: whatever its size, and at no loss. */
static void test_window__follows_the_servers_size(void **state)
{
	static const struct {
		size_t first, places;
		int64_t service;
	} rows[] = {
		{32, 1, 1 * MS}, {32, 2, 2 * MS}, {256, 2, 5 * MS}, {32, 8, 5 * MS}, {32, 64, 5 * MS}, {4, 32, 20 * MS},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct server server = {.places = rows[i].places, .service = rows[i].service};
		struct rh_window window;
		double most;
		int64_t now;

		rh_window_init(&window, rows[i].first, 0, 0);
		now = serve(&server, &window, 0, 60 * RH_SECOND);
		server.answered = 0;
		for (int64_t end = now + 60 * RH_SECOND; now < end;) {
			now = serve(&server, &window, now, now + RH_SECOND / 2);
			assert_true(fmax(window.size, window.probe) >= 0.8 * (double)rows[i].places);
			assert_true(window.size <= 1.25 * (double)rows[i].places + 6);
		}
		most = 60.0 * (double)rows[i].places * (double)RH_SECOND / (double)rows[i].service;
		assert_true((double)server.answered > 0.97 * most);
	}
}

/* A server that becomes slower, or has fewer places, is measured anew within seconds. */
static void test_window__follows_a_server_that_changes(void **state)
{
	struct server server = {.places = 32, .service = 4 * MS};
	struct rh_window window;
	int64_t now;

	(void)state;
	rh_window_init(&window, 32, 0, 0);
	now = serve(&server, &window, 0, 30 * RH_SECOND);
	assert_in_range((size_t)fmax(window.size, window.probe), 28, 44);
	server.places = 2;
	now = serve(&server, &window, now, now + 30 * RH_SECOND);
	assert_true(window.size <= 10);
	server.places = 32;
	server.service = 40 * MS;
	now = serve(&server, &window, now, now + 60 * RH_SECOND);
	assert_in_range((size_t)fmax(window.size, window.probe), 28, 44);
}

static void test_window__never_closes_for_good(void **state)
{
	struct rh_window window;
	int64_t now = 0;

	(void)state;
	rh_window_init(&window, 32, 0, 0);
	for (int i = 0; i < 100; i++) {
		now += 100 * RH_SECOND;
		assert_true(send_all(&window, now) >= 1);
		answer(&window, window.in_flight, 429, 0, now);
	}
	assert_int_equal(window.size, 1);
}

static void test_window__rate_is_a_token_bucket(void **state)
{
	struct rh_window window;
	int64_t when = 0;

	(void)state;
	rh_window_init(&window, 200, 5, 10);
	assert_int_equal(send_all(&window, 1000), 10);
	answer(&window, 10, 200, 0, 1000);
	assert_false(rh_window_open(&window, false, 1000, &when));
	assert_int_equal(when, 1000 + 200 * MS);
	assert_int_equal(send_all(&window, when), 1);
	assert_int_equal(send_all(&window, when + RH_SECOND), 5);
	assert_int_equal(send_all(&window, when + 100 * RH_SECOND), 10);
}

static void test_window__rate_without_burst_still_sends(void **state)
{
	struct rh_window window;

	(void)state;
	rh_window_init(&window, 0, 0.5, 0);
	assert_int_equal(send_all(&window, 0), 1);
	assert_int_equal(send_all(&window, RH_SECOND), 0);
	assert_int_equal(send_all(&window, 2 * RH_SECOND), 1);
}

/* Spare places are beside a full window, and are taken until their own requests are over. */
static void test_window__has_spare_places(void **state)
{
	struct rh_window window;
	int64_t when;

	(void)state;
	rh_window_init(&window, 8, 0, 0);
	assert_int_equal(send_all(&window, 1), 8);
	for (int i = 0; i < 2; i++) {
		assert_true(rh_window_open(&window, true, 1, &when));
		assert_true(rh_window_send(&window, 1));
	}
	assert_false(rh_window_open(&window, true, 1, &when));
	answer(&window, 1, 200, 1, 2);
	assert_false(rh_window_open(&window, true, 2, &when));
	rh_window_end(&window, &(struct rh_window_answer){.status = 200, .sent_at = 1, .spare = true}, 2);
	assert_true(rh_window_open(&window, true, 2, &when));
	assert_false(rh_window_open(&window, false, 2, &when));
	rh_window_end(&window, &(struct rh_window_answer){.status = 429, .sent_at = 1}, 2);
	assert_false(rh_window_open(&window, true, 2, &when));
}

static void test_window__picks_by_class(void **state)
{
	static const struct {
		size_t waiting[RH_WINDOW_CLASSES];
		enum rh_window_class picked;
	} rows[] = {
		{{1, 1, 1}, RH_WINDOW_STATE},   {{0, 1, 1}, RH_WINDOW_OBJECTS}, {{0, 0, 1}, RH_WINDOW_EVENTS},
		{{0, 0, 0}, RH_WINDOW_CLASSES}, {{1, 0, 9}, RH_WINDOW_STATE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t passed[RH_WINDOW_CLASSES] = {0};

		assert_int_equal(rh_window_pick(passed, rows[i].waiting), rows[i].picked);
	}
}

static void test_window__no_class_starves(void **state)
{
	static const size_t waiting[RH_WINDOW_CLASSES] = {9, 9, 9};
	size_t picked[RH_WINDOW_CLASSES + 1] = {0};
	uint32_t passed[RH_WINDOW_CLASSES] = {0};

	(void)state;
	for (int i = 0; i < 180; i++)
		picked[rh_window_pick(passed, waiting)]++;
	assert_int_equal(picked[RH_WINDOW_CLASSES], 0);
	assert_true(picked[RH_WINDOW_STATE] > 140);
	assert_in_range(picked[RH_WINDOW_OBJECTS], 9, 20);
	assert_in_range(picked[RH_WINDOW_EVENTS], 9, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_window__is_bounded),
		cmocka_unit_test(test_window__grows_by_one_a_round_when_it_is_full),
		cmocka_unit_test(test_window__does_not_grow_unused),
		cmocka_unit_test(test_window__halves_once_for_a_burst_of_429),
		cmocka_unit_test(test_window__retry_after_holds_for_all),
		cmocka_unit_test(test_window__follows_the_servers_size),
		cmocka_unit_test(test_window__follows_a_server_that_changes),
		cmocka_unit_test(test_window__never_closes_for_good),
		cmocka_unit_test(test_window__rate_is_a_token_bucket),
		cmocka_unit_test(test_window__rate_without_burst_still_sends),
		cmocka_unit_test(test_window__has_spare_places),
		cmocka_unit_test(test_window__picks_by_class),
		cmocka_unit_test(test_window__no_class_starves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

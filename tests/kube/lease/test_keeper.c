/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/lease/keeper.h"

#include "base/os/clock.h"
#include "base/support.h"
#include "kube/fake_http.h"

/* Callbacks of a keeper, and its client. */
struct watcher {
	struct rh_http *http;
	struct rh_lease_keeper *keeper;
	enum rh_lease_state states[8];
	size_t count;
	char message[128];
	size_t troubles;
	char trouble[128];
	int32_t status;
};

static void note_state(void *arg, enum rh_lease_state state, const char *message)
{
	struct watcher *watcher = arg;

	assert_true(watcher->count < 8);
	watcher->states[watcher->count++] = state;
	rh_copy(watcher->message, sizeof(watcher->message), message);
}

static void note_trouble(void *arg, int32_t status, const char *message)
{
	struct watcher *watcher = arg;

	watcher->troubles++;
	watcher->status = status;
	rh_copy(watcher->trouble, sizeof(watcher->trouble), message);
}

static void open_keeper(struct watcher *watcher, const char *identity)
{
	struct rh_lease_keeper_options options = {.changed = note_state, .trouble = note_trouble, .arg = watcher};

	options.lease = (struct rh_lease_options){.namespace_ = "ns", .name = "lead", .identity = identity};
	watcher->http = fake_http_new();
	options.http = watcher->http;
	assert_int_equal(rh_lease_keeper_new(&options, &watcher->keeper, NULL), 0);
}

static void close_keeper(struct watcher *watcher)
{
	rh_lease_keeper_free(watcher->keeper);
	assert_int_equal(fake_http_count(watcher->http), 0);
	rh_http_free(watcher->http);
}

/* Answer the one open call; NULL: with the body that it sent. */
static void answer(struct watcher *watcher, int32_t status, const char *body)
{
	struct fake_call *call = fake_http_call(watcher->http, 0);
	rh_auto_free char *own = NULL;

	assert_int_equal(fake_http_count(watcher->http), 1);
	own = rh_strdup(body ? body : call->body);
	fake_http_answer(watcher->http, call, status, own);
}

static void step(struct watcher *watcher, int64_t later)
{
	rh_lease_keeper_step(watcher->keeper, rh_clock_monotonic() + later);
}

static void lead(struct watcher *watcher)
{
	step(watcher, 0);
	answer(watcher, 404, "{}");
	assert_int_equal(rh_lease_keeper_deadline(watcher->keeper), 0);
	step(watcher, 0);
	answer(watcher, 201, NULL);
	step(watcher, 0);
	assert_int_equal(watcher->count, 1);
	assert_int_equal(watcher->states[0], RH_LEASE_LEADING);
}

static void test_keeper__leads_and_releases(void **state)
{
	struct watcher watcher = {0};

	(void)state;
	open_keeper(&watcher, "me");
	lead(&watcher);
	assert_string_equal(rh_lease_holder(rh_lease_keeper_lease(watcher.keeper)), "me");
	assert_true(rh_lease_keeper_deadline(watcher.keeper) > rh_clock_monotonic());
	step(&watcher, 0);
	assert_int_equal(fake_http_count(watcher.http), 0);
	rh_lease_keeper_release(watcher.keeper);
	assert_int_equal(rh_lease_keeper_deadline(watcher.keeper), 0);
	step(&watcher, 0);
	answer(&watcher, 200, NULL);
	step(&watcher, 0);
	assert_int_equal(watcher.count, 2);
	assert_int_equal(watcher.states[1], RH_LEASE_RELEASED);
	assert_int_equal(rh_lease_keeper_deadline(watcher.keeper), RH_NEVER);
	close_keeper(&watcher);
}

static void test_keeper__forbidden_is_reported_with_a_message(void **state)
{
	struct watcher watcher = {0};

	(void)state;
	open_keeper(&watcher, "me");
	for (int64_t later = 0; later <= RH_LEASE_DURATION + RH_SECOND; later += (RH_LEASE_DURATION + RH_SECOND) / 2) {
		assert_int_equal(watcher.count, 0);
		step(&watcher, later);
		answer(&watcher, 403, "{\"message\":\"leases is forbidden\"}");
	}
	step(&watcher, 0);
	step(&watcher, 0);
	assert_int_equal(watcher.count, 1);
	assert_int_equal(watcher.states[0], RH_LEASE_FORBIDDEN);
	assert_string_equal(watcher.message, "status 403: leases is forbidden");
	close_keeper(&watcher);
}

/* Failing attempts are reported once, and so is their end; a response that names another holder is a success. */
static void test_keeper__trouble_is_reported_once(void **state)
{
	static const char held[] = "{\"metadata\":{},\"spec\":{\"holderIdentity\":\"other\",\"leaseDurationSeconds\":15}}";
	static const struct {
		int32_t status;
		const char *body;
		size_t reports;
		const char *message;
		int32_t reported;
	} rows[] = {
		{200, held, 0, "", 0},
		{403, "{\"message\":\"no\"}", 1, "status 403: no", 403},
		{500, "{}", 1, "status 403: no", 403},
		{200, held, 2, "", 200},

	};
	struct watcher watcher = {0};

	(void)state;
	open_keeper(&watcher, "me");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		step(&watcher, (int64_t)i * 5 * RH_SECOND);
		answer(&watcher, rows[i].status, rows[i].body);
		step(&watcher, 0);
		assert_int_equal(watcher.troubles, rows[i].reports);
		assert_int_equal(watcher.status, rows[i].reported);
		if (rows[i].status)
			assert_string_equal(watcher.trouble, rows[i].message);
	}
	assert_int_equal(watcher.count, 0);
	close_keeper(&watcher);
}

static void test_keeper__lost_without_an_answer(void **state)
{
	struct watcher watcher = {0};

	(void)state;
	open_keeper(&watcher, "me");
	lead(&watcher);
	step(&watcher, 3 * RH_SECOND);
	assert_int_equal(fake_http_count(watcher.http), 1);
	step(&watcher, RH_LEASE_RENEW_DEADLINE);
	assert_int_equal(watcher.count, 2);
	assert_int_equal(watcher.states[1], RH_LEASE_LOST);
	close_keeper(&watcher);
}

static void test_keeper__own_identity_differs(void **state)
{
	rh_auto_free char *first = NULL;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct watcher watcher = {0};
		rh_auto(json) body = NULL;

		open_keeper(&watcher, NULL);
		step(&watcher, 0);
		answer(&watcher, 404, "{}");
		step(&watcher, 0);
		body = support_json(fake_http_call(watcher.http, 0)->body);
		assert_true(strlen(rh_json_string_at(body, "spec.holderIdentity")) > 33);
		if (first)
			assert_string_not_equal(rh_json_string_at(body, "spec.holderIdentity"), first);
		else
			first = rh_strdup(rh_json_string_at(body, "spec.holderIdentity"));
		close_keeper(&watcher);
	}
}

static void test_keeper__without_memory(void **state)
{
	struct watcher watcher = {0};

	(void)state;
	open_keeper(&watcher, "me");
	step(&watcher, 0);
	answer(&watcher, 404, "{}");
	for (long n = 0; fake_http_count(watcher.http) == 0; n++) {
		(void)rh_mem_fail_after(n);
		step(&watcher, n * RH_SECOND * 10);
		(void)rh_mem_fail_after(-1);
		assert_true(fake_http_count(watcher.http) > 0 || rh_lease_keeper_deadline(watcher.keeper) < RH_NEVER);
	}
	assert_int_equal(watcher.count, 0);
	close_keeper(&watcher);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeper__leads_and_releases),
		cmocka_unit_test(test_keeper__forbidden_is_reported_with_a_message),
		cmocka_unit_test(test_keeper__trouble_is_reported_once),
		cmocka_unit_test(test_keeper__lost_without_an_answer),
		cmocka_unit_test(test_keeper__own_identity_differs),
		cmocka_unit_test(test_keeper__without_memory),
	};

	return cmocka_run_group_tests_name("kube/lease/keeper", tests, NULL, NULL);
}

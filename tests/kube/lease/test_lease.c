/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/lease/lease.h"

#include <stdio.h>

#include "base/os/clock.h"
#include "base/support.h"

/* The wall clock of these tests; the rules must not depend on it. */
#define WALL (INT64_C(1760000000) * RH_SECOND)
#define PATH "/apis/coordination.k8s.io/v1/namespaces/ns/leases"

static struct rh_lease *open_lease(const char *identity)
{
	struct rh_lease_options options = {.namespace_ = "ns", .name = "lead", .identity = identity, .seed = 7};
	struct rh_lease *lease = NULL;
	struct rh_error err = {0};

	if (rh_lease_new(&options, &lease, &err) < 0)
		fail_msg("%s", err.message);
	return lease;
}

/* Expect a request. @return its body, owned by the caller; NULL when it has none */
static struct rh_json *expect(struct rh_lease *lease, int64_t now, const char *method, const char *path)
{
	struct rh_http_request request = {0};

	assert_int_equal(rh_lease_next(lease, now, WALL + now, &request, NULL), 1);
	assert_string_equal(request.method, method);
	assert_string_equal(request.path, path);
	assert_int_equal(request.timeout, RH_LEASE_RENEW_DEADLINE / 2);
	return request.body ? support_json(request.body) : NULL;
}

static void expect_nothing(struct rh_lease *lease, int64_t now)
{
	struct rh_http_request request = {0};

	assert_int_equal(rh_lease_next(lease, now, WALL + now, &request, NULL), 0);
}

static void answer(struct rh_lease *lease, int64_t now, int32_t status, const char *body)
{
	struct rh_http_response response = {
		.status = status, .sent = true, .message = status ? "" : "cut", .body = body, .body_length = strlen(body)};

	rh_lease_answer(lease, now, &response);
}

/* Answer with what was sent, as a server does, under a new resource version. */
static void accept_body(struct rh_lease *lease, int64_t now, struct rh_json *body, int32_t status)
{
	rh_auto_free char *text = NULL;

	assert_int_equal(rh_json_set_integer(rh_json_get(body, "metadata"), "resourceVersion", now), 0);
	text = rh_json_text(body);
	answer(lease, now, status, text);
}

static void answer_held(struct rh_lease *lease, int64_t now, const char *holder, int seconds, int renewal)
{
	rh_auto_free char *body =
		rh_asprintf("{\"metadata\":{\"name\":\"lead\",\"labels\":{\"a\":\"b\"},\"resourceVersion\":\"%d\"},"
	                "\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":%d,\"acquireTime\":"
	                "\"2020-01-01T00:00:00.000000Z\",\"renewTime\":\"2020-01-01T00:00:%02d.000000Z\","
	                "\"leaseTransitions\":3}}",
	                renewal, holder, seconds, renewal);

	answer(lease, now, 200, body);
}

/* Get the Lease, find none, create it. */
static void become_leader(struct rh_lease *lease, int64_t now)
{
	rh_auto(json) body = NULL;

	assert_null(expect(lease, now, "GET", PATH "/lead"));
	answer(lease, now, 404, "{}");
	body = expect(lease, now, "POST", PATH);
	accept_body(lease, now, body, 201);
	assert_int_equal(rh_lease_look(lease, now), RH_LEASE_LEADING);
}

static void test_lease__creates_what_is_not_there(void **state)
{
	rh_auto(lease) lease = open_lease("me");
	rh_auto(json) body = NULL;

	(void)state;
	assert_int_equal(rh_lease_deadline(lease), 0);
	assert_int_equal(rh_lease_look(lease, 0), RH_LEASE_SEEKING);
	assert_null(expect(lease, 0, "GET", PATH "/lead"));
	expect_nothing(lease, 100);
	answer(lease, 100, 404, "{}");
	assert_int_equal(rh_lease_deadline(lease), 100);
	body = expect(lease, 200, "POST", PATH);
	support_assert_json(
		body, "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"lead\"},\"apiVersion\":\"coordination.k8s.io/v1\","
			  "\"kind\":\"Lease\",\"spec\":{\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15,\"renewTime\":"
			  "\"2025-10-09T08:53:20.000200Z\",\"leaseTransitions\":0,\"acquireTime\":"
			  "\"2025-10-09T08:53:20.000200Z\"}}");
	accept_body(lease, 300, body, 201);
	assert_int_equal(rh_lease_look(lease, 300), RH_LEASE_LEADING);
	assert_string_equal(rh_lease_holder(lease), "me");
}

static void test_lease__renews_without_looking(void **state)
{
	rh_auto(lease) lease = open_lease("me");
	int64_t now = 0;

	(void)state;
	become_leader(lease, now);
	for (int i = 0; i < 20; i++) {
		rh_auto(json) body = NULL;

		expect_nothing(lease, now + RH_LEASE_RETRY_PERIOD - 1);
		assert_int_equal(rh_lease_deadline(lease), now + RH_LEASE_RETRY_PERIOD);
		now += RH_LEASE_RETRY_PERIOD;
		body = expect(lease, now, "PUT", PATH "/lead");
		assert_string_equal(rh_json_string_at(body, "spec.acquireTime"), "2025-10-09T08:53:20.000000Z");
		assert_non_null(rh_json_at(body, "metadata.resourceVersion"));
		accept_body(lease, now, body, 200);
		assert_int_equal(rh_lease_look(lease, now), RH_LEASE_LEADING);
	}
}

/* How long another's lease is good counts from when we saw it change, on our clock. */
static void test_lease__waits_for_the_end_of_anothers(void **state)
{
	rh_auto(lease) lease = open_lease("me");
	rh_auto(json) body = NULL;
	int64_t now = 0;
	int64_t seen = 0;

	(void)state;
	for (int renewal = 0; renewal < 4; renewal++) {
		assert_null(expect(lease, now, "GET", PATH "/lead"));
		answer_held(lease, now, "other", 15, renewal);
		seen = now;
		assert_string_equal(rh_lease_holder(lease), "other");
		now = rh_lease_deadline(lease);
		assert_in_range(now - seen, RH_LEASE_RETRY_PERIOD / 8, RH_LEASE_RETRY_PERIOD);
	}
	while (now < seen + 15 * RH_SECOND) {
		assert_null(expect(lease, now, "GET", PATH "/lead"));
		answer_held(lease, now, "other", 15, 3);
		assert_int_equal(rh_lease_look(lease, now), RH_LEASE_SEEKING);
		assert_true(rh_lease_deadline(lease) > now);
		now = rh_lease_deadline(lease);
	}
	assert_int_equal(now, seen + 15 * RH_SECOND);
	assert_null(expect(lease, now, "GET", PATH "/lead"));
	answer_held(lease, now, "other", 15, 3);
	body = expect(lease, now, "PUT", PATH "/lead");
	assert_string_equal(rh_json_string_at(body, "spec.holderIdentity"), "me");
	assert_string_equal(rh_json_string_at(body, "metadata.labels.a"), "b");
	assert_true(rh_json_number(rh_json_at(body, "spec.leaseTransitions"), 0) == 4);
	assert_string_not_equal(rh_json_string_at(body, "spec.acquireTime"), "2020-01-01T00:00:00.000000Z");
	accept_body(lease, now, body, 200);
	assert_int_equal(rh_lease_look(lease, now), RH_LEASE_LEADING);
}

static void test_lease__whose_it_is(void **state)
{
	static const struct {
		const char *name, *holder;
		int seconds;
		bool taken;
	} rows[] = {
		{"another's", "other", 15, true},    {"given up", "", 1, false},          {"ours from before", "me", 15, false},
		{"over at once", "other", 0, false}, {"a long one", "other", 3600, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(lease) lease = open_lease("me");
		rh_auto(json) body = NULL;

		(void)support_row(rows[i].name);
		assert_null(expect(lease, 0, "GET", PATH "/lead"));
		answer_held(lease, 0, rows[i].holder, rows[i].seconds, 1);
		if (rows[i].taken) {
			expect_nothing(lease, 0);
			continue;
		}
		body = expect(lease, 0, "PUT", PATH "/lead");
		/* who leads already goes on with the same term */
		assert_true(rh_json_number(rh_json_at(body, "spec.leaseTransitions"), 0) ==
		            (strcmp(rows[i].holder, "me") == 0 ? 3 : 4));
		assert_int_equal(strcmp(rh_json_string_at(body, "spec.acquireTime"), "2020-01-01T00:00:00.000000Z") == 0,
		                 strcmp(rows[i].holder, "me") == 0);
	}
}

static void test_lease__lost_when_it_cannot_be_renewed(void **state)
{
	static const struct {
		const char *name;
		int32_t status;
	} rows[] = {{"no answer", 0}, {"server error", 500}, {"forbidden", 403}, {"throttled", 429}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(lease) lease = open_lease("me");
		int64_t now = 0;

		(void)support_row(rows[i].name);
		become_leader(lease, 0);
		for (;;) {
			struct rh_http_request request;

			now = rh_lease_deadline(lease);
			if (rh_lease_look(lease, now) != RH_LEASE_LEADING)
				break;
			assert_int_equal(rh_lease_next(lease, now, WALL, &request, NULL), 1);
			answer(lease, now, rows[i].status, "{\"message\":\"why\"}");
			assert_string_equal(rh_lease_message(lease) + (rows[i].status ? strlen("status 500: ") : 0),
			                    rows[i].status ? "why" : "cut");
		}
		assert_int_equal(rh_lease_look(lease, now), RH_LEASE_LOST);
		assert_int_equal(now, RH_LEASE_RENEW_DEADLINE);
		expect_nothing(lease, now + RH_LEASE_DURATION);
		assert_int_equal(rh_lease_deadline(lease), RH_NEVER);
	}
}

/* A response after the deadline changes nothing: the loss was already reported. */
static void test_lease__late_renewal_does_not_count(void **state)
{
	rh_auto(lease) lease = open_lease("me");
	rh_auto(json) body = NULL;

	(void)state;
	become_leader(lease, 0);
	body = expect(lease, RH_LEASE_RETRY_PERIOD, "PUT", PATH "/lead");
	assert_int_equal(rh_lease_deadline(lease), RH_LEASE_RENEW_DEADLINE);
	accept_body(lease, RH_LEASE_RENEW_DEADLINE, body, 200);
	assert_int_equal(rh_lease_look(lease, RH_LEASE_RENEW_DEADLINE), RH_LEASE_LOST);
}

/* The time of a renewal is when it was sent: the others may have seen it then. */
static void test_lease__renewal_counts_from_its_sending(void **state)
{
	rh_auto(lease) lease = open_lease("me");
	rh_auto(json) body = NULL;

	(void)state;
	become_leader(lease, 0);
	body = expect(lease, RH_LEASE_RETRY_PERIOD, "PUT", PATH "/lead");
	accept_body(lease, 5 * RH_SECOND, body, 200);
	assert_int_equal(rh_lease_look(lease, RH_LEASE_RETRY_PERIOD + RH_LEASE_RENEW_DEADLINE - 1), RH_LEASE_LEADING);
	assert_int_equal(rh_lease_look(lease, RH_LEASE_RETRY_PERIOD + RH_LEASE_RENEW_DEADLINE), RH_LEASE_LOST);
}

static void test_lease__conflict_is_looked_at(void **state)
{
	rh_auto(lease) lease = open_lease("me");
	rh_auto(json) body = NULL;
	int64_t now = RH_LEASE_RETRY_PERIOD;

	(void)state;
	become_leader(lease, 0);
	rh_json_free(expect(lease, now, "PUT", PATH "/lead"));
	answer(lease, now, 409, "{}");
	now += RH_LEASE_RETRY_PERIOD;
	assert_null(expect(lease, now, "GET", PATH "/lead"));
	answer_held(lease, now, "me", 15, 9);
	body = expect(lease, now, "PUT", PATH "/lead");
	assert_string_equal(rh_json_string_at(body, "metadata.resourceVersion"), "9");
	accept_body(lease, now, body, 200);
	assert_int_equal(rh_lease_look(lease, now + RH_LEASE_RENEW_DEADLINE - 1), RH_LEASE_LEADING);
}

/* Somebody took it from the leader: it does not write over it, and stops as soon as it sees that. */
static void test_lease__taken_from_the_leader(void **state)
{
	rh_auto(lease) lease = open_lease("me");
	int64_t now = RH_LEASE_RETRY_PERIOD;

	(void)state;
	become_leader(lease, 0);
	rh_json_free(expect(lease, now, "PUT", PATH "/lead"));
	answer(lease, now, 409, "{}");
	now = rh_lease_deadline(lease);
	assert_null(expect(lease, now, "GET", PATH "/lead"));
	answer_held(lease, now, "thief", 15, 9);
	assert_int_equal(rh_lease_look(lease, now), RH_LEASE_LOST);
	assert_string_equal(rh_lease_message(lease), "it is held by thief");
}

static void test_lease__race_to_create(void **state)
{
	rh_auto(lease) lease = open_lease("me");

	(void)state;
	assert_null(expect(lease, 0, "GET", PATH "/lead"));
	answer(lease, 0, 404, "{}");
	rh_json_free(expect(lease, 0, "POST", PATH));
	answer(lease, 0, 409, "{}");
	assert_int_equal(rh_lease_look(lease, 0), RH_LEASE_SEEKING);
	expect_nothing(lease, RH_LEASE_RETRY_PERIOD - 1);
	assert_null(expect(lease, 3 * RH_LEASE_RETRY_PERIOD, "GET", PATH "/lead"));
}

/* Only who never read a Lease and is refused for a whole duration works without one, and asks on. */
static void test_lease__forbidden(void **state)
{
	static const char denied[] = "{\"kind\":\"Status\",\"message\":\"leases is forbidden\"}";

	(void)state;
	for (int write = 0; write < 2; write++) {
		rh_auto(lease) lease = open_lease("me");
		int64_t now = 0;

		for (int tries = 0; rh_lease_look(lease, now) == RH_LEASE_SEEKING; tries++) {
			assert_in_range(now, 0, RH_LEASE_DURATION);
			assert_null(expect(lease, now, "GET", PATH "/lead"));
			if (write) {
				answer(lease, now, 404, "{}");
				rh_json_free(expect(lease, now, "POST", PATH));
			}
			answer(lease, now, 403, denied);
			assert_string_equal(rh_lease_message(lease), "status 403: leases is forbidden");
			if (rh_lease_look(lease, now) == RH_LEASE_SEEKING)
				now = rh_lease_deadline(lease);
		}
		assert_int_equal(now, RH_LEASE_DURATION);
		assert_int_equal(rh_lease_look(lease, now), RH_LEASE_FORBIDDEN);
		assert_int_equal(rh_lease_deadline(lease), now + RH_LEASE_RETRY_PERIOD);
	}
}

/* Refuse the Lease until there is no election. @return when that is */
static int64_t become_forbidden(struct rh_lease *lease)
{
	int64_t now = 0;

	for (; rh_lease_look(lease, now) == RH_LEASE_SEEKING; now = rh_lease_deadline(lease)) {
		assert_null(expect(lease, now, "GET", PATH "/lead"));
		answer(lease, now, 403, "{}");
	}
	assert_int_equal(rh_lease_look(lease, now), RH_LEASE_FORBIDDEN);
	return now;
}

/* What the server shows once there are Leases for us decides. */
static void test_lease__allowed_later(void **state)
{
	static const struct {
		const char *name, *holder; /* NULL: there is no Lease */
		int32_t status;            /* of the write; 0: it comes to none */
		enum rh_lease_state state;
	} rows[] = {
		{"another's", "other", 0, RH_LEASE_LOST},
		{"given up", "", 200, RH_LEASE_LEADING},
		{"none", NULL, 201, RH_LEASE_LEADING},
		{"somebody is faster", "", 409, RH_LEASE_LOST},
		{"somebody creates it", NULL, 409, RH_LEASE_LOST},
		{"it cannot be created yet", NULL, 403, RH_LEASE_FORBIDDEN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(lease) lease = open_lease("me");
		rh_auto(json) body = NULL;
		int64_t now = become_forbidden(lease);

		(void)support_row(rows[i].name);
		assert_null(expect(lease, now, "GET", PATH "/lead"));
		if (rows[i].holder)
			answer_held(lease, now, rows[i].holder, 15, 1);
		else
			answer(lease, now, 404, "{}");
		if (rows[i].status) {
			assert_int_equal(rh_lease_look(lease, now), RH_LEASE_FORBIDDEN);
			body = expect(lease, now, rows[i].holder ? "PUT" : "POST", rows[i].holder ? PATH "/lead" : PATH);
			accept_body(lease, now, body, rows[i].status);
		}
		assert_int_equal(rh_lease_look(lease, now), rows[i].state);
	}
}

/* A refusal is a proof for as long as a renewal is one. */
static void test_lease__forbidden_no_longer_answered(void **state)
{
	rh_auto(lease) lease = open_lease("me");
	int64_t now = become_forbidden(lease);
	int64_t end = now - RH_LEASE_RETRY_PERIOD + RH_LEASE_RENEW_DEADLINE;

	(void)state;
	for (; rh_lease_look(lease, now) == RH_LEASE_FORBIDDEN; now = rh_lease_deadline(lease)) {
		assert_null(expect(lease, now, "GET", PATH "/lead"));
		answer(lease, now, 500, "{}");
	}
	assert_int_equal(now, end);
	assert_int_equal(rh_lease_look(lease, now), RH_LEASE_LOST);
}

/* Who has read a Lease waits, however long it is refused, and then once more for as long as a Lease is good. */
static void test_lease__refused_after_it_was_read(void **state)
{
	static const char *const holders[] = {"other", "", "me", NULL};

	(void)state;
	for (size_t i = 0; i < sizeof(holders) / sizeof(holders[0]); i++) {
		rh_auto(lease) lease = open_lease("me");
		int64_t now = 0;
		int64_t shown = 0;

		assert_null(expect(lease, now, "GET", PATH "/lead"));
		answer_held(lease, now, "other", 15, 1);
		for (now = rh_lease_deadline(lease); now < 10 * RH_LEASE_DURATION; now = rh_lease_deadline(lease)) {
			assert_null(expect(lease, now, "GET", PATH "/lead"));
			answer(lease, now, 403, "{}");
			assert_int_equal(rh_lease_look(lease, now), RH_LEASE_SEEKING);
		}
		for (shown = now; now < shown + RH_LEASE_DURATION; now = rh_lease_deadline(lease)) {
			assert_null(expect(lease, now, "GET", PATH "/lead"));
			if (holders[i])
				answer_held(lease, now, holders[i], 15, 1);
			else
				answer(lease, now, 404, "{}");
		}
		assert_int_equal(now, shown + RH_LEASE_DURATION);
		assert_null(expect(lease, now, "GET", PATH "/lead"));
		if (holders[i])
			answer_held(lease, now, holders[i], 15, 1);
		else
			answer(lease, now, 404, "{}");
		rh_json_free(expect(lease, now, holders[i] ? "PUT" : "POST", holders[i] ? PATH "/lead" : PATH));
	}
}

/* A short refusal, in which nobody can have begun to work without a Lease, costs nothing. */
static void test_lease__refused_for_a_moment(void **state)
{
	rh_auto(lease) lease = open_lease("me");
	int64_t now = 0;

	(void)state;
	assert_null(expect(lease, now, "GET", PATH "/lead"));
	answer_held(lease, now, "other", 15, 1);
	now = rh_lease_deadline(lease);
	assert_null(expect(lease, now, "GET", PATH "/lead"));
	answer(lease, now, 403, "{}");
	now = rh_lease_deadline(lease);
	assert_null(expect(lease, now, "GET", PATH "/lead"));
	answer_held(lease, now, "", 1, 2);
	rh_json_free(expect(lease, now, "PUT", PATH "/lead"));
}

/* Somebody deleted the Lease: its holder creates it anew, the others let it. */
static void test_lease__deleted(void **state)
{
	rh_auto(lease) leader = open_lease("me");
	rh_auto(lease) other = open_lease("other");
	int64_t now = RH_LEASE_RETRY_PERIOD;

	(void)state;
	become_leader(leader, 0);
	rh_json_free(expect(leader, now, "PUT", PATH "/lead"));
	answer(leader, now, 404, "{}");
	now = rh_lease_deadline(leader);
	assert_null(expect(leader, now, "GET", PATH "/lead"));
	answer(leader, now, 404, "{}");
	rh_json_free(expect(leader, now, "POST", PATH));

	assert_null(expect(other, 0, "GET", PATH "/lead"));
	answer_held(other, 0, "me", 15, 1);
	for (now = rh_lease_deadline(other); now < RH_LEASE_DURATION; now = rh_lease_deadline(other)) {
		assert_null(expect(other, now, "GET", PATH "/lead"));
		answer(other, now, 404, "{}");
		expect_nothing(other, now);
	}
}

/* What is won by an answer that comes too late is not won: it is looked at again. */
static void test_lease__late_win_does_not_count(void **state)
{
	rh_auto(lease) lease = open_lease("me");
	rh_auto(json) body = NULL;
	int64_t now = RH_LEASE_RENEW_DEADLINE;

	(void)state;
	assert_null(expect(lease, 0, "GET", PATH "/lead"));
	answer(lease, 0, 404, "{}");
	body = expect(lease, 0, "POST", PATH);
	accept_body(lease, now, body, 201);
	assert_int_equal(rh_lease_look(lease, now), RH_LEASE_SEEKING);
	now = rh_lease_deadline(lease);
	assert_null(expect(lease, now, "GET", PATH "/lead"));
}

static void test_lease__answers_that_make_no_sense(void **state)
{
	static const char *const bodies[] = {"", "x", "{}", "[]", "{\"metadata\":1}"};

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		rh_auto(lease) lease = open_lease("me");

		assert_null(expect(lease, 0, "GET", PATH "/lead"));
		answer(lease, 0, 200, bodies[i]);
		assert_int_equal(rh_lease_look(lease, 0), RH_LEASE_SEEKING);
		assert_string_equal(rh_lease_message(lease), "the server's response is not a valid Lease");
		assert_true(rh_lease_deadline(lease) >= RH_LEASE_RETRY_PERIOD);
	}
}

static void test_lease__release(void **state)
{
	rh_auto(lease) lease = open_lease("me");
	rh_auto(json) body = NULL;

	(void)state;
	become_leader(lease, 0);
	rh_lease_release(lease);
	assert_int_equal(rh_lease_deadline(lease), 0);
	body = expect(lease, 1000, "PUT", PATH "/lead");
	assert_string_equal(rh_json_string_at(body, "spec.holderIdentity"), "");
	assert_true(rh_json_number(rh_json_at(body, "spec.leaseDurationSeconds"), 0) == 1);
	accept_body(lease, 2000, body, 200);
	assert_int_equal(rh_lease_look(lease, 2000), RH_LEASE_RELEASED);
	expect_nothing(lease, RH_LEASE_DURATION);
}

static void test_lease__release_without_having_it(void **state)
{
	rh_auto(lease) early = open_lease("me");
	rh_auto(lease) waiting = open_lease("me");
	rh_auto(lease) leaving = open_lease("me");

	(void)state;
	rh_lease_release(early);
	assert_int_equal(rh_lease_look(early, 0), RH_LEASE_RELEASED);
	assert_null(expect(waiting, 0, "GET", PATH "/lead"));
	answer_held(waiting, 0, "other", 15, 1);
	rh_lease_release(waiting);
	assert_int_equal(rh_lease_look(waiting, 0), RH_LEASE_RELEASED);
	assert_null(expect(leaving, 0, "GET", PATH "/lead"));
	rh_lease_release(leaving);
	assert_int_equal(rh_lease_look(leaving, 0), RH_LEASE_SEEKING);
	answer(leaving, 0, 404, "{}");
	assert_int_equal(rh_lease_look(leaving, 0), RH_LEASE_RELEASED);
}

/* The write that would have made us leader is under way: we get it, do not lead, and give it back. */
static void test_lease__release_while_it_is_won(void **state)
{
	rh_auto(lease) lease = open_lease("me");
	rh_auto(json) won = NULL;
	rh_auto(json) back = NULL;

	(void)state;
	assert_null(expect(lease, 0, "GET", PATH "/lead"));
	answer(lease, 0, 404, "{}");
	won = expect(lease, 0, "POST", PATH);
	rh_lease_release(lease);
	expect_nothing(lease, 1);
	accept_body(lease, 1, won, 201);
	assert_int_equal(rh_lease_look(lease, 1), RH_LEASE_SEEKING);
	back = expect(lease, 1, "PUT", PATH "/lead");
	assert_string_equal(rh_json_string_at(back, "spec.holderIdentity"), "");
	accept_body(lease, 2, back, 200);
	assert_int_equal(rh_lease_look(lease, 2), RH_LEASE_RELEASED);
}

static void test_lease__release_meets_a_conflict(void **state)
{
	rh_auto(lease) lease = open_lease("me");

	(void)state;
	become_leader(lease, 0);
	rh_lease_release(lease);
	for (int i = 0; i < 2; i++) {
		rh_json_free(expect(lease, 10, "PUT", PATH "/lead"));
		answer(lease, 10, 409, "{}");
		assert_null(expect(lease, 10, "GET", PATH "/lead"));
		answer_held(lease, 10, "me", 15, 4);
	}
	rh_json_free(expect(lease, 10, "PUT", PATH "/lead"));
	answer(lease, 10, 409, "{}");
	assert_int_equal(rh_lease_look(lease, 10), RH_LEASE_RELEASED);
}

static void test_lease__release_without_a_server(void **state)
{
	rh_auto(lease) lease = open_lease("me");

	(void)state;
	become_leader(lease, 0);
	rh_lease_release(lease);
	rh_json_free(expect(lease, 0, "PUT", PATH "/lead"));
	answer(lease, 0, 0, "");
	assert_int_equal(rh_lease_look(lease, 0), RH_LEASE_RELEASED);
	assert_string_equal(rh_lease_message(lease), "cut");
}

static void test_lease__options(void **state)
{
	static const struct {
		const char *name;
		struct rh_lease_options options;
		const char *message;
	} rows[] = {
		{"no identity", {.namespace_ = "a", .name = "b"}, "needs a namespace, a name and an identity"},
		{"empty name", {.namespace_ = "a", .name = "", .identity = "c"}, "needs a namespace, a name and an identity"},
		{"a path", {.namespace_ = "a", .name = "b/c", .identity = "c"}, "\"b/c\" in \"a\" is not a name of a Lease"},
		{"deadline", {"a", "b", "c", 10 * RH_SECOND, 10 * RH_SECOND, 0, 0}, "must be longer than the renew deadline"},
		{"retry", {"a", "b", "c", 0, 2 * RH_SECOND, 2 * RH_SECOND, 0}, "longer than the retry period"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_lease *lease = NULL;
		struct rh_error err = {0};

		(void)support_row(rows[i].name);
		assert_int_equal(rh_lease_new(&rows[i].options, &lease, &err), RH_EINVAL);
		assert_non_null(strstr(err.message, rows[i].message));
		assert_null(lease);
	}
	rh_lease_free(NULL);
}

static int lease_all(void *arg)
{
	struct rh_lease_options options = {.namespace_ = "ns", .name = "lead", .identity = "me"};
	struct rh_http_request request;
	rh_auto(lease) lease = NULL;
	int r = rh_lease_new(&options, &lease, NULL);

	(void)arg;
	if (r == 0)
		r = rh_lease_next(lease, 0, WALL, &request, NULL);
	if (r < 0)
		return r;
	answer(lease, 0, 404, "{}");
	r = rh_lease_next(lease, 0, WALL, &request, NULL);
	return r < 0 ? r : 0;
}

static void test_lease__without_memory(void **state)
{
	(void)state;
	support_fail_each(lease_all, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lease__creates_what_is_not_there),
		cmocka_unit_test(test_lease__renews_without_looking),
		cmocka_unit_test(test_lease__waits_for_the_end_of_anothers),
		cmocka_unit_test(test_lease__whose_it_is),
		cmocka_unit_test(test_lease__lost_when_it_cannot_be_renewed),
		cmocka_unit_test(test_lease__late_renewal_does_not_count),
		cmocka_unit_test(test_lease__renewal_counts_from_its_sending),
		cmocka_unit_test(test_lease__conflict_is_looked_at),
		cmocka_unit_test(test_lease__taken_from_the_leader),
		cmocka_unit_test(test_lease__race_to_create),
		cmocka_unit_test(test_lease__forbidden),
		cmocka_unit_test(test_lease__allowed_later),
		cmocka_unit_test(test_lease__forbidden_no_longer_answered),
		cmocka_unit_test(test_lease__refused_after_it_was_read),
		cmocka_unit_test(test_lease__refused_for_a_moment),
		cmocka_unit_test(test_lease__deleted),
		cmocka_unit_test(test_lease__late_win_does_not_count),
		cmocka_unit_test(test_lease__answers_that_make_no_sense),
		cmocka_unit_test(test_lease__release),
		cmocka_unit_test(test_lease__release_without_having_it),
		cmocka_unit_test(test_lease__release_while_it_is_won),
		cmocka_unit_test(test_lease__release_meets_a_conflict),
		cmocka_unit_test(test_lease__release_without_a_server),
		cmocka_unit_test(test_lease__options),
		cmocka_unit_test(test_lease__without_memory),
	};

	return cmocka_run_group_tests_name("kube/lease/lease", tests, NULL, NULL);
}

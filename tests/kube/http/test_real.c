/* SPDX-License-Identifier: Apache-2.0 */
/* On a real API server: $KUBECONFIG is an administrator's, $NOBODY_KUBECONFIG that of a user without rights. */
#include "kube/http/http.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "kube/https.h"
#include "kube/lease/keeper.h"

static void open_real(struct https_client *client, const char *variable)
{
	struct rh_kubeconfig_options options = {.path = getenv(variable)};
	struct rh_kubeconfig *config = NULL;
	struct rh_error err = {0};

	if (rh_kubeconfig_load(&options, &config, &err) < 0)
		fail_msg("%s", err.message);
	https_open(client, config);
}

static size_t count_sockets(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(dir);
	for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		char target[64] = {0};

		if (readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1) > 0)
			count += rh_starts_with(target, "socket:") ? 1 : 0;
	}
	(void)closedir(dir);
	return count;
}

/* The loop may stop when all creates are answered and the watch has reported some. */
static int64_t release_when_answered(void *arg, int64_t now)
{
	struct https_call *seen = arg;

	(void)now;
	seen->client->released =
		seen->client->open == 1 && seen->status == -1 && strstr(rh_str_text(&seen->body), "\"map-1");
	return RH_NEVER;
}

/* Two hundred creates and a watch share a few connections. */
static void test_real__few_connections(void **state)
{
	static const char maps[] = "/api/v1/namespaces/default/configmaps";
	struct rh_http_request watch = {.method = "GET",
	                                .path = "/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0"};
	struct https_client client = {0};
	struct https_call calls[200] = {0};
	auto_https_call seen = {0};
	size_t before = count_sockets();

	(void)state;
	open_real(&client, "KUBECONFIG");
	https_send(&client, &watch, true, &seen);
	for (size_t i = 0; i < 200; i++) {
		rh_auto_free char *body = rh_asprintf("{\"metadata\":{\"name\":\"map-%zu\"},\"data\":{\"a\":\"b\"}}", i);
		struct rh_http_request request = {.method = "POST", .path = maps, .body = body, .body_length = strlen(body)};

		https_send(&client, &request, false, &calls[i]);
	}
	client.step = release_when_answered;
	client.arg = &seen;
	https_wait(&client);
	/* the server ends a watch that is slow to read: that is not ours to judge */
	assert_true(seen.status == -1 || seen.status == 200);
	assert_in_range(count_sockets() - before, 1, 8); /* libcurl has some of its own */
	for (size_t i = 0; i < 200; i++) {
		assert_int_equal(calls[i].status, 201);
		https_call_deinit(&calls[i]);
	}
	rh_http_cancel(client.http, seen.id);
	https_close(&client);
}

/* A list of more than 128 KiB, which the server compresses. */
static void test_real__long_list(void **state)
{
	struct rh_http_request request = {.method = "GET",
	                                  .path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"};
	struct https_client client = {0};
	auto_https_call call = {0};
	rh_auto(json) list = NULL;

	(void)state;
	open_real(&client, "KUBECONFIG");
	https_send(&client, &request, true, &call);
	https_wait(&client);
	assert_int_equal(call.status, 200);
	list = support_json(rh_str_text(&call.body));
	assert_string_equal(rh_json_string_at(list, "kind"), "CustomResourceDefinitionList");
	https_close(&client);
}

static void test_real__who_is_asking(void **state)
{
	static const struct {
		const char *variable;
		int32_t status;
	} rows[] = {
		{"KUBECONFIG", 200}, {"NOBODY_KUBECONFIG", 403}, {"PLUGIN_KUBECONFIG", 403}, {"STRANGER_KUBECONFIG", 401}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct https_client client = {0};
		auto_https_call call = {0};

		(void)support_row(rows[i].variable);
		open_real(&client, rows[i].variable);
		https_get(&client, "/api/v1/namespaces/default/secrets", &call);
		assert_int_equal(call.status, rows[i].status);
		if (rows[i].status == 403 && !strstr(rh_str_text(&call.body), "User \\\"nobody\\\" cannot list"))
			fail_msg("%s", rh_str_text(&call.body));
		https_close(&client);
	}
}

/* Candidates for one Lease. */
struct election {
	struct https_client client;
	struct rh_lease_keeper *keepers[2];
	enum rh_lease_state states[2];
	char message[256];
};

static int64_t election_step(void *arg, int64_t now)
{
	struct election *election = arg;
	int64_t due = RH_NEVER;

	for (int i = 0; i < 2; i++) {
		int64_t own;

		rh_lease_keeper_step(election->keepers[i], now);
		own = rh_lease_keeper_deadline(election->keepers[i]);
		due = own < due ? own : due;
	}
	return due;
}

static void election_note(struct election *election, int which, enum rh_lease_state state, const char *message)
{
	election->states[which] = state;
	rh_copy(election->message, sizeof(election->message), message);
	election->client.released = true;
}

static void election_note_first(void *arg, enum rh_lease_state state, const char *message)
{
	election_note(arg, 0, state, message);
}

static void election_note_second(void *arg, enum rh_lease_state state, const char *message)
{
	election_note(arg, 1, state, message);
}

static void open_election(struct election *election, const char *variable)
{
	rh_lease_changed_fn *const notes[] = {election_note_first, election_note_second};

	open_real(&election->client, variable);
	for (int i = 0; i < 2; i++) {
		struct rh_lease_keeper_options options = {
			.http = election->client.http, .changed = notes[i], .arg = election, .lease = {.namespace_ = "default"}};

		options.lease.name = "1ca428e5.training-operator.kubeflow.org";
		assert_int_equal(rh_lease_keeper_new(&options, &election->keepers[i], NULL), 0);
	}
	election->client.step = election_step;
	election->client.arg = election;
	election->client.open = 1;
}

static void close_election(struct election *election)
{
	rh_lease_keeper_free(election->keepers[0]);
	rh_lease_keeper_free(election->keepers[1]);
	https_close(&election->client);
}

static void test_real__one_leads_then_the_other(void **state)
{
	struct election election = {0};
	int first, second;

	(void)state;
	open_election(&election, "KUBECONFIG");
	https_wait(&election.client);
	first = election.states[0] == RH_LEASE_LEADING ? 0 : 1;
	second = 1 - first;
	assert_int_equal(election.states[first], RH_LEASE_LEADING);
	assert_int_equal(election.states[second], RH_LEASE_SEEKING);
	rh_lease_keeper_release(election.keepers[first]);
	https_wait(&election.client);
	assert_int_equal(election.states[first], RH_LEASE_RELEASED);
	while (election.states[second] != RH_LEASE_LEADING)
		https_wait(&election.client);
	rh_lease_keeper_release(election.keepers[second]);
	https_wait(&election.client);
	assert_int_equal(election.states[second], RH_LEASE_RELEASED);
	close_election(&election);
}

static void test_real__lease_is_forbidden(void **state)
{
	struct election election = {0};

	(void)state;
	open_election(&election, "NOBODY_KUBECONFIG");
	while (election.states[0] == RH_LEASE_SEEKING || election.states[1] == RH_LEASE_SEEKING)
		https_wait(&election.client);
	assert_int_equal(election.states[0], RH_LEASE_FORBIDDEN);
	assert_int_equal(election.states[1], RH_LEASE_FORBIDDEN);
	assert_non_null(strstr(election.message, "User \"nobody\" cannot get resource \"leases\""));
	close_election(&election);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real__few_connections),    cmocka_unit_test(test_real__long_list),
		cmocka_unit_test(test_real__who_is_asking),      cmocka_unit_test(test_real__one_leads_then_the_other),
		cmocka_unit_test(test_real__lease_is_forbidden),
	};

	return cmocka_run_group_tests_name("kube/http_real", tests, NULL, NULL);
}

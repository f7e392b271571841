/* SPDX-License-Identifier: Apache-2.0 */
#include "local/progress/endpoint.h"

#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/support.h"
#include "local/progress/report.h"
#include "local/scratch.h"

#define PATH_A "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs/a/status"
#define PATH_B "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs/b/status"
#define REPORT "{\"trainerStatus\": {\"progressPercentage\": 45}}"

/* Virtual time: the test moves it. */
static int64_t test_time;

/* Stands in for the HTTPS server: requests are passed to the endpoint without a connection. */
static struct rh_progress_server {
	rh_progress_answer_fn *answer;
	void *arg;
} test_server;

static int64_t test_now(void)
{
	return test_time;
}

static int test_open(struct rh_loop *loop, rh_progress_answer_fn *answer, void *arg,
                     struct rh_progress_server **ret_server, struct rh_error *err)
{
	(void)loop;
	(void)err;
	test_server = (struct rh_progress_server){answer, arg};
	*ret_server = &test_server;
	return 0;
}

static uint16_t test_port(const struct rh_progress_server *server)
{
	(void)server;
	return 4711;
}

static const char *test_authority(const struct rh_progress_server *server)
{
	(void)server;
	return "certificate\n";
}

static void test_close(struct rh_progress_server *server)
{
	(void)server;
}

static const struct rh_progress_serving test_serving = {
	.open = test_open, .port = test_port, .authority = test_authority, .close = test_close};

struct fixture {
	char *scratch;
	char *folder;
	struct rh_endpoint *endpoint;
	char *tokens[2];
	size_t reports[2]; /* how many of each job have come */
};

static void on_report(void *arg, size_t index, const struct rh_json *status)
{
	struct fixture *fixture = arg;

	support_assert_json(status, "{\"progressPercentage\":45}");
	fixture->reports[index]++;
}

/* The content of the file that a variable of the job names. */
static char *read_named(const struct rh_endpoint *endpoint, size_t job, size_t variable)
{
	const char *path = strchr(rh_endpoint_variables(endpoint, job)[variable], '=') + 1;
	struct rh_error err = {0};
	size_t length = 0;
	char *text = NULL;

	if (rh_file_read(path, 4096, &text, &length, &err) < 0)
		fail_msg("%s", err.message);
	return text;
}

static int set_up(void **state)
{
	struct fixture *fixture = rh_alloc(sizeof(*fixture));
	struct rh_endpoint_options options = {
		.serving = &test_serving, .report = on_report, .arg = fixture, .now = test_now};
	struct rh_error err = {0};

	*fixture = (struct fixture){.scratch = test_scratch()};
	fixture->folder = rh_path_join(fixture->scratch, "progress");
	options.folder = fixture->folder;
	test_time = 1000 * RH_SECOND;
	if (rh_endpoint_new(&options, &fixture->endpoint, &err) < 0 ||
	    rh_endpoint_add(fixture->endpoint, "default", "a", &err) < 0 ||
	    rh_endpoint_add(fixture->endpoint, "default", "b", &err) < 0)
		fail_msg("%s", err.message);
	for (size_t i = 0; i < 2; i++)
		fixture->tokens[i] = read_named(fixture->endpoint, i, 2);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	rh_endpoint_free(fixture->endpoint);
	for (size_t i = 0; i < 2; i++)
		rh_free(fixture->tokens[i]);
	rh_free(fixture->folder);
	test_scratch_remove(fixture->scratch);
	rh_free(fixture);
	return 0;
}

static unsigned post(const char *path, const char *token, const char *text)
{
	rh_auto_free char *authorization = rh_asprintf("Bearer %s", token);
	const struct rh_progress_request request = {
		.method = "POST", .path = path, .authorization = authorization, .body = text, .body_length = strlen(text)};
	rh_auto_str body = {0};

	return test_server.answer(test_server.arg, &request, &body);
}

static void test_endpoint__variables(void **state)
{
	const struct fixture *fixture = *state;
	const char *const *variables = rh_endpoint_variables(fixture->endpoint, 1);
	rh_auto_free char *authority = read_named(fixture->endpoint, 1, 1);

	assert_string_equal(variables[0], "KUBEFLOW_TRAINER_SERVER_URL=https://127.0.0.1:4711" PATH_B);
	assert_ptr_equal(strstr(variables[1], "KUBEFLOW_TRAINER_SERVER_CA_CERT="), variables[1]);
	assert_ptr_equal(strstr(variables[2], "KUBEFLOW_TRAINER_SERVER_TOKEN="), variables[2]);
	assert_null(variables[3]);
	assert_string_equal(authority, "certificate\n");
	assert_int_equal(strlen(fixture->tokens[0]), 64);
	assert_string_not_equal(fixture->tokens[0], fixture->tokens[1]);
}

static void test_endpoint__only_the_token_of_the_job(void **state)
{
	const struct fixture *fixture = *state;

	assert_int_equal(post(PATH_A, fixture->tokens[0], REPORT), 200);
	assert_int_equal(post(PATH_B, fixture->tokens[1], REPORT), 200);
	assert_int_equal(post(PATH_A, fixture->tokens[1], REPORT), 403);
	assert_int_equal(post(PATH_A, "", REPORT), 403);
	assert_int_equal(post(PATH_A "/x", fixture->tokens[0], REPORT), 404);
	assert_int_equal(fixture->reports[0], 1);
	assert_int_equal(fixture->reports[1], 1);
}

/* A burst, then one in each period; the other job has a rate of its own. */
static void test_endpoint__rate(void **state)
{
	const struct fixture *fixture = *state;

	for (int i = 0; i < RH_ENDPOINT_BURST; i++)
		assert_int_equal(post(PATH_A, fixture->tokens[0], REPORT), 200);
	assert_int_equal(post(PATH_A, fixture->tokens[0], REPORT), 429);
	assert_int_equal(post(PATH_B, fixture->tokens[1], REPORT), 200);
	test_time += RH_ENDPOINT_PERIOD - 1;
	assert_int_equal(post(PATH_A, fixture->tokens[0], REPORT), 429);
	test_time++;
	assert_int_equal(post(PATH_A, fixture->tokens[0], REPORT), 200);
	assert_int_equal(post(PATH_A, fixture->tokens[0], REPORT), 429);
	/* what was refused counts for nothing: the burst is whole again after as many periods */
	test_time += RH_ENDPOINT_BURST * RH_ENDPOINT_PERIOD;
	for (int i = 0; i < RH_ENDPOINT_BURST; i++)
		assert_int_equal(post(PATH_A, fixture->tokens[0], REPORT), 200);
	assert_int_equal(post(PATH_A, fixture->tokens[0], REPORT), 429);
	assert_int_equal(fixture->reports[0], 2 * RH_ENDPOINT_BURST + 1);
}

/* Who has no token of the job takes nothing of its rate; a report with an error does. */
static void test_endpoint__what_counts_for_the_rate(void **state)
{
	const struct fixture *fixture = *state;

	for (int i = 0; i < 2 * RH_ENDPOINT_BURST; i++)
		assert_int_equal(post(PATH_A, fixture->tokens[1], REPORT), 403);
	for (int i = 0; i < RH_ENDPOINT_BURST; i++)
		assert_int_equal(post(PATH_A, fixture->tokens[0], "[]"), 422);
	assert_int_equal(post(PATH_A, fixture->tokens[0], REPORT), 429);
	assert_int_equal(fixture->reports[0], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_endpoint__variables, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_endpoint__only_the_token_of_the_job, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_endpoint__rate, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_endpoint__what_counts_for_the_rate, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

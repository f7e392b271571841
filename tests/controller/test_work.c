/* SPDX-License-Identifier: Apache-2.0 */
/* One turn of the controller's loop leads from an event to requests, and each part's deadline wakes the loop. */
#include <string.h>

#include "base/log.h"
#include "base/os/clock.h"
#include "base/support.h"
#include "controller/parts.h"
#include "kube/fake_http.h"

/* The virtual clocks begin here. Requests are due at times of the real clock, which is behind. */
#define MONOTONIC (rh_clock_monotonic() + 3600 * RH_SECOND)
#define WALL (INT64_C(1767225600) * RH_SECOND)
/* Most turns until all lists are answered. */
#define TURNS_MAX 20

#define JOB(labels)                                                                                                  \
	"{\"type\":\"ADDED\",\"object\":{\"apiVersion\":\"kubeflow.org/v1\",\"kind\":\"PyTorchJob\",\"metadata\":{"      \
	"\"name\":\"j\",\"namespace\":\"d\",\"uid\":\"u\",\"resourceVersion\":\"7\"," labels                             \
	"\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{\"pytorchReplicaSpecs\":{\"Master\":{\"replicas\":1," \
	"\"template\":{\"spec\":{\"containers\":[{\"name\":\"pytorch\",\"image\":\"i\"}]}}}}}}}\n"

/* A controller without servers and election, whose API server is the test. */
struct stage {
	struct rh_config *config;
	struct rh_controller_options options;
	struct rh_controller controller;
};

static int64_t turn(struct stage *stage, int64_t later)
{
	struct rh_controller *controller = &stage->controller;

	controller->clock += later;
	controller->wall += later;
	return rh_loop_turn(controller->loop, controller->clock);
}

/* Answer what lists objects: there are none. @return whether something was answered */
static bool answer_lists(struct stage *stage)
{
	struct rh_http *http = stage->controller.http;
	struct fake_call *call;

	for (size_t i = 0; (call = fake_http_call(http, i)); i++) {
		if (strcmp(call->method, "GET") == 0 && !strstr(call->path, "watch=true")) {
			fake_http_answer(http, call, 200, "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}");
			return true;
		}
	}
	return false;
}

static void stage_open(struct stage *stage)
{
	struct rh_controller *controller = &stage->controller;
	struct rh_error err = {0};

	rh_log_setup(RH_LOG_ERROR + 1, false);
	stage->options.kueue = true;
	stage->config = rh_config_new();
	assert_non_null(stage->config);
	*controller = (struct rh_controller){.options = &stage->options,
	                                     .plugins.config = stage->config,
	                                     .state = RH_CONTROLLER_WORKING,
	                                     .clock = MONOTONIC,
	                                     .wall = WALL,
	                                     .http = fake_http_new(),
	                                     .metrics = rh_metrics_new()};
	controller->watch_http = controller->http;
	if (rh_host_new(stage->config, &controller->plugins.host, &err) < 0 ||
	    rh_host_load_file(controller->plugins.host, RH_PLUGIN_DIR "/pytorch.so", &err) < 0 ||
	    rh_loop_new(&controller->loop, &err) < 0 || rh_work_start(controller, &err) < 0 ||
	    rh_work_add_sources(controller, &err) < 0)
		fail_msg("%s", err.message);
	for (int i = 0; i < TURNS_MAX && !controller->ready; i++) {
		(void)turn(stage, 0);
		while (answer_lists(stage))
			continue;
	}
	assert_true(controller->ready);
	(void)turn(stage, 0); /* all that is left are watches */
}

static void stage_close(struct stage *stage)
{
	struct rh_controller *controller = &stage->controller;

	rh_work_stop(controller);
	assert_int_equal(fake_http_count(controller->http), 0);
	rh_http_free(controller->http);
	rh_metrics_free(controller->metrics);
	rh_host_free(controller->plugins.host);
	rh_config_free(stage->config);
	rh_loop_free(controller->loop);
}

#define auto_stage __attribute__((cleanup(stage_close))) struct stage

/* The watch of the jobs has this event. */
static void emit(struct stage *stage, const char *event)
{
	struct rh_http *http = stage->controller.http;
	struct fake_call *call = fake_http_find(http, "GET", "/pytorchjobs?");

	assert_non_null(call);
	assert_true(fake_http_feed(http, call, event, strlen(event)));
}

#define QUEUED "\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"},"

/* @return Kueue's request to suspend the job, borrowed; NULL: none is in flight */
static struct fake_call *find_suspend(const struct stage *stage)
{
	struct fake_call *call;

	for (size_t i = 0; (call = fake_http_call(stage->controller.http, i)); i++) {
		if (strcmp(call->method, "PATCH") == 0 && rh_ends_with(call->path, "/pytorchjobs/j") &&
		    strstr(call->body, "\"suspend\":true"))
			return call;
	}
	return NULL;
}

/* The engine precedes the store. */
static void test_work__a_decision_is_sent_in_its_turn(void **state)
{
	auto_stage stage = {0};

	(void)state;
	stage_open(&stage);
	emit(&stage, JOB(""));
	(void)turn(&stage, 0);
	assert_non_null(fake_http_find(stage.controller.http, "POST", "/namespaces/d/pods"));
}

/* Kueue follows the engine, from which it gets the job, and precedes the store. */
static void test_work__a_job_is_suspended_in_its_turn(void **state)
{
	auto_stage stage = {0};

	(void)state;
	stage_open(&stage);
	emit(&stage, JOB(QUEUED));
	(void)turn(&stage, 0);
	assert_non_null(find_suspend(&stage));
	assert_null(fake_http_find(stage.controller.http, "POST", "/namespaces/d/pods"));
}

/* The time at which Kueue tries again is a deadline of the loop, which turns at exactly that time. */
static void test_work__kueue_wakes_the_loop(void **state)
{
	auto_stage stage = {0};
	const struct rh_controller *controller = &stage.controller;
	int64_t due;
	int64_t again;

	(void)state;
	stage_open(&stage);
	emit(&stage, JOB(QUEUED));
	(void)turn(&stage, 0);
	fake_http_answer(stage.controller.http, find_suspend(&stage), 500, "{}");
	due = turn(&stage, 0);
	again = rh_kueue_deadline(controller->kueue) - controller->wall + controller->clock;
	assert_true(again > controller->clock);
	assert_null(find_suspend(&stage));
	for (int i = 0; i < TURNS_MAX && due < again; i++)
		due = turn(&stage, due - controller->clock);
	assert_true(due == again);
	assert_null(find_suspend(&stage));
	(void)turn(&stage, due - controller->clock);
	assert_non_null(find_suspend(&stage));
}

/* An instance that stands by knows the jobs, and decides in the first turn in which it works. */
static void test_work__nothing_is_decided_on_standby(void **state)
{
	auto_stage stage = {0};

	(void)state;
	stage_open(&stage);
	stage.controller.state = RH_CONTROLLER_STANDBY;
	emit(&stage, JOB(""));
	(void)turn(&stage, 0);
	assert_null(fake_http_find(stage.controller.http, "POST", "/namespaces/d/pods"));
	stage.controller.state = RH_CONTROLLER_WORKING;
	(void)turn(&stage, 0);
	assert_non_null(fake_http_find(stage.controller.http, "POST", "/namespaces/d/pods"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work__a_decision_is_sent_in_its_turn),
		cmocka_unit_test(test_work__a_job_is_suspended_in_its_turn),
		cmocka_unit_test(test_work__kueue_wakes_the_loop),
		cmocka_unit_test(test_work__nothing_is_decided_on_standby),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

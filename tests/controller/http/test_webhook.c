/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/webhook.h"

#include <dirent.h>
#include <string.h>

#include "base/os/file.h"
#include "base/support.h"
#include "base/yaml.h"

#define INVALID RH_GOLDENS "/invalid"

/* All plugins of this build, and what a webhook answers. */
struct stage {
	struct rh_config *config;
	struct rh_host *host;
	struct rh_metrics *metrics;
	struct rh_webhook webhook;
	struct rh_httpd_reply reply;
	struct rh_json *answer;
};

static void open_stage(struct stage *stage)
{
	struct rh_error err = {0};

	memset(stage, 0, sizeof(*stage));
	stage->config = rh_config_new();
	assert_non_null(stage->config);
	assert_int_equal(rh_config_parse(stage->config, "/x/roundhouse.ini", "[plugins]\npath = " RH_PLUGIN_DIR "\n",
	                                 strlen("[plugins]\npath = " RH_PLUGIN_DIR "\n"), &err),
	                 0);
	assert_int_equal(rh_host_new(stage->config, &stage->host, &err), 0);
	assert_int_equal(rh_host_load_all(stage->host, &err), 0);
	stage->metrics = rh_metrics_new();
	stage->webhook = (struct rh_webhook){.host = stage->host, .metrics = stage->metrics};
}

static void clear(struct stage *stage)
{
	rh_str_deinit(&stage->reply.body);
	rh_json_free(stage->answer);
	stage->answer = NULL;
	stage->reply = (struct rh_httpd_reply){.status = 404, .content_type = "text/plain"};
}

static void close_stage(struct stage *stage)
{
	clear(stage);
	rh_metrics_free(stage->metrics);
	rh_host_free(stage->host);
	rh_config_free(stage->config);
}

/* Post @p body. @return whether the path is a webhook's */
static bool post(struct stage *stage, const char *path, const char *body)
{
	const struct rh_httpd_request request = {
		.method = "POST", .path = path, .query = "", .body = body, .body_length = strlen(body)};
	bool mine;

	clear(stage);
	mine = rh_webhook_answer(&stage->webhook, &request, &stage->reply);
	if (stage->reply.status == 200)
		stage->answer = support_json(rh_str_text(&stage->reply.body));
	return mine;
}

static struct rh_json *from_yaml(const char *text)
{
	struct rh_json *documents = NULL;
	struct rh_json *object;
	struct rh_error err = {0};

	if (rh_yaml_parse(text, strlen(text), &documents, &err) < 0)
		fail_msg("%s", err.message);
	object = rh_json_detach_item(documents, 0);
	rh_json_free(documents);
	return object;
}

/* Post a review of @p object, which is taken, and of @p old (NULL: it is new), likewise. */
static void review(struct stage *stage, const char *path, struct rh_json *object, struct rh_json *old)
{
	rh_auto(json) body = rh_json_new_object();
	struct rh_json *request = rh_json_ensure_object(body, "request");
	rh_auto_free char *text = NULL;

	rh_json_set_string(request, "uid", "u-1");
	rh_json_set_string(request, "operation", old ? "UPDATE" : "CREATE");
	rh_json_set(request, "object", object);
	if (old)
		rh_json_set(request, "oldObject", old);
	text = rh_json_text(body);
	assert_true(post(stage, path, text));
	assert_int_equal(stage->reply.status, 200);
	assert_string_equal(rh_json_string_at(stage->answer, "apiVersion"), "admission.k8s.io/v1");
	assert_string_equal(rh_json_string_at(stage->answer, "kind"), "AdmissionReview");
	assert_string_equal(rh_json_string_at(stage->answer, "response.uid"), "u-1");
}

static bool allowed(const struct stage *stage)
{
	return rh_json_bool(rh_json_at(stage->answer, "response.allowed"), false);
}

static const char *stage_message(const struct stage *stage)
{
	const char *text = rh_json_string_at(stage->answer, "response.status.message");

	return text ? text : "";
}

#define PYTORCH "/validate-kubeflow-org-v1-pytorchjob"
#define CONTAINERS "spec.pytorchReplicaSpecs[Worker].template.spec.containers"

/* A job with two types; @p policy stands below runPolicy, @p master is its number of replicas. */
static struct rh_json *job(const char *policy, const char *master)
{
	rh_auto_free char *text =
		rh_asprintf("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: mnist, namespace: team}\n"
	                "spec:\n  runPolicy: {%s}\n  pytorchReplicaSpecs:\n"
	                "    Master: {replicas: %s, template: {spec: {containers: [{name: pytorch, image: i}]}}}\n"
	                "    Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, image: i}]}}}\n",
	                policy, master);

	return from_yaml(text);
}

static void test_webhook__good_job(void **state)
{
	const char *const labels[] = {"PyTorchJob", "true"};
	struct stage stage;

	(void)state;
	open_stage(&stage);
	review(&stage, PYTORCH, job("", "1"), NULL);
	assert_true(allowed(&stage));
	assert_null(rh_json_at(stage.answer, "response.status"));
	assert_null(rh_json_at(stage.answer, "response.warnings"));
	assert_int_equal(rh_metrics_value(stage.metrics, RH_METRIC_WEBHOOK_REQUESTS, labels), 1);
	close_stage(&stage);
}

static void test_webhook__bad_job(void **state)
{
	struct stage stage;

	(void)state;
	open_stage(&stage);
	review(&stage, PYTORCH, job("", "2"), NULL);
	assert_false(allowed(&stage));
	assert_string_equal(stage_message(&stage), "spec.pytorchReplicaSpecs[Master].replicas: Forbidden: must be 1");
	assert_string_equal(rh_json_string_at(stage.answer, "response.status.reason"), "Forbidden");
	assert_int_equal(rh_json_number(rh_json_at(stage.answer, "response.status.code"), 0), 403);
	close_stage(&stage);
}

/* Containers without a name, in V1's words; where V1 had none, the API server's own of the pod. */
static void test_webhook__containers_without_a_name(void **state)
{
	static const struct {
		const char *containers, *message;
	} rows[] = {
		{"{image: i}", CONTAINERS ": Required value: must have at least one container with name pytorch"},
		{"{name: '', image: i}", CONTAINERS ": Required value: must have at least one container with name pytorch"},
		{"{name: a, image: i}, {image: i}",
	     CONTAINERS ": Required value: must have at least one container with name pytorch"},
		{"{name: pytorch, image: i}, {name: '', image: i}", CONTAINERS "[1].name: Required value"},
	};
	struct stage stage;

	(void)state;
	open_stage(&stage);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *text =
			rh_asprintf("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\n"
		                "spec: {pytorchReplicaSpecs: {Worker: {template: {spec: {containers: [%s]}}}}}\n",
		                rows[i].containers);

		support_row(rows[i].containers);
		review(&stage, PYTORCH, from_yaml(text), NULL);
		assert_false(allowed(&stage));
		assert_string_equal(stage_message(&stage), rows[i].message);
	}
	close_stage(&stage);
}

/* A change of a job: what was wrong before may stay wrong. */
struct change {
	const char *name;
	const char *policy[2];
	const char *master[2];
	const char *message; /* "": it is allowed */
};

static const struct change changes[] = {
	{"nothing", {"", ""}, {"1", "1"}, ""},
	{"suspended", {"", "suspend: true"}, {"1", "1"}, ""},
	{"made wrong", {"", ""}, {"1", "2"}, "spec.pytorchReplicaSpecs[Master].replicas: Forbidden: must be 1"},
	{"was wrong", {"", "suspend: true"}, {"2", "2"}, ""},
	{"mended", {"", ""}, {"2", "1"}, ""},
	{"queue changed",
     {"schedulingPolicy: {queue: a}", "schedulingPolicy: {queue: b}"},
     {"1", "1"},
     "spec.runPolicy.schedulingPolicy.queue"},
};

static void test_webhook__changes(void **state)
{
	struct stage stage;

	(void)state;
	open_stage(&stage);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const struct change *change = &changes[i];

		support_row(change->name);
		review(&stage, PYTORCH, job(change->policy[1], change->master[1]), job(change->policy[0], change->master[0]));
		assert_int_equal(allowed(&stage), !*change->message);
		assert_non_null(strstr(stage_message(&stage), change->message));
	}
	close_stage(&stage);
}

/* What nobody understands is refused; one that is stored like that can be changed, or nobody could delete it. */
static void test_webhook__not_understood(void **state)
{
	static const char broken[] = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: mnist}\nspec: 3\n";
	struct stage stage;

	(void)state;
	open_stage(&stage);
	review(&stage, PYTORCH, from_yaml(broken), NULL);
	assert_false(allowed(&stage));
	assert_int_equal(rh_json_number(rh_json_at(stage.answer, "response.status.code"), 0), 400);
	assert_non_null(strstr(stage_message(&stage), "spec"));
	review(&stage, PYTORCH, from_yaml(broken), from_yaml(broken));
	assert_true(allowed(&stage));
	review(&stage, PYTORCH, from_yaml(broken), job("", "1"));
	assert_false(allowed(&stage));
	review(&stage, PYTORCH, job("", "1"), from_yaml(broken));
	assert_true(allowed(&stage));
	close_stage(&stage);
}

static void test_webhook__warnings(void **state)
{
	struct stage stage;
	struct rh_json *object = job("", "1");

	(void)state;
	open_stage(&stage);
	assert_int_equal(rh_json_set_string(rh_json_at(object, "spec.pytorchReplicaSpecs.Worker.template.spec"),
	                                    "restartPolicy", "Always"),
	                 0);
	review(&stage, PYTORCH, object, NULL);
	assert_true(allowed(&stage));
	assert_int_equal(rh_json_size(rh_json_at(stage.answer, "response.warnings")), 1);
	assert_non_null(strstr(rh_json_string_at(stage.answer, "response.warnings[0]"), "restartPolicy"));
	close_stage(&stage);
}

/* A request and the status of its answer; 0: it is not for a webhook. */
struct request {
	const char *name;
	const char *path;
	const char *body;
	unsigned int status;
};

static const struct request requests[] = {
	{"another page", "/metrics", "{}", 0},
	{"unknown kind", "/validate-kubeflow-org-v1-tensorjob", "{}", 404},
	{"longer kind", PYTORCH "s", "{}", 404},
	{"no JSON", PYTORCH, "{", 400},
	{"no review", PYTORCH, "{}", 400},
	{"no object", PYTORCH, "{\"request\":[]}", 400},
	{"a list", PYTORCH, "[1]", 400},
	{"delete", PYTORCH, "{\"request\":{\"uid\":\"u\",\"operation\":\"DELETE\"}}", 200},
	{"status", PYTORCH, "{\"request\":{\"uid\":\"u\",\"operation\":\"UPDATE\",\"subResource\":\"status\"}}", 200},
	{"nothing to look at", PYTORCH, "{\"request\":{}}", 200},
};

static void test_webhook__requests(void **state)
{
	struct stage stage;

	(void)state;
	open_stage(&stage);
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		support_row(requests[i].name);
		assert_int_equal(post(&stage, requests[i].path, requests[i].body), requests[i].status != 0);
		if (requests[i].status)
			assert_int_equal(stage.reply.status, requests[i].status);
		if (requests[i].status == 200)
			assert_true(allowed(&stage));
	}
	close_stage(&stage);
}

static bool serves_none(void *arg, const struct rh_kind *kind)
{
	(void)arg;
	(void)kind;
	return false;
}

static void test_webhook__kind_is_not_served(void **state)
{
	const struct rh_httpd_request get = {.method = "GET", .path = PYTORCH, .query = "", .body = ""};
	struct stage stage;

	(void)state;
	open_stage(&stage);
	stage.reply.status = 404;
	assert_true(rh_webhook_answer(&stage.webhook, &get, &stage.reply));
	assert_int_equal(stage.reply.status, 405);
	stage.webhook.serves = serves_none;
	assert_true(post(&stage, PYTORCH, "{}"));
	assert_int_equal(stage.reply.status, 404);
	close_stage(&stage);
}

/* Our words without the remarks that V1 did not make; owned by the caller. */
static char *without_remarks(const char *text)
{
	static const char remark[] = "; did you mean ";
	rh_auto_str out = {0};

	while (*text) {
		const char *at = strstr(text, remark);

		rh_str_append_bytes(&out, text, at ? (size_t)(at - text) : strlen(text));
		text = at ? strchr(at, '?') + 1 : "";
	}
	return rh_str_take(&out);
}

/* What V1's webhook refused is refused in its words. */
static void check_golden(struct stage *stage, const char *name, const char *expected)
{
	rh_auto_free char *path = rh_asprintf(INVALID "/%s.yaml", name);
	rh_auto_free char *page = NULL;
	rh_auto_free char *text = NULL;
	struct rh_json *object;
	rh_auto_free char *message = NULL;
	char kind[64] = "";

	assert_int_equal(rh_file_read(path, 1000000, &text, NULL, NULL), 0);
	object = from_yaml(text);
	rh_copy(kind, sizeof(kind), rh_json_string_at(object, "kind"));
	for (char *at = kind; *at; at++)
		*at = (char)(*at >= 'A' && *at <= 'Z' ? *at + 'a' - 'A' : *at);
	page = rh_asprintf("/validate-kubeflow-org-v1-%s", kind);
	review(stage, page, object, NULL);
	assert_false(allowed(stage));
	message = without_remarks(stage_message(stage));
	assert_string_equal(message, expected);
}

static void test_webhook__v1_words(void **state)
{
	rh_auto_free char *text = NULL;
	rh_auto(json) messages = NULL;
	struct stage stage;
	int checked = 0;

	(void)state;
	open_stage(&stage);
	assert_int_equal(rh_file_read(INVALID "/messages.json", 1000000, &text, NULL, NULL), 0);
	messages = support_json(text);
	for (const struct rh_json *row = rh_json_first(messages); row; row = rh_json_next(row)) {
		const char *by = rh_json_string_at(row, "by");

		if (!by || strcmp(by, "webhook") != 0)
			continue;
		support_row(rh_json_key(row));
		check_golden(&stage, rh_json_key(row), rh_json_string_at(row, "message"));
		checked++;
	}
	assert_true(checked > 5);
	close_stage(&stage);
}

static void test_webhook__memory_is_out(void **state)
{
	rh_auto_free char *body =
		rh_strdup("{\"request\":{\"uid\":\"u\",\"operation\":\"CREATE\",\"object\":{\"apiVersion\":"
	              "\"kubeflow.org/v1\",\"kind\":\"PyTorchJob\",\"metadata\":{\"name\":\"m\"},"
	              "\"spec\":{\"pytorchReplicaSpecs\":{\"Master\":{\"replicas\":2}}}}}}");
	const struct rh_httpd_request request = {
		.method = "POST", .path = PYTORCH, .query = "", .body = body, .body_length = strlen(body)};
	struct stage stage;

	(void)state;
	open_stage(&stage);
	for (long n = 0; stage.reply.status != 200 || stage.reply.body.failed; n++) {
		assert_true(n < 5000);
		clear(&stage);
		rh_mem_fail_after(n);
		assert_true(rh_webhook_answer(&stage.webhook, &request, &stage.reply));
		rh_mem_fail_after(-1);
		/* never a wrong answer: all of it, or none */
		if (stage.reply.status == 200 && !stage.reply.body.failed)
			assert_non_null(strstr(rh_str_text(&stage.reply.body), "\"allowed\":false"));
	}
	close_stage(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_webhook__good_job),
		cmocka_unit_test(test_webhook__bad_job),
		cmocka_unit_test(test_webhook__containers_without_a_name),
		cmocka_unit_test(test_webhook__changes),
		cmocka_unit_test(test_webhook__not_understood),
		cmocka_unit_test(test_webhook__warnings),
		cmocka_unit_test(test_webhook__requests),
		cmocka_unit_test(test_webhook__kind_is_not_served),
		cmocka_unit_test(test_webhook__v1_words),
		cmocka_unit_test(test_webhook__memory_is_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/log.h"
#include "base/support.h"
#include "controller/parts.h"

/* A host with one real plugin. */
struct stage {
	struct rh_config *config;
	struct rh_host *host;
	struct rh_kubeconfig who;
};

static void open_stage(struct stage *stage)
{
	struct rh_error err = {0};

	stage->config = rh_config_new();
	assert_non_null(stage->config);
	assert_int_equal(rh_host_new(stage->config, &stage->host, &err), 0);
	if (rh_host_load_file(stage->host, RH_PLUGIN_DIR "/pytorch.so", &err) < 0)
		fail_msg("%s", err.message);
	rh_log_setup(RH_LOG_ERROR, false);
	stage->who = (struct rh_kubeconfig){
		.server = (char *)"https://a:1",
		.context = (char *)"c",
		.user = (char *)"u",
		.user_at = (char *)"f: users[0].user",
		.token = (char *)"t",
	};
}

static void close_stage(struct stage *stage)
{
	rh_host_free(stage->host);
	rh_config_free(stage->config);
}

struct row {
	const char *name;
	struct rh_kube_problem problem;
	const char *hint; /* part of it; NULL: none */
};

static const struct rh_resource jobs = {"kubeflow.org/v1", "PyTorchJob", "pytorchjobs"};
static const struct rh_resource groups = {"scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups"};
static const struct rh_resource others = {"kubeflow.org/v1", "PyTorchJobX", "pytorchjobsx"};

static const struct row rows[] = {
	{"requests", {NULL, "requests", "authenticate", "", 403, "no"}, NULL},
	{"no CRD",
     {&jobs, "pytorchjobs.kubeflow.org", "list", "", 404, "not found"},
     "roundhouse crds --kind PyTorchJob | kubectl"},
	{"no other resource",
     {&groups, "podgroups.scheduling.volcano.sh", "list", "", 404, "not found"},
     "install what defines it"},
	{"a longer name", {&others, "pytorchjobsx.kubeflow.org", "list", "", 404, "not found"}, "install what defines it"},
	{"no right",
     {&jobs, "pytorchjobs.kubeflow.org", "watch", "", 403, "no"},
     "ClusterRole of its service account: {apiGroups: [\"kubeflow.org\"], resources: [pytorchjobs], verbs: [list, "
     "watch]}"},
	{"no right in a namespace",
     {&rh_resource_pods, "pods", "list", "team", 403, "no"},
     "to the Role of its service account: {apiGroups: [\"\"], resources: [pods]"},
	{"credentials",
     {&rh_resource_pods, "pods", "list", "", 401, "no"},
     "context \"c\", user \"u\": the token in f: users[0].user.token is not accepted; renew it"},
	{"server", {&rh_resource_pods, "pods", "list", "", 500, "no"}, NULL},
	{"connection", {&rh_resource_pods, "pods", "list", "", 0, "refused"}, NULL},
};

static void test_problems__hint(void **state)
{
	struct stage stage = {0};

	(void)state;
	open_stage(&stage);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct rh_problems problems = {.kubeconfig = &stage.who};
		rh_auto_str out = {0};

		support_row(rows[i].name);
		rh_problem_hint(&problems, stage.host, &rows[i].problem, &out);
		if (rows[i].hint)
			assert_non_null(strstr(rh_str_text(&out), rows[i].hint));
		else
			assert_int_equal(out.length, 0);
	}
	close_stage(&stage);
}

static void check_list(const struct rh_problems *problems, const char *expected)
{
	rh_auto(json) list = rh_json_new_array();

	assert_int_equal(rh_problems_json(problems, list), 0);
	support_assert_json(list, expected);
}

static void test_problems__come_and_go(void **state)
{
	struct stage stage = {0};
	struct rh_problems problems = {0};
	struct rh_kube_problem problem = {&rh_resource_pods, "pods", "list", "team", 500, "first"};

	(void)state;
	open_stage(&stage);
	check_list(&problems, "[]");
	rh_problems_report(&problems, stage.host, &problem);
	problem.message = "second";
	rh_problems_report(&problems, stage.host, &problem);
	check_list(&problems, "[{\"resource\":\"pods\",\"verb\":\"list\",\"namespace\":\"team\",\"status\":500,"
	                      "\"message\":\"second\"}]");
	problem.status = 200;
	rh_problems_report(&problems, stage.host, &problem);
	rh_problems_report(&problems, stage.host, &problem);
	check_list(&problems, "[]");
	rh_problems_deinit(&problems);
	rh_problems_deinit(&problems);
	close_stage(&stage);
}

/* What cannot be kept is not kept; nothing else happens. */
static void test_problems__memory_is_out(void **state)
{
	struct stage stage = {0};
	const struct rh_kube_problem problem = {&rh_resource_pods, "pods", "list", "team", 500, "first"};

	(void)state;
	open_stage(&stage);
	rh_log_setup(RH_LOG_ERROR + 1, false);
	for (long n = 0; n < 20; n++) {
		struct rh_problems problems = {0};

		rh_mem_fail_after(n);
		rh_problems_report(&problems, stage.host, &problem);
		rh_mem_fail_after(-1);
		rh_problems_deinit(&problems);
	}
	close_stage(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_problems__hint),
		cmocka_unit_test(test_problems__come_and_go),
		cmocka_unit_test(test_problems__memory_is_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* expand.c: a plugin gives the replica types of a job, and what it gives is checked. */
#include <string.h>

#include "abi/plugins/both.h"
#include "job/expansion.h"
#include "job/lookups/lookup_files.h"

static const char expand_job[] = "apiVersion: example.org/v1\n"
								 "kind: NodesJob\n"
								 "metadata: {name: j, uid: u, namespace: ns}\n"
								 "spec: {runtimeRef: {name: torch}, trainer: {numNodes: 3}}\n";

static const char expand_runtime[] =
	"{metadata: {name: torch}, spec: {node: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}},"
	" runPolicy: {backoffLimit: 2, cleanPodPolicy: All}}}";

static const char expand_launcher[] =
	"{metadata: {name: torch}, spec: {launcher: {spec: {containers: [{name: l, image: l}]}},"
	" node: {spec: {containers: [{name: c, image: i}]}}}}";

/* Give the fixture's job the runtime @p yaml. @return owned by the caller, borrowed by the fixture */
static struct rh_lookups *expand_look_up(struct fixture *fixture, const char *yaml)
{
	struct rh_lookups *lookups = NULL;
	rh_auto(json) object = yaml ? fixture_yaml(yaml) : NULL;

	assert_int_equal(rh_lookups_new(fixture->job, &lookups), 0);
	assert_int_equal(rh_lookups_keep(lookups, rh_lookups_due(lookups), object), 0);
	fixture->snapshot.lookups = lookups;
	return lookups;
}

static int expand_do(struct fixture *fixture)
{
	return rh_host_expand(&fixture->snapshot, fixture->job, &fixture->err);
}

static void expand_assert_findings(struct fixture *fixture, const char *want)
{
	rh_auto_findings findings = {0};
	rh_auto_str text = {0};

	assert_int_equal(rh_host_validate(&fixture->snapshot, &findings, &fixture->err), 0);
	rh_findings_print_v1(&findings, &text);
	assert_string_equal(rh_str_text(&text), want);
}

static void test_expand__types(void **state)
{
	auto_fixture fixture;

	both_open(&fixture, state, expand_job);
	rh_auto(lookups) lookups = expand_look_up(&fixture, expand_runtime);
	rh_auto(json) pod = NULL;

	assert_false(rh_job_is_expanded(fixture.job));
	assert_int_equal(expand_do(&fixture), 0);
	assert_true(rh_job_is_expanded(fixture.job));
	assert_int_equal(fixture.job->spec_count, 1);
	assert_int_equal(fixture.job->specs[0].replicas, 3);
	assert_int_equal(fixture.job->specs[0].policy, RH_RESTART_ON_FAILURE);
	assert_int_equal(fixture.job->policy.backoff_limit, 2);
	assert_int_equal(fixture.job->policy.clean, RH_CLEAN_ALL);
	assert_int_equal(fixture.job->policy.ttl_seconds, -1);
	expand_assert_findings(&fixture, "");
	pod = both_pod(&fixture, "node", 1);
	both_assert_text(pod, "metadata.name", "j-node-1");
	both_assert_text(pod, "metadata.labels.a", "b");
	both_assert_text(pod, "spec.containers[0].env[0].value", "3 1 1");
	both_assert_text(pod, "spec.containers[0].env[1].value", "j-node-0");
	both_assert_text(pod, "spec.restartPolicy", "OnFailure");
}

/* Flags of a type that the kind does not describe; types stand in the plugin's order. */
static void test_expand__flags(void **state)
{
	auto_fixture fixture;

	both_open(&fixture, state, expand_job);
	rh_auto(lookups) lookups = expand_look_up(&fixture, expand_launcher);
	rh_auto(json) pod = NULL;

	assert_int_equal(expand_do(&fixture), 0);
	assert_int_equal(fixture.job->spec_count, 2);
	assert_string_equal(fixture.job->specs[0].type, "launcher");
	assert_int_equal(fixture.job->specs[0].replicas, 1);
	assert_true(rh_job_is_leader(fixture.job, "launcher", 0));
	assert_false(rh_job_is_leader(fixture.job, "node", 0));
	assert_int_equal(rh_job_rank(fixture.job, "node", 0), 1);
	pod = both_pod(&fixture, "launcher", 0);
	/* the launcher has no container of the kind's name */
	expand_assert_findings(&fixture, "");
	both_assert_text(pod, "metadata.name", "j-launcher");
	both_assert_text(pod, "spec.containers[0].env[0].value", "3 0 0");
}

/* Another expansion takes the place of the first one, and its run policy goes with it. */
static void test_expand__again(void **state)
{
	auto_fixture fixture;
	size_t weight;

	both_open(&fixture, state, expand_job);
	weight = fixture.job->weight;
	rh_auto(lookups) first = expand_look_up(&fixture, expand_runtime);
	assert_int_equal(expand_do(&fixture), 0);
	assert_true(fixture.job->weight > weight);
	rh_auto(lookups) second = expand_look_up(&fixture, expand_launcher);
	assert_int_equal(expand_do(&fixture), 0);
	assert_int_equal(fixture.job->spec_count, 2);
	assert_int_equal(fixture.job->policy.backoff_limit, -1);
	assert_int_equal(fixture.job->policy.clean, RH_CLEAN_NONE);
}

/* Nothing is asked before the runtime is there; a job that is refused is not valid, and keeps what it had. */
static void test_expand__refused(void **state)
{
	auto_fixture fixture;

	both_open(&fixture, state, expand_job);
	assert_int_equal(expand_do(&fixture), 0);
	assert_false(rh_job_is_expanded(fixture.job));
	expand_assert_findings(&fixture, "");
	rh_auto(lookups) empty = expand_look_up(&fixture, "{metadata: {name: torch}, spec: {}}");
	assert_int_equal(expand_do(&fixture), 0);
	assert_false(rh_job_is_expanded(fixture.job));
	expand_assert_findings(&fixture, "NodesRuntime torch: spec.node: Required value: must be a pod template");
	rh_auto(lookups) good = expand_look_up(&fixture, expand_runtime);
	assert_int_equal(expand_do(&fixture), 0);
	expand_assert_findings(&fixture, "");
	rh_auto(lookups) again = expand_look_up(&fixture, "{metadata: {name: torch}, spec: {}}");
	assert_int_equal(expand_do(&fixture), 0);
	assert_true(rh_job_is_expanded(fixture.job));
	assert_int_equal(fixture.job->spec_count, 1);
	expand_assert_findings(&fixture, "NodesRuntime torch: spec.node: Required value: must be a pod template");
}

/* Templates are judged by the rules for those of a job file, and named by their type. */
static void test_expand__validated(void **state)
{
	auto_fixture fixture;

	both_open(&fixture, state, expand_job);
	rh_auto(lookups) lookups =
		expand_look_up(&fixture, "{metadata: {name: torch}, spec: {node: {spec: {containers: [{name: c}]}}}}");
	assert_int_equal(expand_do(&fixture), 0);
	expand_assert_findings(&fixture,
	                       "expansion[node].template.spec.containers[0].image: Required value: must be required");
}

/* Let the plugin answer with @p text. */
static void expand_answer(struct fixture *fixture, const char *text)
{
	struct rh_json *metadata = rh_json_get(fixture->job->object, "metadata");

	assert_int_equal(rh_json_set_string(rh_json_ensure_object(metadata, "annotations"), "example.org/answer", text), 0);
}

struct expand_case {
	const char *answer, *words;
};

#define EXPAND_TEMPLATE "\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"
#define EXPAND_TYPE(more) "{\"types\":[{\"name\":\"node\"," EXPAND_TEMPLATE more "}]}"

static const struct expand_case expand_hostile[] = {
	{"{", "no JSON"},
	{"[]", "it must be an object"},
	{"{}", "types: it must be a list of 1 to 16 replica types"},
	{"{\"types\":[]}", "types: it must be a list of 1 to 16 replica types"},
	{"{\"types\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}", "types: it must be a list of 1 to 16 replica types"},
	{"{\"types\":[7]}", "types[0]: Invalid value"},
	{"{\"types\":[{}]}", "types[0].name: it is missing"},
	{"{\"types\":[{\"name\":\"../x\"}]}", "types[0].name: it must have at most 63 letters, digits and '-'"},
	{"{\"types\":[{\"name\":\"x-\"}]}", "types[0].name: it must have at most 63 letters, digits and '-'"},
	{"{\"types\":[{\"name\":\"x\"}]}", "types[0].template: it is missing"},
	{"{\"types\":[{\"name\":\"x\",\"template\":{\"status\":{}}}]}",
     "types[0].template.status: it is unknown, and must be one of metadata|spec"},
	{"{\"types\":[{\"name\":\"x\"," EXPAND_TEMPLATE "},{\"name\":\"X\"," EXPAND_TEMPLATE "}]}",
     "types[1].name: another type has this name"},
	{EXPAND_TYPE(",\"replicas\":-1"), "types[0].replicas: it is negative"},
	{EXPAND_TYPE(",\"replicas\":1e99"), "types[0].replicas: "},
	{EXPAND_TYPE(",\"replicas\":\"2\""), "types[0].replicas: "},
	{EXPAND_TYPE(",\"replicas\":2,\"flags\":[\"unindexed\"]"),
     "types[0].replicas: it is more than 1, and the type is unindexed"},
	{EXPAND_TYPE(",\"flags\":{}"), "types[0].flags: "},
	{EXPAND_TYPE(",\"flags\":[\"ranked\",\"job\"]"), "types[0].flags[1]: it must be one of ranked|leader|unindexed"},
	{EXPAND_TYPE(",\"restartPolicy\":\"Sometimes\""),
     "types[0].restartPolicy: it must be one of Always|OnFailure|Never|ExitCode"},
	{EXPAND_TYPE(",\"job\":{}"),
     "types[0].job: it is unknown, and must be one of name|replicas|restartPolicy|template|flags"},
	{"{\"types\":[{\"name\":\"x\"," EXPAND_TEMPLATE "}],\"kind\":1}",
     "kind: it is unknown, and must be one of types|runPolicy"},
	{"{\"types\":[{\"name\":\"x\"," EXPAND_TEMPLATE "}],\"runPolicy\":{\"suspend\":true}}",
     "runPolicy.suspend: it is unknown, and must be one of activeDeadlineSeconds|"},
	{"{\"types\":[{\"name\":\"x\"," EXPAND_TEMPLATE "}],\"runPolicy\":{\"backoffLimit\":-1}}",
     "runPolicy.backoffLimit: it is negative"},
	{"{\"types\":[{\"name\":\"x\"," EXPAND_TEMPLATE "}],\"runPolicy\":{\"cleanPodPolicy\":\"all\"}}",
     "runPolicy.cleanPodPolicy: it must be one of None|Running|All"},
	{"{\"types\":[{\"name\":\"x\"," EXPAND_TEMPLATE "}],\"runPolicy\":[]}", "runPolicy: Invalid value"},
};

/* Each hostile answer fails the call with one message that names plugin, operation and member. */
static void test_expand__hostile(void **state)
{
	for (size_t i = 0; i < sizeof(expand_hostile) / sizeof(expand_hostile[0]); i++) {
		const struct expand_case *at = &expand_hostile[i];
		auto_fixture fixture;

		both_open(&fixture, state, expand_job);
		expand_answer(&fixture, at->answer);
		rh_auto(lookups) lookups = expand_look_up(&fixture, expand_runtime);
		assert_int_equal(expand_do(&fixture), RH_EPLUGIN);
		if (!strstr(fixture.err.message, "NodesJob ns/j: plugin expand, expand(): expansion(): ") ||
		    !strstr(fixture.err.message, at->words))
			fail_msg("%s: \"%s\" is not in \"%s\"", at->answer, at->words, fixture.err.message);
		assert_false(rh_job_is_expanded(fixture.job));
	}
}

/* More than the limit of an answer: the message says so, wherever the plugin runs. */
static void test_expand__large(void **state)
{
	auto_fixture fixture;
	size_t length = (size_t)5 << 20;
	rh_auto_free char *text = rh_alloc(length + 1);

	assert_non_null(text);
	memset(text, ' ', length);
	both_open(&fixture, state, expand_job);
	expand_answer(&fixture, text);
	rh_auto(lookups) lookups = expand_look_up(&fixture, expand_runtime);
	assert_int_equal(expand_do(&fixture), RH_EPLUGIN);
	if (!strstr(fixture.err.message, "expansion(): the answer is larger than the limit of 4194304 bytes"))
		fail_msg("%s", fixture.err.message);
}

/* What others write to a job changes nothing of what expand() sees. */
static void test_expand__source(void **state)
{
	auto_fixture fixture;

	both_open(
		&fixture, state,
		"{apiVersion: example.org/v1, kind: NodesJob, metadata: {name: j, namespace: ns, uid: u, resourceVersion: "
		"'7', generation: 3, labels: {l: m}, annotations: {roundhouse.dev/ledger: x, mine: z}, managedFields: []},"
		" spec: {runtimeRef: {name: torch}}, status: {conditions: []}}");
	rh_auto(json) source = rh_expansion_source(fixture.job);

	fixture_assert_json(source, "{\"metadata\":{\"name\":\"j\",\"namespace\":\"ns\",\"uid\":\"u\",\"labels\":{\"l\":"
	                            "\"m\"},\"annotations\":{\"mine\":\"z\"}},\"apiVersion\":\"example.org/v1\",\"kind\":"
	                            "\"NodesJob\",\"spec\":{\"runtimeRef\":{\"name\":\"torch\"}}}");
}

static int expand_run(bool remote)
{
	const struct CMUnitTest tests[] = {
		BOTH_TEST(test_expand__types),   BOTH_TEST(test_expand__flags),     BOTH_TEST(test_expand__again),
		BOTH_TEST(test_expand__refused), BOTH_TEST(test_expand__validated), BOTH_TEST(test_expand__hostile),
		BOTH_TEST(test_expand__large),   BOTH_TEST(test_expand__source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return both_run(expand_run);
}

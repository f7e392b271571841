/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays what happened to the pods of V1's jobs, and compares the status of the jobs after each step with V1's
 * (tests/goldens/README.md). Steps and comparison are those of tests/goldens/play_lives.py; the store has no kubelet
 * and no garbage collector, as the API server had none.
 */
#include "engine/carry/sim.h"

#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/yaml.h"
#include "job/values/names.h"

#define LIVES_MAX 64
#define ALLOWED_MAX 256

/* The listed differences of this suite. */
struct allowed {
	struct rh_json *entries;
	bool used[ALLOWED_MAX];
};

/* One recorded life that is replayed. */
struct life {
	struct sim sim;
	const char *golden; /* its name */
	const char *name;   /* of the job */
	struct rh_json *out;
};

static char *read_text(const char *path)
{
	rh_auto_str text = {0};
	FILE *file = fopen(path, "re");
	char buffer[4096];
	size_t length;

	if (!file)
		fail_msg("cannot open %s", path);
	while ((length = fread(buffer, 1, sizeof(buffer), file)) > 0)
		rh_str_append_bytes(&text, buffer, length);
	(void)fclose(file);
	return rh_str_take(&text);
}

static struct rh_json *read_json(const char *path)
{
	rh_auto_free char *text = read_text(path);
	struct rh_json *json = NULL;
	struct rh_error err = {0};

	if (rh_json_parse(text, strlen(text), &json, &err) < 0)
		fail_msg("%s: %s", path, err.message);
	return json;
}

static struct rh_json *read_life(const char *path)
{
	rh_auto_free char *text = read_text(path);
	rh_auto(json) documents = NULL;
	struct rh_error err = {0};

	if (rh_yaml_parse(text, strlen(text), &documents, &err) < 0)
		fail_msg("%s: %s", path, err.message);
	return rh_json_detach_item(documents, 0);
}

/* Collects the children of a job. */
struct children {
	const char *job;
	struct rh_json *pods;
	struct rh_json *services;
};

static bool of_job(const struct rh_json *object, const char *job)
{
	return rh_text_equal(rh_json_string(rh_json_get(rh_json_at(object, "metadata.labels"), RH_LABEL_JOB)), job);
}

static void add_pod(void *arg, const struct rh_json *pod)
{
	const struct children *children = arg;

	if (of_job(pod, children->job))
		assert_int_equal(rh_json_set_string(children->pods, rh_json_string_at(pod, "metadata.name"),
		                                    rh_json_string_at(pod, "status.phase")),
		                 0);
}

static void add_service(void *arg, const struct rh_json *service)
{
	const struct children *children = arg;

	if (of_job(service, children->job))
		assert_int_equal(
			rh_json_append(children->services, rh_json_new_string(rh_json_string_at(service, "metadata.name"))), 0);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(rh_json_string(*(struct rh_json *const *)a), rh_json_string(*(struct rh_json *const *)b));
}

/* @return the list, sorted and without what is there twice; @p list is taken */
static struct rh_json *sort_texts(struct rh_json *list)
{
	struct rh_json *items[512];
	struct rh_json *sorted = rh_json_new_array();
	size_t count = 0;

	while (rh_json_size(list) > 0) {
		assert_true(count < 512);
		items[count++] = rh_json_detach_item(list, 0);
	}
	rh_json_free(list);
	qsort(items, count, sizeof(items[0]), compare_texts);
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && strcmp(rh_json_string(items[i]), rh_json_string(items[i - 1])) == 0) {
			rh_json_free(items[i - 1]);
			items[i - 1] = NULL;
		}
	}
	for (size_t i = 0; i < count; i++) {
		if (items[i])
			assert_int_equal(rh_json_append(sorted, items[i]), 0);
	}
	return sorted;
}

static struct rh_json *pod_names(const struct rh_json *pods)
{
	struct rh_json *names = rh_json_new_array();

	for (const struct rh_json *pod = rh_json_first(pods); pod; pod = rh_json_next(pod))
		assert_int_equal(rh_json_append(names, rh_json_new_string(rh_json_key(pod))), 0);
	return sort_texts(names);
}

static struct rh_json *copy_conditions(const struct rh_json *status)
{
	static const char *const members[] = {"type", "status", "reason", "message"};
	struct rh_json *list = rh_json_new_array();
	const struct rh_json *conditions = rh_json_get(status, "conditions");

	for (const struct rh_json *condition = rh_json_first(conditions); condition; condition = rh_json_next(condition)) {
		struct rh_json *copy = rh_json_new_object();

		for (size_t i = 0; i < 4; i++)
			assert_int_equal(rh_json_set_string(copy, members[i], rh_json_string(rh_json_get(condition, members[i]))),
			                 0);
		assert_int_equal(rh_json_append(list, copy), 0);
	}
	return list;
}

/* The state after a step, as play_lives.py's snapshot(). */
static struct rh_json *snapshot(const struct life *life)
{
	static const char *const times[] = {"startTime", "completionTime", "lastReconcileTime"};
	struct children children = {life->name, rh_json_new_object(), rh_json_new_array()};
	struct rh_json *out = rh_json_new_object();
	const struct rh_json *job;
	const struct rh_json *status;
	struct rh_json *counts;

	rh_memory_store_each(life->sim.store, &rh_resource_pods, add_pod, &children);
	rh_memory_store_each(life->sim.store, &rh_resource_services, add_service, &children);
	job = sim_job(&life->sim, life->name);
	if (!job) {
		assert_int_equal(rh_json_set_string(out, "job", "gone"), 0);
		assert_int_equal(rh_json_set(out, "pods", pod_names(children.pods)), 0);
		rh_json_free(children.pods);
		rh_json_free(children.services);
		return out;
	}
	status = rh_json_get(job, "status");
	counts = rh_json_get(status, "replicaStatuses");
	assert_int_equal(rh_json_set(out, "conditions", copy_conditions(status)), 0);
	assert_int_equal(rh_json_set(out, "replicaStatuses", counts ? rh_json_copy(counts) : rh_json_new_object()), 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(rh_json_set_bool(out, times[i], rh_json_get(status, times[i]) != NULL), 0);
	assert_int_equal(rh_json_set(out, "pods", children.pods), 0);
	assert_int_equal(rh_json_set(out, "services", sort_texts(children.services)), 0);
	return out;
}

static void add_event(void *arg, const struct rh_json *event)
{
	const struct life *life = arg;
	rh_auto_free char *text = NULL;

	if (!rh_text_equal(rh_json_string_at(event, "involvedObject.name"), life->name))
		return;
	text = rh_asprintf("%s\n%s\n%s", rh_json_string_at(event, "type"), rh_json_string_at(event, "reason"),
	                   rh_json_string_at(event, "message"));
	assert_int_equal(rh_json_append(rh_json_get(life->out, "events"), rh_json_new_string(text)), 0);
}

/* Events as a sorted list of [type, reason, message]. */
static struct rh_json *all_events(struct life *life)
{
	struct rh_json *out = rh_json_new_array();
	struct rh_json *texts;

	assert_int_equal(rh_json_set(life->out, "events", rh_json_new_array()), 0);
	rh_memory_store_each(life->sim.store, &rh_resource_events, add_event, life);
	texts = sort_texts(rh_json_detach(life->out, "events"));
	for (const struct rh_json *text = rh_json_first(texts); text; text = rh_json_next(text)) {
		struct rh_json *event = rh_json_new_array();
		const char *type = rh_json_string(text);
		const char *reason = strchr(type, '\n') + 1;
		const char *message = strchr(reason, '\n') + 1;
		rh_auto_free char *first = rh_strndup(type, (size_t)(reason - type - 1));
		rh_auto_free char *second = rh_strndup(reason, (size_t)(message - reason - 1));

		assert_int_equal(rh_json_append(event, rh_json_new_string(first)), 0);
		assert_int_equal(rh_json_append(event, rh_json_new_string(second)), 0);
		assert_int_equal(rh_json_append(event, rh_json_new_string(message)), 0);
		assert_int_equal(rh_json_append(out, event), 0);
	}
	rh_json_free(texts);
	return out;
}

static bool is_chosen(const char *job, const char *pod, const struct rh_json *globs)
{
	for (const struct rh_json *item = rh_json_first(globs); item; item = rh_json_next(item)) {
		rh_auto_free char *pattern = rh_asprintf("%s-%s", job, rh_json_string(item));

		if (fnmatch(pattern, pod, 0) == 0)
			return true;
	}
	return false;
}

static void do_pod_step(struct life *life, const struct rh_json *step, const char *pod, const char *phase)
{
	int64_t number = 0;

	if (rh_json_get(step, "run")) {
		(void)rh_json_integer(rh_json_get(step, "restartCount"), &number);
		if (strcmp(phase, "Pending") == 0 || strcmp(phase, "Running") == 0)
			sim_set_pod(&life->sim, pod, "Running", 0, (int)number);
	} else if (rh_json_get(step, "succeed")) {
		sim_set_pod(&life->sim, pod, "Succeeded", 0, 0);
	} else if (rh_json_get(step, "fail")) {
		assert_true(rh_json_integer(rh_json_get(step, "exitCode"), &number));
		sim_set_pod(&life->sim, pod, "Failed", (int)number, 0);
	} else {
		sim_delete_pod(&life->sim, pod, 0);
	}
}

static void do_step(struct life *life, const struct rh_json *step)
{
	static const char *const verbs[] = {"run", "succeed", "fail", "deletePod"};
	rh_auto(json) state = snapshot(life);
	const struct rh_json *globs = NULL;
	int64_t seconds = 0;

	if (rh_json_get(step, "patchJob")) {
		assert_int_equal(sim_user(&life->sim, (struct rh_request){.verb = RH_VERB_PATCH,
		                                                          .resource = &life->sim.jobs,
		                                                          .name = life->name,
		                                                          .body = rh_json_copy(rh_json_get(step, "patchJob"))}),
		                 RH_OUTCOME_OK);
		return;
	}
	if (rh_json_integer(rh_json_get(step, "waitSeconds"), &seconds)) {
		sim_wait(&life->sim, seconds);
		return;
	}
	for (size_t i = 0; i < 4 && !globs; i++)
		globs = rh_json_get(step, verbs[i]);
	assert_non_null(globs);
	for (const struct rh_json *pod = rh_json_first(rh_json_get(state, "pods")); pod; pod = rh_json_next(pod)) {
		if (!is_chosen(life->name, rh_json_key(pod), globs))
			continue;
		do_pod_step(life, step, rh_json_key(pod), rh_json_string(pod));
		sim_settle(&life->sim); /* V1 saw each pod change by itself */
	}
}

/* A kind of the lives: its resource, and its plugin (NULL: the one that sim_open() has loaded). */
struct life_kind {
	const char *kind;
	const char *plural;
	const char *plugin;
};

static const struct life_kind life_kinds[] = {
	{"PyTorchJob", "pytorchjobs", NULL},
	{"TFJob", "tfjobs", RH_PLUGIN_DIR "/tensorflow.so"},
	{"XGBoostJob", "xgboostjobs", RH_PLUGIN_DIR "/xgboost.so"},
	{"PaddleJob", "paddlejobs", RH_PLUGIN_DIR "/paddle.so"},
	{"MPIJob", "mpijobs", RH_PLUGIN_DIR "/mpi.so"},
	{"JAXJob", "jaxjobs", RH_BUILD_DIR "/tests/plugins/jax/jax.so"},
};

static void open_kind(struct sim *sim, const char *kind)
{
	const struct life_kind *row = life_kinds;
	struct rh_error err = {0};

	while (strcmp(row->kind, kind) != 0) {
		row++;
		assert_true(row < life_kinds + sizeof(life_kinds) / sizeof(life_kinds[0]));
	}
	if (row->plugin && rh_host_load_file(sim->host, row->plugin, &err) < 0)
		fail_msg("%s", err.message);
	sim->jobs = (struct rh_resource){"kubeflow.org/v1", row->kind, row->plural};
}

static void play(struct life *life, const struct rh_json *script)
{
	struct rh_json *after = rh_json_new_array();
	const struct rh_json *steps = rh_json_get(script, "steps");

	sim_create(&life->sim, rh_json_copy(rh_json_get(script, "job")));
	sim_settle(&life->sim);
	assert_int_equal(rh_json_set(life->out, "afterCreate", snapshot(life)), 0);
	for (const struct rh_json *step = rh_json_first(steps); step; step = rh_json_next(step)) {
		do_step(life, step);
		sim_settle(&life->sim);
		assert_int_equal(rh_json_append(after, snapshot(life)), 0);
	}
	assert_int_equal(rh_json_set(life->out, "afterStep", after), 0);
	assert_int_equal(rh_json_set(life->out, "events", all_events(life)), 0);
}

static bool is_finished(const struct rh_json *state)
{
	const struct rh_json *conditions = rh_json_get(state, "conditions");

	for (const struct rh_json *item = rh_json_first(conditions); item; item = rh_json_next(item)) {
		const char *type = rh_json_string_at(item, "type");

		if ((strcmp(type, "Succeeded") == 0 || strcmp(type, "Failed") == 0) &&
		    strcmp(rh_json_string_at(item, "status"), "True") == 0)
			return true;
	}
	return false;
}

static void steady_state(struct rh_json *state)
{
	if (!is_finished(state))
		return;
	for (struct rh_json *counts = rh_json_first(rh_json_get(state, "replicaStatuses")); counts;
	     counts = rh_json_next(counts))
		rh_json_remove(counts, "selector");
}

/* Without what V1 itself reports one way in one run and another way in the next. */
static void steady(struct rh_json *life)
{
	struct rh_json *events = rh_json_get(life, "events");

	steady_state(rh_json_get(life, "afterCreate"));
	for (struct rh_json *state = rh_json_first(rh_json_get(life, "afterStep")); state; state = rh_json_next(state))
		steady_state(state);
	for (size_t i = rh_json_size(events); i-- > 0;) {
		const struct rh_json *event = rh_json_item(events, i);
		const char *reason = rh_json_string(rh_json_item(event, 1));
		size_t length = strlen(reason);

		if ((length >= 9 && strcmp(reason + length - 9, " is exist") == 0) ||
		    strstr(rh_json_string(rh_json_item(event, 2)), "already exists"))
			rh_json_free(rh_json_detach_item(events, i));
	}
}

/* What is compared, and what comes of it. */
struct comparison {
	struct allowed *allowed;
	const char *golden;
	size_t unlisted;
};

/* In a glob of the file only * and ? are wild: paths have brackets. */
static bool matches(const char *pattern, const char *text)
{
	rh_auto_str escaped = {0};

	for (; *pattern; pattern++)
		rh_str_append_bytes(&escaped, *pattern == '[' ? "[[]" : pattern, *pattern == '[' ? 3 : 1);
	return fnmatch(rh_str_text(&escaped), text, 0) == 0;
}

static void differs(struct comparison *comparison, const char *path, const struct rh_json *want,
                    const struct rh_json *got)
{
	rh_auto_free char *where = rh_asprintf("%s%s", comparison->golden, path);
	rh_auto_free char *wanted = want ? rh_json_text(want) : NULL;
	rh_auto_free char *gotten = got ? rh_json_text(got) : NULL;
	bool listed = false;
	size_t i = 0;

	for (const struct rh_json *entry = rh_json_first(comparison->allowed->entries); entry;
	     entry = rh_json_next(entry), i++) {
		assert_true(i < ALLOWED_MAX);
		if (strcmp(rh_json_string_at(entry, "suite"), "lives") != 0 ||
		    fnmatch(rh_json_string_at(entry, "golden"), comparison->golden, 0) != 0 ||
		    !matches(rh_json_string_at(entry, "path"), where))
			continue;
		listed = comparison->allowed->used[i] = true;
	}
	if (listed)
		return;
	comparison->unlisted++;
	print_error("%s: V1 %s here %s\n", where, wanted ? wanted : "nothing", gotten ? gotten : "nothing");
}

static void compare(struct comparison *comparison, const char *path, const struct rh_json *want,
                    const struct rh_json *got);

static void compare_members(struct comparison *comparison, const char *path, const struct rh_json *want,
                            const struct rh_json *got)
{
	for (const struct rh_json *member = rh_json_first(want); member; member = rh_json_next(member)) {
		rh_auto_free char *inner = rh_asprintf("%s.%s", path, rh_json_key(member));

		compare(comparison, inner, member, rh_json_get(got, rh_json_key(member)));
	}
	for (const struct rh_json *member = rh_json_first(got); member; member = rh_json_next(member)) {
		rh_auto_free char *inner = rh_asprintf("%s.%s", path, rh_json_key(member));

		if (!rh_json_get(want, rh_json_key(member)))
			differs(comparison, inner, NULL, member);
	}
}

static void compare(struct comparison *comparison, const char *path, const struct rh_json *want,
                    const struct rh_json *got)
{
	enum rh_json_type type = rh_json_type(want);

	if (type == RH_JSON_OBJECT && rh_json_type(got) == type) {
		compare_members(comparison, path, want, got);
		return;
	}
	if (type == RH_JSON_ARRAY && rh_json_type(got) == type && rh_json_size(want) == rh_json_size(got)) {
		for (size_t i = 0; i < rh_json_size(want); i++) {
			rh_auto_free char *inner = rh_asprintf("%s[%zu]", path, i);

			compare(comparison, inner, rh_json_item(want, i), rh_json_item(got, i));
		}
		return;
	}
	if (!rh_json_equal(want, got))
		differs(comparison, path, want, got);
}

static void close_life(struct life *life)
{
	rh_json_free(life->out);
	sim_close(&life->sim);
}

/* @return number of differences that are not listed */
static size_t play_and_compare(struct allowed *allowed, const char *golden)
{
	__attribute__((cleanup(close_life))) struct life life = {.golden = golden, .out = rh_json_new_object()};
	rh_auto_free char *script_path = rh_asprintf("%s/lives/%s.yaml", RH_GOLDENS, golden);
	rh_auto_free char *want_path = rh_asprintf("%s/lives/%s.v1.json", RH_GOLDENS, golden);
	rh_auto(json) script = read_life(script_path);
	rh_auto(json) want = read_json(want_path);
	struct comparison comparison = {allowed, golden, 0};

	sim_open(&life.sim, false);
	open_kind(&life.sim, rh_json_string_at(script, "job.kind"));
	rh_memory_store_set_collector(life.sim.store, false);
	sim_start(&life.sim);
	life.name = rh_json_string_at(script, "job.metadata.name");
	play(&life, script);
	steady(want);
	steady(life.out);
	compare(&comparison, "", want, life.out);
	return comparison.unlisted;
}

static size_t find_lives(char names[LIVES_MAX][64])
{
	glob_t found;
	size_t count;

	assert_int_equal(glob(RH_GOLDENS "/lives/*.yaml", 0, NULL, &found), 0);
	count = found.gl_pathc;
	assert_true(count < LIVES_MAX);
	for (size_t i = 0; i < count; i++) {
		const char *name = strrchr(found.gl_pathv[i], '/') + 1;

		rh_copy(names[i], 64, name);
		names[i][strlen(names[i]) - strlen(".yaml")] = '\0';
	}
	globfree(&found);
	return count;
}

/* An entry that applies to this suite and was not used is out of date. */
static size_t count_unused(const struct allowed *allowed, char names[LIVES_MAX][64], size_t count)
{
	size_t unused = 0;
	size_t i = 0;

	for (const struct rh_json *entry = rh_json_first(allowed->entries); entry; entry = rh_json_next(entry), i++) {
		bool is_ours = false;

		for (size_t k = 0; k < count; k++)
			is_ours = is_ours || fnmatch(rh_json_string_at(entry, "golden"), names[k], 0) == 0;
		if (strcmp(rh_json_string_at(entry, "suite"), "lives") != 0 || !is_ours || allowed->used[i])
			continue;
		print_error("differences.json: nothing uses %s\n", rh_json_string_at(entry, "id"));
		unused++;
	}
	return unused;
}

static void test_lives__are_those_of_v1(void **state)
{
	rh_auto(json) entries = read_json(RH_GOLDENS "/differences.json");
	struct allowed allowed = {.entries = entries};
	char names[LIVES_MAX][64];
	size_t count = find_lives(names);
	size_t wrong = 0;

	(void)state;
	assert_true(count > 0);
	for (size_t i = 0; i < count; i++)
		wrong += play_and_compare(&allowed, names[i]);
	wrong += count_unused(&allowed, names, count);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_lives__are_those_of_v1)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

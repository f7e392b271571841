/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random sequences of what users do to pods and Services, with gaps in the watches and starts of the engine. After
 * each one the engine knows what one that has just been started knows, and every replica is there, or the job says why
 * not. Usage: test_engine_sequences [COUNT [FIRST SEED]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/os/clock.h"
#include "base/os/random.h"
#include "engine/carry/sim.h"
#include "engine/carry/snapshot.h"
#include "job/values/names.h"

#define WATCHES 8
#define NAMES 64
#define CHILDREN 64
#define FOREIGN "{'apiVersion':'apps/v1','kind':'ReplicaSet','name':'web','uid':'u1','controller':true}"

/* The version of an object that a watch has delivered last. */
struct delivered {
	uint32_t mark;
	int64_t version;
	char uid[64];
};

/* A watch that may have gaps. */
struct gap_watch {
	struct gaps *gaps;
	const struct rh_resource *resource; /* NULL: there is no watch here */
	const char *label;
	rh_watch_fn *fn;
	void *arg;
	uint64_t id; /* of the store's watch; 0: there is a gap */
	struct rh_map *objects;
	uint32_t mark;
	bool lists;
	bool synced;
};

/* A request whose answer is seen first. */
struct gap_call {
	struct gap_call *next;
	struct gaps *gaps;
	uint64_t id;
	rh_done_fn *done;
	void *arg;
};

/* A store between the engine and the memory store, as the one over an API server is: after a gap it lists again. */
struct gaps {
	struct rh_store face; /* first */
	struct rh_store *inner;
	struct gap_watch watches[WATCHES];
	struct gap_call *calls;
	bool open;
};

struct run {
	struct sim sim;
	struct gaps gaps;
	uint64_t random;
	uint64_t seed;
	struct rh_str steps; /* what was done, for whoever looks into a failure */
};

static void gap_emit_deleted(struct gap_watch *watch, const char *name, const char *uid)
{
	rh_auto_free char *text = rh_asprintf("{'apiVersion':'%s','kind':'%s','metadata':{'name':'%s','namespace':"
	                                      "'default','uid':'%s'}}",
	                                      watch->resource->api_version, watch->resource->kind, name, uid);
	rh_auto(json) identity = sim_json(text);

	watch->fn(watch->arg, RH_WATCH_DELETED, identity);
}

static void gap_sweep(struct gap_watch *watch)
{
	const char *name;
	size_t cursor = 0;
	void *value;

	while (rh_map_next(watch->objects, &cursor, &name, &value)) {
		rh_auto_free char *copy = rh_strdup(name);
		rh_auto_free struct delivered *last = value;

		if (last->mark == watch->mark) {
			(void)rh_take(last);
			continue;
		}
		(void)rh_map_remove(watch->objects, name);
		gap_emit_deleted(watch, copy, last->uid);
	}
}

static int64_t version_of(const struct rh_json *object)
{
	return strtoll(rh_json_string_at(object, "metadata.resourceVersion"), NULL, 10);
}

static void gap_emit(struct gap_watch *watch, const struct rh_json *object)
{
	const char *name = rh_json_string_at(object, "metadata.name");
	const char *uid = rh_json_string_at(object, "metadata.uid");
	struct delivered *last = rh_map_get(watch->objects, name);
	bool known = last && strcmp(last->uid, uid) == 0;

	if (last && !known)
		gap_emit_deleted(watch, name, last->uid);
	if (!last) {
		last = rh_alloc(sizeof(*last));
		assert_int_equal(rh_map_set(watch->objects, name, last, NULL), 0);
	}
	last->mark = watch->mark;
	last->version = version_of(object);
	rh_copy(last->uid, sizeof(last->uid), uid);
	watch->fn(watch->arg, known ? RH_WATCH_MODIFIED : RH_WATCH_ADDED, object);
}

static void gap_on_event(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	struct gap_watch *watch = arg;

	if (event == RH_WATCH_SYNCED) {
		gap_sweep(watch);
		if (!watch->synced)
			watch->fn(watch->arg, event, NULL);
		watch->synced = true;
	} else if (event == RH_WATCH_DELETED) {
		rh_free(rh_map_remove(watch->objects, rh_json_string_at(object, "metadata.name")));
		watch->fn(watch->arg, event, object);
	} else {
		gap_emit(watch, object);
	}
}

static void gap_list(struct gap_watch *watch)
{
	struct rh_store *inner = watch->gaps->inner;

	watch->mark++;
	watch->id = inner->watch(inner, watch->resource, watch->label, gap_on_event, watch);
}

static uint64_t gaps_watch(struct rh_store *face, const struct rh_resource *resource, const char *label,
                           rh_watch_fn *fn, void *arg)
{
	struct gaps *gaps = (struct gaps *)face;
	size_t i = 0;

	while (gaps->watches[i].resource)
		i++;
	assert_true(i < WATCHES);
	gaps->watches[i] = (struct gap_watch){
		.gaps = gaps, .resource = resource, .label = label, .fn = fn, .arg = arg, .objects = rh_map_new()};
	gap_list(&gaps->watches[i]);
	return i + 1;
}

static void gaps_unwatch(struct rh_store *face, uint64_t id)
{
	struct gaps *gaps = (struct gaps *)face;
	struct gap_watch *watch = &gaps->watches[id - 1];
	size_t cursor = 0;
	void *last;

	gaps->inner->unwatch(gaps->inner, watch->id);
	while (rh_map_next(watch->objects, &cursor, NULL, &last))
		rh_free(last);
	rh_map_free(watch->objects);
	*watch = (struct gap_watch){0};
}

static struct gap_call *gaps_take(struct gaps *gaps, uint64_t id)
{
	struct gap_call **at = &gaps->calls;
	struct gap_call *call;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	call = *at;
	if (call)
		*at = call->next;
	return call;
}

/* What an answer has shown is missed when it goes in a gap. */
static void gap_learn(struct gap_watch *watch, const struct rh_json *object)
{
	const char *name = rh_json_string_at(object, "metadata.name");
	const char *uid = rh_json_string_at(object, "metadata.uid");
	struct delivered *last;

	if (!watch->resource || !rh_text_equal(rh_json_string_at(object, "kind"), watch->resource->kind))
		return;
	last = rh_map_get(watch->objects, name);
	if (last && (strcmp(last->uid, uid) == 0 || last->version > version_of(object)))
		return;
	if (last)
		gap_emit_deleted(watch, name, last->uid);
	rh_free(rh_map_remove(watch->objects, name));
	last = rh_alloc(sizeof(*last));
	*last = (struct delivered){.mark = watch->mark, .version = version_of(object)};
	rh_copy(last->uid, sizeof(last->uid), uid);
	assert_int_equal(rh_map_set(watch->objects, name, last, NULL), 0);
}

static void gaps_on_done(void *arg, const struct rh_outcome *outcome)
{
	rh_auto_free struct gap_call *call = arg;

	(void)gaps_take(call->gaps, call->id);
	for (size_t i = 0; i < WATCHES && outcome->object; i++)
		gap_learn(&call->gaps->watches[i], outcome->object);
	call->done(call->arg, outcome);
}

static int gaps_submit(struct rh_store *face, struct rh_request *request, rh_done_fn *done, void *arg, uint64_t *ret_id,
                       struct rh_error *err)
{
	struct gaps *gaps = (struct gaps *)face;
	struct gap_call *call = rh_alloc(sizeof(*call));

	*call = (struct gap_call){.next = gaps->calls, .gaps = gaps, .done = done, .arg = arg};
	gaps->calls = call;
	assert_int_equal(gaps->inner->submit(gaps->inner, request, gaps_on_done, call, &call->id, err), 0);
	if (ret_id)
		*ret_id = call->id;
	return 0;
}

static void gaps_cancel(struct rh_store *face, uint64_t id)
{
	struct gaps *gaps = (struct gaps *)face;

	gaps->inner->cancel(gaps->inner, id);
	rh_free(gaps_take(gaps, id));
}

/* Requests are answered in time: a connection that breaks ends them, too. */
static void set_gap(struct run *run, bool open)
{
	struct gaps *gaps = &run->gaps;

	if (gaps->open && !open)
		rh_memory_store_drain(run->sim.store);
	for (size_t i = 0; i < WATCHES && gaps->open != open; i++) {
		struct gap_watch *watch = &gaps->watches[i];

		if (!watch->resource)
			continue;
		gaps->inner->unwatch(gaps->inner, watch->id);
		watch->id = 0;
		if (!open)
			gap_list(watch);
	}
	gaps->open = open;
}

static void start(struct run *run)
{
	run->gaps.face =
		(struct rh_store){.watch = gaps_watch, .unwatch = gaps_unwatch, .submit = gaps_submit, .cancel = gaps_cancel};
	run->gaps.inner = rh_memory_store_face(run->sim.store);
	run->gaps.open = false;
	run->sim.options.host = run->sim.host;
	run->sim.options.store = &run->gaps.face;
	assert_int_equal(rh_engine_new(&run->sim.options, &run->sim.engine, NULL), 0);
}

static uint64_t draw(struct run *run, uint64_t below)
{
	return rh_random_below(&run->random, below);
}

static const char *pick(struct run *run, const char *const *words, size_t count)
{
	return words[draw(run, count)];
}

#define PICK(run, words) pick(run, words, sizeof(words) / sizeof((words)[0]))

/* Names of all pods or Services. */
struct names {
	char items[NAMES][64];
	size_t count;
};

static void add_name(void *arg, const struct rh_json *object)
{
	struct names *names = arg;

	assert_true(names->count < NAMES);
	rh_copy(names->items[names->count++], 64, rh_json_string_at(object, "metadata.name"));
}

static const struct rh_resource *any_resource(struct run *run)
{
	return draw(run, 4) == 0 ? &rh_resource_services : &rh_resource_pods;
}

/* @return the name of some pod or Service, "" when there is none; good until the next call */
static const char *any_object(struct run *run, const struct rh_resource *resource, struct names *names)
{
	*names = (struct names){0};
	rh_memory_store_each(run->sim.store, resource, add_name, names);
	return names->count ? names->items[draw(run, names->count)] : "";
}

static void user(struct run *run, enum rh_verb verb, const struct rh_resource *resource, const char *name,
                 const char *body)
{
	(void)sim_user(
		&run->sim,
		(struct rh_request){.verb = verb, .resource = resource, .name = name, .body = body ? sim_json(body) : NULL});
	rh_str_appendf(&run->steps, "  %d %s %s %s\n", (int)verb, resource->kind, name ? name : "", body ? body : "");
}

static void relabel(struct run *run)
{
	static const char *const keys[] = {RH_LABEL_JOB, RH_LABEL_JOB, RH_LABEL_OPERATOR, RH_LABEL_TYPE, RH_LABEL_INDEX};
	static const char *const jobs[] = {"'a'", "'b'", "'nobody'", "null"};
	static const char *const operators[] = {"'pytorchjob-controller'", "'tfjob-controller'", "'nobody'", "null"};
	static const char *const others[] = {"'worker'", "'chief'", "'0'", "'1'", "'x'", "null"};
	const struct rh_resource *resource = any_resource(run);
	struct names names;
	const char *name = any_object(run, resource, &names);
	const char *key = PICK(run, keys);
	const char *value = PICK(run, others);
	rh_auto_free char *body = NULL;

	if (strcmp(key, RH_LABEL_JOB) == 0)
		value = PICK(run, jobs);
	else if (strcmp(key, RH_LABEL_OPERATOR) == 0)
		value = PICK(run, operators);
	body = rh_asprintf("{'metadata':{'labels':{'%s':%s}}}", key, value);
	if (*name)
		user(run, RH_VERB_PATCH, resource, name, body);
}

/* Labels as they were made. */
static void restore(struct run *run)
{
	const struct rh_resource *resource = any_resource(run);
	struct names names;
	const char *name = any_object(run, resource, &names);
	bool tensor = strstr(name, "chief") != NULL;
	rh_auto_free char *body = rh_asprintf("{'metadata':{'labels':{'" RH_LABEL_JOB "':'%c','" RH_LABEL_OPERATOR
	                                      "':'%s-controller','" RH_LABEL_TYPE "':'%s','" RH_LABEL_INDEX "':'%c'}}}",
	                                      *name, tensor ? "tfjob" : "pytorchjob", tensor ? "chief" : "worker",
	                                      *name ? name[strlen(name) - 1] : '0');

	if (*name)
		user(run, RH_VERB_PATCH, resource, name, body);
}

static char *owner_of(struct run *run)
{
	const char *name = draw(run, 2) ? "a" : "b";
	const char *uid = rh_json_string_at(sim_job(&run->sim, name), "metadata.uid");

	switch (draw(run, uid ? 3 : 2)) {
	case 0:
		return rh_strdup("null");
	case 1:
		return rh_strdup("[" FOREIGN "]");
	default:
		return rh_asprintf("[{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','name':'%s','uid':'%s',"
		                   "'controller':true}]",
		                   name, uid);
	}
}

static void change_owner(struct run *run)
{
	const struct rh_resource *resource = any_resource(run);
	struct names names;
	const char *name = any_object(run, resource, &names);
	rh_auto_free char *owners = owner_of(run);
	rh_auto_free char *body = rh_asprintf("{'metadata':{'ownerReferences':%s}}", owners);

	if (*name)
		user(run, RH_VERB_PATCH, resource, name, body);
}

static void remove_object(struct run *run)
{
	const struct rh_resource *resource = any_resource(run);
	struct names names;
	const char *name = any_object(run, resource, &names);

	if (*name)
		user(run, RH_VERB_DELETE, resource, name, NULL);
}

/* Somebody is quicker than the engine. */
static void create_again(struct run *run)
{
	static const char *const names[] = {"a-worker-0", "a-worker-1", "b-worker-0", "a-chief-0"};
	const struct rh_resource *resource = any_resource(run);
	const char *name = PICK(run, names);
	rh_auto_free char *owners = owner_of(run);
	rh_auto_free char *body = rh_asprintf(
		"{'metadata':{'name':'%s','labels':{'" RH_LABEL_JOB "':'%c','" RH_LABEL_OPERATOR "':'pytorchjob-controller'},"
		"'ownerReferences':%s},'spec':{'containers':[{'name':'pytorch','image':'i'}]}}",
		name, draw(run, 2) ? 'a' : 'b', owners);

	user(run, RH_VERB_DELETE, resource, name, NULL);
	user(run, RH_VERB_CREATE, resource, NULL, body);
}

static void run_pod(struct run *run)
{
	struct names names;
	const char *name = any_object(run, &rh_resource_pods, &names);

	if (*name)
		sim_set_pod(&run->sim, name, "Running", 0, 0);
	rh_str_appendf(&run->steps, "  runs %s\n", name);
}

static void change_job(struct run *run)
{
	const char *name = draw(run, 2) ? "a" : "b";

	if (sim_job(&run->sim, name))
		user(run, RH_VERB_DELETE, &run->sim.jobs, name, NULL);
	else
		sim_create(&run->sim, sim_new_job(name, *name == 'a' ? "Worker=OnFailure*2" : "Worker=OnFailure", NULL, NULL));
}

static void restart(struct run *run)
{
	rh_str_append(&run->steps, "  restart\n");
	sim_kill(&run->sim);
	start(run);
}

static void let_happen(struct run *run)
{
	uint64_t turns = draw(run, 12);

	if (draw(run, 3) == 0) {
		sim_settle(&run->sim);
		rh_str_append(&run->steps, "  settle\n");
		return;
	}
	for (uint64_t i = 0; i < turns; i++) {
		size_t heads = rh_memory_store_pending(run->sim.store);

		if (heads > 0)
			(void)rh_memory_store_pump(run->sim.store, draw(run, heads));
		if (heads == 0 || draw(run, 2))
			rh_engine_step(run->sim.engine, run->sim.now);
	}
	rh_str_appendf(&run->steps, "  %d turns\n", (int)turns);
}

static void act(struct run *run)
{
	static void (*const acts[])(struct run * run) = {relabel,      relabel,       relabel,      restore,
	                                                 change_owner, remove_object, create_again, run_pod};

	switch (draw(run, 14)) {
	case 0:
		restart(run);
		break;
	case 1:
		set_gap(run, !run->gaps.open);
		rh_str_append(&run->steps, run->gaps.open ? "  gap\n" : "  end of gap\n");
		break;
	case 2:
		if (draw(run, 3) == 0)
			change_job(run);
		break;
	default:
		acts[draw(run, sizeof(acts) / sizeof(acts[0]))](run);
		break;
	}
	let_happen(run);
}

static int compare_children(const void *a, const void *b)
{
	const struct snapshot_child *one = a;
	const struct snapshot_child *other = b;
	int by_job = strcmp(one->job, other->job);
	int by_kind = by_job ? by_job : strcmp(one->kind, other->kind);

	return by_kind ? by_kind : strcmp(one->name, other->name);
}

/* @return what the engine knows, owned by the caller: sorted, so that two engines show the same in the same way */
static char *show(const struct rh_engine *engine)
{
	struct snapshot_child children[CHILDREN];
	size_t count = snapshot_children(engine, children, CHILDREN);
	rh_auto_str text = {0};

	assert_int_equal(count, snapshot_engine(engine).children);
	qsort(children, count, sizeof(children[0]), compare_children);
	for (const struct snapshot_child *child = children; child < children + count; child++)
		rh_str_appendf(&text, "%s %s %s %s %s owner %s type %s index %d phase %d%s\n", child->job, child->kind,
		               child->name, child->uid, child->version, child->owner, child->type, (int)child->index,
		               (int)child->phase, child->deleting ? " deleting" : "");
	return rh_str_take(&text);
}

/* Say what was done: more than a message of a failure has room for. */
static void say(const struct run *run, const char *what, const char *text)
{
	(void)fprintf(stderr, "seed %d:\n%s%s:\n%s\n", (int)run->seed, rh_str_text(&run->steps), what, text);
}

static void compare_with_a_start(struct run *run)
{
	struct rh_engine_options options = run->sim.options;
	rh_auto(engine) fresh = NULL;
	rh_auto_free char *known = show(run->sim.engine);
	rh_auto_free char *expected = NULL;

	options.store = rh_memory_store_face(run->sim.store);
	assert_int_equal(rh_engine_new(&options, &fresh, NULL), 0);
	rh_memory_store_drain(run->sim.store);
	expected = show(fresh);
	if (strcmp(known, expected) == 0)
		return;
	say(run, "it knows", known);
	fail_msg("after a start:\n%s", expected);
}

/* Is there a pod that is this replica? */
struct wanted {
	const char *job, *uid, *controller, *type;
	int32_t index;
	bool found;
};

static void find_replica(void *arg, const struct rh_json *pod)
{
	struct wanted *wanted = arg;
	const struct rh_json *labels = rh_json_at(pod, "metadata.labels");
	rh_auto_free char *index = rh_asprintf("%d", (int)wanted->index);

	wanted->found =
		wanted->found || (rh_text_equal(rh_json_string(rh_json_get(labels, RH_LABEL_JOB)), wanted->job) &&
	                      rh_text_equal(rh_json_string(rh_json_get(labels, RH_LABEL_OPERATOR)), wanted->controller) &&
	                      rh_text_equal(rh_json_string(rh_json_get(labels, RH_LABEL_TYPE)), wanted->type) &&
	                      rh_text_equal(rh_json_string(rh_json_get(labels, RH_LABEL_INDEX)), index) &&
	                      rh_text_equal(rh_json_string_at(pod, "metadata.ownerReferences[0].uid"), wanted->uid));
}

/* What follows the first replica waits for it. */
static void check_replicas(struct run *run, const struct rh_json *job, const char *controller, const char *type,
                           int32_t count)
{
	const char *name = rh_json_string_at(job, "metadata.name");
	rh_auto_free char *shown = job ? rh_json_text(rh_json_at(job, "status.conditions")) : NULL;

	for (int32_t i = 0; job && i < count; i++) {
		struct wanted wanted = {name, rh_json_string_at(job, "metadata.uid"), controller, type, i, false};
		rh_auto_free char *pod = rh_asprintf("%s-%s-%d", name, type, (int)i);

		rh_memory_store_each(run->sim.store, &rh_resource_pods, find_replica, &wanted);
		if (wanted.found)
			continue;
		if (sim_pod(&run->sim, pod) && strstr(shown, "\"Stalled\",\"status\":\"True\""))
			return;
		say(run, "the job says", shown);
		fail_msg("no pod %s", pod);
	}
}

static void play(struct run *run)
{
	static const struct rh_resource tf_jobs = {"kubeflow.org/v1", "TFJob", "tfjobs"};

	assert_int_equal(rh_memory_store_new(false, NULL, NULL, &run->sim.store), 0);
	rh_memory_store_set_time(run->sim.store, run->sim.now);
	start(run);
	sim_create(&run->sim, sim_new_job("a", "Worker=OnFailure*2", NULL, NULL));
	sim_create(&run->sim, sim_new_job("b", "Worker=OnFailure", NULL, NULL));
	user(run, RH_VERB_CREATE, &tf_jobs, NULL,
	     "{'metadata':{'name':'a'},'spec':{'tfReplicaSpecs':{'Chief':{'replicas':1,'restartPolicy':'OnFailure',"
	     "'template':{'spec':{'containers':[{'name':'tensorflow','image':'i'}]}}}}}}");
	let_happen(run);
	for (uint64_t acts = 3 + draw(run, 15); acts > 0; acts--)
		act(run);
	set_gap(run, false);
	sim_wait(&run->sim, 1100);
	compare_with_a_start(run);
	check_replicas(run, sim_job(&run->sim, "a"), "pytorchjob-controller", "worker", 2);
	check_replicas(run, sim_job(&run->sim, "b"), "pytorchjob-controller", "worker", 1);
	check_replicas(run, rh_memory_store_find(run->sim.store, &tf_jobs, "default", "a"), "tfjob-controller", "chief", 1);
	sim_kill(&run->sim);
	rh_memory_store_free(rh_take(run->sim.store));
	rh_str_deinit(&run->steps);
}

/* What is wanted of main() by the test. */
struct effort {
	uint64_t first;
	uint64_t count;
};

static void test_sequences__end_as_after_a_start(void **state)
{
	const struct effort *effort = *state;
	auto_sim sim = {0};
	struct rh_error err = {0};

	sim_open(&sim, false);
	if (rh_host_load_file(sim.host, RH_PLUGIN_DIR "/tensorflow.so", &err) < 0)
		fail_msg("%s", err.message);
	rh_memory_store_free(rh_take(sim.store)); /* each run has one of its own */
	for (uint64_t seed = effort->first; seed < effort->first + effort->count; seed++) {
		struct run run = {.sim = sim, .seed = seed, .random = seed};

		play(&run);
	}
}

int main(int argc, char **argv)
{
	struct effort effort = {argc > 2 ? strtoull(argv[2], NULL, 10) : 1, argc > 1 ? strtoull(argv[1], NULL, 10) : 300};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_sequences__end_as_after_a_start, &effort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

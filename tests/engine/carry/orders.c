/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/orders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "engine/ledger.h"
#include "job/values/names.h"

#define CHOICES_MAX 2000
#define ACTIONS_MAX 16
#define REPLICAS_MAX 8

/* No rule depends on Events. They complete at once, so that their orders are not tried. */
struct quiet {
	struct rh_store face; /* first */
	struct rh_store *inner;
	struct {
		rh_done_fn *done;
		void *arg;
	} waiting[256];
	size_t count;
};

/* The state of one replica that the store does not have. */
struct replica {
	char name[64];
	char uid[64];
	int pods;      /* so far */
	int succeeded; /* attempt in which it did; -1: it did not */
};

/* One run. */
struct run {
	struct sim sim;
	struct quiet quiet;
	const struct scenario *scenario;
	int choices[CHOICES_MAX];
	int options[CHOICES_MAX];
	int count;     /* choices made */
	int given;     /* choices that were given */
	uint32_t seed; /* of further ones; 0: the default */
	size_t acts;   /* done by the user */
	bool killed;
	struct replica replicas[REPLICAS_MAX];
	struct rh_str deletes; /* UIDs of the pods that this engine has deleted, each in slashes */
	const char *finished;  /* the condition, once there was one */
	char wrong[512];
};

/* What a kubelet can do now. */
struct action {
	char pod[128];
	const char *phase; /* NULL: it is gone */
	int code;
};

struct actions {
	struct run *run;
	struct action items[ACTIONS_MAX];
	size_t count;
	size_t succeeded;
};

__attribute__((format(printf, 2, 3))) static void wrong(struct run *run, const char *fmt, ...)
{
	va_list args;

	if (*run->wrong)
		return;
	va_start(args, fmt);
	(void)vsnprintf(run->wrong, sizeof(run->wrong), fmt, args);
	va_end(args);
}

static uint64_t quiet_watch(struct rh_store *face, const struct rh_resource *resource, const char *label,
                            rh_watch_fn *fn, void *arg)
{
	struct rh_store *inner = ((struct quiet *)face)->inner;

	return inner->watch(inner, resource, label, fn, arg);
}

static void quiet_unwatch(struct rh_store *face, uint64_t id)
{
	struct rh_store *inner = ((struct quiet *)face)->inner;

	inner->unwatch(inner, id);
}

static int quiet_submit(struct rh_store *face, struct rh_request *request, rh_done_fn *done, void *arg,
                        uint64_t *ret_id, struct rh_error *err)
{
	struct quiet *quiet = (struct quiet *)face;

	if (strcmp(request->resource->kind, "Event") != 0)
		return quiet->inner->submit(quiet->inner, request, done, arg, ret_id, err);
	assert_true(quiet->count < sizeof(quiet->waiting) / sizeof(quiet->waiting[0]));
	quiet->waiting[quiet->count].done = done;
	quiet->waiting[quiet->count++].arg = arg;
	rh_json_free(rh_take(request->body));
	if (ret_id)
		*ret_id = UINT64_MAX - quiet->count;
	return 0;
}

static void quiet_cancel(struct rh_store *face, uint64_t id)
{
	struct quiet *quiet = (struct quiet *)face;

	if (id > UINT64_MAX / 2)
		quiet->waiting[UINT64_MAX - id - 1].done = NULL;
	else
		quiet->inner->cancel(quiet->inner, id);
}

static void quiet_answer(struct quiet *quiet)
{
	struct rh_outcome outcome = {.code = RH_OUTCOME_OK, .message = ""};

	for (size_t i = 0; i < quiet->count; i++) {
		if (quiet->waiting[i].done)
			quiet->waiting[i].done(quiet->waiting[i].arg, &outcome);
	}
	quiet->count = 0;
}

static void start_engine(struct run *run)
{
	struct rh_error err = {0};

	run->quiet = (struct quiet){
		.face = {.watch = quiet_watch, .unwatch = quiet_unwatch, .submit = quiet_submit, .cancel = quiet_cancel},
		.inner = rh_memory_store_face(run->sim.store)};
	run->sim.options.host = run->sim.host;
	run->sim.options.store = &run->quiet.face;
	run->sim.options.patience = run->seed & 2 ? RH_SECOND / 5 : 0; /* half of the random runs hold counts back */
	if (rh_engine_new(&run->sim.options, &run->sim.engine, &err) < 0)
		fail_msg("%s", err.message);
}

static struct replica *replica_of(struct run *run, const char *name)
{
	for (size_t i = 0; i < REPLICAS_MAX; i++) {
		if (!*run->replicas[i].name) {
			rh_copy(run->replicas[i].name, sizeof(run->replicas[i].name), name);
			run->replicas[i].succeeded = -1;
		}
		if (strcmp(run->replicas[i].name, name) == 0)
			return &run->replicas[i];
	}
	fail_msg("too many replicas");
	return NULL;
}

static int attempt_of(const struct rh_json *pod)
{
	const char *text = rh_json_string(rh_json_get(rh_json_at(pod, "metadata.annotations"), RH_ANNOTATION_ATTEMPT));

	return text ? (int)strtol(text, NULL, 10) : 0;
}

static void look_at_create(struct run *run, const struct rh_request *request)
{
	const char *name = rh_json_string_at(request->body, "metadata.name");
	struct replica *replica = replica_of(run, name + 2);
	int attempt = attempt_of(request->body);

	if (sim_pod(&run->sim, name))
		wrong(run, "%s is created though it is there", name);
	if (run->finished)
		wrong(run, "%s is created though the job is %s", name, run->finished);
	/* a restart of a type begins no other attempt */
	if (replica->succeeded >= 0 && (!run->scenario->again || (attempt <= replica->succeeded && !run->scenario->scope)))
		wrong(run, "%s is created again in attempt %d though it succeeded in %d", name, attempt, replica->succeeded);
}

/* Only the engine deletes with the pod's grace period; it names the UID, and deletes each pod once. */
static void look_at_delete(struct run *run, const struct rh_request *request)
{
	rh_auto_free char *uid = rh_asprintf("/%s/", request->uid ? request->uid : "");

	if (request->grace_seconds == 0)
		return;
	if (!request->uid)
		wrong(run, "%s is deleted whatever its UID", request->name);
	if (strstr(rh_str_text(&run->deletes), uid))
		wrong(run, "%s is deleted twice", request->name);
	rh_str_append(&run->deletes, uid);
}

/* Patches of users are recognized by what they change. */
static void look_at_patch(struct run *run, const struct rh_request *request)
{
	bool by_user = request->verb == RH_VERB_PATCH && rh_json_get(request->body, "spec");

	if (!by_user && (!request->uid || !request->resource_version))
		wrong(run, "the job is written whatever its version");
}

/* The gate sees each request when it is applied, in whatever order outcomes and events are delivered. */
static bool look_at_request(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome,
                            bool *ret_apply)
{
	struct run *run = arg;
	bool pod = strcmp(request->resource->kind, "Pod") == 0;

	(void)ret_outcome;
	(void)ret_apply;
	if (pod && request->verb == RH_VERB_CREATE)
		look_at_create(run, request);
	else if (pod && request->verb == RH_VERB_DELETE)
		look_at_delete(run, request);
	else if (!pod && (request->verb == RH_VERB_PATCH || request->verb == RH_VERB_PATCH_STATUS))
		look_at_patch(run, request);
	return false;
}

static int fate_of(const struct run *run, const char *replica, int pods)
{
	for (const struct fate *fate = run->scenario->fates; fate->replica; fate++) {
		if (strcmp(fate->replica, replica) == 0)
			return fate->codes[pods < fate->count ? pods : fate->count - 1];
	}
	return FATE_RUNS;
}

static void add_action(struct actions *actions, const char *pod, const char *phase, int code)
{
	struct action *action = &actions->items[actions->count++];

	assert_true(actions->count < ACTIONS_MAX);
	rh_copy(action->pod, sizeof(action->pod), pod);
	action->phase = phase;
	action->code = code;
}

static void find_action(void *arg, const struct rh_json *pod)
{
	struct actions *actions = arg;
	const char *name = rh_json_string_at(pod, "metadata.name");
	const char *uid = rh_json_string_at(pod, "metadata.uid");
	const char *phase = rh_json_string_at(pod, "status.phase");
	struct replica *replica = replica_of(actions->run, name + 2);
	int code;

	actions->succeeded += strcmp(phase, "Succeeded") == 0;
	if (strcmp(replica->uid, uid) != 0) {
		rh_copy(replica->uid, sizeof(replica->uid), uid);
		replica->pods++;
	}
	code = fate_of(actions->run, replica->name, replica->pods - 1);
	if (rh_json_at(pod, "metadata.deletionTimestamp"))
		add_action(actions, name, NULL, 0);
	else if (strcmp(phase, "Pending") == 0)
		add_action(actions, name, "Running", 0);
	else if (strcmp(phase, "Running") == 0 && code != FATE_RUNS)
		add_action(actions, name, code > 0 ? "Failed" : "Succeeded", code);
}

/* How many replicas the scenario's job has. */
static size_t size_of(const struct scenario *scenario)
{
	size_t size = 0;

	for (const char *c = scenario->replicas; (c = strchr(c, '=')); c++) {
		const char *star = c + strcspn(c, " *");

		size += *star == '*' ? strtoul(star + 1, NULL, 10) : 1;
	}
	return size;
}

static void find_actions(struct run *run, struct actions *ret_actions)
{
	size_t kept = 0;

	*ret_actions = (struct actions){.run = run};
	rh_memory_store_each(run->sim.store, &rh_resource_pods, find_action, ret_actions);
	for (size_t i = 0; i < ret_actions->count; i++) {
		if (ret_actions->items[i].code != FATE_WAITS || ret_actions->succeeded + 1 == size_of(run->scenario))
			ret_actions->items[kept++] = ret_actions->items[i];
	}
	ret_actions->count = kept;
}

static void do_action(struct run *run, const struct action *action)
{
	struct replica *replica = replica_of(run, action->pod + 2);

	if (!action->phase) {
		sim_delete_pod(&run->sim, action->pod, 0);
		return;
	}
	if (strcmp(action->phase, "Succeeded") == 0)
		replica->succeeded = attempt_of(sim_pod(&run->sim, action->pod));
	sim_set_pod(&run->sim, action->pod, action->phase, action->code > 0 ? action->code : 0, 0);
}

static bool may_act(const struct run *run)
{
	const struct act *act = &run->scenario->acts[run->acts];
	rh_auto_free char *shown = act->when ? sim_show(&run->sim, "j") : NULL;

	if (act->quiet && (rh_memory_store_pending(run->sim.store) > 0 || rh_engine_busy(run->sim.engine)))
		return false;
	return shown && strstr(shown, act->when);
}

static void do_act(struct run *run)
{
	const struct act *act = &run->scenario->acts[run->acts++];
	rh_auto_free char *pod = act->pod ? rh_asprintf("j-%s", act->pod) : NULL;

	if (act->patch)
		sim_patch(&run->sim, "j", act->patch);
	if (pod)
		sim_delete_pod(&run->sim, pod, 0);
	if (act->remove)
		sim_delete(&run->sim, "j");
}

static void kill_engine(struct run *run)
{
	run->killed = true;
	rh_str_clear(&run->deletes);
	sim_kill(&run->sim);
	start_engine(run);
}

/* A terminal condition stays. */
static void look_at_job(struct run *run)
{
	static const char *const ends[] = {"Succeeded", "Failed"};
	const struct rh_json *job = sim_job(&run->sim, "j");
	const struct rh_json *conditions = rh_json_at(job, "status.conditions");
	const char *finished = NULL;

	for (const struct rh_json *item = rh_json_first(conditions); item; item = rh_json_next(item)) {
		for (size_t i = 0; i < 2; i++) {
			if (strcmp(rh_json_string_at(item, "type"), ends[i]) == 0 &&
			    strcmp(rh_json_string_at(item, "status"), "True") == 0)
				finished = finished ? "both" : ends[i];
		}
	}
	if (job && run->finished && (!finished || strcmp(finished, run->finished) != 0))
		wrong(run, "the job was %s and is %s", run->finished, finished ? finished : "not finished any more");
	if (finished)
		run->finished = finished;
}

static uint32_t next_number(uint32_t *seed)
{
	*seed = *seed * 1664525U + 1013904223U;
	return *seed >> 8;
}

/* Random runs are mostly the default: faults come from few turns out of order, not from noise. */
static int choose(struct run *run, int options)
{
	int choice = 0;

	if (run->count < run->given)
		choice = run->choices[run->count];
	else if (run->seed && next_number(&run->seed) % 4 == 0)
		choice = (int)(next_number(&run->seed) % (uint32_t)options);
	if (run->count >= CHOICES_MAX) {
		wrong(run, "it does not end");
		return 0;
	}
	run->choices[run->count] = choice;
	run->options[run->count++] = options;
	return choice;
}

/* @return false when no choice is left */
static bool wait_for_timer(struct run *run)
{
	int64_t next = rh_engine_deadline(run->sim.engine);

	if (next > run->sim.now + 3600 * RH_SECOND)
		return false;
	if (next > run->sim.now)
		run->sim.now = next;
	rh_memory_store_set_time(run->sim.store, run->sim.now);
	return true;
}

/* Make one choice and step the engine. @return whether there is another choice */
static bool turn(struct run *run)
{
	int heads = (int)rh_memory_store_pending(run->sim.store);
	bool act = may_act(run);
	struct actions actions;
	int choice, options;

	find_actions(run, &actions);
	options = heads + (int)actions.count + act;
	if (options == 0 && run->killed)
		return wait_for_timer(run);
	choice = choose(run, (options ? options : 1) + !run->killed);
	if (options == 0 && choice == 0)
		return wait_for_timer(run);
	if (choice < heads)
		assert_true(rh_memory_store_pump(run->sim.store, (size_t)choice));
	else if (choice < heads + (int)actions.count)
		do_action(run, &actions.items[choice - heads]);
	else if (choice < options)
		do_act(run);
	else
		kill_engine(run);
	return true;
}

static void check_ledger(struct run *run)
{
	const struct scenario *scenario = run->scenario;
	const struct rh_json *object = sim_job(&run->sim, "j");
	const struct rh_kind *kind = rh_host_kind(run->sim.host, run->sim.jobs.api_version, run->sim.jobs.kind, NULL);
	rh_auto(job) job = NULL;
	rh_auto_ledger ledger = {0};

	if (!object)
		return;
	assert_int_equal(rh_job_parse(kind, rh_json_copy(object), &job, NULL), 0);
	assert_int_equal(rh_ledger_read(job, &ledger), 0);
	if (scenario->restarts >= 0 && rh_ledger_restarts(&ledger) != scenario->restarts)
		wrong(run, "%d restarts are counted, not %d", (int)rh_ledger_restarts(&ledger), scenario->restarts);
	if (scenario->attempt >= 0 && ledger.attempt != scenario->attempt)
		wrong(run, "it ends in attempt %d, not %d", ledger.attempt, scenario->attempt);
}

static void check_end(struct run *run)
{
	const struct scenario *scenario = run->scenario;
	rh_auto_free char *shown = sim_show(&run->sim, "j");

	if (scenario->acts[run->acts].when)
		wrong(run, "it never comes to \"%s\": %s", scenario->acts[run->acts].when, shown);
	for (size_t i = 0; i < 4 && scenario->ends[i]; i++) {
		if (strcmp(shown, scenario->ends[i]) == 0) {
			check_ledger(run);
			return;
		}
	}
	wrong(run, "it ends as \"%s\"", shown);
}

/* @return the scenario's job, owned by the caller */
static struct rh_json *new_job(const struct scenario *scenario)
{
	struct rh_json *job = sim_new_job("j", scenario->replicas, scenario->policy, scenario->annotations);
	struct rh_json *spec = rh_json_ensure_object(job, "spec");

	if (!scenario->scope)
		return job;
	assert_int_equal(rh_json_set(spec, "restartsReplicaSpecs", rh_json_copy(rh_json_get(spec, "pytorchReplicaSpecs"))),
	                 0);
	rh_json_remove(spec, "pytorchReplicaSpecs");
	assert_int_equal(rh_json_set_string(spec, "scope", scenario->scope), 0);
	return job;
}

static void play(struct run *run)
{
	const struct scenario *scenario = run->scenario;

	assert_int_equal(rh_memory_store_new(scenario->graceful, NULL, NULL, &run->sim.store), 0);
	rh_memory_store_set_time(run->sim.store, run->sim.now);
	rh_memory_store_set_gate(run->sim.store, look_at_request, run);
	start_engine(run);
	sim_create(&run->sim, new_job(scenario));
	for (bool more = true; more && !*run->wrong;) {
		rh_engine_step(run->sim.engine, run->sim.now);
		quiet_answer(&run->quiet);
		more = turn(run);
		look_at_job(run);
	}
	check_end(run);
	sim_kill(&run->sim);
	rh_memory_store_free(rh_take(run->sim.store));
	rh_str_deinit(&run->deletes);
}

static void report_failure(const struct run *run, const char *how)
{
	rh_auto_str text = {0};

	for (int i = 0; i < run->count; i++) {
		if (run->choices[i])
			rh_str_appendf(&text, " %d:%d/%d", i, run->choices[i], run->options[i]);
	}
	fail_msg("%s, %s: %s; choices that are not the default:%s", run->scenario->name, how, run->wrong,
	         rh_str_text(&text));
}

/*
 * Play one run. @param given its first choices; @p seed 0: then the default, else random ones. @return what was chosen
 */
static struct run *play_one(struct sim *sim, const struct scenario *scenario, const int *given, int count,
                            uint32_t seed)
{
	struct run *run = rh_alloc(sizeof(*run));

	assert_non_null(run);
	run->sim = *sim;
	run->scenario = scenario;
	run->seed = seed;
	run->given = count;
	for (int i = 0; i < count; i++)
		run->choices[i] = given[i];
	play(run);
	if (*run->wrong)
		report_failure(run, seed ? "at random" : "in turn");
	return run;
}

/* All runs in which one choice is not the default. */
static int explore_singles(struct sim *sim, const struct scenario *scenario, int stride)
{
	struct run *first = play_one(sim, scenario, NULL, 0, 0);
	int *choices = rh_alloc_array(CHOICES_MAX, sizeof(*choices));
	int runs = 1;
	int place = 0;

	assert_non_null(choices);
	for (int i = 0; i < first->count; i++) {
		for (int choice = 1; choice < first->options[i]; choice++) {
			if (place++ % stride != 0)
				continue;
			choices[i] = choice;
			rh_free(play_one(sim, scenario, choices, i + 1, 0));
			runs++;
		}
		choices[i] = 0;
	}
	rh_free(choices);
	rh_free(first);
	return runs;
}

void orders_explore(const struct scenario *scenario, const struct effort *effort)
{
	auto_sim sim = {0};
	int runs;

	sim_open(&sim, false);
	rh_memory_store_free(rh_take(sim.store)); /* each run has its own */
	if (scenario->scope) {
		assert_int_equal(rh_host_load_file(sim.host, RH_RESTARTS, NULL), 0);
		sim.jobs = (struct rh_resource){"example.org/v1", "RestartsJob", "restartsjobs"};
	}
	runs = explore_singles(&sim, scenario, effort->stride);
	for (int i = 1; i <= effort->random; i++)
		rh_free(play_one(&sim, scenario, NULL, 0, (uint32_t)i * 2654435761U | 1U));
	print_message("           %s: %d runs\n", scenario->name, runs + effort->random);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "job/values/names.h"

/* More rounds than any test needs: a simulation that is still busy then never settles. */
#define SIM_ROUNDS_MAX 20000

void sim_open_empty(struct sim *sim, bool graceful)
{
	struct rh_error err = {0};

	*sim = (struct sim){.now = SIM_START, .jobs = {"kubeflow.org/v1", "PyTorchJob", "pytorchjobs"}};
	sim->config = rh_config_new();
	assert_non_null(sim->config);
	assert_int_equal(rh_host_new(sim->config, &sim->host, &err), 0);
	assert_int_equal(rh_memory_store_new(graceful, NULL, NULL, &sim->store), 0);
	rh_memory_store_set_time(sim->store, sim->now);
}

void sim_open(struct sim *sim, bool graceful)
{
	struct rh_error err = {0};

	sim_open_empty(sim, graceful);
	if (rh_host_load_file(sim->host, RH_PLUGIN_DIR "/pytorch.so", &err) < 0)
		fail_msg("%s", err.message);
}

void sim_close(struct sim *sim)
{
	sim_kill(sim);
	rh_memory_store_free(sim->store);
	rh_host_free(sim->host);
	rh_config_free(sim->config);
	*sim = (struct sim){0};
}

static struct sim_watch *sim_find_watch(struct sim_store *store, uint64_t id)
{
	struct sim_watch *watch = store->watches;

	while (watch < store->watches + SIM_WATCHES_MAX && watch->id != id)
		watch++;
	return watch < store->watches + SIM_WATCHES_MAX ? watch : NULL;
}

static uint64_t sim_watch(struct rh_store *face, const struct rh_resource *resource, const char *label, rh_watch_fn *fn,
                          void *arg)
{
	struct sim_store *store = (struct sim_store *)face;
	uint64_t id = store->inner->watch(store->inner, resource, label, fn, arg);
	struct sim_watch *place = sim_find_watch(store, 0);

	assert_non_null(place);
	*place = (struct sim_watch){.id = id, .resource = resource, .fn = fn, .arg = arg};
	return id;
}

static void sim_unwatch(struct rh_store *face, uint64_t id)
{
	struct sim_store *store = (struct sim_store *)face;
	struct sim_watch *watch = id ? sim_find_watch(store, id) : NULL;

	if (watch)
		*watch = (struct sim_watch){0};
	store->inner->unwatch(store->inner, id);
}

static int sim_submit(struct rh_store *face, struct rh_request *request, rh_done_fn *done, void *arg, uint64_t *ret_id,
                      struct rh_error *err)
{
	struct rh_store *inner = ((struct sim_store *)face)->inner;

	return inner->submit(inner, request, done, arg, ret_id, err);
}

static void sim_cancel(struct rh_store *face, uint64_t id)
{
	struct rh_store *inner = ((struct sim_store *)face)->inner;

	inner->cancel(inner, id);
}

struct rh_store *sim_store(struct sim *sim)
{
	sim->watched.face =
		(struct rh_store){.watch = sim_watch, .unwatch = sim_unwatch, .submit = sim_submit, .cancel = sim_cancel};
	sim->watched.inner = rh_memory_store_face(sim->store);
	return &sim->watched.face;
}

size_t sim_watches(const struct sim *sim)
{
	size_t count = 0;

	for (size_t i = 0; i < SIM_WATCHES_MAX; i++)
		count += sim->watched.watches[i].id != 0;
	return count;
}

void sim_deliver(const struct sim *sim, const char *kind, enum rh_watch_event event, const struct rh_json *object)
{
	for (const struct sim_watch *watch = sim->watched.watches; watch < sim->watched.watches + SIM_WATCHES_MAX;
	     watch++) {
		if (watch->id == 0 || strcmp(watch->resource->kind, kind) != 0)
			continue;
		watch->fn(watch->arg, event, object);
		return;
	}
	fail_msg("nobody watches %s", kind);
}

void sim_start(struct sim *sim)
{
	struct rh_error err = {0};

	sim->options.host = sim->host;
	sim->options.store = sim_store(sim);
	if (rh_engine_new(&sim->options, &sim->engine, &err) < 0)
		fail_msg("%s", err.message);
}

void sim_kill(struct sim *sim)
{
	if (!sim->engine)
		return;
	rh_engine_free(rh_take(sim->engine));
	rh_memory_store_disconnect(sim->store);
}

static void sim_set_time(struct sim *sim, int64_t now)
{
	if (now > sim->now)
		sim->now = now;
	rh_memory_store_set_time(sim->store, sim->now);
}

/* Everything up to @p until, timers included. */
static void sim_run(struct sim *sim, int64_t until)
{
	for (int round = 0; round < SIM_ROUNDS_MAX; round++) {
		bool comes;
		int64_t next;

		rh_memory_store_drain(sim->store);
		rh_engine_step(sim->engine, sim->now);
		comes = sim->turn && sim->turn(sim);
		next = rh_engine_deadline(sim->engine);
		if (rh_memory_store_pending(sim->store) > 0 || next <= sim->now || comes)
			continue;
		if (next > until)
			return;
		sim_set_time(sim, next);
	}
	fail_msg("it never becomes quiet");
}

void sim_settle(struct sim *sim)
{
	sim_run(sim, sim->now + RH_SECOND - 1);
}

void sim_wait(struct sim *sim, int64_t seconds)
{
	int64_t until = sim->now + seconds * RH_SECOND;

	sim_run(sim, until);
	sim_set_time(sim, until);
	sim_run(sim, until);
}

static void sim_take_code(void *arg, const struct rh_outcome *outcome)
{
	*(enum rh_outcome_code *)arg = outcome->code;
}

enum rh_outcome_code sim_user(struct sim *sim, struct rh_request request)
{
	struct rh_store *face = rh_memory_store_face(sim->store);
	enum rh_outcome_code code = RH_OUTCOME_UNKNOWN;

	if (!request.namespace_)
		request.namespace_ = "default";
	assert_int_equal(face->submit(face, &request, sim_take_code, &code, NULL, NULL), 0);
	assert_true(rh_memory_store_pump(sim->store, rh_memory_store_pending(sim->store) - 1));
	assert_true(rh_memory_store_pump(sim->store, rh_memory_store_pending(sim->store) - 1));
	return code;
}

void sim_create(struct sim *sim, struct rh_json *job)
{
	assert_int_equal(sim_user(sim, (struct rh_request){.verb = RH_VERB_CREATE, .resource = &sim->jobs, .body = job}),
	                 RH_OUTCOME_OK);
}

void sim_patch(struct sim *sim, const char *name, const char *patch)
{
	assert_int_equal(
		sim_user(
			sim,
			(struct rh_request){.verb = RH_VERB_PATCH, .resource = &sim->jobs, .name = name, .body = sim_json(patch)}),
		RH_OUTCOME_OK);
}

void sim_delete(struct sim *sim, const char *name)
{
	assert_int_equal(sim_user(sim, (struct rh_request){.verb = RH_VERB_DELETE, .resource = &sim->jobs, .name = name}),
	                 RH_OUTCOME_OK);
}

void sim_delete_pod(struct sim *sim, const char *name, int64_t grace)
{
	(void)sim_user(sim,
	               (struct rh_request){
					   .verb = RH_VERB_DELETE, .resource = &rh_resource_pods, .name = name, .grace_seconds = grace});
}

struct rh_json *sim_json(const char *text)
{
	rh_auto_free char *copy = rh_strdup(text);
	struct rh_json *json = NULL;
	struct rh_error err = {0};

	assert_non_null(copy);
	for (char *c = copy; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	if (rh_json_parse(copy, strlen(copy), &json, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	return json;
}

void sim_set_pod(struct sim *sim, const char *name, const char *phase, int code, int restarts)
{
	bool runs = strcmp(phase, "Running") == 0;
	char now[RH_TIME_SIZE];
	rh_auto_str text = {0};

	rh_time_format_micro(sim->now, now);
	rh_str_appendf(&text,
	               "{'status':{'phase':'%s','startTime':'%s','conditions':[{'type':'Ready','status':'%s'}],"
	               "'containerStatuses':[{'name':'%s','ready':%s,'restartCount':%d,'state':",
	               phase, now, runs ? "True" : "False",
	               rh_json_string_at(sim_pod(sim, name), "spec.containers[0].name"), runs ? "true" : "false", restarts);
	if (runs)
		rh_str_appendf(&text, "{'running':{'startedAt':'%s'}}", now);
	else
		rh_str_appendf(&text,
		               "{'terminated':{'exitCode':%d,'reason':'%s','startedAt':'%s','finishedAt':'%s',"
		               "'message':'bye'}}",
		               code, code ? "Error" : "Completed", now, now);
	rh_str_append(&text, "}]}}");
	(void)sim_user(sim, (struct rh_request){.verb = RH_VERB_PATCH_STATUS,
	                                        .resource = &rh_resource_pods,
	                                        .name = name,
	                                        .body = sim_json(rh_str_text(&text))});
}

const struct rh_json *sim_job(const struct sim *sim, const char *name)
{
	return rh_memory_store_find(sim->store, &sim->jobs, "default", name);
}

const struct rh_json *sim_pod(const struct sim *sim, const char *name)
{
	return rh_memory_store_find(sim->store, &rh_resource_pods, "default", name);
}

/* Lines that are collected from a store. */
struct lines {
	char *items[512];
	size_t count;
	const char *job;
};

static void lines_add(struct lines *lines, char *line)
{
	assert_non_null(line);
	assert_true(lines->count < sizeof(lines->items) / sizeof(lines->items[0]));
	lines->items[lines->count++] = line;
}

static int lines_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *lines_join(struct lines *lines, const char *between)
{
	rh_auto_str text = {0};

	qsort(lines->items, lines->count, sizeof(lines->items[0]), lines_compare);
	for (size_t i = 0; i < lines->count; i++) {
		rh_str_appendf(&text, "%s%s", i > 0 ? between : "", lines->items[i]);
		rh_free(lines->items[i]);
	}
	return rh_str_take(&text);
}

static void show_pod(void *arg, const struct rh_json *pod)
{
	struct lines *lines = arg;
	const struct rh_json *metadata = rh_json_get(pod, "metadata");
	const char *name = rh_json_string_at(metadata, "name");
	const char *job = rh_json_string(rh_json_get(rh_json_get(metadata, "labels"), RH_LABEL_JOB));

	if (job && strcmp(job, lines->job) == 0)
		lines_add(lines, rh_asprintf("%s %s%s", name + strlen(job) + 1, rh_json_string_at(pod, "status.phase"),
		                             rh_json_get(metadata, "deletionTimestamp") ? " stopping" : ""));
}

char *sim_show(const struct sim *sim, const char *name)
{
	const struct rh_json *conditions = rh_json_at(sim_job(sim, name), "status.conditions");
	struct lines lines = {.job = name};
	rh_auto_str text = {0};
	rh_auto_free char *pods = NULL;

	if (!sim_job(sim, name))
		rh_str_append(&text, "gone ");
	for (const struct rh_json *item = rh_json_first(conditions); item; item = rh_json_next(item)) {
		if (strcmp(rh_json_string_at(item, "status"), "True") == 0)
			rh_str_appendf(&text, "%s ", rh_json_string_at(item, "type"));
	}
	rh_memory_store_each(sim->store, &rh_resource_pods, show_pod, &lines);
	pods = lines_join(&lines, ", ");
	rh_str_appendf(&text, "| %s", pods);
	return rh_str_take(&text);
}

void sim_assert(const struct sim *sim, const char *name, const char *expected)
{
	rh_auto_free char *shown = sim_show(sim, name);

	assert_string_equal(shown, expected);
}

static void show_event(void *arg, const struct rh_json *event)
{
	int64_t count = 0;

	(void)rh_json_integer(rh_json_get(event, "count"), &count);
	lines_add(arg, rh_asprintf("%s %s %s (%d)", rh_json_string_at(event, "type"), rh_json_string_at(event, "reason"),
	                           rh_json_string_at(event, "message"), (int)count));
}

char *sim_events(const struct sim *sim)
{
	struct lines lines = {0};

	rh_memory_store_each(sim->store, &rh_resource_events, show_event, &lines);
	return lines_join(&lines, "\n");
}

static const char *find_line(const char *text, const char *line)
{
	const char *found = text;

	while ((found = strstr(found, line)) && found != text && found[-1] != '\n')
		found++;
	return found;
}

int sim_assert_event(const struct sim *sim, const char *line)
{
	rh_auto_free char *events = sim_events(sim);
	const char *found = find_line(events, line);
	const char *end = found ? strchr(found, '\n') : NULL;
	const char *count;

	if (!found)
		fail_msg("no event \"%s\" in:\n%s", line, events);
	end = end ? end : found + strlen(found);
	for (count = end; *count != '('; count--)
		continue;
	return (int)strtol(count + 1, NULL, 10);
}

void sim_assert_no_event(const struct sim *sim, const char *line)
{
	rh_auto_free char *events = sim_events(sim);

	if (find_line(events, line))
		fail_msg("an event \"%s\" in:\n%s", line, events);
}

/* One of "Master=OnFailure", "Worker=ExitCode*2". */
static void add_replicas(struct rh_str *text, const char *word, size_t length)
{
	char type[32], policy[32];
	int replicas = 1;
	char copy[80];

	assert_true(length < sizeof(copy));
	rh_copy(copy, length + 1, word);
	assert_true(sscanf(copy, "%31[^=]=%31[^*]*%d", type, policy, &replicas) >= 2);
	rh_str_appendf(text,
	               "%s'%s':{'replicas':%d,'restartPolicy':'%s','template':{'spec':{'containers':[{'name':'pytorch',"
	               "'image':'i'}]}}}",
	               text->length > 0 ? "," : "", type, replicas, policy);
}

struct rh_json *sim_new_job(const char *name, const char *replicas, const char *policy, const char *annotations)
{
	rh_auto_str specs = {0};
	rh_auto_free char *text = NULL;

	for (const char *word = replicas; *word;) {
		size_t length = strcspn(word, " ");

		add_replicas(&specs, word, length);
		word += length + (word[length] == ' ');
	}
	text = rh_asprintf("{'metadata':{'name':'%s','annotations':%s},'spec':{'runPolicy':%s,'pytorchReplicaSpecs':{%s}}}",
	                   name, annotations ? annotations : "{}", policy ? policy : "{}", rh_str_text(&specs));
	assert_non_null(text);
	return sim_json(text);
}

#define MPI_SPEC(type, count)                                                                                   \
	"'" type "':{'replicas':" count ",'restartPolicy':'Never','template':{'spec':{'containers':[{'name':'mpi'," \
	"'image':'i'}]}}}"

const struct rh_resource sim_mpi_jobs = {"kubeflow.org/v1", "MPIJob", "mpijobs"};
const struct rh_resource sim_config_maps = {"v1", "ConfigMap", "configmaps"};
const struct rh_resource sim_autoscalers = {"autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"};

void sim_start_mpi(struct sim *sim)
{
	struct rh_error err = {0};

	if (rh_host_load_file(sim->host, RH_PLUGIN_DIR "/mpi.so", &err) < 0)
		fail_msg("%s", err.message);
	sim_start(sim);
	assert_int_equal(
		sim_user(sim, (struct rh_request){.verb = RH_VERB_CREATE,
	                                      .resource = &sim_mpi_jobs,
	                                      .body = sim_json("{'metadata':{'name':'m'},'spec':{"
	                                                       "'mpiReplicaSpecs':{" MPI_SPEC("Launcher", "1") "," MPI_SPEC(
															   "Worker", "2") "}}}")}),
		RH_OUTCOME_OK);
	sim_settle(sim);
}

void sim_assert_hosts(const struct sim *sim, const char *expected)
{
	const struct rh_json *map = rh_memory_store_find(sim->store, &sim_config_maps, "default", "m-config");

	assert_string_equal(rh_json_string_at(map, "data[\"discover_hosts.sh\"]"), expected);
}

void sim_play_pod(struct sim *sim, const char *name, const char *phase)
{
	sim_set_pod(sim, name, phase, 0, 0);
	sim_settle(sim);
}

struct rh_json *sim_elastic_job(void)
{
	return sim_json("{'metadata':{'name':'j'},'spec':{'elasticPolicy':{'minReplicas':1,'maxReplicas':3,'metrics':[{"
	                "'type':'Resource','resource':{'name':'cpu'}}]},'pytorchReplicaSpecs':{'Worker':{'replicas':1,"
	                "'restartPolicy':'Never','template':{'spec':{'containers':[{'name':'pytorch','image':'i'}]}}}}}}");
}

const struct rh_json *sim_autoscaler(const struct sim *sim)
{
	return rh_memory_store_find(sim->store, &sim_autoscalers, "default", "j");
}

int64_t sim_max_replicas(const struct sim *sim)
{
	int64_t value = -1;

	(void)rh_json_integer(rh_json_at(sim_autoscaler(sim), "spec.maxReplicas"), &value);
	return value;
}

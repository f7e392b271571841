/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/decide/worlds.h"
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "engine/decide/worlds_parse.h"
#include "job/values/names.h"

static void worlds_load(struct worlds *worlds)
{
	struct rh_error err = {0};

	worlds->config = rh_config_new();
	assert_non_null(worlds->config);
	assert_int_equal(rh_host_new(worlds->config, &worlds->host, &err), 0);
	if (rh_host_load_file(worlds->host, RH_PLUGIN_DIR "/pytorch.so", &err) < 0)
		fail_msg("%s", err.message);
	if (rh_host_add(worlds->host, "toy", &worlds_toy_plugin, &err) < 0)
		fail_msg("%s", err.message);
}

struct worlds *worlds_new(const char *job, const char *world)
{
	struct worlds *worlds = calloc(1, sizeof(*worlds));

	assert_non_null(worlds);
	worlds->now = WORLDS_NOW;
	worlds_load(worlds);
	worlds_edit(worlds, job);
	worlds_change(worlds, world);
	return worlds;
}

static void worlds_free_child(struct rh_child *child)
{
	free(child->api_version);
	free(child->kind);
	free(child->name);
	free(child->uid);
	free(child->owner_uid);
	free(child->type);
	free(child);
}

void worlds_free(struct worlds *worlds)
{
	if (!worlds)
		return;
	for (size_t i = 0; i < worlds->pod_count; i++)
		rh_pod_free(worlds->pods[i]);
	for (size_t i = 0; i < worlds->child_count; i++)
		worlds_free_child(worlds->children[i]);
	for (size_t i = 0; i < worlds->refusal_count; i++) {
		rh_free(worlds->refusals[i].kind);
		rh_free(worlds->refusals[i].name);
		rh_free(worlds->refusals[i].message);
	}
	rh_free(worlds->stalls);
	rh_free(worlds->stalls_address);
	rh_free(worlds->stalls_reporter);
	rh_free(worlds->stalls_refusal);
	free(worlds->pods);
	free(worlds->children);
	rh_json_free(worlds->objects);
	rh_ledger_deinit(&worlds->ledger);
	rh_job_status_deinit(&worlds->held);
	rh_job_free(worlds->job);
	rh_host_free(worlds->host);
	rh_config_free(worlds->config);
	free(worlds);
}

void worlds_edit(struct worlds *worlds, const char *job)
{
	struct rh_job_status status = {0};
	struct rh_error err = {0};
	struct rh_job *made;

	if (worlds->job)
		assert_int_equal(rh_job_status_copy(&status, &worlds->job->status), 0);
	if (rh_host_parse(worlds->host, worlds_object(job), &made, &err) < 0)
		fail_msg("%s", err.message);
	rh_job_free(worlds->job);
	rh_job_status_deinit(&made->status);
	made->status = status;
	worlds->job = made;
}

/* "worker-1" as type and index. */
static int32_t worlds_split(const char *name, char type[WORLDS_TEXT])
{
	const char *dash = strrchr(name, '-');

	assert_non_null(dash);
	snprintf(type, WORLDS_TEXT, "%.*s", (int)(dash - name), name);
	return (int)strtol(dash + 1, NULL, 10);
}

struct rh_pod *worlds_add_pod(struct worlds *worlds, const char *type, int32_t index, const char *uid)
{
	struct rh_pod *pod = rh_alloc(sizeof(*pod));
	char name[RH_NAME_SIZE], lower[RH_NAME_SIZE];

	assert_non_null(pod);
	pod->name = rh_strdup(rh_name_replica("j", type, index, name));
	pod->uid = uid ? rh_strdup(uid) : rh_asprintf("u-%s-%d", rh_name_lower(type, lower), index);
	pod->resource_version = rh_strdup("1");
	pod->owner_uid = rh_strdup(WORLDS_JOB_UID);
	pod->type = rh_strdup(rh_name_lower(type, lower));
	pod->node = rh_strdup("");
	pod->ip = rh_strdup("");
	pod->reason = rh_strdup("");
	pod->waiting_reason = rh_strdup("");
	pod->waiting_message = rh_strdup("");
	pod->last_lines = rh_strdup("");
	pod->failed_container = rh_strdup("");
	pod->index = index;
	pod->phase = RH_PHASE_PENDING;
	pod->exit_code = -1;
	pod->failed_code = -1;
	pod->rank = -1;
	pod->accused = -1;
	pod->created_at = worlds->now - 100 * RH_SECOND;
	worlds->pods = realloc(worlds->pods, (worlds->pod_count + 1) * sizeof(*worlds->pods));
	assert_non_null(worlds->pods);
	worlds->pods[worlds->pod_count++] = pod;
	return pod;
}

static struct rh_child *worlds_add_child(struct worlds *worlds, const char *api_version, const char *kind,
                                         const char *name)
{
	struct rh_child *child = calloc(1, sizeof(*child));

	assert_non_null(child);
	child->api_version = strdup(api_version);
	child->kind = strdup(kind);
	child->name = strdup(name);
	child->owner_uid = strdup(WORLDS_JOB_UID);
	child->type = strdup("");
	child->index = -1;
	if (asprintf(&child->uid, "s-%s", name) < 0)
		fail_msg("out of memory");
	worlds->children = realloc(worlds->children, (worlds->child_count + 1) * sizeof(*worlds->children));
	assert_non_null(worlds->children);
	worlds->children[worlds->child_count++] = child;
	return child;
}

static struct rh_child *worlds_make_service(struct worlds *worlds, const char *type, int32_t index)
{
	char name[RH_NAME_SIZE], lower[RH_NAME_SIZE];
	struct rh_child *child = worlds_add_child(worlds, "v1", "Service", rh_name_replica("j", type, index, name));

	free(child->type);
	child->type = strdup(rh_name_lower(type, lower));
	child->index = index;
	return child;
}

void worlds_add_service(struct worlds *worlds, const char *type, int32_t index)
{
	worlds_make_service(worlds, type, index);
}

void worlds_remove_pod(struct worlds *worlds, const char *uid)
{
	for (size_t i = 0; i < worlds->pod_count; i++) {
		if (strcmp(worlds->pods[i]->uid, uid) == 0) {
			rh_pod_free(worlds->pods[i]);
			worlds->pods[i] = worlds->pods[--worlds->pod_count];
			return;
		}
	}
}

void worlds_remove_child(struct worlds *worlds, const char *uid)
{
	for (size_t i = 0; i < worlds->child_count; i++) {
		if (strcmp(worlds->children[i]->uid, uid) == 0) {
			worlds_free_child(worlds->children[i]);
			worlds->children[i] = worlds->children[--worlds->child_count];
			return;
		}
	}
}

struct rh_pod *worlds_pod(const struct worlds *worlds, const char *name)
{
	for (size_t i = 0; i < worlds->pod_count; i++) {
		if (strcmp(worlds->pods[i]->name + strlen("j-"), name) == 0)
			return worlds->pods[i];
	}
	return NULL;
}

static int32_t worlds_phase(const char *word)
{
	static const char *const phases[] = {"Absent", "Pending", "Running", "Succeeded", "Failed"};

	for (int32_t i = RH_PHASE_PENDING; i <= RH_PHASE_FAILED; i++) {
		if (strcmp(word, phases[i]) == 0)
			return i;
	}
	fail_msg("no phase: %s", word);
	return 0;
}

static void worlds_set_text(char **field, const char *value)
{
	rh_free(*field);
	*field = rh_strdup(value);
}

static bool worlds_set_pod_text(struct rh_pod *pod, const char *word)
{
	const struct {
		const char *key;
		char **field;
	} texts[] = {
		{"uid", &pod->uid},
		{"owner", &pod->owner_uid},
		{"node", &pod->node},
		{"ip", &pod->ip},
		{"reason", &pod->reason},
		{"waiting", &pod->waiting_reason},
		{"message", &pod->waiting_message},
		{"container", &pod->failed_container},
		{"lines", &pod->last_lines},
		{"name", &pod->name},
		{"type", &pod->type},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const char *value = worlds_value(word, texts[i].key);

		if (!value)
			continue;
		worlds_set_text(texts[i].field, value);
		/* "_" stands for a space, which parts words. */
		for (char *c = *texts[i].field; *c; c++)
			*c = *c == '_' ? ' ' : *c;
		return true;
	}
	return false;
}

/* The moment that is "-3" seconds from now. */
static int64_t worlds_time(const struct worlds *worlds, const char *value)
{
	return worlds->now + (int64_t)(strtod(value, NULL) * (double)RH_SECOND);
}

static void worlds_set_pod(const struct worlds *worlds, struct rh_pod *pod, const char *word)
{
	const char *value;

	if (worlds_set_pod_text(pod, word))
		return;
	if ((value = worlds_value(word, "code")))
		pod->exit_code = pod->failed_code = (int)strtol(value, NULL, 10);
	else if ((value = worlds_value(word, "last")))
		pod->failed_code = (int)strtol(value, NULL, 10);
	else if ((value = worlds_value(word, "at")))
		pod->finished_at = pod->failed_at = worlds_time(worlds, value);
	else if ((value = worlds_value(word, "created")))
		pod->created_at = worlds_time(worlds, value);
	else if ((value = worlds_value(word, "restarts")))
		pod->restarts = (int)strtol(value, NULL, 10);
	else if ((value = worlds_value(word, "attempt")))
		pod->attempt = (int)strtol(value, NULL, 10);
	else if ((value = worlds_value(word, "index")))
		pod->index = (int)strtol(value, NULL, 10);
	else if ((value = worlds_value(word, "deleting")))
		pod->deleted_at = worlds_time(worlds, value);
	else if (strcmp(word, "silent") == 0)
		pod->output_unknown = true;
	else if (strcmp(word, "deleting") != 0)
		fail_msg("no word for a pod: %s", word);
	pod->deleting = pod->deleting || strncmp(word, "deleting", strlen("deleting")) == 0;
}

/* As rh_pod_parse() does. */
static void worlds_read_evidence(struct rh_pod *pod)
{
	const struct rh_end end = {.exit_code = pod->failed_code, .reason = pod->reason, .output = pod->last_lines};
	struct rh_evidence evidence;

	if (pod->phase != RH_PHASE_FAILED && pod->failed_code <= 0)
		return;
	evidence = rh_evidence_read(&end);
	pod->blame = evidence.blame;
	pod->rank = evidence.rank;
	pod->accused = evidence.accused;
}

static void worlds_do_pod(struct worlds *worlds, const char *rest, bool replace)
{
	char word[WORLDS_TEXT], type[WORLDS_TEXT];
	struct rh_pod *pod;
	int32_t index;

	assert_true(worlds_word(&rest, word));
	if (replace && worlds_pod(worlds, word))
		worlds_remove_pod(worlds, worlds_pod(worlds, word)->uid);
	index = worlds_split(word, type);
	pod = worlds_add_pod(worlds, type, index, NULL);
	assert_true(worlds_word(&rest, word));
	pod->phase = worlds_phase(word);
	if (pod->phase == RH_PHASE_SUCCEEDED)
		pod->exit_code = 0;
	if (pod->phase == RH_PHASE_FAILED)
		worlds_set_text(&pod->failed_container, "pytorch");
	while (worlds_word(&rest, word))
		worlds_set_pod(worlds, pod, word);
	worlds_read_evidence(pod);
}

static void worlds_do_all(struct worlds *worlds, const char *phase)
{
	for (size_t i = 0; i < worlds->job->spec_count; i++) {
		const struct rh_replica_spec *spec = &worlds->job->specs[i];

		for (int32_t index = 0; index < spec->replicas; index++) {
			struct rh_pod *pod = worlds_add_pod(worlds, spec->type, index, NULL);

			pod->phase = worlds_phase(phase);
			pod->exit_code = pod->phase == RH_PHASE_SUCCEEDED ? 0 : -1;
			if (worlds->job->kind->flags & RH_KIND_SERVICES)
				worlds_add_service(worlds, spec->type, index);
		}
	}
}

static void worlds_do_service(struct worlds *worlds, const char *rest)
{
	char word[WORLDS_TEXT], type[WORLDS_TEXT];
	struct rh_child *child;
	int32_t index;

	assert_true(worlds_word(&rest, word));
	index = worlds_split(word, type);
	child = worlds_make_service(worlds, type, index);
	while (worlds_word(&rest, word)) {
		const char *owner = worlds_value(word, "owner");

		child->deleting = child->deleting || strcmp(word, "deleting") == 0;
		if (owner)
			worlds_set_text(&child->owner_uid, owner);
	}
}

/* @return the object that is wanted by the kind and name of @p child */
static const struct rh_json *worlds_desired(const struct worlds *worlds, const struct rh_child *child)
{
	const struct rh_json *object = rh_json_first(worlds->objects);

	while (object && (!rh_text_equal(rh_json_string_at(object, "kind"), child->kind) ||
	                  !rh_text_equal(rh_json_string_at(object, "metadata.name"), child->name)))
		object = rh_json_next(object);
	assert_non_null(object);
	return object;
}

static void worlds_do_object(struct worlds *worlds, const char *rest)
{
	char kind[WORLDS_TEXT], word[WORLDS_TEXT];
	struct rh_child *child;

	assert_true(worlds_word(&rest, kind));
	assert_true(worlds_word(&rest, word));
	child = worlds_add_child(worlds, "v1", kind, word);
	while (worlds_word(&rest, word)) {
		const char *hash = worlds_value(word, "hash");

		if (strcmp(word, "rbac") == 0)
			worlds_set_text(&child->api_version, "rbac.authorization.k8s.io/v1");
		if (strcmp(word, "batch") == 0)
			worlds_set_text(&child->api_version, "batch/v1");
		if (worlds_value(word, "owner"))
			worlds_set_text(&child->owner_uid, worlds_value(word, "owner"));
		child->deleting = child->deleting || strcmp(word, "deleting") == 0;
		child->idle = child->idle || strcmp(word, "idle") == 0;
		if (strcmp(word, "coming") == 0)
			*child->uid = '\0';
		if (hash && strcmp(hash, "same") == 0)
			assert_int_equal(rh_object_hash(worlds_desired(worlds, child), &child->hash), 0);
		else if (hash)
			child->hash = strtoull(hash, NULL, 10);
	}
}

/* One condition: "Running=False/Suspended". */
static void worlds_do_condition(struct worlds *worlds, const char *word)
{
	char type[WORLDS_TEXT], reason[WORLDS_TEXT];
	const char *value = strchr(word, '=');
	const char *slash = strchr(word, '/');
	int length = value ? (int)(value - word) : (int)strlen(word);

	snprintf(type, sizeof(type), "%.*s", length, word);
	snprintf(reason, sizeof(reason), "%s%s", worlds->job->kind->kind, slash ? slash + 1 : type);
	/* Straight into the table: what a stored status may hold is more than rh_job_status_set() makes. */
	worlds->job->status.conditions[worlds->job->status.condition_count++] = (struct rh_condition){
		.type = rh_strdup(type),
		.reason = rh_strdup(reason),
		.message = rh_strdup("m"),
		.status = !value || strncmp(value, "=True", 5) == 0,
		.updated_at = worlds->now - 50 * RH_SECOND,
		.transitioned_at = worlds->now - 50 * RH_SECOND,
	};
}

static void worlds_do_set(struct worlds *worlds, const char *words)
{
	char *rest = NULL;
	int64_t from = worlds->now + strtol(words, &rest, 10) * RH_SECOND;

	rh_clock_steps_note(&worlds->steps, from, strtol(rest, NULL, 10) * RH_SECOND);
}

static void worlds_do_counts(struct worlds *worlds, struct rh_job_status *status, const char *rest)
{
	struct rh_replica_status *replica;
	char type[WORLDS_TEXT], word[WORLDS_TEXT], selector[4 * RH_NAME_SIZE];

	assert_true(worlds_word(&rest, type) && worlds_word(&rest, word));
	replica = rh_job_status_replica(status, type);
	assert_non_null(replica);
	assert_int_equal(sscanf(word, "%d/%d/%d", &replica->active, &replica->succeeded, &replica->failed), 3);
	rh_name_selector("j", worlds->job->kind->controller, type, selector, sizeof(selector));
	if (worlds->job->kind->flags & RH_KIND_SELECTOR)
		worlds_set_text(&replica->selector, selector);
}

/* JSON in which ' stands for ". */
static struct rh_json *worlds_json(const char *text)
{
	struct rh_json *json = NULL;
	struct rh_error err = {0};
	char *copy = strdup(text);

	assert_non_null(copy);
	for (char *c = copy; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	if (rh_json_parse(copy, strlen(copy), &json, &err) < 0)
		fail_msg("%s: %s", err.message, copy);
	free(copy);
	return json;
}

static void worlds_do_ledger(struct worlds *worlds, const char *rest)
{
	rh_auto(json) ledger = worlds_json(rest);
	struct rh_json *annotations =
		rh_json_ensure_object(rh_json_ensure_object(worlds->job->object, "metadata"), "annotations");
	rh_auto_free char *text = NULL;

	assert_int_equal(rh_json_set_string(ledger, "uid", WORLDS_JOB_UID), 0);
	text = rh_json_text(ledger);
	assert_int_equal(rh_json_set_string(annotations, RH_ANNOTATION_LEDGER, text), 0);
	rh_ledger_deinit(&worlds->ledger);
	assert_int_equal(rh_ledger_read(worlds->job, &worlds->ledger), 0);
}

static void worlds_do_conditions(struct worlds *worlds, const char *rest)
{
	char word[WORLDS_TEXT];

	while (worlds_word(&rest, word))
		worlds_do_condition(worlds, word);
}

static void worlds_do_time(struct worlds *worlds, const char *verb, const char *rest)
{
	int64_t time = worlds_time(worlds, rest + strspn(rest, " "));

	if (strcmp(verb, "started") == 0)
		worlds->job->status.started_at = time;
	else
		worlds->job->status.completed_at = time;
}

static void worlds_do_wants(struct worlds *worlds, const char *rest)
{
	rh_json_free(worlds->objects);
	worlds->objects = worlds_json(rest);
}

static void worlds_do_refused(struct worlds *worlds, const char *rest)
{
	struct rh_refusal *refusal = &worlds->refusals[worlds->refusal_count++];
	char word[WORLDS_TEXT];

	assert_true(worlds->refusal_count <= WORLDS_REFUSALS_MAX);
	*refusal = (struct rh_refusal){.since = worlds->now, .message = rh_strdup("no")};
	assert_true(worlds_word(&rest, word));
	refusal->kind = rh_strdup(word);
	assert_true(worlds_word(&rest, word));
	refusal->name = rh_strdup(word);
	while (worlds_word(&rest, word)) {
		if (strcmp(word, "single") == 0)
			refusal->single = true;
		else if (worlds_value(word, "until"))
			refusal->until = worlds_time(worlds, worlds_value(word, "until"));
		else if (worlds_value(word, "what"))
			refusal->what = worlds_refused(worlds_value(word, "what"));
		else
			worlds_set_text(&refusal->message, worlds_value(word, "message"));
	}
}

/* @return whether @p word is about the report */
static bool worlds_set_missing(struct worlds *worlds, const char *word)
{
	struct rh_missing *missing = &worlds->missing;
	const struct {
		const char *key;
		int64_t *time;
	} times[] = {{"since", &missing->since}, {"seen", &missing->seen}, {"tried", &missing->tried}};

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		if (worlds_value(word, times[i].key)) {
			*times[i].time = worlds_time(worlds, worlds_value(word, times[i].key));
			return true;
		}
	}
	if (worlds_value(word, "rank"))
		missing->rank = (int32_t)strtol(worlds_value(word, "rank"), NULL, 10);
	else if (worlds_value(word, "at"))
		worlds_set_text(&worlds->stalls_address, worlds_value(word, "at"));
	else if (worlds_value(word, "by"))
		worlds_set_text(&worlds->stalls_reporter, worlds_value(word, "by"));
	else if (worlds_value(word, "refusal"))
		worlds_set_text(&worlds->stalls_refusal, worlds_value(word, "refusal"));
	else
		return false;
	return true;
}

/* "stalls TIME TEXT": the log of rank 0 is read again then, and has that report, or none */
static void worlds_do_stalls(struct worlds *worlds, const char *rest)
{
	char word[WORLDS_TEXT];

	worlds->reads_stalls = true;
	if (worlds_word(&rest, word))
		worlds->stalls_due = worlds_time(worlds, word);
	worlds->missing = (struct rh_missing){.rank = -1};
	worlds_set_text(&worlds->stalls_address, "");
	rest += strspn(rest, " ");
	for (const char *next = rest; worlds_word(&next, word) && worlds_set_missing(worlds, word);)
		rest = next + strspn(next, " ");
	if (*rest)
		worlds_set_text(&worlds->stalls, rest);
	worlds->missing.text = worlds->stalls;
	worlds->missing.address = worlds->stalls_address;
	worlds->missing.reporter = worlds->stalls_reporter;
	worlds->missing.refusal = worlds->stalls_refusal;
}

static void worlds_do_more(struct worlds *worlds, const char *verb, const char *rest)
{
	char word[WORLDS_TEXT];

	if (strcmp(verb, "refused") == 0)
		worlds_do_refused(worlds, rest);
	else if (strcmp(verb, "stalled") == 0)
		worlds->stalled_hash = rh_hash(rest + strspn(rest, " "), strlen(rest + strspn(rest, " ")));
	else if (strcmp(verb, "stalls") == 0)
		worlds_do_stalls(worlds, rest);
	else if (strcmp(verb, "unwritten") == 0)
		worlds_do_counts(worlds, &worlds->held, rest);
	else if (strcmp(verb, "held") == 0 && worlds_word(&rest, word))
		worlds->held_since = worlds_time(worlds, word);
	else if (strcmp(verb, "patience") == 0 && worlds_word(&rest, word))
		worlds->patience = strtol(word, NULL, 10) * RH_SECOND;
	else if (strcmp(verb, "peers") == 0 && worlds_word(&rest, word))
		worlds->peer_patience = strtol(word, NULL, 10) * RH_SECOND;
	else if (strcmp(verb, "awaited") == 0 && worlds_word(&rest, word))
		worlds->awaited = worlds_time(worlds, word);
	else if (strcmp(verb, "gang") == 0 && worlds_word(&rest, word))
		assert_int_equal(rh_gang_parse(word, &worlds->gang, NULL), 0);
	else
		fail_msg("no statement: %s", verb);
}

static void worlds_do(struct worlds *worlds, const char *statement)
{
	const char *rest = statement;
	char verb[WORLDS_TEXT], word[WORLDS_TEXT];

	if (!worlds_word(&rest, verb))
		return;
	if (strcmp(verb, "conditions") == 0)
		worlds_do_conditions(worlds, rest);
	else if (strcmp(verb, "started") == 0 || strcmp(verb, "completed") == 0)
		worlds_do_time(worlds, verb, rest);
	else if (strcmp(verb, "set") == 0)
		worlds_do_set(worlds, rest);
	else if (strcmp(verb, "counts") == 0)
		worlds_do_counts(worlds, &worlds->job->status, rest);
	else if (strcmp(verb, "pod") == 0 || strcmp(verb, "second") == 0)
		worlds_do_pod(worlds, rest, *verb == 'p');
	else if (strcmp(verb, "all") == 0 && worlds_word(&rest, word))
		worlds_do_all(worlds, word);
	else if (strcmp(verb, "gone") == 0 && worlds_word(&rest, word))
		worlds_remove_pod(worlds, worlds_pod(worlds, word)->uid);
	else if (strcmp(verb, "service") == 0)
		worlds_do_service(worlds, rest);
	else if (strcmp(verb, "object") == 0)
		worlds_do_object(worlds, rest);
	else if (strcmp(verb, "wants") == 0)
		worlds_do_wants(worlds, rest);
	else if (strcmp(verb, "ledger") == 0)
		worlds_do_ledger(worlds, rest);
	else
		worlds_do_more(worlds, verb, rest);
}

void worlds_change(struct worlds *worlds, const char *statements)
{
	char statement[WORLDS_TEXT];

	while (*statements) {
		size_t length = strcspn(statements, ";\n");

		assert_true(length < sizeof(statement));
		memcpy(statement, statements, length);
		statement[length] = '\0';
		worlds_do(worlds, statement);
		statements += length + (statements[length] != '\0');
	}
}

struct rh_world worlds_view(const struct worlds *worlds)
{
	static const struct rh_addresses none;

	return (struct rh_world){
		.host = worlds->host,
		.job = worlds->job,
		.ledger = &worlds->ledger,
		.addresses = &none,
		.pods = (const struct rh_pod *const *)worlds->pods,
		.pod_count = worlds->pod_count,
		.children = (const struct rh_child *const *)worlds->children,
		.child_count = worlds->child_count,
		.objects = worlds->objects,
		.gang = &worlds->gang,
		.refusals = worlds->refusals,
		.refusal_count = worlds->refusal_count,
		.stalled_hash = worlds->stalled_hash,
		.reads_stalls = worlds->reads_stalls,
		.stalls_due = worlds->stalls_due,
		.missing = worlds->missing,
		.held_since = worlds->held_since,
		.held = worlds->held.replica_count > 0 ? &worlds->held : NULL,
		.patience = worlds->patience,
		.peer_patience = worlds->peer_patience,
		.awaited = worlds->awaited,
		.now = worlds->now,
		.steps = &worlds->steps,
	};
}

void worlds_decide(const struct worlds *worlds, struct rh_plan *ret_plan)
{
	struct rh_world world = worlds_view(worlds);
	struct rh_error err = {0};

	if (rh_decide(&world, ret_plan, &err) < 0)
		fail_msg("%s", err.message);
}

char *worlds_plan(const struct worlds *worlds)
{
	struct rh_str text = {0};
	rh_auto_plan plan = {0};

	worlds_decide(worlds, &plan);
	rh_plan_print(&plan, &text);
	return rh_str_take(&text);
}

void worlds_check(const struct worlds_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct worlds *worlds = worlds_new(rows[i].job, rows[i].world);
		rh_auto_free char *plan = worlds_plan(worlds);

		if (strcmp(plan, rows[i].plan) != 0)
			fail_msg("%s:\n-- wanted\n%s-- got\n%s", rows[i].name, rows[i].plan, plan);
		worlds_free(worlds);
	}
}

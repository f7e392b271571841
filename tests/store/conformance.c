/* SPDX-License-Identifier: Apache-2.0 */
#include "store/conformance.h"

#include <stdio.h>
#include <string.h>

#define SPEC "'spec':{'containers':[{'name':'c','image':'i'}]}"
#define POD "{'metadata':{'name':'p','labels':{'app':'x'}}," SPEC "}"
#define OTHER_POD "{'metadata':{'name':'q'}," SPEC "}"
/* A change of a pod's spec that Kubernetes allows. */
#define DEADLINE "{'spec':{'activeDeadlineSeconds':60}}"
#define SERVICE "{'metadata':{'name':'s','namespace':'default'},'spec':{'clusterIP':'None'}}"

/* The store of one test. */
struct sut {
	const struct conformance_target *target;
	void *store;
	struct rh_store *face;
};

struct rh_json *conformance_json(const char *text)
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

void answer_take(void *arg, const struct rh_outcome *outcome)
{
	struct answer *answer = arg;

	answer->calls++;
	answer->code = outcome->code;
	answer->retry_after = outcome->retry_after;
	assert_non_null(outcome->message);
	rh_copy(answer->message, sizeof(answer->message), outcome->message);
	rh_json_free(answer->object);
	answer->object = outcome->object ? rh_json_copy(outcome->object) : NULL;
}

void answer_deinit(struct answer *answer)
{
	rh_json_free(answer->object);
	*answer = (struct answer){0};
}

void watch_note(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	static const char *const names[] = {"ADDED", "MODIFIED", "DELETED", "SYNCED"};
	struct rh_str *log = arg;

	assert_true(!object == (event == RH_WATCH_SYNCED));
	if (object)
		rh_str_appendf(log, "%s %s\n", names[event], rh_json_string_at(object, "metadata.name"));
	else
		rh_str_append(log, "SYNCED\n");
}

static int open_store(void **state)
{
	struct sut *sut = rh_alloc(sizeof(*sut));

	assert_non_null(sut);
	sut->target = *state;
	sut->store = sut->target->open();
	sut->face = sut->target->face(sut->store);
	*state = sut;
	return 0;
}

static int close_store(void **state)
{
	struct sut *sut = *state;

	sut->target->close(sut->store);
	rh_free(sut);
	return 0;
}

/* Send a request whose body is @p body (NULL: none) and wait for its answer. */
static void send(struct sut *sut, struct rh_request request, const char *body, struct answer *answer)
{
	answer_deinit(answer);
	if (!request.namespace_)
		request.namespace_ = "default";
	if (!request.resource)
		request.resource = &rh_resource_pods;
	if (body)
		request.body = conformance_json(body);
	assert_int_equal(sut->face->submit(sut->face, &request, answer_take, answer, NULL, NULL), 0);
	assert_int_equal(answer->calls, 0);
	sut->target->settle(sut->store);
	assert_int_equal(answer->calls, 1);
}

static void create(struct sut *sut, const struct rh_resource *resource, const char *body, struct answer *answer)
{
	send(sut, (struct rh_request){.verb = RH_VERB_CREATE, .resource = resource}, body, answer);
}

static void patch(struct sut *sut, enum rh_verb verb, const char *body, struct answer *answer)
{
	send(sut, (struct rh_request){.verb = verb, .name = "p"}, body, answer);
}

static void remove_pod(struct sut *sut, const char *name, int64_t grace, struct answer *answer)
{
	send(sut, (struct rh_request){.verb = RH_VERB_DELETE, .name = name, .grace_seconds = grace}, NULL, answer);
}

static void get(struct sut *sut, const char *name, struct answer *answer)
{
	send(sut, (struct rh_request){.verb = RH_VERB_GET, .name = name}, NULL, answer);
}

static void find(struct sut *sut, const char *name, struct answer *answer)
{
	send(sut, (struct rh_request){.verb = RH_VERB_FIND, .name = name}, NULL, answer);
}

static void watch(struct sut *sut, const char *label, struct rh_str *log)
{
	assert_true(sut->face->watch(sut->face, &rh_resource_pods, label, watch_note, log));
}

/* Copy lines without one MODIFIED before each DELETED of the same object. */
static void drop_farewells(const char *lines, struct rh_str *out)
{
	while (*lines) {
		const char *end = strchr(lines, '\n');
		size_t length = end ? (size_t)(end - lines) + 1 : strlen(lines);
		const char *next = lines + length;
		bool farewell = end && rh_starts_with(lines, "MODIFIED") && rh_starts_with(next, "DELETED") &&
		                strncmp(strchr(lines, ' '), strchr(next, ' '), length - strcspn(lines, " ")) == 0;

		if (!farewell)
			rh_str_append_bytes(out, lines, length);
		lines = next;
	}
}

/* Compares the events since the last call. A server may write that an object is being deleted before it deletes it. */
static void assert_delivered(struct sut *sut, struct rh_str *log, const char *expected)
{
	rh_auto_str short_ = {0};

	sut->target->settle(sut->store);
	drop_farewells(rh_str_text(log), &short_);
	if (sut->target->server && strcmp(rh_str_text(&short_), expected) == 0)
		rh_str_clear(log);
	else
		assert_string_equal(rh_str_text(log), expected);
	rh_str_clear(log);
}

static const char *text(const struct answer *answer, const char *path)
{
	return rh_json_string_at(answer->object, path);
}

static int64_t number(const struct answer *answer, const char *path)
{
	int64_t value = -1;

	(void)rh_json_integer(rh_json_at(answer->object, path), &value);
	return value;
}

static void test_store__create_fills_in_what_is_the_servers(void **state)
{
	auto_answer a = {0};

	create(*state, &rh_resource_pods,
	       "{'metadata':{'name':'p','uid':'mine','resourceVersion':'7','generation':9,'labels':{'a':'b'}}," SPEC "}",
	       &a);
	assert_int_equal(a.code, RH_OUTCOME_OK);
	assert_string_equal(text(&a, "apiVersion"), "v1");
	assert_string_equal(text(&a, "kind"), "Pod");
	assert_string_equal(text(&a, "metadata.namespace"), "default");
	assert_string_equal(text(&a, "metadata.labels.a"), "b");
	assert_string_not_equal(text(&a, "metadata.uid"), "mine");
	assert_true(strlen(text(&a, "metadata.uid")) > 0);
	assert_true(strlen(text(&a, "metadata.resourceVersion")) > 0);
	assert_non_null(text(&a, "metadata.creationTimestamp"));
	assert_int_equal(number(&a, "metadata.generation"), 1);
}

static void test_store__create_drops_status(void **state)
{
	auto_answer a = {0};

	create(*state, &rh_resource_pods, "{'metadata':{'name':'p'}," SPEC ",'status':{'phase':'Running','a':1}}", &a);
	assert_string_equal(text(&a, "status.phase"), "Pending");
	assert_int_equal(number(&a, "status.a"), -1);
}

static void test_store__create_refuses_a_name_that_is_taken(void **state)
{
	auto_answer a = {0};

	create(*state, &rh_resource_pods, POD, &a);
	create(*state, &rh_resource_pods, POD, &a);
	assert_int_equal(a.code, RH_OUTCOME_EXISTS);
	assert_string_equal(a.message, "pods \"p\" already exists");
}

static void test_store__names_are_apart_by_resource_and_namespace(void **state)
{
	struct sut *sut = *state;
	auto_answer a = {0};

	create(sut, &rh_resource_pods, POD, &a);
	create(sut, &rh_resource_services, "{'metadata':{'name':'p'},'spec':{'clusterIP':'None'}}", &a);
	assert_int_equal(a.code, RH_OUTCOME_OK);
	send(sut, (struct rh_request){.verb = RH_VERB_CREATE, .namespace_ = "other"}, POD, &a);
	assert_int_equal(a.code, RH_OUTCOME_OK);
	assert_string_equal(text(&a, "metadata.namespace"), "other");
}

static void test_store__create_refuses_what_has_no_name(void **state)
{
	static const char *const bodies[] = {"{}", "{'metadata':{}}", "{'metadata':{'name':''}}",
	                                     "{'metadata':{'name':'p','namespace':'other'}," SPEC "}"};
	auto_answer a = {0};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		create(*state, &rh_resource_pods, bodies[i], &a);
		assert_int_equal(a.code, RH_OUTCOME_DENIED);
		assert_true(strlen(a.message) > 0);
	}
}

static void test_store__get_finds_what_is_there(void **state)
{
	auto_answer a = {0};

	get(*state, "p", &a);
	assert_int_equal(a.code, RH_OUTCOME_GONE);
	assert_string_equal(a.message, "pods \"p\" not found");
	create(*state, &rh_resource_pods, POD, &a);
	get(*state, "p", &a);
	assert_int_equal(a.code, RH_OUTCOME_OK);
	assert_string_equal(text(&a, "spec.containers[0].image"), "i");
}

static void test_store__patch_merges_all_but_status(void **state)
{
	auto_answer a = {0};

	create(*state, &rh_resource_pods, POD, &a);
	patch(*state, RH_VERB_PATCH,
	      "{'metadata':{'annotations':{'a':'b'},'labels':{'app':null}},'spec':{'activeDeadlineSeconds':60},"
	      "'status':{'phase':'Failed'}}",
	      &a);
	assert_int_equal(a.code, RH_OUTCOME_OK);
	assert_string_equal(text(&a, "metadata.annotations.a"), "b");
	assert_null(text(&a, "metadata.labels.app"));
	assert_string_equal(text(&a, "status.phase"), "Pending");
	assert_int_equal(number(&a, "spec.activeDeadlineSeconds"), 60);
	assert_string_equal(text(&a, "spec.containers[0].image"), "i");
}

/* A server refuses to change them where a store in memory leaves them as they are; neither changes them. */
static void test_store__patch_does_not_change_identity(void **state)
{
	static const char *const patches[] = {"{'kind':'Other'}", "{'metadata':{'name':'q'}}", "{'metadata':{'uid':'u'}}",
	                                      "{'metadata':{'namespace':'other'}}"};
	struct sut *sut = *state;
	auto_answer before = {0};
	auto_answer a = {0};

	create(sut, &rh_resource_pods, POD, &before);
	for (size_t i = 0; i < sizeof(patches) / sizeof(patches[0]); i++) {
		patch(sut, RH_VERB_PATCH, patches[i], &a);
		assert_int_equal(a.code == RH_OUTCOME_OK, !sut->target->server);
		get(sut, "p", &a);
		assert_true(rh_json_equal(a.object, before.object));
	}
}

/* @param verb of a request for the Secret "keys" */
static void ask_metadata(struct sut *sut, enum rh_verb verb, const char *body, struct answer *answer)
{
	static const struct rh_resource secrets = {"v1", "Secret", "secrets"};

	send(sut,
	     (struct rh_request){
			 .verb = verb, .resource = &secrets, .name = body ? NULL : "keys", .metadata = true, .secret = true},
	     body, answer);
}

static void test_store__metadata_comes_without_content(void **state)
{
	static const enum rh_verb verbs[] = {RH_VERB_CREATE, RH_VERB_GET, RH_VERB_FIND};
	auto_answer answer = {0};

	for (size_t i = 0; i < 3; i++) {
		ask_metadata(*state, verbs[i],
		             verbs[i] == RH_VERB_CREATE ? "{'metadata':{'name':'keys'},'stringData':{'a':'b'}}" : NULL,
		             &answer);
		assert_int_equal(answer.code, RH_OUTCOME_OK);
		assert_string_equal(text(&answer, "apiVersion"), "v1");
		assert_string_equal(text(&answer, "kind"), "Secret");
		assert_string_equal(text(&answer, "metadata.name"), "keys");
		assert_true(strlen(text(&answer, "metadata.uid")) > 0);
		assert_int_equal(rh_json_size(answer.object), 3);
	}
	ask_metadata(*state, RH_VERB_CREATE, "{'metadata':{'name':'keys'}}", &answer);
	assert_int_equal(answer.code, RH_OUTCOME_EXISTS);
	ask_metadata(*state, RH_VERB_DELETE, NULL, &answer);
	ask_metadata(*state, RH_VERB_FIND, NULL, &answer);
	assert_int_equal(answer.code, RH_OUTCOME_GONE);
}

static void test_store__find_is_get_by_the_list_of_one_name(void **state)
{
	auto_answer found = {0};
	auto_answer got = {0};

	create(*state, &rh_resource_pods, OTHER_POD, &got);
	create(*state, &rh_resource_pods, POD, &got);
	find(*state, "p", &found);
	get(*state, "p", &got);
	assert_int_equal(found.code, RH_OUTCOME_OK);
	assert_string_equal(text(&found, "apiVersion"), "v1");
	assert_string_equal(text(&found, "kind"), "Pod");
	assert_true(rh_json_equal(found.object, got.object));
	find(*state, "nobody", &found);
	assert_int_equal(found.code, RH_OUTCOME_GONE);
	assert_null(found.object);
	assert_true(strlen(found.message) > 0);
}

/* @return the object with @p patch merged into it, as text owned by the caller */
static char *merged(const struct answer *now, const char *patch)
{
	rh_auto(json) change = conformance_json(patch);
	rh_auto(json) object = rh_json_copy(now->object);
	char *body;

	assert_int_equal(rh_json_merge(object, change), 0);
	body = rh_json_text(object);
	assert_non_null(body);
	return body;
}

/* Replace the pod p by what it is with @p patch merged into it. */
static void replace(struct sut *sut, const char *patch, struct answer *answer)
{
	auto_answer now = {0};
	rh_auto_free char *body = NULL;

	get(sut, "p", &now);
	body = merged(&now, patch);
	send(sut,
	     (struct rh_request){
			 .verb = RH_VERB_REPLACE, .name = "p", .resource_version = text(&now, "metadata.resourceVersion")},
	     body, answer);
}

static void test_store__replace_puts_the_body_in_its_place(void **state)
{
	auto_answer a = {0};
	auto_answer b = {0};

	create(*state, &rh_resource_pods,
	       "{'metadata':{'name':'p','labels':{'app':'x'},'annotations':{'a':'1','b':'2'}}," SPEC "}", &a);
	replace(*state, "{'metadata':{'labels':{'app':'y'},'annotations':{'b':null}},'spec':{'activeDeadlineSeconds':60}}",
	        &b);
	assert_int_equal(b.code, RH_OUTCOME_OK);
	assert_string_equal(text(&b, "metadata.labels.app"), "y");
	assert_string_equal(text(&b, "metadata.annotations.a"), "1");
	assert_null(text(&b, "metadata.annotations.b"));
	assert_int_equal(number(&b, "spec.activeDeadlineSeconds"), 60);
	assert_int_equal(number(&b, "metadata.generation"), 2);
	assert_string_equal(text(&b, "metadata.uid"), text(&a, "metadata.uid"));
	assert_string_equal(text(&b, "metadata.creationTimestamp"), text(&a, "metadata.creationTimestamp"));
	assert_string_not_equal(text(&b, "metadata.resourceVersion"), text(&a, "metadata.resourceVersion"));
}

static void test_store__replace_leaves_the_status(void **state)
{
	auto_answer a = {0};

	create(*state, &rh_resource_pods, POD, &a);
	patch(*state, RH_VERB_PATCH_STATUS, "{'status':{'phase':'Running','message':'m'}}", &a);
	replace(*state, "{'metadata':{'labels':{'app':'y'}},'status':{'phase':'Failed','message':null}}", &a);
	assert_int_equal(a.code, RH_OUTCOME_OK);
	assert_string_equal(text(&a, "metadata.labels.app"), "y");
	assert_string_equal(text(&a, "status.phase"), "Running");
	assert_string_equal(text(&a, "status.message"), "m");
	assert_int_equal(number(&a, "metadata.generation"), 1);
}

static void test_store__replace_by_the_same_is_no_change(void **state)
{
	struct sut *sut = *state;
	auto_answer a = {0};
	auto_answer b = {0};
	rh_auto_str log = {0};

	create(sut, &rh_resource_pods, POD, &a);
	watch(sut, NULL, &log);
	assert_delivered(sut, &log, "ADDED p\nSYNCED\n");
	replace(sut, "{}", &b);
	assert_int_equal(b.code, RH_OUTCOME_OK);
	assert_string_equal(text(&b, "metadata.resourceVersion"), text(&a, "metadata.resourceVersion"));
	assert_delivered(sut, &log, "");
}

static void test_store__patch_status_changes_nothing_else(void **state)
{
	auto_answer a = {0};

	create(*state, &rh_resource_pods, POD, &a);
	patch(
		*state, RH_VERB_PATCH_STATUS,
		"{'metadata':{'labels':{'app':'y'}},'spec':{'activeDeadlineSeconds':60},'status':{'reason':'r','message':'m'}}",
		&a);
	patch(*state, RH_VERB_PATCH_STATUS, "{'status':{'phase':'Running','reason':null}}", &a);
	assert_int_equal(a.code, RH_OUTCOME_OK);
	assert_int_equal(number(&a, "spec.activeDeadlineSeconds"), -1);
	assert_string_equal(text(&a, "status.phase"), "Running");
	assert_null(text(&a, "status.reason"));
	assert_string_equal(text(&a, "status.message"), "m");
	if (!((struct sut *)*state)->target->server)
		assert_string_equal(text(&a, "metadata.labels.app"), "x");
}

static void test_store__generation_counts_changes_of_the_spec(void **state)
{
	auto_answer a = {0};

	create(*state, &rh_resource_pods, POD, &a);
	patch(*state, RH_VERB_PATCH, "{'metadata':{'annotations':{'a':'b'}}}", &a);
	assert_int_equal(number(&a, "metadata.generation"), 1);
	patch(*state, RH_VERB_PATCH_STATUS, "{'status':{'phase':'Running'}}", &a);
	assert_int_equal(number(&a, "metadata.generation"), 1);
	patch(*state, RH_VERB_PATCH, DEADLINE, &a);
	assert_int_equal(number(&a, "metadata.generation"), 2);
}

static void test_store__a_patch_that_changes_nothing_is_none(void **state)
{
	struct sut *sut = *state;
	auto_answer a = {0};
	rh_auto_free char *version = NULL;
	rh_auto_str log = {0};

	create(sut, &rh_resource_pods, POD, &a);
	version = rh_strdup(text(&a, "metadata.resourceVersion"));
	watch(sut, NULL, &log);
	assert_delivered(sut, &log, "ADDED p\nSYNCED\n");
	patch(sut, RH_VERB_PATCH, "{'metadata':{'labels':{'app':'x'}}}", &a);
	assert_int_equal(a.code, RH_OUTCOME_OK);
	assert_string_equal(text(&a, "metadata.resourceVersion"), version);
	patch(sut, RH_VERB_PATCH_STATUS, "{'status':{'phase':'Pending'}}", &a);
	assert_string_equal(text(&a, "metadata.resourceVersion"), version);
	assert_delivered(sut, &log, "");
}

static void test_store__every_change_has_a_resource_version_of_its_own(void **state)
{
	auto_answer a = {0};
	auto_answer b = {0};

	create(*state, &rh_resource_pods, POD, &a);
	create(*state, &rh_resource_services, SERVICE, &b);
	assert_string_not_equal(text(&a, "metadata.resourceVersion"), text(&b, "metadata.resourceVersion"));
	patch(*state, RH_VERB_PATCH_STATUS, "{'status':{'phase':'Running'}}", &b);
	assert_string_not_equal(text(&a, "metadata.resourceVersion"), text(&b, "metadata.resourceVersion"));
}

static void test_store__changes_of_what_is_not_there(void **state)
{
	const struct rh_log_query log = {.container = "c", .lines = 1, .bytes = 1};
	auto_answer a = {0};

	send(*state, (struct rh_request){.verb = RH_VERB_REPLACE, .name = "p", .resource_version = "7"}, POD, &a);
	assert_int_equal(a.code, RH_OUTCOME_GONE);

	patch(*state, RH_VERB_PATCH, "{}", &a);
	assert_int_equal(a.code, RH_OUTCOME_GONE);
	patch(*state, RH_VERB_PATCH_STATUS, "{}", &a);
	assert_int_equal(a.code, RH_OUTCOME_GONE);
	remove_pod(*state, "p", -1, &a);
	assert_int_equal(a.code, RH_OUTCOME_GONE);
	send(*state, (struct rh_request){.verb = RH_VERB_LOG, .name = "p", .log = &log}, NULL, &a);
	assert_int_equal(a.code, RH_OUTCOME_GONE);
}

static void test_store__preconditions_hold_or_nothing_happens(void **state)
{
	static const struct {
		const char *name;
		enum rh_verb verb;
		bool uid;
		bool version;
		enum rh_outcome_code code;
	} rows[] = {
		{"patch, other uid", RH_VERB_PATCH, false, true, RH_OUTCOME_CONFLICT},
		{"patch, other version", RH_VERB_PATCH, true, false, RH_OUTCOME_CONFLICT},
		{"patch", RH_VERB_PATCH, true, true, RH_OUTCOME_OK},
		{"patch status, other uid", RH_VERB_PATCH_STATUS, false, true, RH_OUTCOME_CONFLICT},
		{"patch status, other version", RH_VERB_PATCH_STATUS, true, false, RH_OUTCOME_CONFLICT},
		{"patch status", RH_VERB_PATCH_STATUS, true, true, RH_OUTCOME_OK},
		{"replace, other uid", RH_VERB_REPLACE, false, true, RH_OUTCOME_CONFLICT},
		{"replace, other version", RH_VERB_REPLACE, true, false, RH_OUTCOME_CONFLICT},
		{"replace", RH_VERB_REPLACE, true, true, RH_OUTCOME_OK},
		{"evict, other uid", RH_VERB_EVICT, false, true, RH_OUTCOME_CONFLICT},
		{"delete, other uid", RH_VERB_DELETE, false, true, RH_OUTCOME_CONFLICT},
		{"delete, other version", RH_VERB_DELETE, true, false, RH_OUTCOME_CONFLICT},
		{"delete", RH_VERB_DELETE, true, true, RH_OUTCOME_OK},
	};
	auto_answer now = {0};
	auto_answer a = {0};

	create(*state, &rh_resource_pods, POD, &a);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool deletes = rows[i].verb == RH_VERB_DELETE || rows[i].verb == RH_VERB_EVICT;
		rh_auto_free char *change = rh_asprintf("{'metadata':{'labels':{'row':'%zu'}},'status':{'row':%zu}}", i, i);
		rh_auto_free char *whole = NULL;

		get(*state, "p", &now);
		whole = merged(&now, change);
		send(*state,
		     (struct rh_request){
				 .verb = rows[i].verb,
				 .name = "p",
				 .uid = rows[i].uid ? text(&now, "metadata.uid") : "other",
				 .resource_version = rows[i].version ? text(&now, "metadata.resourceVersion") : "999999999",
			 },
		     deletes                           ? NULL
		     : rows[i].verb == RH_VERB_REPLACE ? whole
		                                       : change,
		     &a);
		if (a.code != rows[i].code)
			fail_msg("%s: %d", rows[i].name, a.code);
		if (a.code == RH_OUTCOME_CONFLICT) {
			assert_true(strlen(a.message) > 0);
			get(*state, "p", &a);
			assert_true(rh_json_equal(a.object, now.object));
		}
	}
}

static void test_store__watch_delivers_existing_objects_then_changes(void **state)
{
	struct sut *sut = *state;
	auto_answer a = {0};
	rh_auto_str log = {0};

	create(sut, &rh_resource_pods, POD, &a);
	create(sut, &rh_resource_services, SERVICE, &a);
	watch(sut, NULL, &log);
	assert_delivered(sut, &log, "ADDED p\nSYNCED\n");
	create(sut, &rh_resource_pods, OTHER_POD, &a);
	patch(sut, RH_VERB_PATCH_STATUS, "{'status':{'phase':'Running'}}", &a);
	patch(sut, RH_VERB_PATCH, DEADLINE, &a);
	remove_pod(sut, "p", 0, &a);
	assert_delivered(sut, &log, "ADDED q\nMODIFIED p\nMODIFIED p\nDELETED p\n");
}

static void test_store__watch_of_an_empty_store_syncs(void **state)
{
	rh_auto_str log = {0};

	watch(*state, "app", &log);
	assert_delivered(*state, &log, "SYNCED\n");
}

/* Its pending events are dropped; other watches go on. */
static void test_store__an_ended_watch_delivers_nothing_more(void **state)
{
	struct sut *sut = *state;
	auto_answer a = {0};
	rh_auto_str delivered = {0};
	rh_auto_str pending = {0};
	rh_auto_str log = {0};
	uint64_t watches[3];

	watches[0] = sut->face->watch(sut->face, &rh_resource_pods, NULL, watch_note, &delivered);
	assert_delivered(sut, &delivered, "SYNCED\n");
	create(sut, &rh_resource_pods, POD, &a);
	assert_delivered(sut, &delivered, "ADDED p\n");
	watches[1] = sut->face->watch(sut->face, &rh_resource_pods, "app", watch_note, &pending);
	watches[2] = sut->face->watch(sut->face, &rh_resource_pods, "app", watch_note, &log);
	assert_true(watches[0] && watches[1] && watches[2]);
	sut->face->unwatch(sut->face, watches[0]);
	sut->face->unwatch(sut->face, watches[1]);
	sut->face->unwatch(sut->face, watches[1]);
	sut->face->unwatch(sut->face, 0);
	assert_delivered(sut, &log, "ADDED p\nSYNCED\n");
	remove_pod(sut, "p", 0, &a);
	assert_delivered(sut, &log, "DELETED p\n");
	assert_string_equal(rh_str_text(&delivered), "");
	assert_string_equal(rh_str_text(&pending), "");
	sut->face->unwatch(sut->face, watches[2]);
}

/* Appends each DELETED object on delivery. */
static void note_deleted(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	if (event == RH_WATCH_DELETED)
		rh_str_appendf(arg, "%s ", rh_json_string_at(object, "metadata.labels.app"));
}

static void test_store__an_object_that_leaves_a_watch_is_delivered_as_it_was(void **state)
{
	struct sut *sut = *state;
	auto_answer a = {0};
	rh_auto_str log = {0};

	create(sut, &rh_resource_pods, POD, &a);
	assert_true(sut->face->watch(sut->face, &rh_resource_pods, "app", note_deleted, &log));
	assert_delivered(sut, &log, "");
	patch(sut, RH_VERB_PATCH, "{'metadata':{'labels':{'app':null}}}", &a);
	patch(sut, RH_VERB_PATCH, "{'metadata':{'labels':{'app':'y'}}}", &a);
	remove_pod(sut, "p", 0, &a);
	assert_delivered(sut, &log, "x y ");
}

static void test_store__watch_by_label_sees_objects_come_and_go(void **state)
{
	struct sut *sut = *state;
	auto_answer a = {0};
	rh_auto_str log = {0};

	create(sut, &rh_resource_pods, OTHER_POD, &a);
	create(sut, &rh_resource_pods, POD, &a);
	watch(sut, "app", &log);
	assert_delivered(sut, &log, "ADDED p\nSYNCED\n");
	patch(sut, RH_VERB_PATCH, "{'metadata':{'labels':{'app':null}}}", &a);
	patch(sut, RH_VERB_PATCH, "{'metadata':{'labels':{'other':'1'}}}", &a);
	patch(sut, RH_VERB_PATCH, "{'metadata':{'labels':{'app':'2'}}}", &a);
	patch(sut, RH_VERB_PATCH, "{'metadata':{'labels':{'app':'3'}}}", &a);
	remove_pod(sut, "p", 0, &a);
	remove_pod(sut, "q", 0, &a);
	assert_delivered(sut, &log, "DELETED p\nADDED p\nMODIFIED p\nDELETED p\n");
}

static void test_store__cancelled_requests_are_not_answered(void **state)
{
	struct sut *sut = *state;
	struct rh_request request = {.verb = RH_VERB_CREATE, .resource = &rh_resource_pods, .namespace_ = "default"};
	auto_answer a = {0};
	uint64_t id = 0;

	request.body = conformance_json(POD);
	assert_int_equal(sut->face->submit(sut->face, &request, answer_take, &a, &id, NULL), 0);
	sut->face->cancel(sut->face, id);
	sut->target->settle(sut->store);
	assert_int_equal(a.calls, 0);
	sut->face->cancel(sut->face, id);
}

static void test_store__removed_owners_take_what_they_own_along(void **state)
{
	struct sut *sut = *state;
	auto_answer a = {0};
	rh_auto_free char *owned = NULL;
	rh_auto_free char *shared = NULL;
	rh_auto_free char *uid = NULL;

	if (sut->target->server)
		skip();
	create(sut, &rh_resource_services, SERVICE, &a);
	uid = rh_strdup(text(&a, "metadata.uid"));
	owned = rh_asprintf("{'metadata':{'name':'p','ownerReferences':[{'uid':'%s'}]},'spec':{}}", uid);
	create(sut, &rh_resource_services, "{'metadata':{'name':'t'},'spec':{}}", &a);
	shared = rh_asprintf("{'metadata':{'name':'q','ownerReferences':[{'uid':'%s'},{'uid':'%s'}]},'spec':{}}", uid,
	                     text(&a, "metadata.uid"));
	create(sut, &rh_resource_pods, owned, &a);
	create(sut, &rh_resource_pods, shared, &a);
	send(sut, (struct rh_request){.verb = RH_VERB_DELETE, .resource = &rh_resource_services, .name = "s"}, NULL, &a);
	get(sut, "q", &a);
	assert_int_equal(a.code, RH_OUTCOME_OK);
	assert_null(text(&a, "metadata.deletionTimestamp"));
	get(sut, "p", &a);
	if (sut->target->graceful)
		assert_non_null(text(&a, "metadata.deletionTimestamp"));
	else
		assert_int_equal(a.code, RH_OUTCOME_GONE);
}

static void test_store__what_is_born_an_orphan_goes(void **state)
{
	struct sut *sut = *state;
	auto_answer a = {0};
	rh_auto_free char *owned = NULL;

	if (sut->target->server)
		skip();
	create(sut, &rh_resource_services, SERVICE, &a);
	owned = rh_asprintf("{'metadata':{'name':'late','ownerReferences':[{'uid':'%s'}]},'spec':{}}",
	                    text(&a, "metadata.uid"));
	send(sut, (struct rh_request){.verb = RH_VERB_DELETE, .resource = &rh_resource_services, .name = "s"}, NULL, &a);
	create(sut, &rh_resource_services, owned, &a);
	send(sut, (struct rh_request){.verb = RH_VERB_GET, .resource = &rh_resource_services, .name = "late"}, NULL, &a);
	assert_int_equal(a.code, RH_OUTCOME_GONE);
}

static void test_store__deleted_pods_stay_until_a_kubelet_is_done(void **state)
{
	struct sut *sut = *state;
	auto_answer a = {0};

	if (!sut->target->graceful)
		skip();
	create(sut, &rh_resource_pods, "{'metadata':{'name':'p'},'spec':{'terminationGracePeriodSeconds':7}}", &a);
	remove_pod(sut, "p", -1, &a);
	assert_int_equal(a.code, RH_OUTCOME_OK);
	assert_non_null(text(&a, "metadata.deletionTimestamp"));
	assert_int_equal(number(&a, "metadata.deletionGracePeriodSeconds"), 7);
	remove_pod(sut, "p", 20, &a);
	assert_int_equal(number(&a, "metadata.deletionGracePeriodSeconds"), 7);
	remove_pod(sut, "p", 2, &a);
	assert_int_equal(number(&a, "metadata.deletionGracePeriodSeconds"), 2);
	remove_pod(sut, "p", 0, &a);
	get(sut, "p", &a);
	assert_int_equal(a.code, RH_OUTCOME_GONE);
	create(sut, &rh_resource_pods, POD, &a);
	remove_pod(sut, "p", -1, &a);
	assert_int_equal(number(&a, "metadata.deletionGracePeriodSeconds"), 30);
}

static void test_store__pods_that_ended_go_at_once(void **state)
{
	static const char *const ended[] = {"{'status':{'phase':'Succeeded'}}", "{'status':{'phase':'Failed'}}"};
	auto_answer a = {0};

	for (size_t i = 0; i < 2; i++) {
		create(*state, &rh_resource_pods, POD, &a);
		patch(*state, RH_VERB_PATCH_STATUS, ended[i], &a);
		remove_pod(*state, "p", -1, &a);
		assert_int_equal(a.code, RH_OUTCOME_OK);
		get(*state, "p", &a);
		assert_int_equal(a.code, RH_OUTCOME_GONE);
	}
}

#define CASE(name, target) \
	cmocka_unit_test_prestate_setup_teardown(test_store__##name, open_store, close_store, (void *)(uintptr_t)(target))

int conformance_run(const struct conformance_target *target)
{
	const struct CMUnitTest tests[] = {
		CASE(create_fills_in_what_is_the_servers, target),
		CASE(create_drops_status, target),
		CASE(create_refuses_a_name_that_is_taken, target),
		CASE(names_are_apart_by_resource_and_namespace, target),
		CASE(create_refuses_what_has_no_name, target),
		CASE(get_finds_what_is_there, target),
		CASE(patch_merges_all_but_status, target),
		CASE(patch_does_not_change_identity, target),
		CASE(find_is_get_by_the_list_of_one_name, target),
		CASE(metadata_comes_without_content, target),
		CASE(replace_puts_the_body_in_its_place, target),
		CASE(replace_leaves_the_status, target),
		CASE(replace_by_the_same_is_no_change, target),
		CASE(patch_status_changes_nothing_else, target),
		CASE(generation_counts_changes_of_the_spec, target),
		CASE(a_patch_that_changes_nothing_is_none, target),
		CASE(every_change_has_a_resource_version_of_its_own, target),
		CASE(changes_of_what_is_not_there, target),
		CASE(preconditions_hold_or_nothing_happens, target),
		CASE(watch_delivers_existing_objects_then_changes, target),
		CASE(watch_of_an_empty_store_syncs, target),
		CASE(watch_by_label_sees_objects_come_and_go, target),
		CASE(an_ended_watch_delivers_nothing_more, target),
		CASE(an_object_that_leaves_a_watch_is_delivered_as_it_was, target),
		CASE(cancelled_requests_are_not_answered, target),
		CASE(removed_owners_take_what_they_own_along, target),
		CASE(what_is_born_an_orphan_goes, target),
		CASE(deleted_pods_stay_until_a_kubelet_is_done, target),
		CASE(pods_that_ended_go_at_once, target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

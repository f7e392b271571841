/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of a plugin, called with what they need and checked when they return. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host/call/judge.h"
#include "host/call/reply.h"
#include "host/call/view.h"
#include "host/containment/guard.h"
#include "host/registry.h"
#include "host/worker/messages/record.h"
#include "host/worker/worker.h"
#include "job/expansion.h"
#include "job/keep.h"
#include "job/kind.h"
#include "job/lookups/lookup_files.h"
#include "job/rules/validate.h"

/** Room for "PyTorchJob default/mnist" with the longest names. */
#define OPS_OBJECT_SIZE 400

/** Room for the answer of make(), so that its text is not moved, which would leave copies. */
#define OPS_SECRET_ROOM ((size_t)64 << 10)

/** One call of a plugin. */
struct ops_call {
	const char *name; /**< of the operation, for messages */
	const struct rh_slot *slot;
	struct rh_arena texts;
	struct rh_view view;
	struct rh_json_spot spot;
	struct rh_reply reply;
	struct rh_guard guard;
	char object[OPS_OBJECT_SIZE];
};

/** Find the plugin of the snapshot's job and set up a call of it. */
static int ops_begin(struct ops_call *call, const struct rh_snapshot *snapshot, enum rh_operation operation,
                     struct rh_error *err)
{
	static const char *const names[] = {"init()", "validate()", "pod()", "objects()", "judge()", "make()", "expand()"};
	const struct rh_job *job = snapshot->job;

	memset(call, 0, sizeof(*call));
	call->name = names[operation];
	call->slot = rh_host_slot(snapshot->host, job->kind);
	if (!call->slot)
		return rh_fail(err, RH_EPLUGIN, "%s %s/%s: no plugin serves this kind any more", job->kind->kind,
		               job->namespace_, job->name);
	snprintf(call->object, sizeof(call->object), "%s %s/%s", job->kind->kind, job->namespace_, job->name);
	call->view = (struct rh_view){snapshot, snapshot->host->config, call->slot->section, &call->texts, &call->spot};
	call->reply.operation = operation;
	call->reply.plugin = call->slot->name;
	call->reply.object = call->object;
	call->reply.job = job;
	call->reply.lookups = snapshot->lookups;
	if (call->slot->worker)
		return 0;
	call->guard = (struct rh_guard){.plugin = call->slot->name,
	                                .operation = names[operation],
	                                .object = call->object,
	                                .limit = snapshot->host->config->plugin_time_limit};
	rh_guard_enter(&call->guard);
	return 0;
}

/** Put the names of job, plugin and operation in front of a message. @return RH_EPLUGIN */
static int ops_name(const struct ops_call *call, struct rh_error *err)
{
	return rh_wrap(err, RH_EPLUGIN, "%s: plugin %s, %s", call->object, call->slot->name, call->name);
}

/**
 * Free the data of the call, and return its status. The plugin may have ignored an error that a service returned, or
 * taken a text for absent that got no memory; then whatever it did is not to be used.
 */
static int ops_end(struct ops_call *call, int32_t result, struct rh_error *err)
{
	const struct rh_reply *reply = &call->reply;
	bool failed = call->texts.failed;

	rh_guard_leave();
	rh_arena_deinit(&call->texts);
	if (failed)
		return rh_fail_oom(err);
	if (result == 0 && reply->status == 0)
		return 0;
	if (reply->status != 0 && err)
		*err = reply->error;
	if (reply->status == RH_EINVAL || reply->status == RH_ENOMEM)
		return rh_wrap(err, reply->status, "%s", call->object);
	if (reply->status != 0)
		return ops_name(call, err);
	if (result == RH_ENOMEM)
		return rh_fail_oom(err);
	return rh_fail(err, RH_EPLUGIN, "%s: plugin %s, %s returned %" PRId32 " without saying why", call->object,
	               reply->plugin, call->name, result);
}

/** Fail with what the worker process did instead of answering. */
static int ops_blame(const struct ops_call *call, int r, struct rh_error *err)
{
	return r == RH_ENOMEM ? r
	                      : rh_wrap(err, r, "%s: plugin %s (\"%s\")", call->object, call->slot->name, call->slot->path);
}

/** Do what the plugin answered in its process; the answer is well formed. */
static void ops_replay(struct ops_call *call, const struct rh_ask *ask, struct rh_wire *wire, int32_t *ret_result)
{
	struct rh_reply *reply = &call->reply;
	struct rh_outcome outcome;

	(void)rh_wire_byte(wire);
	(void)rh_record_replay(wire, reply, &outcome);
	if (outcome.looked && ask->snapshot->looked)
		*ask->snapshot->looked = true;
	call->texts.failed = outcome.no_memory;
	if (reply->status == 0 && outcome.status < 0) {
		reply->status = outcome.status;
		(void)rh_fail(&reply->error, outcome.status, "%s", outcome.message);
	}
	*ret_result = outcome.result;
}

/**
 * Ask the process of the plugin, where it has the operation; @p ret_result is left alone where it has not.
 * @param made for make(), else NULL
 */
static int ops_ask(struct ops_call *call, const struct rh_snapshot *snapshot, const struct rh_made *made,
                   int32_t *ret_result, struct rh_error *err)
{
	const struct rh_ask ask = {.operation = call->reply.operation,
	                           .name = call->name,
	                           .object = call->object,
	                           .slot = call->slot,
	                           .snapshot = snapshot,
	                           .made = made};
	rh_auto_str answer = {0};
	struct rh_wire wire;
	int r;

	if (!rh_hello_has(call->slot->hello, (uint32_t)ask.operation))
		return 0;
	if (made)
		rh_str_reserve(&answer, OPS_SECRET_ROOM);
	r = rh_worker_ask(call->slot->worker, &ask, &answer, err);
	if (r == 0) {
		wire = rh_wire_read(answer.data, answer.length);
		ops_replay(call, &ask, &wire, ret_result);
	}
	if (made && answer.data)
		explicit_bzero(answer.data, answer.capacity);
	return r < 0 ? ops_blame(call, r, err) : 0;
}

/** What is wrong with the objects that a job names, or with the names. */
static int ops_check_lookups(const struct rh_lookups *lookups, struct rh_findings *findings)
{
	rh_auto_str place = {0};

	if (!lookups || !lookups->flaw)
		return 0;
	rh_lookups_print_path(lookups, lookups->flaw_path, &place);
	if (place.failed)
		return RH_ENOMEM;
	return rh_findings_add(findings, RH_FINDING_ERROR, rh_str_text(&place), "%s", lookups->flaw);
}

int rh_host_validate(const struct rh_snapshot *snapshot, struct rh_findings *findings, struct rh_error *err)
{
	const struct rh_plugin *plugin;
	struct ops_call call;
	int32_t result = 0;
	int r;

	if (rh_job_validate(snapshot->job, findings) < 0 || ops_check_lookups(snapshot->lookups, findings) < 0)
		return rh_fail_oom(err);
	if (!rh_lookups_are_complete(snapshot->job->kind, snapshot->lookups) || !rh_job_is_expanded(snapshot->job) ||
	    snapshot->job->refusals)
		return 0; /* the plugin would judge what is not there yet */
	r = ops_begin(&call, snapshot, RH_OPERATION_VALIDATE, err);
	if (r < 0)
		return r;
	call.reply.findings = findings;
	plugin = call.slot->plugin;
	if (call.slot->worker)
		r = ops_ask(&call, snapshot, NULL, &result, err);
	else if (plugin->validate)
		result = plugin->validate(call.slot->self, &call.view, &call.reply);
	return r == 0 ? ops_end(&call, result, err) : r;
}

void rh_host_reach(const struct rh_snapshot *snapshot, const char *type, int32_t index, struct rh_str *out)
{
	const struct rh_job *job = snapshot->job;
	const struct rh_slot *slot = rh_host_slot(snapshot->host, job->kind);
	const struct rh_setting *domain =
		slot ? rh_config_find_setting(snapshot->host->config, slot->section, RH_VIEW_DOMAIN) : NULL;
	const struct rh_pattern_replica replica = rh_job_pattern_replica(job, type, index);

	rh_patterns_host(job->kind, &replica, domain ? domain->value : NULL, out);
}

struct rh_pods_ahead {
	struct rh_str answer;
	struct rh_wire wire; /* what of it is not used yet */
	const char *type;    /* of the job that the snapshot borrows */
	int32_t index;       /* of the next answer */
	bool again;          /* it is not the first batch: whoever asks for one pod after another wants all */
};

void rh_pods_ahead_free(struct rh_pods_ahead *ahead)
{
	if (!ahead)
		return;
	rh_str_deinit(&ahead->answer);
	rh_free(ahead);
}

/** @return whether the answer about this pod is there */
static bool ops_is_ahead(const struct rh_pods_ahead *ahead, const char *type, int32_t index)
{
	return ahead->type && ahead->index == index && strcmp(ahead->type, type) == 0 && ahead->wire.left > 1;
}

/** Ask for this pod, and, where the one before it was asked for, for those that follow. */
static int ops_ask_pods(struct rh_pods_ahead *ahead, struct rh_ask *ask, struct rh_error *err)
{
	const struct rh_replica_spec *spec = rh_job_spec(ask->snapshot->job, ask->type);
	int32_t left = spec ? spec->replicas - ask->index : 1;
	int r;

	ask->count = ahead->again && left > 1 ? left < RH_WORKER_BATCH ? left : RH_WORKER_BATCH : 1;
	ahead->type = NULL;
	rh_str_clear(&ahead->answer);
	r = rh_worker_ask(ask->slot->worker, ask, &ahead->answer, err);
	if (r < 0)
		return r;
	ahead->again = true; /* not before: the repeated request is the same */
	ahead->wire = rh_wire_read(ahead->answer.data, ahead->answer.length);
	ahead->type = spec ? spec->type : ask->type;
	ahead->index = ask->index;
	return 0;
}

static int ops_next_pod(struct ops_call *call, struct rh_pods_ahead *ahead, struct rh_ask *ask, int32_t *ret_result,
                        struct rh_error *err)
{
	int r = ops_is_ahead(ahead, ask->type, ask->index) ? 0 : ops_ask_pods(ahead, ask, err);

	if (r == 0)
		ops_replay(call, ask, &ahead->wire, ret_result);
	ahead->index++;
	if (r < 0 || ahead->wire.left <= 1)
		ahead->type = NULL;
	if (!ahead->type)
		rh_str_deinit(&ahead->answer);
	return r < 0 ? ops_blame(call, r, err) : 0;
}

/** pod() of a plugin in a process of its own. */
static int ops_pod_remote(struct ops_call *call, const struct rh_snapshot *snapshot, struct rh_pods_ahead **ahead,
                          const struct rh_replica *me, int32_t *ret_result, struct rh_error *err)
{
	struct rh_ask ask = {.operation = RH_OPERATION_POD,
	                     .name = call->name,
	                     .object = call->object,
	                     .slot = call->slot,
	                     .snapshot = snapshot,
	                     .pod = call->reply.pod,
	                     .type = me->type,
	                     .index = me->index};

	if (!rh_hello_has(call->slot->hello, RH_OPERATION_POD))
		return 0;
	if (!*ahead)
		*ahead = rh_alloc(sizeof(**ahead));
	return *ahead ? ops_next_pod(call, *ahead, &ask, ret_result, err) : rh_fail_oom(err);
}

int rh_host_next_pod(const struct rh_snapshot *snapshot, struct rh_pods_ahead **ahead, const char *type, int32_t index,
                     struct rh_json *pod, struct rh_error *err)
{
	const struct rh_plugin *plugin;
	struct ops_call call;
	int32_t result = 0;
	int r = ops_begin(&call, snapshot, RH_OPERATION_POD, err);

	if (r < 0)
		return r;
	const struct rh_replica me = {
		.head = RH_HEAD(struct rh_replica),
		.type = type,
		.index = index,
		.rank = rh_job_rank(snapshot->job, type, index),
	};

	call.reply.pod = pod;
	plugin = call.slot->plugin;
	if (call.slot->worker)
		r = ops_pod_remote(&call, snapshot, ahead, &me, &result, err);
	else if (plugin->pod)
		result = plugin->pod(call.slot->self, &call.view, &me, &call.reply);
	return r == 0 ? ops_end(&call, result, err) : r;
}

int rh_host_pod(const struct rh_snapshot *snapshot, const char *type, int32_t index, struct rh_json *pod,
                struct rh_error *err)
{
	struct rh_pods_ahead *ahead = NULL;
	int r = rh_host_next_pod(snapshot, &ahead, type, index, pod, err);

	rh_pods_ahead_free(ahead);
	return r;
}

/**
 * A controller would take up a job that a plugin names as any other. On one machine nobody would: what a run starts,
 * ends and answers for are the jobs of its files.
 */
static int ops_refuse_jobs(const struct rh_snapshot *snapshot, const struct rh_json *objects, struct rh_error *err)
{
	const struct rh_job *job = snapshot->job;

	if (!snapshot->addresses || snapshot->addresses->count == 0)
		return 0;
	for (const struct rh_json *object = rh_json_first(objects); object; object = rh_json_next(object)) {
		const char *kind = rh_json_string_at(object, "kind");

		if (rh_host_kind(snapshot->host, rh_json_string_at(object, "apiVersion"), kind, NULL))
			return rh_fail(
				err, RH_EINVAL,
				"%s %s/%s: its plugin wants the job %s %s, and on one machine only the jobs of the files run; "
				"put it into a file",
				job->kind->kind, job->namespace_, job->name, kind, rh_json_string_at(object, "metadata.name"));
	}
	return 0;
}

static bool ops_can_make(const struct rh_slot *slot)
{
	return slot->worker ? rh_hello_has(slot->hello, RH_OPERATION_MAKE) : RH_HAS(slot->plugin, struct rh_plugin, make);
}

/** What is made of random bytes needs an operation that makes it. */
static int ops_check_makers(const struct ops_call *call, const struct rh_json *objects, struct rh_error *err)
{
	for (const struct rh_json *object = rh_json_first(objects); object; object = rh_json_next(object)) {
		if (rh_keep_read(object).random == 0 || ops_can_make(call->slot))
			continue;
		(void)rh_fail(err, RH_EPLUGIN, "%s %s has random_bytes, and there is no make()",
		              rh_json_string_at(object, "kind"), rh_json_string_at(object, "metadata.name"));
		return ops_name(call, err);
	}
	return 0;
}

int rh_host_objects(const struct rh_snapshot *snapshot, struct rh_json **ret_objects, struct rh_error *err)
{
	rh_auto(json) objects = rh_json_new_array();
	const struct rh_plugin *plugin;
	struct ops_call call;
	int32_t result = 0;
	int r;

	if (!objects)
		return rh_fail_oom(err);
	r = ops_begin(&call, snapshot, RH_OPERATION_OBJECTS, err);
	if (r < 0)
		return r;
	call.reply.objects = objects;
	plugin = call.slot->plugin;
	if (call.slot->worker)
		r = ops_ask(&call, snapshot, NULL, &result, err);
	else if (plugin->objects)
		result = plugin->objects(call.slot->self, &call.view, &call.reply);
	r = r == 0 ? ops_end(&call, result, err) : r;
	if (r == 0)
		r = ops_check_makers(&call, objects, err);
	if (r == 0)
		r = ops_refuse_jobs(snapshot, objects, err);
	if (r == 0)
		*ret_objects = rh_take(objects);
	return r;
}

/** Call expand(). @param[out] ret_expansion what it gave, owned by the caller, also on error; NULL: nothing */
static int ops_expand(const struct rh_snapshot *shown, struct rh_findings *findings,
                      struct rh_expansion **ret_expansion, struct rh_error *err)
{
	const struct rh_plugin *plugin;
	struct ops_call call;
	int32_t result = 0;
	int r = ops_begin(&call, shown, RH_OPERATION_EXPAND, err);

	if (r < 0)
		return r;
	call.reply.findings = findings;
	plugin = call.slot->plugin;
	if (call.slot->worker)
		r = ops_ask(&call, shown, NULL, &result, err);
	else if (RH_HAS(plugin, struct rh_plugin, expand))
		result = plugin->expand(call.slot->self, &call.view, &call.reply);
	*ret_expansion = call.reply.expansion;
	r = r == 0 ? ops_end(&call, result, err) : r;
	if (r == 0 && findings->failed)
		r = rh_fail_oom(err);
	if (r < 0 || *ret_expansion || rh_findings_errors(findings) > 0)
		return r;
	(void)rh_fail(err, RH_EPLUGIN, "it neither gave an expansion() nor refused the job");
	return ops_name(&call, err);
}

/** rh_host_expand() of a job that is to be expanded. */
static int ops_expand_job(const struct rh_snapshot *snapshot, struct rh_job *job, struct rh_error *err)
{
	rh_auto(json) source = rh_expansion_source(job);
	struct rh_findings *findings = rh_alloc(sizeof(*findings));
	struct rh_expansion *expansion = NULL;
	struct rh_job part = {.kind = job->kind,
	                      .object = source,
	                      .namespace_ = job->namespace_,
	                      .name = job->name,
	                      .uid = job->uid,
	                      .resource_version = ""};
	const struct rh_snapshot shown = {
		.host = snapshot->host, .job = &part, .answers = snapshot->answers, .lookups = snapshot->lookups};
	int r = source && findings ? ops_expand(&shown, findings, &expansion, err) : rh_fail_oom(err);

	if (r == 0)
		rh_job_set_refusals(job, rh_findings_errors(findings) > 0 ? rh_take(findings) : NULL);
	if (r == 0 && !job->refusals)
		rh_job_set_expansion(job, rh_take(expansion));
	rh_expansion_free(expansion);
	if (findings)
		rh_findings_deinit(findings);
	rh_free(findings);
	return r;
}

int rh_host_expand(const struct rh_snapshot *snapshot, struct rh_job *job, struct rh_error *err)
{
	if (!rh_kind_expands(job->kind) || job->weight > RH_JOB_WEIGHT_MAX ||
	    !rh_lookups_are_complete(job->kind, snapshot->lookups))
		return 0;
	return ops_expand_job(snapshot, job, err);
}

int rh_host_expand_files(const struct rh_host *host, struct rh_job *job, const struct rh_manifest *files,
                         struct rh_error *err)
{
	rh_auto(lookups) lookups = NULL;
	struct rh_snapshot snapshot = {.host = host};

	if (!rh_kind_expands(job->kind))
		return 0;
	if (rh_lookups_of_files(job, files, &lookups) < 0)
		return rh_fail_oom(err);
	snapshot.lookups = lookups;
	return rh_host_expand(&snapshot, job, err);
}

/** @return whether an object is the one that was to be made */
static bool ops_is_made(const struct rh_json *object, const struct rh_made *made)
{
	return rh_text_equal(rh_json_string_at(object, "apiVersion"), made->api_version) &&
	       rh_text_equal(rh_json_string_at(object, "kind"), made->kind) &&
	       rh_text_equal(rh_json_string_at(object, "metadata.name"), made->name);
}

/** Move the one object of an answer of make() out of it. */
static int ops_take_made(const struct ops_call *call, struct rh_json *objects, const struct rh_made *made,
                         struct rh_json **ret_object, struct rh_error *err)
{
	if (rh_json_size(objects) == 1 && ops_is_made(rh_json_first(objects), made)) {
		*ret_object = rh_json_detach_item(objects, 0);
		return 0;
	}
	(void)rh_fail(err, RH_EPLUGIN, "it must answer with one object, %s %s", made->kind, made->name);
	return ops_name(call, err);
}

static int ops_make(const struct rh_snapshot *snapshot, const struct rh_made *made, struct rh_json *objects,
                    struct rh_json **ret_object, struct rh_error *err)
{
	const struct rh_plugin *plugin;
	struct ops_call call;
	int32_t result = 0;
	int r = ops_begin(&call, snapshot, RH_OPERATION_MAKE, err);

	if (r < 0)
		return r;
	call.texts.secret = true;
	call.reply.objects = objects;
	plugin = call.slot->plugin;
	if (call.slot->worker)
		r = ops_ask(&call, snapshot, made, &result, err);
	else if (RH_HAS(plugin, struct rh_plugin, make))
		result = plugin->make(call.slot->self, &call.view, made, &call.reply);
	r = r == 0 ? ops_end(&call, result, err) : r;
	return r < 0 ? r : ops_take_made(&call, objects, made, ret_object, err);
}

int rh_host_make(const struct rh_snapshot *snapshot, const struct rh_made *made, struct rh_json **ret_object,
                 struct rh_error *err)
{
	struct rh_json *objects = rh_json_new_array();
	int r = objects ? ops_make(snapshot, made, objects, ret_object, err) : rh_fail_oom(err);

	rh_json_free_secret(objects);
	return r;
}

int rh_host_judge(const struct rh_snapshot *snapshot, struct rh_judgement *judgement, struct rh_error *err)
{
	const struct rh_plugin *plugin;
	struct ops_call call;
	int32_t result = RH_DEFAULT;
	int r = ops_begin(&call, snapshot, RH_OPERATION_JUDGE, err);

	if (r < 0)
		return r;
	call.reply.judgement = judgement;
	plugin = call.slot->plugin;
	if (call.slot->worker)
		r = ops_ask(&call, snapshot, NULL, &result, err);
	else if (plugin->judge)
		result = plugin->judge(call.slot->self, &call.view, &call.reply);
	if (r == 0 && result == RH_DEFAULT && call.reply.status == 0)
		result = rh_judge_default(snapshot, &call.reply);
	r = r == 0 ? ops_end(&call, result, err) : r;
	if (r == 0 && rh_judge_messages(snapshot, judgement) < 0)
		r = rh_fail_oom(err);
	if (r < 0)
		rh_judgement_deinit(judgement);
	return r;
}

void rh_judgement_deinit(struct rh_judgement *judgement)
{
	for (size_t i = 0; i < judgement->count; i++) {
		rh_free(judgement->items[i].type);
		rh_free(judgement->items[i].reason);
		rh_free(judgement->items[i].message);
	}
	for (size_t i = 0; i < judgement->restart_count; i++) {
		rh_free(judgement->restarts[i].token);
		rh_free(judgement->restarts[i].message);
	}
	rh_free(judgement->restarts);
	rh_free(judgement->holds);
	rh_json_free(judgement->status);
	*judgement = (struct rh_judgement){0};
}

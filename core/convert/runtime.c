/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/runtime.h"

#include <string.h>
#include <strings.h>

const struct rh_json *rh_runtime_type(const struct rh_json *types, const char *name)
{
	for (const struct rh_json *type = rh_json_first(types); type; type = rh_json_next(type))
		if (rh_json_key(type) && strcasecmp(rh_json_key(type), name) == 0 && rh_json_type(type) == RH_JSON_OBJECT)
			return type;
	return NULL;
}

int64_t rh_runtime_replicas(const struct rh_json *replica, int64_t fallback)
{
	int64_t replicas = replica ? fallback : 0;

	(void)rh_json_integer(rh_json_get(replica, "replicas"), &replicas);
	return replicas;
}

struct rh_json *rh_runtime_main(const struct rh_json *template, const char *name)
{
	struct rh_json *found = rh_json_first(rh_json_at(template, "spec.containers"));

	for (struct rh_json *at = found; name && at; at = rh_json_next(at))
		if (rh_text_equal(rh_json_string_at(at, "name"), name))
			found = at;
	return rh_json_type(found) == RH_JSON_OBJECT ? found : NULL;
}

static int runtime_refer(const struct rh_convert_field *field, const char *name)
{
	struct rh_json *reference = rh_json_ensure_object(field->parent, "runtimeRef");

	/* rules of its members hold for a job without one, too */
	if (!reference || !rh_json_ensure_object(field->parent, "runPolicy"))
		return RH_ENOMEM;
	if (rh_json_set_string(reference, "kind", RH_CONVERT_RUNTIME) < 0)
		return RH_ENOMEM;
	return rh_json_set_string(reference, "name", name);
}

static int runtime_name(const struct rh_convert_field *field, const char *framework, struct rh_json *runtime)
{
	const struct rh_json *namespace_ = rh_json_at(field->conversion->object, "metadata.namespace");
	const char *name = rh_json_string_at(field->conversion->object, "metadata.name");
	struct rh_json *metadata, *labels;

	if (rh_json_set_string(runtime, "apiVersion", RH_CONVERT_TRAINER) < 0 ||
	    rh_json_set_string(runtime, "kind", RH_CONVERT_RUNTIME) < 0)
		return RH_ENOMEM;
	metadata = rh_json_ensure_object(runtime, "metadata");
	if (!metadata || rh_json_set_string(metadata, "name", name) < 0 ||
	    (namespace_ && rh_json_set(metadata, "namespace", rh_json_copy(namespace_)) < 0))
		return RH_ENOMEM;
	labels = rh_json_ensure_object(metadata, "labels");
	return labels ? rh_json_set_string(labels, RH_RUNTIME_FRAMEWORK, framework) : RH_ENOMEM;
}

int rh_runtime_begin(const struct rh_convert_field *field, const char *framework, struct rh_json **ret_spec,
                     struct rh_error *err)
{
	const char *name = rh_json_string_at(field->conversion->object, "metadata.name");
	const struct rh_json *policy = rh_json_get(field->parent, "runPolicy");
	struct rh_json *runtime, *spec, *template;

	if (policy && rh_json_type(policy) != RH_JSON_OBJECT && rh_json_type(policy) != RH_JSON_NULL)
		return rh_fail(err, RH_EINVAL, "spec.runPolicy: must be an object");
	if (!name)
		return rh_fail(err, RH_EINVAL, "metadata.name: Required value: the TrainingRuntime is named after the job");
	runtime = rh_json_ensure_object(field->conversion->object, RH_CONVERT_RUNTIME);
	if (!runtime || runtime_name(field, framework, runtime) < 0 || runtime_refer(field, name) < 0)
		return rh_fail_oom(err);
	spec = rh_json_ensure_object(runtime, "spec");
	template = spec ? rh_json_ensure_object(spec, "template") : NULL;
	template = template ? rh_json_ensure_object(template, "spec") : NULL;
	if (!template || !rh_json_ensure_array(template, "replicatedJobs"))
		return rh_fail_oom(err);
	*ret_spec = spec;
	return 0;
}

/* V1's ExitCode: codes from 1 to 127 are final, those above are retried in a new pod. */
static int runtime_exit_codes(struct rh_json *job_spec)
{
	rh_auto(json) rule = rh_json_new_object();
	struct rh_json *policy = rh_json_ensure_object(job_spec, "podFailurePolicy");
	struct rh_json *rules = policy ? rh_json_ensure_array(policy, "rules") : NULL;
	struct rh_json *codes = rule ? rh_json_ensure_object(rule, "onExitCodes") : NULL;
	struct rh_json *values = codes ? rh_json_ensure_array(codes, "values") : NULL;
	int r = values && rules ? 0 : RH_ENOMEM;

	if (r < 0 || rh_json_set_string(rule, "action", "FailJob") < 0 ||
	    rh_json_set_string(codes, "containerName", RH_RUNTIME_NODE) < 0 ||
	    rh_json_set_string(codes, "operator", "In") < 0)
		return RH_ENOMEM;
	for (int code = 1; r == 0 && code < RH_RUNTIME_RETRIED; code++)
		r = rh_json_append(values, rh_json_new_integer(code));
	return r == 0 ? rh_json_append(rules, rh_take(rule)) : r;
}

/* A Job replaces a failed pod also with Never, up to its limit; V1 does not. */
static int runtime_set_restart(const struct rh_runtime_part *part, struct rh_json *job_spec, struct rh_json *pod,
                               const char *policy, bool exit_codes)
{
	bool final = strcmp(policy, "Never") == 0 && !exit_codes && !part->job_restarts;

	if (final && rh_json_set_integer(job_spec, "backoffLimit", 0) < 0)
		return RH_ENOMEM;
	return rh_json_set_string(pod, "restartPolicy", policy);
}

int rh_runtime_note_restart(const struct rh_convert_field *field, const char *type, const struct rh_json *replica)
{
	static const struct rh_convert_remark always = {
		RH_CONVERT_LOST, "\"OnFailure\"", "a Job takes OnFailure and Never: a pod that succeeds is not started again"};
	static const struct rh_convert_remark exit_code = {RH_CONVERT_CHANGED, "\"Never\"",
	                                                   "a podFailurePolicy fails the Job for exit codes below 128"};
	static const struct rh_convert_remark unread = {RH_CONVERT_IMPLIED, NULL,
	                                                "V1 reads that of the replica type alone"};
	const char *policy = rh_json_string_at(replica, "restartPolicy");
	const struct rh_convert_remark *remark = rh_text_equal(policy, "Always")     ? &always
	                                         : rh_text_equal(policy, "ExitCode") ? &exit_code
	                                                                             : NULL;
	int r = 0;

	if (rh_json_at(replica, "template.spec.restartPolicy"))
		r = rh_convert_note_at(field->conversion, &unread, "%s[%s].template.spec.restartPolicy", field->path, type);
	if (r == 0 && remark)
		r = rh_convert_note_at(field->conversion, remark, "%s[%s].restartPolicy", field->path, type);
	return r;
}

/* Policies of V1 are those of the pods of a Job, but for two. */
static int runtime_restart(const struct rh_convert_field *field, const struct rh_runtime_part *part,
                           struct rh_json *job_spec, struct rh_json *pod)
{
	const char *policy = rh_json_string_at(part->replica, "restartPolicy");
	bool exit_codes = rh_text_equal(policy, "ExitCode");
	int r = rh_runtime_note_restart(field, part->type, part->replica);

	if (r == 0 && exit_codes)
		r = runtime_exit_codes(job_spec);
	policy = policy ? policy : part->restart;
	policy = exit_codes ? "Never" : strcmp(policy, "Always") == 0 ? "OnFailure" : policy;
	return r == 0 ? runtime_set_restart(part, job_spec, pod, policy, exit_codes) : r;
}

static int runtime_check(const struct rh_convert_field *field, const struct rh_runtime_part *part,
                         const struct rh_json *template, struct rh_error *err)
{
	const struct rh_json *main = rh_runtime_main(template, part->main);

	if (!main)
		return rh_fail(err, RH_EINVAL, "%s[%s].template.spec.containers: Required value: there is no container",
		               field->path, part->type);
	for (const struct rh_json *at = rh_json_first(rh_json_at(template, "spec.containers")); at; at = rh_json_next(at)) {
		if (rh_json_get(at, "env") && rh_json_type(rh_json_get(at, "env")) != RH_JSON_ARRAY)
			return rh_fail(err, RH_EINVAL, "%s[%s].template.spec.containers: env must be a list of variables",
			               field->path, part->type);
		if (at != main && rh_text_equal(rh_json_string_at(at, "name"), RH_RUNTIME_NODE))
			return rh_fail(err, RH_EINVAL,
			               "%s[%s].template.spec.containers: Trainer calls the main container \"node\": give the other "
			               "one of that name another",
			               field->path, part->type);
	}
	return 0;
}

/* @return a replicated job in the list, borrowed; NULL: out of memory */
static struct rh_json *runtime_append(const struct rh_convert_field *field, const struct rh_runtime_part *part)
{
	struct rh_json *list = rh_json_at(field->conversion->object, RH_RUNTIME_JOBS);
	struct rh_json *item = rh_json_new_object();

	if (rh_json_append(list, item) < 0 || rh_json_set_string(item, "name", part->name) < 0)
		return NULL;
	return rh_json_ensure_object(item, "template");
}

static int runtime_fill(const struct rh_runtime_part *part, struct rh_json *job, struct rh_json *spec)
{
	struct rh_json *metadata = part->trainer ? rh_json_ensure_object(job, "metadata") : NULL;
	struct rh_json *labels = metadata ? rh_json_ensure_object(metadata, "labels") : NULL;

	if (part->trainer && (!labels || rh_json_set_string(labels, RH_RUNTIME_STEP, "trainer") < 0))
		return RH_ENOMEM;
	if (part->pods > 0 && (rh_json_set_string(spec, "completionMode", "Indexed") < 0 ||
	                       rh_json_set_integer(spec, "completions", part->pods) < 0 ||
	                       rh_json_set_integer(spec, "parallelism", part->pods) < 0))
		return RH_ENOMEM;
	return 0;
}

int rh_runtime_add(const struct rh_convert_field *field, const struct rh_runtime_part *part, struct rh_json **ret_job,
                   struct rh_error *err)
{
	const struct rh_json *given = rh_json_get(part->replica, "template");
	struct rh_json *job, *spec, *template, *pod;
	int r = runtime_check(field, part, given, err);

	if (r < 0)
		return r;
	job = runtime_append(field, part);
	spec = job ? rh_json_ensure_object(job, "spec") : NULL;
	if (!spec || runtime_fill(part, job, spec) < 0 || rh_json_set(spec, "template", rh_json_copy(given)) < 0)
		return rh_fail_oom(err);
	template = rh_json_get(spec, "template");
	pod = rh_json_get(template, "spec");
	if (rh_json_set_string(rh_runtime_main(template, part->main), "name", RH_RUNTIME_NODE) < 0 ||
	    runtime_restart(field, part, spec, pod) < 0)
		return rh_fail_oom(err);
	*ret_job = job;
	return 0;
}

int rh_runtime_succeed_with(const struct rh_convert_field *field, const char *job)
{
	struct rh_json *spec = rh_json_at(field->conversion->object, RH_CONVERT_RUNTIME ".spec.template.spec");
	struct rh_json *policy = rh_json_ensure_object(spec, "successPolicy");
	struct rh_json *jobs = policy ? rh_json_ensure_array(policy, "targetReplicatedJobs") : NULL;

	if (!jobs || rh_json_set_string(policy, "operator", "All") < 0)
		return RH_ENOMEM;
	return rh_json_append(jobs, rh_json_new_string(job));
}

int rh_runtime_env(struct rh_json *container, const char *name, const char *value)
{
	rh_auto(json) variable = rh_json_new_object();
	struct rh_json *env = rh_json_ensure_array(container, "env");

	if (!variable || !env || rh_json_set_string(variable, "name", name) < 0 ||
	    rh_json_set_string(variable, "value", value) < 0)
		return RH_ENOMEM;
	return rh_json_append(env, rh_take(variable));
}

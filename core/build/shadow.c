/* SPDX-License-Identifier: Apache-2.0 */
#include "build/shadow.h"

#include <string.h>

#include "base/str.h"
#include "build/build.h"
#include "job/expansion.h"

/* One replica type under work. */
struct shadow_call {
	const struct rh_job *job;
	const struct rh_replica_spec *spec;
	struct rh_findings *findings;
	size_t container;
};

/* The last entry of that name counts: a kubelet goes through them in order. */
static const struct rh_json *shadow_last(const struct rh_json *env, const char *name)
{
	const struct rh_json *last = NULL;

	for (const struct rh_json *item = rh_json_first(env); item; item = rh_json_next(item)) {
		if (rh_text_equal(rh_json_string(rh_json_get(item, "name")), name))
			last = item;
	}
	return last;
}

static int shadow_compare(const struct shadow_call *call, size_t index, const struct rh_json *own,
                          const struct rh_json *winner)
{
	const char *name = rh_json_string(rh_json_get(own, "name"));
	const char *mine = rh_json_string(rh_json_get(own, "value"));
	const char *value = rh_json_string(rh_json_get(winner, "value"));
	rh_auto_str path = {0};

	if (!value || rh_text_equal(mine, value))
		return 0;
	rh_job_print_spec(call->job, call->spec, &path);
	rh_str_appendf(&path, ".template.spec.containers[%zu].env[%zu]", call->container, index);
	if (path.failed)
		return RH_ENOMEM;
	return rh_findings_add(
		call->findings, RH_FINDING_WARNING, rh_str_text(&path),
		"%s: \"%.100s\" has no effect: the job sets %s after it, to \"%.100s\" in %s-0, and the last "
		"one counts; remove it",
		name, mine ? mine : "", name, value, call->spec->type);
}

/* Variables of the template's container and of the pod's; the pod's own variables come after those of the template.
 */
static int shadow_container(const struct shadow_call *call, const struct rh_json *template_, const struct rh_json *made)
{
	const struct rh_json *env = rh_json_get(template_, "env");
	size_t index = 0;
	int r = 0;

	for (const struct rh_json *item = rh_json_first(env); item && r == 0; item = rh_json_next(item), index++) {
		const char *name = rh_json_string(rh_json_get(item, "name"));
		const struct rh_json *before = name ? shadow_last(env, name) : NULL;
		const struct rh_json *winner = name ? shadow_last(made, name) : NULL;

		/* a variable that the template has twice is another rule */
		if (before == item && winner && rh_json_size(made) > rh_json_size(env))
			r = shadow_compare(call, index, item, winner);
	}
	return r;
}

static int shadow_pod(struct shadow_call *call, const struct rh_json *pod)
{
	const struct rh_json *mine = rh_json_first(rh_json_at(call->spec->template_, "spec.containers"));
	const struct rh_json *made = rh_json_first(rh_json_at(pod, "spec.containers"));
	int r = 0;

	for (; mine && made && r == 0; mine = rh_json_next(mine), made = rh_json_next(made), call->container++)
		r = shadow_container(call, mine, rh_json_get(made, "env"));
	return r;
}

int rh_build_find_shadowed(const struct rh_snapshot *snapshot, struct rh_findings *findings, struct rh_error *err)
{
	rh_auto(builder) builder = NULL;
	struct rh_error unused = {0};
	int r;

	if (!rh_lookups_are_complete(snapshot->job->kind, snapshot->lookups) || !rh_job_is_expanded(snapshot->job))
		return 0;
	r = rh_builder_new(snapshot, &builder, err);

	for (size_t i = 0; r == 0 && i < snapshot->job->spec_count; i++) {
		struct shadow_call call = {.job = snapshot->job, .spec = &snapshot->job->specs[i], .findings = findings};
		rh_auto(json) pod = NULL;

		/* a pod that cannot be made is for others to show */
		if (call.spec->replicas > 0 && rh_build_pod(builder, call.spec->type, 0, &pod, &unused) == 0 &&
		    shadow_pod(&call, pod) < 0)
			r = rh_fail_oom(err);
	}
	return r;
}

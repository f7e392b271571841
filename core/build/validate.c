/* SPDX-License-Identifier: Apache-2.0 */
#include "build/validate.h"

#include "build/build.h"
#include "job/kind.h"
#include "job/rules/template.h"

/** The parts of a pod template that are checked, and their paths. */
struct validate_mounts {
	const struct rh_snapshot *snapshot;
	const struct rh_replica_spec *spec;
	struct rh_place place;
	struct rh_findings *findings;
};

/** A pod that cannot be built has a problem of its own, which is reported when the pod is created. */
static int validate_made_mounts(const struct validate_mounts *check, struct rh_error *err)
{
	rh_auto(builder) builder = NULL;
	rh_auto(json) pod = NULL;
	struct rh_error reason = {0};
	int r = rh_builder_new(check->snapshot, &builder, &reason);

	if (r == 0)
		r = rh_build_pod(builder, check->spec->type, 0, &pod, &reason);
	if (r == RH_ENOMEM)
		return rh_fail_oom(err);
	if (r == 0)
		rh_template_check_mounts(rh_json_get(check->spec->template_, "spec"), rh_json_get(pod, "spec"), &check->place,
		                         check->findings);
	return 0;
}

/* A container may mount what the plugin adds to its pod, so mounts are checked against a pod that was built. */
static int validate_all_mounts(const struct rh_snapshot *snapshot, struct rh_findings *findings, struct rh_error *err)
{
	const struct rh_job *job = snapshot->job;
	int r = 0;

	for (size_t i = 0; i < job->spec_count && r == 0; i++) {
		const struct rh_replica_spec *spec = &job->specs[i];
		const struct rh_json *template_ = rh_json_get(spec->template_, "spec");
		struct rh_kind_path path;
		struct rh_place template_place;
		struct validate_mounts check = {.snapshot = snapshot, .spec = spec, .findings = findings};
		rh_auto_findings without = {0};

		rh_kind_type_path(job->kind, spec->known, spec->key, &path);
		template_place = rh_place_member(rh_kind_path_place(&path), "template");
		check.place = rh_place_member(&template_place, "spec");
		rh_template_check_mounts(template_, template_, &check.place, &without);
		if (without.count > 0)
			r = validate_made_mounts(&check, err);
		findings->failed = findings->failed || without.failed;
	}
	return r == 0 && findings->failed ? rh_fail_oom(err) : r;
}

int rh_build_validate(const struct rh_snapshot *snapshot, struct rh_findings *findings, struct rh_error *err)
{
	int r = rh_host_validate(snapshot, findings, err);

	if (!rh_lookups_are_complete(snapshot->job->kind, snapshot->lookups))
		return r;
	return r == 0 ? validate_all_mounts(snapshot, findings, err) : r;
}

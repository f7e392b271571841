/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that are another's: whose they are is said, and the create waits.
 */
#include "engine/carry/parts.h"
#include "job/names.h"

/* @return whose @p object is, as a part of a sentence; owned by the caller; NULL when memory is out */
static char *taken_print_owner(const struct rh_json *object)
{
	const struct rh_json *owner = rh_json_item(rh_json_at(object, "metadata.ownerReferences"), 0);
	const char *kind = rh_json_string(rh_json_get(owner, "kind"));
	const char *name = rh_json_string(rh_json_get(owner, "name"));
	const char *uid = rh_json_string(rh_json_get(owner, "uid"));

	if (kind && name)
		return rh_asprintf("belongs to %s \"%s\" (UID %s)", kind, name, uid ? uid : "unknown");
	return rh_strdup("belongs to nobody: delete or rename it");
}

/* @return who has the name that was to be ours, owned by the caller; NULL when memory is out */
static char *taken_explain(const struct rh_inflight *inflight, const struct rh_json *object, bool astray)
{
	const char *plural = inflight->resource->plural;
	rh_auto_free char *owner = NULL;

	if (astray && !rh_verb_of_object(inflight->verb) && !rh_engine_is_labelled(inflight->entry, object))
		return rh_asprintf(
			"%s \"%s\" already exists, and its labels do not say that it belongs to this job: delete it, "
			"or set %s to \"%s\" and %s to \"%s\"",
			plural, inflight->name, RH_LABEL_JOB, inflight->entry->name, RH_LABEL_OPERATOR,
			inflight->entry->kind->kind->controller);
	if (astray)
		return rh_asprintf(
			"%s \"%s\" already exists, and is labelled as another replica or as none: delete it, or mend its "
			"labels %s and %s",
			plural, inflight->name, RH_LABEL_TYPE, RH_LABEL_INDEX);
	owner = taken_print_owner(object);
	return owner ? rh_asprintf("%s \"%s\" already exists, and %s", plural, inflight->name, owner) : NULL;
}

bool rh_inflight_has_v1_message(const struct rh_inflight *inflight)
{
	if (rh_verb_of_object(inflight->verb))
		return rh_object_serves_pods(inflight->resource->api_version);
	return rh_verb_of_pod(inflight->verb) && rh_engine_equips_pods(inflight->entry);
}

/* Emit the Event for a taken name, in V1's words (MessageResourceExists, pkg/controller.v1/mpi). @return likewise with
 * the owner, as taken_explain() */
static char *taken_report(const struct rh_inflight *inflight, const struct rh_json *object)
{
	const char *kind = inflight->entry->kind->kind->kind;
	rh_auto_free char *owner = taken_print_owner(object);
	rh_auto_free char *text = rh_asprintf("Resource \"%s\" of %sKind \"%s\" already exists and is not managed by %s",
	                                      inflight->name, kind, inflight->resource->kind, kind);

	if (!owner || !text)
		return NULL;
	rh_engine_emit(inflight->entry, &(struct rh_event_spec){inflight->job_uid, true, "ErrResourceExists", text});
	return rh_asprintf("%s, it %s", text, owner);
}

void rh_inflight_back_off_taken(struct rh_inflight *inflight, const struct rh_json *object, bool astray)
{
	rh_auto_free char *detail = NULL;

	inflight->asking = false; /* it could be read: it is the create that comes to nothing */
	inflight->taken = !astray && rh_inflight_has_v1_message(inflight);
	detail = inflight->taken ? taken_report(inflight, object) : taken_explain(inflight, object, astray);
	if (detail && !inflight->taken)
		rh_inflight_report(inflight, true, detail);
	/* What goes anyway is soon out of the way. */
	if (detail && !rh_json_at(object, "metadata.deletionTimestamp"))
		rh_engine_refuse(inflight, true, detail);
	rh_engine_back_off(inflight, -1);
}

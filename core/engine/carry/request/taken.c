/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/request/taken.h"

#include "engine/carry/entry.h"
#include "engine/carry/request/backoff.h"
#include "engine/carry/request/report.h"
#include "engine/carry/request/verbs.h"
#include "job/values/names.h"
#include "job/values/patterns.h"

/* @return the owner of @p object, as the end of a message; owned by the caller; NULL when memory is out */
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

/* @return why the name cannot be used, owned by the caller; NULL when memory is out */
static char *taken_explain(const struct rh_inflight *inflight, const struct rh_json *object, bool misplaced)
{
	const char *plural = inflight->resource->plural;
	rh_auto_free char *owner = NULL;

	if (misplaced && !rh_verb_of_object(inflight->verb) && !rh_children_is_labelled(inflight->entry, object))
		return rh_asprintf("%s \"%s\" already exists, and its labels do not name this job: delete it, "
		                   "or set %s to \"%s\" and %s to \"%s\"",
		                   plural, inflight->name, RH_LABEL_JOB, inflight->entry->name,
		                   rh_patterns_label(inflight->entry->kind->kind, RH_LABEL_OPERATOR),
		                   inflight->entry->kind->kind->controller);
	if (misplaced)
		return rh_asprintf(
			"%s \"%s\" already exists, and is labelled as another replica or as none: delete it, or correct its "
			"labels %s and %s",
			plural, inflight->name, rh_patterns_label(inflight->entry->kind->kind, RH_LABEL_TYPE),
			rh_patterns_label(inflight->entry->kind->kind, RH_LABEL_INDEX));
	owner = taken_print_owner(object);
	return owner ? rh_asprintf("%s \"%s\" already exists, and %s", plural, inflight->name, owner) : NULL;
}

bool rh_taken_has_v1_message(const struct rh_inflight *inflight)
{
	if (rh_verb_of_object(inflight->verb))
		return rh_object_serves_pods(inflight->resource->api_version);
	return rh_verb_of_pod(inflight->verb) && rh_objects_serve_pods(inflight->entry);
}

/* Emit V1's Event for a name conflict (MessageResourceExists, pkg/controller.v1/mpi). @return as taken_explain() */
static char *taken_report(const struct rh_inflight *inflight, const struct rh_json *object)
{
	const char *kind = inflight->entry->kind->kind->kind;
	rh_auto_free char *owner = taken_print_owner(object);
	rh_auto_free char *text = rh_asprintf("Resource \"%s\" of %sKind \"%s\" already exists and is not managed by %s",
	                                      inflight->name, kind, inflight->resource->kind, kind);

	if (!owner || !text)
		return NULL;
	rh_events_emit(inflight->entry, &(struct rh_event_spec){inflight->job_uid, true, "ErrResourceExists", text});
	return rh_asprintf("%s, it %s", text, owner);
}

void rh_taken_back_off(const struct rh_inflight *inflight, const struct rh_json *object, bool misplaced)
{
	bool v1 = !misplaced && rh_taken_has_v1_message(inflight);
	rh_auto_free char *detail = v1 ? taken_report(inflight, object) : taken_explain(inflight, object, misplaced);

	if (detail && !v1)
		rh_report_failure(inflight, RH_REFUSED_CREATE, detail);
	/* An object that is being deleted frees the name soon. */
	if (detail && !rh_json_at(object, "metadata.deletionTimestamp"))
		rh_refusals_add(inflight, v1 ? RH_REFUSED_NAME : RH_REFUSED_CREATE, true, detail);
	rh_backoff_add(inflight, -1);
}

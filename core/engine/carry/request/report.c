/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/request/report.h"

#include "base/str.h"
#include "engine/carry/entry.h"
#include "engine/carry/request/verbs.h"

/* For a job whose TTL has expired, V1's reason depends on the kind: kinds with selectors have Pod (v1-behaviour B.2).
 */
static const char *report_kind_suffix(const struct rh_inflight *inflight)
{
	if (inflight->verb != RH_DELETE_JOB)
		return inflight->resource->kind;
	return inflight->entry->kind->kind->flags & RH_KIND_SELECTOR ? "Pod" : "Job";
}

static const char *report_noun(const struct rh_inflight *inflight)
{
	if (rh_verb_of_pod(inflight->verb))
		return "pod";
	if (rh_verb_of_service(inflight->verb))
		return "service";
	return inflight->verb == RH_DELETE_JOB ? "job" : inflight->resource->kind;
}

/* What V1 writes in the reason and in the message (v1-behaviour F.1): "FailedCreatePod", "Error creating: …". */
struct report_texts {
	const char *verb;
	const char *doing;
	const char *past;
};

static struct report_texts report_texts(const struct rh_inflight *inflight, enum rh_refused what)
{
	static const struct report_texts texts[] = {
		[RH_REFUSED_CREATE] = {"Create", "creating", "Created"},
		[RH_REFUSED_READ] = {"Read", "reading", "Read"},
		[RH_REFUSED_UPDATE] = {"Update", "updating", "Updated"},
		[RH_REFUSED_DELETE] = {"Delete", "deleting", "Deleted"},
	};

	return rh_verb_adopts(inflight->verb) ? (struct report_texts){"Adopt", "adopting", "Adopted"} : texts[what];
}

enum rh_refused rh_report_refused(const struct rh_inflight *inflight)
{
	if (rh_verb_of_object(inflight->verb) && inflight->state != RH_INFLIGHT_SENT)
		return RH_REFUSED_READ;
	if (rh_verb_creates(inflight->verb))
		return RH_REFUSED_CREATE;
	return rh_verb_deletes(inflight->verb) ? RH_REFUSED_DELETE : RH_REFUSED_UPDATE;
}

void rh_report_success(const struct rh_inflight *inflight)
{
	const struct report_texts texts = report_texts(inflight, rh_report_refused(inflight));
	rh_auto_free char *reason = rh_asprintf("Successful%s%s", texts.verb, report_kind_suffix(inflight));
	rh_auto_free char *message = rh_asprintf("%s %s: %s", texts.past, report_noun(inflight), inflight->name);

	if (reason && message)
		rh_events_emit(inflight->entry, &(struct rh_event_spec){inflight->job_uid, false, reason, message});
}

void rh_report_failure(const struct rh_inflight *inflight, enum rh_refused what, const char *detail)
{
	const struct report_texts texts = report_texts(inflight, what);
	rh_auto_free char *reason = rh_asprintf("Failed%s%s", texts.verb, report_kind_suffix(inflight));
	rh_auto_free char *message = rh_asprintf("Error %s: %s", texts.doing, detail);

	if (reason && message)
		rh_events_emit(inflight->entry, &(struct rh_event_spec){inflight->job_uid, true, reason, message});
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The sentence about the first fault in conditions and events. */
#include <inttypes.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/str.h"
#include "engine/decide.h"
#include "engine/decide/replicas.h"

/* What a user is to know of a failure whose output the kubelet does not report, and the fix. */
#define FAULT_BARE \
	"; its output is unknown, so a peer may be the cause (terminationMessagePolicy: FallbackToLogsOnError shows it)."

/* The most informative line of the output. */
static void fault_print_informative(const struct rh_first_fault *fault, struct rh_str *out)
{
	const struct rh_end end = {.exit_code = fault->exit_code, .reason = fault->reason, .output = fault->last_lines};
	struct rh_evidence evidence = rh_evidence_read(&end);

	if (evidence.headline_length == 0) {
		rh_str_append(out, ".");
		return;
	}
	rh_str_append(out, "; last line: ");
	rh_str_append_line(out, evidence.headline, evidence.headline_length, RH_FAULT_LINE_MAX);
}

/*
 * @return whether only its exit code and a time in whole seconds are known of that failure. One machine's output is
 * known whatever the pod's policy, and its times are exact.
 */
static bool fault_is_bare(const struct rh_pod *pod)
{
	return rh_decide_shows_failure(pod) && pod->output_unknown && pod->blame == RH_BLAME_UNKNOWN &&
	       pod->failed_at % RH_SECOND == 0;
}

/* @return the pod of the ledger's fault, if no more is known of it than fault_is_bare() has; else NULL */
static const struct rh_pod *fault_bare_pod(const struct rh_decision *decision)
{
	const struct rh_first_fault *fault = &decision->plan->ledger.fault;
	const struct rh_pod *pod;
	size_t place;

	if (rh_decision_places(decision) < 2 || !rh_decision_place(decision, fault->type, fault->index, &place))
		return NULL;
	pod = decision->pods[place];
	return fault_is_bare(pod) && strcmp(pod->name, fault->pod) == 0 && pod->failed_at == fault->at ? pod : NULL;
}

/* @return how many replicas failed in the same second with the same exit code, with nothing else known of them */
static size_t fault_count_alike(const struct rh_decision *decision, const struct rh_pod *bare)
{
	size_t count = 0;

	for (size_t place = 0; bare && place < rh_decision_places(decision); place++) {
		const struct rh_pod *pod = decision->pods[place];

		count += fault_is_bare(pod) && pod->attempt == bare->attempt && pod->failed_code == bare->failed_code &&
		         pod->failed_at == bare->failed_at;
	}
	return count;
}

static void fault_print_missed(const struct rh_first_fault *fault, struct rh_str *out)
{
	char at[RH_TIME_SIZE];

	rh_str_appendf(out, "%s when its peers failed at %s; ", fault->exit_code == 0 ? "had ended well" : "had not ended",
	               rh_time_format(fault->at, at));
	rh_str_append_line(out, fault->reported_by, strlen(fault->reported_by), RH_FAULT_LINE_MAX);
}

static void fault_print(const struct rh_decision *decision, struct rh_str *out)
{
	const struct rh_first_fault *fault = &decision->plan->ledger.fault;
	const struct rh_pod *bare = fault_bare_pod(decision);
	size_t alike = fault_count_alike(decision, bare);
	char at[RH_TIME_SIZE];

	if (alike > 1)
		rh_str_appendf(out, "unknown: %zu replicas failed alike in the same second, one of them ", alike);
	rh_str_appendf(out, "%s-%" PRId32 " (pod %s", fault->type, fault->index, fault->pod);
	if (*fault->container)
		rh_str_appendf(out, ", container %s", fault->container);
	if (*fault->node)
		rh_str_appendf(out, ", node %s", fault->node);
	rh_str_append(out, ") ");
	if (fault->rank >= 0)
		rh_str_appendf(out, "rank %" PRId32 " ", fault->rank);
	if (fault->blame == RH_BLAME_HUNG) {
		fault_print_missed(fault, out);
		return;
	}
	if (fault->exit_code < 0 && strcmp(fault->reason, "Deleted") == 0)
		rh_str_append(out, "was deleted");
	else
		rh_exit_print(fault->exit_code, fault->reason, out);
	rh_str_appendf(out, " at %s", rh_time_format(fault->at, at));
	if (bare)
		rh_str_append(out, FAULT_BARE);
	else
		fault_print_informative(fault, out);
}

size_t rh_decide_print_fault(const struct rh_decision *decision, struct rh_str *out)
{
	size_t before;

	if (!rh_decide_fault_is_current(decision))
		return 0;
	/* V1's messages about limits have no full stop. */
	if (out->length > 0 && out->data[out->length - 1] != '.')
		rh_str_append(out, ".");
	before = out->length;
	rh_str_append(out, " First fault: ");
	fault_print(decision, out);
	return before;
}

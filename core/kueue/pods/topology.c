/* SPDX-License-Identifier: Apache-2.0 */
#include "kueue/pods/topology.h"

#include "base/mem.h"
#include "base/str.h"
#include "job/values/names.h"
#include "job/values/patterns.h"

#define TOPOLOGY_REQUIRED "kueue.x-k8s.io/podset-required-topology"
#define TOPOLOGY_PREFERRED "kueue.x-k8s.io/podset-preferred-topology"
#define TOPOLOGY_UNCONSTRAINED "kueue.x-k8s.io/podset-unconstrained-topology"
#define TOPOLOGY_WORKLOAD "kueue.x-k8s.io/workload"
#define TOPOLOGY_GATE "kueue.x-k8s.io/topology"

int rh_kueue_topology_ask(const struct rh_job *job, const struct rh_replica_spec *spec, struct rh_json *set)
{
	const struct rh_json *annotations = rh_json_at(spec->template_, "metadata.annotations");
	const char *required = rh_json_string(rh_json_get(annotations, TOPOLOGY_REQUIRED));
	const char *preferred = rh_json_string(rh_json_get(annotations, TOPOLOGY_PREFERRED));
	const char *any = rh_json_string(rh_json_get(annotations, TOPOLOGY_UNCONSTRAINED));
	struct rh_json *request;

	if (!required && !preferred && !any)
		return 0;
	request = rh_json_ensure_object(set, "topologyRequest");
	if (!request || (required && rh_json_set_string(request, "required", required) < 0) ||
	    (preferred && rh_json_set_string(request, "preferred", preferred) < 0) ||
	    (any && rh_json_set_bool(request, "unconstrained", rh_text_equal(any, "true")) < 0))
		return RH_ENOMEM;
	return rh_json_set_string(request, "podIndexLabel", rh_patterns_label(job->kind, RH_LABEL_INDEX));
}

/* @return whether the set that @p name names asks for something; the pods have its annotations then */
static bool topology_is_asked(const struct rh_json *asked, const char *name)
{
	return rh_json_get(rh_json_find(asked, "name", name), "topologyRequest");
}

static int topology_add_gate(struct rh_json *set)
{
	struct rh_json *gates = rh_json_ensure_array(set, "schedulingGates");
	rh_auto(json) gate = rh_json_new_object();

	if (!gates || !gate || rh_json_set_string(gate, "name", TOPOLOGY_GATE) < 0)
		return RH_ENOMEM;
	return rh_json_append(gates, rh_take(gate));
}

int rh_kueue_topology_note(const struct rh_json *workload, const struct rh_json *assignment,
                           const struct rh_json *asked, struct rh_json *set)
{
	struct rh_json *annotations;

	if (!rh_json_get(assignment, "topologyAssignment"))
		return 0;
	annotations = rh_json_ensure_object(set, "annotations");
	if (!annotations ||
	    rh_json_set_string(annotations, TOPOLOGY_WORKLOAD, rh_json_string_at(workload, "metadata.name")) < 0)
		return RH_ENOMEM;
	if (!topology_is_asked(asked, rh_json_string_at(assignment, "name")) &&
	    rh_json_set_string(annotations, TOPOLOGY_UNCONSTRAINED, "true") < 0)
		return RH_ENOMEM;
	return topology_add_gate(set);
}

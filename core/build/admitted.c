/* SPDX-License-Identifier: Apache-2.0 */
#include "build/admitted.h"

#include <string.h>

#include "job/values/names.h"

/* @return the pod set of the replica type, borrowed, or NULL */
static const struct rh_json *admitted_pod_set(const struct rh_json *admission, const struct rh_replica_spec *spec)
{
	char lower[RH_NAME_SIZE];

	return rh_json_find(rh_json_get(admission, "podSets"), "name", rh_name_lower(spec->type, lower));
}

int rh_admitted_add_map(const struct rh_json *from, struct rh_json *object, const char *key)
{
	struct rh_json *map;

	if (rh_json_size(from) == 0)
		return 0;
	map = rh_json_ensure_object(object, key);
	for (const struct rh_json *item = rh_json_first(from); map && item; item = rh_json_next(item)) {
		if (rh_json_set(map, rh_json_key(item), rh_json_copy(item)) < 0)
			return RH_ENOMEM;
	}
	return map ? 0 : RH_ENOMEM;
}

static bool admitted_has(const struct rh_json *list, const struct rh_json *expected)
{
	const struct rh_json *item = rh_json_first(list);

	while (item && !rh_json_equal(item, expected))
		item = rh_json_next(item);
	return item;
}

/* Append those of @p from that the list @p key of @p object lacks. */
static int admitted_add_list(const struct rh_json *from, struct rh_json *object, const char *key)
{
	struct rh_json *list = rh_json_size(from) > 0 ? rh_json_ensure_array(object, key) : NULL;

	if (!list)
		return rh_json_size(from) > 0 ? RH_ENOMEM : 0;
	for (const struct rh_json *item = rh_json_first(from); item; item = rh_json_next(item)) {
		if (!admitted_has(list, item) && rh_json_append(list, rh_json_copy(item)) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

int rh_admitted_add_tolerations(const struct rh_json *from, struct rh_json *object)
{
	return admitted_add_list(from, object, "tolerations");
}

int rh_admitted_decorate(const struct rh_job *job, const struct rh_replica_spec *spec, struct rh_json *pod)
{
	const char *text =
		rh_json_string(rh_json_get(rh_json_at(job->object, "metadata.annotations"), RH_ANNOTATION_ADMITTED));
	rh_auto(json) admission = NULL;
	const struct rh_json *set;
	struct rh_json *metadata, *pod_spec;
	int r = text ? rh_json_parse(text, strlen(text), &admission, NULL) : RH_EINVAL;

	if (r < 0)
		return r == RH_ENOMEM ? r : 0;
	set = admitted_pod_set(admission, spec);
	metadata = rh_json_ensure_object(pod, "metadata");
	pod_spec = rh_json_ensure_object(pod, "spec");
	if (!metadata || !pod_spec || rh_admitted_add_map(rh_json_get(set, "labels"), metadata, "labels") < 0 ||
	    rh_admitted_add_map(rh_json_get(set, "annotations"), metadata, "annotations") < 0 ||
	    rh_admitted_add_map(rh_json_get(set, "nodeSelector"), pod_spec, "nodeSelector") < 0 ||
	    admitted_add_list(rh_json_get(set, "schedulingGates"), pod_spec, "schedulingGates") < 0)
		return RH_ENOMEM;
	return rh_admitted_add_tolerations(rh_json_get(set, "tolerations"), pod_spec);
}

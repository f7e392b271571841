/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/log.h"
#include "controller/parts.h"
#include "kube/kubeconfig/hint.h"

static void problems_free(struct rh_problem *problem)
{
	if (!problem)
		return;
	rh_free(problem->resource);
	rh_free(problem->verb);
	rh_free(problem->namespace_);
	rh_free(problem->message);
	rh_free(problem);
}

void rh_problems_deinit(struct rh_problems *problems)
{
	size_t cursor = 0;
	void *problem;

	while (problems->items && rh_map_next(problems->items, &cursor, NULL, &problem))
		problems_free(problem);
	rh_map_free(rh_take(problems->items));
}

static const struct rh_kind *problems_kind(const struct rh_host *host, const char *plural)
{
	for (size_t i = 0; i < rh_host_plugin_count(host); i++) {
		struct rh_plugin_info info;

		rh_host_plugin(host, i, &info);
		for (size_t k = 0; info.kinds[k]; k++) {
			if (strcmp(info.kinds[k]->plural, plural) == 0)
				return info.kinds[k];
		}
	}
	return NULL;
}

static void problems_advise_right(const struct rh_kube_problem *problem, struct rh_str *out)
{
	const char *slash = strchr(problem->about->api_version, '/');
	int group = slash ? (int)(slash - problem->about->api_version) : 0;

	rh_str_appendf(out,
	               "add to the %s of its service account: {apiGroups: [\"%.*s\"], resources: [%s], verbs: [list, "
	               "watch]}",
	               *problem->namespace_ ? "Role" : "ClusterRole", group, problem->about->api_version,
	               problem->about->plural);
}

void rh_problem_hint(const struct rh_problems *problems, const struct rh_host *host,
                     const struct rh_kube_problem *problem, struct rh_str *out)
{
	const struct rh_kind *kind = problem->about ? problems_kind(host, problem->about->plural) : NULL;

	if (problem->status == 404 && kind)
		rh_str_appendf(out,
		               "its CustomResourceDefinition is missing; install it: roundhouse crds --kind %s | kubectl apply "
		               "--server-side -f -",
		               kind->kind);
	else if (problem->status == 404)
		rh_str_append(out, "the server does not have this resource; install what defines it");
	else if (problem->status == 403 && problem->about)
		problems_advise_right(problem, out);
	else if (problems->kubeconfig)
		rh_kube_hint(problems->kubeconfig, problem->status, problem->message, out);
}

/* If the API server cannot be reached, log one line for all watches. */
static void problems_log(const struct rh_problems *problems, const struct rh_host *host,
                         const struct rh_kube_problem *problem)
{
	rh_auto_str hint = {0};

	rh_problem_hint(problems, host, problem, &hint);
	rh_log(problem->status == 0 ? RH_LOG_WARN : RH_LOG_ERROR, problem->resource, "cannot %s%s%s: %s%s%s", problem->verb,
	       *problem->namespace_ ? " in namespace " : "", problem->namespace_, problem->message,
	       hint.length > 0 ? "; " : "", rh_str_text(&hint));
}

static struct rh_problem *problems_copy(const struct rh_kube_problem *problem)
{
	struct rh_problem *copy = rh_alloc(sizeof(*copy));

	if (!copy)
		return NULL;
	copy->resource = rh_strdup(problem->resource);
	copy->verb = rh_strdup(problem->verb);
	copy->namespace_ = rh_strdup(problem->namespace_);
	copy->message = rh_strdup(problem->message);
	copy->status = problem->status;
	if (copy->resource && copy->verb && copy->namespace_ && copy->message)
		return copy;
	problems_free(copy);
	return NULL;
}

/* What there is no memory to keep was logged at least. */
static void problems_keep(struct rh_problems *problems, const struct rh_kube_problem *problem)
{
	struct rh_problem *copy = problems_copy(problem);
	void *old = NULL;

	if (!problems->items)
		problems->items = rh_map_new();
	if (!copy || !problems->items || rh_map_set(problems->items, problem->resource, copy, &old) < 0)
		problems_free(copy);
	problems_free(old);
}

void rh_problems_report(struct rh_problems *problems, const struct rh_host *host, const struct rh_kube_problem *problem)
{
	struct rh_problem *known = problems->items ? rh_map_get(problems->items, problem->resource) : NULL;

	if (problem->status != 200) {
		problems_log(problems, host, problem);
		problems_keep(problems, problem);
		return;
	}
	if (!known)
		return;
	rh_log(RH_LOG_INFO, problem->resource, "works again");
	problems_free(rh_map_remove(problems->items, problem->resource));
}

int rh_problems_json(const struct rh_problems *problems, struct rh_json *list)
{
	size_t cursor = 0;
	void *value;

	while (problems->items && rh_map_next(problems->items, &cursor, NULL, &value)) {
		const struct rh_problem *problem = value;
		rh_auto(json) row = rh_json_new_object();

		if (!row || rh_json_set_string(row, "resource", problem->resource) < 0 ||
		    rh_json_set_string(row, "verb", problem->verb) < 0 ||
		    rh_json_set_string(row, "namespace", problem->namespace_) < 0 ||
		    rh_json_set_integer(row, "status", problem->status) < 0 ||
		    rh_json_set_string(row, "message", problem->message) < 0 || rh_json_append(list, rh_take(row)) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

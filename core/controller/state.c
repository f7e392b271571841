/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of the controller for users: gauges at a scrape, and /debug/state.
 */
#include "base/os/clock.h"
#include "controller/parts.h"
#include "controller/process.h"

static const char *state_name(enum rh_controller_state state)
{
	static const char *const names[] = {"standby", "working", "ending", "releasing"};

	return names[state];
}

const char *rh_controller_namespace(const struct rh_controller *controller)
{
	const char *named = controller->options->own_namespace;

	if (named && *named)
		return named;
	return controller->kubeconfig->namespace_ ? controller->kubeconfig->namespace_ : "default";
}

bool rh_controller_webhooks_pending(const struct rh_controller *controller)
{
	return controller->webhook_server.look_at != RH_NEVER && !controller->webhook_server.httpd;
}

bool rh_controller_is_ready(const struct rh_controller *controller)
{
	return controller->ready && !rh_controller_webhooks_pending(controller);
}

void rh_controller_measure(const struct rh_controller *controller)
{
	static const char *const queue[] = {"jobs"};
	const char *const lease[] = {controller->options->lease_name};
	const char *const version[] = {controller->options->version};
	struct rh_metrics *metrics = controller->metrics;
	struct rh_engine_load engine = {0};
	struct rh_kube_store_load store = {0};

	if (controller->engine)
		rh_engine_load(controller->engine, &engine);
	if (controller->store)
		rh_kube_store_load(controller->store, &store);
	rh_metrics_set(metrics, RH_METRIC_QUEUE_DEPTH, queue, (double)engine.due);
	rh_metrics_set(metrics, RH_METRIC_JOBS, NULL, (double)engine.jobs);
	rh_metrics_set(metrics, RH_METRIC_JOBS_SLOWED, NULL, (double)engine.slowed);
	rh_metrics_set(metrics, RH_METRIC_API_WAITING, NULL, (double)store.waiting);
	rh_metrics_set(metrics, RH_METRIC_API_IN_FLIGHT, NULL, (double)store.in_flight);
	rh_metrics_set(metrics, RH_METRIC_API_WINDOW, NULL, (double)store.window);
	rh_metrics_set(metrics, RH_METRIC_WATCHES, NULL, (double)store.watches);
	rh_metrics_set(metrics, RH_METRIC_WATCHED_OBJECTS, NULL, (double)store.kept);
	rh_metrics_set(metrics, RH_METRIC_BUILD, version, 1);
	if (controller->options->elect)
		rh_metrics_set(metrics, RH_METRIC_LEADER, lease, controller->state == RH_CONTROLLER_WORKING);
	rh_process_measure(metrics);
}

/* Numbers of one part. A row with name NULL ends a list. */
struct state_row {
	const char *name;
	int64_t value;
};

static int state_add(struct rh_json *out, const char *part, const struct state_row *rows)
{
	struct rh_json *object = rh_json_ensure_object(out, part);

	for (; object && rows->name; rows++) {
		if (rh_json_set_integer(object, rows->name, rows->value) < 0)
			return RH_ENOMEM;
	}
	return object ? 0 : RH_ENOMEM;
}

static int state_add_parts(const struct rh_controller *controller, struct rh_json *out)
{
	struct rh_engine_load engine = {0};
	struct rh_kube_store_load store = {0};

	if (controller->engine)
		rh_engine_load(controller->engine, &engine);
	if (controller->store)
		rh_kube_store_load(controller->store, &store);
	if (state_add(out, "engine",
	              (const struct state_row[]){{"jobs", (int64_t)engine.jobs},
	                                         {"due", (int64_t)engine.due},
	                                         {"requests", (int64_t)engine.requests},
	                                         {"watchesNotSynced", (int64_t)engine.unsynced},
	                                         {NULL, 0}}) < 0)
		return RH_ENOMEM;
	return state_add(out, "store",
	                 (const struct state_row[]){{"waiting", (int64_t)store.waiting},
	                                            {"inFlight", (int64_t)store.in_flight},
	                                            {"window", (int64_t)store.window},
	                                            {"watches", (int64_t)store.watches},
	                                            {"objects", (int64_t)store.kept},
	                                            {NULL, 0}});
}

/* Reasons why /readyz fails. */
static int state_add_webhooks(const struct rh_controller *controller, struct rh_json *out)
{
	const struct rh_webhook_server *server = &controller->webhook_server;
	struct rh_json *object;

	if (server->look_at == RH_NEVER)
		return 0;
	object = rh_json_ensure_object(out, "webhooks");
	if (!object || rh_json_set_bool(object, "served", server->httpd != NULL) < 0)
		return RH_ENOMEM;
	if (server->httpd)
		return 0;
	return rh_json_set_string(object, "problem",
	                          server->problem.code < 0 ? server->problem.message : "there is no certificate yet");
}

static int state_add_kinds(const struct rh_controller *controller, struct rh_json *list)
{
	const struct rh_controller_options *options = controller->options;

	for (size_t i = 0; i < rh_host_plugin_count(controller->plugins.host); i++) {
		struct rh_plugin_info info;

		rh_host_plugin(controller->plugins.host, i, &info);
		for (size_t k = 0; info.kinds[k]; k++) {
			if (options->serves && !options->serves(options->arg, info.kinds[k]))
				continue;
			if (rh_json_append(list, rh_json_new_string(info.kinds[k]->kind)) < 0)
				return RH_ENOMEM;
		}
	}
	return 0;
}

struct rh_json *rh_controller_show(const struct rh_controller *controller)
{
	rh_auto(json) out = rh_json_new_object();
	int64_t uptime = (rh_clock_monotonic() - controller->started_at) / RH_SECOND;
	struct rh_json *kinds = out ? rh_json_ensure_array(out, "kinds") : NULL;
	struct rh_json *problems = out ? rh_json_ensure_array(out, "problems") : NULL;

	if (!kinds || !problems || rh_json_set_string(out, "version", controller->options->version) < 0 ||
	    rh_json_set_string(out, "state", state_name(controller->state)) < 0 ||
	    rh_json_set_bool(out, "ready", rh_controller_is_ready(controller)) < 0 ||
	    rh_json_set_integer(out, "uptimeSeconds", uptime) < 0)
		return NULL;
	if (controller->keeper &&
	    rh_json_set_string(out, "leader", rh_lease_holder(rh_lease_keeper_lease(controller->keeper))) < 0)
		return NULL;
	if (controller->options->namespace_ && rh_json_set_string(out, "namespace", controller->options->namespace_) < 0)
		return NULL;
	if (state_add_kinds(controller, kinds) < 0 || rh_problems_json(&controller->problems, problems) < 0 ||
	    state_add_webhooks(controller, out) < 0 || state_add_parts(controller, out) < 0)
		return NULL;
	return rh_take(out);
}

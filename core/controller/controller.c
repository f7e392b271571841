/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/controller.h"

#include <malloc.h>
#include <signal.h>
#include <string.h>

#include "base/log.h"
#include "base/os/clock.h"
#include "controller/order.h"
#include "controller/parts.h"

/* How long the Lease may take to be given back. */
#define CONTROLLER_RELEASE (2 * RH_SECOND)
/* What an account needs for an election. */
#define CONTROLLER_LEASE_RULE \
	"{apiGroups: [\"coordination.k8s.io\"], resources: [leases], verbs: [get, create, update]}"
/* How long requests in flight may take once the controller is to end: a pod has 10 s in V1's manifests. */
#define CONTROLLER_DRAIN (5 * RH_SECOND)
/* Longest sleep: the wall clock, by which jobs have deadlines, may be set meanwhile. */
#define CONTROLLER_SLEEP_MAX (30 * RH_SECOND)
/*
 * Blocks of so many bytes are the system's, and go back as soon as they are freed; without this the C library would
 * keep ever larger ones. So what one large object took is not taken again by the next.
 */
#define CONTROLLER_LARGE_BLOCK (256 * 1024)
/* A clock that differs by more from what it should say was set, not adjusted. */
#define CONTROLLER_CLOCK_STEP (5 * RH_SECOND)

/* Who has no terminal any more wants what a daemon's SIGHUP means: read again what is configured. */
static void controller_on_hangup(void *arg, int number)
{
	(void)number;
	rh_plugins_request(arg);
}

static void controller_on_signal(void *arg, int number)
{
	struct rh_controller *controller = arg;

	if (controller->state >= RH_CONTROLLER_ENDING) {
		rh_loop_stop(controller->loop);
		return;
	}
	rh_log(RH_LOG_INFO, NULL, "%s: ending", number == SIGINT ? "SIGINT" : "SIGTERM");
	controller->state = RH_CONTROLLER_ENDING;
	controller->stop_by = rh_clock_monotonic() + CONTROLLER_DRAIN;
}

/* A fault that only a restart of the program can fix. */
static void controller_fail(struct rh_controller *controller, const struct rh_error *err)
{
	controller->failure = *err;
	rh_loop_stop(controller->loop);
}

/* Read everything again, as after a start. @param next plugins to do it with; NULL: those that work now */
static void controller_begin_anew(struct rh_controller *controller, const struct rh_plugin_set *next)
{
	struct rh_error err = {0};

	if (!controller->engine)
		return;
	rh_work_stop(controller);
	if (next)
		rh_plugins_exchange(controller, next);
	controller->again_at = controller->wall;
	if ((next && rh_plugins_attach(controller, &err) < 0) || rh_work_start(controller, &err) < 0)
		controller_fail(controller, &err);
}

/* Times of a job are wall-clock times, and the wall clock may be set. */
static void controller_watch_clock(struct rh_controller *controller, int64_t now)
{
	int64_t wall = rh_clock_wall();
	int64_t step = controller->clock ? wall - controller->wall - (now - controller->clock) : 0;

	controller->clock = now;
	controller->wall = wall;
	if (step <= CONTROLLER_CLOCK_STEP && step >= -CONTROLLER_CLOCK_STEP)
		return;
	rh_log(RH_LOG_WARN, NULL,
	       step > 0 ? "the clock was set forward by %lld s; the deadlines of what there is move with it"
	                : "the clock was set back by %lld s; everything is read again",
	       (long long)((step > 0 ? step : -step) / RH_SECOND));
	rh_clock_steps_note(&controller->steps, wall - step, step);
	rh_servers_clock_set(controller);
	/* queued jobs would wait for as long as the clock was set back */
	if (step < 0)
		controller_begin_anew(controller, NULL);
}

static void controller_lose(struct rh_controller *controller, const char *message)
{
	struct rh_error err = {0};

	(void)rh_fail(&err, RH_EAGAIN, "the Lease \"%s\" was lost to another instance, or could not be renewed in time%s%s",
	              controller->options->lease_name, *message ? ": " : "", message);
	controller_fail(controller, &err);
}

static void controller_on_lease_trouble(void *arg, int32_t status, const char *message)
{
	const struct rh_controller *controller = arg;
	const char *name = controller->options->lease_name;

	if (*message)
		rh_log(RH_LOG_WARN, name, "cannot read or write the Lease: %s%s", message,
		       status == 403 ? "; add to the Role of its service account: " CONTROLLER_LEASE_RULE : "");
	else
		rh_log(RH_LOG_INFO, name, "the Lease can be read and written again");
}

static void controller_on_lease(void *arg, enum rh_lease_state state, const char *message)
{
	struct rh_controller *controller = arg;
	const char *name = controller->options->lease_name;

	switch (state) {
	case RH_LEASE_LEADING:
		rh_log(RH_LOG_INFO, name, "this instance works now");
		break;
	case RH_LEASE_FORBIDDEN:
		rh_log(RH_LOG_ERROR, name,
		       "THERE IS NO LEADER ELECTION: %s; run one instance only, or add to its Role: " CONTROLLER_LEASE_RULE,
		       message);
		break;
	case RH_LEASE_LOST:
		controller_lose(controller, message);
		return;
	case RH_LEASE_RELEASED:
		rh_loop_stop(controller->loop);
		return;
	case RH_LEASE_SEEKING:
	default:
		rh_log(RH_LOG_INFO, name, "another instance works%s%s", *message ? ": " : "", message);
		return;
	}
	if (controller->state == RH_CONTROLLER_STANDBY)
		controller->state = RH_CONTROLLER_WORKING;
}

/* All responses arrived: release the Lease, so that another instance need not wait for its expiry. */
static void controller_release(struct rh_controller *controller, int64_t now)
{
	if (!controller->keeper || controller->state == RH_CONTROLLER_RELEASING) {
		rh_loop_stop(controller->loop);
		return;
	}
	controller->state = RH_CONTROLLER_RELEASING;
	controller->stop_by = now + CONTROLLER_RELEASE;
	rh_lease_keeper_release(controller->keeper);
}

static void controller_end(struct rh_controller *controller, int64_t now)
{
	if (controller->state == RH_CONTROLLER_ENDING && rh_work_is_drained(controller))
		controller_release(controller, now);
	/* requests in flight may still take effect, so another instance must wait for the expiry of the Lease */
	if (controller->state >= RH_CONTROLLER_ENDING && now >= controller->stop_by)
		rh_loop_stop(controller->loop);
}

static void controller_step_clock(void *arg, int64_t now)
{
	controller_watch_clock(arg, now);
}

static int64_t controller_clock_deadline(void *arg)
{
	return ((const struct rh_controller *)arg)->clock + CONTROLLER_SLEEP_MAX;
}

static void controller_step_lease(void *arg, int64_t now)
{
	rh_lease_keeper_step(((const struct rh_controller *)arg)->keeper, now);
}

static int64_t controller_lease_deadline(void *arg)
{
	return rh_lease_keeper_deadline(((const struct rh_controller *)arg)->keeper);
}

/* Between two engines nothing is in flight, so the second one finds all that the first one did. */
static void controller_step_plugins(void *arg, int64_t now)
{
	struct rh_controller *controller = arg;
	struct rh_plugin_set next;

	if (controller->state < RH_CONTROLLER_ENDING &&
	    rh_plugins_step(controller, now, rh_work_is_drained(controller), &next))
		controller_begin_anew(controller, &next);
}

static int64_t controller_plugins_deadline(void *arg)
{
	const struct rh_controller *controller = arg;

	return controller->state < RH_CONTROLLER_ENDING ? rh_plugins_deadline(controller) : RH_NEVER;
}

static void controller_step_end(void *arg, int64_t now)
{
	controller_end(arg, now);
}

static int64_t controller_end_deadline(void *arg)
{
	const struct rh_controller *controller = arg;

	return controller->state >= RH_CONTROLLER_ENDING ? controller->stop_by : RH_NEVER;
}

static int controller_add_sources(struct rh_controller *controller, struct rh_error *err)
{
	const struct rh_loop_source sources[] = {
		{controller_step_clock, controller_clock_deadline, controller, RH_ORDER_CLOCK},
		rh_http_source(controller->http, RH_ORDER_HTTP),
		rh_http_source(controller->watch_http, RH_ORDER_HTTP),
		{controller_step_plugins, controller_plugins_deadline, controller, RH_ORDER_PLUGINS},
		{controller_step_end, controller_end_deadline, controller, RH_ORDER_END},
	};
	const struct rh_loop_source lease = {controller_step_lease, controller_lease_deadline, controller, RH_ORDER_LEASE};
	int r = controller->keeper ? rh_loop_add(controller->loop, &lease, NULL, err) : 0;

	if (r == 0)
		r = rh_loop_add_all(controller->loop, sources, sizeof(sources) / sizeof(sources[0]), err);
	return r < 0 ? r : rh_work_add_sources(controller, err);
}

static int controller_connect(struct rh_controller *controller, struct rh_error *err)
{
	const struct rh_kubeconfig_options where = {.path = controller->options->kubeconfig,
	                                            .context = controller->options->context};
	struct rh_http_options options = {.loop = controller->loop};
	int r = rh_kubeconfig_load(&where, &controller->kubeconfig, err);

	if (r < 0)
		return r;
	options.config = controller->kubeconfig;
	r = rh_http_new(&options, &controller->http, err);
	options.credentials_of = controller->http;
	return r < 0 ? r : rh_http_new(&options, &controller->watch_http, err);
}

static int controller_elect(struct rh_controller *controller, struct rh_error *err)
{
	const struct rh_controller_options *options = controller->options;
	struct rh_lease_keeper_options keeper = {
		.http = controller->http,
		.changed = controller_on_lease,
		.trouble = controller_on_lease_trouble,
		.arg = controller,
	};

	if (!options->elect) {
		controller->state = RH_CONTROLLER_WORKING;
		return 0;
	}
	keeper.lease.name = options->lease_name;
	keeper.lease.namespace_ = options->lease_namespace && *options->lease_namespace
	                              ? options->lease_namespace
	                              : rh_controller_namespace(controller);
	return rh_lease_keeper_new(&keeper, &controller->keeper, err);
}

static int controller_open(struct rh_controller *controller, struct rh_error *err)
{
	int r;

	controller->started_at = rh_clock_monotonic();
	controller->metrics = rh_metrics_new();
	if (!controller->metrics)
		return rh_fail_oom(err);
	r = rh_loop_new(&controller->loop, err);
	if (r == 0)
		r = controller_connect(controller, err);
	if (r == 0)
		r = rh_servers_open(controller, err);
	if (r == 0)
		r = rh_loop_signal(controller->loop, SIGTERM, controller_on_signal, controller, err);
	if (r == 0)
		r = rh_loop_signal(controller->loop, SIGINT, controller_on_signal, controller, err);
	if (r == 0)
		r = rh_loop_signal(controller->loop, SIGHUP, controller_on_hangup, controller, err);
	if (r == 0)
		r = rh_plugins_open(controller, err);
	if (r == 0)
		r = controller_elect(controller, err);
	if (r == 0)
		r = rh_plugins_attach(controller, err);
	if (r == 0)
		r = rh_work_start(controller, err);
	return r < 0 ? r : controller_add_sources(controller, err);
}

/* What was not answered in time must not reach the server later: then another instance works. */
static void controller_close(struct rh_controller *controller)
{
	if (controller->http)
		rh_http_reset(controller->http);
	rh_work_stop(controller);
	rh_lease_keeper_free(controller->keeper);
	rh_servers_close(controller);
	rh_plugins_close(controller);
	rh_http_free(controller->watch_http);
	rh_http_free(controller->http);
	rh_kubeconfig_free(controller->kubeconfig);
	rh_loop_free(controller->loop);
	rh_metrics_free(controller->metrics);
}

int rh_controller_run(const struct rh_controller_options *options, struct rh_error *err)
{
	struct rh_controller controller = {.options = options, .plugins = options->plugins};
	int r;

	(void)mallopt(M_MMAP_THRESHOLD, CONTROLLER_LARGE_BLOCK);
	r = controller_open(&controller, err);

	if (r == 0) {
		rh_log(RH_LOG_INFO, NULL, "roundhouse %s: controller of %s", options->version, controller.kubeconfig->server);
		rh_loop_run(controller.loop);
	}
	controller_close(&controller);
	if (r == 0 && controller.failure.code < 0)
		r = rh_fail(err, controller.failure.code, "%s", controller.failure.message);
	return r;
}

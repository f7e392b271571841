/* SPDX-License-Identifier: Apache-2.0 */
/* What an instance works with: the engine, Kueue and the store, and their sources of the loop. */
#include <malloc.h>

#include "base/log.h"
#include "base/os/clock.h"
#include "config/first_fault.h"
#include "controller/observe.h"
#include "controller/order.h"
#include "controller/parts.h"

/* How long a status waits that differs in counts alone: V1's conditions, and the times of a job, do not. */
#define WORK_PATIENCE (RH_SECOND / 5)
/* How long nothing is decided before what a burst took is given back to the system. */
#define WORK_TRIM (2 * RH_SECOND)

static bool work_serves(void *arg, const struct rh_kind *kind)
{
	const struct rh_controller_options *options = ((const struct rh_controller *)arg)->options;

	return !options->serves || options->serves(options->arg, kind);
}

static void work_on_plan(void *arg, const struct rh_job *job, const struct rh_plan *plan)
{
	rh_observe_plan(((const struct rh_controller *)arg)->metrics, job, plan);
}

static void work_on_change(void *arg, const struct rh_engine_change *change)
{
	const struct rh_controller *controller = arg;

	if (controller->kueue)
		rh_kueue_changed(controller->kueue, change);
	if (change->first && change->after && change->after->created_at < controller->again_at)
		rh_observe_known(change);
	/* only the working instance counts events */
	if (controller->state != RH_CONTROLLER_STANDBY)
		rh_observe_change(controller->metrics, change, controller->wall);
}

static void work_on_gate(void *arg, const struct rh_job *job, struct rh_gate *ret_gate)
{
	rh_kueue_gate(((const struct rh_controller *)arg)->kueue, job, ret_gate);
}

static void work_on_still(void *arg, const struct rh_job *job)
{
	rh_kueue_still(((const struct rh_controller *)arg)->kueue, job);
}

static void work_on_pass(void *arg, const struct rh_kind *kind, int64_t waited)
{
	static const char *const queue[] = {"jobs"};
	struct rh_controller *controller = arg;
	const char *const labels[] = {kind->controller};
	int64_t now = rh_clock_monotonic();

	if (waited < 0) {
		rh_metrics_add(controller->metrics, RH_METRIC_RECONCILES, labels, 1);
		rh_metrics_observe(controller->metrics, RH_METRIC_RECONCILE_TIME, labels,
		                   (double)(now - controller->pass_at) / 1e6);
		return;
	}
	controller->pass_at = now;
	controller->active_at = now;
	rh_metrics_observe(controller->metrics, RH_METRIC_QUEUE_TIME, queue,
	                   (double)(waited + now - controller->step_at) / 1e6);
}

static void work_on_call(void *arg, const struct rh_kube_call *call)
{
	struct rh_controller *controller = arg;

	controller->active_at = rh_clock_monotonic(); /* Events are sent when everything is decided */
	rh_observe_call(controller->metrics, call);
}

static void work_on_problem(void *arg, const struct rh_kube_problem *problem)
{
	struct rh_controller *controller = arg;

	rh_observe_problem(controller->metrics, problem);
	controller->problems.kubeconfig = controller->kubeconfig;
	rh_problems_report(&controller->problems, controller->plugins.host, problem);
	/* other problems are the server's, and pass */
	if (controller->kueue && (problem->status == 200 || problem->status == 403 || problem->status == 404))
		rh_kueue_problem(controller->kueue, problem->resource, problem->status == 200 ? NULL : problem->message);
}

/*
 * The turn of the loop begins with the Lease; but the process may be stopped at any later moment of it, and go on when
 * another instance works. So each write is asked for once more when it is sent.
 */
static bool work_may_write(void *arg)
{
	const struct rh_controller *controller = arg;

	return !controller->keeper || rh_lease_works(rh_lease_keeper_lease(controller->keeper), rh_clock_monotonic());
}

void rh_work_stop(struct rh_controller *controller)
{
	rh_engine_free(rh_take(controller->engine));
	rh_kueue_free(rh_take(controller->kueue));
	rh_kube_store_free(rh_take(controller->store));
	rh_problems_deinit(&controller->problems);
}

int rh_work_start(struct rh_controller *controller, struct rh_error *err)
{
	const struct rh_controller_options *options = controller->options;
	const struct rh_kube_store_options store = {
		.http = controller->http,
		.watch_http = controller->watch_http,
		.namespace_ = options->namespace_ && *options->namespace_ ? options->namespace_ : NULL,
		.qps = options->qps,
		.burst = options->burst,
		.problem = work_on_problem,
		.observe = work_on_call,
		.may_write = work_may_write,
		.arg = controller,
	};
	struct rh_engine_options engine = {
		.host = controller->plugins.host,
		.concurrent = true,
		.gang = &controller->plugins.config->gang,
		.observe = work_on_plan,
		.serves = work_serves,
		.changed = work_on_change,
		.pass = work_on_pass,
		.steps = &controller->steps,
		.arg = controller,
		.patience = WORK_PATIENCE,
		.reads_logs = rh_config_fault_source(controller->plugins.config) == RH_FAULT_LOGS,
	};
	int r = rh_kube_store_new(&store, &controller->store, err);

	if (r < 0)
		return r;
	engine.store = rh_kube_store_face(controller->store);
	if (options->kueue) {
		r = rh_kueue_new(controller->plugins.host, engine.store, &controller->kueue, err);
		engine.gate = work_on_gate;
		engine.still = work_on_still;
	}
	if (r == 0)
		r = rh_engine_new(&engine, &controller->engine, err);
	if (r == 0 && controller->kueue)
		rh_kueue_set_engine(controller->kueue, controller->engine);
	return r;
}

bool rh_work_is_drained(const struct rh_controller *controller)
{
	struct rh_kube_store_load load;

	if (!controller->store)
		return true;
	rh_kube_store_load(controller->store, &load);
	return load.in_flight + load.waiting == 0;
}

static void work_watch_ready(struct rh_controller *controller)
{
	struct rh_engine_load load;

	if ((controller->ready && controller->again_at == 0) || !controller->engine)
		return;
	rh_engine_load(controller->engine, &load);
	if (load.unsynced > 0)
		return;
	controller->again_at = 0;
	if (controller->ready)
		return;
	controller->ready = true;
	rh_log(RH_LOG_INFO, NULL, "ready after %lld ms: %zu jobs",
	       (long long)((rh_clock_monotonic() - controller->started_at) / 1000), load.jobs);
}

/* While plugins are exchanged, and on an instance that stands by or ends, nothing is decided. */
static bool work_decides(const struct rh_controller *controller)
{
	return controller->state == RH_CONTROLLER_WORKING && !rh_plugins_wait(controller);
}

/* @return a time of the wall clock as one of the monotonic clock */
static int64_t work_monotonic(const struct rh_controller *controller, int64_t wall)
{
	return wall == RH_NEVER ? RH_NEVER : wall - controller->wall + controller->clock;
}

static void work_step_engine(void *arg, int64_t now)
{
	struct rh_controller *controller = arg;

	(void)now; /* jobs have wall-clock times */
	if (work_decides(controller)) {
		controller->step_at = rh_clock_monotonic();
		rh_engine_step(controller->engine, controller->wall);
	}
	work_watch_ready(controller);
}

static int64_t work_engine_deadline(void *arg)
{
	const struct rh_controller *controller = arg;

	return work_decides(controller) ? work_monotonic(controller, rh_engine_deadline(controller->engine)) : RH_NEVER;
}

static void work_step_kueue(void *arg, int64_t now)
{
	const struct rh_controller *controller = arg;

	(void)now;
	if (controller->kueue && work_decides(controller))
		rh_kueue_step(controller->kueue, controller->wall);
}

static int64_t work_kueue_deadline(void *arg)
{
	const struct rh_controller *controller = arg;

	return controller->kueue && work_decides(controller)
	           ? work_monotonic(controller, rh_kueue_deadline(controller->kueue))
	           : RH_NEVER;
}

static void work_step_store(void *arg, int64_t now)
{
	rh_kube_store_step(((const struct rh_controller *)arg)->store, now);
}

static int64_t work_store_deadline(void *arg)
{
	return rh_kube_store_deadline(((const struct rh_controller *)arg)->store);
}

/* A burst fragments the heap: return free memory to the system. */
static void work_step_memory(void *arg, int64_t now)
{
	struct rh_controller *controller = arg;

	if (controller->active_at == 0 || now - controller->active_at < WORK_TRIM)
		return;
	controller->active_at = 0;
	rh_engine_rest(controller->engine);
	(void)malloc_trim(0);
}

static int64_t work_memory_deadline(void *arg)
{
	const struct rh_controller *controller = arg;

	return controller->active_at == 0 ? RH_NEVER : controller->active_at + WORK_TRIM;
}

int rh_work_add_sources(struct rh_controller *controller, struct rh_error *err)
{
	const struct rh_loop_source sources[] = {
		{work_step_engine, work_engine_deadline, controller, RH_ORDER_ENGINE},
		{work_step_kueue, work_kueue_deadline, controller, RH_ORDER_KUEUE},
		{work_step_store, work_store_deadline, controller, RH_ORDER_STORE},
		{work_step_memory, work_memory_deadline, controller, RH_ORDER_MEMORY},
	};

	return rh_loop_add_all(controller->loop, sources, sizeof(sources) / sizeof(sources[0]), err);
}

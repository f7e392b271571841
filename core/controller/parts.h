/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/parts.h
 * @brief State of the controller, shared by its files; for core/controller/ alone.
 */
#ifndef RH_CONTROLLER_PARTS_H
#define RH_CONTROLLER_PARTS_H

#include "base/json.h"
#include "base/map.h"
#include "base/os/clock_steps.h"
#include "base/os/loop.h"
#include "controller/certificate/rotation.h"
#include "controller/controller.h"
#include "controller/http/webhook.h"
#include "controller/metrics.h"
#include "controller/problems.h"
#include "controller/reload.h"
#include "engine/engine.h"
#include "httpd/httpd.h"
#include "kube/http/http.h"
#include "kube/kubeconfig/kubeconfig.h"
#include "kube/lease/keeper.h"
#include "kube/store/store.h"
#include "kueue/kueue.h"

/** State of the controller. */
enum rh_controller_state {
	RH_CONTROLLER_STANDBY, /**< another instance works */
	RH_CONTROLLER_WORKING,
	RH_CONTROLLER_ENDING,   /**< after a signal: requests in flight finish */
	RH_CONTROLLER_RELEASING /**< afterwards: the Lease is released */
};

/** Server of the webhooks. */
struct rh_webhook_server {
	struct rh_httpd *httpd;       /**< NULL: not open */
	struct rh_rotation *rotation; /**< NULL: no folder is configured */
	char *certificate;            /**< of a server that could not be opened yet, PEM; owned; NULL: none */
	char *key;                    /**< with certificate */
	struct rh_error problem;      /**< why it could not be opened; code 0: no attempt failed */
	int64_t open_at;              /**< monotonic microseconds of the next attempt */
	int64_t wait;                 /**< microseconds between the last attempts; 0: none failed */
	bool held;                    /**< the certificate is that of the Secret; the files are only its copy */
	uint64_t hash;                /**< of certificate and key last read from the files */
	bool refused;                 /**< that certificate and key do not match */
	int64_t look_at; /**< monotonic microseconds of the next check of the files; RH_NEVER without a folder */
};

/** The controller. */
struct rh_controller {
	const struct rh_controller_options *options;
	struct rh_plugin_set plugins;          /**< that work now */
	struct rh_reload *reload;              /**< NULL: they stay */
	struct rh_host_attachment *attachment; /**< sources of the plugins' processes; NULL: none */
	int64_t drain_by; /**< monotonic microseconds, limit of the wait before an exchange; 0: none is due */
	int64_t again_at; /**< wall clock when the engine was replaced: it finds what was counted before; 0: there is
	                     nothing more to find */
	struct rh_loop *loop;
	struct rh_metrics *metrics;
	struct rh_kubeconfig *kubeconfig;
	struct rh_http *http;
	struct rh_http *watch_http;     /* watches have their own connections, so that a busy server does not delay them */
	struct rh_lease_keeper *keeper; /**< NULL: no election */
	struct rh_kube_store *store;
	struct rh_engine *engine; /**< tracks all jobs while another instance leads, to take over at once */
	struct rh_kueue *kueue;   /**< NULL: it is off */
	struct rh_httpd *metrics_server;
	struct rh_httpd *health_server;
	struct rh_webhook webhook;
	struct rh_webhook_server webhook_server;
	struct rh_problems problems;
	enum rh_controller_state state;
	bool ready;                  /**< it has been ready */
	int64_t started_at;          /**< monotonic microseconds */
	int64_t stop_by;             /**< likewise, limit of the state RH_CONTROLLER_ENDING */
	int64_t wall;                /**< wall clock of the last turn, microseconds */
	int64_t clock;               /**< monotonic clock of the last turn */
	struct rh_clock_steps steps; /**< changes of the wall clock since the start */
	int64_t active_at;       /**< time of the last decision or response, monotonic; 0: free memory was returned since */
	int64_t step_at;         /**< when the engine's step began, monotonic */
	int64_t pass_at;         /**< when the present decision began */
	struct rh_error failure; /**< why the controller ends; code 0: no failure */
};

/** @name work.c @{ */
/** Create the store, the engine and, where it is on, Kueue. @return 0 or RH_ENOMEM; rh_work_stop() in any case */
int rh_work_start(struct rh_controller *controller, struct rh_error *err);
/** Free them. */
void rh_work_stop(struct rh_controller *controller);
/**
 * Register them with the loop, once: what rh_work_start() creates later in place of them is stepped, too.
 * @return 0 or RH_ENOMEM
 */
int rh_work_add_sources(struct rh_controller *controller, struct rh_error *err);
/** @return whether no request is in flight or waits */
bool rh_work_is_drained(const struct rh_controller *controller);
/** @} */

/** @name servers.c @{ */
/** Open the servers for metrics, health and webhooks, and register them with the loop. @return 0 or a negative status
 */
int rh_servers_open(struct rh_controller *controller, struct rh_error *err);
/** Close the servers. */
void rh_servers_close(struct rh_controller *controller);
/** Check the validity of the certificate at once, after a change of the wall clock. */
void rh_servers_clock_set(struct rh_controller *controller);
/** @} */

/** @name plugins.c @{ */
/** Begin to look for changes of the plugins, where they can be exchanged. @return 0 or RH_ENOMEM */
int rh_plugins_open(struct rh_controller *controller, struct rh_error *err);
/** Register the plugins' processes with the loop; after each exchange anew. @return 0, RH_ENOMEM or RH_EIO */
int rh_plugins_attach(struct rh_controller *controller, struct rh_error *err);
/** End that, and free the plugins where they are not those of the start; after the engine. */
void rh_plugins_close(struct rh_controller *controller);
/** Try what is installed, or log why that cannot be done. */
void rh_plugins_request(struct rh_controller *controller);
/** @return whether an exchange waits for requests in flight, so that nothing may be decided */
bool rh_plugins_wait(const struct rh_controller *controller);
/**
 * Look for changes. @param drained whether no request is in flight. @param[out] ret_next the plugins that are to be
 * used from now on: the caller ends the engine, calls rh_plugins_exchange(), and starts one
 * @return whether there are such plugins; a set that is refused is logged and counted
 */
bool rh_plugins_step(struct rh_controller *controller, int64_t now, bool drained, struct rh_plugin_set *ret_next);
/** Put the plugins of @p next (taken) in place of those that work now, which are unloaded. */
void rh_plugins_exchange(struct rh_controller *controller, const struct rh_plugin_set *next);
/** @return when the next step is due, monotonic microseconds */
int64_t rh_plugins_deadline(const struct rh_controller *controller);
/** @} */

/** @name state.c @{ */
/** @return the controller's own namespace, for its Lease and its Secret; borrowed */
const char *rh_controller_namespace(const struct rh_controller *controller);
/** @return the document of /debug/state, owned by the caller; NULL: out of memory */
struct rh_json *rh_controller_show(const struct rh_controller *controller);
/** Set the gauges that are read at the moment of a scrape. */
void rh_controller_measure(const struct rh_controller *controller);
/** @return whether the webhooks are configured but not served yet */
bool rh_controller_webhooks_pending(const struct rh_controller *controller);
/** @return the state of /readyz: the controller works, or is ready to take over */
bool rh_controller_is_ready(const struct rh_controller *controller);
/** @} */

#endif

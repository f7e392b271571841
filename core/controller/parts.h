/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/parts.h
 * @brief What the files of the controller share; for core/controller/ alone.
 */
#ifndef RH_CONTROLLER_PARTS_H
#define RH_CONTROLLER_PARTS_H

#include "base/json.h"
#include "base/map.h"
#include "base/os/clock_steps.h"
#include "base/os/loop.h"
#include "controller/certificate/rotation.h"
#include "controller/controller.h"
#include "controller/http/httpd.h"
#include "controller/http/webhook.h"
#include "controller/metrics.h"
#include "engine/engine.h"
#include "kube/http/http.h"
#include "kube/kubeconfig/kubeconfig.h"
#include "kube/lease/keeper.h"
#include "kube/store/store.h"

/** How far the controller is. */
enum rh_controller_state {
	RH_CONTROLLER_STANDBY, /**< another instance works */
	RH_CONTROLLER_WORKING,
	RH_CONTROLLER_ENDING,   /**< a signal came: requests in flight are finished */
	RH_CONTROLLER_RELEASING /**< then the Lease is given back */
};

/** A watch that does not work. Texts are owned. */
struct rh_problem {
	char *resource;
	char *verb;
	char *namespace_;
	char *words;
	int32_t status;
};

/** What does not work now. All zero is nothing. */
struct rh_problems {
	const struct rh_kubeconfig *kubeconfig; /**< who asks; borrowed; NULL: nothing is known of that */
	struct rh_map *items;                   /**< "verb resource" to struct rh_problem; NULL until there is one */
};

/** Where the webhooks are served. */
struct rh_webhook_server {
	struct rh_httpd *httpd;       /**< NULL: not yet, or not at all */
	struct rh_rotation *rotation; /**< NULL: there is no folder */
	char *certificate;            /**< of a server that could not be opened yet, PEM; owned; NULL: none */
	char *key;                    /**< with certificate */
	struct rh_error problem;      /**< why it could not be opened; code 0: nothing is known */
	int64_t open_at;              /**< monotonic microseconds of the next try */
	int64_t wait;                 /**< microseconds between the last tries; 0: there was none in vain */
	bool held;                    /**< the certificate is the one of the Secret: the files only follow it */
	uint64_t hash;                /**< of certificate and key that were read from the files last */
	bool refused;                 /**< those two: they do not belong together */
	int64_t look_at; /**< monotonic microseconds when to look at the files again; RH_NEVER without a folder */
};

/** The controller. */
struct rh_controller {
	const struct rh_controller_options *options;
	struct rh_loop *loop;
	struct rh_metrics *metrics;
	struct rh_kubeconfig *kubeconfig;
	struct rh_http *http;
	struct rh_http *watch_http;     /* a busy server writes one connection's answers in turn: watches have their own */
	struct rh_lease_keeper *keeper; /**< NULL: there is no election */
	struct rh_kube_store *store;
	struct rh_engine *engine; /**< knows all jobs also while another instance works, so that it can take over at once */
	struct rh_httpd *metrics_server;
	struct rh_httpd *health_server;
	struct rh_webhook webhook;
	struct rh_webhook_server webhook_server;
	struct rh_problems problems;
	enum rh_controller_state state;
	bool ready;                  /**< it was ready once */
	int64_t started_at;          /**< monotonic microseconds */
	int64_t stop_by;             /**< likewise, while it ends */
	int64_t wall;                /**< wall clock of the last turn, microseconds */
	int64_t clock;               /**< monotonic clock of the last turn */
	struct rh_clock_steps steps; /**< how the wall clock was set since the start */
	int64_t active_at; /**< when something was decided or answered last, monotonic; 0: the memory that it took was given
	                      back */
	int64_t step_at;   /**< when the engine's step began, monotonic */
	int64_t pass_at;   /**< when the decision under way began */
	struct rh_error failure; /**< why it ends, with a code; else code 0 */
};

/** @name problems.c @{ */
/** Tell of a watch: log it, with the cure, keep it until it is over. @param host knows which kind a resource is */
void rh_problems_report(struct rh_problems *problems, const struct rh_host *host,
                        const struct rh_kube_problem *problem);
/** Append the problems to @p list, an array. @return 0 or RH_ENOMEM */
int rh_problems_json(const struct rh_problems *problems, struct rh_json *list);
/** Print what is to be done about a problem, "" when nothing is known. */
void rh_problem_hint(const struct rh_problems *problems, const struct rh_host *host,
                     const struct rh_kube_problem *problem, struct rh_str *out);
/** Free them all. */
void rh_problems_deinit(struct rh_problems *problems);
/** @} */

/** @name servers.c @{ */
/** Open the servers for metrics, health and webhooks. @return 0 or a negative status */
int rh_servers_open(struct rh_controller *controller, struct rh_error *err);
/** Close them. */
void rh_servers_close(struct rh_controller *controller);
/** Do what is due. @return microseconds until it is to be called again; RH_NEVER */
int64_t rh_servers_turn(struct rh_controller *controller, int64_t now);
/** The wall clock was set: look at once whether the certificate is still good. */
void rh_servers_clock_set(struct rh_controller *controller);
/** @return whether a webhook is to be served that is not served yet */
bool rh_servers_pending(const struct rh_controller *controller);
/** @} */

/** @return the namespace that the controller itself lives in, for its Lease and its Secret; borrowed */
const char *rh_controller_namespace(const struct rh_controller *controller);
/** @return what /debug/state shows, owned by the caller; NULL when memory is out */
struct rh_json *rh_controller_show(const struct rh_controller *controller);
/** Set the gauges that are read at the moment of a scrape. */
void rh_controller_measure(const struct rh_controller *controller);
/** @return whether the controller does its work, or waits for its turn: what /readyz says */
bool rh_controller_is_ready(const struct rh_controller *controller);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/controller.h
 * @brief The controller: engine, store, client, servers and leader election on one loop.
 */
#ifndef RH_CONTROLLER_CONTROLLER_H
#define RH_CONTROLLER_CONTROLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "config/config.h"
#include "host/host.h"

/** Plugins, with the configuration that they were loaded by. */
struct rh_plugin_set {
	const struct rh_config *config;
	struct rh_host *host;
	void *owner; /**< for unload() */
};

/** How plugins are loaded anew while the controller works (controller/reload.h). */
struct rh_plugin_source {
	char *const *trial; /**< argv of a program that loads what is installed, and ends with 0 or prints why not */
	/** Load what is installed, which the trial has loaded a moment ago. @return 0 or a negative status */
	int (*load)(void *arg, struct rh_plugin_set *ret_set, struct rh_error *err);
	/** Free what load() returned, or the set that the controller started with. */
	void (*unload)(void *arg, const struct rh_plugin_set *set);
	void *arg;
	const char *fixed; /**< why it cannot be done, for the log; NULL: it can */
};

/** Options of a controller. Borrowed while it runs. Addresses: see rh_endpoint_parse(); "" or "0": no server.
 */
struct rh_controller_options {
	struct rh_plugin_set plugins;   /**< to start with */
	struct rh_plugin_source source; /**< of later ones */
	const char *version;            /**< of this program */
	const char *kubeconfig;         /**< file; NULL: default places (kube/kubeconfig/kubeconfig.h) */
	const char *context;            /**< NULL: the file's own */
	const char *namespace_;         /**< NULL or "": all namespaces */
	bool (*serves)(void *arg, const struct rh_kind *kind); /**< NULL: every kind of the host */
	void *arg;                                             /**< of serves */
	const char *metrics_address;                           /**< /metrics */
	const char *health_address;                            /**< /healthz, /readyz, /debug/state */
	const char *webhook_address;                           /**< the validating webhooks, if there is a certificate */
	const char *webhook_dir;                               /**< folder with tls.crt and tls.key; missing: no webhooks */
	const char *webhook_secret;                            /**< Secret with V1's certificate, in the pod's namespace */
	const char *webhook_service;                           /**< Service that the certificate is for */
	bool kueue;                                            /**< queue jobs by Kueue */
	bool elect;                                            /**< work only while holding the Lease */
	const char *lease_name;                                /**< with elect */
	const char *lease_namespace;                           /**< NULL: own_namespace */
	const char *own_namespace; /**< of the pod; NULL: the service account's, or the context's */
	double qps;                /**< limit of write requests per second; 0: none, only the adaptive window limits */
	int32_t burst;             /**< with qps */
};

/**
 * Run until SIGTERM or SIGINT. Blocks. SIGHUP loads the plugins anew. The others let requests in flight finish, within
 * a time limit, and release the Lease; a second one ends the function at once.
 * @return 0 after a signal; RH_EINVAL (kubeconfig, addresses), RH_EIO, RH_ENOMEM, or RH_EAGAIN: the Lease was lost,
 * restart the program
 */
int rh_controller_run(const struct rh_controller_options *options, struct rh_error *err);

#endif

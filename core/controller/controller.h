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
#include "config/gang.h"
#include "host/host.h"

/** Options of a controller. Borrowed while it runs. Addresses: see rh_endpoint_parse(); "" or "0": no server.
 */
struct rh_controller_options {
	struct rh_host *host;
	const struct rh_gang *gang; /**< the gang scheduler; NULL: none */
	const char *version;        /**< of this program */
	const char *kubeconfig;     /**< file; NULL: default places (kube/kubeconfig/kubeconfig.h) */
	const char *context;        /**< NULL: the file's own */
	const char *namespace_;     /**< NULL or "": all namespaces */
	bool (*serves)(void *arg, const struct rh_kind *kind); /**< NULL: every kind of the host */
	void *arg;                                             /**< of serves */
	const char *metrics_address;                           /**< /metrics */
	const char *health_address;                            /**< /healthz, /readyz, /debug/state */
	const char *webhook_address;                           /**< the validating webhooks, if there is a certificate */
	const char *webhook_dir;                               /**< folder with tls.crt and tls.key; missing: no webhooks */
	const char *webhook_secret;                            /**< Secret with V1's certificate, in the pod's namespace */
	const char *webhook_service;                           /**< Service that the certificate is for */
	bool elect;                                            /**< work only while holding the Lease */
	const char *lease_name;                                /**< with elect */
	const char *lease_namespace;                           /**< NULL: own_namespace */
	const char *own_namespace; /**< of the pod; NULL: the service account's, or the context's */
	double qps;                /**< limit of write requests per second; 0: none, only the adaptive window limits */
	int32_t burst;             /**< with qps */
};

/**
 * Run until SIGTERM or SIGINT. Blocks. A signal lets requests in flight finish, within a time limit, and releases the
 * Lease; a second signal ends the function at once.
 * @return 0 after a signal; RH_EINVAL (kubeconfig, addresses), RH_EIO, RH_ENOMEM, or RH_EAGAIN: the Lease was lost,
 * restart the program
 */
int rh_controller_run(const struct rh_controller_options *options, struct rh_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/order.h
 * @brief The order in which sources of the controller's loop are stepped in each turn. For core/controller alone.
 */
#ifndef RH_CONTROLLER_ORDER_H
#define RH_CONTROLLER_ORDER_H

/**
 * Values of rh_loop_source.order. The Lease precedes all requests: an instance that was suspended beyond the end of its
 * Lease must not send pending writes. Answers of servers and plugins precede the engine, and the store follows engine
 * and Kueue, so what comes in leads to requests in the same turn. The end is last, so that it sees what is in flight.
 */
enum rh_controller_order {
	RH_ORDER_CLOCK,             /**< controller.c: whether the wall clock was set */
	RH_ORDER_LEASE,             /**< controller.c: the election */
	RH_ORDER_HTTP,              /**< kube/http: requests, then watches */
	RH_ORDER_HOST,              /**< host/attach: worker processes of plugins */
	RH_ORDER_ENGINE,            /**< work.c: decisions */
	RH_ORDER_KUEUE,             /**< work.c: Workloads, of jobs as the engine knows them now */
	RH_ORDER_STORE,             /**< work.c: requests of engine and Kueue are sent */
	RH_ORDER_CERTIFICATE,       /**< certificate/rotation, after its watches */
	RH_ORDER_CERTIFICATE_FILES, /**< servers.c: files of a certificate, where the Secret has none */
	RH_ORDER_WEBHOOK,           /**< servers.c: the port of the webhooks, once there is a certificate */
	RH_ORDER_SERVERS,           /**< httpd: metrics, health, webhooks */
	RH_ORDER_MEMORY,            /**< work.c: free memory is returned to the system */
	RH_ORDER_PLUGINS,           /**< plugins.c: the exchange of plugins, which replaces engine and store */
	RH_ORDER_END                /**< controller.c: the end */
};

#endif

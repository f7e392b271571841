/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/call/view.h
 * @brief What stands behind struct rh_view of one call of a plugin, and the services that read it.
 *
 * Private to the host: a plugin sees only pointers.
 */
#ifndef RH_HOST_CALL_VIEW_H
#define RH_HOST_CALL_VIEW_H

#include <stdint.h>

#include "base/json.h"
#include "config/config.h"
#include "host/call/arena.h"
#include "host/operations.h"
#include "roundhouse/plugin.h"

/** The plugin's setting with the cluster's domain, for rh_kind.host_name. */
#define RH_VIEW_DOMAIN "cluster-domain"

/** One job at one moment. All borrowed for the call. */
struct rh_view {
	const struct rh_snapshot *snapshot;
	const struct rh_config *config;
	const char *section;       /**< the plugin's section of the configuration: "plugin pytorch" */
	struct rh_arena *texts;    /**< holds what text services return */
	struct rh_json_spot *spot; /**< in the job, which no call changes; NULL: none */
};

/** @name Services that read (view.c); they are documented in struct rh_services. @{ */
/** @see rh_services.text @return see there */
const char *rh_view_text(const struct rh_view *view, const char *path);
/** @see rh_services.integer @return see there */
int32_t rh_view_integer(const struct rh_view *view, const char *path, int64_t *ret_value);
/** @see rh_services.boolean @return see there */
int32_t rh_view_boolean(const struct rh_view *view, const char *path);
/** @see rh_services.size @return see there */
int32_t rh_view_size(const struct rh_view *view, const char *path);
/** @see rh_services.json @return see there */
const char *rh_view_json(const struct rh_view *view, const char *path);
/** @see rh_services.quote @return see there */
const char *rh_view_quote(const struct rh_view *view, const char *text);
/** @see rh_services.setting @return see there */
const char *rh_view_setting(const struct rh_view *view, const char *key);
/** @see rh_services.replicas @return see there */
int32_t rh_view_replicas(const struct rh_view *view, const char *type);
/** @see rh_services.restart_policy @return see there */
const char *rh_view_restart_policy(const struct rh_view *view, const char *type);
/** @see rh_services.host @return see there */
const char *rh_view_host(const struct rh_view *view, const char *type, int32_t index);
/** @see rh_services.port @return see there */
int32_t rh_view_port(const struct rh_view *view, const char *type, int32_t index);
/** @see rh_services.state @return see there */
uint32_t rh_view_state(const struct rh_view *view);
/** @see rh_services.attempt @return see there */
int32_t rh_view_attempt(const struct rh_view *view);
/** @see rh_services.counts @return see there */
int32_t rh_view_counts(const struct rh_view *view, const char *type, struct rh_counts *ret_counts);
/** @see rh_services.replica @return see there */
int32_t rh_view_replica(const struct rh_view *view, const char *type, int32_t index,
                        struct rh_replica_state *ret_state);
/** @see rh_services.condition @return see there */
int32_t rh_view_condition(const struct rh_view *view, const char *type);
/** @see rh_services.type @return see there */
const char *rh_view_type(const struct rh_view *view, uint32_t place);
/** @see rh_services.pod_name */
const char *rh_view_pod_name(const struct rh_view *view, const char *type, int32_t index);
/** @see rh_services.key @return see there */
const char *rh_view_key(const struct rh_view *view, const char *path, uint32_t place);
/** @see rh_services.member @return see there */
const char *rh_view_member(const struct rh_view *view, const char *path, const char *key);
/** @see rh_services.gang @return see there */
const char *rh_view_gang(const struct rh_view *view);
/** @see rh_services.lookup @return see there */
int32_t rh_view_lookup(const struct rh_view *view, const char *name);
/** @} */

#endif

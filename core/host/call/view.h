/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/call/view.h
 * @brief What stands behind the opaque types of one call of a plugin, and the tables of services that work on them.
 *
 * Private to the host: a plugin sees only pointers.
 */
#ifndef RH_HOST_CALL_VIEW_H
#define RH_HOST_CALL_VIEW_H

#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "config/config.h"
#include "host/call/arena.h"
#include "host/host.h"
#include "job/rules/findings.h"
#include "roundhouse/plugin.h"

/** @name Most that a plugin may answer in one call; docs/plugin-abi.md says so, too. @{ */
#define RH_ANSWER_BYTES_MAX \
	((size_t)4 << 20)                    /**< of all texts that it hands to services, RH_ANSWER_TEXT_COST included */
#define RH_ANSWER_TEXT_COST ((size_t)64) /**< bytes that each service counts beside its texts */
#define RH_ANSWER_OBJECTS_MAX ((size_t)1000) /**< objects of objects() */
/** @} */

/** Most bytes of JSON that one judge() writes to status: it is written, and read, with every change of the job. */
#define RH_ANSWER_STATUS_MAX ((size_t)64 << 10)

/** Most objects of one answer that are made once: the ledger of the job names each. */
#define RH_ANSWER_ONCE_MAX ((size_t)32)

/** The plugin's setting with the cluster's domain, for rh_kind.host_name. */
#define RH_VIEW_DOMAIN "cluster-domain"

/** What a plugin is asked to do: which services of struct rh_reply it may use. */
enum rh_operation {
	RH_OPERATION_INIT,
	RH_OPERATION_VALIDATE,
	RH_OPERATION_POD,
	RH_OPERATION_OBJECTS,
	RH_OPERATION_JUDGE,
	RH_OPERATION_MAKE,
	RH_OPERATION_EXPAND
};

/** One job at one moment. All borrowed for the call. */
struct rh_view {
	const struct rh_snapshot *snapshot;
	const struct rh_config *config;
	const char *section;       /**< the plugin's section of the configuration: "plugin pytorch" */
	struct rh_arena *texts;    /**< holds what text services return */
	struct rh_json_spot *spot; /**< in the job, which no call changes; NULL: none */
};

/** The answer of one call, as it is gathered. All borrowed for the call but what the error holds. */
struct rh_reply {
	enum rh_operation operation;
	const char *plugin;             /**< name, for messages */
	const char *object;             /**< "PyTorchJob default/mnist", for log lines; NULL in init() */
	struct rh_findings *findings;   /**< for validate() and expand() */
	struct rh_json *pod;            /**< for pod() */
	struct rh_json *objects;        /**< for objects() and make(): an array */
	struct rh_judgement *judgement; /**< for judge() */
	struct rh_str *notes;           /**< for init(): gets its notes, see rh_hello_put(); NULL: they are logged alone */
	const struct rh_job *job;       /**< for judge() and expand() */
	struct rh_expansion *expansion; /**< of expand(): owned by whoever made the reply; NULL: none was given */
	const struct rh_lookups *lookups; /**< for refuse(); NULL: none */
	size_t bytes;                     /**< of the answer so far, see RH_ANSWER_BYTES_MAX */
	int status;                       /**< the first error of a service, or what fail() was given; sticky */
	struct rh_error error;            /**< its words */
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

/** @name Services that answer (reply.c); they are documented in struct rh_services. @{ */
/** @see rh_services.fail @return see there */
int32_t rh_reply_fail(struct rh_reply *reply, int32_t code, const char *text);
/** @see rh_services.note @return see there */
int32_t rh_reply_note(struct rh_reply *reply, int32_t level, const char *text);
/** @see rh_services.refuse @return see there */
int32_t rh_reply_refuse(struct rh_reply *reply, const char *path, const char *detail);
/** @see rh_services.env @return see there */
int32_t rh_reply_env(struct rh_reply *reply, const char *container, const char *name, const char *value);
/** @see rh_services.edit @return see there */
int32_t rh_reply_edit(struct rh_reply *reply, const char *path, const char *json);
/** @see rh_services.object @return see there */
int32_t rh_reply_object(struct rh_reply *reply, const char *json);
/** @see rh_services.object_with @return see there */
int32_t rh_reply_object_with(struct rh_reply *reply, const char *json, const struct rh_object_options *options);
/** @see rh_services.restart @return see there */
int32_t rh_reply_restart(struct rh_reply *reply, const char *type, int32_t index, uint32_t flags, const char *token,
                         const char *message);
/** @see rh_services.hold @return see there */
int32_t rh_reply_hold(struct rh_reply *reply, const char *type, int32_t index, const char *reason);
/** @see rh_services.verdict @return see there */
int32_t rh_reply_verdict(struct rh_reply *reply, int32_t verdict, const char *type, const char *message);
/** @see rh_services.conclude @return see there */
int32_t rh_reply_conclude(struct rh_reply *reply, int32_t verdict, const char *type, const char *reason,
                          const char *message);
/** @see rh_services.status @return see there */
int32_t rh_reply_status(struct rh_reply *reply, const char *field, const char *json);
/** @see rh_services.expansion @return see there */
int32_t rh_reply_expansion(struct rh_reply *reply, const char *json);
/** @} */

/** @return the table of all services; static storage */
const struct rh_services *rh_services_table(void);

/**
 * Set what stands at @p path below @p root to @p value (taken, also on error); missing maps and lists are made on the
 * way, "[+]" appends.
 * @return 0, RH_ENOMEM, or RH_EPLUGIN when the path is not well formed or meets a value of another type
 */
int rh_edit(struct rh_json *root, const char *path, struct rh_json *value, struct rh_error *err);

#endif

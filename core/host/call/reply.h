/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/call/reply.h
 * @brief What stands behind struct rh_reply of one call of a plugin, and the services that answer.
 *
 * Private to the host: a plugin sees only pointers.
 */
#ifndef RH_HOST_CALL_REPLY_H
#define RH_HOST_CALL_REPLY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "host/operations.h"
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

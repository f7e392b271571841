/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/worker/worker.h
 * @brief The worker process of one plugin file, kept alive: what it describes, what it is asked, how it is restarted.
 */
#ifndef RH_HOST_WORKER_WORKER_H
#define RH_HOST_WORKER_WORKER_H

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "config/config.h"
#include "host/call/view.h"
#include "host/registry.h"
#include "host/worker/hello.h"

/** Most pods that one request asks for. */
#define RH_WORKER_BATCH 64
/** How often a plugin may fail at a job before the job is set aside. */
#define RH_WORKER_TRIES 3

/** Opaque. */
struct rh_worker;

/** One operation. All borrowed. */
struct rh_ask {
	enum rh_operation operation;
	const char *name;                   /**< of the operation, for messages: "pod()" */
	const char *object;                 /**< likewise: "PyTorchJob default/mnist" */
	const struct rh_slot *slot;         /**< of the plugin */
	const struct rh_snapshot *snapshot; /**< the job */
	const struct rh_json *pod;          /**< for pod(): its body so far */
	const char *type;                   /**< for pod() */
	int32_t index;                      /**< for pod(): the first one */
	int32_t count;                      /**< for pod(): how many from there on */
	const struct rh_made *made;         /**< for make() */
};

/** @param config borrowed for the life of the worker. @return NULL when memory is out */
struct rh_worker *rh_worker_new(const struct rh_config *config, const char *path);
/** Dismiss the process, if there is one; its fini() runs until rh_worker_free(). */
void rh_worker_dismiss(struct rh_worker *worker);
/** End the process and free it. NULL is nothing. */
void rh_worker_free(struct rh_worker *worker);
/** End the process; what it described stays. */
void rh_worker_stop(struct rh_worker *worker);
/** Start the process; rh_worker_describe() waits for it. @return 0, RH_ENOMEM or RH_EIO */
int rh_worker_start(struct rh_worker *worker, struct rh_error *err);
/**
 * Wait until the plugin is loaded. @param[out] ret_hello what it says of itself; borrowed from the worker
 * @return 0, RH_ENOMEM, or RH_EPLUGIN with what it did instead
 */
int rh_worker_describe(struct rh_worker *worker, const struct rh_hello **ret_hello, struct rh_error *err);
/**
 * Ask; a process that is gone is started again first. @param[out] answer the answers, for rh_record_replay(), each
 * behind a byte 1, and a byte 0 at the end
 * @return 0, RH_ENOMEM, RH_EIO (it cannot be started), or RH_EPLUGIN with what the plugin did instead of answering.
 * Where the host retries (rh_host_set_retry()) these two are RH_EAGAIN, and RH_EIO once the plugin failed at the job
 * RH_WORKER_TRIES times
 */
int rh_worker_ask(struct rh_worker *worker, const struct rh_ask *ask, struct rh_str *answer, struct rh_error *err);
/** The answer to @p ask is malformed: end the process. @return RH_EPLUGIN, RH_EAGAIN or RH_EIO, as rh_worker_ask() */
int rh_worker_reject(struct rh_worker *worker, const struct rh_ask *ask, struct rh_error *err);

#endif

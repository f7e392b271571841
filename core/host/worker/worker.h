/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/worker/worker.h
 * @brief The worker process of one plugin file, kept alive: what it describes, what it is asked, how it is restarted.
 */
#ifndef RH_HOST_WORKER_WORKER_H
#define RH_HOST_WORKER_WORKER_H

#include "base/error.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "config/config.h"
#include "host/registry.h"
#include "host/worker/messages/hello.h"
#include "host/worker/messages/request.h"

/** Most pods that one request asks for. */
#define RH_WORKER_BATCH 64
/** How long an answer is waited for before other jobs go on, microseconds: one of a sound plugin is there by then. */
#define RH_WORKER_PATIENCE (RH_SECOND / 100)
/** The same without a place for a later answer, in microseconds: a webhook then lets the job pass. */
#define RH_WORKER_GUEST_PATIENCE (RH_SECOND / 5)
/** How often a plugin may fail at a job before the job is set aside. */
#define RH_WORKER_TRIES 3

/** Opaque. */
struct rh_worker;

/** @param config borrowed for the life of the worker. @return NULL when memory is out */
struct rh_worker *rh_worker_new(const struct rh_config *config, const char *path);
/** Dismiss the process, if there is one; its fini() runs until rh_worker_free(). */
void rh_worker_dismiss(struct rh_worker *worker);
/** End the process and free it. NULL is nothing. */
void rh_worker_free(struct rh_worker *worker);
/** End the process; what it described stays. */
void rh_worker_stop(struct rh_worker *worker);
/** Open and check the plugin file, once. @return 0, RH_ENOMEM, or RH_EPLUGIN with what is wrong with it */
int rh_worker_open(struct rh_worker *worker, struct rh_error *err);
/** Start the process; rh_worker_describe() waits for it. @return as rh_worker_open(), or RH_EIO */
int rh_worker_start(struct rh_worker *worker, struct rh_error *err);
/**
 * Wait until the plugin is loaded. @param[out] ret_hello what it says of itself; borrowed from the worker
 * @return 0, RH_ENOMEM, or RH_EPLUGIN with what it did instead
 */
int rh_worker_describe(struct rh_worker *worker, const struct rh_hello **ret_hello, struct rh_error *err);
/**
 * Ask; a process that is gone is started again first. @param[out] answer the answers, well formed, for
 * rh_record_replay(), each behind a byte 1, and a byte 0 at the end
 * @return 0, RH_ENOMEM, RH_EIO (it cannot be started), or RH_EPLUGIN with what the plugin did instead of answering.
 * Where the host retries (rh_host_set_retry()) these two are RH_EAGAIN, and RH_EIO once the plugin failed at the job
 * RH_WORKER_TRIES times. Where the snapshot has struct rh_answers, RH_EAGAIN also says that the answer, or the turn of
 * the job, is to come: rh_answers_are_awaited()
 */
int rh_worker_ask(struct rh_worker *worker, const struct rh_ask *ask, struct rh_str *answer, struct rh_error *err);
/** Take what the process says, end one that is late or has had nothing to do for long, call who waits. */
void rh_worker_step(struct rh_worker *worker, int64_t now);
/** @return when rh_worker_step() is due though the process says nothing, monotonic microseconds */
int64_t rh_worker_deadline(const struct rh_worker *worker);

#endif

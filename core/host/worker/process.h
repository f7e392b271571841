/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/worker/process.h
 * @brief A worker process as the host sees it: started, asked over a socket, and ended.
 *
 * Messages have a head of two integers, the number of bytes that follow and the number of the request, which the answer
 * repeats. The process inherits a socket as descriptor 3, a pipe as its standard error, and for the time of loading a
 * page in which it notes the operation in progress; nothing else.
 */
#ifndef RH_HOST_WORKER_PROCESS_H
#define RH_HOST_WORKER_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"
#include "host/registry.h"

/** Descriptor of the socket in the worker. */
#define RH_WORKER_SOCKET 3
/** Descriptor of the page in the worker. */
#define RH_WORKER_PAGE 4
/** Descriptor of the copy of the plugin file in the worker, where it gets one. */
#define RH_WORKER_COPY 5
/** Bytes of the head of a message. */
#define RH_WORKER_HEAD_SIZE (2 * sizeof(uint32_t))
/** Most bytes of an answer: one of 4 MiB of texts, their lengths, and a batch that began before it. */
#define RH_WORKER_ANSWER_MAX ((uint32_t)16 << 20)

/** Opaque. */
struct rh_process;

/**
 * Start @p program for the plugin file @p path. @param copy without a descriptor the process opens the file itself,
 * else it loads this copy of it; borrowed
 * @return 0, RH_ENOMEM or RH_EIO (it cannot be started)
 */
int rh_process_start(const char *program, const char *path, const struct rh_loadable *copy,
                     struct rh_process **ret_process, struct rh_error *err);
/** End it at once and free it. NULL is nothing. */
void rh_process_free(struct rh_process *process);
RH_DEFINE_CLEANUP(process);
/** Close its socket, so that it calls fini() and ends; rh_process_free() waits for that, a moment. */
void rh_process_dismiss(struct rh_process *process);
/** @return whether it waits for a request; not when it ended since, or sent what nobody asked for */
bool rh_process_is_ready(const struct rh_process *process);
/** Bytes of a request. Borrowed. */
struct rh_piece {
	const void *bytes;
	size_t length;
};

/**
 * Send a request, whose pieces need not be copied into one block. It is expected to fit into @p limit microseconds, as
 * the answer. @return as rh_process_receive()
 */
int rh_process_send(struct rh_process *process, const struct rh_piece *pieces, size_t count, int64_t limit,
                    struct rh_error *err);
/**
 * Wait for the answer to the last request, or, before the first one, for what the process says once it is loaded.
 * @param[out] answer replaced by it, without its head
 * @param operation for messages; NULL: the one that the process noted while it was loading
 * @return 0, RH_ENOMEM, or RH_EPLUGIN when the process did not answer: it crashed, ended, took more than @p limit
 * microseconds or answered nonsense. It has ended then
 */
int rh_process_receive(struct rh_process *process, const char *operation, int64_t limit, struct rh_str *answer,
                       struct rh_error *err);

#endif

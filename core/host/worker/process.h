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
#include "base/os/clock.h"
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

/** How long a process that is dismissed may take for fini(), in microseconds. */
#define RH_PROCESS_PARTING (RH_SECOND / 4)

/**
 * Start @p program for the plugin file @p path; does not wait for it. @param copy without a descriptor the process
 * opens the file itself, else it loads this copy of it; borrowed. @param limit microseconds that each of its answers
 * may take
 * @return 0, RH_ENOMEM or RH_EIO (it cannot be started)
 */
int rh_process_start(const char *program, const char *path, const struct rh_loadable *copy, int64_t limit,
                     struct rh_process **ret_process, struct rh_error *err);
/** End it at once and free it. NULL is nothing. */
void rh_process_free(struct rh_process *process);
RH_DEFINE_CLEANUP(process);
/**
 * Close its socket, so that it calls fini() and ends; rh_process_free() waits for that until RH_PROCESS_PARTING from
 * now on have passed.
 */
void rh_process_dismiss(struct rh_process *process);
/** @return whether it waits for a request; not when it ended since, or sent what nobody asked for */
bool rh_process_is_ready(const struct rh_process *process);
/** Most pieces of a request. */
#define RH_PROCESS_PIECES_MAX 8
/** Bytes of a request. Borrowed. */
struct rh_piece {
	const void *bytes;
	size_t length;
};

/**
 * Send a request in one system call; does not wait. What the socket has no room for is copied, and sent by
 * rh_process_receive(): the other pieces need not be copied into one block.
 * @param count of pieces, at most RH_PROCESS_PIECES_MAX @param operation for messages; static storage
 * @return as rh_process_receive(), but RH_EAGAIN
 */
int rh_process_send(struct rh_process *process, const char *operation, const struct rh_piece *pieces, size_t count,
                    struct rh_error *err);
/**
 * Wait for the answer to the last request, or, before the first one, for what the process says once it is loaded. The
 * time limit counts from the first call on. @param patience microseconds to wait at most; RH_NEVER: the time limit
 * @param[out] answer replaced by it, without its head
 * @return 0, RH_EAGAIN (it is to come), RH_ENOMEM, or RH_EPLUGIN when the process does not answer: it crashed, ended,
 * is late or answered nonsense. After the last two it has ended
 */
int rh_process_receive(struct rh_process *process, int64_t patience, struct rh_str *answer, struct rh_error *err);
/** The answer is malformed: end the process. @return RH_EPLUGIN */
int rh_process_reject(struct rh_process *process, struct rh_error *err);
/** @return when the answer that is to come is late, monotonic microseconds */
int64_t rh_process_deadline(const struct rh_process *process);
/** Make the epoll descriptor @p events readable whenever rh_process_receive() has something to do. @return 0 or RH_EIO
 */
int rh_process_watch(struct rh_process *process, int events, struct rh_error *err);
/** End that. */
void rh_process_unwatch(struct rh_process *process, int events);

#endif

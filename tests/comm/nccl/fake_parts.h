/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/nccl/fake_parts.h
 * @brief What the two halves of the fake share: fake_cuda.c has streams and copies, fake_nccl.c communicators.
 *
 * All of it is under one lock. A task runs when all tasks before it in its stream are done.
 */
#ifndef RH_TEST_COMM_NCCL_FAKE_PARTS_H
#define RH_TEST_COMM_NCCL_FAKE_PARTS_H

#include <pthread.h>
#include <stdint.h>

#include "comm/nccl/api.h"
#include "comm/nccl/fake.h"

/** Marks what the libraries export. */
#define EXPORT __attribute__((visibility("default")))
/** Most calls in one group of NCCL. */
#define PARTS 16

/** What a task does. */
enum task_kind { TASK_KERNEL, TASK_FILL, TASK_EVENT, TASK_WAIT, TASK_COPY, TASK_COLLECTIVE, TASK_MESSAGES };

struct fake_comm;
struct team;

/** A call of NCCL. */
struct part {
	enum { PART_ALL_REDUCE, PART_REDUCE_SCATTER, PART_ALL_GATHER, PART_BROADCAST, PART_SEND, PART_RECV } what;
	const void *in;
	void *out;
	size_t count;
	int type;
	int op;
	int peer;
	int done;
};

/** Something in a stream. */
struct task {
	struct task *next;
	enum task_kind kind;
	struct fake_comm *comm;
	struct part parts[PARTS];
	int part_count;
	int number; /**< of a collective, in its communicator */
	int done;
	void *to; /**< of a kernel, of a copy and of what is filled */
	const void *from;
	size_t count; /**< numbers of a kernel, else bytes */
	float value;
	int polls;
	struct event *event; /**< NULL: it has been destroyed */
	int mark;            /**< which recording of it */
};

/** An event: how often it was recorded, and which of these the stream has come to. */
struct event {
	int recorded;
	int done;
	int error;
};

/** A stream. */
struct stream {
	struct stream *next;
	struct task *first;
	struct task **last;
};

/** Everything. */
struct fake {
	pthread_mutex_t lock;
	struct team *teams;
	struct stream none;     /**< the stream NULL */
	struct stream *streams; /**< all others */
	int ids;
	int alive;
	int misuses;
	int fail_at;
	struct fake_copies copies;
	int copy_fail_at; /**< which copy from now on fails; 0: none */
	int copy_later;   /**< and only while it is under way */
	int copy_held;
	int pinned_fail_at; /**< which pinned block from now on cannot be had; 0: none */
	size_t pinned;
};

/** Lock it. @return it */
struct fake *fake_lock(void);
/** Unlock it. @return @p status */
int fake_unlock(struct fake *fake, int status);
/** @return a new task; never NULL */
struct task *fake_task_new(enum task_kind kind);
/** Put a task into a stream. NULL is the stream NULL. The lock is held. */
void fake_stream_append(struct fake *fake, struct stream *stream, struct task *task);
/** Free what is done. The lock is held. @return the first task that is not done, or NULL */
struct task *fake_stream_head(struct stream *stream);
/** Run a collective if all ranks have come to it. The lock is held. */
void fake_collective_try(struct fake *fake, struct task *task);
/** Deliver the messages that can be. The lock is held. */
void fake_messages_try(struct task *task);
/** A stream goes: no communicator looks at it any more. The lock is held. */
void fake_comms_forget(struct fake *fake, const struct stream *stream);
/** @return the error of a communicator; NULL has none */
int fake_comm_error(const struct fake_comm *comm);

#endif

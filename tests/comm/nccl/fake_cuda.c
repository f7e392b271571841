/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA runtime for tests of logic, on host memory: streams, events, copies. A stream moves by one task whenever
 * somebody asks an event; copies are copied then and no sooner.
 */
#include <stdlib.h>
#include <string.h>

#include "comm/nccl/fake_parts.h"

#define CUDA_LAUNCH_FAILED 719
#define CUDA_COPY_ANY 4
#define CUDA_NON_BLOCKING 1

static struct fake *fake_get(void)
{
	static struct fake fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .fail_at = -1};

	return &fake;
}

struct fake *fake_lock(void)
{
	struct fake *fake = fake_get();

	(void)pthread_mutex_lock(&fake->lock);
	if (!fake->none.last)
		fake->none.last = &fake->none.first;
	return fake;
}

int fake_unlock(struct fake *fake, int status)
{
	(void)pthread_mutex_unlock(&fake->lock);
	return status;
}

struct task *fake_task_new(enum task_kind kind)
{
	struct task *task = calloc(1, sizeof(*task));

	if (!task)
		abort();
	task->kind = kind;
	return task;
}

void fake_stream_append(struct fake *fake, struct stream *stream, struct task *task)
{
	stream = stream ? stream : &fake->none;
	task->next = NULL;
	*stream->last = task;
	stream->last = &task->next;
}

struct task *fake_stream_head(struct stream *stream)
{
	while (stream->first && stream->first->done) {
		struct task *task = stream->first;

		stream->first = task->next;
		if (!stream->first)
			stream->last = &stream->first;
		free(task);
	}
	return stream->first;
}

static void copy_run(struct fake *fake, struct task *task)
{
	if (fake->copy_held)
		return;
	memcpy(task->to, task->from, task->count);
	fake->copies.done++;
	task->done = 1;
}

static void kernel_run(struct task *task)
{
	float *data = task->to;

	if (task->polls-- > 0)
		return;
	for (size_t i = 0; i < task->count; i++)
		data[i] = task->value;
	task->done = 1;
}

static void event_run(struct task *task)
{
	if (task->event && task->event->done < task->mark)
		task->event->done = task->mark;
	task->done = 1;
}

static void stream_move(struct fake *fake, struct stream *stream)
{
	struct task *task = fake_stream_head(stream);

	if (!task || fake_comm_error(task->comm) != 0)
		return;
	switch (task->kind) {
	case TASK_COLLECTIVE:
		fake_collective_try(fake, task);
		break;
	case TASK_MESSAGES:
		fake_messages_try(task);
		break;
	case TASK_EVENT:
		event_run(task);
		break;
	case TASK_WAIT:
		task->done = !task->event || task->event->done >= task->mark;
		break;
	case TASK_FILL:
		memset(task->to, (int)task->value, task->count);
		task->done = 1;
		break;
	case TASK_COPY:
		copy_run(fake, task);
		break;
	case TASK_KERNEL:
	default:
		kernel_run(task);
		break;
	}
}

static void streams_move(struct fake *fake)
{
	stream_move(fake, &fake->none);
	for (struct stream *stream = fake->streams; stream; stream = stream->next)
		stream_move(fake, stream);
}

void *fake_stream_new(void)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	struct fake *fake = fake_lock();

	if (!stream)
		abort();
	stream->last = &stream->first;
	stream->next = fake->streams;
	fake->streams = stream;
	(void)fake_unlock(fake, 0);
	return stream;
}

void fake_stream_free(void *stream)
{
	struct fake *fake = fake_lock();
	struct stream **at = &fake->streams;
	struct stream *row = stream;

	while (*at && *at != row)
		at = &(*at)->next;
	if (*at)
		*at = row->next;
	while (row->first) {
		row->first->done = 1;
		(void)fake_stream_head(row);
	}
	fake_comms_forget(fake, row);
	free(row);
	(void)fake_unlock(fake, 0);
}

void fake_kernel(void *stream, float *data, size_t count, float value, int polls)
{
	struct fake *fake = fake_lock();
	struct task *task = fake_task_new(TASK_KERNEL);

	task->to = data;
	task->count = count;
	task->value = value;
	task->polls = polls;
	fake_stream_append(fake, stream, task);
	(void)fake_unlock(fake, 0);
}

void fake_fail_copy(int number, bool later)
{
	struct fake *fake = fake_lock();

	fake->copy_fail_at = number;
	fake->copy_later = later;
	(void)fake_unlock(fake, 0);
}

void fake_fail_pinned(int number)
{
	struct fake *fake = fake_lock();

	fake->pinned_fail_at = number;
	(void)fake_unlock(fake, 0);
}

void fake_move(int times)
{
	struct fake *fake = fake_lock();

	for (int i = 0; i < times; i++)
		streams_move(fake);
	(void)fake_unlock(fake, 0);
}

void fake_hold_copies(bool hold)
{
	struct fake *fake = fake_lock();

	fake->copy_held = hold;
	(void)fake_unlock(fake, 0);
}

void fake_copies_reset(void)
{
	struct fake *fake = fake_lock();

	fake->copies = (struct fake_copies){.pinned_most = fake->pinned};
	(void)fake_unlock(fake, 0);
}

struct fake_copies fake_copies(void)
{
	struct fake *fake = fake_lock();
	struct fake_copies copies = fake->copies;

	(void)fake_unlock(fake, 0);
	return copies;
}

int fake_alive(void)
{
	struct fake *fake = fake_lock();

	return fake_unlock(fake, fake->alive);
}

int fake_misuses(void)
{
	struct fake *fake = fake_lock();

	return fake_unlock(fake, fake->misuses);
}

/* Prototypes are those of the real headers with handles as pointers. */
EXPORT int cudaGetDeviceCount(int *count);
EXPORT int cudaGetDevice(int *device);
EXPORT int cudaSetDevice(int device);
EXPORT int cudaStreamCreateWithFlags(void **stream, unsigned int flags);
EXPORT int cudaStreamDestroy(void *stream);
EXPORT int cudaStreamWaitEvent(void *stream, void *event, unsigned int flags);
EXPORT int cudaEventCreateWithFlags(void **event, unsigned int flags);
EXPORT int cudaEventRecord(void *event, void *stream);
EXPORT int cudaEventQuery(void *event);
EXPORT int cudaEventDestroy(void *event);
EXPORT const char *cudaGetErrorString(int status);
EXPORT int cudaHostAlloc(void **memory, size_t length, unsigned int flags);
EXPORT int cudaFreeHost(void *memory);
EXPORT int cudaMalloc(void **memory, size_t length);
EXPORT int cudaFree(void *memory);
EXPORT int cudaMemcpy(void *to, const void *from, size_t length, int kind);
EXPORT int cudaMemsetAsync(void *memory, int value, size_t length, void *stream);
EXPORT int cudaMemcpyAsync(void *to, const void *from, size_t length, int kind, void *stream);

static int *device_get(void)
{
	static _Thread_local int device;

	return &device;
}

int cudaGetDeviceCount(int *count)
{
	const char *text = getenv("FAKE_CUDA_DEVICES");

	*count = text ? (int)strtol(text, NULL, 10) : 2;
	return *count < 0 ? 35 : *count == 0 ? 100 : 0;
}

int cudaGetDevice(int *device)
{
	*device = *device_get();
	return 0;
}

int cudaSetDevice(int device)
{
	*device_get() = device;
	return 0;
}

int cudaStreamCreateWithFlags(void **stream, unsigned int flags)
{
	struct fake *fake;

	*stream = fake_stream_new();
	fake = fake_lock();
	fake->alive++;
	fake->misuses += flags != CUDA_NON_BLOCKING;
	return fake_unlock(fake, 0);
}

int cudaStreamDestroy(void *stream)
{
	struct fake *fake = fake_lock();

	fake->alive--;
	(void)fake_unlock(fake, 0);
	fake_stream_free(stream);
	return 0;
}

int cudaEventCreateWithFlags(void **event, unsigned int flags)
{
	struct fake *fake = fake_lock();

	*event = calloc(1, sizeof(struct event));
	fake->misuses += flags != CUDA_EVENT_DISABLE_TIMING;
	fake->alive++;
	return fake_unlock(fake, *event ? 0 : 2);
}

static void event_append(struct fake *fake, enum task_kind kind, struct event *event, void *stream)
{
	struct task *task = fake_task_new(kind);

	task->event = event;
	task->mark = event->recorded;
	fake_stream_append(fake, stream, task);
}

int cudaEventRecord(void *event, void *stream)
{
	struct fake *fake = fake_lock();
	struct event *recorded = event;

	recorded->recorded++;
	event_append(fake, TASK_EVENT, recorded, stream);
	if (fake->copy_later == 2) {
		recorded->error = CUDA_LAUNCH_FAILED;
		fake->copy_later = 0;
	}
	return fake_unlock(fake, 0);
}

int cudaStreamWaitEvent(void *stream, void *event, unsigned int flags)
{
	struct fake *fake = fake_lock();

	fake->misuses += flags != 0;
	event_append(fake, TASK_WAIT, event, stream);
	return fake_unlock(fake, 0);
}

int cudaEventQuery(void *event)
{
	const struct event *asked = event;
	struct fake *fake = fake_lock();

	streams_move(fake);
	if (asked->error)
		return fake_unlock(fake, asked->error);
	return fake_unlock(fake, asked->done == asked->recorded ? CUDA_OK : CUDA_NOT_READY);
}

static void event_forget(const struct stream *stream, const struct event *event)
{
	for (struct task *task = stream->first; task; task = task->next) {
		if (task->event == event)
			task->event = NULL;
	}
}

int cudaEventDestroy(void *event)
{
	struct fake *fake = fake_lock();

	event_forget(&fake->none, event);
	for (const struct stream *stream = fake->streams; stream; stream = stream->next)
		event_forget(stream, event);
	free(event);
	fake->alive--;
	return fake_unlock(fake, 0);
}

const char *cudaGetErrorString(int status)
{
	return status == 35                   ? "CUDA driver version is insufficient for CUDA runtime version"
	       : status == 100                ? "no CUDA-capable device is detected"
	       : status == CUDA_LAUNCH_FAILED ? "unspecified launch failure"
	                                      : "fake CUDA error";
}

int cudaMalloc(void **memory, size_t length)
{
	*memory = malloc(length);
	return *memory ? 0 : 2;
}

int cudaFree(void *memory)
{
	free(memory);
	return 0;
}

int cudaMemcpy(void *to, const void *from, size_t length, int kind)
{
	(void)kind;
	memcpy(to, from, length);
	return 0;
}

int cudaMemsetAsync(void *memory, int value, size_t length, void *stream)
{
	struct fake *fake = fake_lock();
	struct task *task = fake_task_new(TASK_FILL);

	task->to = memory;
	task->value = (float)value;
	task->count = length;
	fake_stream_append(fake, stream, task);
	return fake_unlock(fake, 0);
}

/* The length stands before the block, so that what is freed can be counted. */
#define PINNED_HEAD 64

int cudaHostAlloc(void **memory, size_t length, unsigned int flags)
{
	struct fake *fake = fake_lock();
	bool fails = fake->pinned_fail_at > 0 && --fake->pinned_fail_at == 0;
	char *block = fails ? NULL : malloc(PINNED_HEAD + length);

	if (!block)
		return fake_unlock(fake, 2);
	memcpy(block, &length, sizeof(length));
	*memory = block + PINNED_HEAD;
	fake->misuses += flags != 0;
	fake->alive++;
	fake->pinned += length;
	if (fake->pinned > fake->copies.pinned_most)
		fake->copies.pinned_most = fake->pinned;
	return fake_unlock(fake, 0);
}

int cudaFreeHost(void *memory)
{
	struct fake *fake = fake_lock();
	char *block = (char *)memory - PINNED_HEAD;
	size_t length;

	memcpy(&length, block, sizeof(length));
	free(block);
	fake->alive--;
	fake->pinned -= length;
	return fake_unlock(fake, 0);
}

/* @return whether this is the copy that is to fail at once; one that fails later shows at the next event */
static int copy_fails(struct fake *fake)
{
	if (fake->copy_fail_at == 0 || --fake->copy_fail_at > 0)
		return 0;
	if (!fake->copy_later)
		return 1;
	fake->copy_later = 2;
	return 0;
}

int cudaMemcpyAsync(void *to, const void *from, size_t length, int kind, void *stream)
{
	struct fake *fake = fake_lock();
	struct task *task;

	fake->misuses += kind != CUDA_COPY_ANY;
	fake->copies.begun++;
	if (length > fake->copies.longest)
		fake->copies.longest = length;
	if (copy_fails(fake))
		return fake_unlock(fake, 2);
	task = fake_task_new(TASK_COPY);
	task->to = to;
	task->from = from;
	task->count = length;
	fake_stream_append(fake, stream, task);
	return fake_unlock(fake, 0);
}

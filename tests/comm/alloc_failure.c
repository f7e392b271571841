/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/alloc_failure.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>

/* The linker's --wrap calls ours for malloc, and the real one __real_malloc. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t length);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *ptr, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t length);

/* Atomic, because threads allocate too. */
struct gate {
	atomic_bool armed;
	atomic_long made;
	atomic_long first;
	atomic_long end;
	atomic_long failed;
};

static struct gate *gate_get(void)
{
	static struct gate gate;

	return &gate;
}

static bool gate_pass(void)
{
	struct gate *gate = gate_get();
	long number;

	if (!atomic_load(&gate->armed))
		return true;
	number = atomic_fetch_add(&gate->made, 1);
	if (number < atomic_load(&gate->first) || number >= atomic_load(&gate->end))
		return true;
	(void)atomic_fetch_add(&gate->failed, 1);
	errno = ENOMEM;
	return false;
}

void alloc_failure_arm(long first, long count)
{
	struct gate *gate = gate_get();

	atomic_store(&gate->made, 0);
	atomic_store(&gate->failed, 0);
	atomic_store(&gate->first, first);
	atomic_store(&gate->end, count < 0 ? LONG_MAX : first + count);
	atomic_store(&gate->armed, true);
}

bool alloc_failure_disarm(void)
{
	struct gate *gate = gate_get();

	atomic_store(&gate->armed, false);
	return atomic_load(&gate->failed) > 0;
}

void *__wrap_malloc(size_t size)
{
	return gate_pass() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return gate_pass() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *ptr, size_t size)
{
	return gate_pass() ? __real_realloc(ptr, size) : NULL;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return gate_pass() ? __real_aligned_alloc(alignment, size) : NULL;
}

char *__wrap_strdup(const char *text)
{
	return gate_pass() ? __real_strdup(text) : NULL;
}

char *__wrap_strndup(const char *text, size_t length)
{
	return gate_pass() ? __real_strndup(text, length) : NULL;
}

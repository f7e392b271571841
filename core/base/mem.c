/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* State of rh_mem_fail_after(); atomic, because other threads allocate too. */
struct mem_seam {
	atomic_long made;
	atomic_long limit;
};

static struct mem_seam *mem_seam(void)
{
	static struct mem_seam seam = {.made = 0, .limit = -1};

	return &seam;
}

static bool mem_may_allocate(void)
{
	struct mem_seam *seam = mem_seam();
	long made = atomic_fetch_add_explicit(&seam->made, 1, memory_order_relaxed);
	long limit = atomic_load_explicit(&seam->limit, memory_order_relaxed);

	return limit < 0 || made < limit;
}

long rh_mem_fail_after(long count)
{
	struct mem_seam *seam = mem_seam();

	atomic_store(&seam->limit, count);
	return atomic_exchange(&seam->made, 0);
}

void *rh_alloc(size_t size)
{
	return rh_alloc_array(1, size);
}

void *rh_alloc_array(size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total) || !mem_may_allocate())
		return NULL;
	return calloc(1, total > 0 ? total : 1);
}

void *rh_realloc_array(void *ptr, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total) || !mem_may_allocate())
		return NULL;
	return realloc(ptr, total > 0 ? total : 1);
}

char *rh_strdup(const char *text)
{
	return text ? rh_strndup(text, strlen(text)) : NULL;
}

char *rh_strndup(const char *text, size_t length)
{
	char *copy;

	if (length == SIZE_MAX || !mem_may_allocate())
		return NULL;
	copy = malloc(length + 1);
	if (!copy)
		return NULL;
	if (length > 0)
		memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

char *rh_vasprintf(const char *fmt, va_list args)
{
	va_list again;
	char *text;
	int length;

	va_copy(again, args);
	length = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	text = length < 0 ? NULL : rh_alloc((size_t)length + 1);
	if (text)
		(void)vsnprintf(text, (size_t)length + 1, fmt, args);
	return text;
}

char *rh_asprintf(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = rh_vasprintf(fmt, args);
	va_end(args);
	return text;
}

void rh_free(void *ptr)
{
	free(ptr);
}

void rh_free_secret(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	rh_free(text);
}

void rh_mem_freep(void *ptr_to_ptr)
{
	rh_free(*(void **)ptr_to_ptr);
}

void rh_mem_closep(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

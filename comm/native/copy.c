/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies that another processor reads next. A line that one processor has just written is in its cache, and to fetch
 * it from there takes longer than from memory: so large copies go around the cache.
 */
#include <stdint.h>
#include <string.h>

#include "comm/native/copy.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#define COPY_STREAMS 1
#else
#define COPY_STREAMS 0
#endif

/* What is shorter is sooner read out of the other's cache. */
#define STREAM_LEAST 2048
/* Memory takes whole lines. */
#define STREAM_LINE 64

#if COPY_STREAMS
/* @param to at the beginning of a line @param lines how many */
static void copy_lines(char *to, const char *from, size_t lines)
{
	for (size_t line = 0; line < lines; line++, to += STREAM_LINE, from += STREAM_LINE) {
		const __m128i *source = (const __m128i *)(const void *)from;
		__m128i *target = (__m128i *)(void *)to;
		__m128i a = _mm_loadu_si128(source);
		__m128i b = _mm_loadu_si128(source + 1);
		__m128i c = _mm_loadu_si128(source + 2);
		__m128i d = _mm_loadu_si128(source + 3);

		_mm_stream_si128(target, a);
		_mm_stream_si128(target + 1, b);
		_mm_stream_si128(target + 2, c);
		_mm_stream_si128(target + 3, d);
	}
}

void native_copy_for_others(void *to, const void *from, size_t length)
{
	size_t before = (STREAM_LINE - (uintptr_t)to % STREAM_LINE) % STREAM_LINE;
	size_t lines;

	if (length < STREAM_LEAST) {
		memcpy(to, from, length);
		return;
	}
	lines = (length - before) / STREAM_LINE;
	memcpy(to, from, before);
	copy_lines((char *)to + before, (const char *)from + before, lines);
	before += lines * STREAM_LINE;
	memcpy((char *)to + before, (const char *)from + before, length - before);
}

void native_copy_settle(void)
{
	_mm_sfence();
}
#else
void native_copy_for_others(void *to, const void *from, size_t length)
{
	memcpy(to, from, length);
}

void native_copy_settle(void)
{
}
#endif

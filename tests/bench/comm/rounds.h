/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file rounds.h
 * @brief The same loop for every contender: rounds of a batch of all-reduces or all-to-alls, each after a barrier.
 * Numbers of repetitions depend on the size alone, so that contenders do the same work.
 */
#ifndef RH_TESTS_BENCH_COMM_ROUNDS_H
#define RH_TESTS_BENCH_COMM_ROUNDS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/** Most rounds of a size. */
#define ROUNDS_MOST 32
/** Rounds that do not count. */
#define ROUNDS_WARM 2

/** A contender. */
struct rounds {
	int rank;
	int world;
	float *buffer;
	float *out; /**< where all-to-alls put their results; NULL: all-reduces are measured */
	void *arg;
	void (*barrier)(void *arg);
	void (*all_reduce)(void *arg, float *buffer, size_t count);
	/** count elements for each rank, and from each */
	void (*all_to_all)(void *arg, const float *in, float *out, size_t count);
};

/** @return CLOCK_MONOTONIC in microseconds */
static inline double rounds_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/** @return operations of one round */
static inline int rounds_batch(size_t bytes)
{
	if (bytes <= 1024)
		return 200;
	if (bytes <= 65536)
		return 50;
	return bytes <= (1 << 20) ? 8 : 1;
}

/** @return rounds of a size */
static inline int rounds_count(size_t bytes)
{
	if (bytes <= (4 << 20))
		return 30;
	if (bytes <= (16 << 20))
		return 15;
	return bytes <= (64 << 20) ? 7 : 3;
}

static inline int rounds_compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/** The operation that is measured, on vectors of @p count elements. */
static inline void rounds_once(const struct rounds *rounds, size_t count)
{
	if (rounds->out)
		rounds->all_to_all(rounds->arg, rounds->buffer, rounds->out, count / (size_t)rounds->world);
	else
		rounds->all_reduce(rounds->arg, rounds->buffer, count);
}

/** Ends the program when an element came from elsewhere. */
static inline void rounds_verify_parts(const struct rounds *rounds, size_t count)
{
	size_t part = count / (size_t)rounds->world;

	for (size_t i = 0; i < part * (size_t)rounds->world; i++)
		rounds->buffer[i] = (float)(i % 1021) + 2048.0F * (float)rounds->rank;
	rounds_once(rounds, count);
	for (size_t i = 0; i < part * (size_t)rounds->world; i++) {
		size_t from = i / part;
		float wanted = (float)(((size_t)rounds->rank * part + i % part) % 1021) + 2048.0F * (float)from;

		if (rounds->out[i] == wanted)
			continue;
		(void)fprintf(stderr, "element %zu is %g, not %g\n", i, (double)rounds->out[i], (double)wanted);
		exit(1);
	}
}

/** Ends the program when a sum is wrong: a wrong contender is no rival. */
static inline void rounds_verify(const struct rounds *rounds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		rounds->buffer[i] = (float)(i % 5) + (float)rounds->rank;
	rounds->all_reduce(rounds->arg, rounds->buffer, count);
	for (size_t i = 0; i < count; i++) {
		float wanted = (float)(i % 5) * (float)rounds->world + (float)(rounds->world * (rounds->world - 1)) / 2;

		if (rounds->buffer[i] == wanted)
			continue;
		(void)fprintf(stderr, "element %zu is %g, not %g\n", i, (double)rounds->buffer[i], (double)wanted);
		exit(1);
	}
	memset(rounds->buffer, 0, count * sizeof(float));
}

/** Measure one size. Rank 0 prints "BYTES BEST MEDIAN", in microseconds of one operation. */
static inline void rounds_run(const struct rounds *rounds, size_t bytes)
{
	double samples[ROUNDS_MOST];
	int batch = rounds_batch(bytes);
	int count = rounds_count(bytes);

	if (rounds->out)
		rounds_verify_parts(rounds, bytes / sizeof(float));
	else
		rounds_verify(rounds, bytes / sizeof(float));
	for (int i = -ROUNDS_WARM; i < count; i++) {
		double start;

		rounds->barrier(rounds->arg);
		start = rounds_now();
		for (int j = 0; j < batch; j++)
			rounds_once(rounds, bytes / sizeof(float));
		if (i >= 0)
			samples[i] = (rounds_now() - start) / batch;
	}
	qsort(samples, (size_t)count, sizeof(*samples), rounds_compare);
	if (rounds->rank == 0)
		(void)printf("%zu %.3f %.3f\n", bytes, samples[0], samples[count / 2]);
	(void)fflush(stdout);
}

/** @return @p most bytes of zeros, on pages of their own; ends the program when there are none */
static inline float *rounds_new(size_t most)
{
	float *made = most > 0 ? aligned_alloc(4096, (most + 4095) / 4096 * 4096) : NULL;

	if (!made) {
		(void)fputs("usage: PROGRAM [alltoall] BYTES...\n", stderr);
		exit(2);
	}
	memset(made, 0, most);
	return made;
}

/** Measure all sizes of the command line, which are bytes of a rank's whole vector, ascending. */
static inline void rounds_run_all(struct rounds *rounds, char **words, int count)
{
	size_t most = count > 0 ? (size_t)strtoull(words[count - 1], NULL, 10) : 0;
	int first = count > 0 && strcmp(words[0], "alltoall") == 0;

	rounds->buffer = rounds_new(most);
	rounds->out = first ? rounds_new(most) : NULL;
	for (int i = first; i < count; i++)
		rounds_run(rounds, (size_t)strtoull(words[i], NULL, 10));
	free(rounds->buffer);
	free(rounds->out);
}

#endif

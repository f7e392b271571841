/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data-parallel training with a parameter server, in C: a linear model whose weights the servers keep. Each worker
 * makes points of its own, pushes the mean gradient of a batch, and gets the weights that all have made together. The
 * Chief, worker 0, gives the first weights and judges the result: it ends with 0 when the model was learnt.
 *
 * cc -O2 train.c -lrhcomm -lm -o train
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "roundhouse/ps.h"

#define FEATURES 64
#define BATCH 32
#define STEPS 300
#define KEY 1
#define GOOD 1e-3

/* A number from -1 to 1, the same in every run (Marsaglia's xorshift). */
static float next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (float)((double)(*state >> 11) / (double)(UINT64_C(1) << 52)) - 1.0F;
}

/* The weight that is to be found. */
static float truth(int feature)
{
	return sinf((float)feature);
}

/* One batch: the gradient of half the mean squared error. */
static void step(const float *weights, float *gradient, uint64_t *state)
{
	float x[FEATURES];

	for (int i = 0; i < FEATURES; i++)
		gradient[i] = 0;
	for (int sample = 0; sample < BATCH; sample++) {
		float error = 0;

		for (int i = 0; i < FEATURES; i++) {
			x[i] = next(state);
			error += (weights[i] - truth(i)) * x[i];
		}
		for (int i = 0; i < FEATURES; i++)
			gradient[i] += error * x[i] / BATCH;
	}
}

static int fail(const struct rh_comm_error *err)
{
	(void)fprintf(stderr, "train: %s\n", err->text);
	return 1;
}

static int train(struct rh_ps *ps, float *weights, struct rh_comm_error *err)
{
	float gradient[FEATURES];
	uint64_t state = 88172645463325252U + (uint64_t)rh_ps_worker(ps);
	struct rh_ps_op op = {.size = sizeof(op),
	                      .what = RH_PS_INIT,
	                      .key = KEY,
	                      .in = weights,
	                      .out = weights,
	                      .count = FEATURES,
	                      .type = RH_COMM_F32};
	int32_t r = rh_ps_run(ps, &op, 1, err);

	op.what = RH_PS_PUSH_PULL;
	op.in = gradient;
	for (int i = 0; i < STEPS && r == 0; i++) {
		step(weights, gradient, &state);
		r = rh_ps_run(ps, &op, 1, err);
	}
	return r;
}

int main(void)
{
	float weights[FEATURES] = {0};
	struct rh_comm_error err = {0};
	struct rh_ps *ps = NULL;
	double error = 0;
	int worker;

	if (rh_ps_connect(NULL, &ps, &err) < 0)
		return fail(&err);
	worker = rh_ps_worker(ps);
	if (train(ps, weights, &err) < 0) {
		rh_ps_free(ps);
		return fail(&err);
	}
	for (int i = 0; i < FEATURES; i++)
		error += fabsf(weights[i] - truth(i)) / FEATURES;
	printf("worker %d of %d: mean error of the weights %.2g\n", worker, rh_ps_workers(ps), error);
	rh_ps_free(ps);
	return error < GOOD ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker_loop COUNT: pushes and pulls COUNT floats again and again, "ready" after the first time, until something goes
 * wrong; then prints the error's code, rank and text. Who it is comes from the environment.
 */
#include <stdio.h>
#include <stdlib.h>

#include "roundhouse/ps.h"

static int32_t loop(struct rh_ps *ps, float *values, size_t count, struct rh_comm_error *err)
{
	struct rh_ps_op op = {
		.size = sizeof(op), .what = RH_PS_INIT, .key = 1, .out = values, .count = count, .type = RH_COMM_F32};
	int32_t r = rh_ps_run(ps, &op, 1, err);

	op.what = RH_PS_PUSH_PULL;
	op.in = values + count;
	for (long round = 0; r == 0; round++) {
		r = rh_ps_run(ps, &op, 1, err);
		if (round == 0)
			(void)puts("ready");
		(void)fflush(stdout);
	}
	return r;
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	float *values = calloc(2 * count, sizeof(*values));
	struct rh_comm_error err = {0};
	struct rh_ps *ps = NULL;

	if (!values)
		return 1;
	if (rh_ps_connect(NULL, &ps, &err) == 0)
		(void)loop(ps, values, count, &err);
	(void)printf("%d %d %s\n", (int)err.code, (int)err.rank, err.text);
	(void)fflush(stdout);
	free(values);
	/* no orderly end: the server may be gone */
	return 0;
}

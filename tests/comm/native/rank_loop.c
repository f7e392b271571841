/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank, for test_netns.py: all-reduces of COUNT elements, ROUNDS times, then the sum is checked.
 * It prints "ready", and at the end "done", or "CODE RANK TEXT" of the error.
 */
#include <stdio.h>
#include <stdlib.h>

#include "roundhouse/comm.h"

static int loop(struct rh_comm *comm, size_t count, long rounds, struct rh_comm_error *err)
{
	int32_t *values = calloc(count, sizeof(*values));
	int32_t r = values ? 0 : RH_COMM_ENOMEM;

	for (long round = 0; round < rounds && r == 0; round++) {
		for (size_t i = 0; i < count; i++)
			values[i] = (int32_t)i + rh_comm_rank(comm);
		r = rh_comm_all_reduce(comm, values, count, RH_COMM_I32, RH_COMM_MAX, err);
		for (size_t i = 0; i < count && r == 0; i++)
			r = values[i] == (int32_t)i + rh_comm_world(comm) - 1 ? 0 : RH_COMM_EIO;
	}
	free(values);
	return r;
}

int main(int argc, char **argv)
{
	struct rh_comm_error err = {.text = "a wrong sum"};
	struct rh_comm *comm = NULL;
	int32_t r;

	if (argc != 3)
		return 2;
	r = rh_comm_init(NULL, &comm, &err);
	if (r == 0) {
		(void)puts("ready");
		(void)fflush(stdout);
		r = loop(comm, (size_t)strtoul(argv[1], NULL, 10), strtol(argv[2], NULL, 10), &err);
	}
	if (r == 0)
		(void)puts("done");
	else
		(void)printf("%d %d %s\n", (int)r, (int)err.rank, err.text);
	(void)fflush(stdout);
	rh_comm_free(comm);
	return r == 0 ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* rh_comm as a contender. With RH_BENCH_MEMORY set, each rank says how much memory its context takes (KiB). */
#include "rounds.h"

#include "roundhouse/comm.h"

#define MEMORY_COUNT ((size_t)1 << 18)

static void reduce_check(int32_t r, const struct rh_comm_error *err)
{
	if (r == 0)
		return;
	(void)fprintf(stderr, "%s\n", err->text);
	exit(1);
}

static void reduce_barrier(void *arg)
{
	const struct rh_comm_op op = {.size = sizeof(op), .what = RH_COMM_BARRIER};
	struct rh_comm_error err;

	reduce_check(rh_comm_run(arg, &op, &err), &err);
}

static void reduce_all(void *arg, float *buffer, size_t count)
{
	struct rh_comm_error err;

	reduce_check(rh_comm_all_reduce(arg, buffer, count, RH_COMM_F32, RH_COMM_SUM, &err), &err);
}

static void reduce_all_to_all(void *arg, const float *in, float *out, size_t count)
{
	const struct rh_comm_op op = {
		.size = sizeof(op), .what = RH_COMM_ALL_TO_ALL, .in = in, .out = out, .count = count, .type = RH_COMM_F32};
	struct rh_comm_error err;

	reduce_check(rh_comm_run(arg, &op, &err), &err);
}

/* @return KiB of this process; of memory that is shared only its part */
static long reduce_memory(void)
{
	char line[128];
	long kib = 0;
	FILE *file = fopen("/proc/self/smaps_rollup", "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "Pss:", 4) == 0)
			kib = strtol(line + 4, NULL, 10);
	}
	if (file)
		(void)fclose(file);
	return kib;
}

int main(int argc, char **argv)
{
	static float data[MEMORY_COUNT];
	struct rounds rounds = {.barrier = reduce_barrier, .all_reduce = reduce_all, .all_to_all = reduce_all_to_all};
	struct rh_comm_error err;
	struct rh_comm *comm;
	long before;

	memset(data, 0, sizeof(data));
	before = reduce_memory();
	reduce_check(rh_comm_init(NULL, &comm, &err), &err);
	rounds.rank = rh_comm_rank(comm);
	rounds.world = rh_comm_world(comm);
	rounds.arg = comm;
	if (getenv("RH_BENCH_MEMORY")) {
		reduce_all(comm, data, MEMORY_COUNT);
		reduce_barrier(comm);
		(void)printf("memory %ld\n", reduce_memory() - before);
		(void)fflush(stdout);
		reduce_barrier(comm);
	}
	rounds_run_all(&rounds, argv + 1, argc - 1);
	rh_comm_free(comm);
	return 0;
}

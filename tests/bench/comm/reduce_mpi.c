/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Allreduce and MPI_Alltoall as contenders; built with each MPI's own compiler wrapper. */
#include <mpi.h>

#include "rounds.h"

static void reduce_barrier(void *arg)
{
	(void)arg;
	(void)MPI_Barrier(MPI_COMM_WORLD);
}

static void reduce_all(void *arg, float *buffer, size_t count)
{
	(void)arg;
	(void)MPI_Allreduce(MPI_IN_PLACE, buffer, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce_all_to_all(void *arg, const float *in, float *out, size_t count)
{
	(void)arg;
	(void)MPI_Alltoall(in, (int)count, MPI_FLOAT, out, (int)count, MPI_FLOAT, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	struct rounds rounds = {.barrier = reduce_barrier, .all_reduce = reduce_all, .all_to_all = reduce_all_to_all};

	(void)MPI_Init(&argc, &argv);
	(void)MPI_Comm_rank(MPI_COMM_WORLD, &rounds.rank);
	(void)MPI_Comm_size(MPI_COMM_WORLD, &rounds.world);
	rounds_run_all(&rounds, argv + 1, argc - 1);
	(void)MPI_Finalize();
	return 0;
}

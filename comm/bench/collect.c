/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/bench/collect.h"

int32_t rh_bench_barrier(struct rh_comm *comm, struct rh_comm_error *err)
{
	const struct rh_comm_op op = {.size = sizeof(op), .what = RH_COMM_BARRIER};

	return rh_comm_run(comm, &op, err);
}

int32_t rh_bench_combine(struct rh_comm *comm, double *numbers, size_t count, int32_t reduce, struct rh_comm_error *err)
{
	return rh_comm_all_reduce(comm, numbers, count, RH_COMM_F64, reduce, err);
}

int32_t rh_bench_share_out(struct rh_comm *comm, void *data, size_t bytes, struct rh_comm_error *err)
{
	const struct rh_comm_op op = {
		.size = sizeof(op),
		.what = RH_COMM_BROADCAST,
		.in = data,
		.out = data,
		.count = bytes,
		.type = RH_COMM_U8,
	};

	return rh_comm_run(comm, &op, err);
}

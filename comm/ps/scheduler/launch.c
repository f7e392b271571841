/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/scheduler/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/core/error.h"

static int32_t launch_gather(const struct rh_ps_launch *launch, const void *own, void *all, size_t bytes,
                             struct rh_comm_error *err)
{
	struct rh_comm_op op = {
		.size = sizeof(op), .what = RH_COMM_ALL_GATHER, .in = own, .out = all, .count = bytes, .type = RH_COMM_U8};

	return rh_comm_run(launch->world, &op, err);
}

/* Ranks in their order are servers and workers in theirs. */
static void launch_count(struct rh_ps_launch *launch, const uint8_t *servers)
{
	struct rh_ps_cluster *cluster = &launch->cluster;
	int32_t own = rh_comm_rank(launch->world);

	cluster->server = -1;
	cluster->worker = -1;
	for (int32_t rank = 0; rank < rh_comm_world(launch->world); rank++) {
		if (rank == own && servers[rank])
			cluster->server = cluster->server_count;
		else if (rank == own)
			cluster->worker = cluster->workers;
		if (servers[rank])
			cluster->server_count++;
		else
			cluster->workers++;
	}
}

int32_t rh_ps_launch_open(bool server, struct rh_ps_launch *ret_launch, struct rh_comm_error *err)
{
	struct rh_comm_options options = {.size = sizeof(options), .backend = "mpi"};
	struct rh_ps_launch launch = {0};
	uint8_t own = server;
	uint8_t *servers;
	int32_t r = rh_comm_init(&options, &launch.world, err);

	if (r < 0)
		return r;
	servers = calloc((size_t)rh_comm_world(launch.world), 1);
	r = servers ? launch_gather(&launch, &own, servers, 1, err)
	            : rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	if (r == 0)
		launch_count(&launch, servers);
	free(servers);
	if (r == 0 && (launch.cluster.server_count == 0 || launch.cluster.workers == 0))
		r = rh_comm_fail(
			err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
			"mpirun has started %d servers and %d workers: both are needed, as in \"mpirun -n 1 roundhouse "
			"ps : -n 2 program\"",
			(int)launch.cluster.server_count, (int)launch.cluster.workers);
	if (r < 0) {
		rh_ps_launch_close(&launch);
		return r;
	}
	*ret_launch = launch;
	return 0;
}

/* The address of this server; on one host only that host can reach it. */
static void launch_find_place(const struct rh_ps_launch *launch, const char *host, int32_t port,
                              struct rh_ps_place *ret_place)
{
	char name[RH_PS_HOST_MAX] = "";

	if (!host && rh_comm_local_world(launch->world) == rh_comm_world(launch->world))
		host = "127.0.0.1";
	if (!host && gethostname(name, sizeof(name) - 1) == 0)
		host = name;
	rh_ps_place_set(ret_place, host ? host : "localhost", port);
}

/* Workers have none. */
static int32_t launch_join_places(struct rh_ps_launch *launch, const struct rh_ps_place *places,
                                  struct rh_comm_error *err)
{
	struct rh_ps_place *list = calloc((size_t)launch->cluster.server_count, sizeof(*list));
	int32_t count = 0;

	if (!list)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	for (int32_t rank = 0; rank < rh_comm_world(launch->world) && count < launch->cluster.server_count; rank++)
		if (rh_ps_place_is_sane(&places[rank]))
			list[count++] = places[rank];
	launch->cluster.places = list;
	return 0;
}

int32_t rh_ps_launch_connect(struct rh_ps_launch *launch, const char *host, int32_t port, struct rh_comm_error *err)
{
	struct rh_ps_place *places = calloc((size_t)rh_comm_world(launch->world), sizeof(*places));
	struct rh_ps_place own;
	int32_t r;

	memset(&own, 0, sizeof(own));
	if (port > 0)
		launch_find_place(launch, host, port, &own);
	r = places ? launch_gather(launch, &own, places, sizeof(own), err)
	           : rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	if (r == 0)
		r = launch_join_places(launch, places, err);
	free(places);
	return r;
}

void rh_ps_launch_close(struct rh_ps_launch *launch)
{
	free(launch->cluster.places);
	rh_comm_free(launch->world);
	*launch = (struct rh_ps_launch){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file build/ranks.h
 * @brief The world of rh_comm in a job whose framework does not number its processes as rh_comm reads it.
 *
 * A PyTorchJob's pods have RANK, WORLD_SIZE and MASTER_ADDR, and mpirun gives its processes as much. Where a plugin
 * marks replica types as RH_REPLICA_RANKED (a TFJob's Chief and Workers, but not its PS), their pods are numbered here.
 */
#ifndef RH_BUILD_RANKS_H
#define RH_BUILD_RANKS_H

#include "base/json.h"
#include "host/operations.h"

/**
 * Add to @p pod, the body of replica @p index of @p type with all that its plugin adds, RH_COMM_RANK, RH_COMM_WORLD,
 * RH_COMM_HOST and RH_COMM_PORT, if the job uses rh_comm and nothing in the pod gives a rank. On one machine a pod that
 * has a rank gets RH_COMM_PORT alone: a port that is locked for it. A value of the job itself always wins.
 * @return 0 or RH_ENOMEM
 */
int rh_ranks_add(const struct rh_snapshot *snapshot, const char *type, int32_t index, struct rh_json *pod);

#endif

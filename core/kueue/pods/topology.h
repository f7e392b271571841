/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kueue/pods/topology.h
 * @brief Pods near each other: what a pod set asks of the topology, and pods that wait until Kueue has placed them.
 */
#ifndef RH_KUEUE_PODS_TOPOLOGY_H
#define RH_KUEUE_PODS_TOPOLOGY_H

#include "base/json.h"
#include "job/job.h"

/** Put into a pod set of a Workload what the annotations of the template of @p spec ask for. @return 0 or RH_ENOMEM */
int rh_kueue_topology_ask(const struct rh_job *job, const struct rh_replica_spec *spec, struct rh_json *set);
/**
 * Put into the pod set of a note what Kueue places its pods by, where @p assignment of @p workload has a topology: they
 * are not scheduled before Kueue has written the nodes of each and has removed the gate.
 * @param asked the pod sets that the job asks for. @return 0 or RH_ENOMEM
 */
int rh_kueue_topology_note(const struct rh_json *workload, const struct rh_json *assignment,
                           const struct rh_json *asked, struct rh_json *set);

#endif

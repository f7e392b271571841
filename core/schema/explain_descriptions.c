/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/explain_descriptions.h"

#include <stddef.h>

#include <string.h>

static const struct rh_explain_descriptions explain_words[] = {
	{"apiVersion", "Group and version of the kind."},
	{"kind", "Name of the kind."},
	{"metadata", "Name, namespace, labels and annotations of the job."},
	{"metadata.name",
     "Name of the job. Its pods, Services and further objects are named after it, JOB-TYPE-INDEX, with at "
     "most 63 characters."},
	{"metadata.namespace", "Namespace of the job and of all that is made for it. Default: default."},
	{"metadata.annotations",
     "roundhouse.dev/restart (replica or job) says what a failure restarts, "
     "roundhouse.dev/terminating-timeout (30s, 2m) when a pod that does not end is forced, "
     "roundhouse.dev/stalls (report, restart, evict) that the condition Stalled names the rank of rh_comm that others "
     "wait for, and that all replicas restart, or the pod of that rank is evicted, roundhouse.dev/stalls-after (60s) "
     "after how long, roundhouse.dev/stalls-limit (3) how often, "
     "roundhouse.dev/comm (auto, native, ucx, mpi, nccl, none, or one that the images bring) which "
     "backend of rh_comm the processes use."},
	{"spec", "What the job is to be."},
	{"status", "How the job does; written by the controller."},
	{"spec.*", "The replicas, by type."},
	{"spec.*.*.template", "The pod of a replica, as Kubernetes knows it."},
};

const char *rh_explain_descriptions(const char *place)
{
	for (size_t i = 0; i < sizeof(explain_words) / sizeof(explain_words[0]); i++) {
		if (strcmp(explain_words[i].place, place) == 0)
			return explain_words[i].description;
	}
	return NULL;
}

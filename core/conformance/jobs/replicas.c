/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/jobs/replicas.h"
#include "job/pod.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** What one replica is shown as. */
enum replicas_is { REPLICAS_ABSENT, REPLICAS_RUNS, REPLICAS_ENDED, REPLICAS_FAILED, REPLICAS_RESTARTS };

/** Replica @p index of type @p place, of @p types, in state @p pattern. */
static enum replicas_is replicas_of(int pattern, size_t place, size_t types, int32_t index)
{
	switch (pattern) {
	case 0:
		return REPLICAS_ABSENT;
	case RH_REPLICAS_SUCCEEDED:
		return REPLICAS_ENDED;
	case 3:
		return place == 0 ? REPLICAS_FAILED : REPLICAS_RUNS;
	case 4:
		return place == types - 1 && index == 0 ? REPLICAS_FAILED : REPLICAS_RUNS;
	case 5:
		return place == types - 1 && index == 0 ? REPLICAS_RESTARTS : REPLICAS_RUNS;
	case 6:
		return place == 0 ? REPLICAS_ENDED : REPLICAS_RUNS;
	case 7:
		return (enum replicas_is)((place + (size_t)index) % 5);
	default:
		return REPLICAS_RUNS;
	}
}

static void replicas_count(struct rh_counts *counts, enum replicas_is is)
{
	counts->active += is == REPLICAS_RUNS;
	counts->succeeded += is == REPLICAS_ENDED;
	counts->failed += is == REPLICAS_FAILED;
	counts->restarting += is == REPLICAS_RESTARTS;
}

int rh_replicas_make(struct rh_replicas *replicas, const struct rh_job *job, int pattern)
{
	static const struct rh_pod pods[] = {
		[REPLICAS_RUNS] = {.phase = RH_PHASE_RUNNING, .exit_code = -1},
		[REPLICAS_ENDED] = {.phase = RH_PHASE_SUCCEEDED, .exit_code = 0},
		[REPLICAS_FAILED] = {.phase = RH_PHASE_FAILED, .exit_code = 1},
		[REPLICAS_RESTARTS] = {.phase = RH_PHASE_FAILED, .exit_code = 137},
	};
	size_t at = 0;

	memset(replicas, 0, sizeof(*replicas));
	replicas->pods = rh_alloc_array((size_t)rh_job_total_replicas(job) + 1, sizeof(struct rh_pod *));
	if (!replicas->pods)
		return RH_ENOMEM;
	for (size_t i = 0; i < job->spec_count; i++) {
		const struct rh_counts none = {.head = RH_HEAD(struct rh_counts), .desired = job->specs[i].replicas};

		replicas->counts[i] = none;
		replicas->offsets[i] = at;
		for (int32_t index = 0; index < job->specs[i].replicas; index++) {
			enum replicas_is is = replicas_of(pattern, i, job->spec_count, index);

			replicas_count(&replicas->counts[i], is);
			replicas->pods[at++] = is == REPLICAS_ABSENT ? NULL : &pods[is];
		}
	}
	return 0;
}

void rh_replicas_free(struct rh_replicas *replicas)
{
	rh_free((void *)replicas->pods);
	*replicas = (struct rh_replicas){0};
}

static int replicas_compare(const void *a, const void *b)
{
	const struct rh_address *one = a, *other = b;
	int order = strcmp(one->type, other->type);

	return order != 0 ? order : (one->index > other->index) - (one->index < other->index);
}

int rh_replicas_addresses(const struct rh_job *job, struct rh_addresses *ret_addresses)
{
	size_t count = (size_t)rh_job_total_replicas(job), at = 0;
	struct rh_address *items = rh_alloc_array(count + 1, sizeof(*items));

	if (!items)
		return RH_ENOMEM;
	for (size_t i = 0; i < job->spec_count; i++) {
		for (int32_t index = 0; index < job->specs[i].replicas && at < count; index++, at++) {
			struct rh_address *address = &items[at];

			snprintf(address->type, sizeof(address->type), "%.63s", job->specs[i].type);
			snprintf(address->host, sizeof(address->host), "127.1.%zu.%zu", at / 250, at % 250 + 1);
			address->index = index;
			address->port = 20000 + (int32_t)at;
		}
	}
	qsort(items, at, sizeof(*items), replicas_compare);
	*ret_addresses = (struct rh_addresses){items, at};
	return 0;
}

static int replicas_metadata(const struct rh_job *job, const struct rh_replica_spec *spec, int32_t index,
                             struct rh_json *metadata)
{
	char name[RH_NAME_SIZE], lower[RH_NAME_SIZE], number[16];
	struct rh_json *labels = rh_json_ensure_object(metadata, "labels");
	struct rh_json *owners = rh_json_ensure_array(metadata, "ownerReferences");
	struct rh_json *owner = rh_json_new_object();

	snprintf(number, sizeof(number), "%d", (int)index);
	if (!owners || rh_json_append(owners, owner) < 0 || rh_json_set_string(owner, "name", job->name) < 0 || !labels ||
	    rh_json_set_string(metadata, "name", rh_job_replica_name(job, spec->type, index, name)) < 0 ||
	    rh_json_set_string(metadata, "namespace", job->namespace_) < 0 ||
	    rh_json_set_string(labels, RH_LABEL_JOB, job->name) < 0 ||
	    rh_json_set_string(labels, rh_patterns_label(job->kind, RH_LABEL_TYPE), rh_name_lower(spec->type, lower)) < 0 ||
	    rh_json_set_string(labels, rh_patterns_label(job->kind, RH_LABEL_INDEX), number) < 0)
		return RH_ENOMEM;
	return 0;
}

struct rh_json *rh_replicas_pod(const struct rh_job *job, const struct rh_replica_spec *spec, int32_t index)
{
	const struct rh_json *template_ = rh_json_get(spec->template_, "spec");
	rh_auto(json) pod = rh_json_new_object();
	struct rh_json *metadata = pod ? rh_json_ensure_object(pod, "metadata") : NULL;
	struct rh_json *body = rh_json_type(template_) == RH_JSON_OBJECT ? rh_json_copy(template_) : rh_json_new_object();

	if (!pod || rh_json_set(pod, "spec", body) < 0 || !metadata || rh_json_set_string(pod, "apiVersion", "v1") < 0 ||
	    rh_json_set_string(pod, "kind", "Pod") < 0 || replicas_metadata(job, spec, index, metadata) < 0)
		return NULL;
	return rh_take(pod);
}

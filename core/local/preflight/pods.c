/* SPDX-License-Identifier: Apache-2.0 */
#include "local/preflight/pods.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/os/file.h"
#include "build/build.h"
#include "job/addresses.h"
#include "job/lookups/lookup_files.h"
#include "local/runtime_spec.h"

/* Any port: no process is started with it. */
#define PODS_PORT 1

void rh_preflight_pods_deinit(struct rh_preflight_pods *pods)
{
	for (size_t i = 0; i < RH_TYPES_MAX; i++)
		rh_json_free(rh_take(pods->items[i]));
}

static int pods_compare(const void *a, const void *b)
{
	const struct rh_address *left = a, *right = b;
	int r = strcmp(left->type, right->type);

	return r != 0 ? r : (left->index > right->index) - (left->index < right->index);
}

/* A plugin knows by a plan of addresses that the job runs on one machine. */
static int pods_addresses(const struct rh_job *job, struct rh_addresses *addresses)
{
	int64_t total = rh_job_total_replicas(job);

	addresses->items = rh_alloc_array(total > 0 ? (size_t)total : 1, sizeof(*addresses->items));
	if (!addresses->items)
		return RH_ENOMEM;
	for (size_t i = 0; i < job->spec_count; i++) {
		for (int32_t k = 0; k < job->specs[i].replicas; k++) {
			struct rh_address *at = &addresses->items[addresses->count++];

			*at = (struct rh_address){.index = k, .port = PODS_PORT, .comm_port = PODS_PORT};
			rh_copy(at->type, sizeof(at->type), job->specs[i].type);
			rh_copy(at->host, sizeof(at->host), RH_RUNTIME_SPEC_HOST_IP);
		}
	}
	qsort(addresses->items, addresses->count, sizeof(*addresses->items), pods_compare);
	return 0;
}

/* What a plugin refuses is reported when the job is created, by its own words. */
static int pods_make_all(const struct rh_snapshot *snapshot, struct rh_preflight_pods *pods, struct rh_error *err)
{
	rh_auto(builder) builder = NULL;
	int r = rh_builder_new(snapshot, &builder, err);

	for (size_t i = 0; i < snapshot->job->spec_count && r == 0; i++) {
		const struct rh_replica_spec *spec = &snapshot->job->specs[i];

		r = spec->replicas > 0 ? rh_build_pod(builder, spec->type, 0, &pods->items[i], err) : 0;
		r = r == RH_ENOMEM ? r : 0;
	}
	return r;
}

int rh_preflight_pods_make(const struct rh_host *host, const struct rh_job *job, const struct rh_manifest *files,
                           struct rh_preflight_pods *ret_pods, struct rh_error *err)
{
	struct rh_addresses addresses = {0};
	rh_auto(lookups) lookups = NULL;
	struct rh_snapshot snapshot = {.host = host, .job = job, .addresses = &addresses};
	int r = pods_addresses(job, &addresses) < 0 || rh_lookups_of_files(job, files, &lookups) < 0 ? rh_fail_oom(err) : 0;

	snapshot.lookups = lookups;
	if (r == 0 && rh_lookups_are_complete(job->kind, lookups))
		r = pods_make_all(&snapshot, ret_pods, err);
	rh_addresses_deinit(&addresses);
	return r;
}

char *rh_preflight_folder(const char *source)
{
	/* what follows the file's name in a source has no slash */
	rh_auto_free char *name = rh_path_folder(source);
	char *real = name ? realpath(name, NULL) : NULL; /* malloc'ed by the C library, so copied into ours */
	char *folder = rh_strdup(real ? real : "/");

	free(real);
	return folder;
}

int rh_preflight_check_job(const struct rh_preflight *all, const struct rh_host *host, const struct rh_job *job,
                           const char *source, struct rh_findings *findings, struct rh_error *err)
{
	rh_auto_preflight_pods pods = {{NULL}};
	rh_auto_free char *folder = rh_preflight_folder(source);
	const struct rh_preflight_job one = {job, folder, (const struct rh_json *const *)pods.items};
	int r = folder ? rh_preflight_pods_make(host, job, all->manifest, &pods, err) : rh_fail_oom(err);

	if (r < 0)
		return r;
	return rh_preflight_check(all, &one, findings) < 0 ? rh_fail_oom(err) : 0;
}

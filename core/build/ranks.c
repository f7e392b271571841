/* SPDX-License-Identifier: Apache-2.0 */
#include "build/ranks.h"

#include <inttypes.h>
#include <stdio.h>

#include "build/fabric.h"
#include "host/registry.h"

/* Room for a number. */
#define RANKS_TEXT_SIZE 24

/* The ranks of a job, in the order of its kind's types. */
struct ranks {
	const struct rh_replica_spec *first; /* whose index 0 is rank 0 */
	int64_t rank;                        /* of the replica that is asked for; -1: it is none */
	int64_t world;
};

static bool ranks_is_ranked(const struct rh_replica_spec *spec)
{
	return spec->known && (spec->known->flags & RH_REPLICA_RANKED);
}

static struct ranks ranks_count(const struct rh_job *job, const char *type, int32_t index)
{
	struct ranks ranks = {.rank = -1};

	for (size_t i = 0; i < job->spec_count; i++) {
		const struct rh_replica_spec *spec = &job->specs[i];

		if (!ranks_is_ranked(spec) || spec->replicas <= 0)
			continue;
		if (!ranks.first)
			ranks.first = spec;
		if (rh_text_equal(spec->type, type))
			ranks.rank = ranks.world + index;
		ranks.world += spec->replicas;
	}
	return ranks;
}

/* @return whether the main container has one of the variables */
static bool ranks_has(const struct rh_json *container, const char *const *names, size_t count)
{
	const struct rh_json *item = rh_json_first(rh_json_get(container, "env"));

	for (; item; item = rh_json_next(item)) {
		for (size_t i = 0; i < count; i++) {
			if (rh_text_equal(rh_json_string(rh_json_get(item, "name")), names[i]))
				return true;
		}
	}
	return false;
}

static int ranks_add_number(struct rh_json *pod_spec, const char *name, int64_t number)
{
	char text[RANKS_TEXT_SIZE];

	(void)snprintf(text, sizeof(text), "%" PRId64, number);
	return rh_fabric_add_env(pod_spec, name, text);
}

static const struct rh_address *ranks_address(const struct rh_snapshot *snapshot, const struct rh_replica_spec *spec)
{
	return snapshot->addresses ? rh_addresses_find(snapshot->addresses, spec->type, 0) : NULL;
}

/* The port after that of the framework, as rh_comm itself takes the one after MASTER_PORT; none after the last port.
 */
static int32_t ranks_port_beside(int32_t port)
{
	return port < UINT16_MAX ? port + 1 : port - 1;
}

static int ranks_add_place(const struct rh_snapshot *snapshot, const struct rh_replica_spec *first,
                           struct rh_json *pod_spec)
{
	const struct rh_address *address = ranks_address(snapshot, first);
	rh_auto_str host = {0};

	if (address)
		return rh_fabric_add_env(pod_spec, "RH_COMM_HOST", address->host) < 0
		           ? RH_ENOMEM
		           : ranks_add_number(pod_spec, "RH_COMM_PORT",
		                              address->comm_port ? address->comm_port : ranks_port_beside(address->port));
	rh_host_reach(snapshot, first->type, 0, &host);
	if (host.failed || rh_fabric_add_env(pod_spec, "RH_COMM_HOST", rh_str_text(&host)) < 0)
		return RH_ENOMEM;
	return ranks_add_number(pod_spec, "RH_COMM_PORT", ranks_port_beside(rh_job_port(snapshot->job, first->type)));
}

/* With MASTER_ADDR, rh_comm would take the port after MASTER_PORT, which may belong to another replica. */
static int ranks_add_port(const struct rh_snapshot *snapshot, struct rh_json *pod_spec)
{
	const struct rh_address *address =
		snapshot->job->spec_count > 0 ? ranks_address(snapshot, &snapshot->job->specs[0]) : NULL;

	return address && address->comm_port ? ranks_add_number(pod_spec, "RH_COMM_PORT", address->comm_port) : 0;
}

int rh_ranks_add(const struct rh_snapshot *snapshot, const char *type, int32_t index, struct rh_json *pod)
{
	static const char *const known[] = {"RANK", "RH_COMM_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"};
	static const char *const master[] = {"MASTER_ADDR"};
	const struct rh_job *job = snapshot->job;
	struct rh_json *pod_spec = rh_json_get(pod, "spec");
	struct rh_json *container = rh_job_main_container(job->kind, pod_spec);
	struct ranks ranks = ranks_count(job, type, index);

	if (!container || !snapshot->host || !rh_fabric_backend(snapshot->host->config, job))
		return 0;
	if (ranks_has(container, master, 1))
		return ranks_add_port(snapshot, pod_spec);
	if (ranks.rank < 0 || ranks_has(container, known, sizeof(known) / sizeof(known[0])))
		return 0;
	if (ranks_add_number(pod_spec, "RH_COMM_RANK", ranks.rank) < 0 ||
	    ranks_add_number(pod_spec, "RH_COMM_WORLD", ranks.world) < 0)
		return RH_ENOMEM;
	return ranks_add_place(snapshot, ranks.first, pod_spec);
}

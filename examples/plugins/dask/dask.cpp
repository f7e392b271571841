/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DaskJob: a Dask cluster for the time of one job, as a plugin in C++. The Scheduler and the Workers never end by
 * themselves; the Runner holds the program of the user, and with its end the job ends.
 */
#include "roundhouse/plugin.hpp"

using roundhouse::Findings;
using roundhouse::Pod;
using roundhouse::Text;
using roundhouse::View;

namespace
{

constexpr rh_replica_type runner = roundhouse::replica_type("Runner", RH_REPLICA_LEADER | RH_REPLICA_REQUIRED, 1, 1);
constexpr rh_replica_type scheduler = roundhouse::replica_type("Scheduler", RH_REPLICA_REQUIRED, 1, 1);
constexpr rh_replica_type worker = roundhouse::replica_type("Worker", RH_REPLICA_REQUIRED, 1);

/* The order in which they start: a Worker and the Runner try again until the Scheduler answers. */
constexpr const rh_replica_type *types[] = {&scheduler, &worker, &runner, nullptr};

constexpr char schema[] = R"json({
"protocol": {"type": "string", "enum": ["tcp", "tls", "ucx"],
             "description": "How the processes of the cluster talk to each other. Default: tcp."},
"nthreads": {"type": "integer", "format": "int32", "minimum": 1,
             "description": "Threads of one Worker, for the commands of the job. Default: 1."}
})json";

constexpr char contract[] = R"json([
{"what": "env", "name": "DASK_SCHEDULER_ADDRESS", "value": "PROTOCOL://HOST:PORT of the Scheduler; Client() reads it",
 "source": "spec.protocol"},
{"what": "env", "name": "DASK_HOST", "value": "where this replica is reached: the value for --host"},
{"what": "env", "name": "DASK_PORT", "value": "the Scheduler's port: the value for --port"},
{"what": "env", "name": "DASK_WORKER_NAME", "value": "the name of the Worker's pod: the value for --name",
 "types": ["Worker"]},
{"what": "env", "name": "DASK_NTHREADS", "value": "the value for --nthreads", "source": "spec.nthreads",
 "types": ["Worker"]},
{"what": "env", "name": "DASK_NWORKERS", "value": "the number of Workers: the value for wait_for_workers()",
 "types": ["Runner"]}
])json";

constexpr rh_kind describe_job()
{
	rh_kind kind = roundhouse::kind_of("example.org", "DaskJob", types);

	kind.plural = "daskjobs";
	kind.singular = "daskjob";
	kind.framework = "dask";
	kind.controller = "daskjob-controller";
	kind.replicas_field = "daskReplicaSpecs";
	kind.container = "dask";
	kind.port_name = "daskjob-port";
	kind.port = 8786;
	kind.scale_type = "Worker";
	/* a local Scheduler has an address of its own, as DASK_HOST */
	kind.flags = RH_KIND_SERVICES | RH_KIND_DNS_NAME | RH_KIND_SELECTOR;
	kind.spec_schema = schema;
	kind.contract = contract;
	return kind;
}

constexpr rh_kind description = describe_job();

class DaskJob : public roundhouse::Kind
{
  public:
	const rh_kind &describe() const override
	{
		return description;
	}

	void validate(const View &view, Findings &findings) const override
	{
		const Text policy = view.text("spec.runPolicy.cleanPodPolicy").value_or("None");

		if (policy == "None")
			findings.warn("spec.runPolicy.cleanPodPolicy: the Scheduler and the Workers never end by themselves; set "
			              "Running");
		if (view.restart_policy("Runner") == std::optional<Text>("Always"))
			findings.refuse("spec.daskReplicaSpecs[Runner].restartPolicy",
			                "Unsupported value: \"Always\": the job would never end");
	}

	void pod(const View &view, const rh_replica &me, Pod &pod) const override
	{
		const Text type(me.type);
		const std::string scheduler_is(view.text("spec.protocol").value_or("tcp"));

		pod.env("DASK_SCHEDULER_ADDRESS", scheduler_is + "://" + view.address("Scheduler", 0));
		pod.env("DASK_HOST", view.host(type, me.index));
		pod.env("DASK_PORT", view.port("Scheduler", 0));
		if (type == "Worker") {
			pod.env("DASK_WORKER_NAME", view.pod_name(type, me.index));
			pod.env("DASK_NTHREADS", view.integer("spec.nthreads").value_or(1));
		}
		if (type == "Runner")
			pod.env("DASK_NWORKERS", view.replicas("Worker").value_or(0));
	}
};

} // namespace

ROUNDHOUSE_PLUGIN("dask", "0.1.0", DaskJob)

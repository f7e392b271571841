// SPDX-License-Identifier: Apache-2.0
//! RayJob: a Ray cluster for the time of one job, as a plugin in Rust. The Head starts Ray's control store and runs the
//! program of the user; with its end the job ends. Workers join the Head and never end by themselves.

use roundhouse_plugin::{abi::*, plugin, Description, Findings, Kind, Pod, Replica, ReplicaType, Result, View};

struct RayJob;

fn types() -> Vec<ReplicaType> {
    let head = ReplicaType {
        name: "Head",
        min_replicas: 1,
        max_replicas: 1,
        flags: RH_REPLICA_LEADER | RH_REPLICA_REQUIRED,
        ..ReplicaType::default()
    };
    vec![head, ReplicaType { name: "Worker", ..ReplicaType::default() }]
}

impl Kind for RayJob {
    fn describe(&self) -> Description {
        Description {
            plural: "rayjobs",
            singular: "rayjob",
            framework: "ray",
            controller: "rayjob-controller",
            replicas_field: "rayReplicaSpecs",
            container: Some("ray"),
            port: Some(("rayjob-port", 6379)),
            scale_type: Some("Worker"),
            // Ray's servers bind every interface, so that each job of a machine needs a port of its own
            flags: RH_KIND_SERVICES | RH_KIND_DNS_NAME | RH_KIND_SELECTOR | RH_KIND_BINDS_ALL,
            spec_schema: Some(include_str!("schema.json")),
            contract: Some(include_str!("contract.json")),
            ..Description::new("example.org", "RayJob", types())
        }
    }

    fn validate(&self, view: &View, findings: &mut Findings) -> Result {
        let workers = view.replicas("Worker").unwrap_or(0);
        if workers > 0 && view.text("spec.runPolicy.cleanPodPolicy").unwrap_or("None") == "None" {
            findings.warn("spec.runPolicy.cleanPodPolicy: the Workers never end by themselves; set Running")?;
        }
        if view.restart_policy("Head") == Some("Always") {
            let detail = "Unsupported value: \"Always\": the job would never end";
            findings.refuse("spec.rayReplicaSpecs[Head].restartPolicy", detail)?;
        }
        Ok(())
    }

    fn pod(&self, view: &View, me: &Replica, pod: &mut Pod) -> Result {
        let nodes: i32 = view.types().filter_map(|type_| view.replicas(type_)).sum();

        pod.env("RAY_ADDRESS", view.address("Head", 0)?)?;
        pod.env_number("RAY_PORT", view.port("Head", 0)?)?;
        pod.env("RAY_NODE_IP", view.host(me.type_, me.index)?)?;
        pod.env("RAY_NODE_NAME", view.pod_name(me.type_, me.index)?)?;
        pod.env_number("RAY_NODES", nodes)?;
        pod.env_number("RAY_NUM_CPUS", view.integer("spec.numCpus").unwrap_or(1))
    }
}

plugin!(name = "ray", release = env!("CARGO_PKG_VERSION"), kinds = [RayJob]);

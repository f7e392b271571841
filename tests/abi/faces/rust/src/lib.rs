// SPDX-License-Identifier: Apache-2.0
//! What test_faces.py asks; faces.cpp has the same answers in C++.

use roundhouse_plugin::{
    abi::*, plugin, Counts, Description, Error, Findings, Judgement, Kind, Objects, Pod, Replica, ReplicaType, Restart,
    Result, Verdicts, View,
};

struct FaceJob;
struct PlainJob;

const SCHEMA: &str = r#"{"mode": {"type": "string"}, "count": {"type": "integer"}, "list": {"type": "array",
    "items": {"type": "string"}}, "flag": {"type": "boolean"}}"#;

fn description() -> Description {
    let peer = ReplicaType { name: "Peer", min_replicas: 1, flags: RH_REPLICA_REQUIRED, ..ReplicaType::default() };
    let helper = ReplicaType { name: "Helper", ..ReplicaType::default() };
    Description {
        plural: "facejobs",
        singular: "facejob",
        framework: "face",
        controller: "facejob-controller",
        replicas_field: "faceReplicaSpecs",
        port: Some(("face-port", 7000)),
        flags: RH_KIND_SERVICES | RH_KIND_DNS_NAME,
        spec_schema: Some(SCHEMA),
        ..Description::new("example.org", "FaceJob", vec![peer, helper])
    }
}

fn fail_by(mode: &str) -> Result {
    match mode {
        "invalid" => Err(Error::new(RH_EINVAL, "the user must change it")),
        "text" => Err("went wrong".into()),
        "memory" => Err(Error::new(RH_ENOMEM, "out of memory")),
        "other" => std::panic::panic_any(7),
        "zero" => panic!("before\0behind"),
        _ => {
            let empty: Vec<i32> = Vec::new();
            Err(empty[mode.len()].to_string().into())
        }
    }
}

impl Kind for FaceJob {
    fn describe(&self) -> Description {
        description()
    }
    fn validate(&self, view: &View, findings: &mut Findings) -> Result {
        match view.text("spec.mode") {
            Some("refuse") => {
                findings.refuse("spec.mode", "Forbidden: refused")?;
                findings.warn("warned")
            }
            Some("validate") => Err("validate went wrong".into()),
            _ => Ok(()),
        }
    }
    fn pod(&self, view: &View, me: &Replica, pod: &mut Pod) -> Result {
        let mode = view.text("spec.mode");
        if let Some(mode) = mode.filter(|mode| *mode != "edit") {
            return fail_by(mode);
        }
        pod.env("TYPE", me.type_)?;
        pod.env_number("RANK", me.rank)?;
        pod.env("NAME", view.pod_name(me.type_, me.index)?)?;
        pod.env("FIRST", view.address("Peer", 0)?)?;
        pod.env_number("COUNT", view.integer("spec.count").unwrap_or(-1))?;
        pod.env("LIST", view.json("spec.list").unwrap_or("none"))?;
        pod.env_number("SIZE", view.size("spec.list").unwrap_or(-1))?;
        pod.env("FLAG", if view.boolean("spec.flag") { "yes" } else { "no" })?;
        pod.env_number("HELPERS", view.replicas("Helper").unwrap_or(-1))?;
        pod.env("POLICY", view.restart_policy("Peer").unwrap_or("none"))?;
        pod.env("QUOTED", view.quote("a \"b\"")?)?;
        pod.env("SETTING", view.setting("key").unwrap_or("unset"))?;
        pod.env("LONG", "x".repeat(1000))?;
        if mode.is_some() {
            pod.edit("spec.hostNetwork", "true")?;
            pod.edit("status", "{}")?;
        }
        Ok(())
    }
    fn objects(&self, view: &View, objects: &mut Objects) -> Result {
        if view.boolean("spec.flag") {
            objects.add(r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "face"}, "data": {"a": "b"}}"#)?;
        }
        Ok(())
    }
}

/// Peers run one after the other, all of them twice.
fn judge_in_turn(view: &View, counts: &Counts, verdicts: &mut Verdicts) -> Result<Judgement> {
    let first = view.replica("Peer", 0);
    verdicts.status("done", &counts.succeeded.to_string())?;
    if counts.ready.is_none() {
        verdicts.failed("Peer", Some("the host does not say who is ready"))?;
    } else if first.map_or(true, |first| first.phase != RH_PHASE_SUCCEEDED) {
        verdicts.hold("Peer", Some(1), "waits for the first")?;
    } else if counts.succeeded == counts.desired && view.attempt() == 0 {
        verdicts.restart(Restart::All, RH_RESTART_FREE, None, Some("once more"))?;
    } else if counts.succeeded == counts.desired {
        verdicts.conclude(RH_VERDICT_SUCCEEDED, None, "DoneTwice", Some("all peers are done twice"))?;
    }
    Ok(Judgement::Complete)
}

impl Kind for PlainJob {
    fn describe(&self) -> Description {
        Description {
            kind: "PlainJob",
            plural: "plainjobs",
            singular: "plainjob",
            controller: "plainjob-controller",
            status_schema: Some(r#"{"done": {"type": "integer"}}"#),
            ..description()
        }
    }
    fn pod(&self, _view: &View, _me: &Replica, pod: &mut Pod) -> Result {
        pod.env("PLAIN", "1")
    }
    fn judge(&self, view: &View, verdicts: &mut Verdicts) -> Result<Judgement> {
        match view.counts("Peer") {
            Some(counts) if view.boolean("spec.flag") => judge_in_turn(view, &counts, verdicts),
            Some(counts) if counts.succeeded >= counts.desired => {
                verdicts.succeeded(Some("all peers are done"))?;
                Ok(Judgement::Complete)
            }
            _ => Ok(Judgement::Core),
        }
    }
}

plugin!(name = "face", release = env!("CARGO_PKG_VERSION"), kinds = [FaceJob, PlainJob]);

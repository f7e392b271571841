// SPDX-License-Identifier: Apache-2.0
//! What test_faces.py asks; faces.cpp has the same answers in C++.

use roundhouse_plugin::{
    abi::*, plugin, Counts, Description, Error, Expansion, Findings, Judgement, Kind, Lookup, Made, MakeRequest, Objects,
    Pod, Replica, ReplicaType, Restart, Result, Verdicts, View,
};

struct FaceJob;
struct PlainJob;
struct WideJob;

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

const LOOKUPS: &str = r#"[{"name": "sizes", "apiVersion": "v1", "required": false, "kinds": [{"kind": "ConfigMap",
    "plural": "configmaps", "scope": "Namespaced"}], "object": {"from": "spec.sizes"}}]"#;
const TEMPLATE: &str = r#"{"spec": {"containers": [{"name": "c", "image": "debian",
    "command": ["sh", "-c", "true"]}]}}"#;

/// A replica type for each key of the ConfigMap that the job names, and a Secret that is made of random bytes.
impl Kind for WideJob {
    fn describe(&self) -> Description {
        Description {
            plural: "widejobs",
            singular: "widejob",
            framework: "wide",
            controller: "widejob-controller",
            flags: RH_KIND_EXPANDED,
            spec_schema: Some(r#"{"sizes": {"type": "string"}, "ask": {"type": "string"}, "fail": {"type": "boolean"}}"#),
            rbac_rules: Some(r#"[{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create", "delete", "list"]}]"#),
            lookups: Some(LOOKUPS),
            ..Description::new("example.org", "WideJob", vec![])
        }
    }
    fn expand(&self, view: &View, expansion: &mut Expansion) -> Result {
        if let Some(asked) = view.text("spec.ask") {
            view.lookup(asked)?;
        }
        match view.lookup("sizes")? {
            Lookup::Unnamed => return expansion.refuse("spec.sizes", "Required value: must name a ConfigMap"),
            Lookup::Absent => return expansion.refuse("spec.sizes", "Not found: no such ConfigMap"),
            Lookup::Found => (),
        }
        let mut types = Vec::new();
        while let Some(key) = view.key("@sizes.data", types.len() as u32)? {
            let replicas = view.text(view.member("@sizes.data", key)?).unwrap_or("1");
            let name = view.quote(key)?;
            types.push(format!(r#"{{"name": {}, "replicas": {}, "template": {}}}"#, name, replicas, TEMPLATE));
        }
        expansion.give(&format!(r#"{{"types": [{}]}}"#, types.join(",")))
    }
    fn objects(&self, _view: &View, objects: &mut Objects) -> Result {
        let secret = r#"{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "wide-token"}}"#;
        objects.add_with(secret, RH_OBJECT_ONCE, 4)
    }
    fn make(&self, view: &View, request: &MakeRequest, made: &mut Made) -> Result {
        let text: String = request.random.iter().map(|byte| char::from(b'a' + byte % 26)).collect();
        if view.boolean("spec.fail") {
            let what = format!("{} {}/{} of {} letters", request.api_version, request.kind, request.name, text.len());
            return Err(Error::new(RH_EINVAL, what));
        }
        made.give(&format!(
            r#"{{"apiVersion": "v1", "kind": "Secret", "metadata": {{"name": "wide-token"}}, "stringData": {{"a": "{}"}}}}"#,
            text
        ))
    }
}

plugin!(name = "face", release = env!("CARGO_PKG_VERSION"), kinds = [FaceJob, PlainJob, WideJob]);

// SPDX-License-Identifier: Apache-2.0
//! Descriptions, and the static data that the host gets of them.

use crate::abi;
use std::ffi::CString;
use std::os::raw::c_char;

/// One replica type of a kind.
#[derive(Clone, Copy, Debug)]
pub struct ReplicaType {
    /// Canonical spelling: "Master".
    pub name: &'static str,
    /// What a missing replicas means.
    pub default_replicas: i32,
    /// Fewest allowed.
    pub min_replicas: i32,
    /// Most allowed; 0 is no limit.
    pub max_replicas: i32,
    /// RH_REPLICA_*
    pub flags: u32,
    /// Since 1.2: default restartPolicy of this type; that of the kind.
    pub restart_policy: Option<&'static str>,
    /// Since 1.2: where the type is, outside of the map.
    pub path: Option<&'static str>,
}

impl Default for ReplicaType {
    fn default() -> Self {
        ReplicaType { name: "", default_replicas: 1, min_replicas: 0, max_replicas: 0, flags: 0, restart_policy: None, path: None }
    }
}

/// What a kind is; `struct rh_kind` says more of each field.
#[derive(Clone, Debug)]
pub struct Description {
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    pub plural: &'static str,
    pub singular: &'static str,
    /// Value of the metrics label framework.
    pub framework: &'static str,
    /// Value of the operator-name label.
    pub controller: &'static str,
    /// Member of spec that maps types to replicas; "" with `replicas_path`.
    pub replicas_field: &'static str,
    /// In start order.
    pub types: Vec<ReplicaType>,
    /// Its index 0 has the master role in a job without a leader type.
    pub leader_fallback: Option<&'static str>,
    /// Name of the main container; the first one, whatever its name.
    pub container: Option<&'static str>,
    /// Name and number of its port.
    pub port: Option<(&'static str, u16)>,
    /// Default restartPolicy of a replica.
    pub restart_policy: &'static str,
    /// Type that the scale subresource scales.
    pub scale_type: Option<&'static str>,
    /// RH_KIND_*
    pub flags: u32,
    /// OpenAPI v3 "properties" of spec, as JSON.
    pub spec_schema: Option<&'static str>,
    /// JSON array of additionalPrinterColumns.
    pub columns: Option<&'static str>,
    /// JSON array of PolicyRules that its objects need.
    pub rbac_rules: Option<&'static str>,
    /// JSON array of CEL rules of the CRD.
    pub cel_rules: Option<&'static str>,
    /// JSON array of what pod() and objects() add, for people.
    pub contract: Option<&'static str>,
    /// Since 1.2: where the map of replica types is.
    pub replicas_path: Option<&'static str>,
    /// Since 1.2: where the run policy is.
    pub run_policy_path: Option<&'static str>,
    /// Since 1.2: JSON object with defaults of the run policy.
    pub run_policy: Option<&'static str>,
    /// Since 1.2: JSON array of the values of managedBy; the first is this program.
    pub managers: Option<&'static str>,
    /// Since 1.2: JSON array of required members of spec.
    pub spec_required: Option<&'static str>,
    /// Since 1.2: JSON object, what the kind calls its conditions.
    pub conditions: Option<&'static str>,
    /// Since 1.2: JSON object, the properties of status that judge() writes.
    pub status_schema: Option<&'static str>,
    /// Since 1.2: pattern of the names of pods.
    pub pod_name: Option<&'static str>,
    /// Since 1.2: pattern of the names by which replicas are reached on a cluster.
    pub host_name: Option<&'static str>,
    /// Since 1.2: JSON array, other objects that a job names; reads see them below "@NAME.".
    pub lookups: Option<&'static str>,
}

impl Description {
    /// What every kind needs; version "v1", default restart policy "Never".
    pub fn new(group: &'static str, kind: &'static str, types: Vec<ReplicaType>) -> Self {
        Description {
            group,
            version: "v1",
            kind,
            plural: "",
            singular: "",
            framework: "",
            controller: "",
            replicas_field: "",
            types,
            leader_fallback: None,
            container: None,
            port: None,
            restart_policy: "Never",
            scale_type: None,
            flags: 0,
            spec_schema: None,
            columns: None,
            rbac_rules: None,
            cel_rules: None,
            contract: None,
            replicas_path: None,
            run_policy_path: None,
            run_policy: None,
            managers: None,
            spec_required: None,
            conditions: None,
            status_schema: None,
            pod_name: None,
            host_name: None,
            lookups: None,
        }
    }
}

/// Owns what the host borrows: nothing in it moves or changes until it is dropped.
#[derive(Default)]
pub(crate) struct Kept {
    texts: Vec<CString>,
    types: Vec<Box<[abi::ReplicaType]>>,
    lists: Vec<Box<[*const abi::ReplicaType]>>,
}

impl Kept {
    /// The text, zero-terminated.
    pub(crate) fn text(&mut self, text: &str) -> *const c_char {
        // what is behind a zero byte nobody could read
        let bytes: Vec<u8> = text.bytes().take_while(|byte| *byte != 0).collect();
        self.texts.push(CString::new(bytes).unwrap_or_default());
        self.texts[self.texts.len() - 1].as_ptr()
    }

    fn optional(&mut self, text: Option<&str>) -> *const c_char {
        text.map_or(std::ptr::null(), |text| self.text(text))
    }

    fn types(&mut self, types: &[ReplicaType]) -> *const *const abi::ReplicaType {
        let mut made: Vec<abi::ReplicaType> = Vec::new();
        for type_ in types {
            made.push(abi::ReplicaType {
                head: abi::Head::of::<abi::ReplicaType>(),
                name: self.text(type_.name),
                default_replicas: type_.default_replicas,
                min_replicas: type_.min_replicas,
                max_replicas: type_.max_replicas,
                flags: type_.flags,
                restart_policy: self.optional(type_.restart_policy),
                path: self.optional(type_.path),
            });
        }
        let made = made.into_boxed_slice();
        let list: Vec<_> = made.iter().map(|type_| type_ as *const _).chain([std::ptr::null()]).collect();
        self.types.push(made);
        self.lists.push(list.into_boxed_slice());
        self.lists[self.lists.len() - 1].as_ptr()
    }

    /// The description for the host.
    pub(crate) fn kind(&mut self, from: &Description) -> abi::Kind {
        abi::Kind {
            head: abi::Head::of::<abi::Kind>(),
            group: self.text(from.group),
            version: self.text(from.version),
            kind: self.text(from.kind),
            plural: self.text(from.plural),
            singular: self.text(from.singular),
            framework: self.text(from.framework),
            controller: self.text(from.controller),
            replicas_field: self.optional(Some(from.replicas_field).filter(|name| !name.is_empty())),
            types: self.types(&from.types),
            leader_fallback: self.optional(from.leader_fallback),
            container: self.optional(from.container),
            port_name: self.optional(from.port.map(|port| port.0)),
            restart_policy: self.text(from.restart_policy),
            scale_type: self.optional(from.scale_type),
            port: from.port.map_or(0, |port| i32::from(port.1)),
            flags: from.flags,
            spec_schema: self.optional(from.spec_schema),
            columns: self.optional(from.columns),
            rbac_rules: self.optional(from.rbac_rules),
            cel_rules: self.optional(from.cel_rules),
            contract: self.optional(from.contract),
            replicas_path: self.optional(from.replicas_path),
            run_policy_path: self.optional(from.run_policy_path),
            run_policy: self.optional(from.run_policy),
            managers: self.optional(from.managers),
            spec_required: self.optional(from.spec_required),
            conditions: self.optional(from.conditions),
            status_schema: self.optional(from.status_schema),
            pod_name: self.optional(from.pod_name),
            host_name: self.optional(from.host_name),
            lookups: self.optional(from.lookups),
        }
    }
}

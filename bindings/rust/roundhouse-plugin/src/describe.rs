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
}

impl Default for ReplicaType {
    fn default() -> Self {
        ReplicaType { name: "", default_replicas: 1, min_replicas: 0, max_replicas: 0, flags: 0 }
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
    /// Member of spec that maps types to replicas.
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
        }
    }
}

/// A text for the host that lives as long as the process.
pub(crate) fn kept(text: &str) -> *const c_char {
    // what is behind a zero byte nobody could read
    let bytes: Vec<u8> = text.bytes().take_while(|byte| *byte != 0).collect();
    CString::new(bytes).unwrap_or_default().into_raw()
}

fn kept_optional(text: Option<&str>) -> *const c_char {
    text.map_or(std::ptr::null(), kept)
}

fn kept_types(types: &[ReplicaType]) -> *const *const abi::ReplicaType {
    let mut list: Vec<*const abi::ReplicaType> = Vec::new();
    for type_ in types {
        let made = abi::ReplicaType {
            head: abi::Head::of::<abi::ReplicaType>(),
            name: kept(type_.name),
            default_replicas: type_.default_replicas,
            min_replicas: type_.min_replicas,
            max_replicas: type_.max_replicas,
            flags: type_.flags,
        };
        list.push(Box::leak(Box::new(made)));
    }
    list.push(std::ptr::null());
    Box::leak(list.into_boxed_slice()).as_ptr()
}

/// The description for the host; it lives as long as the process, as the ABI wants static data.
pub(crate) fn kept_kind(from: &Description) -> &'static abi::Kind {
    Box::leak(Box::new(abi::Kind {
        head: abi::Head::of::<abi::Kind>(),
        group: kept(from.group),
        version: kept(from.version),
        kind: kept(from.kind),
        plural: kept(from.plural),
        singular: kept(from.singular),
        framework: kept(from.framework),
        controller: kept(from.controller),
        replicas_field: kept(from.replicas_field),
        types: kept_types(&from.types),
        leader_fallback: kept_optional(from.leader_fallback),
        container: kept_optional(from.container),
        port_name: kept_optional(from.port.map(|port| port.0)),
        restart_policy: kept(from.restart_policy),
        scale_type: kept_optional(from.scale_type),
        port: from.port.map_or(0, |port| i32::from(port.1)),
        flags: from.flags,
        spec_schema: kept_optional(from.spec_schema),
        columns: kept_optional(from.columns),
        rbac_rules: kept_optional(from.rbac_rules),
        cel_rules: kept_optional(from.cel_rules),
        contract: kept_optional(from.contract),
    }))
}

// SPDX-License-Identifier: Apache-2.0
//! Prints size and offset of every member of the ABI's structs, in the words of the C header. A test of Roundhouse
//! compares this with what a program in C prints.

use roundhouse_plugin::abi::*;
use std::mem::{size_of, MaybeUninit};
use std::ptr::addr_of;

macro_rules! layout {
    ($name:literal, $type:ty, $($member:ident $(as $c:literal)?),+ $(,)?) => {
        println!("{} {}", $name, size_of::<$type>());
        let room = MaybeUninit::<$type>::uninit();
        let start = room.as_ptr();
        $(
            // addresses alone: nothing is read
            let offset = unsafe { addr_of!((*start).$member) as usize } - start as usize;
            let names = [stringify!($member) $(, $c)?];
            println!("{}.{} {}", $name, names[names.len() - 1], offset);
        )+
    };
}

fn main() {
    layout!("rh_head", Head, size, major, minor, vendor);
    layout!(
        "rh_replica_type", ReplicaType, head, name, default_replicas, min_replicas, max_replicas, flags, restart_policy,
        path
    );
    layout!(
        "rh_kind", Kind, head, group, version, kind, plural, singular, framework, controller, replicas_field, types,
        leader_fallback, container, port_name, restart_policy, scale_type, port, flags, spec_schema, columns,
        rbac_rules, cel_rules, contract, replicas_path, run_policy_path, run_policy,
        managers, spec_required, conditions, status_schema, pod_name, host_name, lookups
    );
    layout!("rh_replica", Replica, head, type_ as "type", index, rank);
    layout!("rh_counts", Counts, head, desired, active, succeeded, failed, restarting, ready);
    layout!("rh_replica_state", ReplicaState, head, phase, exit_code, ready);
    layout!(
        "rh_services", Services, head, text, integer, boolean, size, json, quote, setting, type_ as "type", replicas,
        restart_policy, pod_name, host, port, state, attempt, counts, replica, condition, fail, note, refuse, env,
        edit, object, verdict, key, member, gang, object_with, hold, conclude, status, lookup,
        expansion, restart
    );
    layout!("rh_object_options", ObjectOptions, head, flags, random_bytes);
    layout!("rh_made", MadeObject, head, api_version, kind, name, random, random_bytes);
    layout!(
        "rh_plugin", Plugin, head, name, release, init, fini, describe, validate, pod, objects, judge, settings, resources,
        make, expand
    );
    for (name, value) in [
        ("RH_ABI_MAJOR", i64::from(RH_ABI_MAJOR)),
        ("RH_ABI_MINOR", i64::from(RH_ABI_MINOR)),
        ("RH_DEFAULT", i64::from(RH_DEFAULT)),
        ("RH_EINVAL", i64::from(RH_EINVAL)),
        ("RH_ENOMEM", i64::from(RH_ENOMEM)),
        ("RH_EAGAIN", i64::from(RH_EAGAIN)),
        ("RH_EPLUGIN", i64::from(RH_EPLUGIN)),
        ("RH_STATE_LOCAL", i64::from(RH_STATE_LOCAL)),
        ("RH_STATE_SUSPENDED", i64::from(RH_STATE_SUSPENDED)),
        ("RH_STATE_FINISHED", i64::from(RH_STATE_FINISHED)),
        ("RH_REPLICA_LEADER", i64::from(RH_REPLICA_LEADER)),
        ("RH_REPLICA_REQUIRED", i64::from(RH_REPLICA_REQUIRED)),
        ("RH_REPLICA_EXPLICIT", i64::from(RH_REPLICA_EXPLICIT)),
        ("RH_REPLICA_UNINDEXED", i64::from(RH_REPLICA_UNINDEXED)),
        ("RH_REPLICA_RANKED", i64::from(RH_REPLICA_RANKED)),
        ("RH_REPLICA_OUTSIDE", i64::from(RH_REPLICA_OUTSIDE)),
        ("RH_KIND_SERVICES", i64::from(RH_KIND_SERVICES)),
        ("RH_KIND_DNS_NAME", i64::from(RH_KIND_DNS_NAME)),
        ("RH_KIND_SELECTOR", i64::from(RH_KIND_SELECTOR)),
        ("RH_KIND_ANY_CASE", i64::from(RH_KIND_ANY_CASE)),
        ("RH_KIND_OPEN_TYPES", i64::from(RH_KIND_OPEN_TYPES)),
        ("RH_KIND_BINDS_ALL", i64::from(RH_KIND_BINDS_ALL)),
        ("RH_KIND_SHARED_PORT", i64::from(RH_KIND_SHARED_PORT)),
        ("RH_KIND_STORAGE", i64::from(RH_KIND_STORAGE)),
        ("RH_KIND_FALLBACK", i64::from(RH_KIND_FALLBACK)),
        ("RH_KIND_EXPANDED", i64::from(RH_KIND_EXPANDED)),
        ("RH_KIND_OPT_IN", i64::from(RH_KIND_OPT_IN)),
        ("RH_KIND_OWN_LIMITS", i64::from(RH_KIND_OWN_LIMITS)),
        ("RH_KIND_OWN_GANG", i64::from(RH_KIND_OWN_GANG)),
        ("RH_KIND_OWN_LABELS", i64::from(RH_KIND_OWN_LABELS)),
        ("RH_KIND_OWN_STATUS", i64::from(RH_KIND_OWN_STATUS)),
        ("RH_LOOKUP_FOUND", i64::from(RH_LOOKUP_FOUND)),
        ("RH_LOOKUP_ABSENT", i64::from(RH_LOOKUP_ABSENT)),
        ("RH_LOOKUP_UNNAMED", i64::from(RH_LOOKUP_UNNAMED)),
        ("RH_OBJECT_ONCE", i64::from(RH_OBJECT_ONCE)),
        ("RH_OBJECT_RETAIN", i64::from(RH_OBJECT_RETAIN)),
        ("RH_OBJECT_PAIR", i64::from(RH_OBJECT_PAIR)),
        ("RH_PAIR_BYTES", i64::from(RH_PAIR_BYTES)),
        ("RH_PHASE_ABSENT", i64::from(RH_PHASE_ABSENT)),
        ("RH_PHASE_PENDING", i64::from(RH_PHASE_PENDING)),
        ("RH_PHASE_RUNNING", i64::from(RH_PHASE_RUNNING)),
        ("RH_PHASE_SUCCEEDED", i64::from(RH_PHASE_SUCCEEDED)),
        ("RH_PHASE_FAILED", i64::from(RH_PHASE_FAILED)),
        ("RH_VERDICT_RUNNING", i64::from(RH_VERDICT_RUNNING)),
        ("RH_VERDICT_SUCCEEDED", i64::from(RH_VERDICT_SUCCEEDED)),
        ("RH_VERDICT_FAILED", i64::from(RH_VERDICT_FAILED)),
        ("RH_VERDICT_RESTARTING", i64::from(RH_VERDICT_RESTARTING)),
        ("RH_RESTART_FREE", i64::from(RH_RESTART_FREE)),
        ("RH_NOTE_DEBUG", i64::from(RH_NOTE_DEBUG)),
        ("RH_NOTE_INFO", i64::from(RH_NOTE_INFO)),
        ("RH_NOTE_WARN", i64::from(RH_NOTE_WARN)),
    ] {
        println!("{} {}", name, value);
    }
}

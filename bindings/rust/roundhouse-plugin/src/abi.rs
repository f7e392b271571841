// SPDX-License-Identifier: Apache-2.0
//! The structs of `roundhouse/plugin.h` 1.2 as they cross the border. Plugins need the constants of it alone.
//!
//! `examples/layout.rs` prints size and offset of every member, and a test of Roundhouse compares them with the header.

use std::mem::size_of;
use std::os::raw::{c_char, c_void};

/// Breaking level; part of the entry function's name.
pub const RH_ABI_MAJOR: u16 = 1;
/// Growth level that this crate is written against.
pub const RH_ABI_MINOR: u16 = 2;
/// Who defines this ABI, zero-padded.
pub const RH_ABI_VENDOR: [u8; 16] = *b"roundhouse\0\0\0\0\0\0";

/// What `judge()` returns to leave it to the core.
pub const RH_DEFAULT: i32 = 1;

/// Success.
pub const RH_OK: i32 = 0;
/// The input is wrong; the user must change it.
pub const RH_EINVAL: i32 = -1;
/// Out of memory.
pub const RH_ENOMEM: i32 = -2;
/// A passing fault; the host calls again with back-off.
pub const RH_EAGAIN: i32 = -3;
/// A plugin broke its contract.
pub const RH_EPLUGIN: i32 = -4;

/// Replicas are reached by address.
pub const RH_STATE_LOCAL: u32 = 1;
/// The job is suspended, or is to be.
pub const RH_STATE_SUSPENDED: u32 = 2;
/// The job has succeeded or failed.
pub const RH_STATE_FINISHED: u32 = 4;

/// Every pod of this type has the master role.
pub const RH_REPLICA_LEADER: u32 = 1;
/// A job without this type is refused.
pub const RH_REPLICA_REQUIRED: u32 = 2;
/// The job must write replicas itself.
pub const RH_REPLICA_EXPLICIT: u32 = 4;
/// Its one pod has no index in name and labels.
pub const RH_REPLICA_UNINDEXED: u32 = 8;
/// Since 1.1: each of its pods is one process of the job's world.
pub const RH_REPLICA_RANKED: u32 = 16;
/// Since 1.2: on a cluster an object of objects() makes its pods.
pub const RH_REPLICA_OUTSIDE: u32 = 32;

/// Each replica gets a headless Service.
pub const RH_KIND_SERVICES: u32 = 1;
/// metadata.name must be a DNS-1035 label.
pub const RH_KIND_DNS_NAME: u32 = 2;
/// status.replicaStatuses[*].selector is kept.
pub const RH_KIND_SELECTOR: u32 = 4;
/// Replica types may be written in any case.
pub const RH_KIND_ANY_CASE: u32 = 8;
/// Unknown replica types are allowed.
pub const RH_KIND_OPEN_TYPES: u32 = 16;
/// Servers bind every interface: local mode gives replicas distinct ports.
pub const RH_KIND_BINDS_ALL: u32 = 32;
/// All replicas of a type must have the same port number.
pub const RH_KIND_SHARED_PORT: u32 = 64;
/// Since 1.2: the plugin does gang scheduling.
pub const RH_KIND_OWN_GANG: u32 = 512;
/// Since 1.2: the core labels pods with what it needs itself, and nothing else.
pub const RH_KIND_OWN_LABELS: u32 = 128;
/// Since 1.2: of status the core writes conditions, and nothing else.
pub const RH_KIND_OWN_STATUS: u32 = 256;
/// Since 1.2: this version of the kind is the storage version of its CustomResourceDefinition.
pub const RH_KIND_STORAGE: u32 = 1024;
/// Since 1.2: this version has the jobs whose version nobody can find out.
pub const RH_KIND_FALLBACK: u32 = 2048;
/// Since 1.2: jobs have no map of replica types; expand() gives them.
pub const RH_KIND_EXPANDED: u32 = 4096;
/// Since 1.2: on a cluster only where the allow-list names the plugin.
pub const RH_KIND_OPT_IN: u32 = 8192;
/// Since 1.2: on a cluster the limits of the run policy are the plugin's.
pub const RH_KIND_OWN_LIMITS: u32 = 16384;

/// The object exists.
pub const RH_LOOKUP_FOUND: i32 = 1;
/// It does not, or it is not looked for.
pub const RH_LOOKUP_ABSENT: i32 = 2;
/// The job does not name one.
pub const RH_LOOKUP_UNNAMED: i32 = 3;

/// Made when it is missing, never compared or written again.
pub const RH_OBJECT_ONCE: u32 = 1;
/// No owner: it stays when the job goes.
pub const RH_OBJECT_RETAIN: u32 = 2;
/// With ONCE: the bytes for make() are a new pair of keys (RH_PAIR_BYTES).
pub const RH_OBJECT_PAIR: u32 = 4;
/// Bytes of a new pair of keys.
pub const RH_PAIR_BYTES: u32 = 199;

/// There is no pod.
pub const RH_PHASE_ABSENT: i32 = 0;
/// The pod has not started.
pub const RH_PHASE_PENDING: i32 = 1;
/// At least one container runs.
pub const RH_PHASE_RUNNING: i32 = 2;
/// All containers ended with 0.
pub const RH_PHASE_SUCCEEDED: i32 = 3;
/// The pod ended otherwise.
pub const RH_PHASE_FAILED: i32 = 4;

/// The job runs.
pub const RH_VERDICT_RUNNING: i32 = 1;
/// The job is done.
pub const RH_VERDICT_SUCCEEDED: i32 = 2;
/// The job has failed.
pub const RH_VERDICT_FAILED: i32 = 3;
/// Replicas are being restarted.
pub const RH_VERDICT_RESTARTING: i32 = 4;

/// For people who debug a plugin.
pub const RH_NOTE_DEBUG: i32 = 0;
/// Worth a log line.
pub const RH_NOTE_INFO: i32 = 1;
/// The user should change something.
pub const RH_NOTE_WARN: i32 = 2;

/// First bytes of every struct that crosses the border.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Head {
    pub size: u32,
    pub major: u16,
    pub minor: u16,
    pub vendor: [u8; 16],
}

impl Head {
    /// The head of a struct of type `T`.
    pub const fn of<T>() -> Head {
        Head { size: size_of::<T>() as u32, major: RH_ABI_MAJOR, minor: RH_ABI_MINOR, vendor: RH_ABI_VENDOR }
    }
}

/// Opaque: one job at one moment.
#[repr(C)]
pub struct View {
    _opaque: [u8; 0],
}

/// Opaque: the answer of one call.
#[repr(C)]
pub struct Reply {
    _opaque: [u8; 0],
}

/// struct rh_replica_type
#[repr(C)]
pub struct ReplicaType {
    pub head: Head,
    pub name: *const c_char,
    pub default_replicas: i32,
    pub min_replicas: i32,
    pub max_replicas: i32,
    pub flags: u32,
    pub restart_policy: *const c_char,
    pub path: *const c_char,
}

/// struct rh_kind
#[repr(C)]
pub struct Kind {
    pub head: Head,
    pub group: *const c_char,
    pub version: *const c_char,
    pub kind: *const c_char,
    pub plural: *const c_char,
    pub singular: *const c_char,
    pub framework: *const c_char,
    pub controller: *const c_char,
    pub replicas_field: *const c_char,
    pub types: *const *const ReplicaType,
    pub leader_fallback: *const c_char,
    pub container: *const c_char,
    pub port_name: *const c_char,
    pub restart_policy: *const c_char,
    pub scale_type: *const c_char,
    pub port: i32,
    pub flags: u32,
    pub spec_schema: *const c_char,
    pub columns: *const c_char,
    pub rbac_rules: *const c_char,
    pub cel_rules: *const c_char,
    pub contract: *const c_char,
    pub replicas_path: *const c_char,
    pub run_policy_path: *const c_char,
    pub run_policy: *const c_char,
    pub managers: *const c_char,
    pub spec_required: *const c_char,
    pub conditions: *const c_char,
    pub status_schema: *const c_char,
    pub pod_name: *const c_char,
    pub host_name: *const c_char,
    pub lookups: *const c_char,
}

/// struct rh_replica
#[repr(C)]
pub struct Replica {
    pub head: Head,
    pub type_: *const c_char,
    pub index: i32,
    pub rank: i32,
}

/// struct rh_counts
#[repr(C)]
pub struct Counts {
    pub head: Head,
    pub desired: i32,
    pub active: i32,
    pub succeeded: i32,
    pub failed: i32,
    pub restarting: i32,
    pub ready: i32,
}

/// struct rh_replica_state
#[repr(C)]
pub struct ReplicaState {
    pub head: Head,
    pub phase: i32,
    pub exit_code: i32,
    pub ready: i32,
}

/// struct rh_object_options
#[repr(C)]
pub struct ObjectOptions {
    pub head: Head,
    pub flags: u32,
    pub random_bytes: u32,
}

/// struct rh_made
#[repr(C)]
pub struct MadeObject {
    pub head: Head,
    pub api_version: *const c_char,
    pub kind: *const c_char,
    pub name: *const c_char,
    pub random: *const u8,
    pub random_bytes: u32,
}

/// struct rh_services
#[repr(C)]
pub struct Services {
    pub head: Head,
    pub text: unsafe extern "C" fn(*const View, *const c_char) -> *const c_char,
    pub integer: unsafe extern "C" fn(*const View, *const c_char, *mut i64) -> i32,
    pub boolean: unsafe extern "C" fn(*const View, *const c_char) -> i32,
    pub size: unsafe extern "C" fn(*const View, *const c_char) -> i32,
    pub json: unsafe extern "C" fn(*const View, *const c_char) -> *const c_char,
    pub quote: unsafe extern "C" fn(*const View, *const c_char) -> *const c_char,
    pub setting: unsafe extern "C" fn(*const View, *const c_char) -> *const c_char,
    pub type_: unsafe extern "C" fn(*const View, u32) -> *const c_char,
    pub replicas: unsafe extern "C" fn(*const View, *const c_char) -> i32,
    pub restart_policy: unsafe extern "C" fn(*const View, *const c_char) -> *const c_char,
    pub pod_name: unsafe extern "C" fn(*const View, *const c_char, i32) -> *const c_char,
    pub host: unsafe extern "C" fn(*const View, *const c_char, i32) -> *const c_char,
    pub port: unsafe extern "C" fn(*const View, *const c_char, i32) -> i32,
    pub state: unsafe extern "C" fn(*const View) -> u32,
    pub attempt: unsafe extern "C" fn(*const View) -> i32,
    pub counts: unsafe extern "C" fn(*const View, *const c_char, *mut Counts) -> i32,
    pub replica: unsafe extern "C" fn(*const View, *const c_char, i32, *mut ReplicaState) -> i32,
    pub condition: unsafe extern "C" fn(*const View, *const c_char) -> i32,
    pub fail: unsafe extern "C" fn(*mut Reply, i32, *const c_char) -> i32,
    pub note: unsafe extern "C" fn(*mut Reply, i32, *const c_char) -> i32,
    pub refuse: unsafe extern "C" fn(*mut Reply, *const c_char, *const c_char) -> i32,
    pub env: unsafe extern "C" fn(*mut Reply, *const c_char, *const c_char, *const c_char) -> i32,
    pub edit: unsafe extern "C" fn(*mut Reply, *const c_char, *const c_char) -> i32,
    pub object: unsafe extern "C" fn(*mut Reply, *const c_char) -> i32,
    pub verdict: unsafe extern "C" fn(*mut Reply, i32, *const c_char, *const c_char) -> i32,
    // from 1.2 on: not there in an older host, see Head::size
    pub key: Option<unsafe extern "C" fn(*const View, *const c_char, u32) -> *const c_char>,
    pub member: Option<unsafe extern "C" fn(*const View, *const c_char, *const c_char) -> *const c_char>,
    pub gang: Option<unsafe extern "C" fn(*const View) -> *const c_char>,
    pub object_with: Option<unsafe extern "C" fn(*mut Reply, *const c_char, *const ObjectOptions) -> i32>,
    pub hold: Option<unsafe extern "C" fn(*mut Reply, *const c_char, i32, *const c_char) -> i32>,
    pub conclude: Option<unsafe extern "C" fn(*mut Reply, i32, *const c_char, *const c_char, *const c_char) -> i32>,
    pub status: Option<unsafe extern "C" fn(*mut Reply, *const c_char, *const c_char) -> i32>,
    pub lookup: Option<unsafe extern "C" fn(*const View, *const c_char) -> i32>,
    pub expansion: Option<unsafe extern "C" fn(*mut Reply, *const c_char) -> i32>,
    pub restart: Option<unsafe extern "C" fn(*mut Reply, *const c_char, i32, u32, *const c_char, *const c_char) -> i32>,
}

/// Of `restart`: it does not count against backoffLimit.
pub const RH_RESTART_FREE: u32 = 1;

/// struct rh_plugin
#[repr(C)]
pub struct Plugin {
    pub head: Head,
    pub name: *const c_char,
    pub release: *const c_char,
    pub init: Option<unsafe extern "C" fn(*const Services, *mut *mut c_void, *mut Reply) -> i32>,
    pub fini: Option<unsafe extern "C" fn(*mut c_void)>,
    pub describe: Option<unsafe extern "C" fn(*mut c_void, u32) -> *const Kind>,
    pub validate: Option<unsafe extern "C" fn(*mut c_void, *const View, *mut Reply) -> i32>,
    pub pod: Option<unsafe extern "C" fn(*mut c_void, *const View, *const Replica, *mut Reply) -> i32>,
    pub objects: Option<unsafe extern "C" fn(*mut c_void, *const View, *mut Reply) -> i32>,
    pub judge: Option<unsafe extern "C" fn(*mut c_void, *const View, *mut Reply) -> i32>,
    pub settings: *const c_char,
    pub resources: *const c_char,
    pub make: Option<unsafe extern "C" fn(*mut c_void, *const View, *const MadeObject, *mut Reply) -> i32>,
    pub expand: Option<unsafe extern "C" fn(*mut c_void, *const View, *mut Reply) -> i32>,
}

// A mistake in the list of members changes a size; the test of the layout finds the rest.
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<Head>() == 24);
    assert!(size_of::<ReplicaType>() == 64);
    assert!(size_of::<Kind>() == 264);
    assert!(size_of::<Replica>() == 40);
    assert!(size_of::<Counts>() == 48);
    assert!(size_of::<ReplicaState>() == 36);
    assert!(size_of::<ObjectOptions>() == 32);
    assert!(size_of::<MadeObject>() == 64);
    assert!(size_of::<Services>() == 304);
    assert!(size_of::<Plugin>() == 128);
};

// SPDX-License-Identifier: Apache-2.0
//! What an operation sees.

use crate::reply::later;
use crate::{abi, text, Error, Result};
use std::os::raw::c_char;
use std::ptr::addr_of;

/// How the replicas of one type do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Replicas that the job wants.
    pub desired: i32,
    /// Pods that run and are not being deleted.
    pub active: i32,
    /// Replicas that ended well.
    pub succeeded: i32,
    /// Replicas that failed and will not be restarted.
    pub failed: i32,
    /// Replicas that are being restarted.
    pub restarting: i32,
    /// Of active, pods that are Ready; `None` from a host before 1.2.
    pub ready: Option<i32>,
}

/// How one replica does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaState {
    /// RH_PHASE_*
    pub phase: i32,
    /// Of the main container once it ended; 128 + signal for a signal.
    pub exit_code: Option<i32>,
    /// Whether the pod is Ready; `None` from a host before 1.2.
    pub ready: Option<bool>,
}

/// One replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replica<'v> {
    /// Canonical type: "Worker".
    pub type_: &'v str,
    /// From 0 within its type.
    pub index: i32,
    /// From 0 over all types, in the order of the description.
    pub rank: i32,
}

/// What there is of an object that a job names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The object exists.
    Found,
    /// It does not, or it is not looked for.
    Absent,
    /// The job names none.
    Unnamed,
}

/// One job at one moment. Texts are borrowed until the operation returns.
pub struct View<'v> {
    services: &'v abi::Services,
    view: *const abi::View,
}

impl<'v> View<'v> {
    pub(crate) fn new(services: &'v abi::Services, view: *const abi::View) -> Self {
        View { services, view }
    }

    fn find(
        &self,
        service: unsafe extern "C" fn(*const abi::View, *const c_char) -> *const c_char,
        key: &str,
    ) -> Option<&'v str> {
        // the services live as long as the plugin, the view and its texts as long as the call
        text::with(key, |key| unsafe { text::borrowed(service(self.view, key)) }).flatten()
    }

    fn number(&self, service: unsafe extern "C" fn(*const abi::View, *const c_char) -> i32, key: &str) -> Option<i32> {
        text::with(key, |key| unsafe { service(self.view, key) }).filter(|number| *number >= 0)
    }

    fn of_replica(
        &self,
        service: unsafe extern "C" fn(*const abi::View, *const c_char, i32) -> *const c_char,
        type_: &str,
        index: i32,
    ) -> Result<&'v str> {
        text::with(type_, |key| unsafe { text::borrowed(service(self.view, key, index)) })
            .flatten()
            .ok_or_else(|| no_type(type_))
    }

    /// A string, or a printed number or boolean; `None` when absent, null, a map or a list.
    pub fn text(&self, path: &str) -> Option<&'v str> {
        self.find(self.services.text, path)
    }
    /// An integer; `None` when absent, null or another type.
    pub fn integer(&self, path: &str) -> Option<i64> {
        let mut value = 0;
        let found = text::with(path, |path| unsafe { (self.services.integer)(self.view, path, &mut value) });
        found.filter(|found| *found == 1).map(|_| value)
    }
    /// Whether true stands at the path.
    pub fn boolean(&self, path: &str) -> bool {
        self.number(self.services.boolean, path) == Some(1)
    }
    /// The number of items or members; `None` when absent, null or a scalar.
    pub fn size(&self, path: &str) -> Option<i32> {
        self.number(self.services.size, path)
    }
    /// Any value as JSON; `None` when absent.
    pub fn json(&self, path: &str) -> Option<&'v str> {
        self.find(self.services.json, path)
    }
    /// The text as a JSON string, with its quotes.
    pub fn quote(&self, text: &str) -> Result<&'v str> {
        self.find(self.services.quote, text).ok_or_else(|| Error::new(abi::RH_EPLUGIN, "a text cannot be quoted"))
    }
    /// A setting of this plugin: section [plugin NAME] of the configuration; `None` when unset.
    pub fn setting(&self, key: &str) -> Option<&'v str> {
        self.find(self.services.setting, key)
    }

    /// Since 1.2: key number `place` of the map at the path; `None` after the last.
    pub fn key(&self, path: &str, place: u32) -> Result<Option<&'v str>> {
        let service = later(self.services, addr_of!(self.services.key))?;
        Ok(text::with(path, |path| unsafe { text::borrowed(service(self.view, path, place)) }).flatten())
    }
    /// Since 1.2: the path of the member `key` of the map at the path, whatever is in the key.
    pub fn member(&self, path: &str, key: &str) -> Result<&'v str> {
        let service = later(self.services, addr_of!(self.services.member))?;
        let found = text::with(path, |path| {
            text::with(key, |key| unsafe { text::borrowed(service(self.view, path, key)) }).flatten()
        });
        found.flatten().ok_or_else(|| Error::new(abi::RH_EPLUGIN, "a path cannot have this key"))
    }
    /// Since 1.2: what there is of the object that the entry `name` of `Description::lookups` means; its values are at
    /// paths that begin with "@NAME.".
    pub fn lookup(&self, name: &str) -> Result<Lookup> {
        let service = later(self.services, addr_of!(self.services.lookup))?;
        match text::with(name, |name| unsafe { service(self.view, name) }) {
            Some(abi::RH_LOOKUP_FOUND) => Ok(Lookup::Found),
            Some(abi::RH_LOOKUP_ABSENT) => Ok(Lookup::Absent),
            Some(abi::RH_LOOKUP_UNNAMED) => Ok(Lookup::Unnamed),
            _ => Err(Error::new(abi::RH_EPLUGIN, format!("the kind has no lookup {:?}", name))),
        }
    }

    /// The replica types of the job, in the order of the description.
    pub fn types(&self) -> impl Iterator<Item = &'v str> + '_ {
        (0..).map_while(move |place| unsafe { text::borrowed((self.services.type_)(self.view, place)) })
    }
    /// The replicas that the job wants, defaults applied; `None` when it has no such type.
    pub fn replicas(&self, type_: &str) -> Option<i32> {
        self.number(self.services.replicas, type_)
    }
    /// "Always", "OnFailure", "Never" or "ExitCode"; `None` when there is no such type.
    pub fn restart_policy(&self, type_: &str) -> Option<&'v str> {
        self.find(self.services.restart_policy, type_)
    }
    /// The name of a replica's pod.
    pub fn pod_name(&self, type_: &str, index: i32) -> Result<&'v str> {
        self.of_replica(self.services.pod_name, type_, index)
    }
    /// Where a replica is reached: the name of its Service on a cluster, an address locally.
    pub fn host(&self, type_: &str, index: i32) -> Result<&'v str> {
        self.of_replica(self.services.host, type_, index)
    }
    /// The number of the port `port_name` of that replica.
    pub fn port(&self, type_: &str, index: i32) -> Result<i32> {
        text::with(type_, |key| unsafe { (self.services.port)(self.view, key, index) })
            .filter(|port| *port > 0)
            .ok_or_else(|| no_type(type_))
    }
    /// "HOST:PORT" of a replica.
    pub fn address(&self, type_: &str, index: i32) -> Result<String> {
        Ok(format!("{}:{}", self.host(type_, index)?, self.port(type_, index)?))
    }

    fn state(&self, flag: u32) -> bool {
        unsafe { (self.services.state)(self.view) & flag != 0 }
    }
    /// Whether replicas are reached by address, on one machine.
    pub fn is_local(&self) -> bool {
        self.state(abi::RH_STATE_LOCAL)
    }
    /// Whether the job is suspended, or is to be.
    pub fn is_suspended(&self) -> bool {
        self.state(abi::RH_STATE_SUSPENDED)
    }
    /// Whether the job has succeeded or failed.
    pub fn is_finished(&self) -> bool {
        self.state(abi::RH_STATE_FINISHED)
    }
    /// How often all replicas were restarted together: 0 for the first attempt.
    pub fn attempt(&self) -> i32 {
        unsafe { (self.services.attempt)(self.view) }
    }
    /// For `judge()`: how the replicas of a type do; `None` when the job has no such type.
    pub fn counts(&self, type_: &str) -> Option<Counts> {
        let head = abi::Head::of::<abi::Counts>();
        let mut found = abi::Counts { head, desired: 0, active: 0, succeeded: 0, failed: 0, restarting: 0, ready: -1 };
        let known = text::with(type_, |key| unsafe { (self.services.counts)(self.view, key, &mut found) });
        known.filter(|known| *known == 1).map(|_| Counts {
            desired: found.desired,
            active: found.active,
            succeeded: found.succeeded,
            failed: found.failed,
            restarting: found.restarting,
            ready: Some(found.ready).filter(|ready| *ready >= 0),
        })
    }
    /// For `judge()` and `objects()`: how one replica does; `None` when there is none, or nothing was observed.
    pub fn replica(&self, type_: &str, index: i32) -> Option<ReplicaState> {
        let head = abi::Head::of::<abi::ReplicaState>();
        let mut found = abi::ReplicaState { head, phase: abi::RH_PHASE_ABSENT, exit_code: -1, ready: -1 };
        let known = text::with(type_, |key| unsafe { (self.services.replica)(self.view, key, index, &mut found) });
        let exit_code = if found.exit_code >= 0 { Some(found.exit_code) } else { None };
        let ready = if found.ready >= 0 { Some(found.ready == 1) } else { None };
        known.filter(|known| *known == 1).map(|_| ReplicaState { phase: found.phase, exit_code, ready })
    }
    /// For `judge()`: whether the job's condition is True.
    pub fn condition(&self, type_: &str) -> bool {
        self.number(self.services.condition, type_) == Some(1)
    }
}

fn no_type(type_: &str) -> Error {
    Error::new(abi::RH_EPLUGIN, format!("the job has no replica type {:?}", type_))
}

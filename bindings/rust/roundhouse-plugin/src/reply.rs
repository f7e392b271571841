// SPDX-License-Identifier: Apache-2.0
//! What an operation answers.

use crate::{abi, text, Error, Result};
use std::os::raw::c_char;
use std::ptr::addr_of;

/// What restarts; see `rh_services.restart`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart<'a> {
    /// The whole job.
    All,
    /// All replicas of a type, together.
    Type(&'a str),
    /// One replica.
    Replica(&'a str, i32),
}

/// A service that came after 1.0, where the host has it. `field` is its member of `services`.
pub(crate) fn later<T: Copy>(services: &abi::Services, field: *const Option<T>) -> Result<T> {
    let end = field as usize - services as *const abi::Services as usize + std::mem::size_of::<Option<T>>();
    // what lies behind the size that the host states is not there
    let found = if services.head.size as usize >= end { unsafe { *field } } else { None };
    found.ok_or_else(|| "needs a host of ABI 1.2".into())
}

/// The part that all answers share.
pub(crate) struct Reply<'v> {
    services: &'v abi::Services,
    reply: *mut abi::Reply,
}

/// A text with a zero byte inside cannot cross; a failed service has left its own message.
fn result(code: Option<i32>) -> Result {
    match code {
        Some(code) if code >= 0 => Ok(()),
        Some(code) => Err(Error::of_service(code)),
        None => Err(Error::new(abi::RH_EPLUGIN, "a text has a zero byte inside")),
    }
}

impl<'v> Reply<'v> {
    pub(crate) fn new(services: &'v abi::Services, reply: *mut abi::Reply) -> Self {
        Reply { services, reply }
    }

    fn note(&mut self, level: i32, words: &str) -> Result {
        result(text::with(words, |words| unsafe { (self.services.note)(self.reply, level, words) }))
    }

    fn two(
        &mut self,
        service: unsafe extern "C" fn(*mut abi::Reply, *const c_char, *const c_char) -> i32,
        first: &str,
        second: &str,
    ) -> Result {
        let code = text::with(first, |first| text::with(second, |second| unsafe { service(self.reply, first, second) }));
        result(code.flatten())
    }

    fn env(&mut self, container: Option<&str>, name: &str, value: &str) -> Result {
        let code = text::with_optional(container, |container| {
            text::with(name, |name| {
                text::with(value, |value| unsafe { (self.services.env)(self.reply, container, name, value) })
            })
        });
        result(code.flatten().flatten())
    }

    fn verdict(&mut self, verdict: i32, type_: Option<&str>, message: Option<&str>) -> Result {
        let code = text::with_optional(type_, |type_| {
            text::with_optional(message, |message| unsafe {
                (self.services.verdict)(self.reply, verdict, type_, message)
            })
        });
        result(code.flatten())
    }
}

/// The answer of `validate()`.
pub struct Findings<'v>(pub(crate) Reply<'v>);

impl Findings<'_> {
    /// Refuse the job, in the words of Kubernetes: "Forbidden: must be 1". May be called several times.
    pub fn refuse(&mut self, path: &str, detail: &str) -> Result {
        let service = self.0.services.refuse;
        self.0.two(service, path, detail)
    }
    /// Warn the user, who may leave it so.
    pub fn warn(&mut self, words: &str) -> Result {
        self.0.note(abi::RH_NOTE_WARN, words)
    }
}

/// The answer of `pod()`.
pub struct Pod<'v>(pub(crate) Reply<'v>);

impl Pod<'_> {
    /// Append a variable to every regular container.
    pub fn env(&mut self, name: &str, value: impl AsRef<str>) -> Result {
        self.0.env(None, name, value.as_ref())
    }
    /// The same for a number.
    pub fn env_number(&mut self, name: &str, value: impl Into<i64>) -> Result {
        self.0.env(None, name, &value.into().to_string())
    }
    /// Append a variable to one container.
    pub fn env_of(&mut self, container: &str, name: &str, value: impl AsRef<str>) -> Result {
        self.0.env(Some(container), name, value.as_ref())
    }
    /// Set what stands at `path` of the Pod; "[+]" appends to a list: "spec.initContainers[+]".
    pub fn edit(&mut self, path: &str, json: &str) -> Result {
        let service = self.0.services.edit;
        self.0.two(service, path, json)
    }
    /// Add a log line: RH_NOTE_*.
    pub fn note(&mut self, level: i32, words: &str) -> Result {
        self.0.note(level, words)
    }
}

/// The answer of `objects()`.
pub struct Objects<'v>(pub(crate) Reply<'v>);

impl Objects<'_> {
    /// Name an object that the job needs, as JSON with apiVersion, kind and metadata.name.
    pub fn add(&mut self, json: &str) -> Result {
        let reply = &self.0;
        result(text::with(json, |json| unsafe { (reply.services.object)(reply.reply, json) }))
    }
    /// Since 1.2: name one that is not compared or not deleted (RH_OBJECT_*). With `random_bytes` it is made once, by
    /// `make()`, from so many bytes; 0: it is made as named.
    pub fn add_with(&mut self, json: &str, flags: u32, random_bytes: u32) -> Result {
        let service = later(self.0.services, addr_of!(self.0.services.object_with))?;
        let options = abi::ObjectOptions { head: abi::Head::of::<abi::ObjectOptions>(), flags, random_bytes };
        result(text::with(json, |json| unsafe { service(self.0.reply, json, &options) }))
    }
    /// Add a log line: RH_NOTE_*.
    pub fn note(&mut self, level: i32, words: &str) -> Result {
        self.0.note(level, words)
    }
}

/// What `make()` is to make: an object that `objects()` named with random bytes.
#[derive(Clone, Copy)]
pub struct MakeRequest<'v> {
    /// As `objects()` named it, like kind and name.
    pub api_version: &'v str,
    /// "Secret"
    pub kind: &'v str,
    /// Its metadata.name.
    pub name: &'v str,
    /// Bytes from the kernel, or a new pair of keys, fresh for each call: keys are derived from them.
    pub random: &'v [u8],
}

/// The answer of `make()`.
pub struct Made<'v>(pub(crate) Reply<'v>);

impl Made<'_> {
    /// The object, with the apiVersion, kind and name that were asked for; once.
    pub fn give(&mut self, json: &str) -> Result {
        let reply = &self.0;
        result(text::with(json, |json| unsafe { (reply.services.object)(reply.reply, json) }))
    }
}

/// The answer of `expand()`: replica types, or a refusal.
pub struct Expansion<'v>(pub(crate) Reply<'v>);

impl Expansion<'_> {
    /// The replica types, as JSON; once.
    pub fn give(&mut self, json: &str) -> Result {
        let service = later(self.0.services, addr_of!(self.0.services.expansion))?;
        result(text::with(json, |json| unsafe { service(self.0.reply, json) }))
    }
    /// Refuse the job, as in `validate()`.
    pub fn refuse(&mut self, path: &str, detail: &str) -> Result {
        let service = self.0.services.refuse;
        self.0.two(service, path, detail)
    }
}

/// The answer of `judge()`. A message of `None` takes the core's words.
pub struct Verdicts<'v>(pub(crate) Reply<'v>);

impl Verdicts<'_> {
    /// The job runs.
    pub fn running(&mut self, message: Option<&str>) -> Result {
        self.0.verdict(abi::RH_VERDICT_RUNNING, None, message)
    }
    /// The job is done.
    pub fn succeeded(&mut self, message: Option<&str>) -> Result {
        self.0.verdict(abi::RH_VERDICT_SUCCEEDED, None, message)
    }
    /// The job has failed, because of this replica type.
    pub fn failed(&mut self, type_: &str, message: Option<&str>) -> Result {
        self.0.verdict(abi::RH_VERDICT_FAILED, Some(type_), message)
    }
    /// Replicas are being restarted, because of this replica type.
    pub fn restarting(&mut self, type_: &str, message: Option<&str>) -> Result {
        self.0.verdict(abi::RH_VERDICT_RESTARTING, Some(type_), message)
    }
    /// Since 1.2, like all that follow: a verdict, RH_VERDICT_*, with the reason of its condition: "Evicted".
    pub fn conclude(&mut self, verdict: i32, type_: Option<&str>, reason: &str, message: Option<&str>) -> Result {
        let service = later(self.0.services, addr_of!(self.0.services.conclude))?;
        let code = text::with_optional(type_, |type_| {
            text::with(reason, |reason| {
                text::with_optional(message, |message| unsafe {
                    service(self.0.reply, verdict, type_, reason, message)
                })
            })
        });
        result(code.flatten().flatten())
    }
    /// Create no pod for a replica now, or with `None` for none of the type. The reason is for people.
    pub fn hold(&mut self, type_: &str, index: Option<i32>, reason: &str) -> Result {
        let service = later(self.0.services, addr_of!(self.0.services.hold))?;
        let code = text::with(type_, |type_| {
            text::with(reason, |reason| unsafe { service(self.0.reply, type_, index.unwrap_or(-1), reason) })
        });
        result(code.flatten())
    }
    /// Set a member of status that `Description::status_schema` declares; "null" removes it.
    pub fn status(&mut self, field: &str, json: &str) -> Result {
        let service = later(self.0.services, addr_of!(self.0.services.status))?;
        self.0.two(service, field, json)
    }
    /// Restart replicas. `flags` are RH_RESTART_*; without a token at each call.
    pub fn restart(&mut self, what: Restart, flags: u32, token: Option<&str>, message: Option<&str>) -> Result {
        let service = later(self.0.services, addr_of!(self.0.services.restart))?;
        let (type_, index) = match what {
            Restart::All => (None, -1),
            Restart::Type(type_) => (Some(type_), -1),
            Restart::Replica(type_, index) => (Some(type_), index),
        };
        let code = text::with_optional(type_, |type_| {
            text::with_optional(token, |token| {
                text::with_optional(message, |message| unsafe {
                    service(self.0.reply, type_, index, flags, token, message)
                })
            })
        });
        result(code.flatten().flatten())
    }
    /// Add a log line: RH_NOTE_*.
    pub fn note(&mut self, level: i32, words: &str) -> Result {
        self.0.note(level, words)
    }
}

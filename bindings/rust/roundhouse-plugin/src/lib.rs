// SPDX-License-Identifier: Apache-2.0
//! Plugins of Roundhouse in Rust.
//!
//! A type for each kind implements [`Kind`], and [`plugin!`] makes the one exported function of it:
//!
//! ```
//! use roundhouse_plugin::{abi::*, Description, Kind, Pod, Replica, ReplicaType, Result, View};
//!
//! struct EchoJob;
//!
//! impl Kind for EchoJob {
//!     fn describe(&self) -> Description {
//!         let peer = ReplicaType { name: "Peer", min_replicas: 1, flags: RH_REPLICA_REQUIRED, ..ReplicaType::default() };
//!         Description {
//!             plural: "echojobs",
//!             singular: "echojob",
//!             framework: "echo",
//!             controller: "echojob-controller",
//!             replicas_field: "echoReplicaSpecs",
//!             flags: RH_KIND_SERVICES | RH_KIND_DNS_NAME,
//!             ..Description::new("example.org", "EchoJob", vec![peer])
//!         }
//!     }
//!     fn pod(&self, _view: &View, me: &Replica, pod: &mut Pod) -> Result {
//!         pod.env_number("ECHO_PEER", me.index)
//!     }
//! }
//!
//! roundhouse_plugin::plugin!(name = "echo", release = "0.1.0", kinds = [EchoJob]);
//! # fn main() {}
//! ```
//!
//! The rules of `roundhouse/plugin.h` hold: an operation answers from the view alone, does no I/O and keeps nothing. An
//! `Err` fails the operation; a panic does, too, with its message and place, and never reaches the host. A lack of
//! memory ends the process, as everywhere in Rust.

#[cfg(not(panic = "unwind"))]
compile_error!("a plugin needs panic = \"unwind\": a panic must stop at the border, and abort ends the host");

pub mod abi;
mod border;
mod describe;
mod reply;
mod text;
mod view;

pub use border::{Registered, Registry};
pub use describe::{Description, ReplicaType};
pub use reply::{Expansion, Findings, Made, MakeRequest, Objects, Pod, Restart, Verdicts};
pub use view::{Counts, Lookup, Replica, ReplicaState, View};

/// What an operation returns.
pub type Result<T = ()> = std::result::Result<T, Error>;

/// Why an operation failed.
#[derive(Debug)]
pub struct Error {
    code: i32,
    message: Option<String>,
}

impl Error {
    /// Give up with a negative status: RH_EINVAL where the user must change the job, RH_EAGAIN for a retry.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Error { code: if code < 0 { code } else { abi::RH_EPLUGIN }, message: Some(message.into()) }
    }
    /// A service of the host failed: it has its own message.
    fn of_service(code: i32) -> Self {
        Error { code, message: None }
    }
    /// The status.
    pub fn code(&self) -> i32 {
        self.code
    }
    /// The message; `None` where a service of the host has left its own.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Self {
        Error::new(abi::RH_EPLUGIN, message)
    }
}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Error::new(abi::RH_EPLUGIN, message)
    }
}

/// What `judge()` leaves to the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The verdicts are the whole answer.
    Complete,
    /// The core adds what it would answer itself.
    Core,
}

/// A kind of jobs. An operation that is left out is the core's default.
pub trait Kind: Sync {
    /// What the kind is. Called once.
    fn describe(&self) -> Description;
    /// Refuse what this framework cannot run, beyond what the description says.
    fn validate(&self, _view: &View, _findings: &mut Findings) -> Result {
        Ok(())
    }
    /// Add to the pod of one replica what its processes need to find each other.
    fn pod(&self, _view: &View, _me: &Replica, _pod: &mut Pod) -> Result {
        Ok(())
    }
    /// Name the further objects that the job needs now.
    fn objects(&self, _view: &View, _objects: &mut Objects) -> Result {
        Ok(())
    }
    /// Say what the counts mean.
    fn judge(&self, _view: &View, _verdicts: &mut Verdicts) -> Result<Judgement> {
        Ok(Judgement::Core)
    }
    /// Since 1.2: make an object that `objects()` named with random bytes, of these alone.
    fn make(&self, _view: &View, _request: &MakeRequest, _made: &mut Made) -> Result {
        Err("the kind makes no objects".into())
    }
    /// Since 1.2: give the replica types of a job, for a kind with RH_KIND_EXPANDED.
    fn expand(&self, _view: &View, _expansion: &mut Expansion) -> Result {
        Err("the kind gives no replica types".into())
    }
}

/// Defines the entry function of a plugin: `plugin!(name = "echo", release = "0.1.0", kinds = [EchoJob])`, where a kind is
/// a constant expression. `settings = TEXT` before `kinds` is the JSON text of `rh_plugin.settings`.
#[macro_export]
macro_rules! plugin {
    (name = $name:expr, release = $release:expr, kinds = [$($kind:expr),+ $(,)?]) => {
        $crate::plugin!(name = $name, release = $release, settings = "{}", kinds = [$($kind),+]);
    };
    (name = $name:expr, release = $release:expr, settings = $settings:expr, kinds = [$($kind:expr),+ $(,)?]) => {
        struct RoundhousePlugin;

        impl $crate::Registered for RoundhousePlugin {
            const NAME: &'static str = $name;
            const RELEASE: &'static str = $release;
            const SETTINGS: &'static str = $settings;
            const KINDS: &'static [&'static dyn $crate::Kind] = &[$(&$kind),+];
            fn registry() -> &'static $crate::Registry {
                static REGISTRY: $crate::Registry = $crate::Registry::new();
                &REGISTRY
            }
        }

        // the host may unload the file, and this is then what a destructor is in C
        #[used]
        #[link_section = ".fini_array"]
        static RELEASE: extern "C" fn() = {
            extern "C" fn release() {
                <RoundhousePlugin as $crate::Registered>::registry().release();
            }
            release
        };

        /// The one exported function.
        #[no_mangle]
        pub extern "C" fn rh_plugin_entry_v1() -> *const $crate::abi::Plugin {
            $crate::Registry::entry::<RoundhousePlugin>()
        }
    };
}

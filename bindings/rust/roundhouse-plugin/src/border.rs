// SPDX-License-Identifier: Apache-2.0
//! Where Rust meets the host: the table of the plugin, and functions in which every panic ends.

use crate::reply::Reply;
use crate::describe::Kept;
use crate::{
    abi, text, Error, Expansion, Findings, Judgement, Kind, MakeRequest, Objects, Pod, Replica, Result, Verdicts, View,
};
use std::any::Any;
use std::cell::{RefCell, UnsafeCell};
use std::os::raw::c_void;
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::sync::Once;

/// What `plugin!` says of a plugin; not for plugins.
pub trait Registered {
    /// rh_plugin.name
    const NAME: &'static str;
    /// rh_plugin.release
    const RELEASE: &'static str;
    /// rh_plugin.settings
    const SETTINGS: &'static str;
    /// The kinds that it serves.
    const KINDS: &'static [&'static dyn Kind];
    /// Where the static data of this plugin stand.
    fn registry() -> &'static Registry;
}

/// The data that the host borrows; made once, then constant.
struct Made {
    plugin: abi::Plugin,
    kinds: Vec<abi::Kind>,
    names: Vec<&'static str>,
    _kept: Kept,
}

/// Where they stand; not for plugins.
pub struct Registry {
    once: Once,
    made: UnsafeCell<Option<Made>>,
}

// what is made inside `once` is read alone afterwards
unsafe impl Sync for Registry {}

thread_local! {
    /// Where the last panic was: the hook knows it, and who catches the panic does not.
    static PLACE: RefCell<String> = RefCell::new(String::new());
}

impl Registry {
    /// Nothing made yet.
    pub const fn new() -> Self {
        Registry { once: Once::new(), made: UnsafeCell::new(None) }
    }

    /// Called when the file is unloaded, and by nobody else: frees what the host had borrowed.
    pub fn release(&self) {
        unsafe { *self.made.get() = None };
    }

    /// The table; NULL where the plugin's own code panics.
    pub fn entry<R: Registered>() -> *const abi::Plugin {
        made::<R>().map_or(std::ptr::null(), |made| &made.plugin)
    }
}

impl Default for Registry {
    fn default() -> Self {
        Registry::new()
    }
}

fn made<R: Registered>() -> Option<&'static Made> {
    let registry = R::registry();
    registry.once.call_once(|| {
        let made = catch_unwind(make::<R>).ok();
        unsafe { *registry.made.get() = made };
    });
    unsafe { (*registry.made.get()).as_ref() }
}

fn make<R: Registered>() -> Made {
    let descriptions: Vec<_> = R::KINDS.iter().map(|kind| kind.describe()).collect();
    let mut kept = Kept::default();
    Made {
        plugin: abi::Plugin {
            head: abi::Head::of::<abi::Plugin>(),
            name: kept.text(R::NAME),
            release: kept.text(R::RELEASE),
            init: Some(init),
            fini: None,
            describe: Some(describe_kind::<R>),
            validate: Some(validate::<R>),
            pod: Some(pod::<R>),
            objects: Some(objects::<R>),
            judge: Some(judge::<R>),
            settings: kept.text(R::SETTINGS),
            resources: std::ptr::null(),
            make: Some(make_object::<R>),
            expand: Some(expand::<R>),
        },
        kinds: descriptions.iter().map(|description| kept.kind(description)).collect(),
        names: descriptions.iter().map(|description| description.kind).collect(),
        _kept: kept,
    }
}

/// Standard error is the host's. This copy of Rust's library is the plugin's own, and so is its hook.
fn keep_place() {
    set_hook(Box::new(|panic| {
        let place = panic.location().map_or(String::new(), |place| format!("{}:{}", place.file(), place.line()));
        PLACE.with(|kept| {
            if let Ok(mut kept) = kept.try_borrow_mut() {
                *kept = place;
            }
        });
    }));
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().map(|words| words.to_string());
    let words = words.or_else(|| panic.downcast_ref::<String>().cloned());
    let place = PLACE.with(|kept| kept.borrow().clone());
    format!("panic at {}: {}", place, words.as_deref().unwrap_or("a value that is not a text"))
}

/// Here panics end. A message with a zero byte inside ends before it.
fn guarded(services: &abi::Services, reply: *mut abi::Reply, call: impl FnOnce() -> Result<i32>) -> i32 {
    let error = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(code)) => return code,
        Ok(Err(error)) => error,
        Err(panic) => {
            let error = Error::new(abi::RH_EPLUGIN, panic_message(&*panic));
            // a value that panics again when it is dropped would leave this function
            std::mem::forget(panic);
            error
        }
    };
    let words = error.message().map(|words| words.split('\0').next().unwrap_or(""));
    match words {
        Some(words) => {
            text::with(words, |words| unsafe { (services.fail)(reply, error.code(), words) }).unwrap_or(error.code())
        }
        None => error.code(),
    }
}

unsafe extern "C" fn init(services: *const abi::Services, ret_self: *mut *mut c_void, reply: *mut abi::Reply) -> i32 {
    static HOOK: Once = Once::new();

    guarded(&*services, reply, || {
        HOOK.call_once(keep_place);
        // the services are all that operations need; nobody writes to them
        *ret_self = services as *mut c_void;
        Ok(abi::RH_OK)
    })
}

unsafe extern "C" fn describe_kind<R: Registered>(_: *mut c_void, index: u32) -> *const abi::Kind {
    let kinds = made::<R>().map_or(&[][..], |made| &made.kinds[..]);
    kinds.get(index as usize).map_or(std::ptr::null(), |kind| kind as *const _)
}

/// Which kind the job of a view is of; with one kind there is no question.
fn kind_of_job<R: Registered>(view: &View) -> Result<&'static dyn Kind> {
    let kinds = R::KINDS;
    if let [kind] = kinds {
        return Ok(*kind);
    }
    let name = view.text("kind").unwrap_or("");
    let names = made::<R>().map_or(&[][..], |made| &made.names[..]);
    let place = names.iter().position(|known| *known == name);
    place.map(|place| kinds[place]).ok_or_else(|| Error::from("the job is of a kind that this plugin does not serve"))
}

/// One operation: the kind and the view, and what it makes of them.
unsafe fn answer<R: Registered>(
    services: *mut c_void,
    view: *const abi::View,
    reply: *mut abi::Reply,
    call: impl FnOnce(&dyn Kind, &View, Reply) -> Result<i32>,
) -> i32 {
    let services = &*(services as *const abi::Services);
    guarded(services, reply, || {
        let seen = View::new(services, view);
        call(kind_of_job::<R>(&seen)?, &seen, Reply::new(services, reply))
    })
}

unsafe extern "C" fn validate<R: Registered>(me: *mut c_void, view: *const abi::View, reply: *mut abi::Reply) -> i32 {
    answer::<R>(me, view, reply, |kind, seen, made| kind.validate(seen, &mut Findings(made)).map(|()| abi::RH_OK))
}

unsafe extern "C" fn pod<R: Registered>(
    me: *mut c_void,
    view: *const abi::View,
    replica: *const abi::Replica,
    reply: *mut abi::Reply,
) -> i32 {
    answer::<R>(me, view, reply, |kind, seen, made| {
        let type_ = text::borrowed((*replica).type_).unwrap_or("");
        let replica = Replica { type_, index: (*replica).index, rank: (*replica).rank };
        kind.pod(seen, &replica, &mut Pod(made)).map(|()| abi::RH_OK)
    })
}

unsafe extern "C" fn objects<R: Registered>(me: *mut c_void, view: *const abi::View, reply: *mut abi::Reply) -> i32 {
    answer::<R>(me, view, reply, |kind, seen, made| kind.objects(seen, &mut Objects(made)).map(|()| abi::RH_OK))
}

unsafe extern "C" fn judge<R: Registered>(me: *mut c_void, view: *const abi::View, reply: *mut abi::Reply) -> i32 {
    answer::<R>(me, view, reply, |kind, seen, made| {
        let judgement = kind.judge(seen, &mut Verdicts(made))?;
        Ok(if judgement == Judgement::Core { abi::RH_DEFAULT } else { abi::RH_OK })
    })
}

unsafe extern "C" fn make_object<R: Registered>(
    me: *mut c_void,
    view: *const abi::View,
    request: *const abi::MadeObject,
    reply: *mut abi::Reply,
) -> i32 {
    answer::<R>(me, view, reply, |kind, seen, made| {
        let request = &*request;
        let random: &[u8] = match request.random_bytes {
            0 => &[],
            count => std::slice::from_raw_parts(request.random, count as usize),
        };
        let request = MakeRequest {
            api_version: text::borrowed(request.api_version).unwrap_or(""),
            kind: text::borrowed(request.kind).unwrap_or(""),
            name: text::borrowed(request.name).unwrap_or(""),
            random,
        };
        kind.make(seen, &request, &mut crate::Made(made)).map(|()| abi::RH_OK)
    })
}

unsafe extern "C" fn expand<R: Registered>(me: *mut c_void, view: *const abi::View, reply: *mut abi::Reply) -> i32 {
    answer::<R>(me, view, reply, |kind, seen, made| kind.expand(seen, &mut Expansion(made)).map(|()| abi::RH_OK))
}

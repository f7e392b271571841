// SPDX-License-Identifier: Apache-2.0
//! Texts between Rust and the host: zero-terminated there, with a length here.

use std::ffi::{CStr, CString};
use std::os::raw::c_char;

/// Texts up to this size, with the zero, need no allocation.
const SMALL: usize = 256;

/// Call `call` with `text`, zero-terminated. `None` when it has a zero byte inside: no text of the host has one.
pub(crate) fn with<R>(text: &str, call: impl FnOnce(*const c_char) -> R) -> Option<R> {
    let bytes = text.as_bytes();
    if bytes.contains(&0) {
        return None;
    }
    if bytes.len() < SMALL {
        let mut small = [0u8; SMALL];
        small[..bytes.len()].copy_from_slice(bytes);
        return Some(call(small.as_ptr().cast()));
    }
    let large = CString::new(bytes).ok()?;
    Some(call(large.as_ptr()))
}

/// The same for a text that may be absent, which is NULL there.
pub(crate) fn with_optional<R>(text: Option<&str>, call: impl FnOnce(*const c_char) -> R) -> Option<R> {
    match text {
        Some(text) => with(text, call),
        None => Some(call(std::ptr::null())),
    }
}

/// What the host gave, or `None` for NULL. Texts of a job are UTF-8; what is not is absent.
///
/// # Safety
/// `text` is NULL or zero-terminated, and lives as long as `'a`.
pub(crate) unsafe fn borrowed<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    CStr::from_ptr(text).to_str().ok()
}

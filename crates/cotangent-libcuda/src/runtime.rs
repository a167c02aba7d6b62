//! The runtime behind the functions.

use std::ffi::c_void;
use std::sync::OnceLock;

use cotangent_cpu::abi::{Api, Request, Site};
use cotangent_cpu::{Config, CudaError};

/// A `CUcontext`, `CUstream` or another handle.
pub(crate) type Handle = *mut c_void;

/// The table of functions; the first call sets the runtime up.
pub(crate) fn api() -> &'static Api {
    static STARTED: OnceLock<&'static Api> = OnceLock::new();
    STARTED.get_or_init(|| cotangent_cpu::start(Config { late: true, ..Config::default() }))
}

/// Work that the host waits for, as far as CUDA says so.
pub(crate) fn waited_for() -> Request {
    Request { stream: std::ptr::null_mut(), asynchronous: 0, site: Site::UNKNOWN }
}

/// Work that the host does not wait for.
pub(crate) fn on_stream(stream: Handle) -> Request {
    Request { stream, asynchronous: 1, site: Site::UNKNOWN }
}

/// Writes the result of a call; a null pointer is an invalid value.
///
/// # Safety
/// `result` is null or the caller's own variable.
pub(crate) unsafe fn give<T>(result: *mut T, value: T) -> i32 {
    if result.is_null() {
        return CudaError::INVALID_VALUE.0;
    }
    // SAFETY: per the contract.
    unsafe { result.write(value) };
    0
}

//! The runtime behind the functions: its table, its configuration, and what calls of it are made from.

use std::ffi::c_void;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use cotangent_cpu::abi::{Api, Request};
use cotangent_cpu::{Config, CudaError};

use crate::places::caller;

/// A `cudaStream_t`, `cudaEvent_t` or another handle.
pub(crate) type Handle = *mut c_void;

/// The default stream that waits for others, and the calling thread's own.
pub(crate) const LEGACY: Handle = std::ptr::null_mut();
pub(crate) const PER_THREAD: Handle = 2 as Handle;

/// The table of functions; the first call sets the runtime up.
pub(crate) fn api() -> &'static Api {
    static STARTED: OnceLock<&'static Api> = OnceLock::new();
    STARTED.get_or_init(|| cotangent_cpu::start(configuration()))
}

/// The table for a program that `cotangent build` made: compiled for the CPU, it does its work when it is submitted, as
/// `cotangent run` has it. `COTANGENT_CUDART_…` configure it too.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cotangent_runtime_table() -> *const Api {
    cotangent_cpu::start(Config { late: false, ..configuration() })
}

fn configuration() -> Config {
    Config {
        seed: setting("COTANGENT_CUDART_SEED"),
        threads: setting("COTANGENT_CUDART_THREADS"),
        check: setting::<u8>("COTANGENT_CUDART_CHECK") != 0,
        late: true,
    }
}

/// A number from the environment; nothing is its default.
fn setting<T: FromStr + Default>(name: &str) -> T {
    let Some(text) = std::env::var_os(name).filter(|text| !text.is_empty()) else { return T::default() };
    text.to_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| {
        eprintln!("cotangent: {name} is {text:?}, which is not a number that it can be");
        std::process::exit(2);
    })
}

/// Work that the host waits for, as far as CUDA says so.
pub(crate) fn waited_for(stream: Handle) -> Request {
    Request { stream, asynchronous: 0, site: caller() }
}

/// Work that the host does not wait for.
pub(crate) fn on_stream(stream: Handle) -> Request {
    Request { stream, asynchronous: 1, site: caller() }
}

/// What a program that is compiled for default streams of each thread means by a stream.
pub(crate) fn own(stream: Handle) -> Handle {
    if stream.is_null() { PER_THREAD } else { stream }
}

/// Makes an error the last one of the calling thread, and returns it.
pub(crate) fn fail(error: CudaError) -> i32 {
    (api().set_error)(error.0)
}

/// Writes the result of a call; a null pointer is an invalid value.
///
/// # Safety
/// `result` is null or the caller's own variable.
pub(crate) unsafe fn give<T>(result: *mut T, value: T) -> i32 {
    if result.is_null() {
        return fail(CudaError::INVALID_VALUE);
    }
    // SAFETY: per the contract.
    unsafe { result.write(value) };
    0
}

/// A lock that nobody's panic takes away.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

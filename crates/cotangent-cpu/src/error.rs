//! CUDA's error codes: number, name and text, as a table.

use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicI32, Ordering};

/// A `cudaError_t`, of which only those that this runtime returns have names here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaError(pub i32);

impl CudaError {
    pub const SUCCESS: CudaError = CudaError(0);
    pub const INVALID_VALUE: CudaError = CudaError(1);
    pub const MEMORY_ALLOCATION: CudaError = CudaError(2);
    pub const INVALID_CONFIGURATION: CudaError = CudaError(9);
    pub const INVALID_PITCH: CudaError = CudaError(12);
    pub const INVALID_MEMCPY_DIRECTION: CudaError = CudaError(21);
    pub const INVALID_DEVICE: CudaError = CudaError(101);
    pub const INVALID_RESOURCE_HANDLE: CudaError = CudaError(400);
    pub const ILLEGAL_ADDRESS: CudaError = CudaError(700);
    pub const ASSERT: CudaError = CudaError(710);
    pub const LAUNCH_FAILURE: CudaError = CudaError(719);
    pub const NOT_PERMITTED: CudaError = CudaError(800);

    /// `Ok` for success, so that callers can use `?`.
    pub(crate) fn result(self) -> Result<(), CudaError> {
        if self == CudaError::SUCCESS { Ok(()) } else { Err(self) }
    }
}

/// Number, name, text. The names and numbers are those of CUDA's `cudaError_t`.
const ERRORS: &[(i32, &CStr, &CStr)] = &[
    (0, c"cudaSuccess", c"no error"),
    (1, c"cudaErrorInvalidValue", c"invalid argument"),
    (2, c"cudaErrorMemoryAllocation", c"out of memory"),
    (3, c"cudaErrorInitializationError", c"initialization error"),
    (4, c"cudaErrorCudartUnloading", c"driver shutting down"),
    (9, c"cudaErrorInvalidConfiguration", c"invalid configuration argument"),
    (12, c"cudaErrorInvalidPitchValue", c"invalid pitch argument"),
    (13, c"cudaErrorInvalidSymbol", c"invalid device symbol"),
    (17, c"cudaErrorInvalidDevicePointer", c"invalid device pointer"),
    (21, c"cudaErrorInvalidMemcpyDirection", c"invalid copy direction for memcpy"),
    (35, c"cudaErrorInsufficientDriver", c"CUDA driver version is insufficient for CUDA runtime version"),
    (52, c"cudaErrorMissingConfiguration", c"__global__ function call is not configured"),
    (98, c"cudaErrorInvalidDeviceFunction", c"invalid device function"),
    (100, c"cudaErrorNoDevice", c"no CUDA-capable device is detected"),
    (101, c"cudaErrorInvalidDevice", c"invalid device ordinal"),
    (400, c"cudaErrorInvalidResourceHandle", c"invalid resource handle"),
    (500, c"cudaErrorSymbolNotFound", c"named symbol not found"),
    (600, c"cudaErrorNotReady", c"device not ready"),
    (700, c"cudaErrorIllegalAddress", c"an illegal memory access was encountered"),
    (701, c"cudaErrorLaunchOutOfResources", c"too many resources requested for launch"),
    (702, c"cudaErrorLaunchTimeout", c"the launch timed out and was terminated"),
    (710, c"cudaErrorAssert", c"device-side assert triggered"),
    (716, c"cudaErrorMisalignedAddress", c"misaligned address"),
    (719, c"cudaErrorLaunchFailure", c"unspecified launch failure"),
    (801, c"cudaErrorNotSupported", c"operation not supported"),
    (999, c"cudaErrorUnknown", c"unknown error"),
];

/// Set by the first launch that ended in a fault: CUDA's context is then lost, and every later
/// call returns this error.
static STICKY: AtomicI32 = AtomicI32::new(0);

thread_local! {
    static LAST: Cell<i32> = const { Cell::new(0) };
    /// Whether a function runs on this thread that a stream has called.
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function that a stream calls, and that may not call the runtime.
pub(crate) fn without_runtime(body: impl FnOnce()) {
    IN_HOST_FUNCTION.set(true);
    body();
    IN_HOST_FUNCTION.set(false);
}

/// Remembers `error` as the calling thread's last one, and returns what the API call returns.
pub(crate) fn record(error: CudaError) -> i32 {
    if error != CudaError::SUCCESS {
        LAST.set(error.0);
    }
    error.0
}

/// Marks the context as lost.
pub(crate) fn set_sticky(error: CudaError) {
    let _ = STICKY.compare_exchange(0, error.0, Ordering::Relaxed, Ordering::Relaxed);
}

/// The sticky error, which every call that touches the device returns before doing anything.
pub(crate) fn sticky() -> CudaError {
    CudaError(STICKY.load(Ordering::Relaxed))
}

/// Runs the body of an API call unless the context is lost, and records its error.
pub(crate) fn guarded(body: impl FnOnce() -> Result<(), CudaError>) -> i32 {
    if IN_HOST_FUNCTION.get() {
        return record(CudaError::NOT_PERMITTED);
    }
    record(sticky().result().and_then(|()| body()).err().unwrap_or(CudaError::SUCCESS))
}

pub(crate) extern "C" fn peek_error() -> i32 {
    match sticky() {
        CudaError::SUCCESS => LAST.get(),
        error => error.0,
    }
}

pub(crate) extern "C" fn take_error() -> i32 {
    let error = peek_error();
    LAST.set(0);
    error
}

pub(crate) extern "C" fn set_error(error: i32) -> i32 {
    record(CudaError(error))
}

pub(crate) extern "C" fn error_name(error: i32) -> *const c_char {
    find(error).map_or(c"unrecognized error code", |entry| entry.1).as_ptr()
}

pub(crate) extern "C" fn error_text(error: i32) -> *const c_char {
    find(error).map_or(c"unrecognized error code", |entry| entry.2).as_ptr()
}

fn find(error: i32) -> Option<&'static (i32, &'static CStr, &'static CStr)> {
    ERRORS.iter().find(|entry| entry.0 == error)
}

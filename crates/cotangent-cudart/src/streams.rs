//! Streams, events, and functions of the host that streams call.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Mutex;

use crate::runtime::{Handle, api, give, locked};

/// `cudaStreamCaptureStatusNone`.
const NOT_CAPTURING: i32 = 0;

type HostFunction = unsafe extern "C" fn(*mut c_void);
type Callback = unsafe extern "C" fn(Handle, i32, *mut c_void);

/// The flags of streams that were made with any.
static FLAGS: Mutex<Option<HashMap<usize, u32>>> = Mutex::new(None);

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamCreateWithFlags(stream: *mut Handle, flags: u32) -> i32 {
    // SAFETY: CUDA's contract.
    let code = unsafe { (api().stream_create)(stream, flags) };
    if code == 0 && flags != 0 {
        // SAFETY: just written.
        locked(&FLAGS).get_or_insert_default().insert(unsafe { *stream } as usize, flags);
    }
    code
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamCreate(stream: *mut Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { cudaStreamCreateWithFlags(stream, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamCreateWithPriority(stream: *mut Handle, flags: u32, _priority: i32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { cudaStreamCreateWithFlags(stream, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamDestroy(stream: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().stream_destroy)(stream) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamSynchronize(stream: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().stream_synchronize)(stream) }
}

/// Whoever asks may ask until the answer is yes, so what is due is done now.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamQuery(stream: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { cudaStreamSynchronize(stream) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamWaitEvent(stream: Handle, event: Handle, _flags: u32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().stream_wait)(stream, event) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamGetFlags(stream: Handle, flags: *mut u32) -> i32 {
    let known = locked(&FLAGS).as_ref().and_then(|all| all.get(&(stream as usize)).copied());
    // SAFETY: CUDA's contract.
    unsafe { give(flags, known.unwrap_or(0)) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamGetPriority(_stream: Handle, priority: *mut i32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(priority, 0) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamGetId(stream: Handle, id: *mut u64) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(id, stream as u64) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamGetDevice(_stream: Handle, device: *mut i32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(device, 0) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamIsCapturing(_stream: Handle, status: *mut i32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(status, NOT_CAPTURING) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamGetCaptureInfo(
    _stream: Handle,
    status: *mut i32,
    _id: *mut u64,
    _graph: *mut Handle,
    _dependencies: *mut Handle,
    _edges: *mut Handle,
    _count: *mut usize,
) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(status, NOT_CAPTURING) }
}

/// There are no captures whose mode could matter.
#[unsafe(no_mangle)]
extern "C" fn cudaThreadExchangeStreamCaptureMode(_mode: *mut i32) -> i32 {
    0
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaLaunchHostFunc(stream: Handle, function: HostFunction, data: *mut c_void) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().host_function)(stream, function, data) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaLaunchHostFunc_v2(
    stream: Handle,
    function: HostFunction,
    data: *mut c_void,
    _mode: u32,
) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { cudaLaunchHostFunc(stream, function, data) }
}

/// A callback with its arguments.
struct Call {
    stream: Handle,
    callback: Callback,
    data: *mut c_void,
}

unsafe extern "C" fn run_call(call: *mut c_void) {
    // SAFETY: made by `cudaStreamAddCallback`, and called once.
    unsafe {
        let call = Box::from_raw(call.cast::<Call>());
        (call.callback)(call.stream, 0, call.data);
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamAddCallback(
    stream: Handle,
    callback: Callback,
    data: *mut c_void,
    _flags: u32,
) -> i32 {
    let call = Box::into_raw(Box::new(Call { stream, callback, data }));
    // SAFETY: CUDA's contract.
    unsafe { cudaLaunchHostFunc(stream, run_call, call.cast()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaEventCreate(event: *mut Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().event_create)(event) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaEventCreateWithFlags(event: *mut Handle, _flags: u32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { cudaEventCreate(event) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaEventDestroy(event: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().event_destroy)(event) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaEventRecord(event: Handle, stream: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().event_record)(event, stream) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaEventRecordWithFlags(event: Handle, stream: Handle, _flags: u32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { cudaEventRecord(event, stream) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaEventSynchronize(event: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().event_synchronize)(event) }
}

/// As [`cudaStreamQuery`].
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaEventQuery(event: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { cudaEventSynchronize(event) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().event_elapsed)(milliseconds, start, end) }
}

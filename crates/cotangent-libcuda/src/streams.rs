//! Streams and events.

use crate::runtime::{Handle, api};

/// `CU_EVENT_DISABLE_TIMING` and the like change nothing here.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventCreate(event: *mut Handle, _flags: u32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().event_create)(event) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventDestroy_v2(event: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().event_destroy)(event) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventRecord(event: Handle, stream: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().event_record)(event, stream) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventSynchronize(event: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().event_synchronize)(event) }
}

/// Whoever asks may ask until the answer is yes, so what is due is done now.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventQuery(event: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { cuEventSynchronize(event) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().event_elapsed)(milliseconds, start, end) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamCreate(stream: *mut Handle, flags: u32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().stream_create)(stream, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamDestroy_v2(stream: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().stream_destroy)(stream) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamSynchronize(stream: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().stream_synchronize)(stream) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamWaitEvent(stream: Handle, event: Handle, _flags: u32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().stream_wait)(stream, event) }
}

//! The C ABI of staging between a GPU and the host.

use std::ffi::c_void;
use std::mem::offset_of;

use super::{CStats, close, give, on, or};
use crate::device::{Cuda, CudaFunctions, DeviceLane, DeviceStats, StagingOptions, Stream};
use crate::error::Error;
use crate::mark::Mark;
use crate::tape::Tape;

/// `cotangent_device_options`: zero stands for the default.
#[repr(C)]
pub struct CDeviceOptions {
    chunk_bytes: usize,
    pinned_bytes: usize,
    device_bytes: usize,
    /// Null for those of a libcudart that is loaded.
    cuda: *const CudaFunctions,
}

/// `cotangent_device_stats`.
#[repr(C)]
#[derive(Default)]
pub struct CDeviceStats {
    device: CStats,
    pinned: CStats,
    memory: CStats,
    disk: CStats,
}

impl From<DeviceStats> for CDeviceStats {
    fn from(stats: DeviceStats) -> Self {
        let DeviceStats { device, pinned, memory, disk } = stats;
        CDeviceStats { device: device.into(), pinned: pinned.into(), memory: memory.into(), disk: disk.into() }
    }
}

/// Opens a stack of arrays that lie in a GPU's memory, on a lane of its own.
///
/// # Safety
/// `tape` was opened and not closed; `options` is null or leads to options, with all functions if there are any; `lane`
/// leads to a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_device_lane_open(
    tape: *mut Tape,
    options: *const CDeviceOptions,
    lane: *mut *mut DeviceLane,
) -> u32 {
    let open = || {
        // SAFETY: promised by the caller.
        let (tape, options) = unsafe { (tape.as_ref().ok_or(Error::Empty)?, options.as_ref()) };
        // SAFETY: promised by the caller.
        let functions = options.and_then(|options| unsafe { options.cuda.as_ref() }).copied();
        let default = StagingOptions::default();
        let staging = options.map_or(default, |options| StagingOptions {
            chunk_bytes: or(options.chunk_bytes, default.chunk_bytes),
            pinned_bytes: or(options.pinned_bytes, default.pinned_bytes),
            device_bytes: or(options.device_bytes, default.device_bytes),
        });
        let functions = functions.map_or_else(CudaFunctions::load, Ok)?;
        // SAFETY: CUDA's own, or the caller promises that they do the same.
        let driver = unsafe { Cuda::new(functions) }?;
        DeviceLane::new(tape.lane(), Box::new(driver), staging)
    };
    // SAFETY: promised by the caller.
    unsafe { give(open, lane) }
}

/// Closes it; waits for its copies.
///
/// # Safety
/// `lane` is null, or was opened and not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_device_lane_close(lane: *mut DeviceLane) {
    // SAFETY: `open` made it a box.
    unsafe { close(lane) }
}

/// Pushes an array.
///
/// # Safety
/// `lane` is null or open and used by this thread only; for the array see [`DeviceLane::push`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_device_lane_push(
    lane: *mut DeviceLane,
    array: *const c_void,
    bytes: usize,
    stream: *mut c_void,
) {
    // SAFETY: promised by the caller.
    let _ = unsafe { on(lane, Ok(()), |lane| lane.push(array.cast(), bytes, Stream(stream))) };
}

/// Pops the array pushed last.
///
/// # Safety
/// `lane` is null or open and used by this thread only; for the array see [`DeviceLane::pop`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_device_lane_pop(
    lane: *mut DeviceLane,
    array: *mut c_void,
    bytes: usize,
    stream: *mut c_void,
) {
    // SAFETY: promised by the caller.
    let _ = unsafe { on(lane, Ok(()), |lane| lane.pop(array.cast(), bytes, Stream(stream))) };
}

/// The present end.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_device_lane_mark(lane: *mut DeviceLane) -> Mark {
    // SAFETY: promised by the caller.
    unsafe { on(lane, Mark::NOWHERE, DeviceLane::mark) }
}

/// Forgets all above a mark.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_device_lane_rewind(lane: *mut DeviceLane, mark: Mark) {
    // SAFETY: promised by the caller.
    let _ = unsafe { on(lane, Ok(()), |lane| lane.rewind(mark)) };
}

/// Begins to read again.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_device_lane_hold(lane: *mut DeviceLane) {
    // SAFETY: promised by the caller.
    let _ = unsafe { on(lane, Ok(()), DeviceLane::hold) };
}

/// Goes on reading from a mark.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_device_lane_seek(lane: *mut DeviceLane, mark: Mark) {
    // SAFETY: promised by the caller.
    let _ = unsafe { on(lane, Ok(()), |lane| lane.seek(mark)) };
}

/// Ends reading again.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_device_lane_release(lane: *mut DeviceLane) {
    // SAFETY: promised by the caller.
    unsafe { on(lane, (), DeviceLane::release) }
}

/// The first error's number, or zero. Waits for all copies.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_device_lane_status(lane: *mut DeviceLane) -> u32 {
    // SAFETY: promised by the caller.
    unsafe { on(lane, Error::Empty.code(), |lane| lane.finish().map_or_else(Error::code, |()| 0)) }
}

/// The code of the GPU's runtime if that is the error, otherwise zero.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_device_lane_error(lane: *mut DeviceLane) -> i32 {
    let code = |lane: &mut DeviceLane| if let Err(Error::Device { code }) = lane.status() { code } else { 0 };
    // SAFETY: promised by the caller.
    unsafe { on(lane, 0, code) }
}

/// Forgets all arrays and the error.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_device_lane_clear(lane: *mut DeviceLane) {
    // SAFETY: promised by the caller.
    unsafe { on(lane, (), DeviceLane::clear) }
}

/// What each layer has cost so far.
///
/// # Safety
/// `lane` is null or open and used by this thread only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cotangent_device_lane_stats(lane: *mut DeviceLane) -> CDeviceStats {
    // SAFETY: promised by the caller.
    unsafe { on(lane, CDeviceStats::default(), |lane| lane.stats().into()) }
}

/// As `super::layout`.
pub(super) fn layout() -> Vec<(&'static str, usize)> {
    vec![
        ("sizeof(cotangent_device_options)", size_of::<CDeviceOptions>()),
        ("offsetof(cotangent_device_options, chunk_bytes)", offset_of!(CDeviceOptions, chunk_bytes)),
        ("offsetof(cotangent_device_options, pinned_bytes)", offset_of!(CDeviceOptions, pinned_bytes)),
        ("offsetof(cotangent_device_options, device_bytes)", offset_of!(CDeviceOptions, device_bytes)),
        ("offsetof(cotangent_device_options, cuda)", offset_of!(CDeviceOptions, cuda)),
        ("sizeof(cotangent_device_stats)", size_of::<CDeviceStats>()),
        ("offsetof(cotangent_device_stats, device)", offset_of!(CDeviceStats, device)),
        ("offsetof(cotangent_device_stats, pinned)", offset_of!(CDeviceStats, pinned)),
        ("offsetof(cotangent_device_stats, memory)", offset_of!(CDeviceStats, memory)),
        ("offsetof(cotangent_device_stats, disk)", offset_of!(CDeviceStats, disk)),
        ("sizeof(cotangent_cuda_functions)", size_of::<CudaFunctions>()),
        ("offsetof(cotangent_cuda_functions, malloc_host)", offset_of!(CudaFunctions, malloc_host)),
        ("offsetof(cotangent_cuda_functions, free_host)", offset_of!(CudaFunctions, free_host)),
        ("offsetof(cotangent_cuda_functions, malloc)", offset_of!(CudaFunctions, malloc)),
        ("offsetof(cotangent_cuda_functions, free)", offset_of!(CudaFunctions, free)),
        ("offsetof(cotangent_cuda_functions, get_last_error)", offset_of!(CudaFunctions, get_last_error)),
        ("offsetof(cotangent_cuda_functions, stream_create)", offset_of!(CudaFunctions, stream_create)),
        ("offsetof(cotangent_cuda_functions, stream_destroy)", offset_of!(CudaFunctions, stream_destroy)),
        ("offsetof(cotangent_cuda_functions, stream_wait_event)", offset_of!(CudaFunctions, stream_wait_event)),
        ("offsetof(cotangent_cuda_functions, event_create)", offset_of!(CudaFunctions, event_create)),
        ("offsetof(cotangent_cuda_functions, event_destroy)", offset_of!(CudaFunctions, event_destroy)),
        ("offsetof(cotangent_cuda_functions, event_record)", offset_of!(CudaFunctions, event_record)),
        ("offsetof(cotangent_cuda_functions, event_query)", offset_of!(CudaFunctions, event_query)),
        ("offsetof(cotangent_cuda_functions, event_synchronize)", offset_of!(CudaFunctions, event_synchronize)),
        ("offsetof(cotangent_cuda_functions, memcpy_async)", offset_of!(CudaFunctions, memcpy_async)),
    ]
}

//! Allocations, copies, fills, and questions about pointers.

use std::ffi::c_void;

use cotangent_cpu::CudaError;
use cotangent_cpu::abi::{Memory, Pointer, Request};

use crate::runtime::{Handle, LEGACY, api, fail, give, on_stream, waited_for};
use crate::types::{MemLocation, PointerAttributes};

/// Bytes between two rows of pitched memory: a multiple of this.
pub(crate) const PITCH_ALIGNMENT: usize = 512;

/// `cudaMemcpyKind`.
pub(crate) const DEVICE_TO_DEVICE: u32 = 3;

/// `cudaMemLocationType`.
const LOCATION_DEVICE: i32 = 1;

/// # Safety
/// Those of the crate, as for all functions of this file.
pub(crate) unsafe fn allocate(pointer: *mut *mut c_void, bytes: usize, memory: Memory, request: Request) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().allocate)(pointer, bytes as u64, memory as u32, request) }
}

pub(crate) unsafe fn copy(to: *mut c_void, from: *const c_void, bytes: usize, kind: u32, request: Request) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { copy_rows(to, bytes, from, bytes, bytes, 1, kind, request) }
}

#[allow(clippy::too_many_arguments, reason = "as many as cudaMemcpy2D has")]
pub(crate) unsafe fn copy_rows(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: u32,
    request: Request,
) -> i32 {
    let (to_pitch, from_pitch, width, height) = (to_pitch as u64, from_pitch as u64, width as u64, height as u64);
    // SAFETY: CUDA's contract.
    unsafe { (api().copy)(to, to_pitch, from, from_pitch, width, height, kind, request) }
}

pub(crate) unsafe fn fill_rows(
    to: *mut c_void,
    pitch: usize,
    value: i32,
    width: usize,
    height: usize,
    request: Request,
) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().fill)(to, pitch as u64, value, width as u64, height as u64, request) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMalloc(pointer: *mut *mut c_void, bytes: usize) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { allocate(pointer, bytes, Memory::Device, waited_for(LEGACY)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMallocManaged(pointer: *mut *mut c_void, bytes: usize, _flags: u32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { allocate(pointer, bytes, Memory::Managed, waited_for(LEGACY)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMallocHost(pointer: *mut *mut c_void, bytes: usize) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { allocate(pointer, bytes, Memory::Pinned, waited_for(LEGACY)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaHostAlloc(pointer: *mut *mut c_void, bytes: usize, _flags: u32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { allocate(pointer, bytes, Memory::Pinned, waited_for(LEGACY)) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaMallocAsync(pointer: *mut *mut c_void, bytes: usize, stream: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { allocate(pointer, bytes, Memory::Device, on_stream(stream)) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaMallocFromPoolAsync(
    pointer: *mut *mut c_void,
    bytes: usize,
    _pool: Handle,
    stream: Handle,
) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { cudaMallocAsync(pointer, bytes, stream) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMallocPitch(pointer: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) -> i32 {
    let row = width.next_multiple_of(PITCH_ALIGNMENT);
    let Some(bytes) = row.checked_mul(height) else { return fail(CudaError::MEMORY_ALLOCATION) };
    // SAFETY: CUDA's contract.
    match unsafe { give(pitch, row) } {
        // SAFETY: CUDA's contract.
        0 => unsafe { cudaMalloc(pointer, bytes) },
        code => code,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaFree(pointer: *mut c_void) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().release)(pointer, Memory::Device as u32, waited_for(LEGACY)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaFreeHost(pointer: *mut c_void) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().release)(pointer, Memory::Pinned as u32, waited_for(LEGACY)) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaFreeAsync(pointer: *mut c_void, stream: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().release)(pointer, Memory::Device as u32, on_stream(stream)) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaHostRegister(pointer: *mut c_void, bytes: usize, _flags: u32) -> i32 {
    api();
    cotangent_cpu::register_host_memory(pointer as usize, bytes)
}

#[unsafe(no_mangle)]
extern "C" fn cudaHostUnregister(pointer: *mut c_void) -> i32 {
    api();
    cotangent_cpu::unregister_host_memory(pointer as usize)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaHostGetDevicePointer(device: *mut *mut c_void, host: *mut c_void, _flags: u32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(device, host) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaHostGetFlags(flags: *mut u32, host: *mut c_void) -> i32 {
    if cotangent_cpu::memory_at(host as usize).is_none() {
        return fail(CudaError::INVALID_VALUE);
    }
    // SAFETY: CUDA's contract.
    unsafe { give(flags, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: u32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { copy(to, from, bytes, kind, waited_for(LEGACY)) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaMemcpyAsync(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: u32,
    stream: Handle,
) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { copy(to, from, bytes, kind, on_stream(stream)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy2D(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: u32,
) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { copy_rows(to, to_pitch, from, from_pitch, width, height, kind, waited_for(LEGACY)) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaMemcpy2DAsync(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: u32,
    stream: Handle,
) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { copy_rows(to, to_pitch, from, from_pitch, width, height, kind, on_stream(stream)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyPeer(
    to: *mut c_void,
    _to_device: i32,
    from: *const c_void,
    _from_device: i32,
    bytes: usize,
) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { copy(to, from, bytes, DEVICE_TO_DEVICE, waited_for(LEGACY)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyPeerAsync(
    to: *mut c_void,
    _to_device: i32,
    from: *const c_void,
    _from_device: i32,
    bytes: usize,
    stream: Handle,
) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { copy(to, from, bytes, DEVICE_TO_DEVICE, on_stream(stream)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemset(to: *mut c_void, value: i32, bytes: usize) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { fill_rows(to, bytes, value, bytes, 1, waited_for(LEGACY)) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaMemsetAsync(to: *mut c_void, value: i32, bytes: usize, stream: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { fill_rows(to, bytes, value, bytes, 1, on_stream(stream)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemset2D(to: *mut c_void, pitch: usize, value: i32, width: usize, height: usize) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { fill_rows(to, pitch, value, width, height, waited_for(LEGACY)) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaMemset2DAsync(
    to: *mut c_void,
    pitch: usize,
    value: i32,
    width: usize,
    height: usize,
    stream: Handle,
) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { fill_rows(to, pitch, value, width, height, on_stream(stream)) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaMemPrefetchAsync(
    pointer: *const c_void,
    bytes: usize,
    location: MemLocation,
    _flags: u32,
    stream: Handle,
) -> i32 {
    let device = if location.kind == LOCATION_DEVICE { location.id } else { -1 };
    // SAFETY: CUDA's contract.
    unsafe { (api().prefetch)(pointer, bytes as u64, device, on_stream(stream)) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemAdvise(_pointer: *const c_void, _bytes: usize, _advice: i32, _location: MemLocation) -> i32 {
    0
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaStreamAttachMemAsync(
    _stream: Handle,
    _pointer: *mut c_void,
    _bytes: usize,
    _flags: u32,
) -> i32 {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemGetInfo(free: *mut usize, total: *mut usize) -> i32 {
    // SAFETY: CUDA's contract; `usize` is `u64` here.
    unsafe { (api().memory_info)(free.cast(), total.cast()) }
}

/// Where the memory begins that a pointer leads into, and how large it is, if it came from the runtime.
pub(crate) fn allocation(pointer: *const c_void) -> Option<(*mut c_void, usize)> {
    let mut found = Pointer { kind: u32::MAX, reserved: 0, base: std::ptr::null_mut(), bytes: 0 };
    // SAFETY: the runtime does not follow the pointer.
    let code = unsafe { (api().pointer)(&raw mut found, pointer) };
    (code == 0 && found.kind != u32::MAX).then_some((found.base, found.bytes as usize))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaPointerGetAttributes(attributes: *mut PointerAttributes, pointer: *const c_void) -> i32 {
    let mut found = Pointer { kind: u32::MAX, reserved: 0, base: std::ptr::null_mut(), bytes: 0 };
    // SAFETY: CUDA's contract.
    let code = unsafe { (api().pointer)(&raw mut found, pointer) };
    if code != 0 {
        return code;
    }
    // SAFETY: CUDA's contract.
    unsafe { give(attributes, PointerAttributes::of(&found, pointer.cast_mut())) }
}

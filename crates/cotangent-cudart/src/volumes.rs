//! Memory in three dimensions, as slices of rows. CUDA arrays, which textures read, are refused.

use std::ffi::c_void;

use cotangent_cpu::CudaError;
use cotangent_cpu::abi::{Memory, Request};

use crate::memory::{PITCH_ALIGNMENT, allocate, copy_rows, fill_rows};
use crate::runtime::{Handle, LEGACY, fail, give, on_stream, waited_for};
use crate::stubs::refuse;
use crate::types::{Extent, Memcpy3DParms, PitchedPtr, Pos};

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMalloc3D(result: *mut PitchedPtr, extent: Extent) -> i32 {
    let pitch = extent.width.next_multiple_of(PITCH_ALIGNMENT);
    let rows = extent.height.checked_mul(extent.depth);
    let Some(bytes) = rows.and_then(|rows| pitch.checked_mul(rows)) else {
        return fail(CudaError::MEMORY_ALLOCATION);
    };
    let mut ptr = std::ptr::null_mut();
    // SAFETY: a variable of our own.
    match unsafe { allocate(&raw mut ptr, bytes, Memory::Device, waited_for(LEGACY)) } {
        // SAFETY: CUDA's contract.
        0 => unsafe { give(result, PitchedPtr { ptr, pitch, xsize: extent.width, ysize: extent.height }) },
        code => code,
    }
}

/// # Safety
/// Those of the crate, as for all functions of this file.
pub(crate) unsafe fn fill(to: PitchedPtr, value: i32, extent: Extent, request: Request) -> i32 {
    let slice = |index: usize| to.ptr.wrapping_byte_add(index * to.pitch * to.ysize);
    (0..extent.depth)
        // SAFETY: CUDA's contract.
        .map(|index| unsafe { fill_rows(slice(index), to.pitch, value, extent.width, extent.height, request) })
        .find(|code| *code != 0)
        .unwrap_or(0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemset3D(to: PitchedPtr, value: i32, extent: Extent) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { fill(to, value, extent, waited_for(LEGACY)) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaMemset3DAsync(to: PitchedPtr, value: i32, extent: Extent, stream: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { fill(to, value, extent, on_stream(stream)) }
}

pub(crate) unsafe fn copy(parameters: *const Memcpy3DParms, request: Request) -> i32 {
    if parameters.is_null() {
        return fail(CudaError::INVALID_VALUE);
    }
    // SAFETY: CUDA's contract, and not null.
    let parameters = unsafe { &*parameters };
    if !parameters.srcArray.is_null() || !parameters.dstArray.is_null() {
        return refuse("cudaMemcpy3D of a CUDA array");
    }
    let (to, from, extent) = (&parameters.dstPtr, &parameters.srcPtr, &parameters.extent);
    let copy_slice = |index: usize| {
        let (to_slice, from_slice) = (slice(to, &parameters.dstPos, index), slice(from, &parameters.srcPos, index));
        let (width, height, kind) = (extent.width, extent.height, parameters.kind);
        // SAFETY: CUDA's contract.
        unsafe { copy_rows(to_slice, to.pitch, from_slice, from.pitch, width, height, kind, request) }
    };
    (0..extent.depth).map(copy_slice).find(|code| *code != 0).unwrap_or(0)
}

/// Where a slice begins. Without arrays a position is in bytes, rows and slices.
fn slice(memory: &PitchedPtr, position: &Pos, index: usize) -> *mut c_void {
    let row = (position.z + index) * memory.ysize + position.y;
    memory.ptr.wrapping_byte_add(row * memory.pitch + position.x)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy3D(parameters: *const Memcpy3DParms) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { copy(parameters, waited_for(LEGACY)) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaMemcpy3DAsync(parameters: *const Memcpy3DParms, stream: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { copy(parameters, on_stream(stream)) }
}

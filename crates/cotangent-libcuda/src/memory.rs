//! Allocations, copies and fills. An address of the device is a number for the driver.

use std::ffi::c_void;

use cotangent_cpu::abi::{Memory, Pointer, Request};

use crate::runtime::{Handle, api, on_stream, waited_for};

/// `CUdeviceptr`.
type Address = usize;

/// `cudaMemcpyKind`, by which the runtime tells where copies go.
const HOST_TO_DEVICE: u32 = 1;
const DEVICE_TO_HOST: u32 = 2;
const DEVICE_TO_DEVICE: u32 = 3;

/// The kind of memory that the runtime does not know.
const UNKNOWN_MEMORY: u32 = u32::MAX;

/// # Safety
/// Those of the crate, as for all functions of this file.
unsafe fn allocate(address: *mut Address, bytes: usize, memory: Memory, request: Request) -> i32 {
    if bytes == 0 {
        return cotangent_cpu::CudaError::INVALID_VALUE.0;
    }
    // SAFETY: CUDA's contract.
    unsafe { (api().allocate)(address.cast::<*mut c_void>(), bytes as u64, memory as u32, request) }
}

unsafe fn copy(to: Address, from: Address, bytes: usize, kind: u32, request: Request) -> i32 {
    let (to, from, bytes) = (to as *mut c_void, from as *const c_void, bytes as u64);
    // SAFETY: CUDA's contract.
    unsafe { (api().copy)(to, bytes, from, bytes, bytes, 1, kind, request) }
}

unsafe fn fill(to: Address, value: u8, bytes: usize, request: Request) -> i32 {
    let bytes = bytes as u64;
    // SAFETY: CUDA's contract.
    unsafe { (api().fill)(to as *mut c_void, bytes, i32::from(value), bytes, 1, request) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAlloc_v2(address: *mut Address, bytes: usize) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { allocate(address, bytes, Memory::Device, waited_for()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAllocAsync(address: *mut Address, bytes: usize, stream: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { allocate(address, bytes, Memory::Device, on_stream(stream)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemHostAlloc(memory: *mut *mut c_void, bytes: usize, _flags: u32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().allocate)(memory, bytes as u64, Memory::Pinned as u32, waited_for()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemFree_v2(address: Address) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().release)(address as *mut c_void, Memory::Device as u32, waited_for()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemFreeAsync(address: Address, stream: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().release)(address as *mut c_void, Memory::Device as u32, on_stream(stream)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemFreeHost(memory: *mut c_void) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { (api().release)(memory, Memory::Pinned as u32, waited_for()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyHtoD_v2(to: Address, from: *const c_void, bytes: usize) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { copy(to, from as usize, bytes, HOST_TO_DEVICE, waited_for()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut c_void, from: Address, bytes: usize) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { copy(to as usize, from, bytes, DEVICE_TO_HOST, waited_for()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoD_v2(to: Address, from: Address, bytes: usize) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { copy(to, from, bytes, DEVICE_TO_DEVICE, waited_for()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyHtoDAsync_v2(to: Address, from: *const c_void, bytes: usize, stream: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { copy(to, from as usize, bytes, HOST_TO_DEVICE, on_stream(stream)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: Address, bytes: usize, stream: Handle) -> i32 {
    // To memory that the runtime does not know, the driver returns when the copy has ended, and cudarc relies on it. CUDA's documentation
    // promises no more than that it may be so.
    let mut found = Pointer { kind: UNKNOWN_MEMORY, reserved: 0, base: std::ptr::null_mut(), bytes: 0 };
    // SAFETY: a variable of our own.
    let known = unsafe { (api().pointer)(&raw mut found, to) } == 0 && found.kind != UNKNOWN_MEMORY;
    let request = if known { on_stream(stream) } else { Request { asynchronous: 0, ..on_stream(stream) } };
    // SAFETY: CUDA's contract.
    unsafe { copy(to as usize, from, bytes, DEVICE_TO_HOST, request) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoDAsync_v2(to: Address, from: Address, bytes: usize, stream: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { copy(to, from, bytes, DEVICE_TO_DEVICE, on_stream(stream)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemsetD8_v2(to: Address, value: u8, bytes: usize) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { fill(to, value, bytes, waited_for()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemsetD8Async(to: Address, value: u8, bytes: usize, stream: Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { fill(to, value, bytes, on_stream(stream)) }
}

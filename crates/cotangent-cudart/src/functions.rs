//! Questions about kernels: attributes, limits, occupancy. The answers are those of a device that needs no registers.

use std::ffi::{CString, c_char, c_void};

use cotangent_cpu::CudaError;
use cotangent_cpu::abi::MAX_DYNAMIC_SHARED;
use cotangent_cpu::kernel::dynamic_shared_limit;

use crate::registration::kernel;
use crate::runtime::{Handle, api, fail, give};
use crate::types::FuncAttributes;

/// `cudaFuncAttributeMaxDynamicSharedMemorySize`.
const MAX_DYNAMIC_SHARED_MEMORY: i32 = 8;

/// Limits of a multiprocessor.
const MOST_BLOCKS: usize = 32;
const MOST_THREADS: usize = 2048;
pub(crate) const MOST_THREADS_IN_BLOCK: i32 = 1024;

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaFuncGetAttributes(attributes: *mut FuncAttributes, function: *const c_void) -> i32 {
    let found = match kernel(function) {
        Ok(found) => found,
        Err(code) => return code,
    };
    let info = &found.info;
    let attributes_found = FuncAttributes {
        sharedSizeBytes: info.static_shared,
        localSizeBytes: info.local_bytes,
        maxThreadsPerBlock: info.max_threads.map_or(MOST_THREADS_IN_BLOCK, |most| most as i32),
        numRegs: 32,
        ptxVersion: found.ptx_version,
        binaryVersion: 90,
        maxDynamicSharedSizeBytes: dynamic_shared_limit(function, info.static_shared) as i32,
        preferredShmemCarveout: -1,
        ..FuncAttributes::default()
    };
    // SAFETY: CUDA's contract.
    unsafe { give(attributes, attributes_found) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaFuncSetAttribute(function: *const c_void, attribute: i32, value: i32) -> i32 {
    let found = match kernel(function) {
        Ok(found) => found,
        Err(code) => return code,
    };
    if attribute != MAX_DYNAMIC_SHARED_MEMORY {
        return 0;
    }
    let static_shared = found.info.static_shared;
    if usize::try_from(value).is_ok_and(|bytes| bytes + static_shared > MAX_DYNAMIC_SHARED) {
        return fail(CudaError::INVALID_VALUE);
    }
    (api().function_shared_limit)(function, value)
}

#[unsafe(no_mangle)]
extern "C" fn cudaKernelSetAttributeForDevice(kernel: Handle, attribute: i32, value: i32, _device: i32) -> i32 {
    cudaFuncSetAttribute(kernel, attribute, value)
}

/// How memory is divided between cache and shared memory has no meaning here.
#[unsafe(no_mangle)]
extern "C" fn cudaFuncSetCacheConfig(_function: *const c_void, _config: i32) -> i32 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cudaFuncSetSharedMemConfig(_function: *const c_void, _config: i32) -> i32 {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaFuncGetName(result: *mut *const c_char, function: *const c_void) -> i32 {
    match kernel(function) {
        // The name stays for the rest of the process, as CUDA promises.
        // SAFETY: CUDA's contract.
        Ok(found) => unsafe { give(result, CString::new(found.name).unwrap_or_default().into_raw().cast_const()) },
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaFuncGetParamCount(function: *const c_void, count: *mut usize) -> i32 {
    let found = match kernel(function) {
        Ok(found) => found,
        Err(code) => return code,
    };
    // SAFETY: CUDA's contract.
    unsafe { give(count, found.info.parameters.len()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaFuncGetParamInfo(
    function: *const c_void,
    index: usize,
    offset: *mut usize,
    bytes: *mut usize,
) -> i32 {
    let found = match kernel(function) {
        Ok(found) => found,
        Err(code) => return code,
    };
    let info = &found.info;
    let Some(parameter) = info.parameters.get(index) else { return fail(CudaError::INVALID_VALUE) };
    if !bytes.is_null() {
        // SAFETY: CUDA's contract.
        unsafe { bytes.write(parameter.bytes) };
    }
    // SAFETY: CUDA's contract.
    unsafe { give(offset, parameter.offset) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut i32,
    function: *const c_void,
    threads: i32,
    shared_bytes: usize,
) -> i32 {
    let found = match kernel(function) {
        Ok(found) => found,
        Err(code) => return code,
    };
    let info = &found.info;
    let most_threads = info.max_threads.map_or(MOST_THREADS_IN_BLOCK, |most| most as i32);
    let by_threads = if (1..=most_threads).contains(&threads) { MOST_THREADS / threads as usize } else { 0 };
    let by_shared = MAX_DYNAMIC_SHARED.checked_div(info.static_shared.saturating_add(shared_bytes));
    let most = by_threads.min(by_shared.unwrap_or(MOST_BLOCKS)).min(MOST_BLOCKS);
    // SAFETY: CUDA's contract.
    unsafe { give(blocks, most as i32) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: *mut i32,
    function: *const c_void,
    threads: i32,
    shared_bytes: usize,
    _flags: u32,
) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared_bytes) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaOccupancyAvailableDynamicSMemPerBlock(
    bytes: *mut usize,
    function: *const c_void,
    blocks: i32,
    _threads: i32,
) -> i32 {
    let found = match kernel(function) {
        Ok(found) => found,
        Err(code) => return code,
    };
    let static_shared = found.info.static_shared;
    let Some(each) = usize::try_from(blocks).ok().and_then(|blocks| MAX_DYNAMIC_SHARED.checked_div(blocks)) else {
        return fail(CudaError::INVALID_VALUE);
    };
    // SAFETY: CUDA's contract.
    unsafe { give(bytes, each.saturating_sub(static_shared)) }
}

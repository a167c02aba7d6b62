//! The one device: what it says of itself, and settings of it. The numbers are those that launches are checked against.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use cotangent_cpu::CudaError;
use cotangent_cpu::abi::MAX_DYNAMIC_SHARED;

use crate::runtime::{Handle, api, fail, give};
use crate::types::{ChannelFormatDesc, DeviceProp};

/// Errors that only this file has.
const PEER_ACCESS_UNSUPPORTED: CudaError = CudaError(217);
const PEER_ACCESS_NOT_ENABLED: CudaError = CudaError(705);

/// `CUDART_VERSION` of the interface.
const VERSION: i32 = 13040;

const NAME: &[u8] = b"Cotangent CPU";

/// The one memory pool.
const POOL: Handle = 1 as Handle;

fn properties() -> DeviceProp {
    let mut total = 0u64;
    // SAFETY: a variable of our own, and nothing.
    unsafe { (api().memory_info)(null_mut(), &raw mut total) };
    // SAFETY: numbers and arrays of numbers, for which zero is a value.
    let mut device: DeviceProp = unsafe { std::mem::zeroed() };
    for (place, byte) in device.name.iter_mut().zip(NAME) {
        *place = *byte as c_char;
    }
    device.totalGlobalMem = total as usize;
    device.sharedMemPerBlock = 48 * 1024;
    device.sharedMemPerBlockOptin = MAX_DYNAMIC_SHARED;
    device.sharedMemPerMultiprocessor = MAX_DYNAMIC_SHARED + 1024;
    device.reservedSharedMemPerBlock = 1024;
    device.regsPerBlock = 65536;
    device.regsPerMultiprocessor = 65536;
    device.warpSize = 32;
    device.memPitch = 0x7fff_ffff;
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiProcessor = 2048;
    device.maxBlocksPerMultiProcessor = 32;
    device.maxThreadsDim = [1024, 1024, 64];
    device.maxGridSize = [0x7fff_ffff, 65535, 65535];
    device.memoryBusWidth = 64;
    device.l2CacheSize = 1 << 20;
    device.totalConstMem = 65536;
    device.major = 9;
    device.multiProcessorCount = 16;
    device.textureAlignment = 512;
    device.texturePitchAlignment = 32;
    device.canMapHostMemory = 1;
    device.integrated = 1;
    device.unifiedAddressing = 1;
    device.managedMemory = 1;
    device.concurrentManagedAccess = 1;
    device.concurrentKernels = 1;
    device.asyncEngineCount = 1;
    device.memoryPoolsSupported = 1;
    device.hostRegisterSupported = 1;
    device
}

/// `cudaDeviceAttr` and its value; all others are zero.
fn attributes(device: &DeviceProp) -> [(i32, usize); 34] {
    let number = |value: i32| value as usize;
    [
        (1, number(device.maxThreadsPerBlock)),
        (2, number(device.maxThreadsDim[0])),
        (3, number(device.maxThreadsDim[1])),
        (4, number(device.maxThreadsDim[2])),
        (5, number(device.maxGridSize[0])),
        (6, number(device.maxGridSize[1])),
        (7, number(device.maxGridSize[2])),
        (8, device.sharedMemPerBlock),
        (9, device.totalConstMem),
        (10, number(device.warpSize)),
        (11, device.memPitch),
        (12, number(device.regsPerBlock)),
        // The clocks of processor and memory, in kHz.
        (13, 1_000_000),
        (36, 1_000_000),
        (14, device.textureAlignment),
        (15, 1),
        (16, number(device.multiProcessorCount)),
        (18, number(device.integrated)),
        (19, number(device.canMapHostMemory)),
        (31, number(device.concurrentKernels)),
        (37, number(device.memoryBusWidth)),
        (38, number(device.l2CacheSize)),
        (39, number(device.maxThreadsPerMultiProcessor)),
        (40, number(device.asyncEngineCount)),
        (41, number(device.unifiedAddressing)),
        (75, number(device.major)),
        (76, number(device.minor)),
        (81, device.sharedMemPerMultiprocessor),
        (82, number(device.regsPerMultiprocessor)),
        (83, number(device.managedMemory)),
        (89, number(device.concurrentManagedAccess)),
        (97, device.sharedMemPerBlockOptin),
        (106, number(device.maxBlocksPerMultiProcessor)),
        (115, number(device.memoryPoolsSupported)),
    ]
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDeviceCount(count: *mut i32) -> i32 {
    // SAFETY: CUDA's contract, as for all functions of this file.
    unsafe { give(count, 1) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDevice(device: *mut i32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(device, 0) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaSetDevice(device: i32) -> i32 {
    if device == 0 { 0 } else { fail(CudaError::INVALID_DEVICE) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaInitDevice(device: i32, _device_flags: u32, _flags: u32) -> i32 {
    cudaSetDevice(device)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaChooseDevice(device: *mut i32, _wanted: *const DeviceProp) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(device, 0) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaSetDeviceFlags(_flags: u32) -> i32 {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDeviceFlags(flags: *mut u32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(flags, 0) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceSynchronize() -> i32 {
    (api().device_synchronize)()
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceReset() -> i32 {
    (api().device_synchronize)()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDeviceProperties(result: *mut DeviceProp, device: i32) -> i32 {
    match cudaSetDevice(device) {
        // SAFETY: CUDA's contract.
        0 => unsafe { give(result, properties()) },
        code => code,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetAttribute(result: *mut i32, attribute: i32, device: i32) -> i32 {
    let code = cudaSetDevice(device);
    if code != 0 {
        return code;
    }
    let found = attributes(&properties()).into_iter().find(|(number, _)| *number == attribute);
    // SAFETY: CUDA's contract.
    unsafe { give(result, found.map_or(0, |(_, value)| value as i32)) }
}

/// Settings that have no meaning here are accepted.
#[unsafe(no_mangle)]
extern "C" fn cudaDeviceSetLimit(_limit: i32, _value: usize) -> i32 {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetLimit(value: *mut usize, _limit: i32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(value, 0) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceSetCacheConfig(_config: i32) -> i32 {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetCacheConfig(config: *mut i32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(config, 0) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceSetSharedMemConfig(_config: i32) -> i32 {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetSharedMemConfig(config: *mut i32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(config, 0) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaCtxResetPersistingL2Cache() -> i32 {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) -> i32 {
    for result in [least, greatest].into_iter().filter(|result| !result.is_null()) {
        // SAFETY: CUDA's contract, and not null.
        unsafe { *result = 0 };
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetPCIBusId(result: *mut c_char, bytes: i32, device: i32) -> i32 {
    let text = b"0000:00:00.0\0";
    if device != 0 || result.is_null() || usize::try_from(bytes).is_ok_and(|bytes| bytes < text.len()) {
        return fail(CudaError::INVALID_VALUE);
    }
    // SAFETY: CUDA's contract, and there is room for it.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr().cast(), result, text.len()) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceCanAccessPeer(result: *mut i32, _device: i32, _peer: i32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(result, 0) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceEnablePeerAccess(_peer: i32, _flags: u32) -> i32 {
    fail(PEER_ACCESS_UNSUPPORTED)
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceDisablePeerAccess(_peer: i32) -> i32 {
    fail(PEER_ACCESS_NOT_ENABLED)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetDefaultMemPool(pool: *mut Handle, _device: i32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(pool, POOL) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetMemPool(pool: *mut Handle, _device: i32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(pool, POOL) }
}

/// How much a pool keeps has no meaning here.
#[unsafe(no_mangle)]
extern "C" fn cudaMemPoolSetAttribute(_pool: Handle, _attribute: i32, _value: *mut c_void) -> i32 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemPoolTrimTo(_pool: Handle, _bytes: usize) -> i32 {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDriverGetVersion(version: *mut i32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(version, VERSION) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaRuntimeGetVersion(version: *mut i32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(version, VERSION) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaProfilerStart() -> i32 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cudaProfilerStop() -> i32 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cudaCreateChannelDesc(x: i32, y: i32, z: i32, w: i32, f: i32) -> ChannelFormatDesc {
    ChannelFormatDesc { x, y, z, w, f }
}

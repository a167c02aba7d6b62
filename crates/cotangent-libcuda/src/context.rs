//! The one device and its one context.

use std::ffi::{c_char, c_void};

use cotangent_cpu::CudaError;
use cotangent_cpu::abi::MAX_DYNAMIC_SHARED;

use crate::runtime::{Handle, api, give};

const NAME: &[u8] = b"Cotangent CPU\0";

/// The context, which is nothing but a number.
const CONTEXT: Handle = 1 as Handle;

/// What a `CUdevice_attribute` is on this device: those that programs decide by. All others are zero.
const ATTRIBUTES: [(i32, i32); 12] = [
    (1, 1024),                       // MAX_THREADS_PER_BLOCK
    (2, 1024),                       // MAX_BLOCK_DIM_X
    (3, 1024),                       // MAX_BLOCK_DIM_Y
    (4, 64),                         // MAX_BLOCK_DIM_Z
    (5, 0x7fff_ffff),                // MAX_GRID_DIM_X
    (6, 65535),                      // MAX_GRID_DIM_Y
    (7, 65535),                      // MAX_GRID_DIM_Z
    (8, 48 * 1024),                  // MAX_SHARED_MEMORY_PER_BLOCK
    (10, 32),                        // WARP_SIZE
    (16, 16),                        // MULTIPROCESSOR_COUNT
    (75, 9),                         // COMPUTE_CAPABILITY_MAJOR
    (97, MAX_DYNAMIC_SHARED as i32), // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
];

#[unsafe(no_mangle)]
extern "C" fn cuInit(_flags: u32) -> i32 {
    api();
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(version: *mut i32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(version, 13_040) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetCount(count: *mut i32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(count, 1) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGet(device: *mut i32, ordinal: i32) -> i32 {
    if ordinal != 0 {
        return CudaError::INVALID_DEVICE.0;
    }
    // SAFETY: CUDA's contract.
    unsafe { give(device, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetAttribute(value: *mut i32, attribute: i32, _device: i32) -> i32 {
    let known = ATTRIBUTES.iter().find(|(number, _)| *number == attribute);
    // SAFETY: CUDA's contract.
    unsafe { give(value, known.map_or(0, |(_, value)| *value)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, bytes: i32, _device: i32) -> i32 {
    let fits = usize::try_from(bytes).is_ok_and(|bytes| bytes >= NAME.len());
    if name.is_null() || !fits {
        return CudaError::INVALID_VALUE.0;
    }
    // SAFETY: CUDA's contract, and there is room.
    unsafe { std::ptr::copy_nonoverlapping(NAME.as_ptr().cast(), name, NAME.len()) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: i32) -> i32 {
    let mut total = 0_u64;
    // SAFETY: a variable of our own, and nothing.
    let code = unsafe { (api().memory_info)(std::ptr::null_mut(), &raw mut total) };
    // SAFETY: CUDA's contract.
    if code == 0 { unsafe { give(bytes, total as usize) } } else { code }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut Handle, _device: i32) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(context, CONTEXT) }
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(_device: i32) -> i32 {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetCurrent(context: *mut Handle) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(context, CONTEXT) }
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(_context: Handle) -> i32 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> i32 {
    (api().device_synchronize)()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(error: i32, name: *mut *const c_char) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(name, (api().error_name)(error)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(error: i32, text: *mut *const c_char) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(text, (api().error_text)(error)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> i32 {
    // SAFETY: CUDA's contract; both are 64 bits wide.
    unsafe { (api().memory_info)(free.cast::<u64>(), total.cast::<c_void>().cast::<u64>()) }
}

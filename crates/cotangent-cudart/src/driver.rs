//! Functions of the driver that a program asks the runtime for, by name.

use std::ffi::{CStr, c_char, c_int, c_void};

use cotangent_cpu::CudaError;

use crate::memory::allocation;
use crate::runtime::give;

/// `cudaDriverEntryPointSuccess` and `cudaDriverEntryPointSymbolNotFound`.
const FOUND: c_int = 0;
const NOT_FOUND: c_int = 1;

/// `cuMemGetAddressRange`, which derivatives with checkpoints ask for; no other.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDriverEntryPointByVersion(
    name: *const c_char,
    function: *mut *mut c_void,
    _version: u32,
    _flags: u64,
    result: *mut c_int,
) -> i32 {
    // SAFETY: CUDA's contract: a text that ends with a zero.
    let is_range = !name.is_null() && unsafe { CStr::from_ptr(name) } == c"cuMemGetAddressRange";
    let (found, status) =
        if is_range { (address_range as *mut c_void, FOUND) } else { (std::ptr::null_mut(), NOT_FOUND) };
    // SAFETY: CUDA's contract; the result may be left out.
    unsafe {
        if !result.is_null() {
            *result = status;
        }
        give(function, found)
    }
}

/// Where the memory begins that an address lies in, and how large it is.
unsafe extern "C" fn address_range(first: *mut u64, bytes: *mut usize, address: u64) -> i32 {
    let Some((base, size)) = allocation(address as *const c_void) else { return CudaError::INVALID_VALUE.0 };
    // SAFETY: the driver's contract; each may be left out.
    unsafe {
        if !first.is_null() {
            *first = base as u64;
        }
        if !bytes.is_null() {
            *bytes = size;
        }
    }
    0
}

//! Copies to and from variables of the program, which are named by what they are called on the host.

use std::ffi::c_void;

use cotangent_cpu::CudaError;
use cotangent_cpu::abi::Request;

use crate::memory::copy;
use crate::registration::variable;
use crate::runtime::{Handle, LEGACY, fail, give, on_stream, waited_for};

/// The place in a variable that a copy means.
fn place(symbol: *const c_void, bytes: usize, offset: usize) -> Result<*mut c_void, i32> {
    let (address, size) = variable(symbol)?;
    let fits = offset.checked_add(bytes).is_some_and(|end| end <= size);
    if fits { Ok((address + offset) as *mut c_void) } else { Err(fail(CudaError::INVALID_VALUE)) }
}

/// # Safety
/// Those of the crate, as for all functions of this file.
pub(crate) unsafe fn copy_to(
    symbol: *const c_void,
    from: *const c_void,
    bytes: usize,
    offset: usize,
    kind: u32,
    request: Request,
) -> i32 {
    match place(symbol, bytes, offset) {
        // SAFETY: CUDA's contract, and inside of the variable.
        Ok(to) => unsafe { copy(to, from, bytes, kind, request) },
        Err(code) => code,
    }
}

pub(crate) unsafe fn copy_from(
    to: *mut c_void,
    symbol: *const c_void,
    bytes: usize,
    offset: usize,
    kind: u32,
    request: Request,
) -> i32 {
    match place(symbol, bytes, offset) {
        // SAFETY: CUDA's contract, and inside of the variable.
        Ok(from) => unsafe { copy(to, from, bytes, kind, request) },
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyToSymbol(
    symbol: *const c_void,
    from: *const c_void,
    bytes: usize,
    offset: usize,
    kind: u32,
) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { copy_to(symbol, from, bytes, offset, kind, waited_for(LEGACY)) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaMemcpyToSymbolAsync(
    symbol: *const c_void,
    from: *const c_void,
    bytes: usize,
    offset: usize,
    kind: u32,
    stream: Handle,
) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { copy_to(symbol, from, bytes, offset, kind, on_stream(stream)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyFromSymbol(
    to: *mut c_void,
    symbol: *const c_void,
    bytes: usize,
    offset: usize,
    kind: u32,
) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { copy_from(to, symbol, bytes, offset, kind, waited_for(LEGACY)) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaMemcpyFromSymbolAsync(
    to: *mut c_void,
    symbol: *const c_void,
    bytes: usize,
    offset: usize,
    kind: u32,
    stream: Handle,
) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { copy_from(to, symbol, bytes, offset, kind, on_stream(stream)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetSymbolAddress(result: *mut *mut c_void, symbol: *const c_void) -> i32 {
    match variable(symbol) {
        // SAFETY: CUDA's contract.
        Ok((address, _)) => unsafe { give(result, address as *mut c_void) },
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetSymbolSize(result: *mut usize, symbol: *const c_void) -> i32 {
    match variable(symbol) {
        // SAFETY: CUDA's contract.
        Ok((_, bytes)) => unsafe { give(result, bytes) },
        Err(code) => code,
    }
}

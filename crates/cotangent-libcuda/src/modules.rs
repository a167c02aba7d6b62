//! PTX that a program loads, and launches of its kernels.

use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

use cotangent_cpu::CudaError;
use cotangent_cpu::abi::{Dim, Site};
use cotangent_cpu::check::Space;
use cotangent_cpu::kernel::{self, Shape, written_name};
use cotangent_ptx::{Module, Variable, VariableSpace};

use crate::runtime::{Handle, api, give};

/// Errors that only this file has.
const INVALID_PTX: CudaError = CudaError(218);
const NO_KERNEL_IMAGE: CudaError = CudaError(209);
const NOT_FOUND: CudaError = CudaError(500);

/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const MAX_DYNAMIC_SHARED: i32 = 8;

/// What images of machine code begin with: fat binaries and ELF.
const MACHINE_CODE: [&[u8]; 2] = [&[0x50, 0xed, 0x55, 0xba], b"\x7fELF"];

/// A kernel of a module. It stays, as functions of CUDA do until their module goes, and modules are never unloaded here.
struct Function {
    module: Arc<Module>,
    name: String,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadData(module: *mut Handle, image: *const c_void) -> i32 {
    // SAFETY: CUDA's contract: an image of machine code is longer than this, and a text ends with zero.
    let begins =
        |with: &[u8]| with.iter().enumerate().all(|(at, byte)| unsafe { *image.cast::<u8>().add(at) } == *byte);
    if image.is_null() {
        return CudaError::INVALID_VALUE.0;
    }
    if MACHINE_CODE.iter().any(|with| begins(with)) {
        return said(&"machine code cannot be executed without a GPU; load PTX", NO_KERNEL_IMAGE);
    }
    // SAFETY: CUDA's contract.
    let text = unsafe { CStr::from_ptr(image.cast()) }.to_string_lossy();
    let mut place = |variable: &Variable<'_>| {
        let space = match variable.space {
            VariableSpace::Global => Space::Device,
            VariableSpace::Constant => Space::Constant,
        };
        let name = written_name(variable.name);
        let placed = cotangent_cpu::place_variable(&name, variable.bytes, variable.alignment, space);
        placed.unwrap_or(std::ptr::null_mut())
    };
    match Module::load(&text, &mut place) {
        // SAFETY: CUDA's contract.
        Ok(loaded) => unsafe { give(module, Box::into_raw(Box::new(Arc::new(loaded))).cast()) },
        Err(error) => said(&error, INVALID_PTX),
    }
}

/// The memory of its variables stays known, so the module stays.
#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(_module: Handle) -> i32 {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char) -> i32 {
    // SAFETY: CUDA's contract: it comes from `cuModuleLoadData`, and a name is a string.
    let (module, name) = unsafe { (&*module.cast::<Arc<Module>>(), CStr::from_ptr(name).to_string_lossy()) };
    if module.kernel(&name).is_none() {
        return NOT_FOUND.0;
    }
    let found = Function { module: module.clone(), name: name.into_owned() };
    // SAFETY: CUDA's contract.
    unsafe { give(function, Box::into_raw(Box::new(found)).cast()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleGetGlobal_v2(
    address: *mut usize,
    bytes: *mut usize,
    module: Handle,
    name: *const c_char,
) -> i32 {
    // SAFETY: as of `cuModuleGetFunction`.
    let (module, name) = unsafe { (&*module.cast::<Arc<Module>>(), CStr::from_ptr(name).to_string_lossy()) };
    let Some((found, size)) = module.variable(&name) else { return NOT_FOUND.0 };
    // SAFETY: CUDA's contract; either may be null.
    unsafe {
        if !bytes.is_null() {
            bytes.write(size);
        }
        if address.is_null() { 0 } else { give(address, found) }
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuFuncSetAttribute(function: Handle, attribute: i32, value: i32) -> i32 {
    if attribute == MAX_DYNAMIC_SHARED { (api().function_shared_limit)(function, value) } else { 0 }
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "CUDA's signature")]
unsafe extern "C" fn cuLaunchKernel(
    function: Handle,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared_bytes: u32,
    stream: Handle,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> i32 {
    if !extra.is_null() {
        return CudaError::NOT_SUPPORTED.0;
    }
    // SAFETY: CUDA's contract: it comes from `cuModuleGetFunction`.
    let Function { module, name } = unsafe { &*function.cast::<Function>() };
    let Some(info) = module.kernel(name) else { return NOT_FOUND.0 };
    let shape = Shape {
        grid: Dim { x: grid_x, y: grid_y, z: grid_z },
        block: Dim { x: block_x, y: block_y, z: block_z },
        shared_bytes: u64::from(shared_bytes),
    };
    // More than any kernel may have is an error of its own.
    let fits_device = shape.block.count() <= 1024;
    if fits_device && info.max_threads.is_some_and(|most| shape.block.count() > u64::from(most)) {
        return CudaError::INVALID_VALUE.0;
    }
    // SAFETY: CUDA's contract: as many pointers as parameters, each to a value of the parameter's type.
    let values = unsafe { info.values(arguments.cast_const().cast()) };
    let Some(bound) = module.bind(name, values) else { return CudaError::INVALID_VALUE.0 };
    kernel::launch(Arc::new(bound), shape, stream, function, Site::UNKNOWN)
}

fn said(error: &dyn std::fmt::Display, code: CudaError) -> i32 {
    eprintln!("cotangent: {error}");
    code.0
}

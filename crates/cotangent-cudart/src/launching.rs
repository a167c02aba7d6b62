//! Launches, in all forms in which nvcc's host code and programs ask for them.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::sync::Arc;

use cotangent_cpu::CudaError;
use cotangent_cpu::abi::{Dim, Site};
use cotangent_cpu::kernel::{self, Shape};

use crate::functions::MOST_THREADS_IN_BLOCK;
use crate::places::caller;
use crate::registration;
use crate::runtime::{Handle, fail, give};
use crate::stubs::refuse;
use crate::types::{LaunchAttribute, LaunchConfig};

/// `cudaErrorMissingConfiguration`.
const MISSING_CONFIGURATION: CudaError = CudaError(52);

/// What stands between `<<<` and `>>>`.
#[derive(Clone, Copy)]
struct Configuration {
    grid: Dim,
    block: Dim,
    shared_bytes: usize,
    stream: Handle,
}

thread_local! {
    /// Configurations of calls whose arguments are being evaluated, and where each stands.
    static CONFIGURATIONS: RefCell<Vec<(Configuration, Site)>> = const { RefCell::new(Vec::new()) };
    /// Where the configuration stands that was last taken: between it and the launch are only functions of nvcc's.
    static PLACE: Cell<Option<Site>> = const { Cell::new(None) };
}

/// # Safety
/// Those of the crate, as for all functions of this file; `arguments` points to one pointer for each parameter.
unsafe fn launch(function: *const c_void, configuration: Configuration, arguments: *mut *mut c_void) -> i32 {
    let site = PLACE.take().unwrap_or_else(caller);
    let found = match registration::kernel(function) {
        Ok(found) => found,
        Err(code) => return code,
    };
    let info = &found.info;
    let Configuration { grid, block, shared_bytes, stream } = configuration;
    // More than any kernel may have is an error of its own.
    let fits_device = block.count() <= MOST_THREADS_IN_BLOCK as u64;
    if fits_device && info.max_threads.is_some_and(|most| block.count() > u64::from(most)) {
        return fail(CudaError::INVALID_VALUE);
    }
    // SAFETY: per the contract, as many pointers as parameters, each to a value of the parameter's type.
    let values = unsafe { info.values(arguments.cast_const().cast()) };
    let Some(bound) = found.module.bind(&found.name, values) else { return fail(CudaError::INVALID_VALUE) };
    let shape = Shape { grid, block, shared_bytes: shared_bytes as u64 };
    kernel::launch(Arc::new(bound), shape, stream, function, site)
}

#[unsafe(no_mangle)]
extern "C" fn __cudaPushCallConfiguration(grid: Dim, block: Dim, shared_bytes: usize, stream: Handle) -> u32 {
    let configuration = Configuration { grid, block, shared_bytes, stream };
    CONFIGURATIONS.with_borrow_mut(|all| all.push((configuration, caller())));
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaPopCallConfiguration(
    grid: *mut Dim,
    block: *mut Dim,
    shared_bytes: *mut usize,
    stream: *mut c_void,
) -> i32 {
    let Some((top, place)) = CONFIGURATIONS.with_borrow_mut(Vec::pop) else { return fail(MISSING_CONFIGURATION) };
    PLACE.set(Some(place));
    // SAFETY: variables of nvcc's host code.
    unsafe {
        grid.write(top.grid);
        block.write(top.block);
        shared_bytes.write(top.shared_bytes);
        stream.cast::<Handle>().write(top.stream);
    }
    0
}

/// A kernel's handle is the address of its host function.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaGetKernel(handle: *mut Handle, function: *const c_void) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { give(handle, function.cast_mut()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetKernel(handle: *mut Handle, function: *const c_void) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { __cudaGetKernel(handle, function) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaLaunchKernel(
    function: *const c_void,
    grid: Dim,
    block: Dim,
    arguments: *mut *mut c_void,
    shared_bytes: usize,
    stream: Handle,
) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { launch(function, Configuration { grid, block, shared_bytes, stream }, arguments) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __cudaLaunchKernel(
    kernel: Handle,
    grid: Dim,
    block: Dim,
    arguments: *mut *mut c_void,
    shared_bytes: usize,
    stream: Handle,
) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream) }
}

/// Blocks may wait for each other here, which only one block can promise to do.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaLaunchCooperativeKernel(
    function: *const c_void,
    grid: Dim,
    block: Dim,
    arguments: *mut *mut c_void,
    shared_bytes: usize,
    stream: Handle,
) -> i32 {
    if grid.count() > 1 {
        return refuse("cudaLaunchCooperativeKernel of more than one block");
    }
    // SAFETY: CUDA's contract.
    unsafe { cudaLaunchKernel(function, grid, block, arguments, shared_bytes, stream) }
}

/// # Safety
/// As [`launch`].
pub(crate) unsafe fn launch_with(
    config: *const LaunchConfig,
    function: *const c_void,
    arguments: *mut *mut c_void,
    stream_of: impl Fn(Handle) -> Handle,
) -> i32 {
    if config.is_null() {
        return fail(CudaError::INVALID_VALUE);
    }
    // SAFETY: CUDA's contract, and not null.
    let config = unsafe { &*config };
    let attributes = match config.attrs.is_null() {
        true => &[],
        // SAFETY: CUDA's contract.
        false => unsafe { std::slice::from_raw_parts(config.attrs, config.numAttrs as usize) },
    };
    if config.gridDim.count() > 1 && attributes.iter().any(LaunchAttribute::is_cooperative) {
        return refuse("a cooperative launch of more than one block");
    }
    if attributes.iter().any(LaunchAttribute::is_cluster) {
        return refuse("a launch with clusters");
    }
    let (grid, block, shared_bytes) = (config.gridDim, config.blockDim, config.dynamicSmemBytes);
    let configuration = Configuration { grid, block, shared_bytes, stream: stream_of(config.stream) };
    // SAFETY: CUDA's contract.
    unsafe { launch(function, configuration, arguments) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaLaunchKernelExC(
    config: *const LaunchConfig,
    function: *const c_void,
    arguments: *mut *mut c_void,
) -> i32 {
    // SAFETY: CUDA's contract.
    unsafe { launch_with(config, function, arguments, |stream| stream) }
}

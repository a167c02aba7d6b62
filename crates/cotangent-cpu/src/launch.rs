//! Launches: checks the configuration as CUDA does, and spreads the blocks over OS threads.

use std::cell::{Cell, UnsafeCell};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::abi::{DEFAULT_DYNAMIC_SHARED, Dim, Launch, MAX_DYNAMIC_SHARED, Site};
use crate::block::{self, Block};
use crate::checks::{Checks, LaunchChecks};
use crate::error::{self, CudaError};
use crate::failure::{Failure, Place, file_name};
use crate::order::BlockOrder;
use crate::runtime::{Runtime, runtime};
use crate::warp::{Collective, Operand};
use crate::{event, report};

/// A launch of fewer threads than this is not worth waking other OS threads.
const SMALL_LAUNCH: u64 = 2048;

/// Threads that an OS thread takes at a time, at least.
const CHUNK_THREADS: u64 = 8192;

thread_local! {
    static BLOCK: UnsafeCell<Block> = UnsafeCell::new(Block::default());
    /// The block that runs on this OS thread, or null on the host's side.
    static RUNNING: Cell<*mut Block> = const { Cell::new(std::ptr::null_mut()) };
}

/// Kernels that were allowed more dynamic shared memory than the default.
static SHARED_LIMITS: Mutex<Option<HashMap<usize, usize>>> = Mutex::new(None);

/// The block that runs on this OS thread, if kernel code does.
pub(crate) fn running_block() -> Option<*mut Block> {
    let block = RUNNING.get();
    (!block.is_null()).then_some(block)
}

/// # Safety
/// `launch` points to a launch whose functions belong to the loaded program.
pub(crate) unsafe extern "C" fn launch(launch: *const Launch) -> i32 {
    // SAFETY: per the contract.
    let launch = unsafe { &*launch };
    error::guarded(|| {
        if running_block().is_some() {
            return Err(CudaError(801));
        }
        validate(launch)?;
        run(runtime(), launch)
    })
}

/// The limits of a device of compute capability 9.0.
fn validate(launch: &Launch) -> Result<(), CudaError> {
    let Dim { x, y, z } = launch.grid;
    let block = launch.block;
    let grid_fits = (1..=0x7fff_ffff).contains(&x) && (1..=65535).contains(&y) && (1..=65535).contains(&z);
    let block_fits = (1..=1024).contains(&block.count()) && block.x <= 1024 && block.y <= 1024 && block.z <= 64;
    if !grid_fits || !block_fits {
        return Err(CudaError::INVALID_CONFIGURATION);
    }
    event::stream_id(launch.stream)?;
    if launch.shared_bytes > shared_limit(launch.function) as u64 {
        return Err(CudaError::INVALID_VALUE);
    }
    Ok(())
}

/// The dynamic shared memory that a kernel may ask for. A launch through a lambda does not tell
/// which kernel it is; it may use what any kernel was allowed.
fn shared_limit(function: *const c_void) -> usize {
    let limits = SHARED_LIMITS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let Some(limits) = limits.as_ref() else { return DEFAULT_DYNAMIC_SHARED };
    let found = match function.is_null() {
        true => limits.values().max().copied(),
        false => limits.get(&(function as usize)).copied(),
    };
    found.unwrap_or(0).max(DEFAULT_DYNAMIC_SHARED)
}

pub(crate) extern "C" fn function_shared_limit(function: *const c_void, bytes: i32) -> i32 {
    error::guarded(|| {
        if bytes < 0 || bytes as usize > MAX_DYNAMIC_SHARED {
            return Err(CudaError::INVALID_VALUE);
        }
        let mut limits = SHARED_LIMITS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        limits.get_or_insert_default().insert(function as usize, bytes as usize);
        Ok(())
    })
}

/// A launch, shared with the OS threads that run it while the launching thread waits.
struct Shared<'a> {
    launch: &'a Launch,
    /// Only in checked runs, which use no other OS thread.
    checks: Option<*mut Checks>,
}

// SAFETY: the closure of a launch is only read by the program's functions, and the launching
// thread waits until all blocks have run. The checks stay on the launching thread.
unsafe impl Sync for Shared<'_> {}

fn run(runtime: &Runtime, launch: &Launch) -> Result<(), CudaError> {
    let blocks = launch.grid.count();
    let threads_in_block = launch.block.count();
    let stop = AtomicBool::new(false);
    let failed: Mutex<Option<(Box<Failure>, u64)>> = Mutex::new(None);
    let order = BlockOrder::new(blocks, runtime.config.seed);
    let mut checks = LaunchChecks::begin(launch);
    let shared = Shared { launch, checks: checks.as_mut().and_then(LaunchChecks::pointer) };

    let chunk = (blocks / (runtime.workers() as u64 * 16)).max(CHUNK_THREADS.div_ceil(threads_in_block)).max(1);
    let run_from = |first: u64| {
        let shared = &shared;
        let count = chunk.min(blocks - first);
        if let Err((failure, index)) = run_chunk(runtime, shared, order, first, count, &stop) {
            stop.store(true, Ordering::Relaxed);
            failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert((failure, index));
        }
    };
    let starts = blocks.div_ceil(chunk);
    // Chunks are handed out in ascending order, so a block may wait for one that comes before it.
    let next = AtomicU64::new(0);
    let work = || {
        while let Some(start) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|start| *start < starts) {
            run_from(start * chunk);
        }
    };
    match runtime.pool.as_ref().filter(|_| starts > 1 && blocks * threads_in_block > SMALL_LAUNCH) {
        Some(pool) => drop(pool.broadcast(|_| work())),
        None => work(),
    }
    let failed = failed.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let failed = failed.map(|(failure, index)| (failure, launch.grid.coordinates(index)));
    let checked = checks.is_some();
    if let Some(checks) = checks {
        checks.end(failed.as_ref().map(|(failure, block)| (&**failure, *block)));
    }
    let Some((failure, block)) = failed else { return Ok(()) };
    if !checked {
        report::launch_failed(&failure, launch, block);
    }
    error::set_sticky(failure.error());
    Err(failure.error())
}

/// Runs `count` blocks on this OS thread, from position `first` of the order on.
fn run_chunk(
    runtime: &Runtime,
    shared: &Shared<'_>,
    order: BlockOrder,
    first: u64,
    count: u64,
    stop: &AtomicBool,
) -> Result<(), (Box<Failure>, u64)> {
    let launch = shared.launch;
    let block = BLOCK.with(UnsafeCell::get);
    // SAFETY: this OS thread's own block; it is not running, since kernels cannot launch.
    unsafe { (*block).prepare(launch, shared.checks) };
    RUNNING.set(block);
    let looped = launch.run_blocks.is_some() && runtime.config.seed == 0 && !runtime.config.check;
    // SAFETY: prepared above for this launch, which outlives the call.
    let outcome = if stop.load(Ordering::Relaxed) {
        Ok(())
    } else if looped {
        unsafe { block::run_loop(block, first, count) }.map_err(|failure| (failure, first))
    } else {
        (first..first + count).map(|position| order.block_at(position)).try_for_each(|index| {
            match stop.load(Ordering::Relaxed) {
                true => Ok(()),
                false => {
                    unsafe { block::run_block(block, index, runtime.config.seed) }.map_err(|failure| (failure, index))
                }
            }
        })
    };
    RUNNING.set(std::ptr::null_mut());
    outcome
}

/// # Safety
/// `file` is a string of the loaded program. The same for the functions below.
pub(crate) unsafe extern "C" fn barrier(kind: u32, predicate: i32, file: *const c_char, line: u32) -> i32 {
    match running_block() {
        // SAFETY: kernel code runs on this OS thread, on a coroutine of this block.
        Some(block) => unsafe { block::barrier(block, kind, predicate != 0, Site { file, line }) },
        None => 0,
    }
}

pub(crate) unsafe extern "C" fn collective(
    operation: u32,
    mask: u32,
    value: u64,
    argument: u32,
    width: u32,
    file: *const c_char,
    line: u32,
) -> u64 {
    match (running_block(), Collective::from_raw(operation)) {
        // SAFETY: as in `barrier`.
        (Some(block), Some(operation)) => unsafe {
            block::collective(block, operation, mask, Operand { value, argument, width }, Site { file, line })
        },
        _ => 0,
    }
}

pub(crate) unsafe extern "C" fn active_mask(file: *const c_char, line: u32) -> u32 {
    // SAFETY: as in `barrier`.
    running_block().map_or(1, |block| unsafe { block::active_mask(block, Site { file, line }) })
}

/// Prints what CUDA prints for a failing assertion and ends the launch; returns on the host.
pub(crate) unsafe extern "C" fn assert_failed(
    expression: *const c_char,
    file: *const c_char,
    line: u32,
    function: *const c_char,
) {
    let Some(block) = running_block() else { return };
    // SAFETY: string literals of the loaded program.
    let text = |pointer: *const c_char| unsafe { CStr::from_ptr(pointer) }.to_string_lossy();
    // SAFETY: as in `barrier`.
    let thread = unsafe { (*block).position() };
    report::line(&format!(
        "{}:{line}: {}: {thread} Assertion `{}` failed.",
        text(file),
        text(function),
        text(expression)
    ));
    // SAFETY: as in `barrier`.
    unsafe { block::fail(block, Failure::Assert) }
}

pub(crate) unsafe extern "C" fn trap(file: *const c_char, line: u32) {
    let Some(block) = running_block() else { return };
    // SAFETY: as in `barrier`.
    let thread = unsafe { (*block).current_thread().1 };
    let place = Place { what: "__trap", file: file_name(Site { file, line }), line, thread, count: 1 };
    // SAFETY: as in `barrier`.
    unsafe { block::fail(block, Failure::Trap { place }) }
}

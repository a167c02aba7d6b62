//! Launches: checks the configuration as CUDA does, and spreads the blocks over OS threads.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::abi::{DEFAULT_DYNAMIC_SHARED, Dim, Launch, MAX_DYNAMIC_SHARED, Site};
use crate::block::{self, running_block, with_running_block};
use crate::check::StreamId;
use crate::checks::{Checks, LaunchChecks};
use crate::error::{self, CudaError};
use crate::failure::Failure;
use crate::interpreted::{Kernel, Shape};
use crate::order::BlockOrder;
use crate::runtime::runtime;
use crate::{event, queue, report};

/// A launch of fewer threads than this is not worth waking other OS threads, if they run compiled code.
const SMALL_LAUNCH: u64 = 2048;

/// Threads of compiled code that an OS thread takes at a time, at least.
const CHUNK_THREADS: u64 = 8192;

/// Kernels that were allowed more dynamic shared memory than the default.
static SHARED_LIMITS: Mutex<Option<HashMap<usize, usize>>> = Mutex::new(None);

/// # Safety
/// `launch` points to a launch whose functions belong to the loaded program.
pub(crate) unsafe extern "C" fn launch(launch: *const Launch) -> i32 {
    // SAFETY: per the contract.
    let launch = unsafe { &*launch };
    let shape = Shape { grid: launch.grid, block: launch.block, shared_bytes: launch.shared_bytes };
    error::guarded(|| {
        let stream = validate(&shape, launch.stream, launch.function, 0)?;
        // What it is given lies on the caller's stack, so it cannot wait.
        queue::wait_for_next(stream)?;
        run(&Task { shape, stream, site: launch.site, code: Code::Compiled(launch) })
    })
}

/// Checks a launch against the limits of a device of compute capability 9.0. Returns its stream.
pub(crate) fn validate(
    shape: &Shape,
    stream: *mut c_void,
    function: *const c_void,
    static_shared: usize,
) -> Result<StreamId, CudaError> {
    if running_block().is_some() {
        return Err(CudaError::NOT_SUPPORTED);
    }
    let Dim { x, y, z } = shape.grid;
    let block = shape.block;
    let grid_fits = (1..=0x7fff_ffff).contains(&x) && (1..=65535).contains(&y) && (1..=65535).contains(&z);
    let block_fits = (1..=1024).contains(&block.count()) && block.x <= 1024 && block.y <= 1024 && block.z <= 64;
    if !grid_fits || !block_fits {
        return Err(CudaError::INVALID_CONFIGURATION);
    }
    let stream = event::stream_id(stream)?;
    if shape.shared_bytes > shared_limit(function, static_shared) as u64 {
        return Err(CudaError::INVALID_VALUE);
    }
    Ok(stream)
}

/// The dynamic shared memory that a kernel may ask for, besides what it has in any case. A launch through a lambda does
/// not tell which kernel it is; it may use what any kernel was allowed.
pub(crate) fn shared_limit(function: *const c_void, static_shared: usize) -> usize {
    let limits = SHARED_LIMITS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let allowed = limits.as_ref().and_then(|limits| match function.is_null() {
        true => limits.values().max().copied(),
        false => limits.get(&(function as usize)).copied(),
    });
    let without_asking = DEFAULT_DYNAMIC_SHARED.saturating_sub(static_shared);
    allowed.unwrap_or(0).max(without_asking).min(MAX_DYNAMIC_SHARED.saturating_sub(static_shared))
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

/// What runs the blocks of a launch.
pub(crate) enum Code<'a> {
    /// Functions of the loaded program.
    Compiled(&'a Launch),
    Kernel(&'a dyn Kernel),
}

impl Code<'_> {
    /// A launch of fewer threads is not worth waking other OS threads.
    fn small_launch(&self) -> u64 {
        match self {
            Code::Compiled(_) => SMALL_LAUNCH,
            Code::Kernel(_) => 0,
        }
    }

    /// Threads that an OS thread takes at a time, at least.
    fn chunk_threads(&self) -> u64 {
        match self {
            Code::Compiled(_) => CHUNK_THREADS,
            Code::Kernel(_) => 1,
        }
    }

    /// The kernel's name, where the launch itself tells it.
    fn name(&self) -> Option<&str> {
        match self {
            Code::Compiled(_) => None,
            Code::Kernel(kernel) => Some(kernel.name()),
        }
    }
}

/// A launch that was found valid.
pub(crate) struct Task<'a> {
    pub(crate) shape: Shape,
    pub(crate) stream: StreamId,
    pub(crate) site: Site,
    pub(crate) code: Code<'a>,
}

/// A launch, shared with the OS threads that run it while the launching thread waits.
struct Shared<'a> {
    task: &'a Task<'a>,
    order: BlockOrder,
    seed: u64,
    /// Only in checked runs, which use no other OS thread.
    checks: Option<*mut Checks>,
    stop: AtomicBool,
}

// SAFETY: the closure of a launch is only read by the program's functions, a kernel may be shared, and the launching
// thread waits until all blocks have run. The checks stay on the launching thread.
unsafe impl Sync for Shared<'_> {}

/// Runs all blocks. A failure is reported, and the context is lost.
pub(crate) fn run(task: &Task<'_>) -> Result<(), CudaError> {
    let runtime = runtime();
    let blocks = task.shape.grid.count();
    let threads_in_block = task.shape.block.count();
    let failed: Mutex<Option<(Box<Failure>, u64)>> = Mutex::new(None);
    let mut checks = LaunchChecks::begin(&task.shape, task.stream, task.site, |checks| match &task.code {
        Code::Compiled(launch) => checks.kernel_name(launch.function as usize),
        Code::Kernel(kernel) => kernel.name().to_owned(),
    });
    let shared = Shared {
        task,
        order: BlockOrder::new(blocks, runtime.config.seed),
        seed: runtime.config.seed,
        checks: checks.as_mut().and_then(LaunchChecks::pointer),
        stop: AtomicBool::new(false),
    };

    let least = task.code.chunk_threads().div_ceil(threads_in_block);
    let chunk = (blocks / (runtime.workers() as u64 * 16)).max(least).max(1);
    let run_from = |first: u64| {
        let shared = &shared;
        if let Err((failure, index)) = run_chunk(shared, first..(first + chunk).min(blocks)) {
            shared.stop.store(true, Ordering::Relaxed);
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
    match runtime.pool.as_ref().filter(|_| starts > 1 && blocks * threads_in_block > task.code.small_launch()) {
        Some(pool) => drop(pool.broadcast(|_| work())),
        None => work(),
    }
    let failed = failed.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let failed = failed.map(|(failure, index)| (failure, task.shape.grid.coordinates(index)));
    let checked = checks.is_some();
    if let Some(checks) = checks {
        checks.end(failed.as_ref().map(|(failure, block)| (&**failure, *block)));
    }
    let Some((failure, block)) = failed else { return Ok(()) };
    // An instruction that cannot be executed is nothing that the checks have a finding for.
    if !checked || matches!(*failure, Failure::IllegalInstruction { .. }) {
        report::launch_failed(&failure, task.site, task.code.name(), block);
    }
    error::set_sticky(failure.error());
    Err(failure.error())
}

/// Runs the blocks at some positions of the order on this OS thread.
fn run_chunk(shared: &Shared<'_>, positions: Range<u64>) -> Result<(), (Box<Failure>, u64)> {
    match shared.task.code {
        Code::Compiled(launch) => run_compiled(shared, launch, positions),
        Code::Kernel(kernel) => run_each(shared, positions, |index| {
            let shape = &shared.task.shape;
            // SAFETY: the launch holds the lock of the checks, and this OS thread is the only one that runs.
            let checker = shared.checks.map(|checks| unsafe { (*checks).order() });
            kernel.run_block(shape, shape.grid.coordinates(index), shared.seed, checker)
        }),
    }
}

/// Runs the blocks at some positions one after another, until one of the launch has failed.
fn run_each(
    shared: &Shared<'_>,
    mut positions: Range<u64>,
    mut run_block: impl FnMut(u64) -> Result<(), Box<Failure>>,
) -> Result<(), (Box<Failure>, u64)> {
    positions.try_for_each(|position| {
        let index = shared.order.block_at(position);
        match shared.stop.load(Ordering::Relaxed) {
            true => Ok(()),
            false => run_block(index).map_err(|failure| (failure, index)),
        }
    })
}

fn run_compiled(shared: &Shared<'_>, launch: &Launch, positions: Range<u64>) -> Result<(), (Box<Failure>, u64)> {
    let looped = launch.run_blocks.is_some() && shared.seed == 0 && shared.checks.is_none();
    with_running_block(|block| {
        // SAFETY: this OS thread's own block, for a launch that outlives the call.
        unsafe { (*block).prepare(launch, shared.checks) };
        // SAFETY: prepared above.
        if shared.stop.load(Ordering::Relaxed) {
            Ok(())
        } else if looped {
            let (first, count) = (positions.start, positions.end - positions.start);
            unsafe { block::run_loop(block, first, count) }.map_err(|failure| (failure, first))
        } else {
            run_each(shared, positions, |index| unsafe { block::run_block(block, index, shared.seed) })
        }
    })
}

//! The one runtime of a process: its configuration, its OS threads and their shared memory.

use std::ffi::c_void;
use std::sync::OnceLock;

use crate::abi::MAX_DYNAMIC_SHARED;

/// How programs are executed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Config {
    /// Permutes the order of blocks and of threads; 0 is the natural order.
    pub seed: u64,
    /// OS threads that run blocks; 0 for one per processor.
    pub threads: usize,
    /// Whether the program was compiled for checks and its accesses are checked.
    pub check: bool,
    /// Whether streams do their work as late as CUDA allows, instead of when they are asked; not in a checked run.
    pub late: bool,
}

/// The state behind the C functions.
pub(crate) struct Runtime {
    pub(crate) config: Config,
    /// None if all blocks run on the thread that launches.
    pub(crate) pool: Option<rayon::ThreadPool>,
}

impl Runtime {
    /// OS threads that run blocks.
    pub(crate) fn workers(&self) -> usize {
        self.pool.as_ref().map_or(1, rayon::ThreadPool::current_num_threads)
    }
}

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

/// The runtime; with the default configuration if none was set up.
pub(crate) fn runtime() -> &'static Runtime {
    RUNTIME.get_or_init(|| build(Config::default()))
}

/// Sets up the runtime of this process. The first configuration stays.
pub(crate) fn set_up(config: Config) -> &'static Runtime {
    RUNTIME.get_or_init(|| build(config))
}

fn build(config: Config) -> Runtime {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if config.threads == 0 { available } else { config.threads };
    // Checks need one order of events, so then all blocks run on one OS thread. So does a machine
    // that cannot give us threads.
    let pool = (threads > 1 && !config.check)
        .then(|| rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok())
        .flatten();
    Runtime { config, pool }
}

thread_local! {
    static DYNAMIC_SHARED: *mut c_void = dynamic_shared_buffer();
}

/// Dynamic shared memory for the blocks of one OS thread, mapped and not yet touched. It stays for
/// the life of the process, since the program may keep its address in variables of its own.
fn dynamic_shared_buffer() -> *mut c_void {
    // SAFETY: an anonymous mapping at an address of the system's choice touches nothing else.
    let buffer = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            MAX_DYNAMIC_SHARED,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    assert!(buffer != libc::MAP_FAILED, "no address space left for shared memory");
    buffer
}

pub(crate) extern "C" fn dynamic_shared() -> *mut c_void {
    DYNAMIC_SHARED.with(|buffer| *buffer)
}

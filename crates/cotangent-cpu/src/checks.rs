//! The bridge between the executor and the checker: translates events, and keeps the one checker of
//! the process.
//!
//! While a launch runs, the launching thread holds the lock and the kernel's events reach the
//! checker through the block; everything else takes the lock.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use crate::abi::{Dim, MAX_DYNAMIC_SHARED, Memory, Site};
use crate::arena;
use crate::check::{
    Access, AccessKind, Actor, Checker, Code, Event, Options, SharedMemory, Side, Site as CheckSite, Space, StreamId,
    Symbolizer, Verdict, render,
};
use crate::demangle::demangled;
use crate::failure::{Failure, Place, file_name, waiting};
use crate::interpreted::Shape;
use crate::program::Program;
use crate::runtime::{dynamic_shared, runtime};

/// What an uninitialised byte of shared memory looks like: no number, or minus one.
const POISON: u8 = 0xff;

/// The checker and what it needs from the executor.
pub(crate) struct Checks {
    checker: Checker,
    program: Option<Program>,
    /// Directories of headers, whose lines are not the user's.
    headers: Vec<PathBuf>,
    /// OS threads whose thread-local memory is known: the start of their shared memory.
    known_threads: Vec<usize>,
    shared: Range<usize>,
    files: HashMap<usize, crate::check::FileId>,
    /// The names of kernels by their address.
    kernels: HashMap<usize, String>,
}

static CHECKS: Mutex<Option<Checks>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Checks>> {
    CHECKS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Runs `body` on the checks, if the run is checked.
pub(crate) fn with<T>(body: impl FnOnce(&mut Checks) -> T) -> Option<T> {
    if !runtime().config.check {
        return None;
    }
    lock().as_mut().map(body)
}

/// Sets the checker up. Called before the program is loaded.
pub(crate) fn start() {
    let mut checker = Checker::new(Options { peek: Some(peek), ..Options::default() });
    checker.arena(arena::range());
    *lock() = Some(Checks {
        checker,
        program: None,
        headers: Vec::new(),
        known_threads: Vec::new(),
        shared: 0..0,
        files: HashMap::new(),
        kernels: HashMap::new(),
    });
}

/// What memory holds that a thread of the running launch has just written.
fn peek(range: Range<usize>) -> Vec<u8> {
    // SAFETY: the checker asks for bytes of a live region only, and no other thread runs while it is asked.
    unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) }.to_vec()
}

/// The program is loaded; `support_file` is the path of the headers' `support.cpp`.
pub(crate) fn program_loaded(path: &Path, support_file: &str) {
    with(|checks| {
        let program = Program::find(path);
        for range in &program.constant {
            checks.checker.readonly(range.clone());
        }
        checks.program = Some(program);
        // include/cpu/cotangent/support.cpp: all of include/ is ours, and /usr the system's.
        let include = Path::new(support_file).ancestors().nth(3).filter(|path| !path.as_os_str().is_empty());
        checks.headers.extend(include.map(Path::to_path_buf));
        checks.headers.push(PathBuf::from("/usr"));
    });
}

/// All findings as text, and the number of errors; none if the run is not checked. Called once, at the end.
pub(crate) fn findings() -> Option<(String, usize)> {
    with(|checks| {
        let (path, load_address) = match &checks.program {
            Some(program) => (program.path.clone(), program.load_address),
            None => (PathBuf::new(), 0),
        };
        let mut symbolizer = Symbolizer::new(&path, load_address, checks.headers.clone());
        (render(&checks.checker, &mut symbolizer), checks.checker.findings().error_count() as usize)
    })
}

impl Checks {
    fn site(&mut self, site: Site) -> CheckSite {
        if site.file.is_null() {
            return CheckSite::Unknown;
        }
        let checker = &mut self.checker;
        let file = *self.files.entry(site.file as usize).or_insert_with(|| checker.file(&file_name(site)));
        CheckSite::Line { file, line: site.line }
    }

    /// A launch through a lambda has no name.
    pub(crate) fn kernel_name(&mut self, function: usize) -> String {
        let program = self.program.as_ref().filter(|_| function != 0);
        let Some(program) = program else { return String::from("kernel") };
        let name = self.kernels.entry(function).or_insert_with(|| {
            program.function_name(function).map_or_else(|| String::from("kernel"), |symbol| demangled(&symbol))
        });
        name.clone()
    }

    pub(crate) fn allocated(&mut self, address: usize, bytes: usize, memory: Memory, site: Site) {
        let site = self.site(site);
        self.checker.allocate(address, bytes, space(memory), site);
    }

    /// Whether the memory may be freed.
    pub(crate) fn free(&mut self, address: usize, site: Site) -> bool {
        let site = self.site(site);
        self.checker.free(address, site) == Verdict::Continue
    }

    pub(crate) fn symbol(&mut self, address: usize, bytes: usize, name: &str, space: Space) {
        self.checker.symbol(address, bytes, name, space);
    }

    /// The checker, for what streams and events do, and for kernels that tell it themselves.
    pub(crate) fn order(&mut self) -> &mut Checker {
        &mut self.checker
    }

    /// One side of a copy or fill; whether it may be made.
    pub(crate) fn transfer(&mut self, address: usize, bytes: usize, device: bool, writes: bool, site: Site) -> bool {
        let site = self.site(site);
        let kind = if writes { AccessKind::Write } else { AccessKind::Read };
        let side = if device { Side::Device } else { Side::Host };
        let access = Access { address, size: bytes, kind, alignment: 1, site };
        self.checker.transfer(side, access) == Verdict::Continue
    }

    fn event(&mut self, place: &Place, what: String, actor: Actor, remark: String) -> Event {
        let file = self.checker.file(&place.file);
        let site = CheckSite::Line { file, line: place.line };
        Event { site, what, actor, remark }
    }

    /// Hands a failure that only the executor sees to the checker.
    fn failed(&mut self, failure: &Failure, block: Dim) {
        let Some(code) = failure.code() else { return };
        let triple = |dim: Dim| [dim.x, dim.y, dim.z];
        let places = failure.places();
        let mut events = places.iter().map(|place| {
            let actor = Actor::Thread { block: triple(block), thread: triple(place.thread) };
            let remark = match place.count {
                0 | 1 => String::new(),
                count => format!("and {} more", count - 1),
            };
            self.event(place, failure.doing(place), actor, remark)
        });
        if let Some(primary) = events.next() {
            let secondary = events.next();
            drop(events);
            self.checker.report(code, failure.message(), primary, secondary);
        }
    }
}

fn space(memory: Memory) -> Space {
    match memory {
        Memory::Device => Space::Device,
        Memory::Managed => Space::Managed,
        Memory::Pinned => Space::Pinned,
    }
}

/// The checks of one launch: holds the lock until the launch has ended.
pub(crate) struct LaunchChecks {
    guard: MutexGuard<'static, Option<Checks>>,
}

impl LaunchChecks {
    /// Begins a launch, if the run is checked.
    pub(crate) fn begin(
        shape: &Shape,
        stream: StreamId,
        site: Site,
        kernel: impl FnOnce(&mut Checks) -> String,
    ) -> Option<LaunchChecks> {
        if !runtime().config.check {
            return None;
        }
        let mut guard = lock();
        let checks = guard.as_mut()?;
        let site = checks.site(site);
        let extents = |dim: Dim| [dim.x, dim.y, dim.z];
        let (grid, block) = (extents(shape.grid), extents(shape.block));
        let kernel = kernel(checks);
        checks.checker.begin_launch_in(stream, &kernel, grid, block, site);
        Some(LaunchChecks { guard })
    }

    /// The checks, for the block that runs.
    pub(crate) fn pointer(&mut self) -> Option<*mut Checks> {
        self.guard.as_mut().map(|checks| &raw mut *checks)
    }

    pub(crate) fn end(mut self, failure: Option<(&Failure, Dim)>) {
        if let Some(checks) = self.guard.as_mut() {
            if let Some((failure, block)) = failure {
                checks.failed(failure, block);
            }
            checks.checker.end_launch();
        }
    }
}

/// Events of the running block. All take the pointer that the block was given for this launch.
impl Checks {
    /// A block begins on this OS thread: its shared memory has no defined content.
    pub(crate) fn begin_block(&mut self, index: Dim, dynamic_bytes: usize) {
        if let Some(program) = &self.program {
            let memory = program.thread_local();
            if !self.known_threads.contains(&memory.shared.start) {
                self.known_threads.push(memory.shared.start);
                memory.others.into_iter().for_each(|range| self.checker.ignore(range));
            }
            self.shared = memory.shared;
        }
        let dynamic = dynamic_shared();
        // SAFETY: the shared memory of the block that is about to run on this OS thread.
        unsafe {
            std::ptr::write_bytes(self.shared.start as *mut u8, POISON, self.shared.len());
            std::ptr::write_bytes(dynamic.cast::<u8>(), POISON, dynamic_bytes);
        }
        let shared = SharedMemory {
            static_range: self.shared.clone(),
            dynamic_range: dynamic as usize..dynamic as usize + dynamic_bytes,
            dynamic_capacity: MAX_DYNAMIC_SHARED,
        };
        self.checker.begin_block([index.x, index.y, index.z], shared);
    }

    pub(crate) fn end_block(&mut self) {
        self.checker.end_block();
    }

    /// Another thread goes on, on this stack.
    pub(crate) fn begin_thread(&mut self, stack: Range<usize>) {
        self.checker.begin_thread(stack);
    }

    /// All live threads have arrived; `returned` have returned before.
    pub(crate) fn barrier(&mut self, thread: u32, place: impl FnOnce() -> Place, returned: usize) {
        self.checker.barrier();
        if returned > 0 {
            let actor = self.checker.actor(thread);
            let remark = format!("{returned} threads of the block had returned");
            let place = place();
            let event = self.event(&place, waiting(&place), actor, remark);
            self.checker.report(Code::ReturnedThreads, None, event, None);
        }
    }

    pub(crate) fn warp_sync(&mut self, warp: usize, lanes: u32) {
        self.checker.warp_sync(warp as u32, lanes);
    }
}

/// The memory that the host's accesses matter in, for programs that tell of them by [`host_access`]; empty without checks.
pub fn memory_of_checks() -> Range<usize> {
    if runtime().config.check { arena::range() } else { 0..0 }
}

/// The host is about to access memory of [`memory_of_checks`].
pub fn host_access(address: usize, bytes: usize, kind: AccessKind, site: Site) {
    with(|checks| {
        let site = checks.site(site);
        // The memory exists, so the host goes on after the finding.
        let _ = checks.checker.host_access(Access { address, size: bytes, kind, alignment: 1, site });
    });
}

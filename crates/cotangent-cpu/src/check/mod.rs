//! The checker: finds invalid accesses, uninitialised reads and races in CUDA programs run on the CPU.
//!
//! It is a plain data structure. The executor tells it what happens, in the order in which it happens, through
//! the methods of [`Checker`]; what is wrong with it becomes a [`Finding`]. It never touches the memory of the
//! program, and has no state outside itself: all addresses are numbers to it.
//!
//! # What the executor has to do
//!
//! - Memory: [`Checker::allocate`], [`Checker::free`], [`Checker::symbol`], [`Checker::readonly`],
//!   [`Checker::ignore`]. The addresses of freed memory are not used again while the program runs, and at least
//!   [`Options::red_zone`] bytes between allocations belong to nobody; best, all allocations come out of one
//!   large reserved range, told by [`Checker::arena`].
//! - A launch: [`Checker::begin_launch`]; for each block, one after the other, [`Checker::begin_block`], the
//!   block's events, [`Checker::end_block`]; then [`Checker::end_launch`]. Launches do not overlap.
//! - In a block: [`Checker::begin_thread`] whenever another thread goes on (with the stack it runs on),
//!   [`Checker::access`] and [`Checker::copy`] *before* the access is made, [`Checker::barrier`] and
//!   [`Checker::warp_sync`] when all participants have arrived and before any goes on.
//! - On the host: [`Checker::host_access`], [`Checker::transfer`].
//! - What only the executor sees (divergence) it hands in with [`Checker::report`].
//!
//! # What counts as a race
//!
//! Two accesses to the same bytes by different threads of one launch, not both reads and not both atomic, with
//! no order between them. Order comes from the program order of a thread, barriers of the block, and
//! `__syncwarp` and the other `_sync` calls for the lanes of their mask. Blocks of a launch are never ordered:
//! fences and atomics order nothing here. Launches, copies and fills are ordered by their streams, by events and by the
//! host's waiting; without an order between them their accesses race too, also with those of the host. Two threads that write the same value race all
//! the same. How much of the past is remembered is said in `granule.rs`.
//!
//! # What counts as initialised
//!
//! Shared memory that the block has written, and memory of `cudaMalloc` that a kernel, a copy or a fill has written: nobody
//! else can. Managed and pinned memory may have been written by a library that is not seen, and variables begin as zero.

mod access;
mod bitmap;
mod clocks;
mod code;
mod diagnose;
mod finding;
mod granule;
mod input;
mod launch;
mod memory;
mod render;
mod same_value;
mod shadow;
mod site;
mod site_table;
mod streams;
mod symbolize;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

pub use code::{Code, Entry, Severity, TABLE};
pub use finding::{Actor, Event, Finding, Findings, LaunchInfo, MemoryNote};
pub use input::{Access, AccessKind, Copy, SharedMemory, Side, Space, Verdict};
pub use render::render;
pub use site::{FileId, Site};
pub use streams::{DEFAULT_STREAM, StreamId};
pub use symbolize::{Location, Symbolizer};

use bitmap::Bitmap;
use launch::Launch;
use memory::{Memory, Region, RegionKind};
use same_value::Pending;
use site_table::SiteTable;
use streams::Streams;

/// Settings of a checker.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many distinct findings are kept; further ones are only counted.
    pub max_findings: usize,
    /// An address at most this far from an allocation is out of its bounds, not a stray pointer.
    pub red_zone: usize,
    /// Reads memory of the device, by which stores of the same value are told from others. Without it they race as others do.
    pub peek: Option<fn(Range<usize>) -> Vec<u8>>,
    /// Shadow memory, in bytes, above which what earlier launches left is given back when a launch begins.
    pub shadow_limit: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { max_findings: 100, red_zone: 4096, peek: None, shadow_limit: 1 << 30 }
    }
}

/// The state of the checks of one run of a program.
pub struct Checker {
    options: Options,
    files: Vec<Arc<str>>,
    sites: SiteTable,
    memory: Memory,
    launch: Launch,
    streams: Streams,
    is_in_host_function: bool,
    pending: Option<Pending>,
    findings: Findings,
}

impl Checker {
    pub fn new(options: Options) -> Checker {
        Checker {
            options,
            files: Vec::new(),
            sites: SiteTable::new(),
            memory: Memory::new(),
            launch: Launch::new(),
            streams: Streams::default(),
            is_in_host_function: false,
            pending: None,
            findings: Findings::new(options.max_findings),
        }
    }

    /// The number of a file name, for [`Site::Line`].
    pub fn file(&mut self, name: &str) -> FileId {
        let known = self.files.iter().position(|file| **file == *name);
        let index = known.unwrap_or_else(|| {
            self.files.push(Arc::from(name));
            self.files.len() - 1
        });
        FileId(u32::try_from(index).expect("fewer than 2^32 files"))
    }

    /// The name that belongs to a number.
    pub fn file_name(&self, file: FileId) -> &str {
        &self.files[file.0 as usize]
    }

    /// What was found so far.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Memory in this range is the device's, whether or not something is allocated there: an address in it that
    /// belongs to no allocation is out of bounds rather than a host pointer.
    pub fn arena(&mut self, range: Range<usize>) {
        self.memory.arena = range;
    }

    /// Memory was allocated. An allocation of no bytes is allowed.
    pub fn allocate(&mut self, base: usize, size: usize, space: Space, site: Site) {
        let mut region = Region::new(base..base + size, RegionKind::Global { space, freed: None }, None, site);
        if space == Space::Device {
            region.initialised = Bitmap::new(size);
        }
        self.memory.add(region);
    }

    /// Memory is about to be freed. Freeing null is nothing. With [`Verdict::Fatal`] the pointer is not one that
    /// can be freed.
    pub fn free(&mut self, base: usize, site: Site) -> Verdict {
        if base == 0 {
            return Verdict::Continue;
        }
        self.settle();
        self.free_region(base, site)
    }

    /// A `__device__`, `__constant__` or `__managed__` variable.
    pub fn symbol(&mut self, base: usize, size: usize, name: &str, space: Space) {
        let kind = RegionKind::Global { space, freed: None };
        self.memory.add(Region::new(base..base + size, kind, Some(name.to_owned()), Site::Unknown));
    }

    /// Constant data of the program (string literals, `constexpr` tables) that kernels may read.
    pub fn readonly(&mut self, range: Range<usize>) {
        self.memory.add(Region::new(range, RegionKind::ReadOnly, None, Site::Unknown));
    }

    /// Memory that kernels use under the hood, such as the runtime's own records: anything goes. It may lie
    /// inside the thread-local segment.
    pub fn ignore(&mut self, range: Range<usize>) {
        self.memory.ignore(range);
    }

    /// A launch begins, in the default stream. A block has at most 1024 threads, as in CUDA.
    pub fn begin_launch(&mut self, kernel: &str, grid: [u32; 3], block: [u32; 3], site: Site) {
        self.begin_launch_in(DEFAULT_STREAM, kernel, grid, block, site);
    }

    /// A launch begins in a stream.
    pub fn begin_launch_in(&mut self, stream: StreamId, kernel: &str, grid: [u32; 3], block: [u32; 3], site: Site) {
        self.forget_if_full();
        self.launch.begin(LaunchInfo { kernel: kernel.to_owned(), grid, block, site });
        self.begin_operation(stream);
    }

    /// A copy, a fill or another operation begins in a stream; its transfers follow.
    pub fn begin_transfer(&mut self, stream: StreamId) {
        self.forget_if_full();
        self.launch.begin_transfer();
        self.begin_operation(stream);
    }

    /// A function of the host's begins that a stream calls: until it ends, what the host touches is touched by the stream.
    pub fn begin_host_function(&mut self, stream: StreamId) {
        self.begin_transfer(stream);
        self.is_in_host_function = true;
    }

    pub fn end_host_function(&mut self) {
        self.is_in_host_function = false;
    }

    /// The host is about to touch memory that the device may touch as well.
    fn begin_host_operation(&mut self) {
        if !self.is_in_host_function && !self.streams.is_host() {
            self.forget_if_full();
            self.launch.begin_transfer();
            let first_unordered = self.streams.begin_host(self.launch.segment());
            self.launch.set_order(first_unordered, self.streams.first_open());
        }
    }

    fn forget_if_full(&mut self) {
        if self.memory.shadow_bytes() > self.options.shadow_limit || self.launch.is_late() {
            self.memory.forget_accesses();
            self.launch.restart_segments();
            self.streams.forget();
        }
    }

    fn begin_operation(&mut self, stream: StreamId) {
        let first_unordered = self.streams.begin(stream, self.launch.segment());
        self.launch.set_order(first_unordered, self.streams.first_open());
    }

    /// The program has made a stream that does not wait for the default stream.
    pub fn non_blocking_stream_created(&mut self, stream: StreamId) {
        self.streams.created_non_blocking(stream);
    }

    /// The program has given up a stream.
    pub fn stream_destroyed(&mut self, stream: StreamId) {
        self.streams.destroyed(stream);
    }

    /// An event happens when the stream has come so far.
    pub fn event_recorded(&mut self, event: usize, stream: StreamId) {
        self.streams.recorded(event, stream);
    }

    /// A stream waits for an event.
    pub fn stream_waits(&mut self, stream: StreamId, event: usize) {
        self.streams.waits(stream, event);
    }

    /// The host has waited for a stream.
    pub fn stream_synchronized(&mut self, stream: StreamId) {
        self.streams.synchronized(stream);
    }

    /// The host has waited for an event.
    pub fn event_synchronized(&mut self, event: usize) {
        self.streams.reached(event);
    }

    /// The host has waited for the device.
    pub fn device_synchronized(&mut self) {
        self.streams.all_done();
    }

    /// A block begins: its shared memory is uninitialised.
    pub fn begin_block(&mut self, index: [u32; 3], shared: SharedMemory) {
        self.launch.begin_block(index);
        self.memory.set_shared(shared);
    }

    /// A thread begins or goes on, on this stack: the stack is its local memory.
    pub fn begin_thread(&mut self, stack: Range<usize>) {
        self.memory.stack = stack;
    }

    /// All live threads of the block have arrived at a barrier.
    pub fn barrier(&mut self) {
        self.launch.barrier();
    }

    /// The lanes of a mask have arrived at `__syncwarp` or another `_sync` call. A warp is 32 threads of
    /// consecutive index in the block.
    pub fn warp_sync(&mut self, warp: u32, lanes: u32) {
        self.launch.clocks.sync(self.launch.segment(), warp as usize, lanes);
    }

    /// A block has ended: the shared memory is nobody's.
    pub fn end_block(&mut self) {
        self.settle();
        self.memory.set_shared(SharedMemory::default());
    }

    /// A launch has ended, completed or stopped. Ends the block as well.
    pub fn end_launch(&mut self) {
        self.end_block();
        self.memory.stack = 0..0;
        self.launch.end();
    }

    /// The coordinates of a thread of the present block, for events that are reported.
    pub fn actor(&self, thread: u32) -> Actor {
        self.launch.actor(thread)
    }

    /// Records what only the executor can see. Without a message the code's title is used.
    pub fn report(&mut self, code: Code, message: Option<String>, primary: Event, secondary: Option<Event>) {
        if self.findings.is_new(code, primary.site, secondary.as_ref().map(|event| event.site)) {
            let message = message.unwrap_or_else(|| code.entry().title.to_owned());
            let launch = self.launch.info();
            self.findings.push(Finding { code, message, primary, secondary, memory: None, launch, count: 1 });
        }
    }
}

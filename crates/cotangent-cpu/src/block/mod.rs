//! Runs the threads of one block on one OS thread.
//!
//! One coroutine runs thread after thread in a plain loop. Only when a thread has to wait (at a
//! barrier, or for the other lanes of its warp) does its coroutine stop there, and another one goes
//! on with the next thread. So a kernel that never waits costs one coroutine a block, and nothing
//! need be known about a kernel beforehand.
//!
//! Whoever arrives last at a meeting completes it and does not stop; all others become ready and
//! are resumed in turn. If nobody is ready, nobody is left to start and some still wait, the
//! block cannot go on: that is a deadlock, and it is reported instead of hanging.
//!
//! The state is reached through raw pointers, because coroutines that are stopped in the middle of
//! a call hold a path to it. No reference to it lives across a switch. It is laid out for the
//! switch: what a resumed thread needs is in a few dense arrays.

mod meeting;
mod running;
mod schedule;

use std::collections::VecDeque;
use std::ops::Range;

use corosensei::{Coroutine, Yielder};

use crate::abi::{Dim, Launch, Site};
use crate::checks::Checks;
use crate::failure::{Failure, Place, file_name, same_site};
use crate::order::Random;
use crate::stack::{PooledStack, StackPool};
use crate::warp::{Collective, Operand, WARP_SIZE, evaluate};

pub(crate) use meeting::{active_mask, barrier, collective};
pub(crate) use running::{running_block, with_running_block};
pub(crate) use schedule::{fail, run_block, run_loop};

type Fiber = Coroutine<(), (), (), PooledStack>;

/// A warp operation for which lanes are still missing.
struct Pending {
    operation: Collective,
    mask: u32,
    arrived: u32,
    /// Where the first lane arrived.
    site: Site,
    operands: [Operand; 32],
}

#[derive(Default)]
struct Warp {
    live: u32,
    pending: Vec<Pending>,
}

/// The block barrier. `result` is that of the last completed one; it is not overwritten before all
/// threads have read it, since the next barrier completes only when all have arrived there.
#[derive(Default)]
struct Barrier {
    waiting: Vec<u32>,
    site: Option<Site>,
    nonzero: u32,
    zero: u32,
    result: (u32, u32),
}

/// A block in execution; one value per OS thread, used for one block after another.
#[derive(Default)]
pub(crate) struct Block {
    launch: Option<*const Launch>,
    /// Coordinates of the block in the grid; none while the program's own loop runs.
    index: Option<Dim>,
    /// The program's threadIdx on this OS thread; none as above.
    thread_index: Option<*mut Dim>,
    coordinates: Vec<Dim>,
    /// The coroutine that stopped while it ran this thread.
    fibers: Vec<Option<Fiber>>,
    /// Written by the lane that completes a warp operation, read when the thread goes on.
    results: Vec<u64>,
    warps: Vec<Warp>,
    /// The order in which threads start.
    order: Vec<u32>,
    started: usize,
    live: usize,
    current: u32,
    yielder: Option<*const Yielder<(), ()>>,
    barrier: Barrier,
    ready: VecDeque<u32>,
    /// Threads that wait for the answer of `__activemask`, and where.
    asking_mask: Vec<(u32, Site)>,
    random: Option<Random>,
    stacks: StackPool,
    /// The stack that the current thread runs on.
    stack: Range<usize>,
    /// Told of every event, in a checked run.
    checks: Option<*mut Checks>,
    failure: Option<Box<Failure>>,
}

impl Block {
    /// Sets up for the blocks of a launch. Called once per chunk of blocks.
    pub(crate) fn prepare(&mut self, launch: &Launch, checks: Option<*mut Checks>) {
        let threads = launch.block.count() as usize;
        self.launch = Some(launch);
        self.checks = checks;
        self.coordinates.clear();
        self.coordinates.extend((0..threads as u64).map(|linear| launch.block.coordinates(linear)));
        self.fibers.resize_with(threads, || None);
        self.results.resize(threads, 0);
        self.warps.resize_with(threads.div_ceil(WARP_SIZE as usize), Warp::default);
        self.order.clear();
        self.order.extend(0..threads as u32);
    }

    fn reset(&mut self, seed: u64, index: u64) {
        let threads = self.order.len();
        self.started = 0;
        self.live = threads;
        for (warp, first) in self.warps.iter_mut().zip((0..).step_by(WARP_SIZE as usize)) {
            let lanes = (threads - first).min(WARP_SIZE as usize);
            warp.live = u32::MAX >> (WARP_SIZE as usize - lanes);
            warp.pending.clear();
        }
        self.barrier.waiting.clear();
        self.barrier.site = None;
        (self.barrier.nonzero, self.barrier.zero) = (0, 0);
        self.ready.clear();
        self.asking_mask.clear();
        self.failure = None;
        self.random = (seed != 0).then(|| Random::new(seed, index + 1));
        if let Some(random) = &mut self.random {
            self.order.sort_unstable();
            random.shuffle(&mut self.order);
        }
    }

    /// The thread that runs now: its index in the block and its coordinates.
    pub(crate) fn current_thread(&self) -> (u32, Dim) {
        (self.current, self.coordinates[self.current as usize])
    }

    /// Where the current thread is, as CUDA's assertion message says it.
    pub(crate) fn position(&self) -> String {
        let Some(index) = self.index else { return String::from("block: [?], thread: [?]") };
        let list = |dim: Dim| format!("[{},{},{}]", dim.x, dim.y, dim.z);
        format!("block: {}, thread: {}", list(index), list(self.current_thread().1))
    }

    /// The checks, if this is a checked run. They are locked for the launch that runs.
    pub(crate) fn checks(&self) -> Option<*mut Checks> {
        self.checks
    }

    /// The launch that the running block belongs to.
    pub(crate) fn launch(&self) -> *const Launch {
        self.launch.unwrap_or(std::ptr::null())
    }

    fn place(&self, thread: u32, what: &'static str, site: Site, count: usize) -> Place {
        let coordinates = self.coordinates.get(thread as usize).copied().unwrap_or_default();
        Place { what: what.into(), file: file_name(site), line: site.line, thread: coordinates, count: count as u32 }
    }

    /// Everybody has arrived: all that wait become ready.
    fn complete_barrier(&mut self) {
        if let (Some(checks), Some(site)) = (self.checks, self.barrier.site) {
            let first = *self.barrier.waiting.first().unwrap_or(&self.current);
            let place = || self.place(first, "__syncthreads", site, 1);
            // SAFETY: the launch holds the lock of the checks, and nobody else uses them now.
            unsafe { (*checks).barrier(first, place, self.order.len() - self.live) };
        }
        let barrier = &mut self.barrier;
        barrier.result = (barrier.nonzero, barrier.zero);
        (barrier.nonzero, barrier.zero) = (0, 0);
        barrier.site = None;
        if let Some(random) = &mut self.random {
            random.shuffle(&mut barrier.waiting);
        }
        self.ready.extend(barrier.waiting.drain(..));
    }

    /// Completes the operation if no live lane is missing; tells whether it did.
    fn complete_collective(&mut self, warp: usize, index: usize) -> bool {
        let live = self.warps[warp].live;
        let pending = &self.warps[warp].pending[index];
        if pending.mask & live & !pending.arrived != 0 {
            return false;
        }
        let results = evaluate(pending.operation, pending.arrived, &pending.operands);
        let arrived = pending.arrived;
        if let Some(checks) = self.checks {
            // SAFETY: as in `complete_barrier`.
            unsafe { (*checks).warp_sync(warp, arrived) };
        }
        self.warps[warp].pending.swap_remove(index);
        for lane in (0..WARP_SIZE).filter(|lane| arrived & (1 << lane) != 0) {
            let thread = warp as u32 * WARP_SIZE + lane;
            self.results[thread as usize] = results[lane as usize];
            if thread != self.current {
                self.ready.push_back(thread);
            }
        }
        true
    }

    /// A thread that has returned counts as arrived everywhere.
    fn finish_current(&mut self) {
        let (warp, lane) = (self.current / WARP_SIZE, self.current % WARP_SIZE);
        self.live -= 1;
        self.warps[warp as usize].live &= !(1 << lane);
        if !self.barrier.waiting.is_empty() && self.barrier.waiting.len() == self.live {
            self.complete_barrier();
        }
        let mut index = 0;
        while index < self.warps[warp as usize].pending.len() {
            if !self.complete_collective(warp as usize, index) {
                index += 1;
            }
        }
    }

    /// Answers `__activemask()`: the lanes that wait for this answer at the same place, once nobody
    /// else in the block can go on, are those that run together on a GPU.
    fn answer_active_masks(&mut self) -> bool {
        let asking = std::mem::take(&mut self.asking_mask);
        for &(thread, site) in &asking {
            let together = asking
                .iter()
                .filter(|(other, at)| other / WARP_SIZE == thread / WARP_SIZE && same_site(*at, site))
                .fold(0u32, |mask, (other, _)| mask | 1 << (other % WARP_SIZE));
            self.results[thread as usize] = u64::from(together);
            self.ready.push_back(thread);
        }
        !asking.is_empty()
    }

    /// The places where live threads wait, each once.
    fn deadlock(&self) -> Failure {
        let mut places = Vec::new();
        for (warp, state) in self.warps.iter().enumerate() {
            for pending in &state.pending {
                let first = warp as u32 * WARP_SIZE + pending.arrived.trailing_zeros();
                let count = pending.arrived.count_ones() as usize;
                places.push(self.place(first, pending.operation.name(), pending.site, count));
            }
        }
        if let (Some(site), Some(&first)) = (self.barrier.site, self.barrier.waiting.iter().min()) {
            places.push(self.place(first, "__syncthreads", site, self.barrier.waiting.len()));
        }
        Failure::Deadlock { places }
    }
}

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
//! a call hold a path to it. No reference to it lives across a switch.

use std::collections::VecDeque;
use std::ffi::c_char;

use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::abi::{Dim, Launch, Site, barrier as kinds};
use crate::failure::{Failure, Place, file_name, same_site};
use crate::order::Random;
use crate::stack::{PooledStack, StackPool};
use crate::warp::{Collective, Operand, WARP_SIZE, evaluate};

type Fiber = Coroutine<(), (), (), PooledStack>;

/// Where a thread waits.
#[derive(Clone, Copy)]
enum Wait {
    Barrier,
    Collective(Collective),
    ActiveMask,
}

/// One thread of the block.
struct Slot {
    coordinates: Dim,
    /// The coroutine that stopped while it ran this thread.
    fiber: Option<Fiber>,
    waiting: Option<(Wait, Site)>,
    /// Written by the lane that completes a warp operation, read when this thread goes on.
    result: u64,
}

/// A warp operation for which lanes are still missing.
struct Pending {
    operation: Collective,
    mask: u32,
    arrived: u32,
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
    thread_index: Option<*mut Dim>,
    slots: Vec<Slot>,
    warps: Vec<Warp>,
    /// The order in which threads start.
    order: Vec<u32>,
    started: usize,
    live: usize,
    current: u32,
    yielder: Option<*const Yielder<(), ()>>,
    barrier: Barrier,
    ready: VecDeque<u32>,
    asking_mask: Vec<u32>,
    random: Option<Random>,
    stacks: StackPool,
    failure: Option<Box<Failure>>,
}

impl Block {
    /// Sets up for the blocks of a launch. Called once per launch and OS thread.
    pub(crate) fn prepare(&mut self, launch: &Launch) {
        let threads = launch.block.count();
        self.launch = Some(launch);
        self.slots.clear();
        self.slots.extend((0..threads).map(|linear| Slot {
            coordinates: launch.block.coordinates(linear),
            fiber: None,
            waiting: None,
            result: 0,
        }));
        self.warps.resize_with(threads.div_ceil(u64::from(WARP_SIZE)) as usize, Warp::default);
        self.order.clear();
        self.order.extend(0..threads as u32);
    }

    fn reset(&mut self, seed: u64, index: u64) {
        let threads = self.slots.len();
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
        (self.current, self.slots[self.current as usize].coordinates)
    }

    /// Where the current thread is, as CUDA's assertion message says it.
    pub(crate) fn position(&self) -> String {
        let Some(index) = self.index else { return String::from("block: [?], thread: [?]") };
        let thread = self.current_thread().1;
        let list = |dim: Dim| format!("[{},{},{}]", dim.x, dim.y, dim.z);
        format!("block: {}, thread: {}", list(index), list(thread))
    }

    /// The launch that the running block belongs to.
    pub(crate) fn launch(&self) -> *const Launch {
        self.launch.unwrap_or(std::ptr::null())
    }

    fn place(&self, thread: u32, what: &'static str, site: Site, count: u32) -> Place {
        let coordinates = self.slots.get(thread as usize).map_or(Dim::default(), |slot| slot.coordinates);
        Place { what, file: file_name(site), line: site.line, thread: coordinates, count }
    }

    fn result_of(&self, thread: u32) -> u64 {
        self.slots[thread as usize].result
    }

    fn wake(&mut self, thread: u32) {
        self.slots[thread as usize].waiting = None;
        self.ready.push_back(thread);
    }

    /// Everybody has arrived: all that wait become ready.
    fn complete_barrier(&mut self) {
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
        let done = self.warps[warp].pending.swap_remove(index);
        let results = evaluate(done.operation, done.arrived, &done.operands);
        for lane in (0..WARP_SIZE).filter(|lane| done.arrived & (1 << lane) != 0) {
            let thread = warp as u32 * WARP_SIZE + lane;
            self.slots[thread as usize].result = results[lane as usize];
            if thread != self.current {
                self.wake(thread);
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
        let site = |block: &Block, thread: u32| block.slots[thread as usize].waiting.map(|waiting| waiting.1);
        let masks: Vec<u32> = asking
            .iter()
            .map(|&thread| {
                asking
                    .iter()
                    .filter(|&&other| other / WARP_SIZE == thread / WARP_SIZE)
                    .filter(|&&other| match (site(self, thread), site(self, other)) {
                        (Some(a), Some(b)) => same_site(a, b),
                        _ => false,
                    })
                    .fold(0, |mask, other| mask | 1 << (other % WARP_SIZE))
            })
            .collect();
        for (&thread, &mask) in asking.iter().zip(&masks) {
            self.slots[thread as usize].result = u64::from(mask);
            self.wake(thread);
        }
        !asking.is_empty()
    }

    /// The places where live threads wait, each once.
    fn deadlock(&self) -> Failure {
        let mut places: Vec<Place> = Vec::new();
        for (thread, slot) in self.slots.iter().enumerate() {
            let Some((wait, site)) = slot.waiting else { continue };
            let place = self.place(thread as u32, wait_name(wait), site, 1);
            match places.iter_mut().find(|p| p.line == place.line && p.file == place.file && p.what == place.what) {
                Some(known) => known.count += 1,
                None => places.push(place),
            }
        }
        Failure::Deadlock { places }
    }
}

fn wait_name(wait: Wait) -> &'static str {
    match wait {
        Wait::Barrier => "__syncthreads",
        Wait::Collective(operation) => operation.name(),
        Wait::ActiveMask => "__activemask",
    }
}

/// Runs block `index` of the launch that `block` was prepared for.
///
/// # Safety
/// `block` is this OS thread's block and is not running; its launch is alive.
pub(crate) unsafe fn run_block(block: *mut Block, index: u64, seed: u64) -> Result<(), Box<Failure>> {
    // SAFETY: per the contract; the borrow ends before any coroutine runs.
    let launch = unsafe {
        (*block).reset(seed, index);
        &*(*block).launch()
    };
    // SAFETY: the functions of a launch belong to the loaded program.
    unsafe {
        let coordinates = launch.grid.coordinates(index);
        (*block).index = Some(coordinates);
        (*block).thread_index = Some((launch.enter_block)(launch, coordinates));
    }
    // SAFETY: per the contract.
    let outcome = unsafe { schedule(block, move |yielder| run_threads(block, yielder)) };
    // SAFETY: as above.
    unsafe { (launch.leave_block)() };
    outcome
}

/// Runs blocks `first..first + count` by the program's own loop, in one coroutine, so that a
/// failing assertion can leave it.
///
/// # Safety
/// As for [`run_block`]; the launch has `run_blocks`.
pub(crate) unsafe fn run_loop(block: *mut Block, first: u64, count: u64) -> Result<(), Box<Failure>> {
    // SAFETY: per the contract.
    unsafe {
        (*block).reset(0, first);
        let launch = &*(*block).launch();
        let Some(run_blocks) = launch.run_blocks else { return Ok(()) };
        (*block).index = None;
        (*block).thread_index = None;
        (*block).started = (*block).slots.len();
        (*block).live = 0;
        schedule(block, move |yielder| {
            (*block).yielder = Some(yielder);
            run_blocks(launch.closure, launch, first, count);
        })
    }
}

/// Starts and resumes coroutines until all threads have returned or the launch has failed.
unsafe fn schedule(block: *mut Block, body: impl Fn(&Yielder<(), ()>) + Copy + 'static) -> Result<(), Box<Failure>> {
    let mut first = true;
    loop {
        // SAFETY: no coroutine runs between two calls of `resume`, so this is the only borrow.
        let state = unsafe { &mut *block };
        let mut fiber = if let Some(thread) = state.ready.pop_front() {
            state.current = thread;
            state.slots[thread as usize].fiber.take().expect("a ready thread has a stopped coroutine")
        } else if first || state.started < state.slots.len() {
            first = false;
            Coroutine::with_stack(state.stacks.take(), move |yielder: &Yielder<(), ()>, ()| body(yielder))
        } else if state.live == 0 {
            return Ok(());
        } else if state.answer_active_masks() {
            continue;
        } else {
            state.failure = Some(Box::new(state.deadlock()));
            break;
        };
        let outcome = fiber.resume(());
        // SAFETY: as above.
        let state = unsafe { &mut *block };
        match outcome {
            CoroutineResult::Return(()) => state.stacks.give_back(fiber.into_stack()),
            CoroutineResult::Yield(()) if state.failure.is_some() => {
                abandon(state, fiber);
                break;
            }
            CoroutineResult::Yield(()) => state.slots[state.current as usize].fiber = Some(fiber),
        }
    }
    // SAFETY: as above.
    let state = unsafe { &mut *block };
    for thread in 0..state.slots.len() {
        if let Some(fiber) = state.slots[thread].fiber.take() {
            abandon(state, fiber);
        }
    }
    Err(state.failure.take().expect("the loop is left early only after a failure"))
}

/// Drops a stopped coroutine without unwinding it: what is on its stack is C++ code of the user's
/// kernel, which on a GPU would not be unwound either.
fn abandon(state: &mut Block, mut fiber: Fiber) {
    // SAFETY: the stack holds frames of the kernel and of this crate's suspended calls, which own
    // nothing that must be dropped.
    unsafe { fiber.force_reset() };
    state.stacks.give_back(fiber.into_stack());
}

/// Body of a coroutine: runs threads until none is left to start, or others are ready.
fn run_threads(block: *mut Block, yielder: &Yielder<(), ()>) {
    loop {
        // SAFETY: this coroutine is the only code that runs on this OS thread now; the borrow ends
        // before the kernel is entered.
        let (run_thread, closure) = unsafe {
            let state = &mut *block;
            let Some(&thread) = state.order.get(state.started) else { return };
            state.started += 1;
            state.yielder = Some(yielder);
            enter(state, thread);
            let launch = &*state.launch();
            (launch.run_thread, launch.closure)
        };
        // SAFETY: the program's own function with the program's own argument; then as above.
        unsafe {
            run_thread(closure);
            let state = &mut *block;
            state.finish_current();
            if !state.ready.is_empty() {
                return;
            }
        }
    }
}

/// Makes `thread` the current one, for this crate and for the program.
fn enter(state: &mut Block, thread: u32) {
    state.current = thread;
    if let Some(thread_index) = state.thread_index {
        // SAFETY: the program's threadIdx on this OS thread, given by `enter_block`.
        unsafe { *thread_index = state.slots[thread as usize].coordinates };
    }
}

/// Stops the current thread until the scheduler resumes it.
unsafe fn suspend(block: *mut Block) {
    // SAFETY: the current thread runs on a coroutine whose yielder is set; it lives on that stack.
    unsafe {
        let (thread, yielder) = ((*block).current, (*block).yielder);
        let stopped = yielder.expect("only a kernel thread is suspended");
        (*stopped).suspend(());
        (*block).yielder = yielder;
        enter(&mut *block, thread);
    }
}

/// Ends the launch: the current thread stops for good.
///
/// # Safety
/// `block` runs on this OS thread and the caller is on one of its coroutines.
pub(crate) unsafe fn fail(block: *mut Block, failure: Failure) -> ! {
    // SAFETY: per the contract.
    unsafe {
        (*block).failure = Some(Box::new(failure));
        suspend(block);
    }
    unreachable!("a failed thread is never resumed")
}

/// `__syncthreads` and its counting forms, for the current thread.
///
/// # Safety
/// As for [`fail`].
pub(crate) unsafe fn barrier(block: *mut Block, kind: u32, predicate: bool, file: *const c_char, line: u32) -> i32 {
    // SAFETY: per the contract; the borrow ends before the switch.
    let state = unsafe { &mut *block };
    let site = Site { file, line };
    if state.live == 0 {
        let place = state.place(state.current, "__syncthreads", site, 1);
        // SAFETY: per the contract.
        unsafe { fail(block, Failure::NotInKernel { place }) };
    }
    match state.barrier.site {
        None => state.barrier.site = Some(site),
        Some(first) if same_site(first, site) => {}
        Some(first) => {
            let waiting = state.barrier.waiting.len() as u32;
            let first = state.place(state.barrier.waiting[0], "__syncthreads", first, waiting);
            let second = state.place(state.current, "__syncthreads", site, 1);
            // SAFETY: per the contract.
            unsafe { fail(block, Failure::DivergentBarriers { first, second }) };
        }
    }
    state.barrier.nonzero += u32::from(predicate);
    state.barrier.zero += u32::from(!predicate);
    if state.barrier.waiting.len() + 1 == state.live {
        state.complete_barrier();
    } else {
        let current = state.current;
        state.barrier.waiting.push(current);
        state.slots[current as usize].waiting = Some((Wait::Barrier, site));
        // SAFETY: per the contract.
        unsafe { suspend(block) };
    }
    // SAFETY: as above.
    let (nonzero, zero) = unsafe { (*block).barrier.result };
    match kind {
        kinds::COUNT => nonzero as i32,
        kinds::AND => i32::from(zero == 0),
        kinds::OR => i32::from(nonzero != 0),
        _ => 0,
    }
}

/// A warp operation, for the current thread.
///
/// # Safety
/// As for [`fail`].
pub(crate) unsafe fn collective(
    block: *mut Block,
    operation: Collective,
    mask: u32,
    operand: Operand,
    site: Site,
) -> u64 {
    // SAFETY: per the contract; the borrow ends before the switch.
    let state = unsafe { &mut *block };
    let current = state.current;
    let (warp, lane) = ((current / WARP_SIZE) as usize, current % WARP_SIZE);
    if state.live == 0 || mask & (1 << lane) == 0 {
        let place = state.place(current, operation.name(), site, 1);
        let failure = match state.live {
            0 => Failure::NotInKernel { place },
            _ => Failure::MaskWithoutSelf { place, mask },
        };
        // SAFETY: per the contract.
        unsafe { fail(block, failure) };
    }
    let pending = &mut state.warps[warp].pending;
    let index = match pending.iter().position(|p| p.operation == operation && p.mask == mask) {
        Some(index) => index,
        None => {
            pending.push(Pending { operation, mask, arrived: 0, operands: [Operand::default(); 32] });
            pending.len() - 1
        }
    };
    pending[index].arrived |= 1 << lane;
    pending[index].operands[lane as usize] = operand;
    if !state.complete_collective(warp, index) {
        state.slots[current as usize].waiting = Some((Wait::Collective(operation), site));
        // SAFETY: per the contract.
        unsafe { suspend(block) };
    }
    // SAFETY: as above.
    unsafe { (*block).result_of(current) }
}

/// `__activemask()`, for the current thread.
///
/// # Safety
/// As for [`fail`].
pub(crate) unsafe fn active_mask(block: *mut Block, site: Site) -> u32 {
    // SAFETY: per the contract; the borrow ends before the switch.
    let state = unsafe { &mut *block };
    let current = state.current;
    if state.live == 0 {
        return 1 << (current % WARP_SIZE);
    }
    state.asking_mask.push(current);
    state.slots[current as usize].waiting = Some((Wait::ActiveMask, site));
    // SAFETY: per the contract.
    unsafe {
        suspend(block);
        (*block).result_of(current) as u32
    }
}

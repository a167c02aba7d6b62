//! Starts, stops and resumes the coroutines of a block.

use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::{Block, Fiber};
use crate::failure::Failure;

/// Runs block `index` of the launch that `block` was prepared for.
///
/// # Safety
/// `block` is this OS thread's block and is not running; its launch is alive.
pub(crate) unsafe fn run_block(block: *mut Block, index: u64, seed: u64) -> Result<(), Box<Failure>> {
    // SAFETY: per the contract; the functions of a launch belong to the loaded program.
    unsafe {
        (*block).reset(seed, index);
        let launch = &*(*block).launch();
        let coordinates = launch.grid.coordinates(index);
        (*block).index = Some(coordinates);
        (*block).thread_index = Some((launch.enter_block)(launch, coordinates));
        let checks = (*block).checks;
        if let Some(checks) = checks {
            (*checks).begin_block(coordinates, launch.shared_bytes as usize);
        }
        let outcome = schedule(block, move |yielder| run_threads(block, yielder));
        (launch.leave_block)();
        if let Some(checks) = checks {
            (*checks).end_block();
        }
        outcome
    }
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
        (*block).started = (*block).order.len();
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
        if let Some(thread) = state.ready.pop_front() {
            // SAFETY: as above.
            unsafe { resume_thread(block, thread) };
        } else if first || state.started < state.order.len() {
            first = false;
            let stack = state.stacks.take();
            state.stack = stack.range();
            let mut fiber = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| body(yielder));
            let outcome = fiber.resume(());
            // SAFETY: as above.
            put_away(unsafe { &mut *block }, fiber, outcome);
        } else if state.live == 0 {
            return Ok(());
        } else if !state.answer_active_masks() {
            state.failure = Some(Box::new(state.deadlock()));
        }
        // SAFETY: as above.
        let state = unsafe { &mut *block };
        if state.failure.is_some() {
            break;
        }
    }
    // SAFETY: as above.
    let state = unsafe { &mut *block };
    for thread in 0..state.fibers.len() {
        if let Some(fiber) = state.fibers[thread].take() {
            abandon(state, fiber);
        }
    }
    Err(state.failure.take().expect("the loop is left only after a failure"))
}

/// Resumes a stopped thread where its coroutine lies, which mostly stops again for the same thread.
unsafe fn resume_thread(block: *mut Block, thread: u32) {
    // SAFETY: the coroutine's own code never touches `fibers`, so the place stays valid.
    unsafe {
        (*block).current = thread;
        let fibers = &raw mut (*block).fibers;
        let place = &mut (&mut *fibers)[thread as usize];
        let outcome = place.as_mut().expect("a ready thread has a stopped coroutine").resume(());
        let stays = matches!(outcome, CoroutineResult::Yield(())) && (*block).current == thread;
        if !stays && let Some(fiber) = place.take() {
            put_away(&mut *block, fiber, outcome);
        }
    }
}

/// Keeps a coroutine that stopped, under the thread for which it did; takes the stack of one that
/// has ended.
fn put_away(state: &mut Block, fiber: Fiber, outcome: CoroutineResult<(), ()>) {
    match outcome {
        CoroutineResult::Return(()) => state.stacks.give_back(fiber.into_stack()),
        // The program's own loop is no thread; it stops only to fail.
        CoroutineResult::Yield(()) if state.index.is_none() => abandon(state, fiber),
        CoroutineResult::Yield(()) => state.fibers[state.current as usize] = Some(fiber),
    }
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
#[inline]
fn enter(state: &mut Block, thread: u32) {
    state.current = thread;
    if let Some(thread_index) = state.thread_index {
        // SAFETY: the program's threadIdx on this OS thread, given by `enter_block`.
        unsafe { *thread_index = state.coordinates[thread as usize] };
    }
    if let Some(checks) = state.checks {
        // SAFETY: the launch holds the lock of the checks, and nobody else uses them now.
        unsafe { (*checks).begin_thread(state.stack.clone()) };
    }
}

/// Stops the current thread until the scheduler resumes it.
///
/// # Safety
/// `block` runs on this OS thread and the caller is on one of its coroutines.
#[inline]
pub(super) unsafe fn suspend(block: *mut Block) {
    // SAFETY: the current thread runs on a coroutine whose yielder is set; it lives on that stack.
    unsafe {
        let (thread, yielder, stack) = ((*block).current, (*block).yielder, (*block).stack.clone());
        let stopped = yielder.expect("only a kernel thread is suspended");
        (*stopped).suspend(());
        (*block).yielder = yielder;
        (*block).stack = stack;
        enter(&mut *block, thread);
    }
}

/// Ends the launch: the current thread stops for good.
///
/// # Safety
/// As for [`suspend`].
#[cold]
pub(crate) unsafe fn fail(block: *mut Block, failure: Failure) -> ! {
    // SAFETY: per the contract.
    unsafe {
        (*block).failure = Some(Box::new(failure));
        suspend(block);
    }
    unreachable!("a failed thread is never resumed")
}

//! The block of each OS thread, and whether it runs: so does the program learn on which side its code is.

use std::cell::{Cell, UnsafeCell};

use super::Block;

thread_local! {
    static BLOCK: UnsafeCell<Block> = UnsafeCell::new(Block::default());
    /// The block that runs on this OS thread, or null on the host's side.
    static RUNNING: Cell<*mut Block> = const { Cell::new(std::ptr::null_mut()) };
}

/// The block that runs on this OS thread, if kernel code does.
pub(crate) fn running_block() -> Option<*mut Block> {
    let block = RUNNING.get();
    (!block.is_null()).then_some(block)
}

/// Has this OS thread's block run while `body` is at work on it. It is not running yet, since kernels cannot launch.
pub(crate) fn with_running_block<T>(body: impl FnOnce(*mut Block) -> T) -> T {
    let block = BLOCK.with(UnsafeCell::get);
    RUNNING.set(block);
    let result = body(block);
    RUNNING.set(std::ptr::null_mut());
    result
}

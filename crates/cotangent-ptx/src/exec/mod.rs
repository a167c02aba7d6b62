//! Executes a decoded kernel, block by block.
//!
//! ```text
//!   block   the warps of a block, who waits for whom        -> warp (who runs next)
//!   step    one instruction of some lanes: registers, memory -> integer, float, memory
//!   control branches, calls, builtin functions               -> builtin
//! ```
//!
//! Registers are kept register by register, each with the values of 32 lanes, so that an instruction is decided upon once
//! and then done for all lanes in a loop.

mod block;
mod builtin;
mod collective;
mod control;
mod float;
mod integer;
mod lanes;
mod memory;
mod rounding;
mod step;
mod warp;

pub(crate) use block::{Image, Launch, run_block};

use crate::program::Place;

/// Why a block did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) reason: Reason,
    /// Where, and the number of the thread in its block.
    pub(crate) place: Place,
    pub(crate) thread: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// An atomic on a thread's own memory, which a GPU has not.
    AtomicOnOwnMemory {
        address: u64,
    },
    /// The address is no multiple of the bytes that are accessed.
    Misaligned {
        address: u64,
        bytes: u32,
    },
    IllegalAddress {
        address: u64,
    },
    /// The checker has reported what is wrong.
    Reported,
    /// An instruction that is not known, or one with operands that it cannot have.
    Unknown(String),
    Trap,
    Assert,
    /// Calls are nested too deeply for the thread's local memory, or for ours.
    StackOverflow,
    TooMuchShared {
        bytes: usize,
    },
    /// The limit of instructions is reached.
    OutOfTime,
    /// A call through something that is no function.
    NoFunction,
    MaskWithoutSelf {
        mask: u32,
    },
    /// Threads wait at barriers of different lines.
    DivergentBarriers {
        other: Place,
        other_thread: u32,
    },
    /// Nobody can go on. What the threads wait in, where, which is the first, and how many.
    Deadlock {
        waiting: Vec<(&'static str, Place, u32, u32)>,
    },
}

//! What can go wrong with a lane. Errors are small values: the first one stays with its lane and is given again for
//! every later call, so that a caller may check once a region.

/// Why a lane no longer takes or gives values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The program is wrong: its reverse sweep does not mirror its forward sweep.
    #[error("more was popped than had been pushed; the reverse sweep must take what the forward sweep gave")]
    Empty,
    /// Values cannot be added in the middle of the lane.
    #[error("pushed while the lane is being read again; end the re-reading first")]
    Held,
    /// The lane has been popped below the mark, or the mark is another lane's.
    #[error("the mark does not lie on this lane (any more)")]
    Mark,
    /// The side lane has no such object on top.
    #[error("the object on top of the side lane is of another type, or there is none")]
    Object,
    /// Sizes that no tape can have.
    #[error(
        "a slab must be a power of two between 64 KiB and 1 GiB, and the budget at least four slabs; see `Options`"
    )]
    Options,
    /// The system gave no memory.
    #[error("no memory for another slab; set a budget and a folder to spill to")]
    Memory,
    /// All of the budget is in use and there is no disk to go on with.
    #[error("the budget is used up; raise it, or name a folder to spill to")]
    Budget,
    /// The code of this library is wrong.
    #[error("internal error of the tape library; please report it")]
    Panicked,
}

impl Error {
    /// The number of this error in `include/cotangent/tape.h`. Zero is success.
    pub fn code(self) -> u32 {
        match self {
            Error::Empty => 1,
            Error::Held => 2,
            Error::Mark => 3,
            Error::Object => 4,
            Error::Options => 5,
            Error::Memory => 6,
            Error::Budget => 7,
            Error::Panicked => 8,
        }
    }
}

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
        "a slab must be a power of two between 64 KiB and 1 GiB, and the budget at least four slabs beside what compression needs, which works through threads only; see `Options`"
    )]
    Options,
    /// The system gave no memory.
    #[error("no memory for another slab; set a budget and a folder to spill to")]
    Memory,
    /// All of the budget is in use and there is no disk to go on with, or more lanes are in use than the budget has slabs.
    #[error(
        "the budget is used up; raise it, or name a folder to spill to; with one, a lane needs a slab, and another while it is read again"
    )]
    Budget,
    /// No disk has more room, or the user no more quota. What was pushed before is still in memory, but lost to the
    /// lane.
    #[error("no room on disk to spill to; free some, or name another folder")]
    DiskFull,
    /// The system failed to open, write or read the file.
    #[error("the file that the tape spills to could not be opened, written or read; errno says why")]
    Disk { errno: i32 },
    /// A block came back from disk with other bytes.
    #[error("a block came back changed from disk; do not trust this disk")]
    Corrupt,
    /// Another block came back from disk than the one last written there.
    #[error("an old block came back from disk in place of the one written last; do not trust this disk")]
    Stale,
    /// A forked child has the values in memory, but neither the file nor the threads.
    #[error("the process was forked after the lane had spilled; only the parent can use it")]
    Forked,
    /// The program is wrong: its reverse sweep does not mirror its forward sweep.
    #[error(
        "an array of another size was popped than had been pushed, or of one that no memory has; pop what was pushed last, with its size"
    )]
    Size,
    /// The device's runtime refused memory, a stream, an event or a copy.
    #[error("the device's runtime failed to allocate, order or copy; its own code says why")]
    Device { code: i32 },
    /// Two cursors of one lane at a time, in C or C++, or a lane that is cleared under one.
    #[error("a lane is used beside a cursor of it; hand the cursor on instead")]
    Cursor,
    /// Numbers that no checkpoint schedule can have.
    #[error(
        "a checkpoint schedule needs a kind, at least one slot, costs from zero to 10^9, and nothing that its kind does not have"
    )]
    Slots,
    /// The caller of a checkpoint schedule told it of an end of the loop, or ended it, where the schedule did not ask.
    #[error(
        "the loop ended at another step than its checkpoint schedule allows; for a loop of unknown length use the online one"
    )]
    Ended,
    /// A mixed checkpoint schedule runs a state that has no function for records.
    #[error("a mixed checkpoint schedule needs functions that keep and use records; define them, or take another kind")]
    Record,
    /// The code of this library is wrong.
    #[error("internal error of the tape library; please report it")]
    Panicked,
}

impl Error {
    /// The system's number for what went wrong on disk, of every full disk that of no space; zero for other errors.
    pub fn errno(self) -> i32 {
        match self {
            Error::Disk { errno } => errno,
            Error::DiskFull => libc::ENOSPC,
            Error::Empty
            | Error::Held
            | Error::Mark
            | Error::Object
            | Error::Options
            | Error::Memory
            | Error::Budget
            | Error::Panicked
            | Error::Corrupt
            | Error::Stale
            | Error::Forked
            | Error::Size
            | Error::Device { .. }
            | Error::Cursor
            | Error::Slots
            | Error::Ended
            | Error::Record => 0,
        }
    }

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
            Error::DiskFull => 9,
            Error::Disk { .. } => 10,
            Error::Corrupt => 11,
            Error::Stale => 12,
            Error::Forked => 13,
            Error::Size => 14,
            Error::Device { .. } => 15,
            Error::Cursor => 16,
            Error::Slots => 17,
            Error::Ended => 18,
            Error::Record => 19,
        }
    }
}

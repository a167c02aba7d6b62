//! The tape library: stores what a reverse sweep will want back, last in first out.
//!
//! A [`Tape`] is a budget of memory and a place on disk; a [`Lane`] is one thread's stack on it. A lane is a stack of
//! bytes in connected slabs: what was pushed comes back in reverse, in pieces of any size, and nothing is moved when it
//! grows.
//!
//! ```
//! use cotangent_tape::{Options, Tape};
//!
//! let tape = Tape::new(Options::default())?;
//! let mut lane = tape.lane();
//! for i in 0..1000 {
//!     lane.push(f64::from(i))?;
//! }
//! let mark = lane.mark();
//! lane.push_slice(&[1.0f32, 2.0, 3.0])?;
//! lane.rewind(mark)?;
//! for i in (0..1000).rev() {
//!     assert_eq!(lane.pop::<f64>()?, f64::from(i));
//! }
//! # Ok::<(), cotangent_tape::Error>(())
//! ```
//!
//! ```text
//!   push, pop   lane, cursor      a compare and a copy, inlined; C++ has the same in include/cotangent/tape.hpp
//!     once a slab       slow      copies in pieces, steps to the next slab
//!                       store     the full slabs of a lane, in order; the oldest on disk if need be
//!                       disk      sealed blocks in a nameless file, through threads or io_uring
//!                       pool      empty slabs, shared by the lanes of a tape
//!   arrays of a GPU     device    through pinned memory to a lane, and back
//! ```

mod cursor;
pub mod device;
mod disk;
mod error;
#[cfg(test)]
mod faults;
mod fences;
pub mod ffi;
mod lane;
mod mark;
mod objects;
mod pool;
mod progress;
mod sanitizer;
pub mod schedule;
mod slab;
mod slow;
mod stats;
mod store;
mod tape;

pub use cursor::Cursor;
pub use disk::Io;
pub use error::Error;
pub use lane::Lane;
pub use mark::{Mark, Reread};
pub use progress::Progress;
pub use stats::Stats;
pub use store::OnFull;
pub use tape::{Options, Tape};

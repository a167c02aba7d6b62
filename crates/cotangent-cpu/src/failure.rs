//! Why a launch ended before all its threads did.

use std::borrow::Cow;
use std::ffi::CStr;
use std::fmt;

use crate::abi::{Dim, Site};
use crate::check::Code;
use crate::error::CudaError;

/// A place in the source where threads wait or fail, with what they do there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The function that they wait in, or the instruction.
    pub what: Cow<'static, str>,
    pub file: String,
    pub line: u32,
    /// The thread that is named for this place, and how many are there.
    pub thread: Dim,
    pub count: u32,
}

/// Why a launch ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Live threads of a block wait at different barriers.
    DivergentBarriers { first: Place, second: Place },
    /// All live threads wait and none of them can go on.
    Deadlock { places: Vec<Place> },
    /// A lane called a warp function with a mask that leaves out the lane itself.
    MaskWithoutSelf { place: Place, mask: u32 },
    /// A barrier or warp function was reached where threads cannot wait.
    NotInKernel { place: Place },
    /// `assert` failed; the message was printed where it happened, as CUDA does.
    Assert,
    /// `__trap()`.
    Trap { place: Place },
    /// The checks found an access that a GPU would not survive.
    InvalidAccess,
    /// An address that is no multiple of the size of the access.
    Misaligned { place: Place },
    /// An address at which the device has no memory.
    IllegalAddress { place: Place },
    /// An instruction that is none, or that cannot be executed here.
    IllegalInstruction { place: Place, text: String },
}

impl Failure {
    /// The error that the launch leaves behind.
    pub(crate) fn error(&self) -> CudaError {
        match self {
            Failure::Assert => CudaError::ASSERT,
            Failure::InvalidAccess | Failure::IllegalAddress { .. } => CudaError::ILLEGAL_ADDRESS,
            Failure::IllegalInstruction { .. } => CudaError::ILLEGAL_INSTRUCTION,
            Failure::Misaligned { .. } => CudaError::MISALIGNED_ADDRESS,
            Failure::DivergentBarriers { .. }
            | Failure::Deadlock { .. }
            | Failure::MaskWithoutSelf { .. }
            | Failure::NotInKernel { .. }
            | Failure::Trap { .. } => CudaError::LAUNCH_FAILURE,
        }
    }

    /// The code under which the finding is reported. Assertions and traps are the program's own
    /// business, an instruction that cannot be executed is ours, and an invalid access has been
    /// reported by the checks.
    pub(crate) fn code(&self) -> Option<Code> {
        match self {
            Failure::DivergentBarriers { .. } => Some(Code::DivergentBarrier),
            Failure::Deadlock { .. } | Failure::MaskWithoutSelf { .. } | Failure::NotInKernel { .. } => {
                Some(Code::NeverArrives)
            }
            Failure::Misaligned { .. } => Some(Code::Misaligned),
            Failure::IllegalAddress { .. } => Some(Code::OutOfBounds),
            Failure::Assert | Failure::Trap { .. } | Failure::InvalidAccess | Failure::IllegalInstruction { .. } => {
                None
            }
        }
    }

    /// Where threads wait, or the one that failed is.
    pub(crate) fn places(&self) -> Vec<&Place> {
        match self {
            Failure::DivergentBarriers { first, second } => vec![first, second],
            Failure::Deadlock { places } => places.iter().collect(),
            Failure::MaskWithoutSelf { place, .. }
            | Failure::NotInKernel { place }
            | Failure::Trap { place }
            | Failure::Misaligned { place }
            | Failure::IllegalAddress { place }
            | Failure::IllegalInstruction { place, .. } => vec![place],
            Failure::Assert | Failure::InvalidAccess => Vec::new(),
        }
    }

    /// What to say instead of the code's title.
    pub(crate) fn message(&self) -> Option<String> {
        match self {
            Failure::MaskWithoutSelf { mask, .. } => Some(format!("the mask {mask:#010x} leaves out the calling lane")),
            Failure::NotInKernel { .. } => Some(String::from("threads cannot wait for each other here")),
            Failure::IllegalAddress { .. } => Some(String::from("access to an address where the device has no memory")),
            Failure::IllegalInstruction { text, .. } => Some(format!("cannot execute the instruction `{text}`")),
            Failure::DivergentBarriers { .. }
            | Failure::Deadlock { .. }
            | Failure::Assert
            | Failure::Trap { .. }
            | Failure::InvalidAccess
            | Failure::Misaligned { .. } => None,
        }
    }

    /// What the threads do at a place of this failure, as findings say it.
    pub(crate) fn doing(&self, place: &Place) -> String {
        match self {
            Failure::DivergentBarriers { .. }
            | Failure::Deadlock { .. }
            | Failure::MaskWithoutSelf { .. }
            | Failure::NotInKernel { .. } => waiting(place),
            Failure::Assert
            | Failure::Trap { .. }
            | Failure::InvalidAccess
            | Failure::Misaligned { .. }
            | Failure::IllegalAddress { .. }
            | Failure::IllegalInstruction { .. } => format!("executes `{}`", place.what),
        }
    }
}

/// How findings say that threads wait at a place.
pub(crate) fn waiting(place: &Place) -> String {
    format!("waits at `{}()`", place.what)
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Dim { x, y, z } = self.thread;
        write!(f, "{}:{}: {} (thread ({x},{y},{z})", self.file, self.line, self.what)?;
        if self.count > 1 { write!(f, " and {} more)", self.count - 1) } else { write!(f, ")") }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = self.code().map_or("a thread stopped the launch", |code| code.entry().title);
        write!(f, "{}", self.message().as_deref().unwrap_or(title))?;
        self.places().into_iter().try_for_each(|place| write!(f, "\n  {place}"))
    }
}

/// The file name of a site, for messages.
pub(crate) fn file_name(site: Site) -> String {
    if site.file.is_null() {
        return String::from("?");
    }
    // SAFETY: a site's file is a string literal of the loaded program, which is never unloaded.
    unsafe { CStr::from_ptr(site.file) }.to_string_lossy().into_owned()
}

/// Whether two sites are the same place. A literal may exist twice with one text.
pub(crate) fn same_site(a: Site, b: Site) -> bool {
    // SAFETY: as in `file_name`; null compares by address alone.
    a.line == b.line
        && (a.file == b.file
            || (!a.file.is_null() && !b.file.is_null() && unsafe { CStr::from_ptr(a.file) == CStr::from_ptr(b.file) }))
}

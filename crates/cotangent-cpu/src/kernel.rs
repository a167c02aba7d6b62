//! Kernels that something other than compiled code runs, such as an interpreter, as other crates see them: what they
//! have to do (`interpreted`), and how they are launched.
//!
//! Everything around a block is the same as for a compiled kernel: the limits of a launch, the order of blocks by the
//! seed, the OS threads, the errors, the findings. In a checked run a kernel tells the checker itself what its threads do.

use std::ffi::c_void;
use std::sync::Arc;

use crate::abi::Site;
use crate::launch::{self, Code, Task};
use crate::{demangle, error, queue};

pub use crate::failure::{Failure, Place};
pub use crate::interpreted::{Kernel, Shape};

/// Launches a kernel in a stream; `function` is the name under which its limit of shared memory was set. Returns a
/// `cudaError_t`: what is wrong with the launch, and, if work is not late, why it failed.
pub fn launch(kernel: Arc<dyn Kernel>, shape: Shape, stream: *mut c_void, function: *const c_void, site: Site) -> i32 {
    error::guarded(|| {
        let stream = launch::validate(&shape, stream, function, kernel.static_shared())?;
        let work = move || launch::run(&Task { shape, stream, site, code: Code::Kernel(&*kernel) });
        queue::submit(stream, queue::Seen::OnDevice, work).map(drop)
    })
}

/// The dynamic shared memory that launches of a function may ask for, besides what the kernel has in any case.
pub fn dynamic_shared_limit(function: *const c_void, static_shared: usize) -> usize {
    launch::shared_limit(function, static_shared)
}

/// A function or variable as the user writes it, from the name that the linker has for it.
pub fn written_name(symbol: &str) -> String {
    demangle::demangled(symbol)
}

//! What is known about functions by name: pure math, half precision, intrinsics that are statements, the
//! CUDA runtime.
//!
//! Tables only; nothing here looks at a program.

mod half;
mod intrinsics;
mod math;
mod runtime;
mod unsupported;
mod warp;

pub use half::{HalfCall, half_call};
pub use intrinsics::{ADD_ANYWHERE, ADD_TOGETHER, Intrinsic, OPAQUE_CALLS, intrinsic, intrinsic_spelling};
pub use math::{
    Formula, Parameter, Partial, Rule, chooses, chosen_by, derivative, has_pole, helper, is_math, is_steep,
    math_functions, single_and_double,
};

/// The manual's page of functions, in Markdown.
pub use math::page as page_of_functions;
pub use runtime::{
    ALIGNED_MEMORY, ALLOCATE, Arg, CHECK_BLOCK, CHECKPOINT, COPY, COPY_KIND, Call, DEVICE_TO_HOST, Enumeration, FREES,
    HOST_TO_HOST, HOST_ZEROS, LAST_ERROR, Move, PITCHED_MEMORY, PREPARATIONS, PUSH, RESERVE, Returns, RuntimeClass,
    SET_EVENT, SNAPSHOT, STEPS, STREAM_WAITS, Source, Symbol, TAPE, WAIT_FOR_DEVICE, WAIT_FOR_STREAM, adds_at_once,
    frees, frees_later, is_of_runtime, is_runtime, runtime_class, runtime_enumeration, runtime_header, runtime_returns,
};

/// The manual's page of the runtime, in Markdown.
pub use runtime::page as page_of_runtime;
pub use unsupported::{Unsupported, unsupported};
pub use warp::{broadcast_adjoint, shuffle_adjoint, sum_adjoint};

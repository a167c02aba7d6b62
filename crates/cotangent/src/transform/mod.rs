//! From module to module: derivatives, and the passes that lead to them and clean up after them.

mod accumulate;
mod privatize;
mod shadow;

pub use accumulate::{AdjointParam, accumulate};
pub use privatize::privatize;
pub use shadow::{Shadows, shadow_name, shadow_type};

use crate::ir::{FunctionId, LocalId};

/// What is to be differentiated, and with respect to what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The function.
    pub function: FunctionId,
    /// The parameters that are named, in the order named; all others are constant.
    pub wrt: Vec<LocalId>,
}

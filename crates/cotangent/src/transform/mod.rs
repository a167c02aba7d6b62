//! From module to module: derivatives, and the passes that lead to them and clean up after them.

mod differentiable;
mod forward;
mod shadow;

pub use differentiable::differentiable_parameters;
pub use forward::forward;
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

//! From module to module: derivatives, and the passes that lead to them and clean up after them.

mod differentiable;
mod forward;
mod request;
mod shadow;

pub use differentiable::differentiable_parameters;
pub use forward::forward;
pub use request::Request;
pub use shadow::{Shadows, shadow_name, shadow_type};

//! From module to module: derivatives, and the passes that lead to them and clean up after them.

#![warn(clippy::wildcard_enum_match_arm)]

mod accumulate;
mod apart;
mod call_once;
mod carried_bits;
mod convergence;
mod cotangents;
mod deterministic;
mod differentiable;
mod drop_again;
mod elements;
mod finish;
mod forward;
mod fuse;
mod gather;
mod in_order;
mod known_values;
mod launch;
mod launch_values;
mod lives;
mod locals;
mod merge;
mod moving;
mod names;
mod normalize;
mod nulls;
mod numbering;
mod on_device;
mod overlap;
mod privatize;
mod promises;
mod record_budget;
mod references;
mod refused_stores;
mod refused_views;
mod request;
mod reverse;
mod runtime_calls;
mod seeds;
mod shadow;
mod share;
mod signatures;
mod simplify;
mod sink;
mod sizes;
mod sweeps;
mod taken_name;
#[cfg(test)]
mod texts;
mod tiles;
mod together;
mod trust;
mod typed_pointers;
mod variables;
mod vjp;
mod winners;

pub use accumulate::{AdjointParam, accumulate, accumulate_atomically};
pub use differentiable::differentiable_parameters;
pub use forward::forward;
pub use privatize::privatize;
pub use record_budget::RecordBudget;
pub use request::{Analyses, Form, Named, Request};
pub use reverse::{Decision, How, Plan, planned_reverse, reverse};
pub use seeds::seeds;
pub use shadow::{Shadows, shadow_name, shadow_type};
pub use trust::{FACTS, Fact, PLANNERS, Trust};
pub use variables::{Lifted, lift};

/// The names of the passes before reverse mode and after it, in order.
pub fn passes() -> impl Iterator<Item = &'static str> {
    normalize::passes().chain([winners::WINNERS]).chain(finish::passes())
}

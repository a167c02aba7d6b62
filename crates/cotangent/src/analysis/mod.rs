//! Facts about a module, for the passes that change it. Nothing here changes one.

#![warn(clippy::wildcard_enum_match_arm)]

mod activity;
pub mod affine;
mod anew;
pub mod block_shape;
mod chosen;
mod effects;
mod evidence;
mod fixpoint;
mod host_uses;
pub mod locals;
pub mod location;
mod objects;
pub mod ordering;
pub mod owner;
mod param_uses;
pub mod polynomial;
pub mod race;
#[cfg(test)]
mod race_properties;
#[cfg(test)]
mod race_tests;
pub mod region;
pub mod root;
pub mod shared;
pub mod shift;
pub mod site;
pub mod threads;
pub mod touch;
mod uniform;

pub use activity::{Activity, activity, activity_besides, carries_floats};
pub use anew::is_one_element_a_thread;
pub use effects::{
    Effects, allocated, call_writes, effects, freed_params, is_pure, may_be_brought, reads_through, stmt_writes,
    takes_bits, uses_memory, variables_of, written,
};
pub use fixpoint::grow;
pub use host_uses::host_uses;
pub use objects::{Base, Object, Objects, Step, is_handle, is_text, objects};
pub use param_uses::{ParamUse, param_uses};
pub use uniform::Uniform;

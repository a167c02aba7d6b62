//! Facts about a module. Nothing here changes one.

mod activity;
mod effects;
mod objects;

pub use activity::{Activity, activity, carries_floats};
pub use effects::{is_pure, uses_memory, written};
pub use objects::{Base, Object, Objects, Step, objects};

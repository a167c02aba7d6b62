//! Facts about a module, for the passes that change it. Nothing here changes one.

mod activity;
mod effects;
pub mod locals;
mod objects;
pub mod race;
pub mod root;

pub use activity::{Activity, activity, carries_floats};
pub use effects::{is_pure, uses_memory, written};
pub use objects::{Base, Object, Objects, Step, objects};

//! Facts about a module, for the passes that change it. Nothing here changes one.

pub mod affine;
pub mod locals;
pub mod location;
pub mod ordering;
pub mod owner;
pub mod polynomial;
pub mod race;
#[cfg(test)]
mod race_properties;
#[cfg(test)]
mod race_tests;
pub mod region;
pub mod root;
pub mod site;
pub mod threads;

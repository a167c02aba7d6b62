//! Facts about a module, for the passes that change it. Nothing here changes one.

pub mod locals;
pub mod race;
pub mod root;

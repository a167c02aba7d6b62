//! The tests that need more than one file of the crate. Those that launch are in `launches`, a crate of its own.

mod refusals;

//! Clang's tree: the dump sieved, read, and its type spellings parsed.
//!
//! Nothing outside this module knows how Clang prints, and nothing in it knows the IR.

mod ast;
mod join;
mod json;
mod meaning;
mod place;
mod read;
mod sieve;
pub mod types;

pub use ast::{Ast, Data, Kind, Node, NodeId, Reference, TypeName, Value};
pub use join::{after, resolve};
pub use meaning::changed_declaration;
pub use read::{ReadError, STACK_BYTES, read};
pub use sieve::{GENERATION, Sieve, is_not_system, is_of_program};

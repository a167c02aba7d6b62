//! The IR: what a CUDA program is to this compiler.
//!
//! A module holds records, variables and functions. A function's body is a tree of statements.
//! Statements have all the effects, expressions have none, and conversions are explicit; so a pass that reads a
//! statement sees everything that it does. Trees are owned: a position in the tree is a time of evaluation, and no
//! node can have two parents.
//!
//! What C++ has and the IR has not, because `lower` resolves it: templates, overloading, member functions (functions
//! with a parameter `self`), constructors (functions, or `Construct`), lambdas (records with a function), references
//! (pointers that are printed as such), typedefs and enumerations, implicit conversions, `++`, assignments as values,
//! calls inside expressions (temporaries), blocks inside blocks, shadowed names.
//!
//! There is a text form (`text`), which prints and parses, so that passes are tested without Clang; a validator
//! (`validate`) that states and checks what a well-formed module is; and a `walk` for passes which care about few kinds.

#![warn(clippy::wildcard_enum_match_arm)]

use std::sync::Arc;

#[cfg(test)]
pub(crate) mod arbitrary;
pub mod build;
mod classify;
mod expr;
mod flow;
pub mod layout;
mod module;
pub mod order;
mod provided;
pub mod same;
mod scope;
mod stmt;
#[cfg(test)]
mod tests;
pub mod text;
mod types;
pub mod validate;
pub mod walk;

pub use classify::Called;
pub use expr::{Axis, BinaryOp, Builtin, Expr, ExprKind, Place, PlaceKind, Real, UnaryOp};
pub use flow::can_reach_end;
pub use module::{
    Field, Function, FunctionId, Global, GlobalId, GlobalStorage, LaunchBounds, Local, LocalId, Module, Record, Rule,
    RuleKind, Space, Storage, UnreadBody,
};
pub use provided::{Provided, ProvidedRecord};
pub use stmt::{
    AtomicOp, BarrierKind, Block, Case, CollectiveOp, FILE_NAME, For, Launch, LoopTest, NEEDED, NEEDS_NOTHING,
    OpaqueArg, Scope, Stmt, StmtKind, Unread, Unroll,
};
pub use types::{FloatKind, IntKind, PointerType, RecordId, Type};
pub use validate::{Violation, validate, validate_function};

/// A name in the user's program. Cheap to clone.
pub type Name = Arc<str>;

/// How deep statements and expressions may be nested, counted from a function's body to the leaf of an expression.
///
/// Passes recurse along the tree, and this bounds their stack.
pub const MAX_DEPTH: usize = 200;

/// How many pointers and arrays a type may be made of. Every expression holds its type, so this bounds memory.
pub const MAX_TYPE_DEPTH: usize = 16;

//! Calls that are ready but for where their results go.

use crate::ir::{Expr, FunctionId, Name, Place, StmtKind, Type};

/// A call whose arguments are lowered and whose statement is not there yet.
pub(super) struct PreparedCall {
    pub(super) action: Action,
    /// The type of the result; `Void` for none.
    pub(super) result: Type,
}

/// The statement of a call, without where its result goes.
pub(super) enum Action {
    /// A function of the module.
    Function(FunctionId, Vec<Expr>),
    /// Another statement that has a result.
    Statement(Box<dyn FnOnce(Option<Place>) -> StmtKind>),
    /// New memory.
    Memory(Memory),
}

/// Memory that is to be made for numbers: the call of the runtime without its result, and the first values.
pub(super) struct Memory {
    pub(super) call: Name,
    pub(super) bytes: Expr,
    pub(super) values: Vec<Expr>,
}

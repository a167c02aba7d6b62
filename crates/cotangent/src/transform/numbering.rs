//! The numbers of blocks and threads in the whole grid, as expressions of a kernel.

use crate::ir::{Axis, BinaryOp, Builtin, Expr, ExprKind, Type};

/// The number of this thread in the whole grid.
pub(super) fn grid_thread() -> Expr {
    let size = product(Axis::ALL.map(|axis| builtin(Builtin::BlockDim(axis))));
    let first = Expr::binary(BinaryOp::Multiply, grid_block(), size);
    Expr::binary(BinaryOp::Add, first, flat(Builtin::ThreadIdx, Builtin::BlockDim))
}

/// The threads of the whole grid.
pub(super) fn grid_threads() -> Expr {
    let blocks = Axis::ALL.iter().map(|axis| builtin(Builtin::GridDim(*axis)));
    product(blocks.chain(Axis::ALL.iter().map(|axis| builtin(Builtin::BlockDim(*axis)))))
}

/// The number of this block.
pub(super) fn grid_block() -> Expr {
    flat(Builtin::BlockIdx, Builtin::GridDim)
}

/// The blocks of the whole grid.
pub(super) fn grid_blocks() -> Expr {
    product(Axis::ALL.map(|axis| builtin(Builtin::GridDim(axis))))
}

/// The product of some numbers; of none, one.
pub(super) fn product(factors: impl IntoIterator<Item = Expr>) -> Expr {
    let all = factors.into_iter().reduce(|left, right| Expr::binary(BinaryOp::Multiply, left, right));
    all.unwrap_or_else(|| Expr::int(1))
}

fn flat(index: fn(Axis) -> Builtin, extent: fn(Axis) -> Builtin) -> Expr {
    let plane = Expr::binary(BinaryOp::Multiply, builtin(index(Axis::Z)), builtin(extent(Axis::Y)));
    let row = Expr::binary(BinaryOp::Add, plane, builtin(index(Axis::Y)));
    let line = Expr::binary(BinaryOp::Multiply, row, builtin(extent(Axis::X)));
    Expr::binary(BinaryOp::Add, line, builtin(index(Axis::X)))
}

fn builtin(builtin: Builtin) -> Expr {
    Expr::cast(Expr::new(ExprKind::Builtin(builtin), Type::UINT), Type::LONG)
}

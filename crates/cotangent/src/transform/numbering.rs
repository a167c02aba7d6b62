//! The numbers of blocks and threads in the whole grid, as expressions of a kernel.

use super::elements::builtin;
use crate::ir::{Axis, BinaryOp, Builtin, Expr, Type};

/// The number of this thread in the whole grid.
pub(super) fn grid_thread() -> Expr {
    let size = product(Axis::ALL.map(|axis| wide_builtin(Builtin::BlockDim(axis))));
    let first = Expr::binary(BinaryOp::Multiply, grid_block(), size);
    Expr::binary(BinaryOp::Add, first, flat(Builtin::ThreadIdx, Builtin::BlockDim))
}

/// The threads of the whole grid.
pub(super) fn grid_threads() -> Expr {
    let blocks = Axis::ALL.iter().map(|axis| wide_builtin(Builtin::GridDim(*axis)));
    product(blocks.chain(Axis::ALL.iter().map(|axis| wide_builtin(Builtin::BlockDim(*axis)))))
}

/// The number of this block.
pub(super) fn grid_block() -> Expr {
    flat(Builtin::BlockIdx, Builtin::GridDim)
}

/// The blocks of the whole grid.
pub(super) fn grid_blocks() -> Expr {
    product(Axis::ALL.map(|axis| wide_builtin(Builtin::GridDim(axis))))
}

/// The product of some numbers; of none, one.
pub(super) fn product(factors: impl IntoIterator<Item = Expr>) -> Expr {
    let all = factors.into_iter().reduce(|left, right| Expr::binary(BinaryOp::Multiply, left, right));
    all.unwrap_or_else(|| Expr::int(1))
}

fn flat(index: fn(Axis) -> Builtin, extent: fn(Axis) -> Builtin) -> Expr {
    let plane = Expr::binary(BinaryOp::Multiply, wide_builtin(index(Axis::Z)), wide_builtin(extent(Axis::Y)));
    let row = Expr::binary(BinaryOp::Add, plane, wide_builtin(index(Axis::Y)));
    let line = Expr::binary(BinaryOp::Multiply, row, wide_builtin(extent(Axis::X)));
    Expr::binary(BinaryOp::Add, line, wide_builtin(index(Axis::X)))
}

/// A coordinate or an extent, as a long number.
pub(super) fn wide_builtin(of: Builtin) -> Expr {
    Expr::cast(builtin(of), Type::LONG)
}

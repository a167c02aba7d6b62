//! How the threads of a block share out the elements of an array: the numbers of threads and of elements, as expressions.

use crate::ir::{Axis, BarrierKind, BinaryOp, Builtin, Expr, ExprKind, Place, Stmt, StmtKind, Type};

/// How many elements an array has, those of inner arrays counted.
pub(super) fn element_count(ty: &Type) -> u64 {
    lengths(ty).into_iter().product()
}

/// How many elements an array has in each of its dimensions.
pub(super) fn lengths(ty: &Type) -> Vec<u64> {
    match ty {
        Type::Array(element, length) => [vec![*length], lengths(element)].concat(),
        Type::Void
        | Type::Bool
        | Type::Int(_)
        | Type::Float(_)
        | Type::Pointer(_)
        | Type::Record(_)
        | Type::Opaque(_) => Vec::new(),
    }
}

/// The element of that number of an array of `count` elements, those of inner arrays counted.
pub(super) fn nth_element(place: Place, number: Expr, count: u64) -> Place {
    let Type::Array(_, length) = place.ty else { return place };
    let inner = count / length.max(1);
    if inner <= 1 {
        return place.index(number);
    }
    let [row, rest] = quotient_and_rest(number, inner);
    nth_element(place.index(row), rest, inner)
}

/// An unsigned number divided, and what is left of it.
pub(super) fn quotient_and_rest(number: Expr, by: u64) -> [Expr; 2] {
    [BinaryOp::Divide, BinaryOp::Remainder].map(|op| Expr::binary(op, number.clone(), uint(by)))
}

/// The number of the thread in its block.
pub(super) fn thread_number() -> Expr {
    let coordinate = |axis| builtin(Builtin::ThreadIdx(axis));
    let extent = |axis| builtin(Builtin::BlockDim(axis));
    let plane = Expr::binary(BinaryOp::Multiply, extent(Axis::Y), coordinate(Axis::Z));
    let rows = Expr::binary(BinaryOp::Add, coordinate(Axis::Y), plane);
    Expr::binary(BinaryOp::Add, coordinate(Axis::X), Expr::binary(BinaryOp::Multiply, extent(Axis::X), rows))
}

/// The number of a thread with these coordinates, in a block of that shape.
pub(super) fn number_in_shape(coordinates: [Expr; 3], extents: [u64; 3]) -> Expr {
    let mut numbers = coordinates.into_iter().zip(extents).rev().filter(|(_, extent)| *extent > 1);
    let Some((mut number, _)) = numbers.next() else { return uint(0) };
    for (coordinate, extent) in numbers {
        number = Expr::binary(BinaryOp::Add, coordinate, Expr::binary(BinaryOp::Multiply, uint(extent), number));
    }
    number
}

/// How many threads a block has.
pub(super) fn thread_count() -> Expr {
    let [x, y, z] = Axis::ALL.map(|axis| builtin(Builtin::BlockDim(axis)));
    Expr::binary(BinaryOp::Multiply, Expr::binary(BinaryOp::Multiply, x, y), z)
}

/// A coordinate or an extent.
pub(super) fn builtin(builtin: Builtin) -> Expr {
    Expr::new(ExprKind::Builtin(builtin), Type::UINT)
}

/// A constant of the type that coordinates have.
pub(super) fn uint(value: u64) -> Expr {
    Expr::new(ExprKind::Int(i128::from(value)), Type::UINT)
}

/// `__syncthreads()`.
pub(super) fn barrier() -> Stmt {
    Stmt::new(StmtKind::Barrier { kind: BarrierKind::Block, argument: None, into: None })
}

//! Whether two places are written the same, wherever they stand in the user's text.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;
use std::ops::ControlFlow;

use super::expr::{Expr, ExprKind, Place, PlaceKind};
use super::walk::{self, Node};

/// A number that is the same for expressions that are the same but for spans.
pub fn hash_of(expr: &Expr) -> u64 {
    let mut hasher = DefaultHasher::new();
    let _ = walk::visit_expr(expr, &mut |node| {
        match node {
            Node::Expr(expr) => {
                discriminant(&expr.kind).hash(&mut hasher);
                match &expr.kind {
                    ExprKind::Int(value) => value.hash(&mut hasher),
                    ExprKind::Float(real) => real.0.to_bits().hash(&mut hasher),
                    ExprKind::Math(name, _) => name.hash(&mut hasher),
                    ExprKind::Unary(op, _) => discriminant(op).hash(&mut hasher),
                    ExprKind::Binary(op, ..) => discriminant(op).hash(&mut hasher),
                    ExprKind::Bool(_)
                    | ExprKind::Null
                    | ExprKind::Load(_)
                    | ExprKind::AddressOf(_)
                    | ExprKind::Select(..)
                    | ExprKind::Cast(_)
                    | ExprKind::Builtin(_)
                    | ExprKind::SizeOf(_)
                    | ExprKind::Construct(_) => {}
                }
            }
            Node::Place(place) => {
                discriminant(&place.kind).hash(&mut hasher);
                place.as_local().hash(&mut hasher);
            }
            Node::Stmt(_) => {}
        }
        ControlFlow::<()>::Continue(())
    });
    hasher.finish()
}

/// Whether two places are the same but for spans.
pub fn same_place(left: &Place, right: &Place) -> bool {
    match &left.kind {
        PlaceKind::Local(_) | PlaceKind::Global(_) => left.kind == right.kind,
        PlaceKind::Element(pointer, index) => {
            matches!(&right.kind, PlaceKind::Element(other, at) if same_expr(pointer, other) && same_expr(index, at))
        }
        PlaceKind::Field(base, position) => {
            matches!(&right.kind, PlaceKind::Field(other, at) if position == at && same_place(base, other))
        }
        PlaceKind::Index(base, index) => {
            matches!(&right.kind, PlaceKind::Index(other, at) if same_place(base, other) && same_expr(index, at))
        }
    }
}

/// Whether two expressions are the same but for spans.
pub fn same_expr(left: &Expr, right: &Expr) -> bool {
    left.ty == right.ty && same_kind(&left.kind, &right.kind)
}

fn same_kind(left: &ExprKind, right: &ExprKind) -> bool {
    match left {
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_) => left == right,
        ExprKind::Load(place) => matches!(right, ExprKind::Load(other) if same_place(place, other)),
        ExprKind::AddressOf(place) => matches!(right, ExprKind::AddressOf(other) if same_place(place, other)),
        ExprKind::Unary(op, operand) => {
            matches!(right, ExprKind::Unary(other_op, other) if op == other_op && same_expr(operand, other))
        }
        ExprKind::Binary(op, a, b) => {
            matches!(right, ExprKind::Binary(other, c, d) if op == other && same_expr(a, c) && same_expr(b, d))
        }
        ExprKind::Select(cond, a, b) => {
            matches!(right, ExprKind::Select(other, c, d)
                if same_expr(cond, other) && same_expr(a, c) && same_expr(b, d))
        }
        ExprKind::Cast(operand) => matches!(right, ExprKind::Cast(other) if same_expr(operand, other)),
        ExprKind::Math(name, args) => {
            matches!(right, ExprKind::Math(other, others) if name == other && same_all(args, others))
        }
        ExprKind::Construct(parts) => matches!(right, ExprKind::Construct(others) if same_all(parts, others)),
    }
}

fn same_all(left: &[Expr], right: &[Expr]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same_expr(left, right))
}

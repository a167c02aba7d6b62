//! Which variables pointers may point to.

use std::collections::HashSet;
use std::ops::ControlFlow;

use crate::ir::walk::{self, own_variable};
use crate::ir::{Expr, ExprKind, Function, LocalId, Place, StmtKind};

/// Variables that pointers may point to, other than those which a call uses and forgets. No function of the runtime that
/// host code may call keeps an address.
pub(in crate::transform) fn address_taken(function: &Function) -> HashSet<LocalId> {
    let mut found = HashSet::new();
    let mut note = |expr: &Expr| {
        let _ = walk::visit_expr(expr, &mut |node| {
            if let walk::Node::Expr(Expr { kind: ExprKind::AddressOf(place), .. }) = node {
                found.extend(own_variable(place));
            }
            ControlFlow::<()>::Continue(())
        });
    };
    walk::each_stmt(&function.body, &mut |stmt| {
        let handed_over = |expr| match &stmt.kind {
            StmtKind::Call { .. } => address(expr),
            StmtKind::Runtime { .. } => address_of_any_type(expr),
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::If { .. }
            | StmtKind::For(_)
            | StmtKind::While { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Barrier { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Collective { .. }
            | StmtKind::Launch(_)
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. }
            | StmtKind::Opaque { .. } => None,
        };
        let _ = walk::stmt_parts(stmt, &mut |part| {
            match part {
                walk::Part::Expr(expr) => match handed_over(expr) {
                    Some(place) => place_operands(place, &mut note),
                    None => note(expr),
                },
                walk::Part::Place(place) => place_operands(place, &mut note),
                walk::Part::Block(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
    });
    found
}

/// The place that an expression is the address of, whatever it promises not to do through it.
pub(in crate::transform) fn address(expr: &Expr) -> Option<&Place> {
    expr.unqualified().as_address()
}

/// The same, whatever type the runtime takes it for: `void*`.
fn address_of_any_type(expr: &Expr) -> Option<&Place> {
    expr.uncast_pointer().as_address()
}

fn place_operands(place: &Place, note: &mut impl FnMut(&Expr)) {
    let _ = walk::place_parts(place, &mut |part| {
        match part {
            walk::Part::Expr(expr) => note(expr),
            walk::Part::Place(place) => place_operands(place, note),
            walk::Part::Block(_) => {}
        }
        ControlFlow::<()>::Continue(())
    });
}

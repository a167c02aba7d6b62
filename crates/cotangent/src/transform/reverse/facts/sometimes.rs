//! Values that are used on some ways through the function only. On the others their adjoint is exactly zero, and must not
//! meet a derivative that is infinite: zero times infinity is no number.

use std::collections::HashSet;
use std::ops::ControlFlow;

use crate::analysis::grow;
use crate::ir::walk::{self, Part};
use crate::ir::{Expr, ExprKind, Function, LocalId, Stmt, StmtKind, Storage, Type};
use crate::rules::chooses;

/// The variables with a value that may be read by nothing that has a derivative: only inside branches that come later, only as
/// one of several that are chosen among, not before a branch that overwrites it, or only for another such variable.
pub(in crate::transform::reverse) fn used_sometimes(function: &Function) -> HashSet<LocalId> {
    let mut found = HashSet::new();
    grow(&mut found, HashSet::len, |found| look(function, &function.body, &mut Vec::new(), found));
    found
}

/// `after` are the statements that follow the blocks around this one.
fn look<'a>(function: &Function, block: &'a [Stmt], after: &mut Vec<&'a [Stmt]>, found: &mut HashSet<LocalId>) {
    for (position, stmt) in block.iter().enumerate() {
        let written = stmt.given_local();
        after.push(&block[position + 1..]);
        let is_number = |local: &LocalId| {
            let variable = &function.locals[*local];
            matches!(variable.ty, Type::Float(_)) && variable.storage == Storage::Private
        };
        if let Some(local) = written.filter(is_number) {
            // The innermost block goes on first.
            let later = after.iter().rev().copied().flatten();
            if !later.map_while(|stmt| fate(stmt, local, found)).any(|is_used| is_used) {
                found.insert(local);
            }
        }
        let _ = walk::stmt_parts(stmt, &mut |part| {
            if let Part::Block(inner) = part {
                look(function, inner, after, found);
            }
            ControlFlow::<()>::Continue(())
        });
        after.pop();
    }
}

/// Whether a statement uses the value of a variable on every way; nothing if the value may be gone after it. `sometimes` are
/// the variables of which it is known already that nothing may use them.
fn fate(stmt: &Stmt, local: LocalId, sometimes: &HashSet<LocalId>) -> Option<bool> {
    if matches!(stmt.kind, StmtKind::If { .. }) {
        let is_overwritten = walk::assigned_locals(std::slice::from_ref(stmt)).contains(&local);
        return (!is_overwritten).then_some(false);
    }
    let given = stmt.given_local();
    let is_used = !given.is_some_and(|given| sometimes.contains(&given)) && uses(stmt, local);
    (is_used || given != Some(local)).then_some(is_used)
}

fn uses(stmt: &Stmt, local: LocalId) -> bool {
    walk::stmt_parts(stmt, &mut |part| {
        let is_used = match part {
            Part::Expr(expr) => depends(expr, local),
            Part::Block(block) => block.iter().any(|inner| uses(inner, local)),
            // What stands in a place are pointers and indices.
            Part::Place(_) => false,
        };
        if is_used { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .is_break()
}

/// Whether the derivative of an expression has to do with a variable, whatever is chosen in it.
fn depends(expr: &Expr, local: LocalId) -> bool {
    match &expr.kind {
        ExprKind::Load(place) => place.as_local() == Some(local),
        ExprKind::Select(_, then, otherwise) => depends(then, local) && depends(otherwise, local),
        ExprKind::Math(name, args) if chooses(name) => args.iter().all(|arg| depends(arg, local)),
        ExprKind::Math(_, args) | ExprKind::Construct(args) => args.iter().any(|arg| depends(arg, local)),
        ExprKind::Unary(_, operand) | ExprKind::Cast(operand) => depends(operand, local),
        ExprKind::Binary(_, left, right) => depends(left, local) || depends(right, local),
        // A variable whose address goes elsewhere may be read there.
        ExprKind::AddressOf(place) => walk::own_variable(place) == Some(local),
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;

    /// Whether `v` is one of them, in a kernel with this body.
    fn is_sometimes(body: &str) -> bool {
        let module =
            text::parse(&format!("kernel k(x: const float*, y: float*) {{ {body} }}")).expect("it is well-formed");
        let function = module.functions.iter().next().expect("a function");
        let names: Vec<&str> = used_sometimes(function).into_iter().map(|local| function.local_name(local)).collect();
        names.contains(&"v")
    }

    #[test]
    fn what_is_read_in_any_case_is_not() {
        assert!(!is_sometimes("let v: float = x[0]; y[0] = v;"));
        assert!(!is_sometimes("let v: float = x[0]; y[0] = v; if (x[1] > 0.0f) { v = 1.0f; y[1] = v; }"));
    }

    #[test]
    fn what_is_read_in_a_branch_is() {
        assert!(is_sometimes("let v: float = x[0]; if (x[1] > 0.0f) { y[0] = v; }"));
    }

    #[test]
    fn what_is_overwritten_is() {
        assert!(is_sometimes("let v: float = sqrtf(x[0]); v = x[1]; y[0] = v;"));
        assert!(is_sometimes("let v: float = sqrtf(x[0]); if (x[1] > 0.0f) { v = 1.0f; } y[0] = v;"));
    }

    #[test]
    fn what_is_read_for_another_such_is() {
        assert!(is_sometimes("let v: float = x[0]; let e: float = (v * 2.0f); if (x[1] > 0.0f) { y[0] = e; }"));
        assert!(!is_sometimes(
            "let v: float = x[0]; let e: float = (v * 2.0f); if (x[1] > 0.0f) { y[0] = e; } y[1] = v;"
        ));
    }

    #[test]
    fn what_is_one_of_two_is() {
        assert!(is_sometimes("let v: float = sqrtf(x[0]); y[0] = fmaxf(v, 0.1f);"));
        assert!(is_sometimes("let v: float = sqrtf(x[0]); y[0] = ((v > 0.1f) ? v : 0.1f);"));
        assert!(!is_sometimes("let v: float = sqrtf(x[0]); y[0] = fmaxf(v, (v * x[1]));"));
    }
}

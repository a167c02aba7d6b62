//! Pointers that are null by the program's text: what asks for them is decided, and what they would lead to never runs.
//!
//! `if (extra != nullptr) extra[i] = …` is how CUDA writes an optional array. A call that hands over `nullptr` has no such
//! array, and hence no adjoint of it either.

use std::collections::HashSet;
use std::ops::ControlFlow;

use crate::ir::walk::{self, Node, NodeMut, PartMut};
use crate::ir::{BinaryOp, Block, Expr, ExprKind, Function, FunctionId, LocalId, Module, Stmt, StmtKind, UnaryOp};

/// A module in which parameters that are null at every call are null by name. The function that is asked for, and those with
/// rules, may be called by others too.
pub(super) fn known_nulls(module: &Module, requested: FunctionId) -> Module {
    let mut known = module.clone();
    let rules = module.rules.iter().flat_map(|rule| rule.kind.functions().into_iter().chain([rule.function]));
    let seen_outside: HashSet<FunctionId> = rules.chain([requested]).collect();
    loop {
        let found: Vec<(FunctionId, LocalId)> = known
            .functions
            .ids()
            .filter(|id| !seen_outside.contains(id))
            .flat_map(|id| always_null(&known, id).into_iter().map(move |param| (id, param)))
            .collect();
        if found.is_empty() {
            return known;
        }
        for (id, param) in found {
            let body = &mut known.functions[id].body;
            name_null(body, param);
            decide_nulls(body);
        }
    }
}

/// The parameters of a function that are read, never written, and null at every call of it.
fn always_null(module: &Module, id: FunctionId) -> Vec<LocalId> {
    let mut is_null: Option<Vec<bool>> = None;
    for caller in module.functions.iter() {
        walk::each_stmt(&caller.body, &mut |stmt| {
            let Some(called) = stmt.called().filter(|called| called.function == id) else { return };
            let here = called.args.iter().map(is_null_pointer);
            is_null = Some(match is_null.take() {
                Some(before) => before.into_iter().zip(here).map(|(before, here)| before && here).collect(),
                None => here.collect(),
            });
        });
    }
    let function = &module.functions[id];
    let params = function.params.iter().zip(is_null.unwrap_or_default());
    params.filter(|(param, is_null)| *is_null && is_only_read(function, **param)).map(|(param, _)| *param).collect()
}

/// Whether a variable is read at all, and nothing else is done with it.
fn is_only_read(function: &Function, local: LocalId) -> bool {
    let (mut mentions, mut loads) = (0usize, 0usize);
    let _ = walk::visit_block(&function.body, &mut |node| {
        match node {
            Node::Place(place) => mentions += usize::from(place.as_local() == Some(local)),
            Node::Expr(expr) => loads += usize::from(expr.as_local() == Some(local)),
            Node::Stmt(_) => {}
        }
        ControlFlow::<()>::Continue(())
    });
    loads > 0 && mentions == loads
}

fn name_null(body: &mut Block, param: LocalId) {
    let _ = walk::visit_block_mut(body, &mut |node| {
        if let NodeMut::Expr(expr) = node
            && expr.as_local() == Some(param)
        {
            expr.kind = ExprKind::Null;
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Leaves of each branch that is decided by null pointers only what runs.
pub(super) fn decide_nulls(block: &mut Block) {
    let _ = walk::visit_block_mut(block, &mut |node| {
        if let NodeMut::Expr(expr) = node
            && let ExprKind::Select(cond, then, otherwise) = &expr.kind
            && let Some(holds) = decided(cond)
        {
            *expr = if holds { (**then).clone() } else { (**otherwise).clone() };
        }
        ControlFlow::<()>::Continue(())
    });
    *block = std::mem::take(block).into_iter().flat_map(taken).collect();
    let leaves = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue);
    if let Some(last) = block.iter().position(leaves) {
        block.truncate(last + 1);
    }
}

/// What runs of a statement.
fn taken(mut stmt: Stmt) -> Block {
    if let StmtKind::If { cond, then_block, else_block } = &mut stmt.kind
        && let Some(holds) = decided(cond)
    {
        let mut block = std::mem::take(if holds { then_block } else { else_block });
        decide_nulls(&mut block);
        return block;
    }
    let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
        if let PartMut::Block(inner) = part {
            decide_nulls(inner);
        }
        ControlFlow::<()>::Continue(())
    });
    vec![stmt]
}

/// Whether a condition holds, if null pointers alone tell.
fn decided(cond: &Expr) -> Option<bool> {
    match &cond.kind {
        ExprKind::Unary(UnaryOp::Not, operand) => decided(operand).map(|holds| !holds),
        ExprKind::Binary(BinaryOp::And, left, right) => match (decided(left), decided(right)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), right) => right,
            (None, _) => None,
        },
        ExprKind::Binary(BinaryOp::Or, left, right) => match (decided(left), decided(right)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), right) => right,
            (None, _) => None,
        },
        ExprKind::Binary(BinaryOp::Equal, left, right) if is_null_pointer(left) && is_null_pointer(right) => Some(true),
        ExprKind::Binary(BinaryOp::NotEqual, left, right) if is_null_pointer(left) && is_null_pointer(right) => {
            Some(false)
        }
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Load(_)
        | ExprKind::AddressOf(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Cast(_)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_) => None,
    }
}

pub(super) fn is_null_pointer(expr: &Expr) -> bool {
    let bare = expr.uncast_pointer();
    expr.ty.is_pointer() && bare.kind == ExprKind::Null
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;

    /// The function `f` after the pass, in a program where `k` is asked for.
    fn after(program: &str) -> String {
        let module = text::parse(program).expect("the text is well-formed");
        let requested = module.functions.ids().last().expect("a function");
        let known = known_nulls(&module, requested);
        let text = text::print(&known);
        text.split("kernel k").next().unwrap_or_default().trim().to_owned()
    }

    #[test]
    fn a_branch_on_what_is_never_there_goes() {
        let text = after(
            "device f(x: float*, more: float*) { if (more != null(float*)) { more[0] = x[0]; } else { x[1] = 2.0f; } }
             kernel k(x: float*) { call f(x, null(float*)); }",
        );
        assert!(!text.contains("if") && text.contains("2"), "{text}");
    }

    #[test]
    fn what_is_there_at_one_call_stays() {
        let text = after(
            "device f(x: float*, more: float*) { if (more != null(float*)) { more[0] = x[0]; } }
             kernel k(x: float*) { call f(x, null(float*)); call f(x, x); }",
        );
        assert!(text.contains("if"), "{text}");
    }

    #[test]
    fn what_is_written_stays() {
        let text = after(
            "device f(x: float*, more: float*) { more = x; if (more != null(float*)) { more[0] = x[0]; } }
             kernel k(x: float*) { call f(x, null(float*)); }",
        );
        assert!(text.contains("if"), "{text}");
    }
}

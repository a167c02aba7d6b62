//! Calls of Cotangent's own functions. In a partial derivative they stand as if they were CUDA's; here each becomes a
//! call in front of the statement, and the function joins the module.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::ir::walk::{self, NodeMut, PartMut};
use crate::ir::{Block, Expr, ExprKind, Function, FunctionId, Module, Name, Place, Stmt, StmtKind, text};
use crate::rules;
use crate::transform::locals::{NewLocals, declare};

/// Replaces them in a function and in all that it calls.
pub(super) fn call_helpers(module: &mut Module, root: FunctionId) {
    let mut helpers = BTreeMap::new();
    let mut done = Vec::new();
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        if done.contains(&id) {
            continue;
        }
        done.push(id);
        walk::each_stmt(&module.functions[id].body, &mut |stmt| {
            if let StmtKind::Call { function, .. } = stmt.kind {
                open.push(function);
            }
        });
        let mut function = module.functions[id].clone();
        find(module, &function, &mut helpers);
        if helpers.is_empty() {
            continue;
        }
        let mut names = NewLocals::new(module, &function);
        let body = std::mem::take(&mut function.body);
        function.body = block(body, &mut function, &mut names, &helpers);
        module.functions.set(id, function);
    }
}

/// Adds the functions that a body needs to the module.
fn find(module: &mut Module, function: &Function, helpers: &mut BTreeMap<Name, FunctionId>) {
    let mut texts = BTreeMap::new();
    walk::each_expr(&function.body, &mut |expr| {
        if let ExprKind::Math(name, _) = &expr.kind
            && !helpers.contains_key(name)
            && let Some(text) = rules::helper(name)
        {
            texts.insert(name.clone(), text);
        }
    });
    for (name, helper) in texts {
        let parsed = text::parse(helper).ok();
        let body = parsed.as_ref().and_then(|parsed| parsed.functions.iter().next());
        if let Some(body) = body {
            helpers.insert(name, module.functions.push(body.clone()));
        }
    }
}

fn block(block: Block, function: &mut Function, names: &mut NewLocals, helpers: &BTreeMap<Name, FunctionId>) -> Block {
    let mut out = Block::new();
    for mut stmt in block {
        let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
            match part {
                PartMut::Block(inner) => *inner = self::block(std::mem::take(inner), function, names, helpers),
                PartMut::Expr(expr) => calls(expr, function, names, helpers, &mut out),
                PartMut::Place(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
        out.push(stmt);
    }
    out
}

fn calls(
    expr: &mut Expr,
    function: &mut Function,
    names: &mut NewLocals,
    helpers: &BTreeMap<Name, FunctionId>,
    out: &mut Block,
) {
    let _ = walk::visit_expr_mut(expr, &mut |node| {
        if let NodeMut::Expr(inner) = node
            && let ExprKind::Math(name, args) = &inner.kind
            && let Some(helper) = helpers.get(name)
        {
            let local = names.add(function, "_t", inner.ty.clone());
            let into = Place::local(local, inner.ty.clone());
            out.push(declare(local, None));
            out.push(Stmt::new(StmtKind::Call { into: Some(into.clone()), function: *helper, args: args.clone() }));
            *inner = Expr::load(into);
        }
        ControlFlow::<()>::Continue(())
    });
}

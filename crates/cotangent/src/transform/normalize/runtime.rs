//! Makes what runtime calls store through an address their result, so that a pointer to new memory is given its value as
//! any variable is: `cudaMalloc(&p, n)` becomes `p = cotangent::device_memory<float>(n)`, which fails loudly by itself.
//! And takes the calls out of the `do { … } while (0)` of macros, so that an allocation stands where its memory is used.

use std::ops::ControlFlow;

use super::super::locals::NewLocals;
use crate::ir::walk::{self, PartMut};
use crate::ir::{Block, Expr, ExprKind, Function, LoopTest, Module, Place, Space, Stmt, StmtKind, Type};
use crate::rules::{RuntimeClass, runtime_class};

/// Rewrites the allocations of a host function.
pub(in crate::transform) fn results_of_runtime(module: &Module, function: &mut Function) {
    if function.space != Space::Host {
        return;
    }
    let mut names = NewLocals::new(module, function);
    let mut body = std::mem::take(&mut function.body);
    flatten(function, &mut names, &mut body);
    block(&mut body);
    function.body = body;
}

/// Takes what runs once out of the loop around it.
fn flatten(function: &mut Function, names: &mut NewLocals, stmts: &mut Block) {
    let mut out = Block::new();
    for mut stmt in std::mem::take(stmts) {
        let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
            if let PartMut::Block(inner) = part {
                flatten(function, names, inner);
            }
            ControlFlow::<()>::Continue(())
        });
        match stmt.kind {
            StmtKind::While { cond: Expr { kind: ExprKind::Bool(false), .. }, body, test: LoopTest::After }
                if !has_jump(&body) =>
            {
                for local in body.iter().filter_map(walk::declared_local) {
                    let name = names.name(&function.locals[local].name);
                    function.locals[local].name = name;
                }
                out.extend(body);
            }
            kind => out.push(Stmt { kind, ..stmt }),
        }
    }
    *stmts = out;
}

fn has_jump(block: &Block) -> bool {
    let mut found = false;
    walk::each_stmt(block, &mut |stmt| found |= matches!(stmt.kind, StmtKind::Break | StmtKind::Continue));
    found
}

fn block(stmts: &mut Block) {
    let mut out = Block::new();
    for mut stmt in std::mem::take(stmts) {
        let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
            if let PartMut::Block(inner) = part {
                block(inner);
            }
            ControlFlow::<()>::Continue(())
        });
        let StmtKind::Runtime { call, args, into } = &stmt.kind else {
            out.push(stmt);
            continue;
        };
        match (runtime_class(call), args.as_slice()) {
            (Some(RuntimeClass::Allocate { maker }), [target, bytes, ..]) if let Some(pointer) = stored_to(target) => {
                let bytes = Expr::cast(bytes.clone(), Type::SIZE);
                let kind = StmtKind::Runtime { call: maker.into(), args: vec![bytes], into: Some(pointer) };
                let error = into.clone();
                out.push(Stmt { kind, ..stmt.clone() });
                // It went well, or we would not be here.
                out.extend(error.map(|error| {
                    let kind =
                        StmtKind::Runtime { call: "cudaPeekAtLastError".into(), args: vec![], into: Some(error) };
                    Stmt::new(kind).at(stmt.span)
                }));
            }
            _ => out.push(stmt),
        }
    }
    *stmts = out;
}

/// The pointer that an allocation stores to: `&p`, `(void**)&p`, `p` of a `T**`.
fn stored_to(target: &Expr) -> Option<Place> {
    match &target.kind {
        ExprKind::AddressOf(place) => Some(place.clone()),
        ExprKind::Cast(operand) if operand.ty.pointee().is_some_and(Type::is_pointer) => stored_to(operand),
        _ if target.ty.pointee().is_some_and(Type::is_pointer) => Some(Place::deref(target.clone())),
        _ => None,
    }
}

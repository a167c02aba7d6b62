//! Makes what runtime calls store through an address their result, so that a pointer to new memory is given its value as
//! any variable is: `cudaMalloc(&p, n)` becomes `p = cotangent::device_memory<float>(n)`, which fails loudly by itself.
//! And takes the calls out of the `do { … } while (0)` of macros, so that an allocation stands where its memory is used.

use std::ops::ControlFlow;

use super::super::locals::NewLocals;
use super::jumps::{Kind as Jump, has_jump};
use crate::ir::walk::{self, PartMut};
use crate::ir::{Block, Expr, ExprKind, Function, LoopTest, Module, Name, Place, Space, Stmt, StmtKind, Type};
use crate::rules::{LAST_ERROR, RuntimeClass, runtime_class};
use crate::source::Span;

/// Rewrites the allocations of a host function.
pub(in crate::transform) fn results_of_runtime(module: &Module, function: &mut Function) {
    if function.space != Space::Host {
        return;
    }
    let mut names = NewLocals::new(module, function);
    let mut body = std::mem::take(&mut function.body);
    block(function, &mut names, &mut body);
    function.body = body;
}

fn block(function: &mut Function, names: &mut NewLocals, stmts: &mut Block) {
    let mut out = Block::new();
    for mut stmt in std::mem::take(stmts) {
        let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
            if let PartMut::Block(inner) = part {
                block(function, names, inner);
            }
            ControlFlow::<()>::Continue(())
        });
        match stmt.kind {
            // What runs once needs no loop around it.
            StmtKind::While { cond: Expr { kind: ExprKind::Bool(false), .. }, body, test: LoopTest::After }
                if !has_jump(&body, Jump::Break) && !has_jump(&body, Jump::Continue) =>
            {
                for local in body.iter().filter_map(walk::declared_local) {
                    let name = names.name(&function.locals[local].name);
                    function.locals[local].name = name;
                }
                out.extend(body);
            }
            StmtKind::Runtime { call, args, into } => out.extend(runtime(call, args, into, stmt.span)),
            kind @ (StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::Call { .. }
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
            | StmtKind::Opaque { .. }) => out.push(Stmt { kind, ..stmt }),
        }
    }
    *stmts = out;
}

/// A call of the runtime; an allocation with its pointer as the result.
fn runtime(call: Name, args: Vec<Expr>, into: Option<Place>, span: Span) -> Block {
    if let (Some(RuntimeClass::Allocate { maker }), [target, bytes, ..]) = (runtime_class(&call), args.as_slice())
        && let Some(pointer) = stored_to(target)
    {
        let bytes = Expr::cast(bytes.clone(), Type::SIZE);
        let memory = StmtKind::Runtime { call: maker.into(), args: vec![bytes], into: Some(pointer) };
        // It went well, or we would not get there.
        let error =
            into.map(|error| StmtKind::Runtime { call: LAST_ERROR.into(), args: Vec::new(), into: Some(error) });
        return [memory].into_iter().chain(error).map(|kind| Stmt::new(kind).at(span)).collect();
    }
    vec![Stmt::new(StmtKind::Runtime { call, args, into }).at(span)]
}

/// The pointer that an allocation stores to: `&p`, `(void**)&p`, `p` of a `T**`.
fn stored_to(target: &Expr) -> Option<Place> {
    let is_of_pointer = |pointer: &Expr| pointer.ty.pointee().is_some_and(Type::is_pointer);
    if let Some(place) = target.as_address() {
        return Some(place.clone());
    }
    match target.as_cast().filter(|operand| is_of_pointer(operand)) {
        Some(operand) => stored_to(operand),
        None => is_of_pointer(target).then(|| Place::deref(target.clone())),
    }
}

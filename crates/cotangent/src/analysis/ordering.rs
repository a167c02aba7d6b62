//! Whether accesses of different threads may be ordered, so that a race-free program may have several threads write
//! one element.

use std::ops::ControlFlow;

use crate::ir::walk::{self, Part};
use crate::ir::{
    BarrierKind, Builtin, ExprKind, Function, FunctionId, Module, PlaceKind, Scope, Stmt, StmtKind, Type, Unread,
};

/// How the threads of a launch may wait for each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ordering {
    /// Not at all: no element that a thread writes is touched by another.
    None,
    /// By barriers of the function itself, at which all live threads of a block meet.
    Barriers,
    /// In ways that are not followed: fences, atomics with results, volatile accesses, barriers in functions that are
    /// called.
    Hidden,
}

/// How the threads that run a function may wait for each other.
pub fn ordering(module: &Module, function: FunctionId) -> Ordering {
    let own = own_ordering(&module.functions[function]);
    let is_hidden = |callee: &FunctionId| own_ordering(&module.functions[*callee]) != Ordering::None;
    if called(module, function).iter().any(is_hidden) { Ordering::Hidden } else { own }
}

/// Whether a function, or one that it calls, asks which thread of its block it is. One that does not may be meant for
/// blocks of one thread.
pub fn asks_for_thread(module: &Module, function: FunctionId) -> bool {
    let mut is_found = false;
    for id in called(module, function).into_iter().chain([function]) {
        walk::each_expr(&module.functions[id].body, &mut |expr| {
            is_found |= matches!(expr.kind, ExprKind::Builtin(Builtin::ThreadIdx(_)));
        });
    }
    is_found
}

/// The functions that a function calls, and those that they call.
pub fn called(module: &Module, function: FunctionId) -> Vec<FunctionId> {
    let mut reached = callees(&module.functions[function]);
    let mut next = 0;
    while next < reached.len() {
        let callee = &module.functions[reached[next]];
        let new: Vec<_> = callees(callee).into_iter().filter(|callee| !reached.contains(callee)).collect();
        reached.extend(new);
        next += 1;
    }
    reached
}

fn callees(function: &Function) -> Vec<FunctionId> {
    let mut found = Vec::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        if let StmtKind::Call { function, .. } = stmt.kind
            && !found.contains(&function)
        {
            found.push(function);
        }
    });
    found
}

/// The same without what is called.
fn own_ordering(function: &Function) -> Ordering {
    let mut ordering = Ordering::None;
    walk::each_stmt(&function.body, &mut |stmt| ordering = ordering.max(stmt_ordering(stmt)));
    walk::each_place(&function.body, &mut |place| {
        if let PlaceKind::Element(pointer, _) = &place.kind
            && matches!(&pointer.ty, Type::Pointer(pointer) if pointer.is_volatile)
        {
            ordering = Ordering::Hidden;
        }
    });
    ordering
}

/// Whether a block, or one inside it, has a barrier.
pub fn has_barrier(block: &[Stmt]) -> bool {
    let mut is_found = false;
    walk::each_stmt(block, &mut |stmt| is_found |= matches!(stmt.kind, StmtKind::Barrier { .. }));
    is_found
}

/// Whether all threads of a block wait for each other at a statement.
pub fn is_barrier(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Barrier { kind, .. } if kind.is_of_block())
}

/// Whether threads of a block may wait for each other in a statement, or in what it calls.
pub fn may_meet(module: &Module, stmt: &Stmt) -> bool {
    may_meet_at(module, stmt, BarrierKind::is_meeting)
}

/// The same, all threads of the block and not only those of a warp.
pub fn may_meet_in_block(module: &Module, stmt: &Stmt) -> bool {
    may_meet_at(module, stmt, BarrierKind::is_of_block)
}

fn may_meet_at(module: &Module, stmt: &Stmt, is_meant: fn(BarrierKind) -> bool) -> bool {
    match &stmt.kind {
        StmtKind::Barrier { kind, .. } => is_meant(*kind),
        StmtKind::Call { function, .. } => {
            let mut is_found = false;
            for callee in called(module, *function).into_iter().chain([*function]) {
                walk::each_stmt(&module.functions[callee].body, &mut |stmt| {
                    is_found |= matches!(stmt.kind, StmtKind::Barrier { kind, .. } if is_meant(kind));
                    is_found |= matches!(stmt.kind, StmtKind::Opaque { code: Unread::Body { meets: true, .. }, .. });
                });
            }
            is_found
        }
        // What stands inside is asked for itself; exchanges of a warp have masks.
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
        | StmtKind::Atomic { .. }
        | StmtKind::Collective { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => false,
    }
}

/// Whether no statement jumps: no `break` out of a loop, no `continue`, no `return` but at the end.
pub fn is_without_jumps(function: &Function) -> bool {
    let body = match function.body.split_last() {
        Some((Stmt { kind: StmtKind::Return(_), .. }, rest)) => rest,
        Some(_) | None => &function.body,
    };
    !jumps(body)
}

fn jumps(block: &[Stmt]) -> bool {
    block.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) => true,
        // Nothing is concluded from what stands in a switch; but it may leave more than the switch.
        StmtKind::Switch { .. } => {
            let mut is_found = false;
            walk::each_stmt(std::slice::from_ref(stmt), &mut |inner| {
                is_found |= matches!(inner.kind, StmtKind::Continue | StmtKind::Return(_));
            });
            is_found
        }
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
        | StmtKind::If { .. }
        | StmtKind::For(_)
        | StmtKind::While { .. }
        | StmtKind::Barrier { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Collective { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => walk::stmt_parts(stmt, &mut |part| match part {
            Part::Block(inner) if jumps(inner) => ControlFlow::Break(()),
            Part::Block(_) | Part::Expr(_) | Part::Place(_) => ControlFlow::Continue(()),
        })
        .is_break(),
    })
}

fn stmt_ordering(stmt: &Stmt) -> Ordering {
    match &stmt.kind {
        StmtKind::Barrier { kind, .. } => match kind {
            BarrierKind::Block
            | BarrierKind::BlockCount
            | BarrierKind::BlockAnd
            | BarrierKind::BlockOr
            | BarrierKind::Warp => Ordering::Barriers,
            BarrierKind::Fence | BarrierKind::FenceBlock | BarrierKind::FenceSystem => Ordering::Hidden,
        },
        // The sum of a block has barriers of its own.
        StmtKind::Atomic { into: Some(_), .. }
        | StmtKind::Atomic { scope: Scope::Together, .. }
        | StmtKind::Opaque { code: Unread::Body { meets: true, .. }, .. } => Ordering::Hidden,
        StmtKind::Declare { .. }
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
        | StmtKind::Atomic { .. }
        | StmtKind::Collective { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => Ordering::None,
    }
}

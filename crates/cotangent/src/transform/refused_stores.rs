//! Refuses what the premise of reverse mode is false for: active stores that all threads of a block make to one element,
//! and active memory that threads write and read in an order that no barrier makes.

use std::collections::BTreeSet;

use crate::analysis::race::stores_of_whole_blocks;
use crate::analysis::{Activity, Object, Objects, written};
use crate::diagnostic::{Diagnostic, SHARED_STORE, THREADS_ACTIVE};
use crate::ir::walk;
use crate::ir::{BarrierKind, Expr, ExprKind, FunctionId, Module, PlaceKind, Stmt, StmtKind, Storage, Type};
use crate::source::Span;

/// What is wrong with the active stores of a kernel. Functions that it calls may be called by one thread alone.
pub(super) fn refused_stores(
    module: &Module,
    kernel: FunctionId,
    objects: &Objects<'_>,
    activity: &Activity,
) -> Vec<Diagnostic> {
    let stores = stores_of_whole_blocks(module, kernel).into_iter();
    let active = stores.filter(|(_, place)| activity.is_active_place(objects, place));
    let refused = active.map(|(stmt, _)| {
        let message = "all threads of a block store to this element";
        let label = "the index is the same for each of them";
        Diagnostic::new(SHARED_STORE, stmt.span, message, label).help(
            "let one thread store it, with `if (threadIdx.x == 0)` around it, or give each thread an element of its own",
        )
    });
    refused.chain(refused_orders(module, kernel, objects, activity)).collect()
}

/// Fences and volatile accesses order what threads do, also across blocks, and the reverse sweep cannot turn that around.
fn refused_orders(
    module: &Module,
    kernel: FunctionId,
    objects: &Objects<'_>,
    activity: &Activity,
) -> Option<Diagnostic> {
    let function = &module.functions[kernel];
    let span = hidden_order(&function.body)?;
    let mut read: BTreeSet<Object> = BTreeSet::new();
    walk::each_expr(&function.body, &mut |expr| {
        if let (ExprKind::Load(place), Type::Float(_)) = (&expr.kind, &expr.ty) {
            read.extend(objects.of_place(place));
        }
    });
    let is_shared =
        |object: &Object| object.as_local().is_none_or(|local| function.locals[local].storage != Storage::Private);
    let written = written(objects, &function.body);
    let is_exchanged =
        |object: &Object| is_shared(object) && activity.is_active(object) && object.overlaps_any(&written);
    read.iter().any(is_exchanged).then(|| {
        let message = "threads may exchange active values in an order that only this makes";
        Diagnostic::new(THREADS_ACTIVE, span, message, "the reverse sweep cannot turn it around").help(
            "use `__syncthreads()` or `__syncwarp()` inside a block; let a second launch read what other blocks wrote",
        )
    })
}

/// The first fence or volatile access of numbers.
fn hidden_order(body: &[Stmt]) -> Option<Span> {
    let mut found = None;
    walk::each_stmt(body, &mut |stmt| {
        if let StmtKind::Barrier {
            kind: BarrierKind::Fence | BarrierKind::FenceBlock | BarrierKind::FenceSystem, ..
        } = stmt.kind
        {
            found = found.or(Some(stmt.span));
        }
    });
    walk::each_expr(body, &mut |expr| {
        if let Expr { kind: ExprKind::Load(place), ty: Type::Float(_), span } = expr
            && let PlaceKind::Element(pointer, _) = &place.kind
            && matches!(&pointer.ty, Type::Pointer(pointer) if pointer.is_volatile)
        {
            found = found.or(Some(*span));
        }
    });
    found
}

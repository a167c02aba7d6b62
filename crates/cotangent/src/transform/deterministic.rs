//! `--deterministic`: the same bits at every run. A floating-point sum depends on the order of its additions, so no addition may be
//! made in the order in which threads come to it.
//!
//! What depends on that order is an atomic: one that adds floating numbers, or one that gives back what it found. What can be
//! added later in a fixed order is (`in_order.rs`); the rest is refused here, and so is what the function itself does so.

use std::collections::BTreeSet;

use super::accumulate::OTHER_STREAMS;
use super::in_order::{Deferred, added_to};
use crate::diagnostic::{Diagnostic, ORDER_OF_ADDITIONS};
use crate::ir::walk;
use crate::ir::{
    CollectiveOp, Expr, Function, FunctionId, LocalId, Module, Place, PlaceKind, Stmt, StmtKind, Storage, Type, Unread,
};
use crate::rules::adds_at_once;
use crate::source::Span;

/// The way out where streams meet.
const STREAMS: &str =
    "use the array in one stream, or let one stream wait for the other, or leave out `--deterministic`";

/// Refuses a function that is itself not deterministic.
///
/// # Errors
/// Atomics of floating numbers, atomics whose result is used, and code that is not read.
pub(super) fn refuse_own_order(module: &Module, function: FunctionId) -> Result<(), Vec<Diagnostic>> {
    let mut found = Vec::new();
    for id in reached(module, &[function]) {
        let function = &module.functions[id];
        walk::each_stmt(&function.body, &mut |stmt| found.extend(own_order(function, stmt)));
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// What a statement of the program does in the order in which threads come to it.
fn own_order(function: &Function, stmt: &Stmt) -> Option<Diagnostic> {
    const SUM: &str =
        "let each block store its sum, and add the sums in a second launch, or leave out `--deterministic`";
    const TICKET: &str = "compute from the indices of the thread what the atomic gives, or leave out `--deterministic`";
    const MASK: &str = "name the threads of the mask, or leave out `--deterministic`";
    const UNREAD: &str = "make it a function that can be read, or leave out `--deterministic`";
    let (what, help) = match &stmt.kind {
        StmtKind::Atomic { place, .. } if is_floating(place) => Some(("changes floating numbers atomically", SUM)),
        StmtKind::Atomic { into: Some(_), .. } => Some(("uses what an atomic found", TICKET)),
        StmtKind::Collective { op: CollectiveOp::ActiveMask, .. } => Some(("asks which threads run", MASK)),
        StmtKind::Opaque { code: Unread::Body { .. }, .. } => Some(("has a body that is not read", UNREAD)),
        StmtKind::Opaque { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Declare { .. }
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
        | StmtKind::Collective { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. } => None,
    }?;
    let message = format!("`{}` is not deterministic itself: it {what}", function.name);
    let label = "the function's own, in the order in which threads come";
    Some(Diagnostic::new(ORDER_OF_ADDITIONS, stmt.span, message, label).help(help))
}

/// Refuses a derivative that adds in the order in which threads come, but for what is added later. `asked` is where the function stands.
///
/// # Errors
/// Each statement of the program whose adjoint is added atomically.
pub(super) fn refuse_order(
    module: &Module,
    roots: &[FunctionId],
    deferred: &Deferred,
    asked: Span,
) -> Result<(), Vec<Diagnostic>> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for id in reached(module, roots) {
        let function = &module.functions[id];
        walk::each_stmt(&function.body, &mut |stmt| {
            let is_deferred = |(param, _): &(LocalId, &Expr)| deferred.get(&id).is_some_and(|it| it.contains(param));
            if added_to(stmt).as_ref().is_some_and(is_deferred) {
                return;
            }
            let span = if stmt.span == Span::NONE { asked } else { stmt.span };
            let refused = if let StmtKind::Atomic { place, .. } = &stmt.kind
                && is_floating(place)
            {
                Some(refused(function, stmt, place, span))
            } else if matches!(&stmt.kind, StmtKind::Runtime { call, .. } if adds_at_once(call)) {
                let message = format!("`{}` adds what was copied while other streams add there", function.name);
                let label = "the array is copied beside other streams that read it";
                Some(Diagnostic::new(ORDER_OF_ADDITIONS, span, message, label).help(STREAMS))
            } else {
                // A rule of the user's may do what its function does not.
                own_order(function, stmt)
            };
            found.extend(refused.filter(|refused| !found.contains(refused)));
        });
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}

fn refused(function: &Function, stmt: &Stmt, place: &Place, span: Span) -> Diagnostic {
    const THREADS: &str =
        "let one thread use each element, leave the parameter out of `--wrt`, or leave out `--deterministic`";
    let variable = root(place);
    let name = variable.map_or("an adjoint", |variable| function.local_name(variable));
    let is_shared = variable.is_some_and(|variable| function.locals[variable].storage != Storage::Private);
    let message = format!("`{}` adds to `{name}` in the order in which threads come", function.name);
    let (label, help) = if stmt.note.as_deref().is_some_and(|note| note.starts_with(OTHER_STREAMS)) {
        ("other streams use this array at the same time", STREAMS)
    } else if is_shared {
        ("threads of a block use one element here", THREADS)
    } else {
        ("threads use one element here", THREADS)
    };
    Diagnostic::new(ORDER_OF_ADDITIONS, span, message, label).help(help)
}

/// Functions with all that they call and launch.
pub(super) fn reached(module: &Module, roots: &[FunctionId]) -> BTreeSet<FunctionId> {
    let mut reached: BTreeSet<FunctionId> = BTreeSet::new();
    let mut open = roots.to_vec();
    while let Some(id) = open.pop() {
        if reached.insert(id) {
            walk::each_stmt(&module.functions[id].body, &mut |stmt| {
                open.extend(stmt.called().map(|called| called.function));
            });
        }
    }
    reached
}

fn is_floating(place: &Place) -> bool {
    match place.ty {
        Type::Float(_) => true,
        // Two numbers of half precision.
        Type::Record(_) => true,
        Type::Void | Type::Bool | Type::Int(_) | Type::Pointer(_) | Type::Array(..) | Type::Opaque(_) => false,
    }
}

/// The variable by which a place is reached.
fn root(place: &Place) -> Option<LocalId> {
    match &place.kind {
        PlaceKind::Local(local) => Some(*local),
        PlaceKind::Global(_) => None,
        PlaceKind::Field(base, _) | PlaceKind::Index(base, _) => root(base),
        PlaceKind::Element(pointer, _) => {
            let mut found = None;
            walk::loads_any(pointer, &mut |place| {
                found = found.or(place.as_local());
                found.is_some()
            });
            found
        }
    }
}

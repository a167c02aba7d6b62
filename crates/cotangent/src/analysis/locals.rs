//! How the local variables of a function are used: which values they get, and whether a pointer may change them.
//!
//! Most locals get one value and keep it. What is known about such a value where it is computed is known wherever the
//! local is mentioned.

use std::ops::ControlFlow;

use crate::index::IdVec;
use crate::ir::walk::{self, Node, own_variable};
use crate::ir::{Expr, ExprKind, Function, LocalId, Place, PlaceKind, StmtKind, Storage, Type};

/// How one local is used.
#[derive(Clone, Default, Debug)]
pub struct LocalUses<'f> {
    /// It is a parameter, or counts a loop.
    pub is_given: bool,
    /// The values that it is declared with, counts from or is assigned.
    pub values: Vec<&'f Expr>,
    /// Statements assign it, apart from its declaration.
    pub is_assigned: bool,
    /// It gets values that are not known, or parts of it do.
    pub is_changed: bool,
    /// A pointer through which it may be changed exists.
    pub is_exposed: bool,
}

/// How each local is used.
pub type Locals<'f> = IdVec<LocalId, LocalUses<'f>>;

impl<'f> LocalUses<'f> {
    /// Whether it has one value for as long as it lives.
    pub fn is_constant(&self) -> bool {
        !self.is_assigned && !self.is_changed && !self.is_exposed && (self.is_given || self.values.len() == 1)
    }

    /// That value, of a local that is neither a parameter nor a counter.
    pub fn constant(&self) -> Option<&'f Expr> {
        if self.is_constant() && !self.is_given { self.values.first().copied() } else { None }
    }
}

/// Finds how each local of a function is used.
pub fn locals(function: &Function) -> Locals<'_> {
    let mut locals: Locals<'_> = function.locals.iter().map(|_| LocalUses::default()).collect();
    for &param in &function.params {
        locals[param].is_given = true;
    }
    walk::each_stmt(&function.body, &mut |stmt| {
        match &stmt.kind {
            StmtKind::Declare { local, init: Some(init) } => locals[*local].values.push(init),
            // A variable that two loops or declarations share is no constant; valid modules have none.
            StmtKind::For(for_loop) => {
                locals[for_loop.counter].is_given = true;
                locals[for_loop.counter].values.push(&for_loop.from);
            }
            StmtKind::Assign { place: Place { kind: PlaceKind::Local(local), .. }, value } => {
                locals[*local].values.push(value);
                locals[*local].is_assigned = true;
            }
            StmtKind::Declare { init: None, .. }
            | StmtKind::If { .. }
            | StmtKind::While { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Launch(_)
            | StmtKind::Push { .. } => {}
            StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::Call { .. }
            | StmtKind::Barrier { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Collective { .. }
            | StmtKind::Runtime { .. }
            | StmtKind::Pop { .. }
            | StmtKind::Opaque { .. } => {
                walk::written_places(stmt)
                    .into_iter()
                    .filter_map(own_variable)
                    .for_each(|local| locals[local].is_changed = true);
            }
        }
    });
    let is_const_kept = keeps_const(function);
    let _ = walk::visit_block(&function.body, &mut |node| {
        if let Node::Expr(Expr { kind: ExprKind::AddressOf(place), ty, .. }) = node
            && let Some(local) = own_variable(place)
            && !(is_read_only(ty) && is_const_kept)
        {
            locals[local].is_exposed = true;
        }
        ControlFlow::<()>::Continue(())
    });
    for (local, entry) in function.locals.entries() {
        locals[local].is_exposed |= entry.storage != Storage::Private;
    }
    locals
}

/// Whether nothing is stored through pointers to `const`: no `const` is cast away.
fn keeps_const(function: &Function) -> bool {
    let mut is_kept = true;
    walk::each_expr(&function.body, &mut |expr| {
        if let ExprKind::Cast(operand) = &expr.kind {
            is_kept &= !is_read_only(&operand.ty) || is_read_only(&expr.ty);
        }
    });
    is_kept
}

fn is_read_only(ty: &Type) -> bool {
    matches!(ty, Type::Pointer(pointer) if pointer.is_const)
}

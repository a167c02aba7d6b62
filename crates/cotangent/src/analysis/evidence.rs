//! Which stores of a derivative show that an element belongs to the thread that stores.
//!
//! The premise is that no two threads store an active value to one element: both would take its adjoint, and the
//! derivative would count it twice. Of other stores nothing is known. Many threads may raise one flag, mark one element
//! as seen, or set it to the same constant, and neither values nor derivatives depend on how many do.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;

use super::activity::{Activity, activity};
use super::affine::Values;
use super::location::Location;
use super::objects::{Base, Object, Objects, objects};
use super::ordering::has_barrier;
use super::race::AdjointParam;
use super::root::Root;
use crate::ir::walk::{self, Node, Part};
use crate::ir::{Expr, ExprKind, LocalId, Place, PlaceKind, Stmt, StmtKind, Storage, Type};

/// The stores of active values to memory that has an adjoint, and the clearings of adjoints that go with such stores.
pub(super) fn evidence(values: &Values<'_>, adjoints: &[AdjointParam]) -> HashSet<*const Stmt> {
    let function = values.function;
    let params = adjoints.iter().map(|param| param.primal).filter(|primal| function.params.contains(primal));
    let named: Vec<LocalId> = params.collect();
    let objects = objects(values.module, function);
    let activity = activity(values.module, &objects, &function.body, &named);
    let mut stores = Stores {
        values,
        objects: &objects,
        activity: &activity,
        constants: BTreeSet::new(),
        active: HashSet::new(),
        stored: BTreeSet::new(),
        shown: BTreeSet::new(),
        primals: adjoints.iter().map(|param| param.primal).collect(),
    };
    stores.block(&function.body);
    let Stores { mut active, stored, shown, .. } = stores;
    // Where the stores are there too, they tell which clearings go with active ones.
    let is_meant = |cleared: &Location| {
        let is_adjoint = |param: &&AdjointParam| {
            cleared.root == Root::Param(param.adjoint) || cleared.root == Root::Shared(param.adjoint)
        };
        let primal = adjoints.iter().find(is_adjoint).map(|param| param.primal);
        primal.is_none_or(|primal| !stored.contains(&primal) || shown.contains(&primal))
    };
    add_clearings(values, &is_meant, &function.body, &mut active);
    active
}

/// Finds the stores of active values, statement after statement: a variable may hold a constant now and an active value
/// later.
struct Stores<'a> {
    values: &'a Values<'a>,
    objects: &'a Objects<'a>,
    activity: &'a Activity,
    /// The variables of the thread that hold constants at the statement that is looked at.
    constants: BTreeSet<LocalId>,
    active: HashSet<*const Stmt>,
    /// The variables and parameters to whose memory there are stores, and those with active ones.
    stored: BTreeSet<LocalId>,
    shown: BTreeSet<LocalId>,
    primals: BTreeSet<LocalId>,
}

impl Stores<'_> {
    fn block(&mut self, block: &[Stmt]) {
        block.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Declare { local, init } => {
                let is_active = init.as_ref().is_some_and(|init| self.is_active(init));
                self.set(*local, is_active);
            }
            StmtKind::Assign { place, value } => {
                let is_active = self.is_active(value);
                self.store(stmt, place, is_active);
            }
            StmtKind::Call { into: Some(place), args, .. } => {
                let leads_to = |arg: &Expr| self.objects.reachable(arg).iter().any(|it| self.activity.is_varied(it));
                let is_active = args.iter().any(|arg| self.is_active(arg) || leads_to(arg));
                self.store(stmt, place, is_active);
            }
            StmtKind::If { then_block, else_block, .. } => {
                let before = self.constants.clone();
                self.block(then_block);
                let after = std::mem::replace(&mut self.constants, before);
                self.block(else_block);
                self.constants.retain(|local| after.contains(local));
            }
            // Iterations, and cases that fall through: until nothing new is found at the beginning.
            StmtKind::For(_) | StmtKind::While { .. } | StmtKind::Switch { .. } => loop {
                let before = self.constants.clone();
                let _ = walk::stmt_parts(stmt, &mut |part| {
                    if let Part::Block(inner) = part {
                        self.block(inner);
                        self.constants.retain(|local| before.contains(local));
                    }
                    ControlFlow::<()>::Continue(())
                });
                if self.constants == before {
                    break;
                }
            },
            StmtKind::Accumulate { .. }
            | StmtKind::Barrier { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Collective { .. }
            | StmtKind::Runtime { .. }
            | StmtKind::Pop { .. }
            | StmtKind::Opaque { .. } => {
                for local in walk::written_places(stmt).into_iter().filter_map(walk::own_variable) {
                    self.constants.remove(&local);
                }
            }
            StmtKind::Call { into: None, .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Launch(_)
            | StmtKind::Push { .. } => {}
        }
    }

    fn store(&mut self, stmt: &Stmt, place: &Place, is_active: bool) {
        if let PlaceKind::Local(local) = place.kind {
            self.set(local, is_active);
        }
        let found = self.objects.of_place(place);
        let primal = |object: &Object| match object.base {
            Base::Local(local) if self.primals.contains(&local) => Some(local),
            Base::Local(_) | Base::Global(_) | Base::Unread | Base::Unknown => None,
        };
        let primals: Vec<Option<LocalId>> = found.iter().map(primal).collect();
        self.stored.extend(primals.iter().flatten());
        if is_active && !primals.is_empty() && primals.iter().all(Option::is_some) {
            self.shown.extend(primals.iter().flatten());
            self.active.insert(std::ptr::from_ref(stmt));
        }
    }

    /// A variable gets a value. Only numbers of the thread's own that no pointer leads to are followed.
    fn set(&mut self, local: LocalId, is_active: bool) {
        let entry = &self.values.function.locals[local];
        let is_followed = matches!(entry.ty, Type::Float(_))
            && entry.storage == Storage::Private
            && !self.values.locals[local].is_exposed;
        if is_active || !is_followed {
            self.constants.remove(&local);
        } else {
            self.constants.insert(local);
        }
    }

    fn is_active(&self, value: &Expr) -> bool {
        let is_constant = |object: &Object| object.as_local().is_some_and(|local| self.constants.contains(&local));
        self.activity.is_varied_value_but_for(self.objects, value, &is_constant)
    }
}

/// The reverse of a store of an active value reads the adjoint of what was stored to, and then clears it.
fn add_clearings(
    values: &Values<'_>,
    is_meant: &impl Fn(&Location) -> bool,
    block: &[Stmt],
    found: &mut HashSet<*const Stmt>,
) {
    let mut read: Vec<Location> = Vec::new();
    for stmt in block {
        if let StmtKind::Assign { place, value } = &stmt.kind
            && matches!(value.kind, ExprKind::Float(_))
            && let Some(cleared) = values.location(place)
            && is_meant(&cleared)
            && read.iter().any(|read| holds(read, &cleared))
        {
            found.insert(std::ptr::from_ref(stmt));
        }
        if has_barrier(std::slice::from_ref(stmt)) {
            read.clear();
        }
        let _ = walk::visit_block(std::slice::from_ref(stmt), &mut |node| {
            if let Node::Expr(Expr { kind: ExprKind::Load(place), .. }) = node
                && !matches!(place.kind, PlaceKind::Local(_))
            {
                read.extend(values.location(place));
            }
            ControlFlow::<()>::Continue(())
        });
        let _ = walk::stmt_parts(stmt, &mut |part| {
            if let Part::Block(inner) = part {
                add_clearings(values, is_meant, inner, found);
            }
            ControlFlow::<()>::Continue(())
        });
    }
}

/// Whether a location is another one, or a part of it.
fn holds(whole: &Location, part: &Location) -> bool {
    (whole.root, &whole.path, &whole.index) == (part.root, &part.path, &part.index)
        && part.tail.starts_with(&whole.tail)
}

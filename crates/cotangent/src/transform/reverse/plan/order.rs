//! Whether the iterations of a reverse loop may run in any order.
//!
//! They may if they only add to adjoints that outlive them, and read none that they add to, but for elements that no other
//! iteration touches. What a pointer to adjoints
//! points to is asked of the pointer that it follows: two pointers may lead to one adjoint.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::Values;
use super::loops::Loop;
use crate::analysis::Object;
use crate::ir::walk::{self, Node, own_variable};
use crate::ir::{Block, Expr, ExprKind, LocalId, Place, PlaceKind, StmtKind};
use crate::transform::Fact;

/// The variables that a place is reached from, whatever way.
fn mentioned(place: &Place) -> BTreeSet<LocalId> {
    let mut found = BTreeSet::new();
    let _ = walk::visit_place(place, &mut |node| {
        if let Node::Place(Place { kind: PlaceKind::Local(local), .. }) = node {
            found.insert(*local);
        }
        ControlFlow::<()>::Continue(())
    });
    found
}

impl Values<'_> {
    /// Whether the adjoints of an iteration commute with those of another.
    pub(in crate::transform::reverse) fn is_order_free(&self, adjoints: &Block, it: &Loop<'_>) -> bool {
        let owned = self.own_elements(adjoints, it);
        let outlives = |object: &Object| {
            object.as_local().is_none_or(|local| !it.declared.contains(&local)) && !owned.contains(object)
        };
        let mut is_free = true;
        let (mut added, mut read) = (BTreeSet::new(), BTreeSet::new());
        walk::each_stmt(adjoints, &mut |stmt| match &stmt.kind {
            StmtKind::Assign { place, .. } => {
                is_free &= self.is_known(place) && !self.shadowed(place).iter().any(outlives);
            }
            StmtKind::Accumulate { place, .. } => {
                is_free &= self.is_known(place);
                added.extend(self.shadowed(place));
            }
            // Kernels and the runtime read and overwrite adjoints, which their arguments do not tell.
            StmtKind::Pop { .. } | StmtKind::Launch(_) | StmtKind::Runtime { .. } => is_free = false,
            StmtKind::Call { function, args, .. } => {
                is_free &= !self.vars.facts.may_overwrite(*function);
                let pointers = args.iter().filter(|arg| arg.ty.is_pointer());
                pointers.for_each(|arg| added.extend(self.shadowed_behind(&self.vars.reads(arg))));
            }
            // Others read this thread's adjoints, or it theirs.
            StmtKind::Barrier { .. } | StmtKind::Atomic { .. } | StmtKind::Collective { .. } => is_free = false,
            StmtKind::Opaque { .. } | StmtKind::Push { .. } | StmtKind::Return(_) => is_free = false,
            StmtKind::Declare { .. }
            | StmtKind::If { .. }
            | StmtKind::For(_)
            | StmtKind::While { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue => {}
        });
        let _ = walk::visit_block(adjoints, &mut |node| {
            if let Node::Expr(Expr { kind: ExprKind::Load(place), ty, .. }) = node
                && !ty.is_pointer()
            {
                read.extend(self.shadowed(place));
            }
            ControlFlow::<()>::Continue(())
        });
        let commutes = is_free
            && added.iter().filter(|object| outlives(object)).all(|object| !read.iter().any(|it| it.overlaps(object)));
        self.vars.facts.trust.answer(Fact::Order, false, commutes)
    }

    /// Whether a place is a variable, or is reached from adjoints. Memory of the primal program is neither: it is written
    /// where stores are taken back.
    fn is_known(&self, place: &Place) -> bool {
        own_variable(place).is_some() || !self.shadowed(place).is_empty()
    }

    /// The objects of the primal program whose adjoints a place may be; none for what is no adjoint.
    pub(super) fn shadowed(&self, place: &Place) -> BTreeSet<Object> {
        if let Some(local) = own_variable(place) {
            return self.vars.primal_of(local).map(Object::local).into_iter().collect();
        }
        self.shadowed_behind(&mentioned(place))
    }

    /// The objects whose adjoints may be reached from any variable that a pointer or a place mentions.
    pub(super) fn shadowed_behind(&self, mentioned: &BTreeSet<LocalId>) -> BTreeSet<Object> {
        let mut objects = BTreeSet::new();
        for primal in mentioned.iter().filter_map(|local| self.vars.primal_of(*local)) {
            let load = Expr::load(Place::local(primal, self.vars.facts.primal.locals[primal].ty.clone()));
            objects.extend(self.vars.facts.objects.reachable(&load));
            objects.insert(Object::local(primal));
        }
        objects
    }
}

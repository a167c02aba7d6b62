//! What a host function allocates and makes, and how large that is.
//!
//! *Known size.* Let all arrays that a pointer may be into have been allocated with one size, made of variables that keep the
//! value they are given first, and let the pointer always be at the beginning of an array. Then it has that many bytes
//! before it, whenever it is read.

use std::collections::BTreeSet;

use super::super::frames::Frames;
use super::Facts;
use super::beginnings::beginnings;
use crate::analysis::{Base, Object, Step, allocated};
use crate::ir::walk::{self, Node};
use crate::ir::{Block, Expr, LocalId, Place, PlaceKind, Stmt, StmtKind};
use crate::rules::{RuntimeClass, runtime_class};
use crate::source::Span;
use crate::transform::Fact;
use crate::transform::locals::without_spans;

/// Whether every way through a block frees what is meant.
fn always_frees(block: &Block, is_meant: &dyn Fn(&Expr) -> bool) -> bool {
    block.iter().any(|stmt| match &stmt.kind {
        StmtKind::Runtime { call, args, .. } => {
            matches!(runtime_class(call), Some(RuntimeClass::Free { .. })) && args.first().is_some_and(is_meant)
        }
        StmtKind::If { then_block, else_block, .. } => {
            always_frees(then_block, is_meant) && always_frees(else_block, is_meant)
        }
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
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
        | StmtKind::Opaque { .. } => false,
    })
}

/// The block and all blocks inside.
fn blocks(block: &Block) -> Vec<&Block> {
    let mut found = vec![block];
    for stmt in block {
        let _ = walk::stmt_parts(stmt, &mut |part| {
            if let walk::Part::Block(inner) = part {
                found.extend(blocks(inner));
            }
            std::ops::ControlFlow::<()>::Continue(())
        });
    }
    found
}

/// The variable that a pointer is the value of.
pub(in crate::transform::reverse) fn variable(pointer: &Expr) -> Option<LocalId> {
    pointer.uncast_pointer().as_local()
}

impl Facts<'_> {
    /// The size of the array that an argument points to the beginning of, if all arrays that it may be were allocated
    /// with that size.
    pub(in crate::transform::reverse) fn known_bytes(&self, arg: &Expr, frames: &Frames) -> Option<Expr> {
        self.primal.locals.get(variable(arg)?)?.ty.pointee()?;
        let mut found: Option<Expr> = None;
        for target in self.objects.targets(arg) {
            let Object { base: Base::Local(owner), path } = target else { return None };
            if path.as_slice() != [Step::Deref] || self.primal.params.contains(&owner) {
                return None;
            }
            for bytes in self.allocated(owner, frames)? {
                if found.as_ref().is_some_and(|known| *known != bytes) {
                    return None;
                }
                found = Some(bytes);
            }
        }
        let is_beginning = beginnings(self.module, self.primal, &self.locals.address_taken).is_beginning(arg);
        found.filter(|_| self.trust.answer(Fact::Size, false, is_beginning))
    }

    /// The sizes of all that is allocated for a variable; none if one of them may change.
    fn allocated(&self, owner: LocalId, frames: &Frames) -> Option<Vec<Expr>> {
        let mut found = Vec::new();
        walk::each_stmt(&self.primal.body, &mut |stmt| {
            if let StmtKind::Runtime { call, args, into: Some(into) } = &stmt.kind
                && matches!(runtime_class(call), Some(RuntimeClass::Memory { .. }))
                && into.kind == PlaceKind::Local(owner)
            {
                found.push(args.first().cloned());
            }
        });
        let stable = |bytes: Option<Expr>| {
            bytes.filter(|bytes| self.is_settled(bytes, frames)).map(|bytes| without_spans(&bytes))
        };
        found.into_iter().map(stable).collect()
    }

    /// Whether a value is made of variables that keep the value they are given first.
    fn is_settled(&self, value: &Expr, frames: &Frames) -> bool {
        walk::visit_expr(value, &mut |node| match node {
            Node::Place(Place { kind: PlaceKind::Local(local), .. }) => {
                let writes = self.locals.write_counts.get(local).copied().unwrap_or(0);
                let most = if self.primal.params.contains(local) { 0 } else { 1 };
                let is_in_loop = frames.is_of_iteration(*local);
                let is_settled = writes <= most && !self.locals.address_taken.contains(local) && !is_in_loop;
                if is_settled { std::ops::ControlFlow::Continue(()) } else { std::ops::ControlFlow::Break(()) }
            }
            Node::Place(_) => std::ops::ControlFlow::Break(()),
            Node::Expr(_) | Node::Stmt(_) => std::ops::ControlFlow::Continue(()),
        })
        .is_continue()
    }

    /// What the reverse sweep frees where it comes to the allocation: all that is freed on every way to the end of the
    /// block that allocates it, and nowhere else.
    pub(in crate::transform::reverse) fn freed_here(&self) -> BTreeSet<Object> {
        let (mut here, mut elsewhere) = (BTreeSet::new(), BTreeSet::new());
        walk::each_stmt(&self.primal.body, &mut |stmt| {
            if let StmtKind::Runtime { call, args, .. } = &stmt.kind
                && let Some(RuntimeClass::Free { later }) = runtime_class(call)
                && let Some(pointer) = args.first()
            {
                let is_here = later.is_none() || self.is_freed_with_its_block(pointer);
                let objects = if is_here { &mut here } else { &mut elsewhere };
                objects.extend(self.objects.targets(pointer));
            }
        });
        &here - &elsewhere
    }

    /// Where memory is allocated that the reverse sweep does not free where it comes by.
    pub(in crate::transform::reverse) fn kept_allocations(&self) -> Vec<Span> {
        let freed = self.freed_here();
        let mut found = Vec::new();
        walk::each_stmt(&self.primal.body, &mut |stmt| {
            if let StmtKind::Runtime { call, into: Some(into), .. } = &stmt.kind
                && matches!(runtime_class(call), Some(RuntimeClass::Memory { .. }))
                && !self.objects.targets(&Expr::load(into.clone())).is_subset(&freed)
            {
                found.push(stmt.span);
            }
        });
        found
    }

    /// Whether the block that allocates what a pointer points to always frees it.
    fn is_freed_with_its_block(&self, pointer: &Expr) -> bool {
        let freed = self.objects.targets(pointer);
        let is_meant = |pointer: &Expr| !self.objects.targets(pointer).is_disjoint(&freed);
        let is_allocation = |stmt: &Stmt| {
            let StmtKind::Runtime { call, into: Some(into), .. } = &stmt.kind else { return false };
            matches!(runtime_class(call), Some(RuntimeClass::Memory { .. })) && is_meant(&Expr::load(into.clone()))
        };
        let blocks = blocks(&self.primal.body);
        blocks.iter().any(|block| block.iter().any(is_allocation) && always_frees(block, &is_meant))
    }

    /// The memory that the function allocates.
    pub(in crate::transform::reverse) fn allocated_objects(&self) -> BTreeSet<Object> {
        allocated(self.objects, &self.primal.body)
    }

    pub(in crate::transform::reverse) fn is_destroyed(&self, handle: &Place) -> bool {
        let ends = |class: RuntimeClass| class == RuntimeClass::Destroy;
        self.has_call(&ends, &|arg| arg.as_load().is_some_and(|place| place.kind == handle.kind))
    }

    pub(in crate::transform::reverse) fn is_created(&self, handle: &Place) -> bool {
        let makes = |arg: &Expr| arg.as_address().is_some_and(|place| place.kind == handle.kind);
        self.has_call(&|class| matches!(class, RuntimeClass::Create { .. }), &makes)
    }

    /// Whether some call of a class has a first argument of that kind.
    fn has_call(&self, is_of_class: &dyn Fn(RuntimeClass) -> bool, is_meant: &dyn Fn(&Expr) -> bool) -> bool {
        let mut found = false;
        walk::each_stmt(&self.primal.body, &mut |stmt| {
            if let StmtKind::Runtime { call, args, .. } = &stmt.kind {
                found |= runtime_class(call).is_some_and(is_of_class) && args.first().is_some_and(is_meant);
            }
        });
        found
    }
}

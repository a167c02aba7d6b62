//! Blocks: the sweeps of their statements, one after the other and back again.

use std::collections::BTreeSet;

use super::super::rules::Pair;
use super::Assembly;
use super::settle::Kept;
use crate::analysis::{self, Object, carries_floats};
use crate::ir::walk;
use crate::ir::{Block, Expr, Place, PlaceKind, Stmt, StmtKind};
use crate::rules::{RuntimeClass, runtime_class};
use crate::transform::locals::{declare, when};

/// The sweeps of a block, in the order in which their parts stand.
pub(in crate::transform::reverse) struct Sweeps {
    pub(in crate::transform::reverse) forward: Block,
    /// The last statement, if it runs both of its sweeps at once.
    pub(in crate::transform::reverse) joint: Block,
    /// The declarations of adjoints.
    pub(in crate::transform::reverse) adjoints: Block,
    pub(in crate::transform::reverse) reverse: Block,
}

/// The objects that later statements of a frame write. There is one for the frame, which grows from statement to statement: a
/// set for each of them would make long functions slow.
#[derive(Default)]
pub(in crate::transform::reverse) struct Changed {
    objects: BTreeSet<Object>,
    /// The same in the order in which they came, so that a block leaves no more than it found.
    added: Vec<Object>,
}

impl Changed {
    fn grow(&mut self, written: BTreeSet<Object>) {
        for object in written {
            if self.objects.insert(object.clone()) {
                self.added.push(object);
            }
        }
    }

    fn shrink_to(&mut self, length: usize) {
        for object in self.added.drain(length..) {
            self.objects.remove(&object);
        }
    }
}

/// Whether the reverse of a statement is about what the statement yields: memory, a stream.
fn is_of_result(stmt: &Stmt) -> bool {
    let StmtKind::Runtime { call, .. } = &stmt.kind else { return false };
    matches!(runtime_class(call), Some(RuntimeClass::Memory { .. } | RuntimeClass::Create { .. }))
}

impl Assembly<'_> {
    /// Both sweeps of a block. `changed` are the objects that later statements of the frame write. A joint block is the
    /// last that its frame runs: an `if` at its end runs both of its sweeps at once.
    pub(in crate::transform::reverse) fn block(
        &mut self,
        block: &[Stmt],
        changed: &mut Changed,
        is_joint: bool,
    ) -> Pair {
        let Sweeps { forward, joint, adjoints, reverse } = self.sweeps(block, changed, is_joint);
        if is_joint {
            return Pair { forward: [forward, adjoints, joint].concat(), reverse };
        }
        Pair { forward, reverse: [adjoints, reverse].concat() }
    }

    /// The sweeps of a block in parts.
    pub(in crate::transform::reverse) fn sweeps(
        &mut self,
        block: &[Stmt],
        changed: &mut Changed,
        is_joint: bool,
    ) -> Sweeps {
        let outside = changed.added.len();
        let mut forward_parts = Vec::new();
        let mut reverse = Block::new();
        for (position, stmt) in block.iter().enumerate().rev() {
            let is_last = position + 1 == block.len();
            let pair = self.stmt(stmt, changed, is_joint && is_last);
            forward_parts.push(pair.forward);
            reverse.extend(pair.reverse);
        }
        changed.shrink_to(outside);
        let joint = if is_joint && !forward_parts.is_empty() { forward_parts.remove(0) } else { Block::new() };
        let forward = forward_parts.into_iter().rev().flatten().collect();
        let mut adjoints = Block::new();
        for stmt in block {
            if let StmtKind::Declare { local, .. } = stmt.kind
                && let Some(Place { kind: PlaceKind::Local(shadow), ty, .. }) = self.rules.vars.shadows.local(local)
                && carries_floats(self.rules.facts.module, ty)
                && !analysis::uses_memory(self.rules.facts.module, ty)
                && !self.rules.facts.locals.address_taken.contains(&local)
                && !self.rules.vars.is_shared(local)
            {
                adjoints.push(self.rules.vars.declare_zero(*shadow));
            }
        }
        Sweeps { forward, joint, adjoints, reverse }
    }

    /// `changed` are the objects that later statements write; afterwards, this one's too.
    fn stmt(&mut self, stmt: &Stmt, changed: &mut Changed, is_joint: bool) -> Pair {
        let mut kept = Kept::default();
        let written = analysis::written(self.rules.facts.objects, std::slice::from_ref(stmt));
        let mut pair = match &stmt.kind {
            StmtKind::If { cond, then_block, else_block } if is_joint => {
                let join = |pair: Pair| [pair.forward, pair.reverse].concat();
                self.rules.frames.enter_branch();
                let then_block = join(self.block(then_block, &mut Changed::default(), true));
                let else_block = join(self.block(else_block, &mut Changed::default(), true));
                self.rules.frames.leave_branch();
                changed.grow(written);
                let kind = StmtKind::If { cond: cond.clone(), then_block, else_block };
                return Pair { forward: vec![Stmt::new(kind).at(stmt.span)], reverse: Block::new() };
            }
            StmtKind::If { cond, then_block, else_block } => {
                self.rules.frames.enter_branch();
                let then_pair = self.block(then_block, changed, false);
                let else_pair = self.block(else_block, changed, false);
                self.rules.frames.leave_branch();
                changed.grow(written);
                return self.branches(stmt, cond, [then_pair, else_pair], &changed.objects, kept);
            }
            StmtKind::For(head) if let Some(sum) = self.rules.shuffled_sum(stmt, head) => sum,
            StmtKind::For(head) => {
                changed.grow(written);
                return self.any_loop(stmt, &head.body, Some(head), &changed.objects);
            }
            StmtKind::While { body, .. } => {
                changed.grow(written);
                return self.any_loop(stmt, body, None, &changed.objects);
            }
            StmtKind::Launch(launch) => self.launch(stmt, launch, &changed.objects),
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Call { .. }
            | StmtKind::Runtime { .. }
            | StmtKind::Barrier { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Collective { .. }
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. }
            | StmtKind::Opaque { .. } => self.rules.statement(stmt),
        };
        let taken_back = self.rules.taken_back(stmt);
        if is_of_result(stmt) {
            self.settle(&mut pair.reverse, &changed.objects, &mut kept);
            changed.grow(written);
            pair.forward.extend(kept.declarations);
        } else {
            changed.grow(written);
            kept.is_put_back = true;
            self.settle(&mut pair.reverse, &changed.objects, &mut kept);
            for place in taken_back {
                self.put_back(place, &changed.objects, &mut kept, &mut pair.reverse);
            }
            pair.forward.splice(0..0, kept.declarations);
        }
        pair
    }

    /// An `if` whose sweeps are apart: variables that both need move in front of it.
    fn branches(
        &mut self,
        stmt: &Stmt,
        cond: &Expr,
        [mut then_pair, mut else_pair]: [Pair; 2],
        here: &BTreeSet<Object>,
        mut kept: Kept,
    ) -> Pair {
        let mut forward = Block::new();
        let has_reverse = !then_pair.reverse.is_empty() || !else_pair.reverse.is_empty();
        let reverse_cond = if has_reverse { self.settle_condition(cond, here, &mut kept) } else { cond.clone() };
        let is_kept = reverse_cond != *cond;
        forward.append(&mut kept.declarations);
        self.hoist(&mut then_pair, &mut forward);
        self.hoist(&mut else_pair, &mut forward);
        let cond = if is_kept { reverse_cond.clone() } else { cond.clone() };
        let kind = StmtKind::If { cond, then_block: then_pair.forward, else_block: else_pair.forward };
        forward.push(Stmt::new(kind).at(stmt.span));
        let reverse = when(reverse_cond, then_pair.reverse, else_pair.reverse);
        Pair { forward, reverse: reverse.into_iter().map(|reverse| reverse.at(stmt.span)).collect() }
    }

    /// Moves the declarations that the reverse sweep of a branch mentions in front of the branch.
    fn hoist(&mut self, pair: &mut Pair, outside: &mut Block) {
        let mut block = Block::new();
        let mut mentioned = BTreeSet::new();
        walk::each_place(&pair.reverse, &mut |place| mentioned.extend(place.as_local()));
        for stmt in std::mem::take(&mut pair.forward) {
            let StmtKind::Declare { local, init } = &stmt.kind else {
                block.push(stmt);
                continue;
            };
            if !mentioned.contains(local) {
                block.push(stmt);
                continue;
            }
            outside.push(declare(*local, None).at(stmt.span));
            if let Some(init) = init {
                let place = Place::local(*local, self.rules.vars.function.locals[*local].ty.clone());
                self.rules.vars.assign_leaves(place, init.clone(), &mut block);
            }
        }
        pair.forward = block;
    }
}

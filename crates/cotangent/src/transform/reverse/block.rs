//! Statements: what each becomes in the forward sweep and in the reverse sweep.

use std::collections::BTreeSet;

use super::super::locals::{aggregate, assign, declare, mentions, same_place};
use super::expr::{constant, seed_in, when};
use super::function::{Ctx, Pair};
use super::stable::Kept;
use crate::analysis::{self, Object, carries_floats};
use crate::diagnostic::{Diagnostic, UNKNOWN_POINTER};
use crate::ir::walk::{self, Node, own_variable};
use crate::ir::{BinaryOp, Block, Expr, ExprKind, LocalId, Place, PlaceKind, Stmt, StmtKind, Type, UnaryOp};
use crate::rules::{RuntimeClass, runtime_class};
use crate::source::Span;

/// The sweeps of a block, in the order in which their parts stand.
pub(super) struct Sweeps {
    pub(super) forward: Block,
    /// The last statement, if it runs both of its sweeps at once.
    pub(super) joint: Block,
    /// The declarations of adjoints.
    pub(super) adjoints: Block,
    pub(super) reverse: Block,
}

impl Ctx<'_> {
    /// Both sweeps of a block. `changed` are the objects that later statements of the frame write. A joint block is the
    /// last that its frame runs: an `if` at its end runs both of its sweeps at once.
    pub(super) fn block(&mut self, block: &[Stmt], changed: &BTreeSet<Object>, is_joint: bool) -> Pair {
        let Sweeps { forward, joint, adjoints, reverse } = self.sweeps(block, changed, is_joint);
        if is_joint {
            return Pair { forward: [forward, adjoints, joint].concat(), reverse };
        }
        Pair { forward, reverse: [adjoints, reverse].concat() }
    }

    /// The sweeps of a block in parts.
    pub(super) fn sweeps(&mut self, block: &[Stmt], changed: &BTreeSet<Object>, is_joint: bool) -> Sweeps {
        let mut changed = changed.clone();
        let mut forward_parts = Vec::new();
        let mut reverse = Block::new();
        for (position, stmt) in block.iter().enumerate().rev() {
            let is_last = position + 1 == block.len();
            let written = analysis::written(self.objects, std::slice::from_ref(stmt));
            let here: BTreeSet<Object> = changed.union(&written).cloned().collect();
            let pair = self.stmt(stmt, &changed, &here, is_joint && is_last);
            forward_parts.push(pair.forward);
            reverse.extend(pair.reverse);
            changed = here;
        }
        let joint = if is_joint && !forward_parts.is_empty() { forward_parts.remove(0) } else { Block::new() };
        let forward = forward_parts.into_iter().rev().flatten().collect();
        let mut adjoints = Block::new();
        for stmt in block {
            if let StmtKind::Declare { local, .. } = stmt.kind
                && let Some(Place { kind: PlaceKind::Local(shadow), ty, .. }) = self.shadows.local(local)
                && carries_floats(self.module, ty)
                && !analysis::uses_memory(self.module, ty)
                && !self.address_taken.contains(&local)
                && !self.is_shared(local)
            {
                adjoints.push(self.declare_zero(*shadow));
            }
        }
        Sweeps { forward, joint, adjoints, reverse }
    }

    /// `later` are the objects that later statements write, `here` includes this one.
    fn stmt(&mut self, stmt: &Stmt, later: &BTreeSet<Object>, here: &BTreeSet<Object>, is_joint: bool) -> Pair {
        let mut kept = Kept::default();
        let mut pair = match &stmt.kind {
            StmtKind::Declare { local, init } => self.declare(stmt, *local, init.as_ref()),
            StmtKind::Assign { place, value } => self.assign(stmt, place, value),
            StmtKind::If { cond, then_block, else_block } if is_joint => {
                let none = BTreeSet::new();
                let join = |pair: Pair| [pair.forward, pair.reverse].concat();
                let then_block = join(self.block(then_block, &none, true));
                let else_block = join(self.block(else_block, &none, true));
                let kind = StmtKind::If { cond: cond.clone(), then_block, else_block };
                return Pair { forward: vec![Stmt::new(kind).at(stmt.span)], reverse: Block::new() };
            }
            StmtKind::If { cond, then_block, else_block } => {
                let then_pair = self.block(then_block, later, false);
                let else_pair = self.block(else_block, later, false);
                return self.branches(stmt, cond, [then_pair, else_pair], here, kept);
            }
            StmtKind::For(head) if let Some(sum) = self.shuffled_sum(stmt, head) => sum,
            StmtKind::For(head) => return self.any_loop(stmt, &head.body, Some(head), here),
            StmtKind::While { body, .. } => return self.any_loop(stmt, body, None, here),
            StmtKind::Call { into, function, args } => self.call(stmt, into.as_ref(), *function, args),
            StmtKind::Launch(launch) => self.launch(stmt, launch, later),
            StmtKind::Runtime { call, args, into } => self.runtime(stmt, call, args, into.as_ref()),
            StmtKind::Barrier { kind, argument, .. } => self.barrier(stmt, *kind, argument.as_ref()),
            StmtKind::Atomic { op, place, value, into, .. } => self.atomic(stmt, *op, place, value, into.as_ref()),
            StmtKind::Collective { op, mask, args, into } => {
                self.collective(stmt, *op, mask.as_ref(), args, into.as_ref())
            }
            StmtKind::Accumulate { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. } => {
                self.contradiction(stmt);
                Pair::default()
            }
            StmtKind::Opaque { .. } => Pair { forward: vec![stmt.clone()], reverse: Block::new() },
        };
        self.take_back(stmt, &mut pair.reverse);
        if is_of_result(stmt) {
            self.settle(&mut pair.reverse, later, &mut kept);
            pair.forward.extend(kept.declarations);
        } else {
            self.settle(&mut pair.reverse, here, &mut kept);
            pair.forward.splice(0..0, kept.declarations);
        }
        pair
    }

    fn declare(&mut self, stmt: &Stmt, local: LocalId, init: Option<&Expr>) -> Pair {
        let place = Place::local(local, self.primal.locals[local].ty.clone());
        let mut pair = Pair { forward: vec![stmt.clone()], reverse: Block::new() };
        if !self.has_shadow(local) || self.is_shared(local) {
            return pair;
        }
        if analysis::uses_memory(self.module, &place.ty) {
            let begins_at_zero = carries_floats(self.module, &place.ty).then(|| self.zero(&place.ty));
            let init = init.map(|init| self.shadow_value(init)).or(begins_at_zero);
            if let Some(Place { kind: PlaceKind::Local(shadow), .. }) = self.shadow(&place) {
                pair.forward.push(declare(shadow, init));
            }
        }
        // A pointer to the variable's adjoint is made in the forward sweep.
        if self.address_taken.contains(&local)
            && !analysis::uses_memory(self.module, &place.ty)
            && let Some(Place { kind: PlaceKind::Local(shadow), .. }) = self.shadow(&place)
        {
            pair.forward.push(self.declare_zero(shadow));
        }
        if let (Some(init), true) = (init, carries_floats(self.module, &place.ty))
            && let Some(shadow) = self.shadow(&place)
        {
            if matches!(place.ty, Type::Float(_)) {
                self.adjoint_of_stored(&place, init, seed_in(shadow), &mut pair.reverse);
            } else {
                self.adjoint_of_aggregate(init, &shadow, &mut pair.reverse);
            }
        }
        pair
    }

    /// What a shadow that leads to adjoints begins with: pointers to them, and zeros.
    fn shadow_value(&mut self, value: &Expr) -> Expr {
        let ty = self.shadows.widening.shadow(&value.ty);
        match (&value.ty, &value.kind) {
            (Type::Pointer(_), _) => match self.shadow_pointer(value) {
                Some(shadow) => Expr { ty, ..shadow },
                None => self.zero(&ty),
            },
            (Type::Record(_) | Type::Array(..), ExprKind::Load(place)) => {
                let parts = self.parts(place);
                let operands = parts.into_iter().map(|part| self.shadow_part(&Expr::load(part))).collect();
                aggregate(operands, ty)
            }
            (Type::Record(_) | Type::Array(..), ExprKind::Construct(operands)) => {
                let operands = operands.iter().map(|operand| self.shadow_part(operand)).collect();
                aggregate(operands, ty)
            }
            (Type::Record(_) | Type::Array(..), _) => {
                self.report(hidden_pointer(value.span));
                self.zero(&ty)
            }
            (Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Opaque(_), _) => self.zero(&ty),
        }
    }

    /// The same for a part of an aggregate, which is of the type that the part has in the primal.
    fn shadow_part(&mut self, value: &Expr) -> Expr {
        match &value.ty {
            Type::Pointer(_) => match self.shadow_pointer(value) {
                Some(shadow) => Expr::cast(shadow, value.ty.unrestricted()),
                None => self.zero(&value.ty),
            },
            ty if !analysis::uses_memory(self.module, ty) => self.zero(ty),
            Type::Void
            | Type::Bool
            | Type::Int(_)
            | Type::Float(_)
            | Type::Array(..)
            | Type::Record(_)
            | Type::Opaque(_) => self.shadow_value(value),
        }
    }

    /// The fields of a record, or the elements of an array.
    fn parts(&self, place: &Place) -> Vec<Place> {
        match &place.ty {
            Type::Record(record) => {
                let fields = (0u32..).zip(&self.module.records[*record].fields);
                fields.map(|(position, field)| place.clone().field(position, field.ty.clone())).collect()
            }
            Type::Array(_, length) => (0..*length)
                .map(|index| place.clone().index(Expr::new(ExprKind::Int(i128::from(index)), Type::INT)))
                .collect(),
            Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Pointer(_) | Type::Opaque(_) => Vec::new(),
        }
    }

    /// Whether a store is one that adjoints cannot follow: of a pointer to them into something else than a variable, or
    /// into a parameter whose adjoint is the caller's.
    fn is_hidden_store(&self, place: &Place, value: &Expr) -> bool {
        let leads_on = |ty: &Type| analysis::uses_memory(self.module, ty);
        if leads_on(&place.ty) && !matches!(place.kind, PlaceKind::Local(_) if place.ty.is_pointer()) {
            let reached = self.objects.reachable(value);
            return self.is_active_place(place) || reached.iter().any(|object| self.activity.is_active(object));
        }
        own_variable(place).is_some_and(|local| {
            let ty = &self.primal.locals[local].ty;
            self.primal.params.contains(&local) && !ty.is_pointer() && leads_on(ty) && self.is_active_place(place)
        })
    }

    fn assign(&mut self, stmt: &Stmt, place: &Place, value: &Expr) -> Pair {
        let mut pair = Pair { forward: vec![stmt.clone()], reverse: Block::new() };
        if self.is_hidden_store(place, value) {
            self.report(hidden_pointer(stmt.span));
            return pair;
        }
        if place.ty.is_pointer() {
            if let Some(shadow) = self.shadow_pointer(value)
                && let Some(target) = self.shadow(place)
            {
                let ty = target.ty.clone();
                pair.forward.push(assign(target, Expr { ty, ..shadow }).at(stmt.span));
            }
            return pair;
        }
        if !self.is_active_place(place) {
            return pair;
        }
        let Some(shadow) = self.shadow(place) else { return pair };
        if matches!(place.ty, Type::Float(_)) {
            self.assign_number(stmt, place, value, shadow, &mut pair.reverse);
        } else {
            self.assign_aggregate(place, value, shadow, &mut pair.reverse);
        }
        pair
    }

    fn assign_number(&mut self, stmt: &Stmt, place: &Place, value: &Expr, shadow: Place, out: &mut Block) {
        if let Some((rest, is_minus)) = increment(place, value) {
            // What is added may be of the same array: then the adjoint itself may change on the way.
            let seed = seed_in(shadow);
            let seed = if self.reads_object_of(place, rest) { self.keep("_r", seed, out) } else { seed };
            let seed = if is_minus { Expr::unary(UnaryOp::Negate, seed) } else { seed };
            return self.adjoint(rest, seed, out);
        }
        let zero = assign(shadow.clone(), constant(0.0, &shadow.ty)).at(stmt.span);
        if self.reads_object_of(place, value) {
            let seed = self.keep("_r", seed_in(shadow), out);
            out.push(zero);
            self.adjoint_of_stored(place, value, seed, out);
        } else {
            self.adjoint_of_stored(place, value, seed_in(shadow), out);
            if !self.is_first_value(place) {
                out.push(zero);
            }
        }
    }

    fn assign_aggregate(&mut self, place: &Place, value: &Expr, shadow: Place, out: &mut Block) {
        let seed = if self.reads_object_of(place, value) {
            let local = self.names.add(&mut self.function, "_r", shadow.ty.clone());
            out.push(declare(local, Some(Expr::load(shadow.clone()))));
            self.clear(&shadow, out);
            Place::local(local, shadow.ty.clone())
        } else {
            shadow.clone()
        };
        let is_shadow = seed == shadow;
        self.adjoint_of_aggregate(value, &seed, out);
        if is_shadow && !self.is_first_value(place) {
            self.clear(&shadow, out);
        }
    }

    /// Sets the numbers of an adjoint to zero; pointers in it stay.
    pub(super) fn clear(&self, shadow: &Place, out: &mut Block) {
        for leaf in self.leaves(shadow) {
            let zero = constant(0.0, &leaf.ty);
            out.push(assign(leaf, zero));
        }
    }

    /// Whether a statement that writes `place` gives a variable of this frame its only value, so that its adjoint needs
    /// no clearing.
    pub(super) fn is_first_value(&self, place: &Place) -> bool {
        let PlaceKind::Local(local) = place.kind else { return false };
        let is_inside = self.frames.last().is_none_or(|frame| !frame.is_loop || frame.declared.contains(&local));
        is_inside
            && !self.is_shared(local)
            && self.write_counts.get(&local) == Some(&1)
            && !self.primal.params.contains(&local)
    }

    fn reads_object_of(&self, place: &Place, value: &Expr) -> bool {
        let written = self.objects.of_place(place);
        walk::visit_expr(value, &mut |node| match node {
            Node::Expr(Expr { kind: ExprKind::Load(read), .. })
                if self
                    .objects
                    .of_place(read)
                    .iter()
                    .any(|object| written.iter().any(|other| other.overlaps(object))) =>
            {
                std::ops::ControlFlow::Break(())
            }
            _ => std::ops::ControlFlow::Continue(()),
        })
        .is_break()
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
        Pair { forward, reverse: reverse.into_iter().collect() }
    }

    /// Moves the declarations that the reverse sweep of a branch mentions in front of the branch.
    fn hoist(&mut self, pair: &mut Pair, outside: &mut Block) {
        let mut block = Block::new();
        for stmt in std::mem::take(&mut pair.forward) {
            let StmtKind::Declare { local, init } = &stmt.kind else {
                block.push(stmt);
                continue;
            };
            if !mentions(&pair.reverse, *local) {
                block.push(stmt);
                continue;
            }
            outside.push(declare(*local, None).at(stmt.span));
            if let Some(init) = init {
                let place = Place::local(*local, self.function.locals[*local].ty.clone());
                self.assign_leaves(place, init.clone(), &mut block);
            }
        }
        pair.forward = block;
    }

    /// An assignment; of an array, element by element.
    pub(super) fn assign_leaves(&self, place: Place, value: Expr, out: &mut Block) {
        let Type::Array(element, length) = &place.ty else {
            let value = Expr { ty: place.ty.clone(), ..value };
            out.push(assign(place, value));
            return;
        };
        let ExprKind::Construct(operands) = value.kind else { return };
        let mut operands = operands.into_iter();
        for index in 0..*length {
            let value = operands.next().unwrap_or_else(|| self.zero(element));
            let index = Expr::new(ExprKind::Int(i128::from(index)), Type::INT);
            self.assign_leaves(place.clone().index(index), value, out);
        }
    }
}

/// Whether the reverse of a statement is about what the statement yields: memory, a stream.
fn is_of_result(stmt: &Stmt) -> bool {
    let StmtKind::Runtime { call, .. } = &stmt.kind else { return false };
    matches!(runtime_class(call), Some(RuntimeClass::Memory { .. } | RuntimeClass::Create { .. }))
}

fn hidden_pointer(span: Span) -> Diagnostic {
    let message = "a pointer to active values is kept inside an array or a record that is pointed to";
    Diagnostic::new(UNKNOWN_POINTER, span, message, "no adjoint can be found for it in the reverse sweep")
        .help("keep the pointer in a variable of its own, or in a record that no pointer points to")
}

/// `place + rest`, `rest + place` or `place - rest`: the rest, and whether it is subtracted.
fn increment<'a>(place: &Place, value: &'a Expr) -> Option<(&'a Expr, bool)> {
    let ExprKind::Binary(op, left, right) = &value.kind else { return None };
    let is_place = |expr: &Expr| matches!(&expr.kind, ExprKind::Load(read) if same_place(read, place));
    match op {
        BinaryOp::Add if is_place(left) => Some((right, false)),
        BinaryOp::Add if is_place(right) => Some((left, false)),
        BinaryOp::Subtract if is_place(left) => Some((right, true)),
        _ => None,
    }
}

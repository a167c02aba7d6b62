//! Tangents of statements. The tangent stands before its statement: it sees the same values, and a statement reads no
//! shadow.

use super::exprs::converted;
use super::{Pushforward, parameter_type, shadow_type};
use crate::analysis::carries_floats;
use crate::analysis::effects;
use crate::ir::same::same_place;
use crate::ir::walk;
use crate::ir::{
    AtomicOp, Block, Case, CollectiveOp, Expr, ExprKind, For, FunctionId, LocalId, Place, PlaceKind, RuleKind, Scope,
    Stmt, StmtKind, Storage, Type, Unread,
};
use crate::rules::{self, Partial};
use crate::source::Span;
use crate::transform::refused_views::{self, is_other_view, views};
use crate::transform::shadow::behind_dynamic;
use crate::transform::signatures::writes_active;

impl Pushforward<'_, '_> {
    /// Statements with their tangents.
    pub(super) fn block(&mut self, block: &[Stmt], out: &mut Block) {
        for stmt in block {
            self.stmt(stmt, out);
        }
    }

    fn inner(&mut self, block: &[Stmt]) -> Block {
        let mut out = Block::new();
        self.block(block, &mut out);
        out
    }

    fn stmt(&mut self, stmt: &Stmt, out: &mut Block) {
        self.check_views(stmt);
        let span = stmt.span;
        let same = |kind: StmtKind| Stmt { kind, span, note: stmt.note.clone() };
        match &stmt.kind {
            StmtKind::Declare { local, init } => {
                // Tangents of dynamic shared memory lie behind it.
                let is_dynamic = self.function.locals[*local].storage == Storage::DynamicShared;
                out.extend(is_dynamic.then(|| stmt.clone()));
                self.declare(*local, init.as_ref(), span, out);
                out.extend((!is_dynamic).then(|| stmt.clone()));
            }
            StmtKind::Assign { place, value } => {
                self.assign(place, value, span, out);
                out.push(stmt.clone());
            }
            StmtKind::Accumulate { place, value } => {
                if let (Some(place), Some(value)) = (self.shadows.place(place), self.tangent(value)) {
                    out.push(Stmt::new(StmtKind::Accumulate { place, value }).at(span));
                }
                out.push(stmt.clone());
            }
            StmtKind::Call { into, function, args } => self.call(into.as_ref(), *function, args, stmt, out),
            StmtKind::If { cond, then_block, else_block } => {
                let (then_block, else_block) = (self.inner(then_block), self.inner(else_block));
                out.push(same(StmtKind::If { cond: cond.clone(), then_block, else_block }));
            }
            StmtKind::For(counted) => self.counted(counted, stmt, out),
            StmtKind::While { cond, body, test } => {
                self.steps.push(Block::new());
                let body = self.inner(body);
                self.steps.pop();
                out.push(same(StmtKind::While { cond: cond.clone(), body, test: *test }));
            }
            StmtKind::Switch { value, cases } => {
                let case = |case: &Case| Case { body: self.inner(&case.body), ..case.clone() };
                let cases = cases.iter().map(case).collect();
                out.push(same(StmtKind::Switch { value: value.clone(), cases }));
            }
            StmtKind::Continue => {
                out.extend(self.steps.last().cloned().unwrap_or_default());
                out.push(stmt.clone());
            }
            StmtKind::Return(value) => {
                if let (Some(value), Some(place)) = (value, self.result.clone()) {
                    let value = self.tangent_or_zero(value, &place.ty);
                    out.push(Stmt::new(StmtKind::Assign { place, value }).at(span));
                }
                out.push(stmt.clone());
            }
            StmtKind::Atomic { op, scope, place, value, compare: _, into } => {
                self.atomic(*op, *scope, place, value, into.as_ref(), span, out);
                out.push(stmt.clone());
            }
            StmtKind::Collective { op, mask, args, into } => {
                self.collective(*op, mask.as_ref(), args, into.as_ref(), span, out);
                out.push(stmt.clone());
            }
            StmtKind::Break | StmtKind::Barrier { .. } => out.push(stmt.clone()),
            StmtKind::Opaque { code, args, .. } => {
                if *code == Unread::Passed {
                    self.check_passed(args, span);
                }
                out.push(stmt.clone());
            }
            StmtKind::Launch(launch) => self.launch(launch, stmt, out),
            StmtKind::Runtime { call, args, into } => self.runtime(call, args, into.as_ref(), stmt, out),
            StmtKind::Push { .. } | StmtKind::Pop { .. } => {
                self.refuse(span, "a record of reverse mode has no tangent", "differentiate the original function");
            }
        }
    }

    fn declare(&mut self, local: LocalId, init: Option<&Expr>, span: Span, out: &mut Block) {
        let declared = &self.function.locals[local];
        let is_dynamic = declared.storage == Storage::DynamicShared && self.activity.is_active_local(local);
        if !is_dynamic && !self.activity.has_shadow(self.ctx.primal, local, &declared.ty) {
            return;
        }
        match declared.storage {
            Storage::Private | Storage::Shared => {}
            Storage::DynamicShared => {
                let Type::Array(element, _) = &declared.ty else { return };
                let ty = Type::pointer(shadow_type(element));
                let init = behind_dynamic(local, &declared.ty, &ty);
                let shadow = self.shadow(local, ty);
                self.locals[shadow].storage = Storage::Private;
                return out.push(Stmt::new(StmtKind::Declare { local: shadow, init: Some(init) }).at(span));
            }
        }
        // A reference must refer to something from the start.
        let ty = if init.is_some() { shadow_type(&declared.ty) } else { parameter_type(&declared.ty) };
        let shadow = self.shadow(local, ty.clone());
        let init = init.map(|init| self.tangent_or_zero(init, &ty));
        out.push(Stmt::new(StmtKind::Declare { local: shadow, init }).at(span));
    }

    fn assign(&mut self, place: &Place, value: &Expr, span: Span, out: &mut Block) {
        if !self.carries(&place.ty) {
            return;
        }
        if let Some(shadow) = self.shadows.place(place) {
            let value = self.tangent_or_zero(value, &shadow.ty);
            // As of `x = x + 1`.
            if !is_load_of(&value, &shadow) {
                out.push(Stmt::new(StmtKind::Assign { place: shadow, value }).at(span));
            }
        }
    }

    /// What is stored there does not depend on the named parameters.
    fn clear(&mut self, place: &Place, span: Span, out: &mut Block) {
        if self.carries(&place.ty)
            && let Some(shadow) = self.shadows.place(place)
        {
            let value = self.ctx.primal.zero(&shadow.ty);
            out.push(Stmt::new(StmtKind::Assign { place: shadow, value }).at(span));
        }
    }

    /// A counter that is active steps together with its shadow: before every `continue` and at the end of the body.
    fn counted(&mut self, counted: &For, stmt: &Stmt, out: &mut Block) {
        let counter = &self.function.locals[counted.counter];
        let mut step = Block::new();
        if self.activity.has_shadow(self.ctx.primal, counted.counter, &counter.ty) {
            let ty = shadow_type(&counter.ty);
            let init = self.tangent_or_zero(&counted.from, &ty);
            // It lives around the loop, where its usual name may be another's.
            let name = format!("_d_{}", counter.name);
            let shadow = self.fresh(&name, ty.clone());
            self.shadows.insert(counted.counter, Place::local(shadow, ty.clone()));
            out.push(Stmt::new(StmtKind::Declare { local: shadow, init: Some(init) }).at(stmt.span));
            let now = Expr::load(Place::local(counted.counter, counter.ty.clone()));
            let next = Expr::binary(counted.step, now, counted.by.clone());
            let value = self.tangent_or_zero(&next, &ty);
            step.push(Stmt::new(StmtKind::Assign { place: Place::local(shadow, ty), value }).at(stmt.span));
        }
        self.steps.push(step);
        let mut body = self.inner(&counted.body);
        let step = self.steps.pop().unwrap_or_default();
        if !body.last().is_some_and(|last| leaves(&last.kind)) {
            body.extend(step);
        }
        out.push(Stmt { kind: StmtKind::For(Box::new(For { body, ..counted.clone() })), ..stmt.clone() });
    }

    fn call(&mut self, into: Option<&Place>, callee: FunctionId, args: &[Expr], stmt: &Stmt, out: &mut Block) {
        let span = stmt.span;
        let primal = self.ctx.primal;
        if primal.rule(callee).is_some_and(|rule| rule.kind == RuleKind::Constant) {
            let written = effects(primal, callee).params;
            let mut arguments = written.iter().filter_map(|position| args.get(*position));
            if arguments.any(|arg| self.activity.points_to_active(primal, arg)) {
                self.ctx.diagnostics.push(writes_active(primal, callee, span));
            }
            out.push(stmt.clone());
            return into.iter().for_each(|into| self.clear(into, span, out));
        }
        let pattern = self.activity.pattern(primal, callee, args, into);
        let function = &primal.functions[callee];
        let mut analysed = (*self.ctx.analyses.callee(primal, callee, &pattern)).clone();
        let result_has_shadow = analysed.result_has_shadow(primal, &function.result);
        if !pattern.iter().flatten().any(|level| level.has_tangent()) && !result_has_shadow {
            out.push(stmt.clone());
            into.iter().for_each(|into| self.clear(into, span, out));
            return;
        }
        let mut all = args.to_vec();
        for ((param, arg), levels) in function.params.iter().zip(args).zip(&pattern) {
            if levels.iter().any(|level| level.has_tangent()) {
                let ty = parameter_type(&function.locals[*param].ty);
                let tangent = self.tangent_or_zero(arg, &ty);
                all.push(tangent);
            }
        }
        let mut after = Block::new();
        if result_has_shadow {
            let ty = parameter_type(&function.result);
            let shadow = into.and_then(|into| self.shadows.place(into));
            // The place itself, unless the call could change which one it is.
            let target = match shadow {
                Some(shadow) if is_fixed(&shadow) && shadow.ty == ty => shadow,
                shadow => {
                    let kept = self.fresh("_d_t", ty.clone());
                    out.push(Stmt::new(StmtKind::Declare { local: kept, init: None }).at(span));
                    let kept = Place::local(kept, ty);
                    if let Some(place) = shadow {
                        let value = converted(Expr::load(kept.clone()), &place.ty);
                        after.push(Stmt::new(StmtKind::Assign { place, value }).at(span));
                    }
                    kept
                }
            };
            all.push(Expr::address_of(target));
        } else {
            into.iter().for_each(|into| self.clear(into, span, &mut after));
        }
        let function = self.ctx.callee(callee, &pattern);
        let kind = StmtKind::Call { into: into.cloned(), function, args: all };
        out.push(Stmt { kind, ..stmt.clone() });
        out.extend(after);
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one statement")]
    fn atomic(
        &mut self,
        op: AtomicOp,
        scope: Scope,
        place: &Place,
        value: &Expr,
        into: Option<&Place>,
        span: Span,
        out: &mut Block,
    ) {
        let shadow = self.shadows.place(place).filter(|_| carries_floats(self.ctx.primal, &place.ty));
        let Some(place) = shadow else {
            return into.iter().for_each(|into| self.clear(into, span, out));
        };
        if into.is_some() {
            let help = "use the value that another kernel reads afterwards";
            return self.refuse(span, "the result of an atomic on active memory", help);
        }
        match op {
            AtomicOp::Add | AtomicOp::Subtract => {
                if let Some(value) = self.tangent(value) {
                    let kind = StmtKind::Atomic { op, scope, place, value, compare: None, into: None };
                    out.push(Stmt::new(kind).at(span));
                }
            }
            AtomicOp::Exchange
            | AtomicOp::Min
            | AtomicOp::Max
            | AtomicOp::And
            | AtomicOp::Or
            | AtomicOp::Xor
            | AtomicOp::Increment
            | AtomicOp::Decrement
            | AtomicOp::CompareAndSwap => self.refuse(
                span,
                "an atomic on active memory that neither adds nor subtracts",
                "use atomicAdd, or a reduction in shared memory",
            ),
        }
    }

    fn collective(
        &mut self,
        op: CollectiveOp,
        mask: Option<&Expr>,
        args: &[Expr],
        into: Option<&Place>,
        span: Span,
        out: &mut Block,
    ) {
        let Some(into) = into else { return };
        let Some(shadow) = self.shadows.place(into).filter(|_| self.carries(&into.ty)) else { return };
        match op {
            CollectiveOp::Shuffle | CollectiveOp::ShuffleUp | CollectiveOp::ShuffleDown | CollectiveOp::ShuffleXor => {
                // Every thread of the warp takes part, even one whose own value is constant.
                let mut args = args.to_vec();
                args[0] = self.tangent_or_zero(&args[0].clone(), &shadow.ty);
                let kind = StmtKind::Collective { op, mask: mask.cloned(), args, into: Some(shadow) };
                out.push(Stmt::new(kind).at(span));
            }
            CollectiveOp::ReduceAdd
            | CollectiveOp::ReduceMin
            | CollectiveOp::ReduceMax
            | CollectiveOp::Ballot
            | CollectiveOp::Any
            | CollectiveOp::All
            | CollectiveOp::MatchAny
            | CollectiveOp::MatchAll
            | CollectiveOp::ReduceAnd
            | CollectiveOp::ReduceOr
            | CollectiveOp::ReduceXor
            | CollectiveOp::ActiveMask => self.clear(into, span, out),
        }
    }

    /// Memory that is active must be seen as the same floats everywhere, and no integer may hold the bits of one.
    /// Whether a pointer is into dynamic shared memory, whose parts have any types.
    fn is_into_dynamic(&self, pointer: &Expr) -> bool {
        let targets = crate::analysis::objects(self.ctx.primal, self.function).targets(pointer);
        let is_dynamic = |local| self.function.locals[local].storage == Storage::DynamicShared;
        !targets.is_empty() && targets.iter().all(|object| object.as_local().is_some_and(is_dynamic))
    }

    fn check_views(&mut self, stmt: &Stmt) {
        let mut calls = Vec::new();
        let mut look = |node: walk::Node<'_>| {
            if let walk::Node::Expr(Expr { kind: ExprKind::Math(name, args), ty, span }) = node
                && ty.is_integral()
            {
                calls.push((name.clone(), args.clone(), *span));
            }
            std::ops::ControlFlow::<()>::Continue(())
        };
        let _ = walk::stmt_parts(stmt, &mut |part| match part {
            walk::Part::Expr(expr) => walk::visit_expr(expr, &mut look),
            walk::Part::Place(place) => walk::visit_place(place, &mut look),
            walk::Part::Block(_) => std::ops::ControlFlow::Continue(()),
        });
        for (name, args, span) in calls {
            let Some(Partial::Refused(reason)) = rules::derivative(&name).map(|rule| rule.partial(0)) else { continue };
            if args.iter().any(|arg| self.tangent(arg).is_some()) {
                self.refuse(span, format!("`{name}` has no derivative: {reason}"), "use another function here");
            }
        }
        for (cast, operand) in views(stmt) {
            if is_other_view(self.ctx.primal, self.function, stmt, operand, cast)
                && self.activity.points_to_active(self.ctx.primal, operand)
                && !self.is_into_dynamic(operand)
            {
                self.refuse(cast.span, refused_views::MESSAGE, refused_views::HELP);
            }
        }
    }
}

/// Whether a place is the same whatever happens in between.
fn is_fixed(place: &Place) -> bool {
    match &place.kind {
        PlaceKind::Local(_) | PlaceKind::Global(_) => true,
        PlaceKind::Field(base, _) => is_fixed(base),
        PlaceKind::Index(base, index) => is_fixed(base) && matches!(index.kind, ExprKind::Int(_)),
        PlaceKind::Element(..) => false,
    }
}

/// Whether a value is what the place holds already.
fn is_load_of(value: &Expr, place: &Place) -> bool {
    matches!(&value.kind, ExprKind::Load(read) if same_place(read, place))
}

/// Whether what follows a statement is never reached.
fn leaves(kind: &StmtKind) -> bool {
    matches!(kind, StmtKind::Break | StmtKind::Continue | StmtKind::Return(_))
}

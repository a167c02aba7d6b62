//! The parameters of a derivative: adjoints, seeds and sums.

use super::super::derivatives::{Adders, Kind};
use super::Rules;
use crate::analysis::{self, Base, uses_memory};
use crate::diagnostic::{CONSTANT_MEMORY, Diagnostic, NOT_DIFFERENTIABLE};
use crate::ir::walk;
use crate::ir::{Block, Expr, Local, LocalId, Place, PlaceKind, Space, Stmt, StmtKind, Storage, Type};
use crate::source::Span;
use crate::transform::accumulate::AdjointParam;
use crate::transform::locals::{constant, in_type};
use crate::transform::shadow::shadow_name;

/// A by-value parameter whose adjoint is summed up in the thread, and where the sum goes.
pub(in crate::transform::reverse) struct Sum {
    local: LocalId,
    total: Place,
    /// Of the parameter.
    span: Span,
}

impl Rules<'_> {
    /// Active values must not travel through what was not named.
    pub(in crate::transform::reverse) fn check_named(&mut self, named: &[LocalId]) {
        let written = analysis::written(self.facts.objects, &self.facts.primal.body);
        for param in &self.facts.primal.params {
            if named.contains(param) {
                continue;
            }
            let variable = &self.facts.primal.locals[*param];
            let load = Expr::load(Place::local(*param, variable.ty.clone()));
            let reached = self.facts.objects.reachable(&load);
            let mut active = reached.iter().filter(|object| {
                matches!(object.base, Base::Local(local) if local == *param) && self.facts.activity.is_active(object)
            });
            if let Some(first) = active.next() {
                let is_written = [first].into_iter().chain(active).any(|object| written.contains(object));
                let (message, label) = if is_written {
                    let message = format!("active values travel through `{}`, which is not named", variable.name);
                    (message, "written with and read for active values")
                } else {
                    let message = format!("`{}` is not named, and stands beside what is", variable.name);
                    (message, "one pointer may point here and to active values")
                };
                self.report(
                    Diagnostic::new(CONSTANT_MEMORY, variable.span, message, label)
                        .help(format!("name `{}` too: it then has an adjoint of its own", variable.name)),
                );
            }
        }
    }

    /// Appends the adjoint parameters, and says where the derivatives of parameters live.
    pub(in crate::transform::reverse) fn adjoint_params(
        &mut self,
        named: &[LocalId],
        kind: &Kind,
    ) -> (Vec<AdjointParam>, Vec<Sum>) {
        let (mut adjoints, mut sums) = (Vec::new(), Vec::new());
        for param in named {
            let variable = self.facts.primal.locals[*param].clone();
            let widening = &self.vars.shadows.widening;
            let ty = if let Some(pointee) = variable.ty.pointee() {
                let shadow = widening.shadow(&Type::pointer(pointee.clone()));
                Type::pointer(shadow.pointee().cloned().unwrap_or(Type::Void))
            } else if matches!(kind, Kind::Pullback(_) | Kind::Slopes(_)) {
                // What a caller's thread sums up for itself.
                Type::pointer(widening.private(&variable.ty))
            } else {
                Type::pointer(widening.in_memory(&variable.ty))
            };
            let adjoint = self.vars.add_param(&shadow_name(&variable.name), ty.clone());
            let (is_shared, is_anywhere) = match kind {
                Kind::Gradient { .. } | Kind::Split { .. } => {
                    (self.facts.is_kernel() || variable.ty.is_pointer(), self.facts.primal.space == Space::Device)
                }
                Kind::Pullback(pattern) | Kind::Slopes(pattern) => {
                    let position = self.facts.primal.params.iter().position(|known| known == param);
                    match position.map_or(Adders::Constant, |position| pattern.adders[position]) {
                        Adders::Constant | Adders::Private => (false, false),
                        Adders::Shared => (true, false),
                        Adders::Anywhere => (true, true),
                    }
                }
            };
            self.threads.anywhere.extend(is_anywhere.then_some(*param));
            self.threads.of_caller.extend((variable.ty.is_pointer() && !is_shared).then_some(*param));
            let is_contended = match kind {
                Kind::Split { contended, .. } => contended.contains(param),
                Kind::Gradient { .. } | Kind::Pullback(_) | Kind::Slopes(_) => false,
            };
            adjoints.push(AdjointParam { adjoint, primal: *param, is_shared, is_anywhere, is_contended });
            let adjoint_place = Place::local(adjoint, ty.clone());
            if variable.ty.is_pointer() {
                self.vars.add_shadow(*param, adjoint_place, true);
                continue;
            }
            let total = Place::deref(Expr::load(adjoint_place));
            let is_written = self.facts.locals.write_counts.contains_key(param);
            if uses_memory(self.facts.module, &variable.ty) || (!self.facts.is_kernel() && !is_written) {
                self.vars.add_shadow(*param, total, false);
                self.threads.shared_values.extend(is_shared.then_some(*param));
                continue;
            }
            let name = format!("{}_sum", shadow_name(&variable.name));
            let ty = self.vars.shadows.widening.private(&variable.ty);
            let local = self.vars.add(&name, ty.clone());
            self.vars.add_shadow(*param, Place::local(local, ty), false);
            sums.push(Sum { local, total, span: variable.span });
        }
        (adjoints, sums)
    }

    /// The adjoint of the result.
    pub(in crate::transform::reverse) fn seed(&mut self, kind: &Kind) -> Option<Place> {
        let result = self.vars.shadows.widening.private(&self.facts.primal.result);
        match kind {
            Kind::Pullback(_) => {
                let name = self.vars.names.name("_seed");
                let seed = Local { name, ty: result.clone(), storage: Storage::Private, align: None, span: Span::NONE };
                let local = self.vars.function.locals.push(seed);
                self.vars.function.params.insert(self.facts.primal.params.len(), local);
                Some(Place::local(local, result))
            }
            Kind::Gradient { .. } | Kind::Split { .. } | Kind::Slopes(_) => None,
        }
    }

    /// What the sweeps stand between: the declarations of sums, and what becomes of these.
    pub(in crate::transform::reverse) fn between(
        &mut self,
        mut forward: Block,
        mut reverse: Block,
        sums: &[Sum],
    ) -> Block {
        let mut zeros: Block = sums.iter().map(|sum| self.vars.declare_zero(sum.local)).collect();
        // A parameter that is not named, and is given an active value: a variable like any other.
        for param in &self.facts.primal.params {
            if let Some(Place { kind: PlaceKind::Local(shadow), .. }) = self.vars.shadows.local(*param)
                && !self.vars.function.params.contains(shadow)
                && sums.iter().all(|sum| sum.local != *shadow)
            {
                zeros.push(self.vars.declare_zero(*shadow));
            }
        }
        let shared = self.shared_adjoints([&mut forward, &mut reverse]);
        let mut out = [zeros, shared, forward, reverse].concat();
        let used: Vec<&Sum> = sums.iter().filter(|sum| walk::mentions(&out, sum.local)).collect();
        for sum in used {
            let local = Place::local(sum.local, self.vars.function.locals[sum.local].ty.clone());
            for (from, into) in self.vars.leaves(&local).into_iter().zip(self.vars.leaves(&sum.total)) {
                let value = in_type(Expr::load(from), &into.ty);
                out.push(Stmt::new(StmtKind::Accumulate { place: into, value }).at(sum.span));
            }
        }
        out
    }

    pub(in crate::transform::reverse) fn adjoint_of_result(
        &mut self,
        value: &Expr,
        seed: Option<&Place>,
        out: &mut Block,
    ) {
        match (seed, &value.ty) {
            (Some(seed), _) => self.adjoint_of_aggregate(value, seed, out),
            (None, Type::Float(_)) => self.adjoint(value, constant(1.0, &value.ty.at_least_single()), out),
            // A status has no derivative, and is no reason to have none of the rest.
            (None, Type::Bool | Type::Int(_) | Type::Opaque(_)) => {}
            // Nor has a pointer that leads nowhere.
            (None, Type::Pointer(_)) if self.facts.objects.targets(value).is_empty() => {}
            (None, Type::Void | Type::Pointer(_) | Type::Array(..) | Type::Record(_)) => self.report(
                Diagnostic::new(
                    NOT_DIFFERENTIABLE,
                    value.span,
                    format!("the result of `{}` is not one number", self.facts.primal.name),
                    "its gradient has no seed",
                )
                .help("differentiate a function that returns one floating number, or writes its results to memory"),
            ),
        }
    }
}

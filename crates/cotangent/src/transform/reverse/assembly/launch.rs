//! Launches: the kernel's two sweeps are asked for as it was planned what they keep.

use std::collections::BTreeSet;

use super::super::derivatives::Derived;
use super::super::rules::Pair;
use super::super::rules::launch::Copied;
use super::Assembly;
use crate::analysis::{Object, variables_of};
use crate::diagnostic::Diagnostic;
use crate::ir::{Block, Expr, Launch, LocalId, Stmt};

impl Assembly<'_> {
    /// Both sweeps of a launch. `later` are the objects that later statements write.
    pub(super) fn launch(&mut self, stmt: &Stmt, launch: &Launch, later: &BTreeSet<Object>) -> Pair {
        let unchanged = Pair { forward: vec![stmt.clone()], reverse: Block::new() };
        if self.rules.active_arguments(launch).is_empty() {
            return unchanged;
        }
        let checks = self.rules.granted(stmt, launch);
        match self.sweeps_of_kernel(launch, later) {
            Ok((derived, copied)) => {
                let mut pair = self.rules.launch(stmt, launch, &derived, copied);
                pair.forward.splice(0..0, checks);
                pair
            }
            Err(found) => {
                found.into_iter().for_each(|found| self.rules.report(found));
                unchanged
            }
        }
    }

    /// The kernel's two sweeps, and what is copied for the second.
    fn sweeps_of_kernel(
        &mut self,
        launch: &Launch,
        later: &BTreeSet<Object>,
    ) -> Result<(Derived, Copied), Vec<Diagnostic>> {
        let facts = self.rules.facts;
        let kernel = &facts.module.functions[launch.kernel];
        let params_at =
            |positions: &[usize]| -> Vec<LocalId> { positions.iter().map(|at| kernel.params[*at]).collect() };
        let active = self.rules.active_arguments(launch);
        let is_contended = |arg: &Expr| self.rules.is_contended(&facts.objects.reachable(arg));
        let contended: Vec<usize> = active.iter().copied().filter(|at| is_contended(&launch.args[*at])).collect();
        let [wrt, contended] = [active, contended].map(|positions| params_at(&positions));
        // What the reverse sweep reads is known once it is written; what it must not read then is recorded by another.
        let derived = self.rules.derivatives.split(facts.module, launch.kernel, [&wrt, &[], &contended], &[])?;
        let mentioned = variables_of(self.rules.derivatives.written(), derived.function);
        let variables = self.rules.values().changed_variables(&mentioned, later);
        let kept = self.rules.values().kept_for_launch(launch, &derived.needed, later);
        for (position, how) in kept.decisions() {
            self.rules.decide(launch.args[position].span, kernel.local_name(kernel.params[position]), how);
        }
        if kept.recorded.is_empty() && variables.is_empty() {
            return Ok((derived, kept.copied));
        }
        let recorded = params_at(&kept.recorded);
        let params = [wrt.as_slice(), &recorded, &contended];
        let derived = self.rules.derivatives.split(facts.module, launch.kernel, params, &variables)?;
        Ok((derived, kept.copied))
    }
}

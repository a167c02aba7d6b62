//! A record within a budget: loops that record more are computed again, in stretches.

use super::assembly::write::{Stacked, Written};
use super::decision::{Decision, How};
use super::derivatives::Kind;
use super::stretches::{LoopNumber, loops_of, stretched};
use super::{Analyses, Pullbacks};
use crate::diagnostic::{Diagnostic, RECORD_BUDGET};
use crate::ir::{FunctionId, Module, Space};
use crate::transform::Fact;

/// The longest stretch: its record is in arrays of the thread.
const LONGEST: u64 = 64;

/// How often stretches are made of a loop: each time, its iterations run once more.
const MOST_LEVELS: u32 = 2;

/// What is known about a loop.
#[derive(Clone, Copy)]
struct Level {
    /// How many iterations of the program one of its iterations stands for.
    iterations: u64,
    /// How often stretches were made of it.
    levels: u32,
}

impl Pullbacks {
    /// The derivative of a function, and the program with the function as it is differentiated, if loops of it are in
    /// stretches.
    pub(super) fn written_within(
        &mut self,
        normal: &Module,
        id: FunctionId,
        kind: &Kind,
    ) -> Result<(Option<Module>, Written), Vec<Diagnostic>> {
        let mut written = self.written_best(normal, id, kind)?;
        let is_meant = self.options.analyses == Analyses::On
            && self.options.trust.doubted != Some(Fact::Repetition)
            && normal.functions[id].space == Space::Kernel;
        let Some(budget) = self.options.record_budget.filter(|_| is_meant) else { return Ok((None, written)) };
        let mut module: Option<Module> = None;
        let mut decisions = Vec::new();
        // By the numbers of loops.
        let mut known = vec![Level { iterations: 1, levels: 0 }; loops_of(&normal.functions[id].body)];
        loop {
            let too_much = |found: &Stacked| budget.times(found.bytes, known[found.number.0].iterations);
            let Some(found) = written.stacked().iter().find(|found| too_much(found) > 1) else {
                written.decisions.extend(decisions);
                return Ok((module, written));
            };
            let refused = || vec![over_budget(found)];
            let Level { iterations, levels } = known[found.number.0];
            if levels == MOST_LEVELS {
                return Err(refused());
            }
            let length = too_much(found).next_power_of_two().min(LONGEST);
            let mut next = module.clone().unwrap_or_else(|| normal.clone());
            let function = stretched(&next, &next.functions[id], found.number, length).ok_or_else(refused)?;
            next.functions.set(id, function);
            let lessons = self.lessons.clone();
            let again = self.written_best(&next, id, kind);
            // The loop of a stretch stands in that of the stretches.
            let steps = LoopNumber(found.number.0 + 1);
            let is_less = |again: &Written| !again.stacked().iter().any(|stacked| stacked.number == steps);
            let Some(again) = again.ok().filter(is_less) else {
                self.lessons = lessons;
                return Err(refused());
            };
            decisions.push(Decision { at: found.span, what: "the loop".to_owned(), how: How::InStretches });
            known.insert(found.number.0, Level { iterations: iterations * length, levels: levels + 1 });
            (module, written) = (Some(next), again);
        }
    }
}

fn over_budget(found: &Stacked) -> Diagnostic {
    let message = format!("this loop records {} bytes in each iteration, which is over the budget", found.bytes);
    let label = "its iterations cannot be computed again from fewer";
    Diagnostic::new(RECORD_BUDGET, found.span, message, label).help(
        "allow more with `--record-budget`, or leave it out; `cotangent grad --plan` says why values are recorded",
    )
}

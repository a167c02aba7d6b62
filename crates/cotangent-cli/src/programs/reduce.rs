//! Makes a program smaller as long as it is wrong in the same way. Many edits are tried at once, each on its own copy, in
//! one file; those that succeed are then tried together.

use anyhow::Result;
use cotangent_driver::Tools;

use super::batch::{Outcome, Way, outcomes};
use super::tree::Program;
use crate::check::random_kernels::tree::Edit;

/// Edits that are tried at once.
const AT_ONCE: usize = 10;

/// How many files one program may cost.
const FILES: usize = 40;

/// The smallest program that was found, and what is said about it.
pub(crate) fn reduce(tools: &Tools, program: &Program, kind: &str, way: Way) -> Result<(Program, String)> {
    let mut smallest = (program.clone(), String::new());
    let mut files = 0;
    let is_same = |outcome: &Outcome| match outcome {
        Outcome::Wrong { kind: found, detail } | Outcome::Refused { kind: found, detail } if found == kind => {
            Some(detail.clone())
        }
        Outcome::Right { .. } | Outcome::Wrong { .. } | Outcome::Refused { .. } => None,
    };
    loop {
        let edits = smallest.0.edits();
        let mut found: Vec<(Edit, Program, String)> = Vec::new();
        for chunk in edits.chunks(AT_ONCE) {
            files += 1;
            if files > FILES {
                return Ok(smallest);
            }
            let candidates: Vec<Program> = chunk.iter().map(|(_, program)| program.clone()).collect();
            for ((edit, program), outcome) in chunk.iter().zip(outcomes(tools, &candidates, way)?) {
                found.extend(is_same(&outcome).map(|detail| (edit.clone(), program.clone(), detail)));
            }
            if !found.is_empty() {
                break;
            }
        }
        let Some((_, first, detail)) = found.first() else { return Ok(smallest) };
        let next = (first.clone(), detail.clone());
        // All of them together, or half of them.
        let edits: Vec<Edit> = found.iter().map(|(edit, _, _)| edit.clone()).collect();
        let counts = [edits.len(), edits.len() / 2].into_iter().filter(|count| *count > 1);
        let candidates: Vec<Program> = counts.filter_map(|count| smallest.0.edited(&edits[..count])).collect();
        let tried = if candidates.is_empty() { Vec::new() } else { outcomes(tools, &candidates, way)? };
        let best = candidates.into_iter().zip(&tried).find_map(|(program, outcome)| Some((program, is_same(outcome)?)));
        smallest = best.unwrap_or(next);
    }
}

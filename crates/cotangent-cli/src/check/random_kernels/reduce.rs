//! Makes a kernel smaller as long as it is wrong in the same way. Many edits are tried at once, each on its own copy of the
//! kernel, because a batch takes hardly longer than one kernel; those that succeed are then tried together.

use anyhow::Result;
use cotangent_driver::Tools;

use super::batch::{Outcome, Way, outcomes};
use super::tree::{Edit, Kernel};

/// Edits that are tried at once.
const AT_ONCE: usize = 32;

/// How many batches one kernel may cost.
const BATCHES: usize = 60;

/// The smallest kernel that was found, and what is said about it.
pub(crate) fn reduce(tools: &Tools, kernel: &Kernel, kind: &str, way: Way) -> Result<(Kernel, String)> {
    let mut smallest = (kernel.clone(), String::new());
    let mut batches = 0;
    let is_same = |outcome: &Outcome| {
        let (found, detail) = outcome.kind()?;
        (found == kind).then_some(detail)
    };
    loop {
        let mut edits = smallest.0.edits();
        edits.sort_by_key(|edit| smallest.0.edited(std::slice::from_ref(edit)).size());
        let mut found: Vec<(Edit, String)> = Vec::new();
        for chunk in edits.chunks(AT_ONCE) {
            batches += 1;
            if batches > BATCHES {
                return Ok(smallest);
            }
            let candidates: Vec<Kernel> =
                chunk.iter().map(|edit| smallest.0.edited(std::slice::from_ref(edit))).collect();
            for (edit, outcome) in chunk.iter().zip(outcomes(tools, &candidates, way)?) {
                found.extend(is_same(&outcome).map(|detail| (edit.clone(), detail)));
            }
            if !found.is_empty() {
                break;
            }
        }
        let Some((first, detail)) = found.first() else { return Ok(smallest) };
        let next = (smallest.0.edited(std::slice::from_ref(first)), detail.clone());
        // All of them together, or half of them.
        let together: Vec<Edit> = found.iter().map(|(edit, _)| edit.clone()).collect();
        let candidates: Vec<Kernel> = [together.len(), together.len() / 2, together.len() / 4]
            .into_iter()
            .filter(|count| *count > 1)
            .map(|count| smallest.0.edited(&together[..count]))
            .filter(Kernel::is_valid)
            .collect();
        let tried = if candidates.is_empty() { Vec::new() } else { outcomes(tools, &candidates, way)? };
        let best = candidates.into_iter().zip(&tried).find_map(|(kernel, outcome)| Some((kernel, is_same(outcome)?)));
        smallest = best.unwrap_or(next);
    }
}

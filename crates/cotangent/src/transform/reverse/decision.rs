//! The plan of a derivative as data: where the reverse sweep gets each value from, how each loop is turned around, and why
//! that is right.
//!
//! The words of a decision are one table. The theorems that they name are proved in `docs/design/values-again.md` and
//! `docs/design/loops-backwards.md`.

use std::fmt::Write as _;

use crate::ir::Name;
use crate::source::{Sources, Span};

/// The decisions about one derivative.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The derivative.
    pub name: Name,
    pub decisions: Vec<Decision>,
}

/// One decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// What mentions the value in the primal program, or the loop; nowhere for what normalisation made.
    pub at: Span,
    /// The value, or which question about a loop.
    pub what: String,
    pub how: How,
}

/// What was decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    UnchangedVariable,
    UnwrittenMemory,
    UnchangedMemory,
    VariableChanges,
    OthersMayWrite,
    MemoryChanges,
    ComputedAgain,
    LoopRepeated,
    PutBack,
    FilledAgain,
    DependsOnChanged,
    HappensOnce,
    ChangedByLoop,
    ChangedAfterLoop,
    CopiedWhole,
    RecordedByKernel,
    WithValue,
    ByHeader,
    ByNumber,
    ByFormula,
    ByCounting,
    Commutes,
    Backwards,
    InThread,
    InArrays,
    InRecord,
    InStretches,
    FromCheckpoints,
}

/// What happens, why, and the theorem that allows it.
struct Words {
    outcome: &'static str,
    reason: &'static str,
    theorem: &'static str,
}

impl How {
    /// The table.
    fn words(self) -> Words {
        let (outcome, reason, theorem) = match self {
            How::UnchangedVariable => ("still there", "no later statement of its frame writes it", "V1"),
            How::UnwrittenMemory => ("still there", "the function does not write this memory", "V2"),
            How::UnchangedMemory => ("still there", "no later statement writes this memory", "V3"),
            How::VariableChanges => ("kept in a variable", "a later statement of its frame may write it", "V1"),
            How::OthersMayWrite => {
                ("kept in a variable", "the function writes this memory, and another thread may be ahead", "V2")
            }
            How::MemoryChanges => ("kept in a variable", "a later statement may write this memory", "V3"),
            How::ComputedAgain => {
                ("computed again", "from what the iteration begins with, and from memory that is intact", "V4")
            }
            How::LoopRepeated => {
                ("computed again", "the loop inside reads nothing that changes, and records nothing", "V4")
            }
            How::PutBack => ("there again", "the stores of later statements are taken back", "V9"),
            How::FilledAgain => {
                ("filled again", "every iteration stores to the same elements before they are read", "V5")
            }
            How::DependsOnChanged => ("recorded", "it depends on memory that changes later", "V4"),
            How::HappensOnce => ("recorded", "what yields it happens once, and cannot be repeated", "V4"),
            How::ChangedByLoop => ("recorded", "the loop changes it, and the iteration begins with it", "V6"),
            How::ChangedAfterLoop => ("kept in a variable", "what follows the loop changes it", "V6"),
            How::CopiedWhole => {
                ("copied as a whole", "the array changes before the reverse launch, and its size is known", "V7")
            }
            How::RecordedByKernel => (
                "recorded by the kernel",
                "the array changes before the reverse launch, and its size is not known",
                "V7",
            ),
            How::WithValue => (
                "computed with the value",
                "the result is one number, and its adjoint is a multiple of the slope",
                "V8",
            ),
            How::ByNumber => ("computed again", "each iteration changes it by the same, so its number tells it", "V6"),
            How::ByHeader => ("by the header", "its bounds and its step do not change in the loop", "L1"),
            How::ByFormula => ("counted", "the counter is a formula of the number of the iteration", "L2"),
            How::ByCounting => ("counted", "the header does not tell which values the counter takes", "L2"),
            How::Commutes => ("as written", "no adjoint of an iteration depends on those of another", "L3"),
            How::Backwards => ("backwards", "the adjoint of an iteration may depend on those of later ones", "L4"),
            How::InThread => {
                ("in arrays of the thread", "there are at most 64 iterations, and their number is known", "L5")
            }
            How::InArrays => ("in arrays", "the number of iterations is known before the loop", "L5"),
            How::InStretches => (
                "computed again, in stretches",
                "it would record more than the budget, and what it reads is intact",
                "V11",
            ),
            How::FromCheckpoints => {
                ("run again", "its reverse sweep reads what it records, and what the loop does not change", "L6")
            }
            How::InRecord => ("last in, first out", "the number of iterations is not known, or is large", "L5"),
        };
        Words { outcome, reason, theorem }
    }
}

impl Plan {
    /// The plan for people, by lines of the program.
    pub fn print(&self, sources: &Sources) -> String {
        let mut out = format!("{}\n", self.name);
        let mut decisions: Vec<&Decision> = self.decisions.iter().collect();
        decisions.sort_by_key(|decision| (decision.at.file.0, decision.at.start));
        let width = decisions.iter().map(|decision| decision.what.chars().count()).max().unwrap_or(0).min(24);
        let mut heading = None;
        let mut printed: Vec<String> = Vec::new();
        for Decision { at, what, how } in decisions {
            let line = line_of(sources, *at);
            if heading.as_ref() != Some(&line) {
                let _ = match &line {
                    Some((number, text)) => writeln!(out, "\n  line {number}: {text}"),
                    None => writeln!(out, "\n  in no line of the program:"),
                };
                heading = Some(line);
                printed.clear();
            }
            let Words { outcome, reason, theorem } = how.words();
            let row = format!("    {what:width$}  {outcome}: {reason} [{theorem}]\n");
            if !printed.contains(&row) {
                out.push_str(&row);
                printed.push(row);
            }
        }
        out
    }
}

/// The number of the line in which a span begins, and its text.
fn line_of(sources: &Sources, span: Span) -> Option<(usize, String)> {
    let text = sources.files.get(span.file)?.text.as_ref()?;
    let before = text.get(..span.start as usize)?;
    let number = before.matches('\n').count() + 1;
    text.lines().nth(number - 1).map(|line| (number, line.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_stand_under_their_lines_and_once() {
        let mut sources = Sources::default();
        let file = sources.add("k.cu");
        sources.files[file].text = Some("first\n  y = a * x;\n".into());
        let decision = |start: u32, what: &str, how| Decision {
            at: Span { file, start, end: start + 1 },
            what: what.to_owned(),
            how,
        };
        let decisions = vec![
            decision(16, "x", How::UnwrittenMemory),
            decision(12, "a", How::UnchangedVariable),
            decision(12, "a", How::UnchangedVariable),
            Decision { at: Span::NONE, what: "t".to_owned(), how: How::ComputedAgain },
        ];
        let text = Plan { name: "k_grad".into(), decisions }.print(&sources);
        expect_test::expect![[r#"
            k_grad

              line 2: y = a * x;
                a  still there: no later statement of its frame writes it [V1]
                x  still there: the function does not write this memory [V2]

              in no line of the program:
                t  computed again: from what the iteration begins with, and from memory that is intact [V4]
        "#]]
        .assert_eq(&text);
    }
}

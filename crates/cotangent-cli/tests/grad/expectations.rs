//! The lines of a fixture that say what is expected of its gradient's text.

use crate::directives;

/// What is true of the text of the reverse mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expectation {
    /// `atomics: N`, or `no atomic`.
    Atomics(usize),
    /// `sums of blocks: N`: the additions that a whole block makes.
    SumsOfBlocks(usize),
    /// `no record`: no argument for one; local arrays are none.
    NoRecord,
    /// `slopes: N`: so many are computed with the values of calls.
    Slopes(usize),
    /// `kept: N`: of so many arrays a copy is made between the sweeps and given back.
    Kept(usize),
    /// `gathers: N`: so many arrays can be gathered, an element a thread.
    Gathers(usize),
}

/// The `expect:` lines.
pub(crate) fn parse(text: &str) -> Result<Vec<Expectation>, String> {
    let lines = directives::lines(text)?.into_iter();
    lines.filter(|(key, _)| *key == "expect").map(|(_, value)| parse_expectation(value)).collect()
}

fn parse_expectation(text: &str) -> Result<Expectation, String> {
    match text.split_once(": ") {
        None if text == "no atomic" => Ok(Expectation::Atomics(0)),
        None if text == "no record" => Ok(Expectation::NoRecord),
        Some(("atomics", count)) => count.parse().map(Expectation::Atomics).map_err(|_| format!("atomics: {count}")),
        Some(("slopes", count)) => count.parse().map(Expectation::Slopes).map_err(|_| format!("slopes: {count}")),
        Some(("kept", count)) => count.parse().map(Expectation::Kept).map_err(|_| format!("kept: {count}")),
        Some(("gathers", count)) => count.parse().map(Expectation::Gathers).map_err(|_| format!("gathers: {count}")),
        Some(("sums of blocks", count)) => {
            count.parse().map(Expectation::SumsOfBlocks).map_err(|_| format!("sums of blocks: {count}"))
        }
        None | Some(_) => {
            let known =
                "`no atomic`, `atomics: N`, `sums of blocks: N`, `gathers: N`, `no record`, `slopes: N`, `kept: N`";
            Err(format!("`expect: {text}` is none of {known}"))
        }
    }
}

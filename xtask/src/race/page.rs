//! The page of what was measured: Markdown tables, for the terminal and for `docs/benchmarks/race.md`.

use std::fmt::Write as _;

use super::Measurements;
use super::cpu::{Measured, Outcome, Value};
use super::kernels::Costs;
use super::length::Run;
use crate::compiled::Cost;

/// Differences above this are no rounding: the number is wrong.
const WRONG: f64 = 1e-6;

/// A part of the page.
pub(super) struct Section {
    pub(super) heading: &'static str,
    /// None if it was not measured.
    pub(super) text: Option<String>,
}

/// All parts, in order.
pub(super) fn sections(measured: &Measurements) -> Vec<Section> {
    let section =
        |heading, is_measured: bool, text: &dyn Fn() -> String| Section { heading, text: is_measured.then(text) };
    let Measurements { works, chains, lengths, kernels } = measured;
    vec![
        section("On the CPU", !works.is_empty(), &|| cpu_table(works) + &memory_table(works) + &absent(works)),
        section("Chains of calls", !chains.is_empty(), &|| cpu_table(chains)),
        section("Length of the program", !lengths.is_empty(), &|| length_table(lengths)),
        section("Kernels as nvcc compiles them", !kernels.is_empty(), &|| static_table(kernels)),
        section("Kernels on the executor", !kernels.is_empty(), &|| executor_table(kernels)),
    ]
}

/// The page with what was measured in the place of what was there; what was not measured stays.
pub(super) fn renewed(page: &str, sections: &[Section], when: &str) -> String {
    let beginning = |heading: &str| format!("\n## {heading}\n");
    let first = sections.iter().filter_map(|section| page.find(&beginning(section.heading))).min();
    let mut text = page[..first.unwrap_or(page.len())].trim_end().to_owned() + "\n";
    for Section { heading, text: new } in sections {
        let old = page.find(&beginning(heading)).map(|at| {
            let body = &page[at + beginning(heading).len()..];
            body[..body.find("\n## ").unwrap_or(body.len())].trim()
        });
        let body = new.as_ref().map(|new| format!("{when}\n\n{}", new.trim())).or(old.map(str::to_owned));
        if let Some(body) = body {
            let _ = write!(text, "{}\n{body}\n", beginning(heading));
        }
    }
    text
}

fn length_table(lengths: &[Run]) -> String {
    let mut text = "| statements | seconds of `grad` | MB |\n| --- | --- | --- |\n".to_owned();
    for run in lengths {
        let megabytes = run.kilobytes as f64 / 1024.0;
        let _ = writeln!(text, "| {} | {:.1} | {megabytes:.0} |", run.statements, run.seconds);
    }
    text
}

/// What a work is called, with its size.
pub(super) fn title(outcome: &Outcome) -> String {
    let sizes: Vec<String> = outcome.work.sizes[outcome.size].words.iter().map(u32::to_string).collect();
    if outcome.work.sizes.len() > 1 {
        format!("{}, {}", outcome.work.name, sizes.join(" x "))
    } else {
        outcome.work.name.to_owned()
    }
}

/// Ratio to the function, least of all rounds, and how far the third quartile is above that.
fn cpu_table(outcomes: &[Outcome]) -> String {
    let mut text = "| work | function, ms | contestant | value dropped | value returned | goal |\n\
                    | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for outcome in outcomes {
        let mut first = format!("{} | {:.3}", title(outcome), outcome.function.least * 1e3);
        for name in contestants(outcome) {
            let form = |value| found(outcome, &name, value).map_or_else(|| "-".to_owned(), |one| ratio(one, outcome));
            let goal = goal(outcome, &name).map_or_else(String::new, |goal| format!("{goal}"));
            let _ = writeln!(
                text,
                "| {first} | {name} | {} | {} | {goal} |",
                form(Value::Dropped),
                returned(outcome, &name).unwrap_or_else(|| "-".to_owned())
            );
            first = " | ".to_owned();
        }
    }
    text.push('\n');
    text
}

/// A peer's gradient has no value: with it, it costs a call of the function more.
fn returned(outcome: &Outcome, name: &str) -> Option<String> {
    if let Some(one) = found(outcome, name, Value::Returned) {
        return Some(ratio(one, outcome));
    }
    let one = found(outcome, name, Value::Dropped).filter(|one| one.error < WRONG)?;
    outcome.work.has_value.then(|| format!("{:.2}", one.least / outcome.function.least + 1.0))
}

fn goal(outcome: &Outcome, name: &str) -> Option<f64> {
    let size = &outcome.work.sizes[outcome.size];
    match name {
        "Cotangent" => Some(size.goal),
        "Cotangent, rolled back" => size.rolled_back_goal,
        _ => None,
    }
}

fn ratio(one: &Measured, outcome: &Outcome) -> String {
    if one.error > WRONG {
        let percent = 100.0 * one.error;
        return if percent < 1.0 { format!("wrong by {percent:.0e} %") } else { format!("wrong by {percent:.0} %") };
    }
    let of_function = outcome.function.least;
    format!("{:.2} (to {:.2})", one.least / of_function, one.upper / of_function)
}

/// Names, ours first, then by hand, then peers.
pub(super) fn contestants(outcome: &Outcome) -> Vec<String> {
    let mut names: Vec<String> = outcome.gradients.iter().map(|one| one.name.clone()).collect();
    let rank = |name: &str| match name.split(',').next() {
        Some("Cotangent") => 0,
        Some("by hand") => 1,
        _ => 2,
    };
    names.sort_by_key(|name| (rank(name), name.clone()));
    names.dedup();
    names
}

pub(super) fn found<'a>(outcome: &'a Outcome, name: &str, value: Value) -> Option<&'a Measured> {
    outcome.gradients.iter().find(|one| one.name == name && one.value == value)
}

fn memory_table(outcomes: &[Outcome]) -> String {
    let mut text =
        "Memory of a process of its own, for works that must keep values: what it has at most, and for each update \
                    what it has more than the function.\n\n\
                    | work | contestant | MB | bytes an update |\n| --- | --- | --- | --- |\n"
            .to_owned();
    for outcome in outcomes.iter().filter(|outcome| outcome.work.records) {
        let mut first = title(outcome);
        for name in contestants(outcome) {
            let one = found(outcome, &name, Value::Returned).or_else(|| found(outcome, &name, Value::Dropped));
            let Some(one) = one else { continue };
            let megabytes = one.kilobytes / 1024.0;
            let _ = writeln!(text, "| {first} | {name} | {megabytes:.0} | {:.1} |", one.bytes_an_update);
            first.clear();
        }
    }
    text.push('\n');
    text
}

/// Peers that were not measured, and why; each once if it is not installed.
fn absent(outcomes: &[Outcome]) -> String {
    let mut lines = Vec::new();
    for outcome in outcomes {
        for (peer, reason) in &outcome.absent {
            let line = if reason == "not installed" {
                format!("- {peer}: not measured, as it was not installed.\n")
            } else {
                format!("- {peer}, {}: not measured: {reason}.\n", outcome.work.name)
            };
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    if !lines.is_empty() {
        lines.push("\n".to_owned());
    }
    lines.concat()
}

fn static_table(kernels: &[Costs]) -> String {
    let mut text =
        "| kernel | which | registers | spilt bytes | SASS | global atomics | shared atomics | recorded bytes |\n\
                    | --- | --- | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    for costs in kernels {
        let mut row = |first: &str, which: &str, cost: &Cost, bytes: String| {
            let Cost { registers, spills, sass, global_atomics, shared_atomics } = cost;
            let _ = writeln!(
                text,
                "| {first} | {which} | {registers} | {spills} | {sass} | {global_atomics} | {shared_atomics} | {bytes} |"
            );
        };
        row(costs.kernel.name, "the kernel", &costs.primal, String::new());
        row("", "gradient", &costs.joint, costs.joint_bytes.to_string());
        row("", "split, reverse half", &costs.reverse, costs.split_bytes.to_string());
        if let Some(by_hand) = &costs.by_hand {
            row("", "by hand", by_hand, "0".to_owned());
        }
    }
    text.push('\n');
    text
}

fn executor_table(kernels: &[Costs]) -> String {
    let mut text =
        "| kernel | kernel, ms | gradient | by hand | largest difference |\n| --- | --- | --- | --- | --- |\n"
            .to_owned();
    for costs in kernels {
        let [kernel, ours, hand] = costs.seconds;
        let by_hand = if hand > 0.0 { format!("{:.2}", hand / kernel) } else { "-".to_owned() };
        let _ = writeln!(
            text,
            "| {} | {:.2} | {:.2} | {by_hand} | {:.0e} |",
            costs.kernel.name,
            kernel * 1e3,
            ours / kernel,
            costs.error
        );
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_stays_on_the_page() {
        let page = "# Title\n\nWords.\n\n## One\n\nold one\n\n## Two\n\nold two\n";
        let sections = [
            Section { heading: "One", text: Some("new one\n".to_owned()) },
            Section { heading: "Two", text: None },
            Section { heading: "Three", text: Some("new three".to_owned()) },
        ];
        let expected = "# Title\n\nWords.\n\n## One\n\nToday.\n\nnew one\n\n## Two\n\nold two\n\n## Three\n\nToday.\n\nnew three\n";
        assert_eq!(renewed(page, &sections, "Today."), expected);
    }
}

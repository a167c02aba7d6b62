//! The page of what was measured: Markdown tables, for the terminal and for `docs/benchmarks/race.md`.

use std::fmt::Write as _;

use super::Measurements;
use super::cpu::{Measured, Outcome, Value};
use super::kernels::Costs;
use crate::compiled::Cost;

/// Differences above this are no rounding: the number is wrong.
const WRONG: f64 = 1e-6;

/// All tables.
pub(super) fn tables(measured: &Measurements) -> String {
    let mut text = String::new();
    if !measured.works.is_empty() {
        text.push_str("## On the CPU\n\n");
        text.push_str(&cpu_table(&measured.works));
        text.push_str(&memory_table(&measured.works));
        text.push_str(&absent(&measured.works));
    }
    if !measured.chains.is_empty() {
        text.push_str("## Chains of calls\n\n");
        text.push_str(&cpu_table(&measured.chains));
    }
    if !measured.lengths.is_empty() {
        text.push_str("## Length of the program\n\n");
        text.push_str("| statements | seconds of `grad` | MB |\n| --- | --- | --- |\n");
        for run in &measured.lengths {
            let megabytes = run.kilobytes as f64 / 1024.0;
            let _ = writeln!(text, "| {} | {:.1} | {megabytes:.0} |", run.statements, run.seconds);
        }
        text.push('\n');
    }
    if !measured.kernels.is_empty() {
        text.push_str("## Kernels as nvcc compiles them\n\n");
        text.push_str(&static_table(&measured.kernels));
        text.push_str("## Kernels on the executor\n\n");
        text.push_str(&executor_table(&measured.kernels));
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
        return format!("wrong by {:.0} %", 100.0 * one.error);
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

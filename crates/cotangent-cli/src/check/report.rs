//! What a check shows: a table, or the same as JSON, whose fields `docs/check.md` lists.

use anstream::println;
use anyhow::Result;
use serde::Serialize;

use super::Prepared;
use super::against::{Compared, Comparison, Judgement};
use super::compare::{Report, Row};
use super::program::Launch;
use crate::{exit, json};

/// The report, in the order in which it is shown. Numbers that are not finite are `null` in JSON.
#[derive(Serialize)]
pub(super) struct Shown {
    function: String,
    wrt: Vec<String>,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u64,
    samples: usize,
    ok: bool,
    comparisons: Vec<Line>,
    redrawn: usize,
    left_out: usize,
    depends: bool,
    adjoints: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<Against>,
}

#[derive(Serialize)]
struct Line {
    what: String,
    worst: f64,
    allowed: f64,
    ok: bool,
    first_wrong: Option<String>,
}

#[derive(Serialize)]
struct Against {
    functions: Vec<String>,
    allowed: f64,
    ok: bool,
    arrays: Vec<Array>,
    found: Option<String>,
}

#[derive(Serialize)]
struct Array {
    name: String,
    count: usize,
    differing: usize,
    worst: f64,
    at: String,
    ours: f64,
    theirs: f64,
    central_differences: Option<f64>,
    right: &'static str,
}

impl Shown {
    pub(super) fn new(
        prepared: &Prepared,
        launch: Launch,
        samples: usize,
        report: &Report,
        comparison: Option<&Comparison>,
    ) -> Shown {
        let function = &prepared.module.functions[prepared.request.function];
        let name = |param: &cotangent::ir::LocalId| prepared.lifted.name_of(prepared.request.function, *param);
        let is_right = report.rows.iter().all(|row| row.wrong.is_none());
        Shown {
            function: function.name.to_string(),
            wrt: prepared.lifted.wrt.iter().map(name).collect(),
            grid: launch.grid,
            block: launch.block,
            shared_bytes: launch.shared,
            samples,
            ok: is_right && comparison.is_none_or(Comparison::is_equal),
            comparisons: report.rows.iter().map(line).collect(),
            redrawn: report.redrawn,
            left_out: report.left_out,
            depends: report.is_any_dependent,
            adjoints: report.is_any_adjoint,
            against: comparison.map(|comparison| Against {
                functions: comparison.functions.clone(),
                allowed: comparison.allowed,
                ok: comparison.is_equal(),
                arrays: comparison.rows.iter().map(array).collect(),
                found: comparison.found.clone(),
            }),
        }
    }

    /// Prints it; the exit code.
    pub(super) fn print(&self, as_json: bool) -> Result<u8> {
        if as_json {
            json::print(self)?;
        } else {
            self.print_table();
        }
        Ok(if self.ok { exit::SUCCESS } else { exit::PROGRAM })
    }

    fn print_table(&self) {
        let threads = self.grid.iter().chain(&self.block).product::<u32>();
        let threads = if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
        let plural = if self.samples == 1 { "" } else { "s" };
        let (names, samples) = (self.wrt.join(", "), self.samples);
        println!("{} with respect to {names}: {threads}, {samples} sample{plural}", self.function);
        for line in &self.comparisons {
            let verdict = if line.ok { "ok" } else { "WRONG" };
            println!("  {:<58} {:>8.1e} of {:>6.0e}  {verdict}", line.what, line.worst, line.allowed);
        }
        for wrong in self.comparisons.iter().filter_map(|line| line.first_wrong.as_ref()) {
            println!("  first wrong: {wrong}");
        }
        if self.redrawn > 0 {
            println!("  {} samples drawn anew, because a branch or kink was too near", self.redrawn);
        }
        if self.left_out > 0 {
            println!(
                "  {} numbers left out of the differences: too near to a branch or kink in every sample",
                self.left_out
            );
        }
        if !self.depends {
            println!("  nothing was proved: no output that is named depends on an input that is named");
        } else if !self.adjoints {
            println!("  nothing was proved about reverse mode: every adjoint was zero");
        }
        if let Some(against) = &self.against {
            against.print(&self.function);
        }
    }
}

impl Against {
    fn print(&self, function: &str) {
        let names = self.functions.join(", ");
        println!("{names} against the gradient of {function}");
        let [at, ours, theirs, differences] = ["at", "ours", "theirs", "differences"];
        println!("  {:<16} {:>9}    {at:<16} {ours:>12} {theirs:>12} {differences:>12}", "adjoint", "off by");
        for array in &self.arrays {
            let Array { name, worst, at, ours, theirs, .. } = array;
            let differences = array.central_differences.map_or("a kink".to_owned(), |it| format!("{it:.4e}"));
            println!("  {name:<16} {worst:>9.1e}    {at:<16} {ours:>12.4e} {theirs:>12.4e} {differences:>12}");
        }
        if let Some(found) = &self.found {
            println!("  the checks of memory object to {names}:");
            found.lines().for_each(|line| println!("    {line}"));
        }
        for array in self.arrays.iter().filter(|array| array.right != Judgement::Equal.word()) {
            let Array { differing, count, at, right, .. } = array;
            let who = match *right {
                "ours" => "central differences agree with ours".to_owned(),
                "theirs" => format!("central differences agree with {names}"),
                "neither" => "central differences agree with neither".to_owned(),
                _ => "too near to a branch or kink for central differences to say who is right".to_owned(),
            };
            println!("they differ at {at} ({differing} of {count} numbers): {who}");
        }
        if self.arrays.is_empty() {
            println!("nothing was compared: {names} leaves every adjoint that it takes as it was");
        } else if self.ok {
            println!("equal to rounding ({:.0e})", self.allowed);
        }
    }
}

impl Judgement {
    /// The word in JSON.
    fn word(self) -> &'static str {
        match self {
            Judgement::Equal => "both",
            Judgement::Ours => "ours",
            Judgement::Theirs => "theirs",
            Judgement::Neither => "neither",
            Judgement::Nobody => "unknown",
        }
    }
}

fn line(row: &Row) -> Line {
    Line {
        what: row.what.clone(),
        worst: row.worst,
        allowed: row.allowed,
        ok: row.wrong.is_none(),
        first_wrong: row.wrong.clone(),
    }
}

fn array(row: &Compared) -> Array {
    Array {
        name: row.name.clone(),
        count: row.count,
        differing: row.differing,
        worst: row.worst,
        at: row.at.clone(),
        ours: row.ours,
        theirs: row.theirs,
        central_differences: row.differences,
        right: row.judgement.word(),
    }
}

//! `cargo xtask race`: what gradients cost, measured in one run, beside those by hand and those of other tools. It prints
//! tables, and writes them as a page with a picture (`docs/benchmarks/race.md`, `race.svg`). Every gradient that is
//! measured is compared with the one by hand first, and a wrong one of ours fails the command.

mod command;
mod cpu;
mod kernels;
mod length;
mod page;
mod peers;
mod picture;
mod printed;
mod works;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use cotangent_driver::{Environment, Tools};

use self::command::Cotangent;
use self::cpu::{Build, Outcome};
use self::kernels::{Costs, KERNELS};
use self::length::LENGTHS;
use self::page::Section;
use self::peers::Peers;
use self::works::{CHAINS, WORKS, Work};
use crate::workspace;

/// A part of what is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Gradients on the CPU beside those by hand and those of other tools.
    Cpu,
    /// Kernels: what nvcc makes of them, and their cost on the executor.
    Kernels,
    /// Chains of calls.
    Calls,
    /// How long `grad` takes for long functions.
    Length,
}

/// What to measure.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Only works and kernels whose name contains this.
    filter: Option<String>,
    /// Seconds for each contestant of a work.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// A command that is built already, instead of a new one.
    #[arg(long, value_name = "FILE")]
    cotangent: Option<PathBuf>,
    /// Only these parts.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Part::Cpu, Part::Kernels, Part::Calls, Part::Length])]
    parts: Vec<Part>,
    /// A sentence for the page, about the machine.
    #[arg(long)]
    note: Option<String>,
    #[command(flatten)]
    peers: Peers,
}

impl Options {
    fn wants(&self, name: &str) -> bool {
        self.filter.as_deref().is_none_or(|filter| name.to_lowercase().contains(&filter.to_lowercase()))
    }
}

/// All that was measured.
#[derive(Default)]
struct Measurements {
    works: Vec<Outcome>,
    chains: Vec<Outcome>,
    lengths: Vec<length::Run>,
    kernels: Vec<Costs>,
}

/// Measures, prints, and writes the parts of the page that were measured.
pub(crate) fn race(options: &Options) -> Result<()> {
    let tools = Tools::find(Environment::of_process())?;
    let has = |part| options.parts.contains(&part);
    let mut measured = Measurements::default();
    if has(Part::Cpu) {
        measured.works = race_on_cpu(&tools, options, WORKS)?;
    }
    if has(Part::Calls) {
        measured.chains = race_on_cpu(&tools, options, CHAINS)?;
    }
    if has(Part::Length) || has(Part::Kernels) {
        let cotangent = Cotangent::find(options.cotangent.as_deref())?;
        for &statements in LENGTHS.iter().filter(|_| has(Part::Length)) {
            eprintln!("{statements} statements: differentiating");
            measured.lengths.push(length::measure(&cotangent, statements)?);
        }
        for kernel in KERNELS.iter().filter(|kernel| has(Part::Kernels) && options.wants(kernel.name)) {
            eprintln!("{}: compiling and running", kernel.name);
            measured.kernels.push(kernels::measure(&tools, &cotangent, kernel)?);
        }
    }
    let sections = page::sections(&measured);
    for Section { heading, text } in &sections {
        text.iter().for_each(|text| println!("## {heading}\n\n{text}"));
    }
    // What was measured in part is for the terminal only.
    if options.filter.is_none() { write_page(options, &measured, &sections) } else { Ok(()) }
}

/// Writes the parts that were measured.
fn write_page(options: &Options, measured: &Measurements, sections: &[Section]) -> Result<()> {
    let folder = workspace::root().join("docs/benchmarks");
    let path = folder.join("race.md");
    let date = workspace::run(Command::new("date").args(["-u", "+%-d %B %Y"]))?;
    let date = date.trim();
    let note = options.note.as_deref().map(|note| format!(" {note}")).unwrap_or_default();
    let when = format!("{date}, `cargo xtask race`, {} s a contestant.{note}", options.seconds);
    let page = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    fs::write(&path, page::renewed(&page, sections, &when))?;
    if !measured.works.is_empty() {
        fs::write(folder.join("race.svg"), picture::picture(&measured.works, date))?;
    }
    eprintln!("written: docs/benchmarks/race.md, race.svg");
    Ok(())
}

fn race_on_cpu(tools: &Tools, options: &Options, works: &'static [Work]) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for work in works.iter().filter(|work| options.wants(work.name)) {
        eprintln!("{}: compiling", work.name);
        let program = cpu::build(tools, work, &options.peers, Build::Fast)?;
        // What is wrong is found at once, and not after minutes.
        program.check(work.small)?;
        for (index, size) in work.sizes.iter().enumerate() {
            eprintln!("{}: racing at {:?}", work.name, size.words);
            outcomes.push(program.race(index, options.seconds)?);
        }
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::works::{Hand, State};
    use super::*;

    fn checked(work: &'static Work) -> Result<()> {
        let tools = Tools::find(Environment::of_process())?;
        let program = cpu::build(&tools, work, &Peers::default(), Build::Quick)?;
        program.check(work.small).map(|_| ())
    }

    #[test]
    fn gradients_of_the_race_agree_at_a_small_size() {
        // One with a branch, one that returns nothing, one that records.
        let few = ["Black-Scholes, polynomial", "contraction to an array", "Burgers in place"];
        for work in WORKS.iter().filter(|work| few.contains(&work.name)) {
            checked(work).unwrap();
        }
    }

    #[test]
    fn a_gradient_that_leaves_the_wrong_state_is_found() {
        const BURGERS: &Work = &WORKS[6];
        const LIAR: Hand = Hand { name: "by hand, wrong", state: State::RolledBack, ..BURGERS.hands[0] };
        const WORK: &Work = &Work { hands: &[BURGERS.hands[0], LIAR], ..*BURGERS };
        let error = checked(WORK).unwrap_err().to_string();
        assert!(error.contains("by hand, wrong"), "{error}");
        assert!(error.contains("overwritten arrays"), "{error}");
    }
}

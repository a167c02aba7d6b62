//! `cargo xtask race`: what gradients cost, measured in one run, beside those by hand and those of other tools. It prints
//! tables, and writes them as a page with a picture (`docs/benchmarks/race.md`, `race.svg`). Every gradient that is
//! measured is compared with the one by hand first, and a wrong one of ours fails the command.

mod command;
mod cpu;
mod kernels;
mod peers;
mod printed;
mod works;

use std::path::PathBuf;

use anyhow::Result;
use cotangent_driver::{Environment, Tools};

use self::command::Cotangent;
use self::cpu::{Build, Outcome};
use self::kernels::KERNELS;
use self::peers::Peers;
use self::works::WORKS;

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
    #[command(flatten)]
    peers: Peers,
}

impl Options {
    fn wants(&self, name: &str) -> bool {
        self.filter.as_deref().is_none_or(|filter| name.to_lowercase().contains(&filter.to_lowercase()))
    }
}

/// Measures and prints.
pub(crate) fn race(options: &Options) -> Result<()> {
    let tools = Tools::find(Environment::of_process())?;
    let has = |part| options.parts.contains(&part);
    if has(Part::Kernels) {
        let cotangent = Cotangent::find(options.cotangent.as_deref())?;
        for kernel in KERNELS.iter().filter(|kernel| options.wants(kernel.name)) {
            eprintln!("{}: compiling and running", kernel.name);
            let costs = kernels::measure(&tools, &cotangent, kernel)?;
            println!(
                "{} {:?}\n {:?}\n {:?}\n {:?}\n {} {} {:?} {:e}",
                kernel.name,
                costs.primal,
                costs.joint,
                costs.reverse,
                costs.by_hand,
                costs.joint_bytes,
                costs.split_bytes,
                costs.seconds,
                costs.error
            );
        }
    }
    let outcomes = if has(Part::Cpu) { race_on_cpu(&tools, options)? } else { Vec::new() };
    for outcome in &outcomes {
        let of_function = outcome.function.least;
        println!("{} {:?}: {:.3} ms", outcome.work.name, outcome.work.sizes[outcome.size].words, of_function * 1e3);
        for one in &outcome.gradients {
            println!(
                "  {:24} {:9} {:6.2} (median {:6.2}) {:7.1} MB {:5.1} B, error {:.0e}",
                one.name,
                one.value.word(),
                one.least / of_function,
                one.median / of_function,
                one.kilobytes / 1024.0,
                one.bytes_an_update,
                one.error
            );
        }
    }
    Ok(())
}

fn race_on_cpu(tools: &Tools, options: &Options) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for work in WORKS.iter().filter(|work| options.wants(work.name)) {
        eprintln!("{}: compiling", work.name);
        let program = cpu::build(tools, work, &options.peers, Build::Fast)?;
        for (index, size) in work.sizes.iter().enumerate() {
            eprintln!("{}: racing at {:?}", work.name, size.words);
            outcomes.push(program.race(index, options.seconds)?);
        }
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::works::{Hand, State, Work};
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

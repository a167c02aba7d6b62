//! `cotangent __random`: random kernels, checked as `cotangent check` does. Not for users; `cargo xtask random` and the
//! test `random` call it.
//!
//! A kernel whose derivative is refused is counted. One whose derivative is wrong is made smaller and printed.

mod batch;
mod generate;
mod reduce;
pub(crate) mod tree;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use cotangent_driver::{Environment, Tools};

use self::batch::{Builds, Outcome, Way, outcomes};
use self::generate::generate;
use self::reduce::reduce;
use self::tree::Kernel;
use crate::check::each_batch::each_batch;
use crate::exit;

/// The word that asks for it.
pub(crate) const NAME: &str = "__random";

/// At most so many of a hundred kernels may be refused.
const REFUSED_PERCENT: usize = 5;

/// Every so many batches, derivatives are checked in native precision too.
const NATIVE: u64 = 4;

struct Options {
    seeds: Range<u64>,
    batch: u64,
    jobs: usize,
    /// Where wrong kernels go, as fixtures.
    folder: Option<PathBuf>,
    /// Make refused kernels small too.
    refusals: bool,
    /// Have nvcc compile the kernels too, and execute what it makes.
    nvcc: bool,
    /// Check derivatives with each planner alone too, and with none.
    alone: bool,
    /// Print the kernels instead.
    print: bool,
}

/// What was found so far.
#[derive(Default)]
struct Found {
    checked: usize,
    left_out: usize,
    /// Kernels whose record has a stated size.
    stated: usize,
    /// Kernels whose record has a budget.
    within: usize,
    /// By code and message: how often, and a seed.
    refused: BTreeMap<String, (usize, u64)>,
    /// By the way in which they are wrong: how many, and the first made small.
    wrong: BTreeMap<String, (usize, String)>,
}

/// Checks the kernels of `--seeds A..B`.
pub(crate) fn random(words: &[OsString]) -> Result<u8> {
    let options = options(words)?;
    if options.print {
        options.seeds.for_each(|seed| println!("{}", generate(seed).fixture("A random kernel.")));
        return Ok(exit::SUCCESS);
    }
    let tools = Tools::find(Environment::of_process())?;
    let found = Mutex::new(Found::default());
    let start = Instant::now();
    each_batch(&options.seeds, options.batch, options.jobs, |seeds| {
        let builds = match (seeds.start / options.batch).is_multiple_of(NATIVE) {
            _ if options.nvcc => Builds::Nvcc,
            true => Builds::Native,
            false => Builds::Widened,
        };
        let kernels: Vec<Kernel> = seeds.map(generate).collect();
        let way = Way { builds, alone: options.alone };
        let outcomes = outcomes(&tools, &kernels, way)?;
        for (kernel, outcome) in kernels.iter().zip(outcomes) {
            note(&tools, kernel, outcome, way, &options, &found)?;
        }
        let found = found.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let refused: usize = found.refused.values().map(|(count, _)| count).sum();
        let wrong: usize = found.wrong.values().map(|(count, _)| count).sum();
        let seconds = start.elapsed().as_secs();
        eprintln!("{} kernels, {refused} refused, {wrong} wrong, {seconds} s", found.checked);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(show(&found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())))
}

fn options(words: &[OsString]) -> Result<Options> {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut options = Options {
        seeds: 0..0,
        batch: 125,
        jobs,
        folder: None,
        refusals: false,
        nvcc: false,
        alone: false,
        print: false,
    };
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--print" => options.print = true,
            "--refusals" => options.refusals = true,
            "--nvcc" => options.nvcc = true,
            "--alone" => options.alone = true,
            _ => {}
        }
        if matches!(word.as_str(), "--print" | "--refusals" | "--nvcc" | "--alone") {
            continue;
        }
        let value = words.next().with_context(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--seeds" => {
                let (first, end) = value.split_once("..").context("--seeds A..B")?;
                options.seeds = first.parse()?..end.parse()?;
            }
            "--batch" => options.batch = value.parse::<u64>()?.max(1),
            "--jobs" => options.jobs = value.parse::<usize>()?.max(1),
            "--wrong" => options.folder = Some(PathBuf::from(value)),
            _ => bail!("{word} is none of --seeds, --batch, --jobs, --wrong, --alone, --refusals, --nvcc, --print"),
        }
    }
    Ok(options)
}

/// Counts an outcome; the first kernel that is wrong in some way is made small.
fn note(
    tools: &Tools,
    kernel: &Kernel,
    outcome: Outcome,
    way: Way,
    options: &Options,
    found: &Mutex<Found>,
) -> Result<()> {
    let lock = || found.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    lock().checked += 1;
    if let Outcome::Right { left_out, is_stated, is_within } = outcome {
        let mut found = lock();
        found.left_out += usize::from(left_out > 0);
        found.stated += usize::from(is_stated);
        found.within += usize::from(is_within);
    }
    let Some((kind, detail)) = outcome.kind() else { return Ok(()) };
    if let Outcome::Refused { .. } = outcome {
        let mut found = lock();
        let entry = found.refused.entry(kind.clone()).or_insert((0, kernel.seed));
        entry.0 += 1;
        if entry.0 > 1 || !options.refusals {
            return Ok(());
        }
        drop(found);
        return small(tools, kernel, &kind, &detail, way, options).map(drop);
    }
    let is_first = {
        let mut found = lock();
        let entry = found.wrong.entry(kind.clone()).or_default();
        entry.0 += 1;
        entry.0 == 1
    };
    eprintln!("seed {}: {kind}: {}", kernel.seed, detail.lines().next().unwrap_or(""));
    if !is_first {
        return Ok(());
    }
    let fixture = small(tools, kernel, &kind, &detail, way, options)?;
    if let Some(entry) = lock().wrong.get_mut(&kind) {
        entry.1 = fixture;
    }
    Ok(())
}

/// The smallest kernel that is wrong or refused in this way, as a fixture.
fn small(tools: &Tools, kernel: &Kernel, kind: &str, detail: &str, way: Way, options: &Options) -> Result<String> {
    // A smaller kernel is built only in the way in which the kernel is wrong.
    let builds = match way.builds {
        Builds::Nvcc if kind.contains("nvcc") => Builds::Nvcc,
        Builds::Native | Builds::Nvcc if kind.contains("native") => Builds::Native,
        Builds::Widened | Builds::Native | Builds::Nvcc => Builds::Widened,
    };
    let (small, said) = reduce(tools, kernel, kind, Way { builds, ..way })?;
    let said = if said.is_empty() { detail } else { &said };
    let fixture = small.fixture(&format!("{kind}\n{said}"));
    eprintln!("{fixture}");
    if let Some(folder) = &options.folder {
        let word: String = kind.chars().filter(|it| it.is_alphanumeric() || *it == ' ').take(60).collect();
        let name = format!("{}_{}.cu", word.trim().replace(' ', "_"), kernel.seed);
        std::fs::write(folder.join(name), &fixture).context("cannot write a kernel")?;
    }
    Ok(fixture)
}

/// Prints the summary.
fn show(found: &Found) -> u8 {
    let refused: usize = found.refused.values().map(|(count, _)| count).sum();
    let wrong: usize = found.wrong.values().map(|(count, _)| count).sum();
    let Found { checked, left_out, stated, within, .. } = found;
    println!(
        "{checked} kernels: {refused} refused, {wrong} wrong, {left_out} near a kink, {stated} with --record-slots, {within} \
         with --record-budget"
    );
    for (kind, (count, seed)) in &found.refused {
        println!("  {count:>6}  {kind} (seed {seed})");
    }
    for (kind, (count, fixture)) in &found.wrong {
        println!("  {count:>6}  WRONG {kind}\n{fixture}");
    }
    let is_refused = refused * 100 > found.checked * REFUSED_PERCENT;
    if is_refused {
        println!("more than {REFUSED_PERCENT} % are refused");
    }
    if is_refused || wrong > 0 { exit::PROGRAM } else { exit::SUCCESS }
}

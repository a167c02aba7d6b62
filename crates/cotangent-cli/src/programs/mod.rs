//! `cotangent __programs`: random whole programs, whose gradients are compared with differences of the programs
//! themselves. Not for users; `cargo xtask programs` and the test `random` call it.
//!
//! A program whose gradient is refused is counted. One that is wrong is made smaller and printed.

mod batch;
mod features;
mod generate;
mod reduce;
mod tree;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use cotangent_driver::{Environment, Tools};

use self::batch::{Outcome, Way, outcomes};
use self::features::{FEATURES, Feature};
use self::generate::generate;
use self::reduce::reduce;
use self::tree::Program;
use crate::check::each_batch::each_batch;
use crate::exit;

/// The word that asks for it.
pub(crate) const NAME: &str = "__programs";

/// At most so many of a hundred programs may be refused in a run of many; and in one of few, where chance decides.
const REFUSED_PERCENT: usize = 5;
const REFUSED_PERCENT_OF_FEW: usize = 20;

/// At least so many of a hundred programs have each feature, in a run of many.
const FEATURE_PERCENT: usize = 5;
const MANY: usize = 500;

/// Every so many batches, one is run without checks of accesses.
const UNCHECKED: u64 = 5;

struct Options {
    seeds: Range<u64>,
    batch: u64,
    jobs: usize,
    /// Where wrong programs go.
    folder: Option<PathBuf>,
    /// Do not make wrong programs small.
    as_is: bool,
    /// Stop after a batch with a wrong program.
    first: bool,
    /// Make refused programs small too.
    refusals: bool,
    /// Have nvcc compile the programs, and execute what it makes.
    nvcc: bool,
    /// Print the programs instead.
    print: bool,
    /// Only say what programs have.
    shares: bool,
}

/// What was found so far.
#[derive(Default)]
struct Found {
    checked: usize,
    compared: usize,
    left_out: usize,
    features: BTreeMap<Feature, usize>,
    /// By code and message: how often, and a seed.
    refused: BTreeMap<String, (usize, u64)>,
    /// By the way in which they are wrong: the seeds, and the first made small.
    wrong: BTreeMap<String, (Vec<u64>, String)>,
}

impl Found {
    fn count(&mut self, program: &Program) {
        self.checked += 1;
        for feature in &program.features {
            *self.features.entry(*feature).or_default() += 1;
        }
    }

    fn refused(&self) -> usize {
        self.refused.values().map(|(count, _)| count).sum()
    }

    fn wrong(&self) -> usize {
        self.wrong.values().map(|(seeds, _)| seeds.len()).sum()
    }
}

/// Checks the programs of `--seeds A..B`.
pub(crate) fn programs(words: &[OsString]) -> Result<u8> {
    let options = options(words)?;
    if options.print {
        options.seeds.for_each(|seed| println!("{}", generate(seed).file("A random program.")));
        return Ok(exit::SUCCESS);
    }
    if options.shares {
        let mut found = Found::default();
        options.seeds.for_each(|seed| found.count(&generate(seed)));
        return Ok(show(&found));
    }
    let tools = Tools::find(Environment::of_process())?;
    let found = Mutex::new(Found::default());
    let start = Instant::now();
    each_batch(&options.seeds, options.batch, options.jobs, |seeds| {
        let check = !(seeds.start / options.batch).is_multiple_of(UNCHECKED);
        let way = Way { check, nvcc: options.nvcc };
        let programs: Vec<Program> = seeds.map(generate).collect();
        for (program, outcome) in programs.iter().zip(outcomes(&tools, &programs, way)?) {
            note(&tools, program, outcome, way, &options, &found)?;
        }
        let found = found.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let seconds = start.elapsed().as_secs();
        let Found { checked, .. } = *found;
        eprintln!("{checked} programs, {} refused, {} wrong, {seconds} s", found.refused(), found.wrong());
        let is_enough = options.first && found.wrong() > 0;
        Ok(if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(show(&found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())))
}

fn options(words: &[OsString]) -> Result<Options> {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut options = Options {
        seeds: 0..0,
        batch: 40,
        jobs,
        folder: None,
        as_is: false,
        first: false,
        refusals: false,
        nvcc: false,
        print: false,
        shares: false,
    };
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--print" => options.print = true,
            "--shares" => options.shares = true,
            "--as-is" => options.as_is = true,
            "--first" => (options.first, options.as_is) = (true, true),
            "--refusals" => options.refusals = true,
            "--nvcc" => options.nvcc = true,
            "--seeds" => {
                let value = value()?;
                let (first, end) = value.split_once("..").context("--seeds A..B")?;
                options.seeds = first.parse()?..end.parse()?;
            }
            "--batch" => options.batch = value()?.parse::<u64>()?.max(1),
            "--jobs" => options.jobs = value()?.parse::<usize>()?.max(1),
            "--wrong" => options.folder = Some(PathBuf::from(value()?)),
            _ => bail!(
                "{word} is none of --seeds, --batch, --jobs, --wrong, --as-is, --first, --refusals, --nvcc, --shares, --print"
            ),
        }
    }
    // Of few programs, every job has some.
    let count = options.seeds.end.saturating_sub(options.seeds.start);
    options.batch = options.batch.min(count.div_ceil(options.jobs as u64)).max(1);
    Ok(options)
}

/// Counts an outcome; the first program that is wrong in some way is made small.
fn note(
    tools: &Tools,
    program: &Program,
    outcome: Outcome,
    way: Way,
    options: &Options,
    found: &Mutex<Found>,
) -> Result<()> {
    let lock = || found.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    lock().count(program);
    match outcome {
        Outcome::Right { compared, left_out } => {
            let mut found = lock();
            found.compared += compared;
            found.left_out += left_out;
        }
        Outcome::Refused { kind, detail } => {
            let is_first = {
                let mut found = lock();
                let entry = found.refused.entry(kind.clone()).or_insert((0, program.seed));
                entry.0 += 1;
                entry.0 == 1
            };
            if is_first && options.refusals {
                small(tools, program, &kind, &detail, way, options)?;
            }
        }
        Outcome::Wrong { kind, detail } => {
            eprintln!("seed {}: {kind}: {}", program.seed, detail.lines().next().unwrap_or(""));
            let is_first = {
                let mut found = lock();
                let entry = found.wrong.entry(kind.clone()).or_default();
                entry.0.push(program.seed);
                entry.0.len() == 1
            };
            if is_first {
                let file = small(tools, program, &kind, &detail, way, options)?;
                lock().wrong.entry(kind).or_default().1 = file;
            }
        }
    }
    Ok(())
}

/// The smallest program that is wrong or refused in this way, as a file.
fn small(tools: &Tools, program: &Program, kind: &str, detail: &str, way: Way, options: &Options) -> Result<String> {
    let (small, said) = match options.as_is {
        true => (program.clone(), String::new()),
        false => reduce(tools, program, kind, way)?,
    };
    let said = if said.is_empty() { detail } else { &said };
    let file = small.file(&format!("{kind}\n{said}"));
    if let Some(folder) = &options.folder {
        let word: String = kind.chars().filter(|it| it.is_alphanumeric() || *it == ' ').take(50).collect();
        let name = format!("{}_{}.cu", word.trim().replace(' ', "_"), program.seed);
        std::fs::write(folder.join(name), &file).context("cannot write a program")?;
    }
    Ok(small.shown(&format!("{kind}\n{said}")))
}

/// Prints the summary.
fn show(found: &Found) -> u8 {
    let (refused, wrong) = (found.refused(), found.wrong());
    let Found { checked, compared, left_out, .. } = found;
    println!(
        "{checked} programs: {refused} refused, {wrong} wrong; {compared} directions compared, {left_out} left out at kinks"
    );
    for (kind, (count, seed)) in &found.refused {
        println!("  {count:>6}  {kind} (seed {seed})");
    }
    for (kind, (seeds, file)) in &found.wrong {
        println!("  {:>6}  WRONG {kind} (seeds {seeds:?})\n{file}", seeds.len());
    }
    println!("of a hundred programs have");
    let mut is_rare = false;
    for (feature, name) in FEATURES {
        let share = 100.0 * found.features.get(feature).copied().unwrap_or(0) as f64 / (*checked).max(1) as f64;
        let is_too_rare = share < FEATURE_PERCENT as f64 && *checked >= MANY;
        is_rare |= is_too_rare;
        println!("  {share:>6.1}  {name}{}", if is_too_rare { ": TOO FEW" } else { "" });
    }
    let most = if *checked >= MANY { REFUSED_PERCENT } else { REFUSED_PERCENT_OF_FEW };
    let is_refused = refused * 100 > *checked * most;
    if is_refused {
        println!("more than {most} % are refused");
    }
    if is_refused || is_rare || wrong > 0 { exit::PROGRAM } else { exit::SUCCESS }
}

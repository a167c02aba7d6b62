//! Mutation testing of the compiler's `analysis` and `transform`: small changes drawn at random, tried one at a time. Tests
//! must fail with each, the cheap ones first.
//!
//! `cargo mutants --list` says which changes there are. All that are drawn are built once, into a copy of the last commit
//! (`schema.rs`): building each by itself takes ten times as long as its tests. What came of one is a line of a log, so that a run which was stopped
//! goes on where it was. Run again, it prints the table of what the log has.

mod schema;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use self::schema::Change;
use crate::workspace::{self, git};

/// What is drawn, and how much of it.
#[derive(clap::Args)]
pub(crate) struct Draw {
    /// How many mutants that build.
    #[arg(long, default_value_t = 150)]
    count: usize,
    /// Another seed draws others.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Only every n-th, from the k-th on, in folders of their own: `1/2` and `2/2` may run at once.
    #[arg(long, value_name = "K/N", value_parser = parse_shard, default_value = "1/1")]
    shard: (usize, usize),
    /// Only the first tiers: the last takes minutes for a survivor.
    #[arg(long, default_value_t = TIERS.len())]
    tiers: usize,
    /// Try the survivors of the log again.
    #[arg(long)]
    again: bool,
}

/// Tests that run together. A tier is only run if the mutant survived those before it.
struct Tier {
    name: &'static str,
    tests: &'static [&'static str],
    filter: &'static [&'static str],
    /// Environment of its own.
    variable: Option<&'static str>,
    /// A mutant that takes longer does not end.
    seconds: u32,
}

const TIERS: &[Tier] = &[
    Tier {
        name: "units and texts",
        tests: &["--package", "cotangent", "--lib", "--test", "texts"],
        filter: &[],
        variable: None,
        seconds: 60,
    },
    // Executing a derivative whose text is as committed proves nothing more.
    Tier {
        name: "derivatives of fixtures",
        tests: &["--package", "cotangent-cli", "--test", "grad"],
        filter: &["--quiet"],
        variable: Some("COTANGENT_MODULES"),
        seconds: 60,
    },
    Tier {
        name: "refusals",
        tests: &["--package", "cotangent-cli", "--test", "grad"],
        filter: &["refused::"],
        variable: None,
        seconds: 300,
    },
    Tier {
        name: "executed",
        tests: &["--package", "cotangent-cli", "--test", "main"],
        filter: &["trust", "random"],
        variable: None,
        seconds: 900,
    },
];

/// The seed of the random kernels, so that a mutant meets the same ones again.
const SEED_OF_KERNELS: &str = "1";

/// A build from nothing must end in it too.
const BUILD_SECONDS: u32 = 1800;

/// In KiB: a mutant may not take the machine's memory.
const MEMORY: u64 = 16 << 20;

/// Draws mutants, tries those that the log has not, and prints the table; an error if one survives.
pub(crate) fn mutants(draw: &Draw) -> Result<()> {
    let (shard, shards) = draw.shard;
    let mut bench = Bench::new(draw)?;
    let mut listed = list()?;
    listed.sort_by_cached_key(|mutant| {
        let mut hasher = DefaultHasher::new();
        (draw.seed, &mutant.name).hash(&mut hasher);
        hasher.finish()
    });
    let drawn: Vec<&Mutant> = listed.iter().skip(shard - 1).step_by(shards).collect();
    let chosen = bench.build(&drawn, draw.count.div_ceil(shards))?;
    let is_left = |bench: &Bench, mutant: &Mutant| match bench.known.get(&mutant.name) {
        Some(outcome) => draw.again && outcome.result == SURVIVED,
        None => true,
    };
    if chosen.iter().any(|mutant| is_left(&bench, mutant)) {
        println!("without a mutant:");
        // The first time it makes the modules.
        let outcome = bench.run(None, BUILD_SECONDS)?;
        let modules = bench.modules.display();
        let help = format!("if lowering has changed since an earlier run, delete {modules}");
        ensure!(outcome.result == SURVIVED, "without a mutant, not all pass: {}\n{help}", outcome.result);
        println!("  all pass, {} s", outcome.seconds);
    }
    for (index, mutant) in chosen.iter().enumerate() {
        if is_left(&bench, mutant) {
            println!("[{}/{}] {}", index + 1, chosen.len(), mutant.name);
            let outcome = bench.run(Some(mutant.change.number), 0)?;
            println!("  {}, {} s", outcome.result, outcome.seconds);
            bench.note(mutant, outcome)?;
        }
    }
    print_table(&chosen, &bench.known, listed.len())
}

/// `K/N`, both from 1.
fn parse_shard(text: &str) -> Result<(usize, usize), String> {
    let parsed = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    parsed.filter(|(k, n)| (1..=*n).contains(k)).ok_or_else(|| "a shard is K/N, with K from 1 to N".to_owned())
}

/// A change of the sources.
struct Mutant {
    name: String,
    file: String,
    change: Change,
}

/// What came of a mutant: a constant below, a tier's name, or one after [`TIMEOUT`].
struct Outcome {
    result: String,
    seconds: u64,
}

const SURVIVED: &str = "survived";
const UNVIABLE: &str = "does not build";

/// The root of the crate that is changed.
const LIB: &str = "crates/cotangent/src/lib.rs";

const TIMEOUT: &str = "timeout: ";

/// All mutants of the last commit.
fn list() -> Result<Vec<Mutant>> {
    let changed = git(&workspace::root(), &["status", "--porcelain", "--", "crates"])?;
    ensure!(changed.is_empty(), "mutants are drawn from the last commit, and there are changes since:\n{changed}");
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(workspace::root()).args(["mutants", "--list", "--json", "--package", "cotangent"]);
    command.args(["-f", "crates/cotangent/src/analysis/**", "-f", "crates/cotangent/src/transform/**"]);
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{said}\n`cargo install cargo-mutants --locked` installs what lists mutants");
    let values: Vec<Value> = serde_json::from_slice(&output.stdout).context("cargo mutants --list --json")?;
    let mutant = |(number, value): (usize, &Value)| -> Option<Mutant> {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let number_at = |end: &str, key: &str| usize::try_from(value["span"][end][key].as_u64()?).ok();
        let place = |end: &str| Some((number_at(end, "line")?, number_at(end, "column")?));
        let (start, replacement) = (place("start")?, text("replacement")?);
        let change = Change { number, genre: text("genre")?, start, replacement };
        Some(Mutant { name: text("name")?, file: text("file")?, change })
    };
    let found: Option<Vec<Mutant>> = values.iter().enumerate().map(mutant).collect();
    found.context("`cargo mutants` describes mutants in another way than version 27 did")
}

/// Where mutants are tried.
struct Bench {
    /// A worktree, in which all that are drawn stand beside what they replace.
    tree: PathBuf,
    /// The target folder.
    build: PathBuf,
    /// The modules of fixtures. Clang takes minutes for them, so they are kept.
    modules: PathBuf,
    log: PathBuf,
    /// How many are run.
    tiers: usize,
    /// What the log has: the last outcome of each mutant.
    known: HashMap<String, Outcome>,
}

impl Bench {
    fn new(draw: &Draw) -> Result<Bench> {
        let (shard, shards) = draw.shard;
        let folder = workspace::root().join(format!("target/mutants/{shard}-of-{shards}"));
        let [tree, build, modules] = ["tree", "build", "modules"].map(|name| folder.join(name));
        let log = folder.join(format!("{}.jsonl", draw.seed));
        let head = git(&workspace::root(), &["rev-parse", "HEAD"])?;
        if !tree.exists() {
            git(&workspace::root(), &["worktree", "add", "--detach", &tree.display().to_string(), "HEAD"])?;
        }
        if git(&tree, &["rev-parse", "HEAD"])? != head {
            git(&tree, &["checkout", "--force", "--detach", head.trim()])?;
        }
        fs::create_dir_all(&modules)?;
        let text = if log.exists() { fs::read_to_string(&log)? } else { String::new() };
        // The last line may be cut off.
        let known = text.lines().filter_map(parse_line).collect();
        Ok(Bench { tree, build, modules, log, tiers: draw.tiers.min(TIERS.len()), known })
    }

    /// Keeps what came of a mutant.
    fn note(&mut self, mutant: &Mutant, outcome: Outcome) -> Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.log)?;
        let line = json!({ "mutant": mutant.name, "result": outcome.result, "seconds": outcome.seconds });
        writeln!(file, "{line}")?;
        self.known.insert(mutant.name.clone(), outcome);
        Ok(())
    }

    /// Builds the first mutants that can be, so many of them.
    fn build<'m>(&mut self, drawn: &[&'m Mutant], count: usize) -> Result<Vec<&'m Mutant>> {
        loop {
            let is_unviable = |it: &Mutant| self.known.get(&it.name).is_some_and(|known| known.result == UNVIABLE);
            let chosen: Vec<&Mutant> = drawn.iter().copied().filter(|it| !is_unviable(it)).take(count).collect();
            println!("building {} mutants", chosen.len());
            let mut unviable = self.write_sources(&chosen)?;
            if unviable.is_empty() {
                let output =
                    self.cargo(&TIERS[0], BUILD_SECONDS).args(["--no-run", "--message-format=json"]).output()?;
                if output.status.success() {
                    return Ok(chosen);
                }
                let said = String::from_utf8_lossy(&output.stdout);
                unviable = said.lines().filter_map(blamed).collect();
                let errors = String::from_utf8_lossy(&output.stderr);
                ensure!(!unviable.is_empty(), "the mutants do not build, and rustc blames none:\n{errors}");
            }
            for mutant in chosen.iter().filter(|mutant| unviable.contains(&mutant.change.number)) {
                println!("  does not build: {}", mutant.name);
                self.note(mutant, Outcome { result: UNVIABLE.to_owned(), seconds: 0 })?;
            }
        }
    }

    /// Writes the files that have mutants, and those that no longer have. Returns the mutants that cannot be written.
    fn write_sources(&self, chosen: &[&Mutant]) -> Result<BTreeSet<usize>> {
        let mut texts: BTreeMap<String, Vec<&Change>> = BTreeMap::from([(LIB.to_owned(), Vec::new())]);
        let changed = git(&self.tree, &["diff", "--name-only"])?;
        texts.extend(changed.lines().map(|file| (file.to_owned(), Vec::new())));
        chosen.iter().for_each(|mutant| texts.entry(mutant.file.clone()).or_default().push(&mutant.change));
        let mut impossible = BTreeSet::new();
        for (file, changes) in texts {
            let text = git(&self.tree, &["show", &format!("HEAD:{file}")])?;
            let (mut text, failed) = schema::with_changes(&text, &changes).with_context(|| file.clone())?;
            impossible.extend(failed);
            if file == LIB {
                text = format!("#![allow(warnings)]{text}{}", schema::SWITCH);
            }
            let path = self.tree.join(file);
            // What has not changed is not built again.
            if fs::read_to_string(&path)? != text {
                fs::write(path, text)?;
            }
        }
        Ok(impossible)
    }

    /// Which tier fails first. A tier may take its own time, or this if it is longer.
    fn run(&self, mutant: Option<usize>, seconds: u32) -> Result<Outcome> {
        let start = Instant::now();
        let outcome = |result: String| Outcome { result, seconds: start.elapsed().as_secs() };
        for tier in &TIERS[..self.tiers] {
            if mutant.is_none() {
                let status = self.cargo(tier, BUILD_SECONDS).arg("--no-run").stderr(Stdio::inherit()).status()?;
                ensure!(status.success(), "the tests `{}` do not build", tier.name);
            }
            let mut command = self.cargo(tier, tier.seconds.max(seconds));
            command.envs(mutant.map(|number| ("COTANGENT_MUTANT", number.to_string())));
            command.arg("--").args(tier.filter).stdout(Stdio::null()).stderr(Stdio::null());
            match command.status()?.code() {
                Some(0) => {}
                Some(TIMED_OUT | KILLED) => return Ok(outcome(format!("{TIMEOUT}{}", tier.name))),
                Some(_) => return Ok(outcome(tier.name.to_owned())),
                None => bail!("the tests `{}` were stopped", tier.name),
            }
        }
        Ok(outcome(SURVIVED.to_owned()))
    }

    /// A bounded `cargo test`.
    fn cargo(&self, tier: &Tier, seconds: u32) -> Command {
        let mut command = Command::new("bash");
        let script = format!("ulimit -v {MEMORY}; exec timeout --kill-after=5 {seconds} \"$0\" \"$@\"");
        command.args(["-c", &script, env!("CARGO"), "test"]).args(tier.tests);
        command.current_dir(&self.tree).env("CARGO_TARGET_DIR", &self.build).env("CARGO_PROFILE_DEV_DEBUG", "0");
        command.env("COTANGENT_SEED", SEED_OF_KERNELS).env("RUST_MIN_STACK", (64 << 20).to_string());
        command.envs(tier.variable.map(|variable| (variable, &self.modules)));
        command
    }
}

/// A line of the log.
fn parse_line(line: &str) -> Option<(String, Outcome)> {
    let value: Value = serde_json::from_str(line).ok()?;
    let result = value["result"].as_str()?.to_owned();
    Some((value["mutant"].as_str()?.to_owned(), Outcome { result, seconds: value["seconds"].as_u64()? }))
}

/// The mutant that a message of cargo's is about: an error stands behind the last number before it.
fn blamed(line: &str) -> Option<usize> {
    let value: Value = serde_json::from_str(line).ok()?;
    let message = value["message"].as_object().filter(|message| message["level"] == "error")?;
    message["spans"].as_array()?.iter().find_map(|span| {
        let (text, column) = (span["text"][0]["text"].as_str()?, span["column_start"].as_u64()?);
        let before: String = text.chars().take(usize::try_from(column).ok()?).collect();
        let (_, number) = before.rsplit_once("crate::is_mutant(")?;
        number.split_once(')')?.0.parse().ok()
    })
}

/// What `timeout` returns after it ended a command, and after it had to kill it.
const TIMED_OUT: i32 = 124;
const KILLED: i32 = 137;

fn print_table(chosen: &[&Mutant], known: &HashMap<String, Outcome>, total: usize) -> Result<()> {
    println!("\n{} of {total} mutants\n\n| outcome | mutants | seconds each |\n| --- | --- | --- |", chosen.len());
    let tiers = TIERS.iter().flat_map(|tier| [tier.name.to_owned(), format!("{TIMEOUT}{}", tier.name)]);
    for result in tiers.chain([SURVIVED.to_owned()]) {
        let outcomes = chosen.iter().map(|mutant| &known[&mutant.name]).filter(|outcome| outcome.result == result);
        let seconds: Vec<u64> = outcomes.map(|outcome| outcome.seconds).collect();
        if !seconds.is_empty() {
            println!("| {result} | {} | {} |", seconds.len(), seconds.iter().sum::<u64>() / seconds.len() as u64);
        }
    }
    let survivors = chosen.iter().filter(|mutant| known[&mutant.name].result == SURVIVED);
    let survivors: Vec<&str> = survivors.map(|mutant| &*mutant.name).collect();
    ensure!(survivors.is_empty(), "{} survive:\n  {}", survivors.len(), survivors.join("\n  "));
    Ok(())
}

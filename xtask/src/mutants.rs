//! Mutation testing of the compiler's `analysis` and `transform`: small changes drawn at random, each made alone in a copy of
//! the last commit. Tests must fail with it, the cheap ones first.
//!
//! `cargo mutants --list` says which changes there are. What came of one is a line of a log, so that a run which was stopped
//! goes on where it was. Run again, it prints the table of what the log has.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

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
    /// Try the survivors of the log again.
    #[arg(long)]
    again: bool,
}

/// Tests that run together. A tier is only built and run if the mutant survived those before it.
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
        seconds: 120,
    },
    // Executing a derivative whose text is as committed proves nothing more.
    Tier {
        name: "derivatives of fixtures",
        tests: &["--package", "cotangent-cli", "--test", "grad"],
        filter: &["--quiet"],
        variable: Some("COTANGENT_MODULES"),
        seconds: 120,
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
        tests: &["--package", "cotangent-cli", "--test", "check_command", "--test", "random"],
        filter: &[],
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
    let bench = Bench::new(draw)?;
    let (shard, shards) = draw.shard;
    let mut drawn = list(&bench.tree)?;
    let rank = |mutant: &Mutant| {
        let mut hasher = DefaultHasher::new();
        (draw.seed, &mutant.name).hash(&mut hasher);
        hasher.finish()
    };
    drawn.sort_by_cached_key(rank);
    let total = drawn.len();
    let drawn: Vec<Mutant> = drawn.into_iter().skip(shard - 1).step_by(shards).collect();
    let wanted = draw.count.div_ceil(shards);
    let mut log = bench.log()?;
    let is_done = |log: &HashMap<String, Outcome>, mutant: &Mutant| {
        log.get(&mutant.name).is_some_and(|outcome| !(draw.again && outcome.result == SURVIVED))
    };
    if drawn.iter().take(wanted).any(|mutant| !is_done(&log, mutant)) {
        println!("without a mutant:");
        // The first time it makes the modules.
        let outcome = bench.run(BUILD_SECONDS)?;
        let modules = bench.modules.display();
        let help = format!("if lowering has changed since an earlier run, delete {modules}");
        ensure!(outcome.result == SURVIVED, "without a mutant, not all pass: {}\n{help}", outcome.result);
        println!("  all pass, {} s", outcome.seconds);
    }
    let (mut tried, mut built): (Vec<&Mutant>, usize) = (Vec::new(), 0);
    for mutant in &drawn {
        if built == wanted {
            break;
        }
        if !is_done(&log, mutant) {
            println!("[{}/{wanted}] {}", built + 1, mutant.name);
            bench.apply(mutant)?;
            let outcome = bench.run(0);
            git(&bench.tree, &["checkout", "--force", "--", "."])?;
            let outcome = outcome?;
            println!("  {}, {} s", outcome.result, outcome.seconds);
            bench.write(&mutant.name, &outcome)?;
            log.insert(mutant.name.clone(), outcome);
        }
        built += usize::from(log[&mutant.name].result != UNVIABLE);
        tried.push(mutant);
    }
    print_table(&tried, &log, total)
}

/// `K/N`, both from 1.
fn parse_shard(text: &str) -> Result<(usize, usize), String> {
    let parsed = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    parsed.filter(|(k, n)| (1..=*n).contains(k)).ok_or_else(|| "a shard is K/N, with K from 1 to N".to_owned())
}

/// A change of the sources.
struct Mutant {
    name: String,
    /// For `git apply`.
    patch: String,
}

/// What came of a mutant: a constant below, a tier's name, or one after [`TIMEOUT`].
struct Outcome {
    result: String,
    seconds: u64,
}

const SURVIVED: &str = "survived";
const UNVIABLE: &str = "does not build";
const TIMEOUT: &str = "timeout: ";

/// All mutants of a tree.
fn list(tree: &Path) -> Result<Vec<Mutant>> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(tree).args(["mutants", "--list", "--json", "--diff", "--package", "cotangent"]);
    command.args(["-f", "crates/cotangent/src/analysis/**", "-f", "crates/cotangent/src/transform/**"]);
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{said}\n`cargo install cargo-mutants --locked` installs what lists mutants");
    let values: Vec<Value> = serde_json::from_slice(&output.stdout).context("cargo mutants --list --json")?;
    let mutant = |value: &Value| -> Option<Mutant> {
        let [name, file, diff] = ["name", "file", "diff"].map(|key| value[key].as_str());
        let (file, hunks) = (file?, diff?.split_once("@@")?.1);
        Some(Mutant { name: name?.to_owned(), patch: format!("--- a/{file}\n+++ b/{file}\n@@{hunks}") })
    };
    values.iter().map(|value| mutant(value).with_context(|| format!("what mutant is {value}?"))).collect()
}

/// Where mutants are tried.
struct Bench {
    /// A worktree, of which each mutant changes one file.
    tree: PathBuf,
    /// The target folder, in which little changes between mutants.
    build: PathBuf,
    /// The modules of fixtures. Clang takes minutes for them, so they are kept.
    modules: PathBuf,
    log: PathBuf,
}

impl Bench {
    fn new(draw: &Draw) -> Result<Bench> {
        let (shard, shards) = draw.shard;
        let folder = workspace::root().join(format!("target/mutants/{shard}-of-{shards}"));
        let [tree, build, modules] = ["tree", "build", "modules"].map(|name| folder.join(name));
        if !tree.exists() {
            git(&workspace::root(), &["worktree", "add", "--detach", &tree.display().to_string(), "HEAD"])?;
        }
        let head = git(&workspace::root(), &["rev-parse", "HEAD"])?;
        git(&tree, &["checkout", "--force", "--detach", head.trim()])?;
        fs::create_dir_all(&modules)?;
        Ok(Bench { tree, build, modules, log: folder.join(format!("{}.jsonl", draw.seed)) })
    }

    /// The last outcome of each mutant.
    fn log(&self) -> Result<HashMap<String, Outcome>> {
        let text = if self.log.exists() { fs::read_to_string(&self.log)? } else { String::new() };
        let outcome = |line: &str| -> Option<(String, Outcome)> {
            let value: Value = serde_json::from_str(line).ok()?;
            let result = value["result"].as_str()?.to_owned();
            Some((value["mutant"].as_str()?.to_owned(), Outcome { result, seconds: value["seconds"].as_u64()? }))
        };
        // The last line may be cut off.
        Ok(text.lines().filter_map(outcome).collect())
    }

    fn write(&self, mutant: &str, outcome: &Outcome) -> Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.log)?;
        let line = json!({ "mutant": mutant, "result": outcome.result, "seconds": outcome.seconds });
        Ok(writeln!(file, "{line}")?)
    }

    fn apply(&self, mutant: &Mutant) -> Result<()> {
        let patch = self.build.with_extension("patch");
        fs::write(&patch, &mutant.patch)?;
        git(&self.tree, &["apply", &patch.display().to_string()]).map(drop)
    }

    /// Which tier fails first. A tier may take its own time, or this if it is longer.
    fn run(&self, seconds: u32) -> Result<Outcome> {
        let start = Instant::now();
        let outcome = |result: String| Outcome { result, seconds: start.elapsed().as_secs() };
        for (index, tier) in TIERS.iter().enumerate() {
            if !self.cargo(tier, BUILD_SECONDS).arg("--no-run").status()?.success() {
                ensure!(index == 0, "the tests `{}` do not build, and those before did", tier.name);
                return Ok(outcome(UNVIABLE.to_owned()));
            }
            match self.cargo(tier, tier.seconds.max(seconds)).arg("--").args(tier.filter).status()?.code() {
                Some(0) => {}
                Some(TIMED_OUT | KILLED) => return Ok(outcome(format!("{TIMEOUT}{}", tier.name))),
                Some(_) => return Ok(outcome(tier.name.to_owned())),
                None => bail!("the tests `{}` were stopped", tier.name),
            }
        }
        Ok(outcome(SURVIVED.to_owned()))
    }

    /// A bounded `cargo test`. What changes with each mutant is compiled quickly, what it executes is not slow.
    fn cargo(&self, tier: &Tier, seconds: u32) -> Command {
        let mut command = Command::new("bash");
        let script = format!("ulimit -v {MEMORY}; exec timeout --kill-after=5 {seconds} \"$0\" \"$@\"");
        command.args(["-c", &script, env!("CARGO"), "test"]).args(tier.tests);
        for package in ["cotangent", "cotangent-driver", "cotangent-cli"] {
            command.args(["--config", &format!("profile.dev.package.{package}.opt-level=0")]);
        }
        command.current_dir(&self.tree).env("CARGO_TARGET_DIR", &self.build).env("CARGO_PROFILE_DEV_DEBUG", "0");
        command.env("COTANGENT_SEED", SEED_OF_KERNELS).env("RUST_MIN_STACK", (64 << 20).to_string());
        command.envs(tier.variable.map(|variable| (variable, &self.modules)));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// What `timeout` returns after it ended a command, and after it had to kill it.
const TIMED_OUT: i32 = 124;
const KILLED: i32 = 137;

fn print_table(tried: &[&Mutant], log: &HashMap<String, Outcome>, total: usize) -> Result<()> {
    let seconds_of = |result: &str| -> Vec<u64> {
        tried.iter().map(|mutant| &log[&mutant.name]).filter(|it| it.result == result).map(|it| it.seconds).collect()
    };
    println!(
        "\n{} of {total} mutants were drawn\n\n| outcome | mutants | seconds each |\n| --- | --- | --- |",
        tried.len()
    );
    let tiers = TIERS.iter().flat_map(|tier| [tier.name.to_owned(), format!("{TIMEOUT}{}", tier.name)]);
    for result in tiers.chain([SURVIVED.to_owned(), UNVIABLE.to_owned()]) {
        let seconds = seconds_of(&result);
        if !seconds.is_empty() {
            println!("| {result} | {} | {} |", seconds.len(), seconds.iter().sum::<u64>() / seconds.len() as u64);
        }
    }
    let survivors = tried.iter().filter(|mutant| log[&mutant.name].result == SURVIVED);
    let survivors: Vec<&str> = survivors.map(|mutant| &*mutant.name).collect();
    ensure!(survivors.is_empty(), "{} survive:\n  {}", survivors.len(), survivors.join("\n  "));
    Ok(())
}

//! Mistakes that were mended, put back one at a time: random programs must find each of them. What finds nothing proves
//! nothing about the compiler as it is.
//!
//! A fault is a patch in `fixtures/faults`, after a line that says what goes wrong. It is applied to a copy of the last
//! commit, which is built and tried with programs of known seeds until one is wrong.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workspace::{self, git};

/// So many programs are tried.
const PROGRAMS: u64 = 1_000;

/// Prints a line of a table for each fault; an error if one is not found.
pub(crate) fn faults(filter: Option<&str>, seed: u64) -> Result<()> {
    let folder = workspace::root().join("target/faults");
    let tree = folder.join("tree");
    if !tree.exists() {
        git(&workspace::root(), &["worktree", "add", "--detach", &tree.display().to_string(), "HEAD"])?;
    }
    let head = git(&workspace::root(), &["rev-parse", "HEAD"])?;
    git(&tree, &["checkout", "--force", "--detach", head.trim()])?;
    let mut patches: Vec<_> = fs::read_dir(workspace::root().join("fixtures/faults"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    patches.retain(|patch| filter.is_none_or(|filter| patch.display().to_string().contains(filter)));
    patches.sort();
    println!("| fault | what goes wrong | found by seed | programs tried | as |");
    println!("| --- | --- | --- | --- | --- |");
    let mut missed = Vec::new();
    for patch in &patches {
        let name = patch.file_stem().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(patch)?;
        let what = text.lines().next().unwrap_or_default();
        git(&tree, &["apply", &patch.display().to_string()]).with_context(|| format!("{name} is out of date"))?;
        let found = first_wrong(&tree, &folder.join("build"), seed);
        git(&tree, &["checkout", "--force", "--", "."])?;
        match found? {
            Some((wrong, kind)) => println!("| {name} | {what} | {wrong} | {} | {kind} |", wrong + 1 - seed),
            None => {
                println!("| {name} | {what} | none | {PROGRAMS} | |");
                missed.push(name.into_owned());
            }
        }
    }
    ensure!(missed.is_empty(), "{PROGRAMS} programs did not find {}", missed.join(", "));
    Ok(())
}

/// The seed of a program that the compiler of this tree gets wrong, and in which way.
fn first_wrong(tree: &Path, build: &Path, seed: u64) -> Result<Option<(u64, String)>> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(tree).env("CARGO_TARGET_DIR", build);
    let status = command.args(["build", "--quiet", "--package", "cotangent-cli"]).status()?;
    ensure!(status.success(), "the compiler with the fault does not build");
    let mut command = Command::new(build.join("debug/cotangent"));
    command.args(["__programs", "--first", "--seeds", &format!("{seed}..{}", seed + PROGRAMS)]);
    let said = String::from_utf8_lossy(&command.output()?.stderr).into_owned();
    let wrong = said.lines().filter_map(|line| {
        let (seed, kind) = line.strip_prefix("seed ")?.split_once(": ")?;
        Some((seed.parse::<u64>().ok()?, kind.to_owned()))
    });
    Ok(wrong.min_by_key(|(seed, _)| *seed))
}

//! The command on public programs: which functions of a list it accepts as they are, and whether the check passes. The list
//! has names and arguments only; the programs are fetched by whoever runs this.

use std::path::Path;
use std::process::{Command, Output};
use std::{fs, thread};

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// The columns of a list, separated by tabs: a folder, files in it with blanks between, a function, `--wrt`, `--of`, `--args`,
/// flags for the compiler, and why it is not checked if it has no arguments. The last ones may be left out. Flags may begin
/// with options of the command, up to a `--`, and name variables of the environment: `-I$TORCH`.
const COLUMNS: usize = 8;

/// How long a command may take, in seconds, as `timeout` has it.
const LONGEST: &str = "600";

/// What is said of a function that has no floating output.
const NO_OUTPUT: &str = "C0214";

/// A function of the list.
struct Row<'l> {
    folder: &'l str,
    file: &'l str,
    function: &'l str,
    wrt: &'l str,
    of: &'l str,
    args: &'l str,
    flags: &'l str,
    unchecked: &'l str,
}

/// What became of a function.
enum Outcome {
    Checked(String),
    Unchecked(String),
    /// The check says that the derivative is wrong, or could not run.
    Failed(String),
    Refused(String),
}

/// Prints a table of the functions in a list, whose programs lie under a folder.
pub(crate) fn corpus(list: &Path, programs: &Path) -> Result<()> {
    let text = fs::read_to_string(list).with_context(|| format!("cannot read {}", list.display()))?;
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let rows: Vec<Row<'_>> = lines.map(row).collect::<Result<_>>()?;
    let status = Command::new(env!("CARGO")).args(["build", "--package", "cotangent-cli"]).status()?;
    ensure!(status.success(), "the command does not build");
    println!("| program | function | with respect to | of | what happens |");
    println!("| --- | --- | --- | --- | --- |");
    let (mut accepted, mut checked, mut failed, mut without) = (0, 0, 0, 0);
    // Two at a time: reading is most of the time, and Clang takes one processor. A large library takes memory, too.
    let is_large = |row: &Row<'_>| row.flags.contains("$TORCH");
    for pair in rows.chunk_by(|one, _| !is_large(one)).flat_map(|rows| rows.chunks(2)) {
        let outcomes: Vec<Result<Outcome>> = thread::scope(|scope| {
            let running: Vec<_> = pair.iter().map(|row| scope.spawn(|| try_one(row, programs))).collect();
            running.into_iter().map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        for (row, outcome) in pair.iter().zip(outcomes) {
            let outcome = outcome?;
            accepted += usize::from(!matches!(outcome, Outcome::Refused(_)));
            checked += usize::from(matches!(outcome, Outcome::Checked(_)));
            failed += usize::from(matches!(outcome, Outcome::Failed(_)));
            without += usize::from(matches!(&outcome, Outcome::Refused(reason) if reason.starts_with(NO_OUTPUT)));
            let what = match outcome {
                Outcome::Checked(numbers) => format!("checked: {numbers}"),
                Outcome::Unchecked(reason) => format!("accepted, not checked: {reason}"),
                Outcome::Failed(reason) => format!("accepted, the check FAILS: {reason}"),
                Outcome::Refused(reason) => reason,
            };
            let Row { folder, function, wrt, of, .. } = row;
            println!("| {folder} | `{function}` | {wrt} | {of} | {} |", what.replace('|', "\\|"));
        }
    }
    println!("\n{} functions: {accepted} accepted, {checked} of them checked, {failed} failed the check", rows.len());
    println!("{without} of the others have no floating output, so that there is nothing to differentiate");
    ensure!(failed == 0, "{failed} functions are accepted and fail the check");
    Ok(())
}

fn row(line: &str) -> Result<Row<'_>> {
    let columns: Vec<&str> = line.split('\t').map(str::trim).collect();
    ensure!((3..=COLUMNS).contains(&columns.len()), "not 3 to {COLUMNS} columns: {line}");
    let column = |number: usize| columns.get(number).copied().unwrap_or_default();
    Ok(Row {
        folder: column(0),
        file: column(1),
        function: column(2),
        wrt: column(3),
        of: column(4),
        args: column(5),
        flags: column(6),
        unchecked: column(7),
    })
}

fn try_one(row: &Row<'_>, programs: &Path) -> Result<Outcome> {
    let scratch =
        std::env::temp_dir().join(format!("corpus-{}-{}.cu", std::process::id(), row.folder.replace('/', "-")));
    let printed = run(row, programs, "grad", &["-o", &scratch.display().to_string()])?;
    let _ = fs::remove_file(&scratch);
    if !printed.status.success() {
        return Ok(Outcome::Refused(first_error(&printed)));
    }
    if row.args.is_empty() {
        return Ok(Outcome::Unchecked(row.unchecked.to_owned()));
    }
    let checked = run(row, programs, "check", &["--samples", "2", "--args", row.args])?;
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    let number = |line: &str| {
        let line = said.lines().find(|said| said.trim_start().starts_with(line))?;
        line.split_whitespace().rev().nth(3).map(str::to_owned)
    };
    let compared = (number("forward mode against central differences"), number("reverse mode against forward mode"));
    match compared {
        (Some(forward), Some(reverse)) if checked.status.success() => {
            let precision = if said.contains("widened") { "" } else { ", in native precision" };
            Ok(Outcome::Checked(format!("differences {forward}, forward mode {reverse}{precision}")))
        }
        _ => Ok(Outcome::Failed(
            said.lines()
                .find(|line| line.ends_with("WRONG"))
                .map_or_else(|| first_error(&checked), |line| line.split_whitespace().collect::<Vec<_>>().join(" ")),
        )),
    }
}

fn run(row: &Row<'_>, programs: &Path, command: &str, words: &[&str]) -> Result<Output> {
    let mut process = Command::new("timeout");
    process.arg(LONGEST).arg(workspace::root().join("target/debug/cotangent"));
    process
        .current_dir(programs.join(row.folder))
        .arg(command)
        .args(row.file.split_whitespace())
        .args(["--fn", row.function]);
    for (option, value) in [("--wrt", row.wrt), ("--of", row.of)] {
        if !value.is_empty() {
            process.args([option, value]);
        }
    }
    let (options, flags) = row.flags.split_once("-- ").unwrap_or(("", row.flags));
    let mut options: Vec<&str> = options.split_whitespace().collect();
    // A launch is for the check alone.
    if let (Some(at), "grad") = (options.iter().position(|option| *option == "--launch"), command) {
        options.drain(at..options.len().min(at + 2));
    }
    process.args(options).args(words).arg("--");
    for flag in flags.split_whitespace() {
        process.arg(with_variables(flag)?);
    }
    process.output().with_context(|| format!("cannot run the command in {}", programs.join(row.folder).display()))
}

/// A flag with the value of the variable that it names.
fn with_variables(flag: &str) -> Result<String> {
    let Some((before, rest)) = flag.split_once('$') else { return Ok(flag.to_owned()) };
    let (name, after) = rest.split_once('/').map_or((rest, String::new()), |(name, after)| (name, format!("/{after}")));
    let value = std::env::var(name).with_context(|| format!("the list names ${name}, which is not set"))?;
    Ok(format!("{before}{value}{after}"))
}

/// The first thing that is said to be wrong, without its place.
fn first_error(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().find(|line| line.contains("error")).or_else(|| said.lines().next());
    match line.unwrap_or_default().split_once("error[") {
        Some((_, rest)) => rest.replacen("]: ", ": ", 1),
        None if output.status.code() == Some(124) => format!("not done after {LONGEST} s"),
        None => line.unwrap_or("nothing is said").to_owned(),
    }
}

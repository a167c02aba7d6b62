//! Builds and runs many programs at once. Starting Clang takes longer than all else, so they stand in one file. A program
//! that is refused is known by the line of its diagnostic, and the rest is built again without it; if the file fails in
//! another way, its halves tell where.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context, Result};
use cotangent_driver::compile::{CpuRequest, compile};
use cotangent_driver::cudart::{self, LinkRequest, Runtime};
use cotangent_driver::flags::ParseFlags;
use cotangent_driver::program::{self, Failure, Input};
use cotangent_driver::{DriverError, Environment, Tools};

use super::tree::{Program, file_of, name_of};
use crate::{exec, linked};

/// What became of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Its gradient is right in so many directions; so many others were too near to a kink.
    Right { compared: usize, left_out: usize },
    /// There is a diagnostic instead of a gradient: its code, and more about it.
    Refused { kind: String, detail: String },
    /// Something is wrong: in which way, and more about it.
    Wrong { kind: String, detail: String },
}

/// How programs are built and run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    /// Whether accesses are checked.
    pub(crate) check: bool,
    /// Whether nvcc compiles them, and not Clang.
    pub(crate) nvcc: bool,
}

/// What a file of programs becomes.
const BY_CLANG: &str = "programs.so";
const BY_NVCC: &str = "programs";

/// No program needs longer.
const LONGEST: Duration = Duration::from_secs(90);

/// The codes of our own mistakes.
const INTERNAL: [&str; 2] = ["C0003", "C0999"];

/// The outcomes of programs, in order.
pub(crate) fn outcomes(tools: &Tools, programs: &[Program], way: Way) -> Result<Vec<Outcome>> {
    let folder = tempfile::tempdir().context("cannot make a folder for the programs")?;
    let mut outcomes: Vec<Option<Outcome>> = vec![None; programs.len()];
    loop {
        let left: Vec<usize> = (0..programs.len()).filter(|index| outcomes[*index].is_none()).collect();
        if left.is_empty() {
            break;
        }
        let batch: Vec<Program> = left.iter().map(|index| programs[*index].clone()).collect();
        match way.build(tools, &batch, folder.path())? {
            Built::Whole => {
                for (position, index) in left.iter().enumerate() {
                    outcomes[*index] = Some(run(folder.path(), position, way)?);
                }
            }
            Built::Refused(refused) if !refused.is_empty() => {
                for (position, outcome) in refused {
                    outcomes[left[position]] = Some(outcome);
                }
            }
            Built::Refused(_) => {
                let halves = divided(tools, &batch, way, "a diagnostic without a place", "")?;
                left.iter().zip(halves).for_each(|(index, outcome)| outcomes[*index] = Some(outcome));
            }
            Built::Failed { kind, detail } => {
                let halves = divided(tools, &batch, way, &kind, &detail)?;
                left.iter().zip(halves).for_each(|(index, outcome)| outcomes[*index] = Some(outcome));
            }
        }
    }
    Ok(outcomes.into_iter().flatten().collect())
}

/// What came of building a file.
enum Built {
    Whole,
    /// Some programs are refused.
    Refused(Vec<(usize, Outcome)>),
    /// The file as a whole fails.
    Failed {
        kind: String,
        detail: String,
    },
}

/// The outcomes of both halves; of a single program, that it is wrong in this way.
fn divided(tools: &Tools, programs: &[Program], way: Way, kind: &str, detail: &str) -> Result<Vec<Outcome>> {
    if let [_] = programs {
        return Ok(vec![Outcome::Wrong { kind: kind.to_owned(), detail: detail.to_owned() }]);
    }
    let (first, second) = programs.split_at(programs.len() / 2);
    let mut all = outcomes(tools, first, way)?;
    all.extend(outcomes(tools, second, way)?);
    Ok(all)
}

impl Way {
    fn build(self, tools: &Tools, programs: &[Program], folder: &Path) -> Result<Built> {
        let file = folder.join("programs.cu");
        let (text, lines) = file_of(programs);
        std::fs::write(&file, text).context("cannot write the programs")?;
        match self.nvcc {
            true => build_by_nvcc(&file, &lines, &folder.join(BY_NVCC)),
            false => build(tools, &file, &lines, self.check, &folder.join(BY_CLANG)),
        }
    }

    /// What runs a file of programs.
    fn command(self, folder: &Path, seed: u64) -> Result<Command> {
        let configuration = exec::Configuration { check: self.check, seed, threads: 1 };
        if self.nvcc {
            let mut command = Command::new(folder.join(BY_NVCC));
            linked::configure(&mut command, &linked::library(&Environment::of_process())?, &configuration);
            return Ok(command);
        }
        let mut command = Command::new(std::env::current_exe().context("cannot find this command's own file")?);
        command.arg(exec::NAME).args(configuration.to_words()).arg(folder.join(BY_CLANG)).arg("programs");
        Ok(command)
    }
}

fn build_by_nvcc(file: &Path, lines: &[usize], output: &Path) -> Result<Built> {
    let environment = Environment::of_process();
    let library = linked::library(&environment)?;
    // Random programs leave things unused.
    let flags = ["-w".to_owned()];
    // What the host touches is watched in Clang's build of them.
    let request = LinkRequest {
        runtime: Runtime::OfCpu(&library),
        file,
        others: &[],
        flags: &flags,
        check: false,
        output,
        colour: false,
    };
    match cudart::link(&environment, &request) {
        Ok(linked) if linked.status.success() => Ok(Built::Whole),
        Ok(_) => Ok(failed("nvcc does not compile the text", "")),
        Err(Failure::Diagnostics(refusal)) => Ok(Built::Refused(refused(&refusal.text, lines))),
        Err(failure) => Err(failure.into()),
    }
}

fn build(tools: &Tools, file: &Path, lines: &[usize], check: bool, output: &Path) -> Result<Built> {
    let mut flags = ParseFlags::default();
    if check {
        // What watches every access takes Clang long to optimize, and the programs are small.
        flags.cpu_args.push("-O0".into());
    }
    let input = Input { file, flags: &flags, cuda_path: None, colour: false };
    let program = match catch_unwind(AssertUnwindSafe(|| program::direct(tools, &input))) {
        Ok(Ok(program)) => program,
        Ok(Err(Failure::Diagnostics(refusal))) => return Ok(Built::Refused(refused(&refusal.text, lines))),
        Ok(Err(Failure::Driver(DriverError::Rejected { message }))) => {
            return Ok(failed("Clang rejects the text", &message));
        }
        Ok(Err(failure)) => return Err(failure.into()),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            return Ok(Built::Failed { kind: "panic".to_owned(), detail: said.unwrap_or_default() });
        }
    };
    let request =
        CpuRequest { units: &program.units, texts: &program.texts, flags: &flags, check, colour: false, output };
    match compile(tools, &request) {
        Ok(()) => Ok(Built::Whole),
        Err(DriverError::Rejected { message }) => Ok(failed("the gradient does not compile", &message)),
        Err(error) => Err(error.into()),
    }
}

/// Clang's first error, without what it quotes.
fn failed(kind: &str, message: &str) -> Built {
    let first = message.lines().find(|line| line.contains("error:")).unwrap_or("");
    let said = first.split("error:").last().unwrap_or("").trim();
    let unnamed: Vec<&str> = said.split('\'').step_by(2).collect();
    let detail: Vec<&str> = message.lines().take(12).collect();
    Built::Failed { kind: format!("{kind}: {}", unnamed.join("…")), detail: detail.join("\n") }
}

/// Which programs diagnostics are about, each with the first of them.
fn refused(text: &str, lines: &[usize]) -> Vec<(usize, Outcome)> {
    let mut all: Vec<(usize, Outcome)> = Vec::new();
    let mut current: Option<(String, String)> = None;
    for line in text.lines() {
        if let Some((code, message)) = line.strip_prefix("error[").and_then(|rest| rest.split_once("]: ")) {
            current = Some((code.to_owned(), message.to_owned()));
        }
        let place = line.trim_start().strip_prefix("--> ").and_then(|place| place.rsplit(':').nth(1)?.parse().ok());
        let Some(place): Option<usize> = place else { continue };
        let Some((code, message)) = current.take() else { continue };
        // Those after the last program's end are in `main`, which has no requests.
        let Some(position) = lines.iter().rposition(|first| *first <= place) else { continue };
        if all.iter().any(|(known, _)| *known == position) {
            continue;
        }
        let kind = format!("{code} {}", unnamed(&message));
        let detail = text.lines().take(8).collect::<Vec<_>>().join("\n");
        let is_ours = INTERNAL.contains(&code.as_str());
        all.push((position, if is_ours { Outcome::Wrong { kind, detail } } else { Outcome::Refused { kind, detail } }));
    }
    all
}

/// A message without what is quoted in it, and without numbers.
fn unnamed(message: &str) -> String {
    let parts: Vec<&str> = message.split('`').step_by(2).collect();
    parts.join("…").chars().filter(|it| !it.is_ascii_digit()).collect()
}

/// Runs one program of a file.
fn run(folder: &Path, position: usize, way: Way) -> Result<Outcome> {
    let Ended { status, said, complaint } = execute(folder, position, way, false)?;
    let wrong = |kind: String, detail: String| Outcome::Wrong { kind, detail };
    let Some(status) = status else { return Ok(wrong("it does not end".to_owned(), String::new())) };
    let outcome = said.lines().position(|line| line.starts_with("outcome "));
    let outcome: Vec<&str> = outcome.map(|first| said.lines().skip(first).collect()).unwrap_or_default();
    if status.code() == Some(cotangent_cpu::FINDINGS_EXIT_CODE) && way.check {
        let code = complaint.split(['[', ']']).find(|word| word.starts_with('X')).unwrap_or("X").to_owned();
        let plain = execute(folder, position, way, true)?;
        let is_own = plain.status.and_then(|status| status.code()) == Some(cotangent_cpu::FINDINGS_EXIT_CODE);
        let kind = if is_own { "unfit: the program itself" } else { "a finding" };
        let detail: Vec<&str> = complaint.lines().take(14).collect();
        return Ok(wrong(format!("{kind}: {code}"), detail.join("\n")));
    }
    let has_said = status.success() || status.code() == Some(1);
    let Some(said) = outcome.first().and_then(|line| line.strip_prefix("outcome ")).filter(|_| has_said) else {
        let plain = execute(folder, position, way, true)?;
        let whose =
            if plain.status.is_some_and(|status| status.success()) { "" } else { "unfit: the program itself: " };
        let detail: Vec<&str> = complaint.lines().take(14).collect();
        return Ok(wrong(format!("{whose}crash: {status}"), detail.join("\n")));
    };
    let numbers: Vec<&str> = said.split(' ').collect();
    if let ["right", compared, left_out] = numbers.as_slice() {
        return Ok(Outcome::Right { compared: compared.parse()?, left_out: left_out.parse()? });
    }
    Ok(wrong(said.trim_start_matches("wrong: ").to_owned(), outcome[1..].join("\n")))
}

/// How a run ended, and what it said.
struct Ended {
    /// None if it had to be ended.
    status: Option<ExitStatus>,
    said: String,
    complaint: String,
}

fn execute(folder: &Path, position: usize, way: Way, plain: bool) -> Result<Ended> {
    let (out, err) = (folder.join("out"), folder.join("err"));
    let file = |path: &Path| std::fs::File::create(path).context("cannot write what a program says");
    let mut command = way.command(folder, position as u64)?;
    command.arg(name_of(position)).stdout(file(&out)?).stderr(file(&err)?);
    if plain {
        command.env("ORACLE_PLAIN", "1");
    }
    // Checked runs are slow, and so is what executes PTX.
    if way.check || way.nvcc {
        command.env("ORACLE_FEW", "1");
    }
    let status = cotangent_driver::run_within(&mut command, LONGEST).context("cannot run a program")?;
    let text = |path: &Path| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Ended { status, said: text(&out)?, complaint: text(&err)? })
}

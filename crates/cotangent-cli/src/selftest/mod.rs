//! `cotangent selftest`: does it all work on this machine? The programs that the command carries are differentiated,
//! compiled with the user's own nvcc, run and compared with the CPU's numbers; what came of it is one file to be sent.

pub(crate) mod fixture;
mod machine;
mod one;
mod programs;
mod report;
mod spelling;
mod verdict;

pub(crate) use self::one::{NAME, one};

use std::fs::File;
use std::io::{Read, Seek};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anstream::println;
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};

use self::programs::Program;
use self::report::Tried;
use self::verdict::Verdict;
use crate::arguments::Selftest;
use crate::check::each_batch::each_batch;
use crate::exit;
use crate::terminal::Terminal;

/// How long one program may take, waiting for its turn on the GPU included.
const LIMIT: Duration = Duration::from_secs(600);

/// How the programs are built and run.
struct Plan<'a> {
    gpu: bool,
    arch: Option<&'a str>,
}

impl Plan<'_> {
    /// The flags for nvcc that the user chose.
    fn flags(&self) -> Vec<String> {
        self.arch.iter().map(|arch| format!("-arch={arch}")).collect()
    }

    /// All flags that matter for numbers, for the report.
    fn flags_of_nvcc(&self) -> String {
        let arch = match (self.arch, self.gpu) {
            (Some(arch), _) => format!("-arch={arch}"),
            (None, true) => "-arch=native".to_owned(),
            (None, false) => "-arch=compute_75".to_owned(),
        };
        format!("{arch} -fmad=false")
    }

    /// The words that say where a program runs, after all others.
    fn words(&self) -> Vec<String> {
        let target = if self.gpu { "--gpu" } else { "--nvcc" };
        let flags = self.flags();
        let separator = (!flags.is_empty()).then(|| "--".to_owned());
        [target.to_owned()].into_iter().chain(separator).chain(flags).collect()
    }
}

pub(crate) fn selftest(options: &Selftest, terminal: &Terminal) -> Result<u8> {
    let all = match &options.programs {
        Some(folder) => programs::of_folder(folder)?,
        None => programs::carried(),
    };
    let is_chosen = |program: &Program| {
        options.names.is_empty() || options.names.iter().any(|name| program.name.contains(name.as_str()))
    };
    let chosen: Vec<Program> = all.into_iter().filter(is_chosen).collect();
    if options.list {
        chosen.iter().for_each(|program| println!("{}", program.name));
        return Ok(exit::SUCCESS);
    }
    if chosen.is_empty() {
        let names = options.names.join("`, `");
        terminal
            .error(&anyhow::anyhow!("no program has `{names}` in its name\n  `cotangent selftest --list` shows them"));
        return Ok(exit::USAGE);
    }
    let plan = Plan { gpu: options.gpu, arch: options.arch.as_deref() };
    let scratch = tempfile::Builder::new().prefix("cotangent-selftest-").tempdir();
    let scratch = scratch.context("cannot make a folder for the programs")?;
    let mut facts = terminal.step("Looking at the machine", || machine::facts(&plan, scratch.path()))?;
    facts.push(("programs", format!("{}, fingerprint {:016x}", chosen.len(), programs::fingerprint(&chosen))));
    // What cannot be written is known before the work.
    let mut file =
        File::create(&options.report).with_context(|| format!("cannot write {}", options.report.display()))?;
    let tried = try_all(&chosen, &plan, options.jobs(), scratch.path())?;
    let text = report::text(&command(), &facts, &tried, plan.gpu);
    let text = report::cleaned(&text, &scratch.path().display().to_string(), home().as_deref());
    std::io::Write::write_all(&mut file, text.as_bytes()).context("cannot write the report")?;
    println!("{}", report::sentence(&tried, plan.gpu));
    let is_right = tried.iter().all(|one| one.verdict.agrees());
    let advice = if is_right { "The report is in" } else { "Please send the report:" };
    println!("{advice} {}", options.report.display());
    Ok(if is_right { exit::SUCCESS } else { exit::PROGRAM })
}

/// How this command was started.
fn command() -> String {
    let words: Vec<String> = std::env::args().skip(1).collect();
    format!("cotangent {}", words.join(" "))
}

/// The home folder, which is nobody's business.
fn home() -> Option<String> {
    std::env::var("HOME").ok()
}

/// Tries the programs, several at a time; the results in their order.
fn try_all(programs: &[Program], plan: &Plan<'_>, jobs: usize, scratch: &Path) -> Result<Vec<Tried>> {
    let bar = ProgressBar::new(programs.len() as u64);
    let style = ProgressStyle::with_template("{pos:>4} of {len} {wide_bar} {elapsed} {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    let tried = Mutex::new(Vec::new());
    each_batch(&(0..programs.len() as u64), 1, jobs, |indices| {
        let program = &programs[indices.start as usize];
        let one = try_one(program, plan, scratch)?;
        // A line for each that is wrong; they stay above the bar.
        if !one.verdict.agrees() {
            bar.suspend(|| anstream::eprintln!("{}: {}", one.name, one.verdict));
        }
        bar.inc(1);
        tried.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((indices.start, one));
        Ok(ControlFlow::Continue(()))
    })?;
    bar.finish_and_clear();
    let mut tried = tried.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    tried.sort_by_key(|(index, _)| *index);
    Ok(tried.into_iter().map(|(_, one)| one).collect())
}

/// Tries a program in a process of its own.
fn try_one(program: &Program, plan: &Plan<'_>, scratch: &Path) -> Result<Tried> {
    let folder = scratch.join(&program.name);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let file = folder.join(format!("{}.cu", program.name));
    std::fs::write(&file, &program.text).with_context(|| format!("cannot write {}", file.display()))?;
    let started = Instant::now();
    let (verdict, said) = match program.words(&file) {
        Ok(words) => ending(&words, plan, &folder)?,
        Err(message) => (Verdict::Failed, message),
    };
    let seconds = started.elapsed().as_secs_f64();
    // A program's compiled forms are tens of megabytes.
    let _ = std::fs::remove_dir_all(&folder);
    Ok(Tried { name: program.name.clone(), verdict, seconds, said })
}

/// Runs the process, in its folder.
fn ending(words: &[String], plan: &Plan<'_>, folder: &Path) -> Result<(Verdict, String)> {
    let this_command = std::env::current_exe().context("cannot find this command's own file")?;
    let verdict = folder.join("verdict");
    let mut command = Command::new(&this_command);
    // What it makes is in its folder, and goes with it even if the process is killed.
    command.arg(NAME).arg(&verdict).args(words).args(plan.words()).env("TMPDIR", folder);
    let (ended, mut said) = said_within(&mut command, LIMIT, folder)?;
    let Some(status) = ended else {
        said += &format!("\nended after {} seconds\n", LIMIT.as_secs());
        return Ok((Verdict::TookTooLong, said));
    };
    let words = std::fs::read_to_string(&verdict).unwrap_or_default();
    let verdict = Verdict::from_words(&words).unwrap_or_else(|| {
        said += &format!("\n`cotangent` itself ended with {status}\n");
        Verdict::Crashed
    });
    Ok((verdict, said))
}

/// Runs a command: how it ended, none if it took too long, and all that it wrote.
fn said_within(command: &mut Command, limit: Duration, folder: &Path) -> Result<(Option<ExitStatus>, String)> {
    let mut output = tempfile::tempfile_in(folder).context("cannot make a file for the output")?;
    let same = || output.try_clone().context("cannot write to the output twice");
    command.stdout(same()?).stderr(same()?);
    let ended = cotangent_driver::run_within(command, limit);
    let ended = ended.with_context(|| format!("cannot run {}", command.get_program().display()))?;
    let mut said = Vec::new();
    output.rewind().and_then(|()| output.read_to_end(&mut said)).context("cannot read the output")?;
    Ok((ended, String::from_utf8_lossy(&said).into_owned()))
}

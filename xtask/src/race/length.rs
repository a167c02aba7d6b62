//! How long `grad` takes, and how much memory, for functions of many statements: both should grow as the function does.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::command::Cotangent;

/// How many statements, each with a variable of its own.
pub(super) const LENGTHS: &[u32] = &[1000, 2000, 4000, 8000];

/// One run of the command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) statements: u32,
    /// Processor time of the command and of Clang, which it starts.
    pub(super) seconds: f64,
    /// The most memory of the command itself.
    pub(super) kilobytes: u64,
}

/// Differentiates a function of so many statements.
pub(super) fn measure(cotangent: &Cotangent, statements: u32) -> Result<Run> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("long.cu");
    fs::write(&file, text(statements))?;
    let mut command = Command::new(&cotangent.path);
    command.arg("grad").arg(&file).args(["--fn", "long_function", "-o"]).arg(folder.path().join("gradient.cu"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let process = format!("/proc/{}", child.id());
    let mut run = Run { statements, seconds: 0.0, kilobytes: 0 };
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || ended.send(child.wait()));
    // Both figures only grow; what is missed is the last moment before the end.
    let status = loop {
        run.seconds = processor_time(&process).unwrap_or(run.seconds);
        run.kilobytes = peak(&process).unwrap_or(run.kilobytes);
        match end.recv_timeout(Duration::from_millis(5)) {
            Ok(status) => break status?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(error @ RecvTimeoutError::Disconnected) => return Err(error.into()),
        }
    };
    ensure!(status.success(), "grad fails for {statements} statements");
    Ok(run)
}

/// Straight-line code in which each statement needs values of two before it.
fn text(statements: u32) -> String {
    let mut text = "double long_function(const double* x) {\n  double v0 = x[0];\n  double v1 = x[1];\n".to_owned();
    for at in 2..statements {
        let _ = writeln!(text, "  double v{at} = v{} * x[{}] + 0.5 * v{};", at - 1, at % 16, at - 2);
    }
    let _ = writeln!(text, "  return v{};\n}}", statements - 1);
    text
}

/// Of a process and of those that it has waited for.
fn processor_time(process: &str) -> Result<f64> {
    let text = fs::read_to_string(format!("{process}/stat"))?;
    // The second field is a name in parentheses, which may hold anything.
    let (_, fields) = text.rsplit_once(')').context("no name in stat")?;
    let ticks: Vec<f64> = fields.split_whitespace().skip(11).take(4).filter_map(|field| field.parse().ok()).collect();
    ensure!(ticks.len() == 4, "stat has too few fields");
    Ok(ticks.iter().sum::<f64>() / 100.0)
}

fn peak(process: &str) -> Result<u64> {
    let text = fs::read_to_string(format!("{process}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM in status")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

//! Runs cases in a child process, so that a crash, a hang or a hunger for memory is seen from outside and blamed on the
//! case that was running.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// A case that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// Every so many cases a line says how far it is.
const PROGRESS: usize = 500;

/// What a child may take at most.
const MEGABYTES: u64 = 1024;

/// What became of all cases.
#[derive(Default, Debug)]
pub(crate) struct Outcome {
    pub(crate) results: usize,
    pub(crate) refusals: usize,
    /// Cases that Clang did not let through.
    pub(crate) rejections: usize,
    pub(crate) peak_megabytes: u64,
    /// Cases that panicked, died, hung or took too much.
    pub(crate) failures: Vec<String>,
}

impl Outcome {
    /// Notes a failure, and says so at once: a long run may be stopped before its end.
    fn fail(&mut self, failure: String) {
        eprintln!("{failure}");
        self.failures.push(failure);
    }
}

/// Runs the cases from 0 to `count`, half of them at a time; the seeds are in `folder`.
pub(crate) fn run(kind: &str, folder: &Path, count: usize) -> Outcome {
    let [mut first, second] = std::thread::scope(|scope| {
        let halves = [0..count / 2, count / 2..count];
        let threads = halves.map(|half| scope.spawn(move || run_in_order(kind, folder, half)));
        threads.map(|thread| thread.join().expect("a supervisor does not panic"))
    });
    first.results += second.results;
    first.refusals += second.refusals;
    first.rejections += second.rejections;
    first.peak_megabytes = first.peak_megabytes.max(second.peak_megabytes);
    first.failures.extend(second.failures);
    first
}

fn run_in_order(kind: &str, folder: &Path, cases: std::ops::Range<usize>) -> Outcome {
    let mut outcome = Outcome::default();
    let mut next = cases.start;
    while next < cases.end && outcome.failures.len() < 50 {
        next = run_child(kind, folder, next..cases.end, &mut outcome);
    }
    outcome
}

/// Runs cases until one ends the child; the number of the next case.
fn run_child(kind: &str, folder: &Path, cases: std::ops::Range<usize>, outcome: &mut Outcome) -> usize {
    let mut child = Command::new(std::env::current_exe().expect("this test's own file"))
        .args(["__worker", kind, &cases.start.to_string(), &cases.end.to_string()])
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the worker starts");
    let lines = lines_of(&mut child);
    let mut case = cases.start;
    let ending = loop {
        match lines.recv_timeout(LIMIT) {
            Ok(line) => match line.split_once(' ') {
                Some(("result", _)) => outcome.results += 1,
                Some(("refused", _)) => outcome.refusals += 1,
                Some(("rejected", _)) => outcome.rejections += 1,
                Some(("panic", message)) => outcome.fail(format!("{kind} {case}: panic {message}")),
                Some(("peak", number)) => {
                    let peak = number.parse().unwrap_or(0);
                    outcome.peak_megabytes = outcome.peak_megabytes.max(peak);
                    case += 1;
                    if case.is_multiple_of(PROGRESS) {
                        eprintln!("{kind} {case}, {} failures so far in this half", outcome.failures.len());
                    }
                    if peak > MEGABYTES {
                        break Some(format!("{peak} MB"));
                    }
                }
                _ => {}
            },
            Err(RecvTimeoutError::Timeout) => break Some(format!("took over {LIMIT:?}")),
            Err(RecvTimeoutError::Disconnected) => break None,
        }
    };
    if ending.is_some() {
        let _ = child.kill();
    }
    let status = child.wait().expect("the worker ends");
    let ending = ending.or((case < cases.end).then(|| format!("the process died: {status}")));
    if let Some(ending) = ending {
        outcome.fail(format!("{kind} {case}: {ending}"));
        return case + 1;
    }
    case
}

fn lines_of(child: &mut Child) -> Receiver<String> {
    let stdout = child.stdout.take().expect("it is piped");
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

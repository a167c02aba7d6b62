//! What the user sees besides results: errors, notes, and a line of progress when a step takes long. All of it goes
//! to standard error.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anstream::{ColorChoice, eprintln};
use cotangent_driver::DriverError;
use cotangent_driver::flags::FlagNote;
use cotangent_driver::program::Failure;

use crate::arguments::Color;
use crate::{exit, standard_input};

const RED: &str = "\x1b[1;31m";
const CYAN: &str = "\x1b[1;36m";
const PLAIN: &str = "\x1b[0m";

/// Steps shorter than this are not worth a line.
const PATIENCE: Duration = Duration::from_secs(1);

/// How to write to standard error.
pub(crate) struct Terminal {
    /// Whether messages of other programs should be in colour.
    pub(crate) colour: bool,
    /// Where standard input was read from: messages have its name alone.
    pub(crate) read_from: Option<PathBuf>,
}

impl Terminal {
    /// Decides about colours, for the whole process.
    pub(crate) fn new(color: Color) -> Self {
        match color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        }
        .write_global();
        let colour = anstream::AutoStream::choice(&std::io::stderr()) != ColorChoice::Never;
        Self { colour, read_from: None }
    }

    /// Writes an error and what caused it. What Clang or the compiler rendered already says "error".
    pub(crate) fn error(&self, error: &anyhow::Error) {
        let rendered = match error.downcast_ref::<Failure>() {
            Some(Failure::Diagnostics(refusal)) => Some(&refusal.text),
            Some(Failure::Driver(DriverError::Rejected { message })) => Some(message),
            _ => match error.downcast_ref::<DriverError>() {
                Some(DriverError::Rejected { message }) => Some(message),
                _ => None,
            },
        };
        match rendered {
            Some(text) => eprintln!("{}", self.named(text).trim_end()),
            None => eprintln!("{RED}error{PLAIN}: {}", self.named(&format!("{error:#}"))),
        }
    }

    /// Writes what is wrong with the command line, and gives the exit code for that.
    pub(crate) fn usage(&self, message: &str) -> u8 {
        self.error(&anyhow::anyhow!("{message}"));
        exit::USAGE
    }

    /// A text with the name of standard input for its file.
    fn named<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.read_from {
            Some(path) => text.replace(&*path.to_string_lossy(), standard_input::NAME).into(),
            None => text.into(),
        }
    }

    /// Writes what the user should know but need not act upon.
    pub(crate) fn note(&self, text: &str) {
        eprintln!("{CYAN}note{PLAIN}: {}", self.named(text));
    }

    /// Writes what is rendered already, if anything is.
    pub(crate) fn rendered(&self, text: &str) {
        if !text.is_empty() {
            eprintln!("{}", self.named(text).trim_end());
        }
    }

    /// The remarks about the user's compiler flags.
    pub(crate) fn flag_notes(&self, notes: &[FlagNote]) {
        for FlagNote { flag, note } in notes {
            self.note(&format!("{flag}: {note}"));
        }
    }

    /// Does a step, with a line of progress if it takes over a second and there is somebody to see it.
    pub(crate) fn step<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        let _progress = std::io::stderr().is_terminal().then(|| Progress::start(self.named(what).into_owned()));
        work()
    }
}

/// A line of progress that appears late and is wiped when dropped.
struct Progress {
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    fn start(what: String) -> Self {
        let (done, finished) = channel::<()>();
        let thread = std::thread::spawn(move || {
            if finished.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let bar = indicatif::ProgressBar::new_spinner().with_message(what);
                bar.enable_steady_tick(Duration::from_millis(100));
                // Returns when the sender is dropped.
                let _ = finished.recv();
                bar.finish_and_clear();
            }
        });
        Self { done: Some(done), thread: Some(thread) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

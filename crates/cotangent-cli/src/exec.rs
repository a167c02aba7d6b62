//! The hidden half of `cotangent run`: loads a compiled program into this process and calls its `main`. Not for
//! users; the words are those that `run` writes.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use cotangent_cpu::{Config, LoadError, Waits, end_with_parent, limit_device_memory, run_program, waits};

use crate::exit;

/// The word that asks for it.
pub(crate) const NAME: &str = "__exec";

/// If it is set, what ends says how often the host has waited.
const COUNT_WAITS: &str = "COTANGENT_COUNT_WAITS";
const DEVICE_MEMORY: &str = "COTANGENT_DEVICE_MEMORY";

/// How the program is to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Configuration {
    pub(crate) check: bool,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
}

impl Configuration {
    /// The last word is this process, which the child does not outlive.
    pub(crate) fn to_words(self) -> [String; 4] {
        let parent = std::process::id().to_string();
        [u8::from(self.check).to_string(), self.seed.to_string(), self.threads.to_string(), parent]
    }

    fn from_words(words: &[OsString]) -> Option<Self> {
        let number = |index: usize| words.get(index)?.to_str()?.parse::<u64>().ok();
        Some(Self { check: number(0)? != 0, seed: number(1)?, threads: usize::try_from(number(2)?).ok()? })
    }
}

/// Runs `CHECK SEED THREADS PARENT SHARED_OBJECT NAME WORD…` and ends the process as the program does.
pub(crate) fn exec(words: &[OsString]) -> ExitCode {
    let parent = words.get(3).and_then(|word| word.to_str()?.parse().ok());
    let (Some(configuration), Some(parent), Some(shared_object)) =
        (Configuration::from_words(words), parent, words.get(4))
    else {
        eprintln!("error: `{NAME}` is how `cotangent run` calls itself; use `cotangent run`");
        return ExitCode::from(exit::USAGE);
    };
    end_with_parent(parent);
    if let Some(stated) = std::env::var_os(DEVICE_MEMORY) {
        let Some(bytes) = stated.to_str().and_then(|bytes| bytes.parse().ok()) else {
            eprintln!("error: {DEVICE_MEMORY} is a number of bytes, such as 1000000");
            return ExitCode::from(exit::USAGE);
        };
        limit_device_memory(bytes);
    }
    let Configuration { check, seed, threads } = configuration;
    match run_program(Path::new(shared_object), &words[5..], Config { check, seed, threads, late: false }) {
        // Not by returning: the program's own handlers for the end of the process are to run.
        Ok(code) => {
            if std::env::var_os(COUNT_WAITS).is_some() {
                let Waits { device, stream } = waits();
                eprintln!("cotangent: the host waited {device} times for the device, {stream} times for a stream");
            }
            std::process::exit(code)
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(if matches!(error, LoadError::NoMain) { exit::PROGRAM } else { exit::ENVIRONMENT })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_survives_the_command_line() {
        let configuration = Configuration { check: true, seed: u64::MAX, threads: 3 };
        let words = configuration.to_words().map(OsString::from);
        assert_eq!(Configuration::from_words(&words), Some(configuration));
        assert_eq!(Configuration::from_words(&words[..2]), None);
    }
}

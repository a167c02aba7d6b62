//! The files that a command reads and the flags of each: those after `--`, and those of a compilation database.

use std::path::{Path, PathBuf};

use cotangent_driver::database::Database;
use cotangent_driver::flags::{self, ParseFlags};
use cotangent_driver::{DriverError, Environment};

use crate::arguments::Reading;
use crate::linked::tape_words;
use crate::terminal::Terminal;

/// The first file and the others, each with its flags. What is linked is linked once, by the first,
/// and the tape library with it if it is used.
pub(crate) fn each(
    reading: &Reading,
    first: &Path,
    others: &[PathBuf],
    terminal: &Terminal,
) -> Result<Vec<(PathBuf, ParseFlags)>, DriverError> {
    let database = reading.database.as_deref().map(Database::read).transpose()?;
    let others = match &database {
        Some(database) if others.is_empty() => database.others_of(first)?,
        _ => others.to_vec(),
    };
    let mut found: Vec<(PathBuf, ParseFlags)> = Vec::new();
    for file in [first.to_path_buf()].into_iter().chain(others) {
        let mut flags = flags_of(reading, database.as_ref(), &file)?;
        match found.is_empty() {
            true => {
                terminal.flag_notes(&flags.notes);
                flags.link_args.extend(tape_words());
            }
            false => flags.link_args.clear(),
        }
        found.push((file, flags));
    }
    Ok(found)
}

/// The flags of a file that is read without others.
pub(crate) fn alone(reading: &Reading, file: &Path, terminal: &Terminal) -> Result<ParseFlags, DriverError> {
    let database = reading.database.as_deref().map(Database::read).transpose()?;
    let mut flags = flags_of(reading, database.as_ref(), file)?;
    terminal.flag_notes(&flags.notes);
    flags.link_args.extend(tape_words());
    Ok(flags)
}

fn flags_of(reading: &Reading, database: Option<&Database>, file: &Path) -> Result<ParseFlags, DriverError> {
    let known = database.map(|database| database.flags_of(&Environment::of_process(), file)).transpose()?;
    let words: Vec<String> = known.into_iter().flatten().chain(reading.flags.iter().cloned()).collect();
    Ok(flags::read(&words)?)
}

/// The flags by which all files are read as one text: those of the first, which must be those of the others. A file that the
/// database found may be compiled otherwise and is left out then: what is needed of it is missed.
pub(crate) fn together(
    reading: &Reading,
    first: &Path,
    others: &[PathBuf],
    terminal: &Terminal,
) -> Result<ParseFlags, DriverError> {
    let mut files = each(reading, first, others, terminal)?.into_iter();
    let (_, mut flags) = files.next().unwrap_or_default();
    for (other, its_flags) in files {
        if its_flags.clang_args == flags.clang_args {
            flags.others.push(other);
        } else if others.is_empty() {
            terminal.note(&format!("{} is left out: the build compiles it with other flags", other.display()));
        } else {
            return Err(DriverError::OtherFlags { other, first: first.to_path_buf() });
        }
    }
    Ok(flags)
}

//! The files that make up the user's program, apart from libraries.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::flags::ParseFlags;
use crate::source_text::{SourceText, source_text};

/// The user's files, and the files that these and they include in quotation marks, with their texts. Folders are those that `-I`
/// names.
pub fn own_files(file: &Path, flags: &ParseFlags) -> Vec<(PathBuf, String)> {
    let folders = named_folders(&flags.clang_args, &["-I"]);
    let mut found = Vec::new();
    let others = flags.others.iter().filter_map(|other| std::path::absolute(other).ok());
    let mut waiting: Vec<PathBuf> = [file.to_path_buf()].into_iter().chain(others).collect();
    let mut seen: BTreeSet<PathBuf> = waiting.iter().cloned().collect();
    while let Some(path) = waiting.pop() {
        // What cannot be read is Clang's to complain about.
        let Ok(SourceText { text, .. }) = source_text(&path) else { continue };
        let own_folder = path.parent().map(Path::to_path_buf);
        for name in text.lines().filter_map(quoted_include) {
            let candidates = own_folder.iter().chain(&folders).map(|folder| folder.join(name));
            let first = candidates.into_iter().find(|candidate| candidate.is_file());
            waiting.extend(first.filter(|path| seen.insert(path.clone())));
        }
        found.push((path, text));
    }
    found
}

/// The name in `#include "name"`.
pub(crate) fn quoted_include(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
    rest.trim_start().strip_prefix('"')?.split('"').next()
}

/// The folders that flags name.
pub(crate) fn named_folders(words: &[String], flags: &[&str]) -> Vec<PathBuf> {
    let of = |flag: &&str| {
        let with_next = words.iter().zip(words.iter().skip(1).map(Some).chain([None]));
        with_next.filter_map(|(word, next)| folder_of(flag, word, next)).collect::<Vec<_>>()
    };
    flags.iter().flat_map(of).collect()
}

/// The folder that a flag names, in the same word or the next.
fn folder_of(flag: &str, word: &str, next: Option<&String>) -> Option<PathBuf> {
    match word.strip_prefix(flag)? {
        "" => next.map(PathBuf::from),
        folder => Some(PathBuf::from(folder)),
    }
}

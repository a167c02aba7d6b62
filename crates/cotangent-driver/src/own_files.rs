//! The files that make up the user's program, apart from libraries.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::flags::ParseFlags;
use crate::source_text::{SourceText, source_text};

/// The user's files, and the files that these and they include in quotation marks, with their texts. Folders are those that `-I`
/// names.
pub fn own_files(file: &Path, flags: &ParseFlags) -> Vec<(PathBuf, String)> {
    let clang_args = &flags.clang_args;
    let folders: Vec<PathBuf> = clang_args
        .iter()
        .zip(clang_args.iter().skip(1).map(Some).chain([None]))
        .filter_map(|(word, next)| match word.strip_prefix("-I") {
            Some("") => next.map(PathBuf::from),
            folder => folder.map(PathBuf::from),
        })
        .collect();
    let mut found = Vec::new();
    let others = flags.others.iter().filter_map(|other| std::path::absolute(other).ok());
    let mut waiting: Vec<PathBuf> = [file.to_path_buf()].into_iter().chain(others).collect();
    let mut seen: BTreeSet<PathBuf> = waiting.iter().cloned().collect();
    while let Some(path) = waiting.pop() {
        // What cannot be read is Clang's to complain about.
        let Ok(SourceText { text, .. }) = source_text(&path) else { continue };
        let own_folder = path.parent().map(Path::to_path_buf);
        for name in included(&text) {
            let candidates = own_folder.iter().chain(&folders).map(|folder| folder.join(name));
            let first = candidates.into_iter().find(|candidate| candidate.is_file());
            waiting.extend(first.filter(|path| seen.insert(path.clone())));
        }
        found.push((path, text));
    }
    found
}

/// The names in `#include "name"`.
fn included(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
        rest.trim_start().strip_prefix('"')?.split('"').next()
    })
}

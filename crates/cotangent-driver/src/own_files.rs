//! The files that make up the user's program, apart from libraries.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::flags::ParseFlags;
use crate::leading::is_include_of_large;
use crate::source_text::{SourceText, source_text};

/// The user's files, and the files that these and they include in quotation marks, with their texts. Folders are those that `-I`
/// names.
pub fn own_files(file: &Path, flags: &ParseFlags) -> Vec<(PathBuf, String)> {
    included(file, flags, quoted_include)
}

/// The same with the libraries of headers in folders that `-I` names, `<glm/glm.hpp>`, apart from large ones.
pub fn own_files_and_libraries(file: &Path, flags: &ParseFlags) -> Vec<(PathBuf, String)> {
    included(file, flags, |line| quoted_include(line).or_else(|| library_include(line)))
}

fn included(file: &Path, flags: &ParseFlags, name_in: impl Fn(&str) -> Option<&str>) -> Vec<(PathBuf, String)> {
    let folders = named_folders(&flags.clang_args, &["-I"]);
    let mut found = Vec::new();
    let others = flags.others.iter().filter_map(|other| std::path::absolute(other).ok());
    let mut waiting: Vec<PathBuf> = [file.to_path_buf()].into_iter().chain(others).collect();
    let mut seen: BTreeSet<PathBuf> = waiting.iter().cloned().collect();
    while let Some(path) = waiting.pop() {
        // What cannot be read is Clang's to complain about.
        let Ok(SourceText { text, .. }) = source_text(&path) else { continue };
        let own_folder = path.parent().map(Path::to_path_buf);
        for name in text.lines().filter_map(&name_in) {
            let candidates = own_folder.iter().chain(&folders).map(|folder| without_dots(&folder.join(name)));
            let first = candidates.into_iter().find(|candidate| candidate.is_file());
            waiting.extend(first.filter(|path| seen.insert(path.clone())));
        }
        found.push((path, text));
    }
    found
}

/// The path without `.` and `name/..`: headers that include each other so would have ever longer names.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(plain.components().next_back(), Some(Component::Normal(_))) => {
                plain.pop();
            }
            Component::ParentDir | Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(part),
        }
    }
    plain
}

/// The name in `#include "name"`.
pub(crate) fn quoted_include(line: &str) -> Option<&str> {
    included_name(line)?.strip_prefix('"')?.split('"').next()
}

/// The name in `#include <library/name>`, unless the library is large.
fn library_include(line: &str) -> Option<&str> {
    let name = included_name(line)?.strip_prefix('<')?.split('>').next()?;
    (name.contains('/') && !is_include_of_large(line)).then_some(name)
}

fn included_name(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
    Some(rest.trim_start())
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

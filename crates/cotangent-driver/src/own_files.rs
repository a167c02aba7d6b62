//! The files that make up the user's program, apart from libraries.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::flags::ParseFlags;
use crate::leading::is_include_of_large;
use crate::source_text::{SourceText, source_text};

/// The user's files, and the files that these and they include in quotation marks, with their texts. Folders are those that `-I`
/// names.
pub fn own_files(file: &Path, flags: &ParseFlags) -> Vec<(PathBuf, String)> {
    included(file, flags, |_| None)
}

/// The same with the libraries of headers in folders that `-I` names, `<glm/glm.hpp>` and `<helper.h>`, apart from large ones
/// and CUDA's.
pub fn own_files_and_libraries(file: &Path, flags: &ParseFlags) -> Vec<(PathBuf, String)> {
    included(file, flags, library_include)
}

fn included(file: &Path, flags: &ParseFlags, library_in: fn(&str) -> Option<&str>) -> Vec<(PathBuf, String)> {
    let folders = named_folders(&flags.clang_args, &["-I"]);
    let of_libraries = folders.iter().filter(|folder| !folder.join("cuda_runtime.h").is_file());
    let of_libraries: Vec<PathBuf> = of_libraries.cloned().collect();
    let mut found = Vec::new();
    let others = flags.others.iter().filter_map(|other| std::path::absolute(other).ok());
    let mut waiting: Vec<PathBuf> = [file.to_path_buf()].into_iter().chain(others).collect();
    let mut seen: BTreeSet<PathBuf> = waiting.iter().cloned().collect();
    while let Some(path) = waiting.pop() {
        // What cannot be read is Clang's to complain about.
        let Ok(SourceText { text, .. }) = source_text(&path) else { continue };
        let own_folder = path.parent().map(Path::to_path_buf);
        for line in text.lines() {
            let first = match (quoted_include(line), library_in(line)) {
                (Some(name), _) => first_file(own_folder.iter().chain(&folders), name),
                (None, Some(name)) => first_file(of_libraries.iter(), name),
                (None, None) => None,
            };
            waiting.extend(first.filter(|path| seen.insert(path.clone())));
        }
        found.push((path, text));
    }
    found
}

/// The file of that name in the first folder that has one.
fn first_file<'f>(mut folders: impl Iterator<Item = &'f PathBuf>, name: &str) -> Option<PathBuf> {
    folders.find_map(|folder| Some(without_dots(&folder.join(name))).filter(|path| path.is_file()))
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

/// The name in `#include <name>`, unless the library is large.
fn library_include(line: &str) -> Option<&str> {
    let name = included_name(line)?.strip_prefix('<')?.split('>').next()?;
    (!is_include_of_large(line)).then_some(name)
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

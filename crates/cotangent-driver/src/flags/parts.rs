//! Takes a compiler's command line apart without judging it: which words are flags with their values, which are files.
//! `cotangent cc` has to find the inputs in any line that a build system writes, even one that it must refuse later.

use std::ops::Range;

use super::table::Treatment;
use super::{Found, find};

/// A flag with its value, or a word that is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part<'words> {
    /// Which words it is made of.
    pub(crate) words: Range<usize>,
    pub(crate) kind: Kind<'words>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind<'words> {
    /// A file, or the name of a program.
    File(&'words str),
    /// A flag under the name that the line uses, and its value; empty if it has none.
    Flag { name: &'static str, value: &'words str, is_left: bool },
    /// A flag that is not in the table.
    Unknown,
}

/// The parts of a line, in order.
pub(crate) fn parts(words: &[String]) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let (length, kind) = match find(word) {
            Err(_) if word.starts_with('-') && word != "-" => (1, Kind::Unknown),
            Err(_) => (1, Kind::File(word)),
            Ok((spelled, found)) => {
                let next = words.get(at + 1).map(String::as_str);
                let (length, value) = match found {
                    Found::Whole if spelled.flag.wants_value() => (2, next.unwrap_or_default()),
                    Found::Whole => (1, ""),
                    Found::With(value) => (1, value),
                };
                let is_left = spelled.flag.treatment == Treatment::Leave;
                (length, Kind::Flag { name: spelled.name, value, is_left })
            }
        };
        let end = (at + length).min(words.len());
        parts.push(Part { words: at..end, kind });
        at = end;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_not_taken_for_files() {
        let line = "nvcc -DA=1 -MF x.cu.d -I include -std=c++17 -c x.cu -o x.o --frobnicate y.cu -MT";
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let parts = parts(&words);
        let files: Vec<&str> = parts
            .iter()
            .filter_map(|part| match part.kind {
                Kind::File(file) => Some(file),
                Kind::Flag { .. } | Kind::Unknown => None,
            })
            .collect();
        assert_eq!(files, ["nvcc", "x.cu", "y.cu"]);
        let covered: Vec<usize> = parts.iter().flat_map(|part| part.words.clone()).collect();
        assert_eq!(covered, (0..words.len()).collect::<Vec<_>>());
        assert!(
            parts.contains(&Part { words: 2..4, kind: Kind::Flag { name: "-MF", value: "x.cu.d", is_left: false } })
        );
    }
}

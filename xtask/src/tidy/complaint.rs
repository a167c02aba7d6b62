//! What a check says about a file: the rule that is broken, and where.

use std::fmt;

/// One broken rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Complaint {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) message: String,
}

impl Complaint {
    pub(super) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.message)
    }
}

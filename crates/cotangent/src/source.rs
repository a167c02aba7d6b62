//! Where something stands in the user's text.

use std::sync::Arc;

use crate::id_type;
use crate::index::IdVec;

id_type!(
    /// A file that Clang read.
    FileId
);

/// A range of bytes of one file, or nowhere.
///
/// Spans carry no meaning: two modules that differ only in spans are the same program.
/// They are compared through the text form, which has none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Span {
    /// The file, `FileId(u32::MAX)` for nowhere.
    pub file: FileId,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The span of what the tool made itself.
    pub const NONE: Span = Span { file: FileId(u32::MAX), start: 0, end: 0 };

    /// Whether this is `NONE`.
    pub fn is_none(self) -> bool {
        self == Span::NONE
    }
}

impl Default for Span {
    fn default() -> Span {
        Span::NONE
    }
}

/// The files that spans refer to.
///
/// Texts are filled in by whoever reads files; a diagnostic in a file without text is shown by name and offset.
#[derive(Clone, Default, Debug)]
pub struct Sources {
    /// One entry a file.
    pub files: IdVec<FileId, SourceFile>,
}

/// One file's name and, if it was read, its text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// As Clang spells it.
    pub name: Arc<str>,
    /// The contents.
    pub text: Option<Arc<str>>,
}

impl Sources {
    /// The id of the file of that name, added if it is new.
    pub fn add(&mut self, name: &str) -> FileId {
        let known = self.files.entries().find(|(_, file)| &*file.name == name).map(|(id, _)| id);
        known.unwrap_or_else(|| self.files.push(SourceFile { name: name.into(), text: None }))
    }

    /// The text under a span, if its file was read.
    pub fn text(&self, span: Span) -> Option<&str> {
        let text = self.files.get(span.file)?.text.as_ref()?;
        text.get(span.start as usize..span.end as usize)
    }
}

//! Places in the user's program, as the executor knows them: a code address or a source line.
//!
//! A code address becomes a source line only when a finding is rendered ([`super::Symbolizer`]), because most
//! accesses never become a finding. Shadow memory stores a place as a small number ([`SiteId`]), which
//! `SiteTable` hands out.

/// A place in the user's program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Site {
    /// Nothing is known. Findings then have no source line.
    #[default]
    Unknown,
    /// The return address of a call in the user's code. One byte less is in the calling instruction, which is
    /// what the lookup uses.
    Address(usize),
    /// A source line, as `__builtin_FILE()` and `__builtin_LINE()` tell it; the name is from
    /// [`super::Checker::file`].
    Line { file: FileId, line: u32 },
}

/// A file name given to [`super::Checker::file`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub(crate) u32);

/// A site as a number that fits in a shadow record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SiteId(pub(super) u32);

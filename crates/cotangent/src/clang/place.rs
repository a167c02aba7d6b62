//! Locations of Clang's dump, and the spans that they become.
//!
//! Clang leaves the file out of a location that is in the same file as the one printed before.

use std::collections::HashMap;
use std::sync::Arc;

use serde::de::{Error, MapAccess};

use super::json::{Known, Member, Object};
use crate::source::{FileId, Sources, Span};

/// The files of the locations that were read.
#[derive(Default)]
pub(super) struct Files {
    pub(super) sources: Sources,
    known: HashMap<Arc<str>, FileId>,
    /// That of the last location.
    last: Arc<str>,
    /// That of the last span. Most are in one file, and its name is long.
    of_span: Option<(Arc<str>, FileId)>,
}

impl Files {
    fn id(&mut self, name: &Arc<str>) -> FileId {
        if let Some((last, id)) = &self.of_span
            && Arc::ptr_eq(last, name)
        {
            return *id;
        }
        let id = match self.known.get(name) {
            Some(id) => *id,
            None => self.sources.add(name),
        };
        self.known.insert(Arc::clone(name), id);
        self.of_span = Some((Arc::clone(name), id));
        id
    }

    pub(super) fn span(&mut self, begin: &Place, end: &Place) -> Span {
        let file = self.id(&begin.file);
        let start = u32::try_from(begin.offset).unwrap_or(u32::MAX);
        let stop = if end.file == begin.file { end.offset + end.length } else { begin.offset + begin.length };
        Span { file, start, end: u32::try_from(stop).unwrap_or(u32::MAX).max(start) }
    }
}

/// One token.
pub(super) struct Place {
    offset: usize,
    file: Arc<str>,
    length: usize,
}

impl Place {
    pub(super) fn begins_with(&self, other: &Place) -> bool {
        (self.offset, &self.file) == (other.offset, &other.file)
    }
}

/// Where a token stands. In a macro, it is written elsewhere.
#[derive(Default)]
pub(super) struct Location {
    pub(super) place: Option<Place>,
    elsewhere: Option<Place>,
    offset: Option<usize>,
    length: usize,
    file: Option<Arc<str>>,
}

impl Location {
    /// Where it is written.
    pub(super) fn written(&self) -> Option<&Place> {
        self.elsewhere.as_ref().or(self.place.as_ref())
    }
}

impl Object for Location {
    type Made = Location;

    fn member<'de, M: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, M>) -> Result<(), M::Error> {
        match key {
            "offset" => self.offset = Some(member.plain()?),
            "file" => self.file = Some(member.text()?),
            "tokLen" => self.length = member.plain()?,
            "spellingLoc" => self.elsewhere = member.object::<Location>()?.place,
            "expansionLoc" => self.place = member.object::<Location>()?.place,
            _ => member.skip()?,
        }
        Ok(())
    }

    fn made<E: Error>(mut self, known: &mut Known) -> Result<Location, E> {
        if let Some(file) = self.file.take() {
            known.files.last = file;
        }
        if let Some(offset) = self.offset {
            self.place = Some(Place { offset, file: Arc::clone(&known.files.last), length: self.length });
        }
        Ok(self)
    }
}

/// From the first token to the last.
#[derive(Default)]
pub(super) struct Range {
    begin: Location,
    end: Location,
}

impl Range {
    /// Where it stands and where it is written, if these are known.
    pub(super) fn spans(&self, files: &mut Files) -> (Option<Span>, Option<Span>) {
        let standing = self.begin.place.as_ref().zip(self.end.place.as_ref());
        let written = self.begin.written().zip(self.end.written());
        (standing.map(|(begin, end)| files.span(begin, end)), written.map(|(begin, end)| files.span(begin, end)))
    }
}

impl Object for Range {
    type Made = Range;

    fn member<'de, M: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, M>) -> Result<(), M::Error> {
        match key {
            "begin" => self.begin = member.object::<Location>()?,
            "end" => self.end = member.object::<Location>()?,
            _ => member.skip()?,
        }
        Ok(())
    }

    fn made<E: Error>(self, _: &mut Known) -> Result<Range, E> {
        Ok(self)
    }
}

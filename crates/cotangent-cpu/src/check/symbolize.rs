//! From code addresses to source lines, by the debug information of the program's shared object.
//!
//! Nothing is read before the first lookup, which happens only when there is a finding to show.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use addr2line::Loader;

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    pub file: String,
    pub line: u32,
    /// Counted from one; `None` if not known.
    pub column: Option<u32>,
}

/// Looks up source lines in one shared object.
pub struct Symbolizer {
    object: PathBuf,
    load_address: usize,
    skipped_prefixes: Vec<PathBuf>,
    loader: LoaderState,
    known: HashMap<usize, Option<Location>>,
}

enum LoaderState {
    NotRead,
    Ready(Box<Loader>),
    Failed(String),
}

impl Symbolizer {
    /// For a shared object that was loaded at an address (`dlpi_addr` of `dl_iterate_phdr`). Code inlined from files
    /// below one of `skipped_prefixes` is attributed to the line it was inlined into.
    pub fn new(object: &Path, load_address: usize, skipped_prefixes: Vec<PathBuf>) -> Symbolizer {
        Symbolizer {
            object: object.to_owned(),
            load_address,
            skipped_prefixes,
            loader: LoaderState::NotRead,
            known: HashMap::new(),
        }
    }

    /// Where in the source the call is that returns to this address.
    pub fn locate(&mut self, return_address: usize) -> Option<Location> {
        if let Some(location) = self.known.get(&return_address) {
            return location.clone();
        }
        let location = self.look_up(return_address);
        self.known.insert(return_address, location.clone());
        location
    }

    /// Why there are no source lines, if the debug information could not be read.
    pub fn failure(&self) -> Option<&str> {
        match &self.loader {
            LoaderState::Failed(reason) => Some(reason),
            LoaderState::NotRead | LoaderState::Ready(_) => None,
        }
    }

    fn look_up(&mut self, return_address: usize) -> Option<Location> {
        let probe = return_address.checked_sub(self.load_address)?.checked_sub(1)? as u64;
        if matches!(self.loader, LoaderState::NotRead) {
            self.loader = match Loader::new(&self.object) {
                Ok(loader) => LoaderState::Ready(Box::new(loader)),
                Err(error) => LoaderState::Failed(format!("cannot read {}: {error}", self.object.display())),
            };
        }
        let LoaderState::Ready(loader) = &self.loader else { return None };
        let mut innermost = None;
        let mut frames = loader.find_frames(probe).ok()?;
        while let Ok(Some(frame)) = frames.next() {
            let Some(location) = frame.location.as_ref().and_then(to_location) else { continue };
            if !self.skipped_prefixes.iter().any(|prefix| Path::new(&location.file).starts_with(prefix)) {
                return Some(location);
            }
            innermost.get_or_insert(location);
        }
        innermost
    }
}

/// Debug information has whole paths; below the current folder they are shown as the user writes them.
fn to_location(location: &addr2line::Location<'_>) -> Option<Location> {
    let column = location.column.filter(|column| *column > 0);
    let file = location.file?;
    let folder = std::env::current_dir().ok();
    let below =
        folder.and_then(|folder| Path::new(file).strip_prefix(folder).ok().map(|path| path.display().to_string()));
    Some(Location { file: below.unwrap_or_else(|| file.to_owned()), line: location.line?, column })
}

//! The files of one lane, one in each folder that it has come to. Block `i` lies at `i` times the size of a slab in whichever file
//! has it; what is not written there is a hole, and takes no room.

use std::io;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

use super::shared::Shared;
use crate::disk::{Transfer, Transfers};
use crate::error::Error;

/// Room on disk is reserved in steps of at least this many bytes, and of a quarter of what there is. While it is, the system lets no block
/// of the file be on its way.
const RESERVE: u64 = 64 << 20;

/// All transfers of a lane.
pub(super) struct Files {
    shared: Arc<Shared>,
    /// By folder; opened when it is their turn.
    files: Vec<Option<File>>,
    /// The folder that takes blocks until it is full.
    present: usize,
    pub(super) generation: u64,
    /// Transfers under way at a time.
    pub(super) depth: usize,
    /// The folder of the last error.
    pub(super) troubled: usize,
    /// A forked child must not touch the files or the rings of its parent.
    process: u32,
}

struct File {
    transfers: Transfers,
    /// Bytes of the file for which there is room, as far as we remember.
    room: Range<u64>,
}

impl Files {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let files = shared.folders.iter().map(|_| None).collect();
        let depth = (shared.pool.limit() / 4).clamp(1, 12);
        Self { shared, files, present: 0, generation: 0, depth, troubled: 0, process: std::process::id() }
    }

    pub(super) fn count(&self) -> usize {
        self.files.len()
    }

    pub(super) fn under_way(&self) -> usize {
        self.files.iter().flatten().map(|file| file.transfers.under_way()).sum()
    }

    /// The folder whose disk has room for these bytes of its file: the present one, or one of the others once it is full. Full disks
    /// are found here, before a byte is written.
    pub(super) fn make_room(&mut self, place: Range<u64>) -> Result<usize, Error> {
        let has_room = |file: &Option<File>| file.as_ref().is_some_and(|file| file.has_room(&place));
        if let Some(folder) = self.files.iter().position(has_room) {
            return Ok(folder);
        }
        for _ in 0..self.count() {
            let folder = self.present;
            let shared = Arc::clone(&self.shared);
            let _nobody_else = shared.folders[folder].room.lock().unwrap_or_else(PoisonError::into_inner);
            match self.file(folder).and_then(|file| file.make_room(&place)) {
                Ok(()) => return Ok(folder),
                Err(error) => self.note(folder, error)?,
            }
        }
        Err(Error::DiskFull)
    }

    /// What a failed write means: `Ok` if the folder has turned out to be full, so that another may take the block.
    pub(super) fn was_refused(&mut self, folder: usize, offset: u64, error: io::Error) -> Result<(), Error> {
        if let Some(file) = &mut self.files[folder] {
            file.room.end = file.room.end.min(offset).max(file.room.start);
        }
        self.note(folder, error)
    }

    /// Goes on in the next folder if this one is full.
    fn note(&mut self, folder: usize, error: io::Error) -> Result<(), Error> {
        self.troubled = folder;
        match disk_error(error) {
            Error::DiskFull => {
                if self.present == folder {
                    self.present = (folder + 1) % self.count();
                }
                Ok(())
            }
            other => Err(other),
        }
    }

    pub(super) fn start(&mut self, folder: usize, transfer: Transfer) -> Result<(), Error> {
        let file = self.files[folder].as_mut().ok_or(Error::Panicked)?;
        file.transfers.start(transfer);
        Ok(())
    }

    /// A slab that has arrived, or will not: with `wait`, one of that folder.
    pub(super) fn finish(&mut self, wait: Option<usize>) -> Option<(Transfer, io::Result<()>)> {
        match wait {
            Some(folder) => self.files[folder].as_mut()?.transfers.finish(true),
            None => self.files.iter_mut().flatten().find_map(|file| file.transfers.finish(false)),
        }
    }

    pub(super) fn check_process(&self) -> Result<(), Error> {
        if self.process == std::process::id() { Ok(()) } else { Err(Error::Forked) }
    }

    fn file(&mut self, folder: usize) -> io::Result<&mut File> {
        let place = &mut self.files[folder];
        if place.is_none() {
            let transfers = Transfers::new((self.shared.folders[folder].open)()?);
            *place = Some(File { transfers, room: 0..0 });
        }
        place.as_mut().ok_or_else(|| io::Error::from_raw_os_error(libc::EIO))
    }
}

impl File {
    fn has_room(&self, place: &Range<u64>) -> bool {
        self.room.start <= place.start && place.end <= self.room.end
    }

    fn make_room(&mut self, place: &Range<u64>) -> io::Result<()> {
        let ahead = (place.end + self.room.end / 4).next_multiple_of(RESERVE);
        // Perhaps there is room for this block, if not for the next ones.
        let end = match self.transfers.reserve(place.start, ahead - place.start) {
            Ok(()) => ahead,
            Err(_) => self.transfers.reserve(place.start, place.end - place.start).map(|()| place.end)?,
        };
        let start = if self.room.contains(&place.start) || self.room.end == place.start {
            self.room.start
        } else {
            place.start
        };
        self.room = start..end;
        Ok(())
    }
}

/// What an error of the system means.
pub(crate) fn disk_error(error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => Error::DiskFull,
        errno => Error::Disk { errno: errno.unwrap_or(libc::EIO) },
    }
}

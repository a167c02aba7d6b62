//! Whole slabs over an engine: what was interrupted is tried again, what was short is continued, and every other failure
//! comes back with its slab.

use std::io;

use super::file::SECTOR;
use super::{Direction, Engine, Transfer};

/// How often a transfer may be interrupted without moving a byte. Beyond that the disk is taken to be broken.
const TRIES: usize = 1000;

/// The transfers of one lane.
pub(crate) struct Transfers {
    engine: Box<dyn Engine>,
    under_way: usize,
    interruptions: usize,
}

impl Transfers {
    pub(crate) fn new(engine: Box<dyn Engine>) -> Self {
        Self { engine, under_way: 0, interruptions: 0 }
    }

    pub(crate) fn under_way(&self) -> usize {
        self.under_way
    }

    pub(crate) fn reserve(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        loop {
            match self.engine.reserve(offset, bytes) {
                Err(error) if self.may_retry(&error) => {}
                result => return result,
            }
        }
    }

    pub(crate) fn start(&mut self, transfer: Transfer) {
        self.under_way += 1;
        self.engine.start(transfer);
    }

    /// A slab that has arrived, or will not.
    pub(crate) fn finish(&mut self, wait: bool) -> Option<(Transfer, io::Result<()>)> {
        if self.under_way == 0 {
            return None;
        }
        loop {
            let (mut transfer, result) = self.engine.finish(wait)?;
            let result = match result {
                Ok(bytes) => advance(&mut transfer, bytes),
                Err(error) if self.may_retry(&error) => Ok(false),
                Err(error) => Err(error),
            };
            match result {
                Ok(false) => self.engine.start(transfer),
                // An engine that wrote an unsealed block is wrong.
                Ok(true) if !transfer.is_sealed => {
                    self.under_way -= 1;
                    return Some((transfer, Err(io::Error::from_raw_os_error(libc::EIO))));
                }
                Ok(true) => {
                    self.interruptions = 0;
                    self.under_way -= 1;
                    return Some((transfer, Ok(())));
                }
                Err(error) => {
                    self.under_way -= 1;
                    return Some((transfer, Err(error)));
                }
            }
        }
    }

    /// The ring of a lane cancels what a thread that has ended gave it.
    fn may_retry(&mut self, error: &io::Error) -> bool {
        self.interruptions += 1;
        matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::ECANCELED)) && self.interruptions < TRIES
    }
}

/// Counts bytes that have moved; whether these were the last.
fn advance(transfer: &mut Transfer, bytes: usize) -> io::Result<bool> {
    transfer.done += bytes;
    if transfer.done >= transfer.bytes_on_disk() {
        return Ok(true);
    }
    let before = transfer.done - bytes;
    transfer.done -= transfer.done % SECTOR;
    if transfer.done > before {
        return Ok(false);
    }
    // Nothing moved: the end of the file, or of the disk.
    Err(io::Error::from_raw_os_error(match transfer.direction {
        Direction::Write => libc::ENOSPC,
        Direction::Read => libc::EIO,
    }))
}

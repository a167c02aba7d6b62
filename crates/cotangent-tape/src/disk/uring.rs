//! The engine over io_uring: the lane's own thread submits, the kernel works, and nothing else runs.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{IoUring, opcode, types};

use super::{Direction, Engine, Transfer, file};

/// More than a lane ever has under way.
const ENTRIES: u32 = 64;

/// A ring of one lane. It owns the slabs that the kernel is working on.
pub(crate) struct Uring {
    file: File,
    ring: IoUring,
    under_way: Vec<Option<Transfer>>,
}

impl Uring {
    /// `None` where the system does not allow io_uring, or is too old for what is needed of it.
    pub(crate) fn new(file: &File) -> Option<Self> {
        let ring = IoUring::new(ENTRIES).ok()?;
        let mut probe = io_uring::Probe::new();
        ring.submitter().register_probe(&mut probe).ok()?;
        if !probe.is_supported(opcode::Write::CODE) || !probe.is_supported(opcode::Read::CODE) {
            return None;
        }
        let file: OwnedFd = file.try_clone().ok()?.into();
        let under_way = std::iter::repeat_with(|| None).take(ENTRIES as usize).collect();
        Some(Self { file: file.into(), ring, under_way })
    }
}

impl Engine for Uring {
    fn reserve(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        file::reserve(&self.file, offset, bytes)
    }

    fn start(&mut self, mut transfer: Transfer) {
        transfer.prepare();
        let offset = transfer.offset();
        let (start, bytes) = transfer.rest();
        let bytes = bytes as u32;
        let fd = types::Fd(self.file.as_raw_fd());
        let entry = match transfer.direction {
            Direction::Write => opcode::Write::new(fd, start, bytes).offset(offset).build(),
            Direction::Read => opcode::Read::new(fd, start, bytes).offset(offset).build(),
        };
        let free = self.under_way.iter().position(Option::is_none).expect("a lane has fewer transfers under way");
        self.under_way[free] = Some(transfer);
        // SAFETY: the slab stays in `under_way` until its completion has been seen, or for ever.
        let pushed = unsafe { self.ring.submission().push(&entry.user_data(free as u64)) };
        pushed.expect("the queue is as long as the table");
        // What the kernel does not take now it takes when we wait.
        let _ = self.ring.submit();
    }

    fn finish(&mut self, wait: bool) -> Option<(Transfer, io::Result<usize>)> {
        loop {
            if let Some(completion) = self.ring.completion().next() {
                let transfer = self.under_way[completion.user_data() as usize].take()?;
                let moved = usize::try_from(completion.result());
                return Some((transfer, moved.map_err(|_| io::Error::from_raw_os_error(-completion.result()))));
            }
            if !wait || self.under_way.iter().all(Option::is_none) {
                return None;
            }
            // Fails only for a moment: interrupted, or out of kernel memory.
            let _ = self.ring.submit_and_wait(1);
        }
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // The lane waits for its transfers; what is left belongs to another process, or the kernel still writes to it.
        self.under_way.drain(..).for_each(std::mem::forget);
    }
}

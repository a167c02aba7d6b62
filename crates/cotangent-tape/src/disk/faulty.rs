//! An engine in memory, for tests, that fails the call it is told to fail, changes what it is told to change, and ends
//! transfers out of order.

use std::io;
use std::sync::{Arc, Mutex};

use super::{Direction, Engine, OpenEngine, Transfer};

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It fails with this number of the system's.
    Errno(i32),
    /// It moves so many bytes only.
    Short(usize),
    /// A read gives back one bit changed.
    Flip(usize),
    /// A write is confirmed, and lost.
    Lost,
}

/// Which calls fail, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Once(usize),
    Every(usize),
}

/// All disks of a tape, shared with the test.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) files: Vec<Vec<u8>>,
    pub(crate) calls: usize,
    pub(crate) fault: Option<(When, Fault)>,
    /// How many calls had the fault.
    pub(crate) met: usize,
    /// No file of this disk may be longer: the disk is full.
    pub(crate) limit: Option<(usize, usize)>,
    /// Whether room cannot be reserved, so that only a write finds a full disk.
    pub(crate) is_blind: bool,
    /// Whether tapes of these disks compress.
    pub(crate) compress: bool,
}

/// Engines of one disk; each has a file of its own.
pub(crate) fn open(state: &Arc<Mutex<State>>, disk: usize) -> OpenEngine {
    let state = Arc::clone(state);
    Arc::new(move || {
        let mut opened = state.lock().unwrap();
        opened.files.push(Vec::new());
        let file = opened.files.len() - 1;
        Ok(Box::new(Faulty { state: Arc::clone(&state), disk, file, waiting: Vec::new() }))
    })
}

struct Faulty {
    state: Arc<Mutex<State>>,
    disk: usize,
    file: usize,
    waiting: Vec<Transfer>,
}

impl State {
    fn fault(&mut self) -> Option<Fault> {
        self.calls += 1;
        let calls = self.calls;
        let (_, fault) = self.fault.filter(|(when, _)| match when {
            When::Once(call) => *call == calls,
            When::Every(step) => calls.is_multiple_of(*step),
        })?;
        self.met += 1;
        Some(fault)
    }

    /// Whether a file of this disk cannot be so long.
    fn is_full(&self, disk: usize, end: usize) -> bool {
        self.limit.is_some_and(|(limited, limit)| limited == disk && end > limit)
    }

    fn run(&mut self, disk: usize, file: usize, transfer: &mut Transfer) -> io::Result<usize> {
        let direction = transfer.direction;
        transfer.run(false, |start, bytes, offset| {
            // SAFETY: so many bytes belong to the transfer, and no lane of the tests reads while we run.
            let memory = unsafe { std::slice::from_raw_parts_mut(start, bytes) };
            self.call((disk, file), direction, memory, offset as usize)
        })
    }

    fn call(
        &mut self,
        (disk, file): (usize, usize),
        direction: Direction,
        memory: &mut [u8],
        offset: usize,
    ) -> io::Result<usize> {
        let fault = self.fault();
        let mut bytes = memory.len();
        match fault {
            Some(Fault::Errno(errno)) => return Err(io::Error::from_raw_os_error(errno)),
            Some(Fault::Short(most)) => bytes = bytes.min(most),
            Some(Fault::Lost) if direction == Direction::Write => return Ok(bytes),
            Some(Fault::Flip(_) | Fault::Lost) | None => {}
        }
        let end = offset + bytes;
        if direction == Direction::Write && self.is_full(disk, end) {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        let file = &mut self.files[file];
        if file.len() < end {
            file.resize(end, 0);
        }
        let memory = &mut memory[..bytes];
        match direction {
            Direction::Write => file[offset..end].copy_from_slice(memory),
            Direction::Read => memory.copy_from_slice(&file[offset..end]),
        }
        if let (Some(Fault::Flip(at)), Direction::Read) = (fault, direction) {
            memory[at % bytes] ^= 1;
        }
        Ok(bytes)
    }
}

impl Engine for Faulty {
    fn reserve(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        match state.fault() {
            Some(Fault::Errno(errno)) => Err(io::Error::from_raw_os_error(errno)),
            _ if !state.is_blind && state.is_full(self.disk, (offset + bytes) as usize) => {
                Err(io::Error::from_raw_os_error(libc::ENOSPC))
            }
            Some(Fault::Short(_) | Fault::Flip(_) | Fault::Lost) | None => Ok(()),
        }
    }

    fn start(&mut self, transfer: Transfer) {
        self.waiting.push(transfer);
    }

    fn finish(&mut self, wait: bool) -> Option<(Transfer, io::Result<usize>)> {
        // Not before it must, and the last one first.
        if !wait && self.waiting.len() < 3 {
            return None;
        }
        let mut transfer = self.waiting.pop()?;
        let result = self.state.lock().unwrap().run(self.disk, self.file, &mut transfer);
        Some((transfer, result))
    }
}

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

/// The disk, shared with the test.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) bytes: Vec<u8>,
    pub(crate) calls: usize,
    /// The number of the call, and its fault.
    pub(crate) fault: Option<(usize, Fault)>,
    /// Whether the fault was met.
    pub(crate) is_met: bool,
}

/// Engines that share one disk. For one lane.
pub(crate) fn open(state: &Arc<Mutex<State>>) -> OpenEngine {
    let state = Arc::clone(state);
    Arc::new(move || Ok(Box::new(Faulty { state: Arc::clone(&state), waiting: Vec::new() })))
}

struct Faulty {
    state: Arc<Mutex<State>>,
    waiting: Vec<Transfer>,
}

impl State {
    fn fault(&mut self) -> Option<Fault> {
        self.calls += 1;
        let (_, fault) = self.fault.filter(|(call, _)| *call == self.calls)?;
        self.is_met = true;
        Some(fault)
    }

    fn run(&mut self, transfer: &mut Transfer) -> io::Result<usize> {
        let fault = self.fault();
        let (offset, done) = (transfer.offset() as usize, transfer.done);
        let mut bytes = transfer.slab.bytes() - done;
        match fault {
            Some(Fault::Errno(errno)) => return Err(io::Error::from_raw_os_error(errno)),
            Some(Fault::Short(most)) => bytes = bytes.min(most),
            Some(Fault::Lost) if transfer.direction == Direction::Write => return Ok(bytes),
            Some(Fault::Flip(_) | Fault::Lost) | None => {}
        }
        let end = offset + bytes;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        let memory = &mut transfer.slab.all_mut()[done..done + bytes];
        match transfer.direction {
            Direction::Write => self.bytes[offset..end].copy_from_slice(memory),
            Direction::Read => memory.copy_from_slice(&self.bytes[offset..end]),
        }
        if let (Some(Fault::Flip(at)), Direction::Read) = (fault, transfer.direction) {
            memory[at % bytes] ^= 1;
        }
        Ok(bytes)
    }
}

impl Engine for Faulty {
    fn reserve(&mut self, _: u64, _: u64) -> io::Result<()> {
        match self.state.lock().unwrap().fault() {
            Some(Fault::Errno(errno)) => Err(io::Error::from_raw_os_error(errno)),
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
        let result = self.state.lock().unwrap().run(&mut transfer);
        Some((transfer, result))
    }
}

//! Tests: every call to the disk fails once, in every way, and no sweep ever sees a wrong value.

use std::io;
use std::sync::{Arc, Mutex};

use crate::disk::faulty::{self, Fault, State};
use crate::disk::{Engine, Transfer};
use crate::{Error, Options, Tape};

const NUMBERS: u64 = 200_000;

/// Pushes many numbers through a budget of four small slabs, reads some again, goes back and on, and pops them all.
/// `Ok` only if every value was right; a wrong one panics.
fn sweep(state: &Arc<Mutex<State>>) -> Result<(), Error> {
    let options = Options { slab_bytes: 64 << 10, budget_bytes: 256 << 10, ..Options::default() };
    let tape = Tape::with_engines(&options, Some(faulty::open(state)), None)?;
    let mut lane = tape.lane();
    for i in 0..NUMBERS {
        lane.push(i)?;
    }
    let mark = lane.mark();
    for i in 0..NUMBERS / 4 {
        lane.push(i)?;
    }
    let mut again = lane.reread()?;
    again.seek(mark)?;
    for i in (NUMBERS / 2..NUMBERS).rev() {
        assert_eq!(again.pop::<u64>()?, i);
    }
    drop(again);
    lane.rewind(mark)?;
    for i in (NUMBERS / 2..NUMBERS).rev() {
        assert_eq!(lane.pop::<u64>()?, i);
    }
    for i in NUMBERS / 2..NUMBERS {
        lane.push(i + 1)?;
    }
    for i in (0..NUMBERS).rev() {
        assert_eq!(lane.pop::<u64>()?, if i < NUMBERS / 2 { i } else { i + 1 });
    }
    assert_eq!(lane.pop::<u64>(), Err(Error::Empty));
    assert!(tape.peak_bytes() <= options.budget_bytes + 2 * options.slab_bytes);
    Ok(())
}

fn with(fault: Option<(usize, Fault)>) -> (Result<(), Error>, State) {
    let state = Arc::new(Mutex::new(State { fault, ..State::default() }));
    let result = sweep(&state);
    let state = std::mem::take(&mut *state.lock().unwrap());
    (result, state)
}

#[test]
fn every_call_may_fail_in_every_way() {
    let (result, state) = with(None);
    assert_eq!(result, Ok(()));
    assert!(state.calls > 80, "{} calls", state.calls);
    // What each fault may lead to: the error, or success.
    let outcomes: [(Fault, &[Result<(), Error>]); 9] = [
        (Fault::Errno(libc::EIO), &[Err(Error::Disk { errno: libc::EIO }), Ok(())]),
        (Fault::Errno(libc::ENOSPC), &[Err(Error::DiskFull), Ok(())]),
        (Fault::Errno(libc::EINTR), &[Ok(())]),
        (Fault::Short(0), &[Err(Error::DiskFull), Err(Error::Disk { errno: libc::EIO }), Ok(())]),
        (Fault::Short(5), &[Err(Error::DiskFull), Err(Error::Disk { errno: libc::EIO }), Ok(())]),
        (Fault::Short(4096), &[Ok(())]),
        (Fault::Short(10_000), &[Ok(())]),
        (Fault::Flip(77), &[Err(Error::Corrupt), Ok(())]),
        (Fault::Lost, &[Err(Error::Corrupt), Err(Error::Stale), Ok(())]),
    ];
    let mut seen = vec![0; outcomes.len()];
    for call in 1..=state.calls {
        for (number, (fault, allowed)) in outcomes.iter().enumerate() {
            let (result, state) = with(Some((call, *fault)));
            assert!(state.is_met && allowed.contains(&result), "call {call}, {fault:?}: {result:?}");
            seen[number] += usize::from(result.is_err());
        }
    }
    for ((fault, allowed), errors) in outcomes.iter().zip(seen) {
        assert_eq!(errors > 0, allowed.len() > 1, "{fault:?} led to {errors} errors");
    }
}

#[test]
fn an_endlessly_interrupted_disk_is_an_error() {
    let options = Options { slab_bytes: 64 << 10, budget_bytes: 256 << 10, ..Options::default() };
    let tape = Tape::with_engines(&options, Some(Arc::new(|| Ok(Box::new(Interrupted::default())))), None).unwrap();
    let mut lane = tape.lane();
    let result = (0..NUMBERS).try_for_each(|i| lane.push(i));
    assert_eq!(result, Err(Error::Disk { errno: libc::EINTR }));
}

/// Every transfer is interrupted.
#[derive(Default)]
struct Interrupted {
    waiting: Vec<Transfer>,
}

impl Engine for Interrupted {
    fn reserve(&mut self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn start(&mut self, transfer: Transfer) {
        self.waiting.push(transfer);
    }

    fn finish(&mut self, _: bool) -> Option<(Transfer, io::Result<usize>)> {
        Some((self.waiting.pop()?, Err(io::Error::from_raw_os_error(libc::EINTR))))
    }
}

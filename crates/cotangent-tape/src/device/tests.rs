//! Tests: arrays go to the host and come back through a device that does everything late and out of order, and that fails
//! at every call once.

use std::ffi::c_void;
use std::ptr;

use super::simulated::{FAILURE, Simulated};
use super::{Chunk, Copy, DeviceLane, Direction, Driver, StagingOptions, Stream};
use crate::{Error, Options, Tape};

const CHUNK: usize = 1000;
const PINNED: usize = 5 * CHUNK;

fn stream(number: usize) -> Stream {
    Stream(ptr::without_provenance_mut::<c_void>(number))
}

/// Sizes of arrays: nothing, less than a chunk, some chunks, more than the pinned memory.
const SIZES: &[usize] = &[10, 0, CHUNK, 3 * CHUNK + 7, 2 * PINNED + 1, 999, 4 * CHUNK, 1, PINNED, 2500];

fn device_lane(driver: impl Driver + 'static) -> Result<DeviceLane, Error> {
    let options = StagingOptions { chunk_bytes: CHUNK, pinned_bytes: PINNED };
    DeviceLane::new(Tape::new(Options::default())?.lane(), Box::new(driver), options)
}

/// Two arrays on two streams are pushed, overwritten, and popped, some of them in between. A wrong value is noted by the device.
fn sweep(device: &Simulated) -> Result<(), Error> {
    let largest = 2 * PINNED + 1;
    let mut lane = device_lane(device.clone())?;
    let place = |number: usize| (stream(1 + number % 2), number % 2 * largest);
    let push = |lane: &mut DeviceLane, number: usize, bytes: usize| {
        let (stream, at) = place(number);
        device.fill(stream, at, bytes, number as u64);
        // SAFETY: the device's memory is as large.
        unsafe { lane.push(Simulated::address(at), bytes, stream) }?;
        device.fill(stream, at, bytes, 12345);
        Ok(())
    };
    let pop = |lane: &mut DeviceLane, number: usize, bytes: usize| {
        let (stream, at) = place(number);
        // SAFETY: the device's memory is as large.
        unsafe { lane.pop(Simulated::address(at), bytes, stream) }?;
        device.expect(stream, at, bytes, number as u64);
        device.fill(stream, at, bytes, 54321);
        Ok(())
    };
    for (number, bytes) in SIZES.iter().enumerate() {
        push(&mut lane, number, *bytes)?;
        push(&mut lane, number + 1, *bytes)?;
        pop(&mut lane, number + 1, *bytes)?;
    }
    for (number, bytes) in SIZES.iter().enumerate().rev() {
        pop(&mut lane, number, *bytes)?;
    }
    assert!(lane.is_empty());
    let stats = lane.stats();
    assert_eq!(stats.bytes_written, stats.bytes_read);
    assert!(stats.hits > 0 && stats.stalls > 0);
    assert_eq!(device.allocations(), 1);
    lane.finish()
}

fn memory() -> usize {
    2 * (2 * PINNED + 1)
}

#[test]
fn arrays_come_back_whatever_the_order_of_copies() {
    for seed in 0..200 {
        let device = Simulated::new(memory(), seed, None);
        assert_eq!((sweep(&device), device.synchronize()), (Ok(()), vec![]), "{seed}");
        assert!(device.is_all_freed());
    }
}

#[test]
fn every_call_of_the_driver_may_fail() {
    let whole = Simulated::new(memory(), 3, None);
    assert_eq!(sweep(&whole), Ok(()));
    let calls = whole.calls();
    assert!(calls > 150, "{calls}");
    for call in 1..=calls {
        let device = Simulated::new(memory(), 3, Some(call));
        assert_eq!(sweep(&device), Err(Error::Device { code: FAILURE }), "call {call}");
        assert!(device.is_all_freed());
    }
}

#[test]
fn an_error_stays_until_the_lane_is_cleared() {
    let device = Simulated::new(memory(), 1, Some(2));
    let mut lane = device_lane(device.clone()).unwrap();
    // SAFETY: the device's memory is as large.
    let mut push = || unsafe { lane.push(Simulated::address(0), 10, stream(1)) };
    assert_eq!((push(), push()), (Err(Error::Device { code: FAILURE }), Err(Error::Device { code: FAILURE })));
    lane.clear();
    device.fill(stream(1), 0, 10, 7);
    // SAFETY: as above.
    unsafe {
        assert_eq!(lane.push(Simulated::address(0), 10, stream(1)), Ok(()));
        assert_eq!(lane.pop(Simulated::address(20), 10, stream(1)), Ok(()));
    }
    device.expect(stream(1), 20, 10, 7);
    assert_eq!((lane.finish(), device.synchronize()), (Ok(()), vec![]));
}

#[test]
fn only_what_was_pushed_is_popped() {
    let device = Simulated::new(memory(), 1, None);
    let mut lane = device_lane(device).unwrap();
    // SAFETY: the device's memory is as large.
    unsafe {
        lane.push(Simulated::address(0), 10, stream(1)).unwrap();
        assert_eq!(lane.pop(Simulated::address(0), 11, stream(1)), Err(Error::Size));
        lane.clear();
        assert_eq!(lane.pop(Simulated::address(0), 10, stream(1)), Err(Error::Empty));
    }
}

#[test]
fn pinned_memory_of_less_than_two_chunks_is_refused() {
    let options = StagingOptions { chunk_bytes: 10, pinned_bytes: 19 };
    let lane = Tape::new(Options::default()).unwrap().lane();
    let refused = DeviceLane::new(lane, Box::new(Simulated::new(1, 1, None)), options);
    assert_eq!(refused.err(), Some(Error::Options));
}

#[test]
fn without_the_order_of_streams_values_would_be_wrong() {
    // What the tests above rely on: a device that is not told to wait does not.
    let wrong = (0..20).any(|seed| {
        let mut device = Simulated::new(memory(), seed, None);
        device.fill(stream(1), 0, 10, 1);
        let memory = device.allocate(CHUNK).unwrap();
        let copy = |direction| Copy {
            chunk: Chunk { start: memory, bytes: CHUNK },
            device: Simulated::address(0),
            bytes: 10,
            direction,
            number: 0,
        };
        // SAFETY: the device's memory is as large.
        unsafe { device.start(copy(Direction::FromDevice)) };
        device.fill(stream(1), 0, 10, 2);
        while device.finish(true).is_none() {}
        // SAFETY: as above.
        unsafe { device.start(copy(Direction::ToDevice)) };
        while device.finish(true).is_none() {}
        device.expect(stream(1), 0, 10, 1);
        let wrong = device.synchronize();
        // SAFETY: no copy is under way.
        unsafe { device.free(memory) };
        !wrong.is_empty()
    });
    assert!(wrong);
}

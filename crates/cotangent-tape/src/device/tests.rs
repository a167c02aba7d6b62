//! Tests: arrays go to the layers and come back through a device that does everything late and out of order, and that fails
//! at every call once.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use super::simulated::{FAILURE, Simulated};
use super::{Chunk, Copy, DeviceLane, Driver, Memory, Source, StagingOptions, Stream, Target};
use crate::{Error, Options, Tape};

pub(super) const CHUNK: usize = 1000;
const PINNED: usize = 5 * CHUNK;

/// Chunks of device memory: none, as few as possible, some, more than pinned ones.
const LAYERS: &[usize] = &[0, 2, 3, 8];

pub(super) fn stream(number: usize) -> Stream {
    Stream(ptr::without_provenance_mut::<c_void>(number))
}

/// Sizes of arrays: nothing, less than a chunk, some chunks, more than the pinned memory.
const SIZES: &[usize] = &[10, 0, CHUNK, 3 * CHUNK + 7, 2 * PINNED + 1, 999, 4 * CHUNK, 1, PINNED, 2500];

fn device_lane(driver: impl Driver + 'static, chunks: usize) -> Result<DeviceLane, Error> {
    let options = StagingOptions { chunk_bytes: CHUNK, pinned_bytes: PINNED, device_bytes: chunks * CHUNK };
    DeviceLane::new(Tape::new(Options::default())?.lane(), Box::new(driver), options)
}

/// Two arrays on two streams are pushed, overwritten, and popped, some of them in between and some only read. A wrong value is
/// noted by the device.
fn sweep(device: &Simulated, chunks: usize) -> Result<(), Error> {
    let largest = 2 * PINNED + 1;
    let mut lane = device_lane(device.clone(), chunks)?;
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
    let mut again = lane.reread()?;
    for (number, bytes) in SIZES.iter().enumerate().rev() {
        let (stream, at) = place(number);
        // SAFETY: the device's memory is as large.
        unsafe { again.pop(Simulated::address(at), *bytes, stream) }?;
        device.expect(stream, at, *bytes, number as u64);
        device.fill(stream, at, *bytes, 54321);
    }
    drop(again);
    for (number, bytes) in SIZES.iter().enumerate().rev() {
        pop(&mut lane, number, *bytes)?;
    }
    assert!(lane.is_empty());
    let stats = lane.stats();
    let pushed: usize = SIZES.iter().sum::<usize>() * 2;
    assert_eq!(stats.device.bytes_written, if chunks == 0 { 0 } else { pushed as u64 });
    assert!(stats.pinned.hits > 0 && stats.memory.hits > 0 && stats.pinned.stalls + stats.device.stalls > 0);
    assert_eq!(device.most(), (PINNED, chunks * CHUNK));
    lane.finish()
}

fn memory() -> usize {
    2 * (2 * PINNED + 1)
}

#[test]
fn arrays_come_back_whatever_the_order_of_copies() {
    for seed in 0..200 {
        for &chunks in LAYERS {
            let device = Simulated::new(memory(), seed, None);
            assert_eq!((sweep(&device, chunks), device.synchronize()), (Ok(()), vec![]), "{seed}, {chunks} chunks");
            assert!(device.is_all_freed());
        }
    }
}

#[test]
fn every_call_of_the_driver_may_fail() {
    for &chunks in LAYERS {
        let whole = Simulated::new(memory(), 3, None);
        assert_eq!(sweep(&whole, chunks), Ok(()));
        let calls = whole.calls();
        assert!(calls > 200, "{calls}");
        for call in 1..=calls {
            let device = Simulated::new(memory(), 3, Some(call));
            assert_eq!(sweep(&device, chunks), Err(Error::Device { code: FAILURE }), "call {call}");
            assert!(device.is_all_freed());
        }
    }
}

/// Pushes arrays of one chunk with the numbers from 0 on, on one stream.
fn push_chunks(lane: &mut DeviceLane, device: &Simulated, count: u64) {
    (0..count).for_each(|number| push_chunk(lane, device, number));
}

fn push_chunk(lane: &mut DeviceLane, device: &Simulated, number: u64) {
    device.fill(stream(1), 0, CHUNK, number);
    // SAFETY: the device's memory is as large.
    unsafe { lane.push(Simulated::address(0), CHUNK, stream(1)) }.unwrap();
}

fn pop_chunk(lane: &mut DeviceLane, device: &Simulated, number: u64) {
    // SAFETY: the device's memory is as large.
    unsafe { lane.pop(Simulated::address(0), CHUNK, stream(1)) }.unwrap();
    device.expect(stream(1), 0, CHUNK, number);
    device.fill(stream(1), 0, CHUNK, 54321);
}

#[test]
fn the_callers_stream_does_not_wait_for_the_bus() {
    for seed in 0..20 {
        for (chunks, count) in [(8, 8), (2, 2)] {
            let device = Simulated::new(memory(), seed, None);
            let mut lane = device_lane(device.clone(), chunks).unwrap();
            device.hold_bus(true);
            push_chunks(&mut lane, &device, count);
            assert_eq!(device.run(), 0);
            (0..count).rev().for_each(|number| pop_chunk(&mut lane, &device, number));
            assert_eq!(device.run(), 0);
            device.hold_bus(false);
            assert_eq!(device.synchronize(), vec![]);
        }
        // Without chunks on the device it must wait.
        let device = Simulated::new(memory(), seed, None);
        let mut lane = device_lane(device.clone(), 0).unwrap();
        device.hold_bus(true);
        push_chunks(&mut lane, &device, 2);
        device.fill(stream(1), 0, CHUNK, 7);
        assert!(device.run() > 0);
        device.hold_bus(false);
    }
}

/// As `push_chunks`, but each time what was sent over the bus ahead arrives.
fn push_slowly(lane: &mut DeviceLane, device: &Simulated, count: u64) {
    for number in 0..count {
        push_chunk(lane, device, number);
        device.synchronize();
    }
}

/// Pops what has these numbers, after what was fetched ahead has arrived. The bus is held during the pop, so nothing else can.
fn pop_slowly(lane: &mut DeviceLane, device: &Simulated, count: u64) {
    for number in (0..count).rev() {
        device.synchronize();
        device.hold_bus(true);
        pop_chunk(lane, device, number);
        assert_eq!(device.run(), 0, "{number}");
        device.hold_bus(false);
    }
    assert_eq!(device.synchronize(), vec![]);
}

#[test]
fn chunks_are_there_before_they_are_needed() {
    // Less on the device than in pinned memory, and more.
    for (seed, (chunks, count)) in (0..10).flat_map(|seed| [(seed, (4, 30)), (seed, (16, 60))]) {
        let device = Simulated::new(memory(), seed, None);
        let mut lane = device_lane(device.clone(), chunks).unwrap();
        push_slowly(&mut lane, &device, count);
        pop_slowly(&mut lane, &device, count);
        let stats = lane.stats();
        assert_eq!((stats.device.hits, stats.pinned.hits, stats.memory.hits), (count, 0, 0));
        assert_eq!((stats.device.stalls, stats.pinned.stalls), (0, 0));
        assert_eq!(stats.device.bytes_read, count * CHUNK as u64);
        assert_eq!(stats.memory.bytes_read, stats.memory.bytes_written);
    }
}

#[test]
fn what_was_read_again_is_fetched_ahead_too() {
    let device = Simulated::new(memory(), 9, None);
    let mut lane = device_lane(device.clone(), 4).unwrap();
    push_slowly(&mut lane, &device, 30);
    let mut again = lane.reread().unwrap();
    for _ in 0..12 {
        // SAFETY: the device's memory is as large.
        unsafe { again.pop(Simulated::address(0), CHUNK, stream(1)) }.unwrap();
        device.synchronize();
    }
    drop(again);
    let before = lane.stats();
    assert!(before.memory.hits > 0);
    pop_slowly(&mut lane, &device, 30);
    assert_eq!(lane.stats().memory.hits, before.memory.hits);
}

#[test]
fn what_is_in_chunks_is_read_again_without_the_host() {
    for &chunks in LAYERS {
        let device = Simulated::new(memory(), 5, None);
        let mut lane = device_lane(device.clone(), chunks).unwrap();
        push_chunks(&mut lane, &device, 20);
        let before = lane.stats();
        for _ in 0..10 {
            let mut again = lane.reread().unwrap();
            for number in (16..20).rev() {
                // SAFETY: the device's memory is as large.
                unsafe { again.pop(Simulated::address(0), CHUNK, stream(1)) }.unwrap();
                device.expect(stream(1), 0, CHUNK, number);
            }
        }
        let after = lane.stats();
        assert_eq!((before.memory, before.disk), (after.memory, after.disk), "{chunks} chunks");
        assert_eq!(after.device.hits + after.pinned.hits, 40);
        assert_eq!((lane.finish(), device.synchronize()), (Ok(()), vec![]));
    }
}

#[test]
fn what_fits_on_the_device_is_read_again_without_the_bus() {
    let device = Simulated::new(memory(), 5, None);
    let mut lane = device_lane(device.clone(), 8).unwrap();
    push_slowly(&mut lane, &device, 20);
    let before = lane.stats();
    for _ in 0..10 {
        let mut again = lane.reread().unwrap();
        for number in (12..20).rev() {
            // SAFETY: the device's memory is as large.
            unsafe { again.pop(Simulated::address(0), CHUNK, stream(1)) }.unwrap();
            device.expect(stream(1), 0, CHUNK, number);
        }
    }
    let after = lane.stats();
    assert_eq!((before.pinned, after.device.hits), (after.pinned, 80));
    assert_eq!((lane.finish(), device.synchronize()), (Ok(()), vec![]));
}

#[test]
fn without_device_memory_the_next_layer_takes_over() {
    for (room, layer) in [(0, 0), (3 * CHUNK - 1, 0), (3 * CHUNK, 3 * CHUNK)] {
        let device = Simulated::new(memory(), 2, None);
        device.leave(room);
        let mut lane = device_lane(device.clone(), 3).unwrap();
        push_chunks(&mut lane, &device, 20);
        (0..20).rev().for_each(|number| pop_chunk(&mut lane, &device, number));
        assert_eq!((lane.finish(), device.synchronize()), (Ok(()), vec![]));
        assert_eq!(device.most(), (PINNED, layer));
        assert_eq!(lane.stats().device.bytes_written > 0, layer > 0);
    }
}

#[test]
fn marks_are_of_one_lane_and_one_time() {
    let device = Simulated::new(memory(), 1, None);
    let other = device_lane(Simulated::new(memory(), 1, None), 2).unwrap().mark();
    let mut lane = device_lane(device.clone(), 2).unwrap();
    push_chunks(&mut lane, &device, 3);
    let mark = lane.mark();
    push_chunks(&mut lane, &device, 1);
    assert_eq!((lane.rewind(mark), lane.rewind(mark), lane.len()), (Ok(()), Ok(()), 3));
    // Popped and pushed again, it is as long as before, but not the same.
    pop_chunk(&mut lane, &device, 2);
    push_chunks(&mut lane, &device, 1);
    assert_eq!(lane.rewind(mark), Err(Error::Mark));
    lane.clear();
    assert_eq!(lane.rewind(other), Err(Error::Mark));
    lane.clear();
    assert_eq!(lane.rewind(mark), Err(Error::Mark));
    lane.clear();
    let mark = lane.mark();
    assert_eq!(lane.seek(mark), Err(Error::Mark));
    assert_eq!(lane.mark().lane, u64::MAX);
}

#[test]
fn nothing_is_pushed_while_a_lane_is_read_again() {
    let device = Simulated::new(memory(), 1, None);
    let mut lane = device_lane(device.clone(), 2).unwrap();
    push_chunks(&mut lane, &device, 2);
    let mark = lane.mark();
    let with = |lane: &mut DeviceLane, action: &dyn Fn(&mut DeviceLane) -> Result<(), Error>| {
        lane.clear();
        lane.hold().unwrap();
        action(lane)
    };
    // SAFETY: the device's memory is as large.
    assert_eq!(with(&mut lane, &|lane| unsafe { lane.push(Simulated::address(0), 1, stream(1)) }), Err(Error::Held));
    assert_eq!(with(&mut lane, &|lane| lane.rewind(mark)), Err(Error::Held));
    assert_eq!(with(&mut lane, &DeviceLane::hold), Err(Error::Held));
    // SAFETY: as above.
    assert_eq!(with(&mut lane, &|lane| unsafe { lane.pop(Simulated::address(0), 1, stream(1)) }), Err(Error::Empty));
}

#[test]
fn an_error_stays_until_the_lane_is_cleared() {
    let device = Simulated::new(memory(), 1, Some(2));
    let mut lane = device_lane(device.clone(), 3).unwrap();
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
    let mut lane = device_lane(device, 3).unwrap();
    // SAFETY: the device's memory is as large.
    unsafe {
        lane.push(Simulated::address(0), 10, stream(1)).unwrap();
        assert_eq!(lane.pop(Simulated::address(0), 11, stream(1)), Err(Error::Size));
        lane.clear();
        lane.push(Simulated::address(0), 10, stream(1)).unwrap();
        assert_eq!(lane.reread().unwrap().pop(Simulated::address(0), 9, stream(1)), Err(Error::Size));
        lane.clear();
        assert_eq!(lane.push(Simulated::address(0), usize::MAX, stream(1)), Err(Error::Size));
        lane.clear();
        assert_eq!(lane.pop(Simulated::address(0), 10, stream(1)), Err(Error::Empty));
    }
}

#[test]
fn pinned_memory_of_less_than_two_chunks_is_refused() {
    let options = StagingOptions { chunk_bytes: 10, pinned_bytes: 19, device_bytes: 100 };
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
        let memory = device.allocate(Memory::Pinned, CHUNK).unwrap();
        let chunk = Chunk { memory: Memory::Pinned, start: memory, bytes: CHUNK };
        let copy = |from, to| Copy { from, to, bytes: 10, piece: 0 };
        // SAFETY: the device's memory is as large.
        unsafe { device.start(copy(Source::Array(Simulated::address(0)), Target::Chunk(chunk))) };
        device.fill(stream(1), 0, 10, 2);
        let chunk = loop {
            if let Some((Copy { to: Target::Chunk(chunk), .. }, _)) = device.finish(true) {
                break chunk;
            }
        };
        // SAFETY: as above.
        unsafe { device.start(copy(Source::Chunk(Arc::new(chunk)), Target::Array(Simulated::address(0)))) };
        while device.finish(true).is_none() {}
        device.expect(stream(1), 0, 10, 1);
        let wrong = device.synchronize();
        // SAFETY: no copy is under way.
        unsafe { device.free(Memory::Pinned, memory) };
        !wrong.is_empty()
    });
    assert!(wrong);
}

//! Random programs of a device lane against a `Vec` of arrays, over marks, rewinds and re-readings, with any number of chunks in
//! each layer, copies that end in any order, and a disk below.

use proptest::prelude::*;

use super::simulated::Simulated;
use super::tests::{CHUNK, stream};
use super::{DeviceLane, Reread, StagingOptions, Stream};
use crate::{Error, Mark, Options, Tape};

/// One step of a program. Numbers are reduced to what is possible when the step is run.
#[derive(Clone, Debug)]
enum Operation {
    /// So many arrays of so many bytes, on one of two streams.
    Push(usize, usize, usize),
    Pop(usize, usize),
    Mark,
    Rewind(usize),
    /// From this mark, or from the end, so many arrays, so many times.
    Reread(usize, usize, usize),
    /// The device does all it was given.
    Wait,
    Clear,
}

const LARGEST: usize = 6 * CHUNK;

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        8 => (1..6usize, 0..LARGEST, 0..2usize).prop_map(|(count, bytes, on)| Operation::Push(count, bytes, on)),
        4 => (1..8usize, 0..2usize).prop_map(|(count, on)| Operation::Pop(count, on)),
        3 => Just(Operation::Mark),
        2 => any::<usize>().prop_map(Operation::Rewind),
        4 => (any::<usize>(), 1..8usize, 1..4usize)
            .prop_map(|(mark, count, times)| Operation::Reread(mark, count, times)),
        1 => Just(Operation::Wait),
        1 => (0..20usize).prop_map(|one| if one == 0 { Operation::Clear } else { Operation::Wait }),
    ];
    prop::collection::vec(operation, 0..50)
}

/// What the lane should be.
#[derive(Default)]
struct Model {
    /// Number of the pattern, and bytes.
    arrays: Vec<(u64, usize)>,
    marks: Vec<(Mark, usize)>,
    stale: Vec<Mark>,
    number: u64,
}

/// A stream, and the place of its array.
fn place(on: usize) -> (Stream, usize) {
    (stream(1 + on), on * LARGEST)
}

fn step(lane: &mut DeviceLane, model: &mut Model, device: &Simulated, operation: &Operation) -> Result<(), Error> {
    match *operation {
        Operation::Push(count, bytes, on) => {
            let (stream, at) = place(on);
            for _ in 0..count {
                model.number += 1;
                device.fill(stream, at, bytes, model.number);
                // SAFETY: the device's memory is as large.
                unsafe { lane.push(Simulated::address(at), bytes, stream) }?;
                device.fill(stream, at, bytes, 0);
                model.arrays.push((model.number, bytes));
            }
        }
        Operation::Pop(count, on) => {
            let (stream, at) = place(on);
            for _ in 0..count {
                let Some((number, bytes)) = model.arrays.pop() else { break };
                // SAFETY: the device's memory is as large.
                unsafe { lane.pop(Simulated::address(at), bytes, stream) }?;
                device.expect(stream, at, bytes, number);
                device.fill(stream, at, bytes, 0);
                let length = model.arrays.len();
                let (good, stale) = model.marks.drain(..).partition(|mark| mark.1 <= length);
                model.marks = good;
                model.stale.extend(Vec::into_iter(stale).map(|(mark, _)| mark));
            }
        }
        Operation::Mark => model.marks.push((lane.mark(), model.arrays.len())),
        Operation::Rewind(which) => {
            if !model.marks.is_empty() {
                let (mark, length) = model.marks[which % model.marks.len()];
                lane.rewind(mark)?;
                model.arrays.truncate(length);
                model.marks.retain(|mark| mark.1 <= length);
            }
        }
        Operation::Reread(which, count, times) => {
            let mut again = lane.reread()?;
            for time in 0..times {
                if !model.marks.is_empty() {
                    let (mark, end) = model.marks[which % model.marks.len()];
                    again.seek(mark)?;
                    read(&mut again, &model.arrays[..end], count, device, time)?;
                } else if time == 0 {
                    read(&mut again, &model.arrays, count, device, time)?;
                }
            }
        }
        Operation::Wait => {
            device.run();
        }
        Operation::Clear => {
            lane.clear();
            model.arrays.clear();
            model.stale.extend(model.marks.drain(..).map(|(mark, _)| mark));
        }
    }
    Ok(())
}

fn read(
    again: &mut Reread<'_>,
    arrays: &[(u64, usize)],
    count: usize,
    device: &Simulated,
    time: usize,
) -> Result<(), Error> {
    let (stream, at) = place(time % 2);
    for &(number, bytes) in arrays.iter().rev().take(count) {
        // SAFETY: the device's memory is as large.
        unsafe { again.pop(Simulated::address(at), bytes, stream) }?;
        device.expect(stream, at, bytes, number);
        device.fill(stream, at, bytes, 0);
    }
    Ok(())
}

fn run(program: &[Operation], seed: u64, pinned: usize, layer: usize) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = Options {
        slab_bytes: 64 << 10,
        budget_bytes: 256 << 10,
        spill: Some(folder.path().to_owned()),
        ..Options::default()
    };
    let tape = Tape::new(options).expect("options of the test");
    let device = Simulated::new(2 * LARGEST, seed, None);
    let staging = StagingOptions { chunk_bytes: CHUNK, pinned_bytes: pinned * CHUNK, device_bytes: layer * CHUNK };
    let mut lane = DeviceLane::new(tape.lane(), Box::new(device.clone()), staging).expect("options of the test");
    let mut model = Model::default();
    let failed = |error: Error| TestCaseError::fail(error.to_string());
    for operation in program {
        step(&mut lane, &mut model, &device, operation).map_err(failed)?;
        prop_assert_eq!(lane.len(), model.arrays.len());
        let (most_pinned, most_layer) = device.most();
        prop_assert!(most_pinned <= pinned * CHUNK && most_layer <= layer * CHUNK);
    }
    let all = Operation::Pop(model.arrays.len(), 0);
    step(&mut lane, &mut model, &device, &all).map_err(failed)?;
    prop_assert_eq!((lane.finish(), device.synchronize()), (Ok(()), vec![]));
    if let Some(stale) = model.stale.last() {
        prop_assert_eq!(lane.rewind(*stale), Err(Error::Mark));
    }
    drop(lane);
    prop_assert!(device.is_all_freed());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_device_lane_is_a_stack_of_arrays(
        program in operations(),
        seed in any::<u64>(),
        pinned in 2..9usize,
        layer in 0..9usize,
    ) {
        // A layer of one chunk is none.
        run(&program, seed, pinned, if layer == 1 { 0 } else { layer })?;
    }
}

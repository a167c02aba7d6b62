//! Programs of lane operations, and what a `Vec` would do.

use cotangent_tape::{Error, Lane, Mark, Options, Tape};
use proptest::prelude::*;

/// One step of a program. Numbers are reduced to what is possible when the step is run.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Byte(u8),
    Numbers(u32, f64),
    Record([u64; 5]),
    Slice(usize),
    PopByte,
    PopNumbers(u32),
    PopRecord,
    PopSlice(usize),
    Object(String),
    PopObject,
    Mark,
    Rewind(usize),
    Reread(usize, usize),
}

/// Programs in which pushes win, in sizes from a byte to several slabs.
pub(crate) fn operations(most: usize) -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        any::<u8>().prop_map(Operation::Byte),
        (0..20_000u32, any::<f64>()).prop_map(|(count, value)| Operation::Numbers(count, value)),
        any::<[u64; 5]>().prop_map(Operation::Record),
        (0..200_000usize).prop_map(Operation::Slice),
        Just(Operation::PopByte),
        (0..15_000u32).prop_map(Operation::PopNumbers),
        Just(Operation::PopRecord),
        (0..150_000usize).prop_map(Operation::PopSlice),
        ".{0,8}".prop_map(Operation::Object),
        Just(Operation::PopObject),
        Just(Operation::Mark),
        any::<usize>().prop_map(Operation::Rewind),
        (any::<usize>(), 0..100_000usize).prop_map(|(mark, bytes)| Operation::Reread(mark, bytes)),
    ];
    prop::collection::vec(operation, 0..most)
}

/// What the lane should be.
#[derive(Default)]
struct Model {
    bytes: Vec<u8>,
    objects: Vec<String>,
    marks: Vec<(Mark, usize, usize)>,
    /// Marks below which something was taken since.
    stale: Vec<Mark>,
}

/// Runs a program on a new tape and on the model.
pub(crate) fn run(options: Options, program: &[Operation]) -> Result<(), TestCaseError> {
    let tape = Tape::new(options).expect("options of the test");
    let mut lane = tape.lane();
    let mut model = Model::default();
    for operation in program {
        step(&mut lane, &mut model, operation).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(lane.position(), model.bytes.len() as u64);
    }
    let mut all = vec![0u8; model.bytes.len()];
    let failed = |error: Error| TestCaseError::fail(error.to_string());
    lane.reread().and_then(|mut again| again.pop_slice(&mut all)).map_err(failed)?;
    prop_assert!(all == model.bytes);
    if let Some(stale) = model.stale.last() {
        prop_assert_eq!(lane.rewind(*stale), Err(Error::Mark));
        return Ok(());
    }
    lane.pop_slice(&mut all).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert!(all == model.bytes);
    prop_assert_eq!(lane.pop::<u8>(), Err(Error::Empty));
    Ok(())
}

fn step(lane: &mut Lane, model: &mut Model, operation: &Operation) -> Result<(), Error> {
    match operation {
        Operation::Byte(value) => {
            lane.push(*value)?;
            model.bytes.push(*value);
        }
        Operation::Numbers(count, value) => {
            for i in 0..*count {
                let value = value + f64::from(i);
                lane.push(value)?;
                model.bytes.extend(value.to_ne_bytes());
            }
        }
        Operation::Record(record) => {
            lane.push(*record)?;
            model.bytes.extend(record.iter().flat_map(|word| word.to_ne_bytes()));
        }
        Operation::Slice(length) => {
            let values: Vec<u8> = (0..*length).map(|i| (i * 31 + model.bytes.len()) as u8).collect();
            lane.push_slice(&values)?;
            model.bytes.extend(values);
        }
        Operation::PopByte => {
            if let Some(value) = model.bytes.pop() {
                assert_eq!(lane.pop::<u8>()?, value);
            }
        }
        Operation::PopNumbers(count) => {
            for _ in 0..(*count as usize).min(model.bytes.len() / 8) {
                assert_eq!(lane.pop::<[u8; 8]>()?, model.bytes[model.bytes.len() - 8..]);
                model.bytes.truncate(model.bytes.len() - 8);
            }
        }
        Operation::PopRecord => {
            if model.bytes.len() >= 40 {
                assert_eq!(lane.pop::<[u8; 40]>()?, model.bytes[model.bytes.len() - 40..]);
                model.bytes.truncate(model.bytes.len() - 40);
            }
        }
        Operation::PopSlice(length) => {
            let mut values = vec![0u8; (*length).min(model.bytes.len())];
            lane.pop_slice(&mut values)?;
            assert!(values == model.bytes[model.bytes.len() - values.len()..]);
            model.bytes.truncate(model.bytes.len() - values.len());
        }
        Operation::Object(value) => {
            lane.push_object(value.clone())?;
            model.objects.push(value.clone());
        }
        Operation::PopObject => {
            if let Some(value) = model.objects.pop() {
                assert_eq!(lane.pop_object::<String>()?, value);
            }
        }
        Operation::Mark => model.marks.push((lane.mark(), model.bytes.len(), model.objects.len())),
        Operation::Rewind(which) => rewind(lane, model, *which)?,
        Operation::Reread(which, bytes) => reread(lane, model, *which, *bytes)?,
    }
    let (bytes, objects) = (model.bytes.len(), model.objects.len());
    let (good, stale) = model.marks.drain(..).partition(|mark| mark.1 <= bytes && mark.2 <= objects);
    model.marks = good;
    model.stale.extend(Vec::into_iter(stale).map(|(mark, ..)| mark));
    Ok(())
}

fn rewind(lane: &mut Lane, model: &mut Model, which: usize) -> Result<(), Error> {
    if model.marks.is_empty() {
        return Ok(());
    }
    let (mark, bytes, objects) = model.marks[which % model.marks.len()];
    lane.rewind(mark)?;
    model.bytes.truncate(bytes);
    model.objects.truncate(objects);
    Ok(())
}

/// Reads some bytes from a mark or the end downwards, then twice the last eight.
fn reread(lane: &mut Lane, model: &Model, which: usize, bytes: usize) -> Result<(), Error> {
    let mut again = lane.reread()?;
    let mut end = model.bytes.len();
    if !model.marks.is_empty() {
        let mark = model.marks[which % model.marks.len()];
        again.seek(mark.0)?;
        end = mark.1;
    }
    let mut values = vec![0u8; bytes.min(end)];
    again.pop_slice(&mut values)?;
    assert!(values == model.bytes[end - values.len()..end]);
    let left = end - values.len();
    if left >= 8 {
        assert_eq!(again.pop::<[u8; 8]>()?, model.bytes[left - 8..left]);
    }
    Ok(())
}

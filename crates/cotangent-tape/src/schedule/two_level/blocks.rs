//! Two levels for long loops: blocks of equal length, whose first states go to disk, by the binomial schedule over blocks; where
//! there is a slot on disk for each block, that is one forward sweep that writes each block's state. Each block is
//! reversed by the binomial schedule over its steps, in memory, with its first state in memory too or read from disk again.

use std::num::NonZeroUsize;

use super::super::Revolve;
use super::super::revolve::{binomial, repetitions};
use super::{Action, Costs, Level};

/// Runs blocks. Memory: one entry a slot in use.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    steps: u64,
    memory: usize,
    shape: Shape,
    /// Over blocks.
    outer: Revolve,
    /// How many slots on disk the blocks have, and whether the state in hand is in the last of them.
    taken: usize,
    is_kept: bool,
    /// Over the steps of the block that is being reversed.
    inner: Option<Inner>,
}

/// How a loop is divided.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// The length of blocks; the last one may be shorter.
    length: u64,
    /// Where the state is from which a block is reversed.
    base: Level,
}

#[derive(Clone, Debug)]
struct Inner {
    first: u64,
    revolve: Revolve,
    /// The slot on disk that stands for slot 0, if the base is there.
    base: Option<Base>,
}

#[derive(Clone, Copy, Debug)]
struct Base {
    slot: usize,
    /// The outer schedule has put it there, and takes it away.
    is_outer: bool,
}

impl Blocks {
    pub(super) fn new(steps: u64, memory: usize, disk: usize, costs: Costs) -> Self {
        Self::of(steps, memory, disk, best_shape(steps, memory, disk, costs))
    }

    fn of(steps: u64, memory: usize, disk: usize, shape: Shape) -> Self {
        // Without a slot there is only one block, which needs none.
        let slots = NonZeroUsize::new(outer_slots(disk, shape.base)).unwrap_or(NonZeroUsize::MIN);
        let outer = Revolve::new(steps.div_ceil(shape.length), slots);
        Self { steps, memory, shape, outer, taken: 0, is_kept: false, inner: None }
    }

    /// The schedule over the steps of a block.
    fn block(&self, block: u64) -> Inner {
        let first = block * self.shape.length;
        let length = self.shape.length.min(self.steps - first);
        let base = match self.shape.base {
            Level::Disk if self.is_kept => Some(Base { slot: self.taken - 1, is_outer: true }),
            Level::Disk => Some(Base { slot: self.taken, is_outer: false }),
            Level::Memory => None,
        };
        let slots = self.memory.saturating_add(usize::from(base.is_some()));
        let slots = NonZeroUsize::new(slots).unwrap_or(NonZeroUsize::MIN);
        Inner { first, revolve: Revolve::new(length, slots), base }
    }
}

impl Iterator for Blocks {
    type Item = Action;

    fn next(&mut self) -> Option<Action> {
        loop {
            if let Some(inner) = &mut self.inner {
                match inner.next() {
                    Some(action) => return Some(action),
                    None => self.inner = None,
                }
            }
            let level = Level::Disk;
            let length = self.shape.length;
            return Some(match self.outer.next()? {
                Action::Store { step, slot, .. } => {
                    self.taken += 1;
                    Action::Store { step: step * length, level, slot }
                }
                Action::Restore { step, slot, .. } => {
                    self.is_kept = true;
                    Action::Restore { step: step * length, level, slot }
                }
                Action::Advance { from, to } => {
                    self.is_kept = false;
                    Action::Advance { from: from * length, to: to * length }
                }
                Action::Free { slot, .. } => {
                    self.taken -= 1;
                    Action::Free { level, slot }
                }
                Action::Reverse { step } => {
                    self.inner = Some(self.block(step));
                    continue;
                }
                Action::StoreRecord { .. } | Action::ReverseRecord { .. } => continue,
            });
        }
    }
}

impl Inner {
    /// Where a slot of the schedule over steps is.
    fn place(&self, slot: usize) -> (Level, usize) {
        match self.base {
            Some(base) if slot == 0 => (Level::Disk, base.slot),
            Some(_) => (Level::Memory, slot - 1),
            None => (Level::Memory, slot),
        }
    }
}

impl Iterator for Inner {
    type Item = Action;

    fn next(&mut self) -> Option<Action> {
        let is_there = |slot| slot == 0 && self.base.is_some_and(|base| base.is_outer);
        let action = self.revolve.find(|action| match action {
            Action::Store { slot, .. } | Action::Free { slot, .. } => !is_there(*slot),
            _ => true,
        });
        Some(match action? {
            Action::Store { step, slot, .. } => {
                let (level, slot) = self.place(slot);
                Action::Store { step: self.first + step, level, slot }
            }
            Action::Restore { step, slot, .. } => {
                let (level, slot) = self.place(slot);
                Action::Restore { step: self.first + step, level, slot }
            }
            Action::Free { slot, .. } => {
                let (level, slot) = self.place(slot);
                Action::Free { level, slot }
            }
            Action::Advance { from, to } => Action::Advance { from: self.first + from, to: self.first + to },
            Action::Reverse { step } => Action::Reverse { step: self.first + step },
            other @ (Action::StoreRecord { .. } | Action::ReverseRecord { .. }) => other,
        })
    }
}

/// How many states of blocks there is room for on disk: the block that is being reversed may need a slot for its own.
fn outer_slots(disk: usize, base: Level) -> usize {
    match base {
        Level::Memory => disk,
        Level::Disk => disk - 1,
    }
}

/// The shape that costs least, of those whose blocks have a length that is best in a simpler case, or is one of a sequence in which
/// each is a thirtieth longer than the one before.
fn best_shape(steps: u64, memory: usize, disk: usize, costs: Costs) -> Shape {
    let bases = [(Level::Memory, memory), (Level::Disk, disk)].into_iter().filter(|(_, slots)| *slots > 0);
    let shapes = bases.flat_map(|(base, _)| {
        let outer = outer_slots(disk, base) as u64;
        let inner = (memory as u64).saturating_add(u64::from(base == Level::Disk));
        let dense = std::iter::successors(Some(1u64), |length| length.checked_add(length / 30 + 1));
        // Of two or more slots there are few such numbers; with one slot the sequence has them.
        let best =
            |slots: u64| (1..200).map(move |times| binomial(slots, times)).take_while(|count| *count < steps.into());
        let lengths = dense.take_while(|length| *length < steps).chain(best(inner).map(|length| length as u64));
        let lengths = lengths.chain(best(outer).map(|blocks| steps.div_ceil(blocks as u64)));
        let lengths = lengths.filter(move |_| outer > 0).chain([steps]);
        lengths.map(move |length| Shape { length, base })
    });
    let costed = shapes.map(|shape| (estimate(steps, memory as u64, disk, shape, costs), shape));
    let best = costed.min_by(|left, right| left.0.total_cmp(&right.0));
    best.map_or(Shape { length: steps, base: Level::Memory }, |(_, shape)| shape)
}

/// About what a shape costs. How often a state is kept is exact for the lengths that the binomial schedule is best for.
fn estimate(steps: u64, memory: u64, disk: usize, shape: Shape, costs: Costs) -> f64 {
    let Shape { length, base } = shape;
    let outer = outer_slots(disk, base) as u64;
    let blocks = steps.div_ceil(length);
    let outside = match blocks {
        1 => 0.0,
        _ => {
            let writes = costs.disk_write * writes(blocks, outer);
            advances(blocks, outer) * length as f64 + writes + costs.disk_read * (blocks - 1) as f64
        }
    };
    let reads = (length - 1) as f64;
    let inside = match base {
        _ if length == 1 => 0.0,
        Level::Memory => {
            advances(length, memory) + costs.memory_read * reads + costs.memory_write * writes(length, memory)
        }
        Level::Disk => {
            let slots = memory.saturating_add(1);
            let of_base = repetitions(length, slots) as f64;
            let memory = costs.memory_read * (reads - of_base) + costs.memory_write * (writes(length, slots) - 1.0);
            advances(length, slots) + costs.disk_read * of_base + memory
        }
    };
    outside + inside * (steps as f64 / length as f64) + if base == Level::Disk { costs.disk_write } else { 0.0 }
}

fn advances(steps: u64, slots: u64) -> f64 {
    NonZeroUsize::new(slots as usize).map_or(f64::INFINITY, |slots| Revolve::advances(steps, slots) as f64)
}

/// How often the binomial schedule keeps a state.
fn writes(steps: u64, slots: u64) -> f64 {
    let (steps, slots) = (steps, slots as f64);
    let repetitions = repetitions(steps, slots as u64) as f64;
    (steps as f64 * slots / (slots + repetitions)).min((steps - 1) as f64).max(1.0)
}

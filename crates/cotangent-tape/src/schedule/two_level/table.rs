//! The cheapest schedule for two levels, by a table over the length of a part and the slots that are free for it.
//!
//! A part begins with a state, its base, and its steps are reversed before those of the parts before it. While the hand has the
//! base, it is decided where the base is kept from now on: in memory, on disk, in both. Then the part is divided: advance to
//! the base of the part above, which has the slots that are left; when that is reversed, take the base again. A part of one
//! step keeps nothing. The tests compare with a search that knows nothing of parts.

use std::collections::VecDeque;

use super::{Action, Costs, Level};

/// Where a base is kept: a bit for each level.
type Copies = usize;
const NONE: Copies = 0;
const MEMORY: Copies = 1;
const DISK: Copies = 2;
/// All ways to keep it.
const KEPT: [Copies; 3] = [MEMORY, DISK, MEMORY | DISK];

/// Runs the cheapest schedule.
#[derive(Clone, Debug)]
pub(super) struct Table {
    costs: Costs,
    memory: Slots,
    disk: Slots,
    /// The longest part.
    steps: usize,
    /// For each number of free slots, and for each length.
    choices: Vec<Choice>,
    /// The bases of the parts that are not done, the first one first.
    bases: Vec<Base>,
    /// How many slots of each level they have.
    taken: [usize; 2],
    hand: Option<usize>,
    /// How many steps are not reversed yet.
    left: usize,
    /// To be given before anything else is decided.
    next: VecDeque<Action>,
}

#[derive(Clone, Debug)]
struct Base {
    step: usize,
    copies: Copies,
}

/// What is best for a part.
#[derive(Clone, Copy, Debug, Default)]
struct Choice {
    /// How far to advance, for each of `KEPT`.
    middles: [u16; 3],
    /// Where to keep the base from now on: two bits for each place where it is kept already.
    copies: u8,
}

/// The slots of a level. Where there is one for each step, parts need not be told apart by how many are free.
#[derive(Clone, Copy, Debug)]
enum Slots {
    Some(usize),
    Enough,
}

impl Slots {
    fn new(slots: usize, steps: usize) -> Self {
        if slots + 1 >= steps { Slots::Enough } else { Slots::Some(slots) }
    }

    /// How many different numbers of free slots there are.
    fn layers(self) -> usize {
        match self {
            Slots::Some(slots) => slots + 1,
            Slots::Enough => 1,
        }
    }

    /// The layer with so many slots less than this one.
    fn below(self, layer: usize, taken: usize) -> Option<usize> {
        match self {
            Slots::Some(_) => layer.checked_sub(taken),
            Slots::Enough => Some(layer),
        }
    }
}

impl Table {
    /// Whether the table for these numbers is small, and soon done.
    pub(super) fn fits(steps: u64, memory: usize, disk: usize) -> bool {
        let layers = |slots: usize| if slots as u64 >= steps - 1 { 1 } else { slots as u128 + 1 };
        steps < 2 || u128::from(steps).pow(2).saturating_mul(layers(memory).saturating_mul(layers(disk))) <= 1 << 26
    }

    pub(super) fn new(steps: usize, memory: usize, disk: usize, costs: Costs) -> Self {
        let (memory, disk) = (memory.min(steps), disk.min(steps));
        let (memory, disk) = (Slots::new(memory, steps), Slots::new(disk, steps));
        let mut choices = Vec::new();
        let mut layers: Vec<Vec<f64>> = Vec::new();
        for in_memory in 0..memory.layers() {
            for on_disk in 0..disk.layers() {
                let below = |copies: Copies| {
                    let in_memory = memory.below(in_memory, copies & MEMORY)?;
                    Some(in_memory * disk.layers() + disk.below(on_disk, copies / DISK)?)
                };
                layers.push(layer(steps, &layers, KEPT.map(below), costs, &mut choices));
            }
        }
        let hand = (steps > 0).then_some(0);
        Self {
            costs,
            memory,
            disk,
            steps,
            choices,
            bases: Vec::new(),
            taken: [0; 2],
            hand,
            left: steps,
            next: VecDeque::new(),
        }
    }

    /// Goes on with the base of a part in hand, which is in slots already if it is the last of the bases.
    fn part(&mut self, from: usize) {
        let kept = self.bases.pop_if(|base| base.step == from).map_or(NONE, |base| base.copies);
        // Its own slots are for this part too.
        for (taken, bit) in self.taken.iter_mut().zip([MEMORY, DISK]) {
            *taken -= usize::from(kept & bit != 0);
        }
        let length = self.left - from;
        let choice = self.choice(length);
        let copies = if length == 1 { NONE } else { usize::from(choice.copies >> (2 * kept)) & (MEMORY | DISK) };
        for (level, bit) in [(Level::Memory, MEMORY), (Level::Disk, DISK)] {
            let slot = self.taken[bit - 1];
            match (kept & bit != 0, copies & bit != 0) {
                (true, false) => self.next.push_back(Action::Free { level, slot }),
                (false, true) => self.next.push_back(Action::Store { step: from as u64, level, slot }),
                (true, true) | (false, false) => {}
            }
            self.taken[bit - 1] += usize::from(copies & bit != 0);
        }
        if length == 1 {
            self.left = from;
            self.hand = None;
            self.next.push_back(Action::Reverse { step: from as u64 });
            return;
        }
        self.bases.push(Base { step: from, copies });
        let middle = from + usize::from(choice.middles[copies - 1]);
        self.hand = Some(middle);
        self.next.push_back(Action::Advance { from: from as u64, to: middle as u64 });
    }

    /// Takes the last base into the hand again, from where that is cheaper.
    fn restore(&mut self) -> Option<Action> {
        let Base { step, copies } = self.bases.last()?.clone();
        let is_disk = copies == DISK || (copies & DISK != 0 && self.costs.disk_read < self.costs.memory_read);
        let (level, bit) = if is_disk { (Level::Disk, DISK) } else { (Level::Memory, MEMORY) };
        self.hand = Some(step);
        Some(Action::Restore { step: step as u64, level, slot: self.taken[bit - 1] - 1 })
    }

    fn choice(&self, length: usize) -> Choice {
        let layer = |slots: Slots, taken| slots.below(slots.layers() - 1, taken).unwrap_or(0);
        let layer = layer(self.memory, self.taken[0]) * self.disk.layers() + layer(self.disk, self.taken[1]);
        self.choices[layer * (self.steps + 1) + length]
    }
}

impl Iterator for Table {
    type Item = Action;

    fn next(&mut self) -> Option<Action> {
        if self.next.is_empty() {
            match self.hand {
                Some(from) => self.part(from),
                None => return self.restore(),
            }
        }
        self.next.pop_front()
    }
}

/// What parts cost with these slots, by their lengths, if nothing has their base but the hand. Their choices are appended. `below` are the layers with the slots that are left when
/// the base is in one or both of the levels, if it can be; the next one is this layer itself.
fn layer(
    steps: usize,
    layers: &[Vec<f64>],
    below: [Option<usize>; 3],
    costs: Costs,
    choices: &mut Vec<Choice>,
) -> Vec<f64> {
    let write = |copies: Copies| {
        let memory = if copies & MEMORY == 0 { 0.0 } else { costs.memory_write };
        memory + if copies & DISK == 0 { 0.0 } else { costs.disk_write }
    };
    let reads = [costs.memory_read, costs.disk_read, costs.memory_read.min(costs.disk_read)];
    let mut fresh = vec![0.0; steps + 1];
    // With nothing in hand, for each of `KEPT`.
    let mut kept = reads.map(|read| vec![read; steps + 1]);
    choices.resize(choices.len() + 2.min(steps + 1), Choice::default());
    for length in 2..=steps {
        let mut choice = Choice::default();
        let mut divided = [f64::INFINITY; 3];
        for (way, below) in below.iter().enumerate() {
            let Some(below) = *below else { continue };
            let above = layers.get(below).unwrap_or(&fresh);
            let again = &kept[way];
            for middle in 1..length {
                let cost = middle as f64 + above[length - middle] + again[middle];
                if cost < divided[way] {
                    divided[way] = cost;
                    choice.middles[way] = middle as u16;
                }
            }
        }
        let mut best = [f64::INFINITY; 4];
        for (before, best) in best.iter_mut().enumerate() {
            for copies in KEPT {
                let cost = write(copies & !before) + divided[copies - 1];
                if cost < *best {
                    *best = cost;
                    choice.copies &= !(3 << (2 * before));
                    choice.copies |= (copies as u8) << (2 * before);
                }
            }
        }
        fresh[length] = best[NONE];
        for way in 0..KEPT.len() {
            kept[way][length] = reads[way] + best[KEPT[way]];
        }
        choices.push(choice);
    }
    fresh
}

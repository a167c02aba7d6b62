//! The state of a warp: 32 threads that run the same instructions where they can.
//!
//! Each thread has its own position. Of those that can go on, the ones deepest in calls and then at the smallest position
//! run first, together, until they meet others or part: threads that a branch has separated are together again at the
//! end of what they skipped, as compilers lay out code.

use cotangent_cpu::Random;

use super::lanes::{LANES, Lanes, Mask, lanes_of};
use crate::program::{Position, Register};

/// After so many choices the next is another one, so that a thread that waits for one after it cannot wait for ever.
const CHOICES_IN_ORDER: u32 = 1000;

/// With a seed one choice in so many is left to chance. More of them would keep apart what can run together.
const CHOICES_OF_CHANCE: u64 = 16;

/// A call that a thread has not returned from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) callee: u32,
    /// Where the caller goes on, and what it had.
    pub(super) return_to: Position,
    pub(super) base: u32,
    pub(super) frame: u32,
}

#[derive(Default)]
pub(super) struct Warp {
    /// The windows of functions, one after another as they are called.
    pub(super) registers: Vec<Lanes>,
    pub(super) position: [Position; LANES],
    /// Where the window of the running function begins.
    pub(super) base: [u32; LANES],
    /// Where its frame begins, in the thread's local memory.
    pub(super) frame: [u32; LANES],
    pub(super) calls: [Vec<Call>; LANES],
    /// Threads that have not ended.
    pub(super) live: Mask,
    /// Threads that wait at a barrier, and for other lanes.
    pub(super) at_barrier: Mask,
    pub(super) at_collective: Mask,
    pub(super) carry: Mask,
    choices: u32,
    chance: Option<Random>,
    /// Lanes in the order in which one instruction's atomics and stores reach memory.
    lanes: [u8; LANES],
}

/// Threads that are at the same instruction of the same call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) mask: Mask,
    pub(super) position: Position,
    pub(super) base: u32,
    /// The next position at which others wait to be joined.
    pub(super) joins_at: Position,
    /// Whether nobody else can go on.
    pub(super) is_alone: bool,
}

impl Warp {
    /// So many threads at the beginning of a kernel.
    pub(super) fn begin(&mut self, threads: usize, entry: Position, registers: u32, mut chance: Option<Random>) {
        self.registers.clear();
        self.registers.resize(registers as usize, [0; LANES]);
        self.position = [entry; LANES];
        self.base = [0; LANES];
        self.frame = [0; LANES];
        self.calls.iter_mut().for_each(Vec::clear);
        self.live = Mask::MAX >> (LANES - threads.clamp(1, LANES));
        (self.at_barrier, self.at_collective, self.carry, self.choices) = (0, 0, 0, 0);
        self.lanes = std::array::from_fn(|lane| lane as u8);
        if let Some(chance) = &mut chance {
            chance.shuffle(&mut self.lanes);
        }
        self.chance = chance;
    }

    /// Threads that can go on.
    pub(super) fn runnable(&self) -> Mask {
        self.live & !self.at_barrier & !self.at_collective
    }

    /// Whose turn it is if the usual choice is not made: by chance, or because it has been made often enough.
    fn turn(&mut self) -> Option<usize> {
        if let Some(chance) = &mut self.chance
            && chance.next_bits().is_multiple_of(CHOICES_OF_CHANCE)
        {
            return Some(chance.next_bits() as usize);
        }
        let times = self.choices / CHOICES_IN_ORDER;
        self.choices.is_multiple_of(CHOICES_IN_ORDER).then_some(times as usize)
    }

    /// Who runs next.
    pub(super) fn choose(&mut self) -> Option<Group> {
        let runnable = self.runnable();
        if runnable == 0 {
            return None;
        }
        self.choices += 1;
        let first = runnable.trailing_zeros() as usize;
        let turn = self.turn();
        let depth = |lane: usize| self.calls[lane].len();
        let order = |lane: usize| (usize::MAX - depth(lane), self.position[lane], self.base[lane]);
        let leader = match turn {
            Some(turn) => lanes_of(runnable).nth(turn % runnable.count_ones() as usize),
            None => lanes_of(runnable).min_by_key(|lane| order(*lane)),
        }
        .unwrap_or(first);
        let (mut mask, mut joins_at) = (0, Position::MAX);
        for lane in lanes_of(runnable) {
            if order(lane) == order(leader) {
                mask |= 1 << lane;
            } else if depth(lane) == depth(leader) && self.position[lane] > self.position[leader] {
                joins_at = joins_at.min(self.position[lane]);
            }
        }
        let (position, base) = (self.position[leader], self.base[leader]);
        Some(Group { mask, position, base, joins_at, is_alone: mask == runnable })
    }

    pub(super) fn set_position(&mut self, mask: Mask, position: Position) {
        lanes_of(mask).for_each(|lane| self.position[lane] = position);
    }

    /// The lanes of a mask, in the order in which what they do at the same time reaches memory.
    pub(super) fn lanes_in_order(&self, mask: Mask) -> impl Iterator<Item = usize> + use<> {
        self.lanes.into_iter().map(usize::from).filter(move |lane| mask >> lane & 1 != 0)
    }

    /// Keeps the results of the lanes of a mask.
    #[inline]
    pub(super) fn write(&mut self, base: u32, register: Register, mask: Mask, values: &Lanes) {
        let target = &mut self.registers[(base + register) as usize];
        if mask == Mask::MAX {
            *target = *values;
        } else {
            for lane in 0..LANES {
                target[lane] = if mask >> lane & 1 != 0 { values[lane] } else { target[lane] };
            }
        }
    }
}

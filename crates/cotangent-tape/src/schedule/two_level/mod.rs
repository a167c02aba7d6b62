//! The schedule for two levels, memory and disk, whose writes and reads cost time (after Aupy, Herrmann, Hovland and Robert,
//! 2016): the cheapest one for loops of moderate length, by a table; for longer ones blocks of equal length.

mod blocks;
mod table;

use blocks::Blocks;
use table::Table;

use super::{Action, Level, Schedule};
use crate::error::Error;

/// What keeping a state and taking it again costs, in runs of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    pub memory_write: f64,
    pub memory_read: f64,
    pub disk_write: f64,
    pub disk_read: f64,
}

/// Actions that reverse a given number of steps with so many slots in memory and on disk.
///
/// What they cost, runs of steps, writes and reads together, is least where the square of the number of steps, times the
/// number of slots of each level plus one (one for a level with a slot for each step), is at most 2^26: 2400 steps with 10
/// slots in memory and any number on disk. A table of it takes less than 20 MB and a fraction of a second. Longer loops are
/// divided into blocks of equal length, of the length that costs least, with a state on disk for each block, or for as many as
/// there are slots; this takes no table. The tests state how much more that costs where both are possible.
#[derive(Clone, Debug)]
pub struct TwoLevel {
    memory: usize,
    disk: usize,
    plan: Plan,
}

#[derive(Clone, Debug)]
enum Plan {
    Exact(Table),
    Blocks(Blocks),
}

impl TwoLevel {
    /// The schedule for so many steps and slots, of which one level may have none. Costs are from 0 to 10^9.
    pub fn new(steps: u64, memory: usize, disk: usize, costs: Costs) -> Result<Self, Error> {
        let Costs { memory_write, memory_read, disk_write, disk_read } = costs;
        let is_cost = |cost: f64| (0.0..=MOST).contains(&cost);
        if (memory == 0 && disk == 0) || ![memory_write, memory_read, disk_write, disk_read].into_iter().all(is_cost) {
            return Err(Error::Slots);
        }
        let plan = match Table::fits(steps, memory, disk) {
            true => Plan::Exact(Table::new(steps as usize, memory, disk, costs)),
            false => Plan::Blocks(Blocks::new(steps, memory, disk, costs)),
        };
        Ok(Self { memory, disk, plan })
    }
}

/// No write or read costs more steps; sums of such costs are still exact enough to compare.
const MOST: f64 = 1e9;

impl Iterator for TwoLevel {
    type Item = Action;

    fn next(&mut self) -> Option<Action> {
        match &mut self.plan {
            Plan::Exact(table) => table.next(),
            Plan::Blocks(blocks) => blocks.next(),
        }
    }
}

impl Schedule for TwoLevel {
    fn slots(&self, level: Level) -> usize {
        match level {
            Level::Memory => self.memory,
            Level::Disk => self.disk,
        }
    }
}

#[cfg(test)]
mod tests;

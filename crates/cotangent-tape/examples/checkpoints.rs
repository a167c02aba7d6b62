//! The derivative of a long time loop with room for few states: checkpoint schedules of each kind say which states to keep.
//! What goes to disk is on a lane. `cargo run -p cotangent-tape --example checkpoints [FOLDER]`
//!
//! The step is one of the heat equation on a ring with a nonlinear source; the derivative is that of the sum of squares at
//! the end with respect to the start, and is compared with a central difference.

use std::num::NonZeroUsize;

use cotangent_tape::schedule::{Costs, Counts, Level, Mixed, Online, Revolve, Schedule, State, TwoLevel, run};
use cotangent_tape::{Error, Lane, Options, Tape};

const CELLS: usize = 2000;
const STEPS: u64 = 300;
const SLOTS: NonZeroUsize = NonZeroUsize::new(8).unwrap();

fn neighbours(i: usize) -> (usize, usize) {
    ((i + CELLS - 1) % CELLS, (i + 1) % CELLS)
}

fn step(state: &[f64]) -> Vec<f64> {
    let next = (0..CELLS).map(|i| {
        let (left, right) = neighbours(i);
        state[i] + 0.2 * (state[left] - 2.0 * state[i] + state[right]) + 0.01 * state[i].sin()
    });
    next.collect()
}

/// The derivative of one step; it needs the state before.
fn step_pullback(adjoint: &[f64], state: &[f64]) -> Vec<f64> {
    let adjoint = (0..CELLS).map(|i| {
        let (left, right) = neighbours(i);
        adjoint[i] * (1.0 - 0.4 + 0.01 * state[i].cos()) + 0.2 * (adjoint[left] + adjoint[right])
    });
    adjoint.collect()
}

/// The value whose derivative is wanted.
fn value(state: &[f64]) -> f64 {
    state.iter().map(|x| x * x).sum()
}

/// The loop as schedules see it.
struct Loop {
    state: Vec<f64>,
    /// Of the state after the steps that are reversed; none at the end of the loop.
    adjoint: Option<Vec<f64>>,
    /// What is kept in memory, by slot.
    kept: Vec<Vec<f64>>,
    /// What is kept on disk: each level is a stack, and so is a lane.
    lane: Lane,
}

impl State for Loop {
    type Error = Error;

    fn store(&mut self, level: Level, slot: usize) -> Result<(), Error> {
        match level {
            Level::Memory => {
                self.kept.resize(self.kept.len().max(slot + 1), Vec::new());
                self.kept[slot].clone_from(&self.state);
                Ok(())
            }
            Level::Disk => self.lane.push_slice(&self.state),
        }
    }

    fn restore(&mut self, level: Level, slot: usize) -> Result<(), Error> {
        match level {
            Level::Memory => self.state.clone_from(&self.kept[slot]),
            Level::Disk => self.lane.reread()?.pop_slice(&mut self.state)?,
        }
        Ok(())
    }

    fn advance(&mut self, from: u64, to: u64) -> Result<Option<u64>, Error> {
        for _ in from..to.min(STEPS) {
            self.state = step(&self.state);
        }
        // The schedules that know the length never come here.
        Ok((to >= STEPS).then_some(STEPS))
    }

    fn reverse(&mut self, _step: u64) -> Result<(), Error> {
        let after = self.adjoint.take().unwrap_or_else(|| step(&self.state).iter().map(|x| 2.0 * x).collect());
        self.adjoint = Some(step_pullback(&after, &self.state));
        Ok(())
    }

    /// What the reverse needs is the state before the step, of which a program would keep less.
    fn store_record(&mut self, _step: u64, level: Level, slot: usize) -> Result<(), Error> {
        self.store(level, slot)?;
        self.state = step(&self.state);
        Ok(())
    }

    fn reverse_record(&mut self, step: u64, level: Level, slot: usize) -> Result<(), Error> {
        self.restore(level, slot)?;
        self.reverse(step)
    }

    fn free(&mut self, level: Level, slot: usize) -> Result<(), Error> {
        match level {
            Level::Memory => self.kept[slot] = Vec::new(),
            Level::Disk => self.lane.pop_slice(&mut vec![0.0f64; CELLS])?,
        }
        Ok(())
    }
}

fn gradient(schedule: impl Schedule, start: &[f64], tape: &Tape) -> Result<(Vec<f64>, Counts), Error> {
    let mut state = Loop { state: start.to_vec(), adjoint: None, kept: Vec::new(), lane: tape.lane() };
    let counts = run(schedule, &mut state)?;
    Ok((state.adjoint.unwrap_or_default(), counts))
}

fn main() -> Result<(), Error> {
    let options = Options { spill: std::env::args_os().nth(1).map(Into::into), ..Options::default() };
    let tape = Tape::new(options)?;
    let start: Vec<f64> = (0..CELLS).map(|i| (i as f64 * 0.01).sin()).collect();
    let direction: Vec<f64> = (0..CELLS).map(|i| (i as f64 * 0.37).cos()).collect();
    let moved = |by: f64| {
        let start = start.iter().zip(&direction).map(|(x, d)| x + by * d).collect();
        value(&(0..STEPS).fold(start, |state: Vec<f64>, _| step(&state)))
    };
    let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;

    // A state on disk costs as much as five steps.
    let costs = Costs { disk_write: 5.0, disk_read: 5.0, ..Costs::default() };
    let kinds: [(&str, Box<dyn Schedule>); 4] = [
        ("revolve", Box::new(Revolve::new(STEPS, SLOTS))),
        ("online", Box::new(Online::new(SLOTS))),
        ("mixed", Box::new(Mixed::new(STEPS, SLOTS))),
        ("two levels", Box::new(TwoLevel::new(STEPS, 4, 20, costs)?)),
    ];
    for (kind, schedule) in kinds {
        let (gradient, counts) = gradient(schedule, &start, &tape)?;
        let derivative: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
        let Counts { memory, disk, .. } = counts;
        println!(
            "{kind}: {} steps run for {STEPS}, {} states kept in memory and {} on disk; derivative {derivative:.6}, by \
             differences {difference:.6}",
            counts.steps(),
            memory.writes,
            disk.writes,
        );
        assert!((derivative - difference).abs() < 1e-6 * (1.0 + derivative.abs()));
    }
    Ok(())
}

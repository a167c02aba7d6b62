//! The derivative of a long time loop with room for few states: a checkpoint schedule says which states to keep, and each
//! step's own values go to a lane. `cargo run -p cotangent-tape --example checkpoints [FOLDER]`
//!
//! The step is one of the heat equation on a ring with a nonlinear source; the derivative is that of the sum of squares at
//! the end with respect to the start, and is compared with a central difference.

use std::num::NonZeroUsize;

use cotangent_tape::schedule::{Action, Revolve};
use cotangent_tape::{Error, Lane, Options, Tape};

const CELLS: usize = 2000;
const STEPS: u64 = 300;
const SLOTS: NonZeroUsize = NonZeroUsize::new(8).unwrap();

fn neighbours(i: usize) -> (usize, usize) {
    ((i + CELLS - 1) % CELLS, (i + 1) % CELLS)
}

/// One step; what its derivative wants back goes to the lane, if there is one.
fn step(state: &[f64], lane: Option<&mut Lane>) -> Result<Vec<f64>, Error> {
    let source: Vec<f64> = state.iter().map(|x| x.sin()).collect();
    let next = (0..CELLS).map(|i| {
        let (left, right) = neighbours(i);
        state[i] + 0.2 * (state[left] - 2.0 * state[i] + state[right]) + 0.01 * source[i]
    });
    let next = next.collect();
    if let Some(lane) = lane {
        lane.push_slice(state)?;
    }
    Ok(next)
}

/// The derivative of one step.
fn step_pullback(adjoint: &[f64], lane: &mut Lane) -> Result<Vec<f64>, Error> {
    let mut state = vec![0.0f64; CELLS];
    lane.pop_slice(&mut state)?;
    let adjoint = (0..CELLS).map(|i| {
        let (left, right) = neighbours(i);
        adjoint[i] * (1.0 - 0.4 + 0.01 * state[i].cos()) + 0.2 * (adjoint[left] + adjoint[right])
    });
    Ok(adjoint.collect())
}

fn run(start: &[f64]) -> Result<f64, Error> {
    let mut state = start.to_vec();
    for _ in 0..STEPS {
        state = step(&state, None)?;
    }
    Ok(state.iter().map(|x| x * x).sum())
}

fn gradient(start: &[f64], lane: &mut Lane) -> Result<Vec<f64>, Error> {
    let mut kept = vec![Vec::new(); SLOTS.get()];
    let mut state = start.to_vec();
    let mut adjoint: Option<Vec<f64>> = None;
    for action in Revolve::new(STEPS, SLOTS) {
        match action {
            Action::Store { slot, .. } => kept[slot].clone_from(&state),
            Action::Restore { slot, .. } => state.clone_from(&kept[slot]),
            Action::Advance { from, to } => {
                for _ in from..to {
                    state = step(&state, None)?;
                }
            }
            Action::Reverse { .. } => {
                let end = step(&state, Some(lane))?;
                let after = adjoint.unwrap_or_else(|| end.iter().map(|x| 2.0 * x).collect());
                adjoint = Some(step_pullback(&after, lane)?);
            }
            Action::Free { slot, .. } => kept[slot] = Vec::new(),
        }
    }
    Ok(adjoint.unwrap_or_default())
}

fn main() -> Result<(), Error> {
    let options = Options { spill: std::env::args_os().nth(1).map(Into::into), ..Options::default() };
    let tape = Tape::new(options)?;
    let mut lane = tape.lane();
    let start: Vec<f64> = (0..CELLS).map(|i| (i as f64 * 0.01).sin()).collect();
    let gradient = gradient(&start, &mut lane)?;

    let direction: Vec<f64> = (0..CELLS).map(|i| (i as f64 * 0.37).cos()).collect();
    let moved = |by: f64| start.iter().zip(&direction).map(|(x, d)| x + by * d).collect::<Vec<f64>>();
    let difference = (run(&moved(1e-5))? - run(&moved(-1e-5))?) / 2e-5;
    let derivative: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
    println!("{STEPS} steps with room for {SLOTS} states: {} taken again", Revolve::advances(STEPS, SLOTS));
    println!("derivative {derivative:.6}, by differences {difference:.6}");
    assert!((derivative - difference).abs() < 1e-6 * (1.0 + derivative.abs()));
    Ok(())
}

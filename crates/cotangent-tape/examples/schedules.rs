//! What checkpoint schedules of each kind take: the tables of docs/design/checkpoint-schedules.md.
//! `cargo run --release -p cotangent-tape --example schedules`

use std::num::NonZeroUsize;

use cotangent_tape::Error;
use cotangent_tape::schedule::{Costs, Counts, Level, Mixed, Online, Revolve, Schedule, State, TwoLevel, run};

/// A loop that does nothing but end.
struct Nothing {
    steps: u64,
}

impl State for Nothing {
    type Error = Error;

    fn store(&mut self, _level: Level, _slot: usize) -> Result<(), Error> {
        Ok(())
    }

    fn restore(&mut self, _level: Level, _slot: usize) -> Result<(), Error> {
        Ok(())
    }

    fn advance(&mut self, _from: u64, to: u64) -> Result<Option<u64>, Error> {
        Ok((to >= self.steps).then_some(self.steps))
    }

    fn reverse(&mut self, _step: u64) -> Result<(), Error> {
        Ok(())
    }

    fn store_record(&mut self, _step: u64, _level: Level, _slot: usize) -> Result<(), Error> {
        Ok(())
    }

    fn reverse_record(&mut self, _step: u64, _level: Level, _slot: usize) -> Result<(), Error> {
        Ok(())
    }
}

fn counts(schedule: impl Schedule, steps: u64) -> Result<Counts, Error> {
    run(schedule, &mut Nothing { steps })
}

fn main() -> Result<(), Error> {
    println!("| steps | slots | `Revolve` | `Online` | `Mixed` |\n| --- | --- | --- | --- | --- |");
    for (steps, count) in [(100, 5), (300, 8), (1000, 10), (1000, 20), (10_000, 20), (1_000_000, 30)] {
        let slots = NonZeroUsize::new(count).ok_or(Error::Slots)?;
        let ran = |counts: Counts| format!("{:.2}", counts.steps() as f64 / steps as f64);
        let revolve = ran(counts(Revolve::new(steps, slots), steps)?);
        let online = ran(counts(Online::new(slots), steps)?);
        let mixed = ran(counts(Mixed::new(steps, slots), steps)?);
        println!("| {steps} | {count} | {revolve} | {online} | {mixed} |");
    }
    println!("\n| steps | in memory | on disk | a transfer | in all | runs | written | read | memory alone |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (steps, memory, disk, cost) in [
        (1000, 5, 1000, 2.0),
        (1000, 5, 1000, 20.0),
        (1000, 5, 10, 20.0),
        (1000, 10, 10, 20.0),
        (1_000_000, 10, 1_000_000, 20.0),
        (1_000_000, 10, 100, 20.0),
    ] {
        let costs = Costs { disk_write: cost, disk_read: cost, ..Costs::default() };
        let two = counts(TwoLevel::new(steps, memory, disk, costs)?, steps)?;
        let each = |number: f64| format!("{:.2}", number / steps as f64);
        let transfers = (two.disk.writes + two.disk.reads) as f64 * cost;
        let slots = NonZeroUsize::new(memory).ok_or(Error::Slots)?;
        let alone = (Revolve::advances(steps, slots) + u128::from(steps)) as f64;
        println!(
            "| {steps} | {memory} | {disk} | {cost} | {} | {} | {} | {} | {} |",
            each(two.steps() as f64 + transfers),
            each(two.steps() as f64),
            two.disk.writes,
            two.disk.reads,
            each(alone)
        );
    }
    Ok(())
}

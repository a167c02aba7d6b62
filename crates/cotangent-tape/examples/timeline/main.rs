//! Draws when kernels and copies run while a device lane keeps the states of a time loop, on a device that is simulated in
//! time: `docs/benchmarks/overlap.svg`, and the page beside it.
//! `cargo run --release -p cotangent-tape --example timeline [FOLDER]`

mod page;
mod picture;
mod simulation;

use std::error::Error;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::{env, fs};

use picture::Panel;
use simulation::{Setup, Timeline, revolve, stack};

/// States of 16 MiB, four of which fit on the device, and four into pinned memory.
const STACK: Setup =
    Setup { steps: 16, arrays: 4, chunks: 1, on_device: 16, pinned: 16, forward: 2_000_000, reverse: 3_000_000 };

/// States that all fit into pinned memory.
const PINNED: Setup = Setup { pinned: 64, ..STACK };

const SLOTS: NonZeroUsize = NonZeroUsize::new(8).expect("not zero");

/// Without chunks on the device a copy of an array goes over the bus, after what the caller's stream was given before and
/// before what it is given later.
fn straight(setup: Setup) -> Setup {
    Setup { on_device: 0, ..setup }
}

fn main() -> Result<(), Box<dyn Error>> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/benchmarks");
    let folder = env::args_os().nth(1).map_or(docs, PathBuf::from);
    let lane = stack(STACK)?;
    let lane_straight = stack(straight(PINNED))?;
    let slots = revolve(PINNED, SLOTS)?;
    let slots_straight = revolve(straight(PINNED), SLOTS)?;
    let end = [&lane, &lane_straight, &slots].map(|timeline| timeline.end).into_iter().max().unwrap_or(0);
    let all = |title, timeline| Panel { title, timeline, from: 0, to: end };
    let title = |what: &str, timeline: &Timeline| format!("{what}: {}", page::summary(timeline));
    let panels = [
        all(title("A. All 16 states on the lane", &lane), &lane),
        all(title("B. As A, each copy straight over the bus on the kernels' stream", &lane_straight), &lane_straight),
        all(title("C. Revolve, 8 states for 16 steps", &slots), &slots),
        Panel {
            title: "A from 18 to 42 ms: the last steps forward, and the first in reverse".into(),
            timeline: &lane,
            from: 18_000_000,
            to: 42_000_000,
        },
    ];
    fs::write(folder.join("overlap.svg"), picture::draw(&panels))?;
    let page = page::write([&lane, &lane_straight, &slots, &slots_straight])?;
    fs::write(folder.join("overlap.md"), page)?;
    Ok(())
}

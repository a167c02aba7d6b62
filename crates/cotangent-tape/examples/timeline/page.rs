//! The page beside the picture: what is simulated, and the figures, which are put into a template.

use std::fmt::Write as _;

use cotangent_tape::Error;

use super::simulation::{BUS, CHUNK, HOST, ON_DEVICE, SCALE, Setup, Time, Timeline, What, revolve, stack};
use super::{PINNED, SLOTS, STACK, straight};

/// What a panel's title says.
pub(super) fn summary(timeline: &Timeline) -> String {
    format!("{:.1} ms, kernels run in {:.1} % of them", ms(timeline.end), 100.0 * timeline.busy())
}

/// The page, for both loops as they are and straight over the bus.
pub(super) fn write([lane, lane_straight, slots, slots_straight]: [&Timeline; 4]) -> Result<String, Error> {
    let mut rows = String::new();
    row(&mut rows, "A. all states on the lane", lane);
    row(&mut rows, "B. as A, straight over the bus", lane_straight);
    row(&mut rows, "C. Revolve, 8 states", slots);
    row(&mut rows, "as C, straight over the bus", slots_straight);
    let mut lengths = String::new();
    for forward in [250_000, 500_000, 700_000, 1_000_000, 2_000_000, 4_000_000] {
        length(&mut lengths, forward)?;
    }
    let two = stack(Setup { steps: 64, on_device: 2, ..STACK })?;
    let chunk = CHUNK as u64 * SCALE;
    let state = chunk * (STACK.arrays * STACK.chunks) as u64;
    let texts = [
        ("STEPS", STACK.steps.to_string()),
        ("STATE", (state >> 20).to_string()),
        ("ARRAYS", STACK.arrays.to_string()),
        ("CHUNK", (chunk >> 20).to_string()),
        ("LAYER", ((STACK.on_device as u64 * chunk) >> 20).to_string()),
        ("PINNED", ((PINNED.pinned as u64 * chunk) >> 20).to_string()),
        ("FORWARD", (STACK.forward / 1_000_000).to_string()),
        ("REVERSE", (STACK.reverse / 1_000_000).to_string()),
        ("ON_DEVICE", ON_DEVICE.to_string()),
        ("BUS", BUS.to_string()),
        ("HOST", HOST.to_string()),
        ("SCALE", SCALE.to_string()),
        ("T_DEVICE", format!("{:.3}", ms(state / ON_DEVICE))),
        ("T_BUS", format!("{:.2}", ms(state / BUS))),
        ("T_HOST", format!("{:.2}", ms(state / HOST))),
        ("ROWS", rows),
        ("LENGTHS", lengths),
        ("AGAIN", (slots.total(&[What::Again]) / STACK.forward).to_string()),
        ("TWO", format!("{:.0}", 100.0 * two.busy())),
    ];
    let template = include_str!("page.template").to_owned();
    Ok(texts.iter().fold(template, |page, (name, text)| page.replace(&format!("{{{name}}}"), text.trim_end())))
}

fn row(out: &mut String, name: &str, timeline: &Timeline) {
    let popped = timeline.intervals.iter().filter(|interval| interval.is_to_array).count();
    let total = |what| ms(timeline.total(&[what]));
    let _ = writeln!(
        out,
        "| {name} | {} | {:.1} | {:.1} % | {:.1} % | {:.1} | {:.1} | {:.1} |",
        popped / (STACK.arrays * STACK.chunks),
        ms(timeline.end),
        100.0 * timeline.busy(),
        percent(timeline.held_up()),
        total(What::ToHost),
        total(What::ToDevice),
        total(What::HostCopies),
    );
}

/// In which share of the time kernels of a length run, over 64 steps.
fn length(out: &mut String, forward: Time) -> Result<(), Error> {
    let setup = Setup { steps: 64, forward, reverse: forward * 3 / 2, ..STACK };
    let pinned = Setup { pinned: 256, ..setup };
    let _ = write!(out, "| {:.2} |", ms(forward));
    let runs = [
        stack(pinned),
        stack(setup),
        stack(straight(pinned)),
        revolve(pinned, SLOTS),
        revolve(straight(pinned), SLOTS),
    ];
    for timeline in runs {
        let _ = write!(out, " {:.1} % |", 100.0 * timeline?.busy());
    }
    out.push('\n');
    Ok(())
}

fn ms(time: Time) -> f64 {
    time as f64 / 1e6
}

/// Without the sign of a zero that was computed.
fn percent(share: f64) -> f64 {
    (100.0 * share).max(0.0)
}

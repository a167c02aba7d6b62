//! Copies over the bus run beside kernels: what must hold of a device lane on a device that is simulated in time. The same
//! simulation is drawn by `examples/timeline`.

use std::num::NonZeroUsize;

use simulation::{BUS, CHUNK, HOST, Interval, ON_DEVICE, SCALE, Setup, Time, Timeline, What, revolve, stack};

#[path = "../examples/timeline/simulation/mod.rs"]
mod simulation;

const SLOTS: NonZeroUsize = NonZeroUsize::new(8).expect("not zero");

/// A state of four chunks, four of which fit on the device, and a kernel that takes longer than a copy of a state by the
/// host, which is the slowest.
const SETUP: Setup =
    Setup { steps: 40, arrays: 4, chunks: 1, on_device: 16, pinned: 16, forward: 1_750_000, reverse: 2_000_000 };

/// The same state as one array, with fewer chunks on the device.
const ONE_ARRAY: Setup = Setup { arrays: 1, chunks: 4, on_device: 8, ..SETUP };

/// How long a state takes at a speed.
fn time(setup: Setup, speed: u64) -> Time {
    (setup.arrays * setup.chunks * CHUNK) as u64 * SCALE / speed
}

fn of<'a>(timeline: &'a Timeline, kinds: &'a [What]) -> impl Iterator<Item = &'a Interval> {
    timeline.intervals.iter().filter(|interval| kinds.contains(&interval.what))
}

#[test]
fn the_callers_stream_waits_for_the_bus_in_less_than_a_fiftieth_of_the_time() {
    for setup in [SETUP, ONE_ARRAY] {
        assert!(setup.forward > time(setup, HOST) && setup.forward > time(setup, BUS));
        // Over the lane, within pinned memory, and within it with kernels that are little longer than the copies.
        let all_pinned = Setup { pinned: 160, ..setup };
        let short = Setup { forward: 700_000, reverse: 700_000, ..all_pinned };
        assert!(short.forward < time(short, BUS) * 11 / 10);
        for setup in [setup, all_pinned, short] {
            for timeline in [stack(setup), revolve(setup, SLOTS)] {
                let timeline = timeline.expect("nothing fails");
                assert!(timeline.held_up() < 0.02, "{setup:?}: {}", timeline.held_up());
                assert!(timeline.total(&[What::ToHost]) > timeline.end / 50, "{setup:?}: little went over the bus");
            }
        }
        // Without chunks on the device the simulation must show the difference.
        for timeline in [stack(Setup { on_device: 0, ..all_pinned }), revolve(Setup { on_device: 0, ..setup }, SLOTS)] {
            let held_up = timeline.expect("nothing fails").held_up();
            assert!(held_up > 0.1, "{held_up}");
        }
    }
}

#[test]
fn a_kernel_of_the_reverse_sweep_begins_when_its_state_has_come_and_not_before() {
    for setup in [SETUP, ONE_ARRAY, Setup { on_device: 2, ..SETUP }, Setup { on_device: 0, ..ONE_ARRAY }] {
        let timeline = stack(setup).expect("nothing fails");
        let kernels: Vec<&Interval> = of(&timeline, &[What::Reverse]).collect();
        let pieces: Vec<&Interval> = timeline.intervals.iter().filter(|interval| interval.is_to_array).collect();
        let states: Vec<&[&Interval]> = pieces.chunks(setup.arrays * setup.chunks).collect();
        assert_eq!((kernels.len() as u64, states.len() as u64), (setup.steps, setup.steps));
        for (step, (kernel, state)) in kernels.iter().zip(&states).enumerate() {
            assert!(state.iter().all(|piece| piece.end <= kernel.begin), "{setup:?}: kernel {step} began too early");
            // The array is the kernel's before until that has ended.
            let before = step.checked_sub(1).map_or(0, |before| kernels[before].end);
            assert!(state.iter().all(|piece| piece.begin >= before), "{setup:?}: state {step} came too early");
        }
    }
}

/// What the figures rest on.
#[test]
fn an_engine_does_one_thing_at_a_time_and_as_fast_as_it_is() {
    let timeline = stack(SETUP).expect("nothing fails");
    let engines: [&[What]; 5] = [
        &[What::Forward, What::Again, What::Reverse],
        &[What::OnDevice],
        &[What::ToHost],
        &[What::ToDevice],
        &[What::HostCopies, What::HostWaits],
    ];
    for engine in engines {
        let work: Vec<&Interval> = of(&timeline, engine).collect();
        assert!(work.windows(2).all(|pair| pair[0].end <= pair[1].begin), "{engine:?}");
    }
    let steps = SETUP.steps;
    assert_eq!(timeline.total(engines[0]), steps * (SETUP.forward + SETUP.reverse));
    // Each state goes to a chunk and comes back from one.
    let pieces = steps * 2 * SETUP.arrays as u64;
    assert_eq!(timeline.total(&[What::OnDevice]), pieces * (CHUNK as u64 * SCALE / ON_DEVICE));
    let [down, up] = [What::ToHost, What::ToDevice].map(|way| timeline.total(&[way]));
    assert!(down <= steps * time(SETUP, BUS) && up <= steps * time(SETUP, BUS));
    // All but what fits into the chunks passes through the host, at its speed, both ways.
    let layers = (SETUP.on_device + SETUP.pinned) as u64 * (CHUNK as u64 * SCALE / HOST);
    let [all, host] = [2 * steps * time(SETUP, HOST), timeline.total(&[What::HostCopies])];
    assert!(host <= all && host >= all - 2 * layers, "{host} of {all}");
}

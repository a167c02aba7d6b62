//! Pushing and popping in memory: nanoseconds a double, against loops, copies and vectors.

use crate::clock::{minima, thread_seconds};
use crate::contenders::{Cpp, Run, rust_lane, rust_vec};
use crate::{figure, plot};

const IN_CACHE: usize = 64 << 10;
const LARGE: usize = 256 << 20;

pub(crate) fn run(svg: Option<&str>) {
    let cpp = Cpp::compile();
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, bytes) in [("64 KiB", IN_CACHE), ("256 MiB", LARGE)] {
        at(&cpp, folder.path(), name, bytes);
    }
    growth(&cpp);
    two_threads(&cpp);
    if let Some(path) = svg {
        curves(&cpp, path);
    }
}

/// Nanoseconds a double for each contender at one size. Small sizes are repeated, so that the clock is fine enough.
fn measure(contenders: &mut [(&'static str, Run<'_>)], bytes: usize, rounds: usize) -> Vec<f64> {
    let count = bytes / 8;
    let repeat = (4 << 20) / bytes + 1;
    let mut runs: Vec<Box<dyn FnMut() + '_>> = contenders
        .iter_mut()
        .map(|(_, run)| Box::new(move || (0..repeat).for_each(|_| run(count))) as Box<dyn FnMut() + '_>)
        .collect();
    minima(rounds, &mut runs).into_iter().map(|seconds| seconds * 1e9 / (count * repeat) as f64).collect()
}

fn at(cpp: &Cpp, folder: &std::path::Path, size: &str, bytes: usize) {
    let most = bytes / 8;
    let mut contenders = vec![
        ("raw loop", cpp.on_memory("raw_loop", most)),
        ("cursor", cpp.on_lane("cursor", None)),
        ("raw loop, records of four", cpp.on_memory("raw_loop_of_records", most)),
        ("cursor, records of four", cpp.on_lane("cursor_of_records", None)),
        ("cursor, spilling enabled and not needed", cpp.on_lane("cursor", Some(folder))),
        ("memcpy of 4 KiB", cpp.on_memory("copies", most)),
        ("cursor, arrays of 4 KiB", cpp.on_lane("cursor_of_arrays", None)),
        ("the lane in C, without a cursor object", cpp.on_lane("lane_in_c", None)),
        ("std::vector, reserved", cpp.on_memory("vector_reserved", 0)),
        ("Vec, reserved", rust_vec()),
        ("the cursor in Rust", rust_lane()),
    ];
    let rounds = if bytes == LARGE { 9 } else { 200 };
    let times = measure(&mut contenders, bytes, rounds);
    for ((name, _), time) in contenders.iter().zip(&times) {
        figure(&format!("{size}: {name}, ns a double"), *time, "");
    }
    let (one, records) =
        if bytes == LARGE { ("at most 1.25", "at most 1.15") } else { ("at most 1.75", "at most 1.25") };
    figure(&format!("{size}: cursor against raw loop"), times[1] / times[0], one);
    figure(&format!("{size}: records of four against raw loop of them"), times[3] / times[2], records);
    figure(&format!("{size}: spilling enabled against not"), times[4] / times[1], "at most 1.05");
    figure(&format!("{size}: arrays against memcpy"), times[6] / times[5], "");
}

/// From nothing, pages and all.
fn growth(cpp: &Cpp) {
    let mut contenders = vec![("", cpp.on_memory("lane_growing", 0)), ("", cpp.on_memory("vector_growing", 0))];
    let times = measure(&mut contenders, LARGE, 4);
    figure("256 MiB from nothing: cursor, ns a double", times[0], "");
    figure("256 MiB from nothing: std::vector, ns a double", times[1], "");
}

/// Processor time an element of two lanes at once against one alone.
fn two_threads(cpp: &Cpp) {
    const COUNT: usize = IN_CACHE / 8;
    let work = || {
        let mut run = cpp.on_lane("cursor", None);
        let mut best = f64::INFINITY;
        for _ in 0..60 {
            let start = thread_seconds();
            (0..400).for_each(|_| run(COUNT));
            best = best.min(thread_seconds() - start);
        }
        best
    };
    let alone = work();
    let together = std::thread::scope(|scope| {
        let other = scope.spawn(work);
        work().max(other.join().expect("the same work"))
    });
    figure("two lanes on two threads against one, processor time", together / alone, "at most 1.1");
}

fn curves(cpp: &Cpp, path: &str) {
    let sizes: Vec<usize> = (14..=28).step_by(2).map(|power| 1 << power).collect();
    let names = ["raw loop", "cursor", "cursor, records of four", "memcpy of 4 KiB", "std::vector", "Vec"];
    let mut curves = vec![Vec::new(); names.len()];
    for &bytes in &sizes {
        let most = bytes / 8;
        let mut contenders = vec![
            (names[0], cpp.on_memory("raw_loop", most)),
            (names[1], cpp.on_lane("cursor", None)),
            (names[2], cpp.on_lane("cursor_of_records", None)),
            (names[3], cpp.on_memory("copies", most)),
            (names[4], cpp.on_memory("vector_reserved", 0)),
            (names[5], rust_vec()),
        ];
        let times = measure(&mut contenders, bytes, 8);
        for (curve, time) in curves.iter_mut().zip(times) {
            curve.push(time);
        }
    }
    let curves: Vec<(&str, Vec<f64>)> = names.into_iter().zip(curves).collect();
    std::fs::write(path, plot::svg(&sizes, &curves)).expect("a place for the plot");
}

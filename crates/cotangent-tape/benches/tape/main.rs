//! The benchmark of the tape: `cargo bench -p cotangent-tape` prints each figure with what was promised. Contenders take
//! turns, times are minima of the thread's own processor time; the disk is measured by the wall clock. With a path
//! behind `--svg` the curves are drawn there; `-- lanes`, `-- spill`, `-- compress` and `-- sizes` run one part. The last one writes 93 GiB.

mod clock;
mod compress;
mod contenders;
mod lanes;
mod plot;
mod spill;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let is_wanted = |part: &str| {
        !arguments
            .iter()
            .any(|other| ["lanes", "spill", "compress", "sizes"].contains(&other.as_str()) && other != part)
    };
    let svg = arguments.iter().position(|argument| argument == "--svg").and_then(|at| arguments.get(at + 1));
    if is_wanted("lanes") {
        lanes::run(svg.map(String::as_str));
    }
    if is_wanted("spill") {
        spill::run();
    }
    if is_wanted("compress") {
        compress::run();
    }
    if is_wanted("sizes") {
        spill::sizes();
    }
}

/// Prints a figure and what it may be.
fn figure(name: &str, value: f64, promise: &str) {
    println!("{name:<62} {value:>9.2}  {promise}");
}

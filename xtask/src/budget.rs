//! `cargo xtask budget`: what a budget of memory buys a long loop. Runs `examples/checkpoints/wave.cu` within budgets from a
//! thousandth of what all states take to all of it, and writes a page with a picture.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::workspace;

/// What is measured.
#[derive(Args)]
pub(super) struct Options {
    /// The command, if one is built already.
    #[arg(long)]
    command: PathBuf,
    #[arg(long, default_value_t = 100_000)]
    cells: usize,
    #[arg(long, default_value_t = 10_000)]
    steps: usize,
    /// The day, as it stands on the page.
    #[arg(long)]
    date: String,
}

/// Shares of what all states take, in thousandths.
const SHARES: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/// One run.
struct Run {
    share: usize,
    budget: usize,
    function: f64,
    gradient: f64,
    steps: f64,
    states: usize,
    peak: f64,
}

pub(super) fn measure(options: &Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("wave");
    let file = workspace::root().join("examples/checkpoints/wave.cu");
    let built = Command::new(&options.command).arg("build").arg(&file).arg("-o").arg(&program).status()?;
    ensure!(built.success(), "the example does not build; see above");
    let state = (options.cells * 4).next_multiple_of(256) * 2;
    let run = |share: usize, steps: usize, budget: usize| -> Result<Run> {
        let mut command = Command::new(&program);
        command.args([options.cells.to_string(), steps.to_string(), budget.to_string()]);
        let output = command.output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        let numbers: Vec<f64> = said
            .split(|letter: char| !(letter.is_ascii_digit() || letter == '.'))
            .filter_map(|word| word.parse().ok())
            .collect();
        let [function, gradient, steps, _, states, peak] = numbers[..] else {
            bail!("the example says: {said}");
        };
        eprintln!("{share:4} thousandths: {said}");
        Ok(Run { share, budget, function, gradient, steps, states: states as usize, peak })
    };
    // What the program takes with one step: its arrays, their adjoints, and what the runtime takes.
    let least = run(0, 2, 3 * state)?;
    let runs: Vec<Run> = SHARES
        .iter()
        .map(|share| {
            let budget = (options.steps * state).div_ceil(1000).saturating_mul(*share).max(2 * state);
            run(*share, options.steps, budget)
        })
        .collect::<Result<_>>()?;
    let docs = workspace::root().join("docs/benchmarks");
    fs::write(docs.join("checkpoints.svg"), picture(&runs, options)).context("the picture")?;
    fs::write(docs.join("checkpoints.md"), page(&runs, &least, options)).context("the page")?;
    Ok(())
}

fn page(runs: &[Run], least: &Run, options: &Options) -> String {
    let mut rows = String::new();
    for run in runs {
        let per_step = |value: f64| value / options.steps as f64;
        let _ = writeln!(
            rows,
            "| {:.1} % | {:.1} | {:.1} | {} | {:.2} | {:.2} | {:.2} |",
            run.share as f64 / 10.0,
            run.budget as f64 / 1e6,
            (run.peak - least.peak) * 1.048_576,
            run.states,
            per_step(run.steps),
            run.gradient,
            run.gradient / run.function,
        );
    }
    format!(
        "# What a budget buys\n\nA wave in two arrays of {} cells, {} steps (`examples/checkpoints/wave.cu`), and its gradient within budgets from a thousandth of what all \
         states take to all of it. `cargo xtask budget`, {}, on two cores; times are those of the processor, the function's is of the same run.\n\n\
         | of all states | budget, MB | memory, MB | states | steps run, of each | gradient, s | of the function |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n{rows}\n\
         \"Memory\" is the most that the process had (`ru_maxrss`), less what it has with two steps: its arrays, their adjoints, and the runtime.\n\"Steps run\" counts the forward \
         sweep, steps that are run again, and the one time that each step is run to record.\nA gradient takes as long as the steps that it runs and the reverse of each.\n\n![time and steps against the budget](checkpoints.svg)\n",
        options.cells, options.steps, options.date
    )
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 70.0;
const BOTTOM: f64 = 300.0;
const TOP: f64 = 60.0;

/// Gradient time over the function's, and steps run, against the budget on a logarithmic scale.
fn picture(runs: &[Run], options: &Options) -> String {
    let most = runs.iter().map(|run| run.gradient / run.function).fold(1.0, f64::max) * 1.1;
    let x = |share: usize| LEFT + (share as f64).log10() / 3.0 * (WIDTH - LEFT - 40.0);
    let y = |value: f64| BOTTOM - value / most * (BOTTOM - TOP);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\" fill=\"#222\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n<text x=\"12\" y=\"22\" font-size=\"14\">A wave of {} cells, {} \
         steps: what the gradient costs within a budget, {}</text>\n",
        options.cells, options.steps, options.date
    );
    let ticks = (most / 5.0).ceil();
    for tick in (0..).map(|tick| f64::from(tick) * ticks).take_while(|tick| *tick <= most) {
        let at = y(tick);
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>",
            WIDTH - 40.0
        );
        let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>", LEFT - 8.0, at + 4.0);
    }
    for run in runs {
        let share = run.share as f64 / 10.0;
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{share} %</text>",
            x(run.share),
            BOTTOM + 18.0
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">budget, of the memory that all states take</text>",
        f64::midpoint(LEFT, WIDTH - 40.0),
        BOTTOM + 40.0
    );
    let per_step = options.steps as f64;
    let time = |run: &Run| run.gradient / run.function;
    let steps = |run: &Run| run.steps / per_step;
    curve(&mut out, runs, &x, &|run| y(time(run)), "#1b6ca8", "time, of the function's", 12.0);
    curve(&mut out, runs, &x, &|run| y(steps(run)), "#d1741f", "steps run, of the loop's", 220.0);
    out.push_str("</svg>\n");
    out
}

fn curve(
    out: &mut String,
    runs: &[Run],
    x: &dyn Fn(usize) -> f64,
    y: &dyn Fn(&Run) -> f64,
    colour: &str,
    name: &str,
    legend: f64,
) {
    let points: Vec<String> = runs.iter().map(|run| format!("{:.1},{:.1}", x(run.share), y(run))).collect();
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        points.join(" ")
    );
    for run in runs {
        let _ = writeln!(out, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\" fill=\"{colour}\"/>", x(run.share), y(run));
    }
    let _ = writeln!(out, "<rect x=\"{legend}\" y=\"33\" width=\"11\" height=\"11\" fill=\"{colour}\"/>");
    let _ = writeln!(out, "<text x=\"{:.1}\" y=\"43\">{name}</text>", legend + 16.0);
}

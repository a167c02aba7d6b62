//! The picture: a panel a simulation, a row for each that works beside the others, and one axis in milliseconds.

use std::fmt::Write as _;

use super::simulation::{Interval, Time, Timeline, What};

/// A part of a simulation.
pub(super) struct Panel<'a> {
    pub(super) title: String,
    pub(super) timeline: &'a Timeline,
    pub(super) from: Time,
    pub(super) to: Time,
}

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 130.0;
const RIGHT: f64 = 980.0;
/// Where the first panel begins, and how far one is from the next.
const TOP: f64 = 84.0;
const PANEL: f64 = 178.0;
const ROW: f64 = 22.0;
const BAR: f64 = 16.0;

/// A name, and what is in it: each with its colour and its name in the legend.
type Row = (&'static str, &'static [(What, &'static str, &'static str)]);

const ROWS: [Row; 5] = [
    (
        "kernels",
        &[
            (What::Forward, "#1b6ca8", "forward kernel"),
            (What::Again, "#8fbbdc", "run again"),
            (What::Reverse, "#d1741f", "reverse kernel"),
        ],
    ),
    ("on the device", &[(What::OnDevice, "#111111", "copy on the device")]),
    ("bus to the host", &[(What::ToHost, "#2e8b57", "bus to the host")]),
    ("bus to the device", &[(What::ToDevice, "#8e44ad", "bus to the device")]),
    ("host", &[(What::HostCopies, "#7f8c8d", "host copies"), (What::HostWaits, "#dfe3e6", "host waits")]),
];

/// Things of one kind with less than this between them are drawn as one, but kernels.
const NEAR: Time = 3_000;

pub(super) fn draw(panels: &[Panel]) -> String {
    let height = TOP + PANEL * panels.len() as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n<rect width=\"{WIDTH}\" height=\"{height}\" \
         fill=\"white\"/>\n<text x=\"12\" y=\"24\" font-size=\"15\">A time loop and its reverse over a device lane, on a \
         simulated device</text>\n"
    );
    legend(&mut out);
    for (index, panel) in panels.iter().enumerate() {
        draw_panel(&mut out, panel, TOP + PANEL * index as f64);
    }
    out.push_str("</svg>\n");
    out
}

fn legend(out: &mut String) {
    let mut x = 12.0;
    for (_, colour, name) in ROWS.iter().flat_map(|(_, kinds)| *kinds) {
        let _ = writeln!(out, "<rect x=\"{x:.0}\" y=\"40\" width=\"11\" height=\"11\" fill=\"{colour}\"/>");
        let _ = writeln!(out, "<text x=\"{:.0}\" y=\"50\">{name}</text>", x + 16.0);
        x += 36.0 + 6.6 * name.len() as f64;
    }
}

fn draw_panel(out: &mut String, panel: &Panel, top: f64) {
    let Panel { title, timeline, from, to } = panel;
    let x = |time: Time| LEFT + (time.clamp(*from, *to) - from) as f64 / (to - from) as f64 * (RIGHT - LEFT);
    let _ = writeln!(out, "<text x=\"12\" y=\"{:.0}\" font-size=\"13\" font-weight=\"bold\">{title}</text>", top + 4.0);
    let rows = top + 14.0;
    let bottom = rows + ROW * ROWS.len() as f64;
    axis(out, panel, &x, rows, bottom);
    for (row, (name, kinds)) in ROWS.iter().enumerate() {
        let y = rows + ROW * row as f64 + (ROW - BAR) / 2.0;
        let _ = writeln!(out, "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{name}</text>", LEFT - 8.0, y + 12.0);
        for (what, colour, _) in *kinds {
            let is_kernel = *what <= What::Reverse;
            let mut path = String::new();
            for (begin, end) in joined(&timeline.intervals, *what, if is_kernel { 0 } else { NEAR }) {
                if end <= *from || begin >= *to {
                    continue;
                }
                // Kernels leave a line between them, and what is short can still be seen.
                let wide = if is_kernel { x(end) - x(begin) - 0.7 } else { x(end) - x(begin) };
                let _ = write!(path, "M{:.1} {y:.0}h{:.1}v{BAR}h-{:.1}z", x(begin), wide.max(0.9), wide.max(0.9));
            }
            if !path.is_empty() {
                let _ = writeln!(out, "<path d=\"{path}\" fill=\"{colour}\"/>");
            }
        }
    }
}

fn axis(out: &mut String, panel: &Panel, x: &dyn Fn(Time) -> f64, top: f64, bottom: f64) {
    const MILLISECOND: Time = 1_000_000;
    let distance = if panel.to - panel.from > 50 * MILLISECOND { 10 } else { 2 } * MILLISECOND;
    let first = panel.from.div_ceil(distance);
    for tick in (first..).map(|tick| tick * distance).take_while(|tick| *tick <= panel.to) {
        let at = x(tick);
        let _ = writeln!(
            out,
            "<line x1=\"{at:.1}\" y1=\"{top:.0}\" x2=\"{at:.1}\" y2=\"{bottom:.0}\" stroke=\"#e4e4e4\"/>"
        );
        let number = tick / MILLISECOND;
        let _ = writeln!(out, "<text x=\"{at:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{number}</text>", bottom + 15.0);
    }
    let _ = writeln!(out, "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">ms</text>", LEFT - 20.0, bottom + 15.0);
}

/// All of a kind, those that are near each other as one, but kernels of no distance each by itself.
fn joined(intervals: &[Interval], what: What, near: Time) -> Vec<(Time, Time)> {
    let mut parts: Vec<(Time, Time)> = Vec::new();
    for interval in intervals.iter().filter(|interval| interval.what == what) {
        match parts.last_mut() {
            Some((_, end)) if interval.begin < *end + near => *end = interval.end,
            Some(_) | None => parts.push((interval.begin, interval.end)),
        }
    }
    parts
}

//! Draws nanoseconds a double against size, as an SVG of a few lines and words.

use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 200.0;
const MARGIN: f64 = 40.0;
const COLOURS: &[&str] = &["#444444", "#0b6e4f", "#3da35d", "#8d99ae", "#d1495b", "#edae49", "#30638e"];

/// The curves over these sizes in bytes, which double or more from one to the next.
pub(crate) fn svg(sizes: &[usize], curves: &[(&str, Vec<f64>)]) -> String {
    let most = curves.iter().flat_map(|(_, curve)| curve).copied().fold(0.0, f64::max).ceil();
    let x = |index: usize| LEFT + (WIDTH - LEFT - RIGHT) * index as f64 / (sizes.len() - 1) as f64;
    let y = |value: f64| HEIGHT - MARGIN - (HEIGHT - 2.0 * MARGIN) * value / most;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\">push and pop, ns a double, against bytes on the tape</text>\n"
    );
    for tick in 0..=most as usize {
        let at = y(tick as f64);
        let _ = writeln!(out, "<path d=\"M{LEFT} {at}H{}\" stroke=\"#dddddd\"/>", WIDTH - RIGHT);
        let _ = writeln!(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{tick}</text>", LEFT - 8.0, at + 4.0);
    }
    for (index, bytes) in sizes.iter().enumerate() {
        let name = if *bytes < 1 << 20 { format!("{} KiB", bytes >> 10) } else { format!("{} MiB", bytes >> 20) };
        let _ = writeln!(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{name}</text>", x(index), HEIGHT - 20.0);
    }
    for (number, (name, curve)) in curves.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let points: Vec<String> =
            curve.iter().enumerate().map(|(index, value)| format!("{:.1},{:.1}", x(index), y(*value))).collect();
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
        let row = MARGIN + 20.0 * number as f64;
        let _ = writeln!(out, "<text x=\"{}\" y=\"{row}\" fill=\"{colour}\">{name}</text>", WIDTH - RIGHT + 12.0);
    }
    out + "</svg>\n"
}

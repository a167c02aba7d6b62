//! The picture of the race on the CPU: for each work a bar a contestant, gradient time against the function's, on a
//! logarithmic scale, as works differ by a factor of a hundred. Written as SVG by hand.

use std::fmt::Write as _;

use super::cpu::{Outcome, Value};
use super::page::{contestants, found, title};

const LEFT: f64 = 250.0;
const RIGHT: f64 = 900.0;
const BAR: f64 = 13.0;
const GAP: f64 = 12.0;
const TOP: f64 = 74.0;
/// The ends of the scale.
const LEAST: f64 = 0.4;
const MOST: f64 = 120.0;

/// Colours that also differ in grey.
const COLOURS: &[(&str, &str)] = &[
    ("Cotangent", "#1b6ca8"),
    ("Cotangent, rolled back", "#7fb4dc"),
    ("by hand", "#2b2b2b"),
    ("by hand, rolled back", "#8a8a8a"),
    ("by hand, same loops", "#b5b5b5"),
    ("Clad", "#d1741f"),
    ("Enzyme", "#5a9e4b"),
];

/// With the value; a peer's gradient plus one call of the function.
fn seconds(outcome: &Outcome, name: &str) -> Option<f64> {
    let with_value = found(outcome, name, Value::Returned).filter(|one| one.error < 1e-6).map(|one| one.least);
    with_value.or_else(|| {
        let one = found(outcome, name, Value::Dropped).filter(|one| one.error < 1e-6)?;
        Some(one.least + if outcome.work.has_value { outcome.function.least } else { 0.0 })
    })
}

fn at(ratio: f64) -> f64 {
    let share = (ratio.clamp(LEAST, MOST) / LEAST).ln() / (MOST / LEAST).ln();
    LEFT + share * (RIGHT - LEFT)
}

/// The picture.
pub(super) fn picture(outcomes: &[Outcome], date: &str) -> String {
    let mut bars = String::new();
    let mut y = TOP;
    let mut seen: Vec<String> = Vec::new();
    for outcome in outcomes {
        let top = y;
        for name in contestants(outcome) {
            let Some(seconds) = seconds(outcome, &name) else { continue };
            let Some((_, colour)) = COLOURS.iter().find(|(known, _)| *known == name) else { continue };
            let ratio = seconds / outcome.function.least;
            let width = at(ratio) - LEFT;
            let _ = writeln!(
                bars,
                r#"<rect x="{LEFT}" y="{y:.1}" width="{width:.1}" height="{:.1}" fill="{colour}"/>"#,
                BAR - 2.0
            );
            let _ = writeln!(
                bars,
                r#"<text x="{:.1}" y="{:.1}" font-size="10">{ratio:.2}</text>"#,
                at(ratio) + 4.0,
                y + BAR - 4.0
            );
            y += BAR;
            if !seen.contains(&name) {
                seen.push(name);
            }
        }
        let middle = f64::midpoint(top, y) + 3.0;
        let _ = writeln!(
            bars,
            r#"<text x="{:.1}" y="{middle:.1}" text-anchor="end">{}</text>"#,
            LEFT - 8.0,
            title(outcome)
        );
        y += GAP;
    }
    let mut scale = String::new();
    for tick in [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0] {
        let x = at(tick);
        let colour = if (tick - 1.0f64).abs() < 1e-9 { "#888" } else { "#ddd" };
        let _ =
            writeln!(scale, r#"<line x1="{x:.1}" y1="{:.1}" x2="{x:.1}" y2="{y:.1}" stroke="{colour}"/>"#, TOP - 4.0);
        let _ = writeln!(scale, r#"<text x="{x:.1}" y="{:.1}" text-anchor="middle">{tick}</text>"#, TOP - 8.0);
    }
    let mut legend = String::new();
    let mut x = 12.0;
    for (name, colour) in COLOURS.iter().filter(|(name, _)| seen.iter().any(|seen| seen == name)) {
        let _ = writeln!(legend, r#"<rect x="{x:.1}" y="33" width="11" height="11" fill="{colour}"/>"#);
        let _ = writeln!(legend, r#"<text x="{:.1}" y="43">{name}</text>"#, x + 16.0);
        x += 34.0 + 6.3 * name.len() as f64;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"960\" height=\"{0:.0}\" viewBox=\"0 0 960 {0:.0}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n<rect width=\"960\" height=\"{0:.0}\" fill=\"white\"/>\n\
         <text x=\"12\" y=\"20\" font-size=\"14\">Gradient with value / function, CPU, one core, {date} (shorter is better)</text>\n\
         {legend}{scale}{bars}</svg>\n",
        y + 8.0
    )
}

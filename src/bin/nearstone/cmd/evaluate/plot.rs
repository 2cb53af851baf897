//! Curves of analysers as SVG.

use std::fmt::Write;

use super::measure::Measured;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 56.0;
const TOP: f64 = 24.0;
const RIGHT: f64 = 200.0;
const BOTTOM: f64 = 48.0;

/// Colours that people with colour blindness tell apart (Okabe and Ito, 2008).
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

/// Draws F1 as a full, precision as a dashed and recall as a dotted line, over the distance.
pub(super) fn svg(rows: &[(String, Measured)]) -> String {
    let most = rows.iter().flat_map(|(_, measured)| measured.within()).map(|within| within.distance).max().unwrap_or(1);
    let x = |distance: usize| LEFT + (WIDTH - LEFT - RIGHT) * share(distance, most.max(1));
    let y = |share: f64| TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - share);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    for tenth in (0..=10).step_by(2) {
        let share = share(tenth, 10);
        let (right, y) = (WIDTH - RIGHT, y(share));
        let _ = writeln!(svg, "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#ddd\"/>");
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{share:.1}</text>", LEFT - 8.0, y + 4.0);
    }
    for distance in 0..=most {
        let at = HEIGHT - BOTTOM + 18.0;
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{at}\" text-anchor=\"middle\">{distance}</text>", x(distance));
    }
    let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
    let _ = writeln!(svg, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">distance</text>", HEIGHT - 8.0);
    for ((name, measured), (row, colour)) in rows.iter().zip(COLOURS.iter().cycle().enumerate()) {
        let mut curve = |dashes: &str, value: fn(super::measure::Within) -> f64| {
            let points: Vec<String> =
                measured.within().map(|w| format!("{:.1},{:.1}", x(w.distance), y(value(w)))).collect();
            let points = points.join(" ");
            let _ = writeln!(
                svg,
                "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>"
            );
        };
        curve("", super::measure::Within::f1);
        curve(" stroke-dasharray=\"6 4\"", super::measure::Within::precision);
        curve(" stroke-dasharray=\"2 3\"", super::measure::Within::recall);
        let at = TOP + 12.0 + 18.0 * share(row, 1);
        let left = WIDTH - RIGHT + 16.0;
        let _ = writeln!(svg, "<text x=\"{left}\" y=\"{at}\" fill=\"{colour}\">{}</text>", escaped(name));
    }
    let at = TOP + 30.0 + 18.0 * share(rows.len(), 1);
    let left = WIDTH - RIGHT + 16.0;
    for (line, text) in ["full: F1", "dashed: precision", "dotted: recall"].into_iter().enumerate() {
        let _ = writeln!(svg, "<text x=\"{left}\" y=\"{}\" fill=\"#555\">{text}</text>", at + 16.0 * share(line, 1));
    }
    svg + "</svg>\n"
}

#[expect(clippy::cast_precision_loss, reason = "a place in a picture")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

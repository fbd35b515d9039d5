//! A drawing as SVG.

use std::fmt::{self, Write};

use super::drawing::{Anchor, Colour, Drawing, Shape};

/// The whole document.
pub(super) fn svg(drawing: &Drawing) -> String {
    let mut out = String::new();
    // a String takes everything
    let _ = write(&mut out, drawing);
    out
}

fn write(out: &mut String, Drawing { title, width, height, shapes }: &Drawing) -> fmt::Result {
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" width=\"{width:.1}\" \
         height=\"{height:.1}\" font-family=\"Helvetica, Arial, sans-serif\">"
    )?;
    writeln!(out, "<title>{}</title>", escaped(title))?;
    writeln!(out, "<rect width=\"{width:.1}\" height=\"{height:.1}\" fill=\"white\"/>")?;
    for shape in shapes {
        match shape {
            Shape::Line { points, stroke } => {
                write!(out, "<path d=\"")?;
                for (place, (x, y)) in points.iter().enumerate() {
                    write!(out, "{}{x:.1} {y:.1}", if place == 0 { "M" } else { "L" })?;
                }
                let (colour, width) = (hex(stroke.colour), stroke.width);
                write!(out, "\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"")?;
                if !stroke.dashes.is_empty() {
                    let dashes: Vec<_> = stroke.dashes.iter().map(ToString::to_string).collect();
                    write!(out, " stroke-dasharray=\"{}\"", dashes.join(" "))?;
                }
                writeln!(out, "/>")?;
            }
            Shape::Rectangle { at: (x, y), size: (width, height), fill } => writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{}\"/>",
                hex(*fill)
            )?,
            Shape::Dot { at: (x, y), radius, fill } => {
                writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{}\"/>", hex(*fill))?;
            }
            Shape::Text { at: (x, y), size, anchor, is_vertical, colour, words } => {
                let anchor = match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                };
                let turned =
                    if *is_vertical { format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"") } else { String::new() };
                writeln!(
                    out,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" fill=\"{}\"{turned}>{}</text>",
                    hex(*colour),
                    escaped(words)
                )?;
            }
        }
    }
    writeln!(out, "</svg>")
}

fn hex([red, green, blue]: Colour) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

fn escaped(words: &str) -> String {
    let letter = |letter: char| match letter {
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '&' => "&amp;".to_owned(),
        control if control.is_control() => '\u{FFFD}'.to_string(),
        letter => letter.to_string(),
    };
    words.chars().map(letter).collect()
}

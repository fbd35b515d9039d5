//! A drawing as PDF 1.4 (ISO 32000-1): one page of lines, rectangles and text in Helvetica, which every viewer has.

use std::fmt::{self, Write};

use super::drawing::{Colour, Drawing, Shape, before_anchor};

/// The distance of control points that makes four Bézier curves a circle.
const CIRCLE: f64 = 0.552_285;

/// The whole document.
pub(super) fn pdf(drawing: &Drawing) -> Vec<u8> {
    let mut content = String::new();
    // a String takes everything
    let _ = write_content(&mut content, drawing);
    let content = latin_1(&content);
    let Drawing { title, width, height, .. } = drawing;
    let mut out = Vec::from(*b"%PDF-1.4\n%\xE2\xE3\xCF\xD3\n");
    let mut offsets = Vec::new();
    let mut object = |out: &mut Vec<u8>, text: &str, stream: Option<&[u8]>| {
        offsets.push(out.len());
        out.extend(format!("{} 0 obj\n", offsets.len()).into_bytes());
        out.extend(latin_1(text));
        if let Some(stream) = stream {
            out.extend(b"\nstream\n");
            out.extend(stream);
            out.extend(b"\nendstream");
        }
        out.extend(b"\nendobj\n");
    };
    object(&mut out, "<< /Type /Catalog /Pages 2 0 R >>", None);
    object(&mut out, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", None);
    let page = format!(
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.1} {height:.1}] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> \
         >> >>"
    );
    object(&mut out, &page, None);
    object(&mut out, &format!("<< /Length {} >>", content.len()), Some(&content));
    let font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";
    object(&mut out, font, None);
    object(&mut out, &format!("<< /Title ({}) /Producer (ferric paper) >>", escaped(title)), None);
    let (table, count) = (out.len(), offsets.len() + 1);
    let mut end = format!("xref\n0 {count}\n0000000000 65535 f \n");
    for offset in offsets {
        let _ = writeln!(end, "{offset:010} 00000 n ");
    }
    let _ = write!(end, "trailer\n<< /Size {count} /Root 1 0 R /Info 6 0 R >>\nstartxref\n{table}\n%%EOF\n");
    out.extend(end.into_bytes());
    out
}

/// Writes the page, whose origin is at the lower left.
fn write_content(out: &mut String, Drawing { height: page, shapes, .. }: &Drawing) -> fmt::Result {
    // round ends and corners
    writeln!(out, "1 j")?;
    for shape in shapes {
        match shape {
            Shape::Line { points, stroke } => {
                let dashes: Vec<_> = stroke.dashes.iter().map(ToString::to_string).collect();
                writeln!(out, "{} RG {} w [{}] 0 d", components(stroke.colour), stroke.width, dashes.join(" "))?;
                for (place, (x, y)) in points.iter().enumerate() {
                    writeln!(out, "{x:.2} {:.2} {}", page - y, if place == 0 { "m" } else { "l" })?;
                }
                writeln!(out, "S")?;
            }
            Shape::Rectangle { at: (x, y), size: (width, height), fill } => {
                writeln!(out, "{} rg {x:.2} {:.2} {width:.2} {height:.2} re f", components(*fill), page - y - height)?;
            }
            Shape::Dot { at: (x, y), radius, fill } => {
                let (y, near) = (page - y, radius * CIRCLE);
                write!(out, "{} rg {:.2} {y:.2} m", components(*fill), x + radius)?;
                for (from, to) in [
                    ((1.0, 0.0), (0.0, 1.0)),
                    ((0.0, 1.0), (-1.0, 0.0)),
                    ((-1.0, 0.0), (0.0, -1.0)),
                    ((0.0, -1.0), (1.0, 0.0)),
                ] {
                    let ((a, b), (c, d)) = (from, to);
                    let points = [
                        (x + a * radius + c * near, y + b * radius + d * near),
                        (x + c * radius + a * near, y + d * radius + b * near),
                        (x + c * radius, y + d * radius),
                    ];
                    points.iter().try_for_each(|(x, y)| write!(out, " {x:.2} {y:.2}"))?;
                    write!(out, " c")?;
                }
                writeln!(out, " f")?;
            }
            Shape::Text { at: (x, y), size, anchor, is_vertical, colour, words } => {
                let before = before_anchor(*anchor, words, *size);
                let (x, y) = (*x, page - y);
                let matrix = match is_vertical {
                    true => format!("0 1 -1 0 {x:.2} {:.2}", y - before),
                    false => format!("1 0 0 1 {:.2} {y:.2}", x - before),
                };
                let colour = components(*colour);
                writeln!(out, "BT {colour} rg /F1 {size} Tf {matrix} Tm ({}) Tj ET", escaped(words))?;
            }
        }
    }
    Ok(())
}

fn components(colour: Colour) -> String {
    let [red, green, blue] = colour.map(|part| f64::from(part) / 255.0);
    format!("{red:.3} {green:.3} {blue:.3}")
}

/// A text within parentheses (ISO 32000-1 7.3.4.2).
fn escaped(words: &str) -> String {
    let letter = |letter: char| match letter {
        '(' | ')' | '\\' => format!("\\{letter}"),
        control if control.is_control() => "?".to_owned(),
        letter => letter.to_string(),
    };
    words.chars().map(letter).collect()
}

/// The octets of a text in Latin-1; a question mark for other letters.
fn latin_1(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap_or(b'?')).collect()
}

/// Whether the places of all objects are those of the cross-reference table.
#[cfg(test)]
pub(super) fn has_valid_table(document: &[u8]) -> bool {
    // one letter for each octet
    let text: String = document.iter().map(|octet| if octet.is_ascii() { char::from(*octet) } else { '?' }).collect();
    let Some(start) = text.rsplit("startxref\n").next().and_then(|end| end.lines().next()?.parse::<usize>().ok())
    else {
        return false;
    };
    let mut lines = text[start..].lines().skip(2);
    let has_free = lines.next().is_some_and(|free| free == "0000000000 65535 f ");
    let objects: Vec<_> = lines.take_while(|line| line.ends_with(" 00000 n ")).collect();
    has_free
        && objects.len() == 6
        && objects.iter().zip(1..).all(|(line, number)| {
            let at = line[..10].parse::<usize>().unwrap_or(usize::MAX);
            text.get(at..).is_some_and(|object| object.starts_with(&format!("{number} 0 obj")))
        })
}

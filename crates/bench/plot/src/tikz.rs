//! A drawing as a TikZ picture, for `\input` in a LaTeX document that uses the package `tikz`.

use std::fmt::{self, Write};

use super::drawing::{Anchor, Colour, Drawing, Shape};

/// The picture.
pub(super) fn tikz(drawing: &Drawing) -> String {
    let mut out = String::new();
    // a String takes everything
    let _ = write(&mut out, drawing);
    out
}

fn write(out: &mut String, Drawing { title, width, height, shapes }: &Drawing) -> fmt::Result {
    let title: String = title.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect();
    writeln!(out, "% {title}")?;
    writeln!(out, "\\begin{{tikzpicture}}[x=1bp,y=-1bp,line join=round,inner sep=0]")?;
    writeln!(out, "\\path[use as bounding box] (0,0) rectangle ({width:.1},{height:.1});")?;
    for shape in shapes {
        match shape {
            Shape::Line { points, stroke } => {
                write!(out, "\\draw[draw={},line width={}bp", colour(stroke.colour), stroke.width)?;
                if !stroke.dashes.is_empty() {
                    let part = |(place, length): (usize, &f64)| {
                        format!("{} {length}bp", if place % 2 == 0 { "on" } else { "off" })
                    };
                    let pattern: Vec<_> = stroke.dashes.iter().enumerate().map(part).collect();
                    write!(out, ",dash pattern={}", pattern.join(" "))?;
                }
                write!(out, "]")?;
                for (place, (x, y)) in points.iter().enumerate() {
                    // TeX reads lines of limited length
                    write!(
                        out,
                        "{}({x:.2},{y:.2})",
                        if place == 0 {
                            " "
                        } else if place % 8 == 0 {
                            "\n--"
                        } else {
                            "--"
                        }
                    )?;
                }
                writeln!(out, ";")?;
            }
            Shape::Rectangle { at: (x, y), size: (width, height), fill } => writeln!(
                out,
                "\\fill[fill={}] ({x:.2},{y:.2}) rectangle ({:.2},{:.2});",
                colour(*fill),
                x + width,
                y + height
            )?,
            Shape::Dot { at: (x, y), radius, fill } => {
                writeln!(out, "\\fill[fill={}] ({x:.2},{y:.2}) circle[radius={radius}bp];", colour(*fill))?;
            }
            Shape::Text { at: (x, y), size, anchor, is_vertical, colour: of, words } => {
                let anchor = match anchor {
                    Anchor::Start => "base west",
                    Anchor::Middle => "base",
                    Anchor::End => "base east",
                };
                let turned = if *is_vertical { ",rotate=90" } else { "" };
                let skip = size * 1.2;
                writeln!(
                    out,
                    "\\node[anchor={anchor}{turned},text={},font=\\sffamily\\fontsize{{{size}bp}}{{{skip:.1}bp}}\\selectfont] at \
                     ({x:.2},{y:.2}) {{{}}};",
                    colour(*of),
                    escaped(words)
                )?;
            }
        }
    }
    writeln!(out, "\\end{{tikzpicture}}")
}

/// A colour that needs no definition.
fn colour([red, green, blue]: Colour) -> String {
    format!("{{rgb,255:red,{red};green,{green};blue,{blue}}}")
}

fn escaped(words: &str) -> String {
    let letter = |letter: char| match letter {
        '\\' => "\\textbackslash{}".to_owned(),
        '~' => "\\textasciitilde{}".to_owned(),
        '^' => "\\textasciicircum{}".to_owned(),
        '<' => "\\textless{}".to_owned(),
        '>' => "\\textgreater{}".to_owned(),
        '#' | '$' | '%' | '&' | '_' | '{' | '}' => format!("\\{letter}"),
        letter => letter.to_string(),
    };
    words.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_tex_are_escaped() {
        assert_eq!(escaped("100 %, a_b & {c} \\d"), "100 \\%, a\\_b \\& \\{c\\} \\textbackslash{}d");
    }
}

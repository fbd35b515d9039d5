//! A drawing: lines, rectangles, dots and text on a page, whose origin is at the upper left. Formats are written from it.

use super::metrics::text_width;

/// A page with its shapes, in points.
#[derive(Clone, Debug, Default)]
pub(super) struct Drawing {
    pub title: String,
    pub width: f64,
    pub height: f64,
    pub shapes: Vec<Shape>,
}

/// A colour: red, green, blue.
pub(super) type Colour = [u8; 3];

pub(super) const BLACK: Colour = [0, 0, 0];

/// How a line is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stroke {
    pub colour: Colour,
    pub width: f64,
    /// Lengths of dashes and gaps; none for a solid line.
    pub dashes: &'static [f64],
}

/// Where the place of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// Connected points.
    Line { points: Vec<(f64, f64)>, stroke: Stroke },
    /// A filled rectangle: left, top, width, height.
    Rectangle { at: (f64, f64), size: (f64, f64), fill: Colour },
    /// A filled circle.
    Dot { at: (f64, f64), radius: f64, fill: Colour },
    /// A text on a baseline, turned by a right angle to the left if it is vertical.
    Text { at: (f64, f64), size: f64, anchor: Anchor, is_vertical: bool, colour: Colour, words: String },
}

impl Drawing {
    pub fn line(&mut self, points: Vec<(f64, f64)>, stroke: Stroke) {
        self.shapes.push(Shape::Line { points, stroke });
    }

    pub fn rectangle(&mut self, at: (f64, f64), size: (f64, f64), fill: Colour) {
        self.shapes.push(Shape::Rectangle { at, size, fill });
    }

    pub fn dot(&mut self, at: (f64, f64), fill: Colour) {
        self.shapes.push(Shape::Dot { at, radius: 2.5, fill });
    }

    pub fn text(&mut self, at: (f64, f64), size: f64, anchor: Anchor, words: &str) {
        let words = printable(words);
        self.shapes.push(Shape::Text { at, size, anchor, is_vertical: false, colour: BLACK, words });
    }

    pub fn vertical_text(&mut self, at: (f64, f64), size: f64, words: &str) {
        let words = printable(words);
        self.shapes.push(Shape::Text { at, size, anchor: Anchor::Middle, is_vertical: true, colour: BLACK, words });
    }
}

/// No format has control characters.
fn printable(words: &str) -> String {
    words.chars().map(|letter| if letter.is_control() { '\u{FFFD}' } else { letter }).collect()
}

/// The distance from the start of a text to its place.
pub(super) fn before_anchor(anchor: Anchor, words: &str, size: f64) -> f64 {
    match anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => text_width(words, size) / 2.0,
        Anchor::End => text_width(words, size),
    }
}

//! Where the parts of a plot are on the page.

use super::drawing::{Anchor, BLACK, Colour, Drawing, Stroke};
use super::metrics::text_width;
use super::{Connection, Panel, Plot, Series, X, number};

/// The least width of a panel, and of one with marks.
const PANEL_WIDTH: f64 = 400.0;
const MARKED_WIDTH: f64 = 640.0;
/// The least width of a category.
const CATEGORY_WIDTH: f64 = 68.0;
const PANEL_HEIGHT: f64 = 240.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 16.0;
/// A line of labels of marks.
const MARK_LINE: f64 = 14.0;
/// The axis with its label, and the axis with categories.
const BELOW: f64 = 46.0;
const BELOW_CATEGORIES: f64 = 30.0;
/// More panels are drawn in rows of two.
const MAX_IN_ROW: usize = 3;
const LEGEND_LINE: f64 = 16.0;
/// The samples of a line and of a bar in the legend.
const LEGEND_LINE_SAMPLE: f64 = 30.0;
const LEGEND_BAR_SAMPLE: f64 = 12.0;
const TEXT: f64 = 12.0;
const SMALL: f64 = 11.0;
/// Colours that are distinguishable with any colour vision (Okabe and Ito); reused for more series.
const COLOURS: [Colour; 8] = [
    [0x00, 0x72, 0xB2],
    [0xD5, 0x5E, 0x00],
    [0x00, 0x9E, 0x73],
    [0xCC, 0x79, 0xA7],
    [0xE6, 0x9F, 0x00],
    [0x56, 0xB4, 0xE9],
    [0x00, 0x00, 0x00],
    [0x99, 0x99, 0x33],
];
const GRID: Colour = [0xDD, 0xDD, 0xDD];
const MARK: Colour = [0x66, 0x66, 0x66];
/// Dashes keep overlapping lines visible, and lines distinguishable without colours.
const DASHES: [&[f64]; 5] = [&[], &[7.0, 3.0], &[2.0, 2.0], &[9.0, 3.0, 2.0, 3.0], &[12.0, 4.0]];
/// The approximate number of ticks of an axis.
const TICKS: f64 = 5.0;
/// A panel with a line of more points has no dots.
const MAX_DOTS: usize = 24;

/// The drawing of a plot.
pub(super) fn drawing(plot: &Plot) -> Drawing {
    let styles = Styles::of(plot);
    let rows: Vec<&[Panel]> = plot.panels.chunks(if plot.panels.len() > MAX_IN_ROW { 2 } else { MAX_IN_ROW }).collect();
    let width = |row: &&[Panel]| row.iter().map(Panel::width).sum::<f64>();
    let width = rows.iter().map(width).fold(PANEL_WIDTH, f64::max);
    let legend = Legend::of(&styles, width);
    let mut drawing = Drawing { title: plot.title.clone(), width, height: 0.0, shapes: Vec::new() };
    let mut top = 0.0;
    for row in rows {
        let lines = row.iter().map(|panel| panel.mark_lines().len()).max().unwrap_or(0);
        top += TOP + MARK_LINE * lines as f64;
        let mut left = 0.0;
        for panel in row {
            let alike = plot.panels.iter().filter(|other| other.y_label == panel.y_label);
            let greatest = alike.flat_map(Panel::points).map(|(_, y)| y).fold(0.0, f64::max);
            let right = left + panel.width() - RIGHT;
            PanelDrawing { panel, styles: &styles, left: left + LEFT, top, right, greatest }.draw(&mut drawing);
            left += panel.width();
        }
        let has_label = row.iter().any(|panel| matches!(panel.x, X::Numbers(_)));
        top += PANEL_HEIGHT + if has_label { BELOW } else { BELOW_CATEGORIES };
    }
    legend.draw(&styles, top + 8.0, &mut drawing);
    drawing.height = top + LEGEND_LINE * legend.lines as f64 + 8.0;
    drawing
}

/// The names of all series in the order of their appearance, and whether they are lines, with dots.
struct Styles<'p>(Vec<(&'p str, Kind)>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bars,
    Line,
    DottedLine,
}

impl Kind {
    /// The width of its sample in the legend.
    fn sample(self) -> f64 {
        if self == Kind::Bars { LEGEND_BAR_SAMPLE } else { LEGEND_LINE_SAMPLE }
    }
}

impl<'p> Styles<'p> {
    fn of(plot: &'p Plot) -> Self {
        let mut names: Vec<(&str, Kind)> = Vec::new();
        for panel in &plot.panels {
            let kind = match panel.x {
                X::Categories(_) => Kind::Bars,
                X::Numbers(_) if panel.has_dots() => Kind::DottedLine,
                X::Numbers(_) => Kind::Line,
            };
            for series in &panel.series {
                if !names.iter().any(|(name, _)| *name == series.name) {
                    names.push((&series.name, kind));
                }
            }
        }
        Styles(names)
    }

    fn place(&self, name: &str) -> usize {
        self.0.iter().position(|(known, _)| *known == name).unwrap_or(0)
    }

    fn colour(&self, name: &str) -> Colour {
        COLOURS[self.place(name) % COLOURS.len()]
    }

    fn stroke(&self, name: &str) -> Stroke {
        Stroke { colour: self.colour(name), width: 1.8, dashes: DASHES[self.place(name) % DASHES.len()] }
    }
}

/// The places of the names: line and distance from the left.
struct Legend {
    places: Vec<(usize, f64)>,
    lines: usize,
}

impl Legend {
    fn of(styles: &Styles<'_>, width: f64) -> Self {
        let (mut places, mut line, mut x) = (Vec::new(), 0, LEFT);
        for (name, kind) in &styles.0 {
            let needed = kind.sample() + 6.0 + text_width(name, TEXT) + 22.0;
            if x > LEFT && x + needed > width {
                (line, x) = (line + 1, LEFT);
            }
            places.push((line, x));
            x += needed;
        }
        Legend { lines: if places.is_empty() { 0 } else { line + 1 }, places }
    }

    fn draw(&self, styles: &Styles<'_>, top: f64, drawing: &mut Drawing) {
        for ((name, kind), (line, x)) in styles.0.iter().zip(&self.places) {
            let y = top + LEGEND_LINE * *line as f64;
            match kind {
                Kind::Bars => drawing.rectangle((*x, y - 4.0), (kind.sample(), 9.0), styles.colour(name)),
                Kind::Line | Kind::DottedLine => {
                    drawing.line(vec![(*x, y), (x + kind.sample(), y)], styles.stroke(name));
                }
            }
            if *kind == Kind::DottedLine {
                drawing.dot((x + kind.sample() / 2.0, y), styles.colour(name));
            }
            drawing.text((x + kind.sample() + 6.0, y + 4.0), TEXT, Anchor::Start, name);
        }
    }
}

impl Panel {
    fn width(&self) -> f64 {
        match &self.x {
            X::Numbers(_) if self.marks.is_empty() => PANEL_WIDTH,
            X::Numbers(_) => MARKED_WIDTH,
            X::Categories(categories) => {
                let widest =
                    categories.iter().map(|name| text_width(name, SMALL) + 10.0).fold(CATEGORY_WIDTH, f64::max);
                PANEL_WIDTH.max(LEFT + RIGHT + widest * categories.len() as f64)
            }
        }
    }

    fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.series.iter().flat_map(Series::finite)
    }

    fn has_dots(&self) -> bool {
        self.series.iter().all(|series| series.points.len() <= MAX_DOTS)
    }

    /// The end of the x axis, and the distance of its ticks.
    fn x_range(&self) -> (f64, f64) {
        let end = self.points().map(|(x, _)| x).fold(0.0, f64::max);
        let step = step(end);
        ((end / step - 1e-9).ceil().max(1.0) * step, step)
    }

    /// The place of a value on the x axis, from 0 to 1.
    fn x_place(&self, value: f64) -> f64 {
        let (end, _) = self.x_range();
        value.clamp(0.0, end) / end
    }

    /// The marks in each line of labels, counted from the axes: labels of one line do not overlap.
    fn mark_lines(&self) -> Vec<Vec<usize>> {
        let width = self.width() - LEFT - RIGHT;
        let mut lines: Vec<(Vec<usize>, f64)> = Vec::new();
        for (number, mark) in self.marks.iter().enumerate() {
            let (begin, end) = self.label_place(mark.at, &mark.name, width);
            match lines.iter_mut().find(|(_, taken)| *taken <= begin) {
                Some((marks, taken)) => {
                    marks.push(number);
                    *taken = end + 6.0;
                }
                None => lines.push((vec![number], end + 6.0)),
            }
        }
        lines.into_iter().map(|(marks, _)| marks).collect()
    }

    /// From where to where the label of a mark goes: it begins at its line, and stays on the page.
    fn label_place(&self, at: f64, name: &str, width: f64) -> (f64, f64) {
        let length = text_width(name, SMALL) + 4.0;
        let begin = (self.x_place(at) * width).min(width + RIGHT - length).max(0.0);
        (begin, begin + length)
    }
}

/// A panel on its place.
struct PanelDrawing<'p> {
    panel: &'p Panel,
    styles: &'p Styles<'p>,
    left: f64,
    top: f64,
    right: f64,
    /// The greatest value of all panels with this y axis.
    greatest: f64,
}

impl PanelDrawing<'_> {
    fn base(&self) -> f64 {
        self.top + PANEL_HEIGHT
    }

    fn width(&self) -> f64 {
        self.right - self.left
    }

    /// The end of the y axis, and the distance of its ticks.
    fn y_range(&self) -> (f64, f64) {
        let step = step(self.greatest);
        ((self.greatest.max(step) / step - 1e-9).ceil() * step, step)
    }

    fn y(&self, value: f64) -> f64 {
        let (end, _) = self.y_range();
        self.base() - value.clamp(0.0, end) / end * PANEL_HEIGHT
    }

    fn draw(&self, drawing: &mut Drawing) {
        let (end, step) = self.y_range();
        for tick in ticks(end, step) {
            let y = self.y(tick);
            drawing.line(vec![(self.left, y), (self.right, y)], Stroke { colour: GRID, width: 0.8, dashes: &[] });
            drawing.text((self.left - 6.0, y + 4.0), TEXT, Anchor::End, &number(tick));
        }
        drawing.vertical_text((self.left - LEFT + 14.0, self.top + PANEL_HEIGHT / 2.0), TEXT, &self.panel.y_label);
        match &self.panel.x {
            X::Numbers(label) => {
                drawing.text((self.left + self.width() / 2.0, self.base() + 34.0), TEXT, Anchor::Middle, label);
                self.draw_marks(drawing);
                self.draw_lines(drawing);
            }
            X::Categories(categories) => self.draw_bars(categories, drawing),
        }
        let corner = vec![(self.left, self.top), (self.left, self.base()), (self.right, self.base())];
        drawing.line(corner, Stroke { colour: BLACK, width: 1.0, dashes: &[] });
    }

    fn x(&self, value: f64) -> f64 {
        self.left + self.panel.x_place(value) * self.width()
    }

    fn draw_marks(&self, drawing: &mut Drawing) {
        for (line, marks) in self.panel.mark_lines().iter().enumerate() {
            let y = self.top - 4.0 - MARK_LINE * line as f64;
            for mark in marks.iter().filter_map(|mark| self.panel.marks.get(*mark)) {
                let x = self.x(mark.at);
                let stroke = Stroke { colour: MARK, width: 0.8, dashes: &[4.0, 3.0] };
                drawing.line(vec![(x, y - 8.0), (x, self.base())], stroke);
                let (begin, _) = self.panel.label_place(mark.at, &mark.name, self.width());
                drawing.text((self.left + begin + 3.0, y), SMALL, Anchor::Start, &mark.name);
            }
        }
    }

    fn draw_lines(&self, drawing: &mut Drawing) {
        let (end, step) = self.panel.x_range();
        for tick in ticks(end, step) {
            let x = self.x(tick);
            drawing.line(
                vec![(x, self.base()), (x, self.base() + 4.0)],
                Stroke { colour: BLACK, width: 1.0, dashes: &[] },
            );
            drawing.text((x, self.base() + 17.0), TEXT, Anchor::Middle, &number(tick));
        }
        for series in &self.panel.series {
            let mut points: Vec<(f64, f64)> = Vec::new();
            for (x, y) in series.finite() {
                let (x, y) = (rounded(self.x(x)), rounded(self.y(y)));
                if self.panel.has_dots() {
                    drawing.dot((x, y), self.styles.colour(&series.name));
                }
                if series.connection == Connection::Steps
                    && let Some((_, before)) = points.last().copied()
                {
                    points.push((x, before));
                }
                points.push((x, y));
            }
            if points.is_empty() {
                continue;
            }
            simplify(&mut points);
            drawing.line(points, self.styles.stroke(&series.name));
        }
    }

    fn draw_bars(&self, categories: &[String], drawing: &mut Drawing) {
        let group = self.width() / categories.len().max(1) as f64;
        let bar = group * 0.8 / self.panel.series.len().max(1) as f64;
        for (place, category) in categories.iter().enumerate() {
            let middle = self.left + group * (place as f64 + 0.5);
            drawing.text((middle, self.base() + 17.0), SMALL, Anchor::Middle, category);
        }
        for (place, series) in self.panel.series.iter().enumerate() {
            for (at, value) in series.finite() {
                let left = self.left + group * (at + 0.1) + bar * place as f64;
                let top = self.y(value);
                drawing.rectangle((left, top), (bar, self.base() - top), self.styles.colour(&series.name));
                drawing.text((left + bar / 2.0, top - 3.0), 9.0, Anchor::Middle, &number(value));
            }
        }
    }
}

/// A tenth of a point is finer than any print.
fn rounded(place: f64) -> f64 {
    (place * 10.0).round() / 10.0
}

/// Removes points that are on a horizontal or vertical line between their neighbours: many equal or similar samples.
fn simplify(points: &mut Vec<(f64, f64)>) {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (x, y) in points.drain(..) {
        if kept.last() == Some(&(x, y)) {
            continue;
        }
        if let [.., (a, b), (c, d)] = kept[..]
            && ((a == c && c == x) || (b == d && d == y))
        {
            kept.pop();
        }
        kept.push((x, y));
    }
    *points = kept;
}

fn ticks(end: f64, step: f64) -> impl Iterator<Item = f64> {
    (0..=(end / step).round() as u32).map(move |tick| f64::from(tick) * step)
}

/// The distance of ticks: 1, 2 or 5 times a power of ten.
fn step(end: f64) -> f64 {
    if end <= 0.0 {
        return 1.0;
    }
    let rough = end / TICKS;
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= rough).unwrap_or(10.0);
    factor * power
}

#[cfg(test)]
mod tests {
    use super::super::Mark;
    use super::*;

    #[test]
    fn ticks_are_round() {
        let steps = [0.0, 1.0, 7.0, 32.0, 95.0, 0.03].map(step);
        let expected = [1.0, 0.2, 2.0, 10.0, 20.0, 0.01];
        for (step, expected) in steps.into_iter().zip(expected) {
            assert!((step - expected).abs() < 1e-12, "{step} {expected}");
        }
        assert_eq!(ticks(1.0, 0.5).collect::<Vec<_>>(), [0.0, 0.5, 1.0]);
    }

    #[test]
    fn labels_of_marks_do_not_overlap_and_stay_on_the_page() {
        let name = "the greedy flow starts";
        let mark = |at: f64| Mark { at, name: name.into() };
        let panel = Panel {
            x: X::Numbers("s".into()),
            y_label: "ms".into(),
            series: vec![Series::new("a", vec![(0.0, 1.0), (10.0, 2.0)])],
            marks: vec![mark(1.0), mark(1.2), mark(5.0), mark(9.9)],
        };
        assert_eq!(panel.mark_lines(), [vec![0, 2, 3], vec![1]]);
        let width = panel.width() - LEFT - RIGHT;
        assert!(panel.label_place(9.9, name, width).1 <= width + RIGHT + 1e-9);
    }

    #[test]
    fn four_panels_are_two_rows() {
        let panel = |name: &str| Panel {
            x: X::Numbers("s".into()),
            y_label: name.into(),
            series: vec![Series::new("a", vec![(0.0, 1.0), (10.0, 2.0)])],
            marks: Vec::new(),
        };
        let of = |count| drawing(&Plot { title: String::new(), panels: vec![panel("ms"); count] });
        let (three, four) = (of(3), of(4));
        assert_eq!((three.width, four.width), (3.0 * PANEL_WIDTH, 2.0 * PANEL_WIDTH));
        assert_eq!(four.height - three.height, TOP + PANEL_HEIGHT + BELOW);
    }

    #[test]
    fn points_on_a_line_are_drawn_once() {
        let mut points = vec![(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (2.0, 0.0), (2.0, 1.0), (2.0, 3.0), (4.0, 4.0)];
        simplify(&mut points);
        assert_eq!(points, [(0.0, 0.0), (2.0, 0.0), (2.0, 3.0), (4.0, 4.0)]);
    }
}

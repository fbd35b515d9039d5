//! Plots as SVG: lines over numbers, bars over categories, panels side by side.

use std::fmt::{self, Write};

/// A plot: panels side by side with a common legend.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    /// The title.
    pub title: String,
    /// The panels, from left to right.
    pub panels: Vec<Panel>,
}

/// One pair of axes.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The x axis.
    pub x: X,
    /// The label of the y axis, with its unit. The axis starts at 0; panels with the same label have the same range.
    pub y_label: String,
    /// The series.
    pub series: Vec<Series>,
    /// Marks on an x axis of numbers.
    pub marks: Vec<Mark>,
}

/// An event: a vertical line with a name at its upper end.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The place on the x axis.
    pub at: f64,
    /// A short name, to the right of the line.
    pub name: String,
}

/// An x axis.
#[derive(Clone, Debug)]
pub enum X {
    /// Numbers: series are lines.
    Numbers(String),
    /// Categories, counted from 0: series are bars beside each other.
    Categories(Vec<String>),
}

/// One line, or the bars of one colour. Series of one name have one colour in all panels.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// The points from left to right; those that are not finite are omitted.
    pub points: Vec<(f64, f64)>,
}

/// The least width of a panel.
const PANEL_WIDTH: f64 = 400.0;
/// The width of a category's name.
const CATEGORY_WIDTH: f64 = 68.0;
const PANEL_HEIGHT: f64 = 260.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 44.0;
const BELOW: f64 = 52.0;
const LEGEND_LINE: f64 = 18.0;
/// Colours that are distinguishable with any colour vision (Okabe and Ito); reused for more series.
const COLOURS: [&str; 8] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933"];
/// Dashes keep overlapping lines visible, and lines distinguishable without colours.
const DASHES: [&str; 4] = ["none", "7 4", "2 3", "9 3 2 3"];
/// The approximate number of ticks of an axis.
const TICKS: f64 = 5.0;
/// A panel with a line of more points has no dots.
const MAX_DOTS: usize = 24;

impl Plot {
    /// The names of all series, in the order of their appearance.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        names
    }

    /// The whole document.
    #[must_use]
    pub fn svg(&self) -> String {
        let mut out = String::new();
        // a String takes everything
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let names = self.names();
        let width = self.panels.iter().map(Panel::width).sum::<f64>().max(PANEL_WIDTH);
        let height = TOP + PANEL_HEIGHT + BELOW + LEGEND_LINE * names.len() as f64;
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">"
        )?;
        writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>")?;
        // a letter is some 0.6 of the size wide: a long title is written smaller, not cut
        let size = (width / (0.6 * self.title.chars().count() as f64)).min(15.0);
        text(out, (width / 2.0, 22.0), "middle", &format!("font-size=\"{size:.1}\""), &self.title)?;
        let mut left = 0.0;
        for panel in &self.panels {
            writeln!(out, "<g transform=\"translate({left},{TOP})\">")?;
            left += panel.width();
            let alike = self.panels.iter().filter(|other| other.y_label == panel.y_label);
            panel.write(out, &names, alike.flat_map(Panel::points).map(|(_, y)| y).fold(0.0, f64::max))?;
            writeln!(out, "</g>")?;
        }
        for (at, name) in names.iter().enumerate() {
            let y = TOP + PANEL_HEIGHT + BELOW + LEGEND_LINE * at as f64;
            let colour = colour(&names, name);
            writeln!(out, "<rect x=\"{LEFT}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>", y - 10.0)?;
            text(out, (LEFT + 18.0, y), "start", "", name)?;
        }
        writeln!(out, "</svg>")
    }
}

fn colour(names: &[&str], name: &str) -> &'static str {
    COLOURS[place(names, name) % COLOURS.len()]
}

fn dashes(names: &[&str], name: &str) -> &'static str {
    DASHES[place(names, name) % DASHES.len()]
}

fn place(names: &[&str], name: &str) -> usize {
    names.iter().position(|known| *known == name).unwrap_or(0)
}

impl Panel {
    fn width(&self) -> f64 {
        match &self.x {
            X::Numbers(_) => PANEL_WIDTH,
            X::Categories(categories) => PANEL_WIDTH.max(LEFT + RIGHT + CATEGORY_WIDTH * categories.len() as f64),
        }
    }

    fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.series.iter().flat_map(Series::finite)
    }

    fn write(&self, out: &mut String, names: &[&str], greatest: f64) -> fmt::Result {
        let (inner_width, base) = (self.width() - LEFT - RIGHT, PANEL_HEIGHT);
        let y_step = step(greatest);
        let y_top = (greatest.max(y_step) / y_step).ceil() * y_step;
        let y = |value: f64| base - value.clamp(0.0, y_top) / y_top * base;
        let mut tick = 0.0;
        while tick <= y_top * 1.001 {
            let at = y(tick);
            writeln!(
                out,
                "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>",
                LEFT + inner_width
            )?;
            text(out, (LEFT - 6.0, at + 4.0), "end", "", &number(tick))?;
            tick += y_step;
        }
        let turned = format!("transform=\"rotate(-90 14 {})\"", base / 2.0);
        text(out, (14.0, base / 2.0), "middle", &turned, &self.y_label)?;
        match &self.x {
            X::Numbers(label) => {
                text(out, (LEFT + inner_width / 2.0, base + 36.0), "middle", "", label)?;
                self.lines(out, names, inner_width, y)?;
            }
            X::Categories(categories) => self.bars(out, names, categories, inner_width, y)?,
        }
        writeln!(out, "<path d=\"M{LEFT} 0V{base}H{}\" fill=\"none\" stroke=\"black\"/>", LEFT + inner_width)
    }

    fn lines(&self, out: &mut String, names: &[&str], width: f64, y: impl Fn(f64) -> f64) -> fmt::Result {
        let end = self.points().map(|(x, _)| x).fold(0.0, f64::max);
        let x_step = step(end);
        let right = (end / x_step).ceil().max(1.0) * x_step;
        let x = |value: f64| LEFT + value.clamp(0.0, right) / right * width;
        let mut tick = 0.0;
        while tick <= right * 1.001 {
            text(out, (x(tick), PANEL_HEIGHT + 18.0), "middle", "", &number(tick))?;
            tick += x_step;
        }
        let mut taken = 0.0;
        for Mark { at, name } in &self.marks {
            let at = x(*at);
            writeln!(
                out,
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{PANEL_HEIGHT}\" stroke=\"#888\" stroke-dasharray=\"4 3\"/>"
            )?;
            // below a name that reaches as far
            let y = if at < taken { 24.0 } else { 10.0 };
            taken = at + 8.0 + 6.6 * name.chars().count() as f64;
            text(out, (at + 4.0, y), "start", "font-size=\"11\" fill=\"#555\"", name)?;
        }
        let has_dots = self.series.iter().all(|series| series.points.len() <= MAX_DOTS);
        for series in &self.series {
            let colour = colour(names, &series.name);
            let mut path = String::new();
            for (place, (at, value)) in series.finite().enumerate() {
                write!(path, "{}{:.1} {:.1}", if place == 0 { "M" } else { "L" }, x(at), y(value))?;
            }
            if path.is_empty() {
                continue;
            }
            let dashes = dashes(names, &series.name);
            writeln!(
                out,
                "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/>"
            )?;
            let dots = series.finite().filter(|_| has_dots);
            for (at, value) in dots {
                writeln!(out, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"/>", x(at), y(value))?;
            }
        }
        Ok(())
    }

    fn bars(
        &self,
        out: &mut String,
        names: &[&str],
        categories: &[String],
        width: f64,
        y: impl Fn(f64) -> f64,
    ) -> fmt::Result {
        let group = width / categories.len().max(1) as f64;
        let bar = group * 0.8 / self.series.len().max(1) as f64;
        for (place, category) in categories.iter().enumerate() {
            let middle = LEFT + group * (place as f64 + 0.5);
            text(out, (middle, PANEL_HEIGHT + 18.0), "middle", "font-size=\"11\"", category)?;
        }
        for (place, series) in self.series.iter().enumerate() {
            let colour = colour(names, &series.name);
            for (at, value) in series.finite() {
                let left = LEFT + group * (at + 0.1) + bar * place as f64;
                let top = y(value);
                writeln!(
                    out,
                    "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{bar:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>",
                    PANEL_HEIGHT - top
                )?;
                text(out, (left + bar / 2.0, top - 3.0), "middle", "font-size=\"9\"", &number(value))?;
            }
        }
        Ok(())
    }
}

impl Series {
    fn finite(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite())
    }
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

/// A number with three digits that count, or all before the point.
pub(crate) fn number(value: f64) -> String {
    let digits = match value.abs() {
        large if large >= 100.0 => 0,
        large if large >= 10.0 => 1,
        large if large >= 1.0 || large == 0.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn text(out: &mut String, (x, y): (f64, f64), anchor: &str, more: &str, words: &str) -> fmt::Result {
    write!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {more}>")?;
    for letter in words.chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // XML has no control characters
            letter if letter.is_control() => out.push('\u{FFFD}'),
            letter => out.push(letter),
        }
    }
    writeln!(out, "</text>")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, points: &[(f64, f64)]) -> Series {
        Series { name: name.into(), points: points.to_vec() }
    }

    #[test]
    fn lines_and_bars_are_well_formed_and_drawn() {
        let plot = Plot {
            title: "A <title> & \"more\"\u{1}".into(),
            panels: vec![
                Panel {
                    x: X::Numbers("agents".into()),
                    y_label: "CPU, %".into(),
                    series: vec![series("a&b", &[(1.0, 2.0), (2.0, f64::NAN), (18.0, 40.0)]), series("none", &[])],
                    marks: vec![Mark { at: 1.5, name: "now".into() }],
                },
                Panel {
                    x: X::Categories(vec!["100".into(), "1500".into()]),
                    y_label: "us".into(),
                    series: vec![series("a&b", &[(0.0, 10.0), (1.0, 0.0)]), series("other", &[(1.0, 5.0)])],
                    marks: Vec::new(),
                },
            ],
        };
        let svg = plot.svg();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let count = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
        assert_eq!(count("circle"), 2, "what is no number is left out");
        // the paper, three bars, three in the legend
        assert_eq!(count("rect"), 1 + 3 + 3);
        let texts: Vec<_> = document.descendants().filter_map(|node| node.text()).collect();
        assert!(
            texts.contains(&"a&b") && texts.contains(&"1500") && texts.contains(&"now") && texts.contains(&"CPU, %"),
            "{texts:?}"
        );
        // one name, one colour
        let dot = document.descendants().find(|node| node.has_tag_name("circle")).unwrap();
        let bar = document.descendants().filter(|node| node.has_tag_name("rect")).nth(1).unwrap();
        assert_eq!(dot.attribute("fill"), bar.attribute("fill"));
    }

    #[test]
    fn nothing_at_all_is_drawn_too() {
        let panel =
            Panel { x: X::Numbers(String::new()), y_label: String::new(), series: Vec::new(), marks: Vec::new() };
        for panels in [vec![], vec![panel.clone()], vec![Panel { x: X::Categories(Vec::new()), ..panel }]] {
            let svg = Plot { title: String::new(), panels }.svg();
            roxmltree::Document::parse(&svg).unwrap();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn ticks_are_round() {
        let steps = [0.0, 1.0, 7.0, 32.0, 95.0, 0.03].map(step);
        let expected = [1.0, 0.2, 2.0, 10.0, 20.0, 0.01];
        for (step, expected) in steps.into_iter().zip(expected) {
            assert!((step - expected).abs() < 1e-12, "{step} {expected}");
        }
        assert_eq!([0.0, 0.25, 2.0, 12.34, 5678.9].map(number), ["0", "0.25", "2", "12.3", "5679"]);
    }
}

//! Plots: lines and steps over numbers, bars over categories, panels side by side with a common legend; as SVG, PDF or TikZ.

#![forbid(unsafe_code)]

mod drawing;
mod layout;
mod metrics;
mod pdf;
mod svg;
mod tikz;

/// A plot: panels side by side with a common legend.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    /// The title: metadata of the file, since a figure's caption contains it. It is not drawn.
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

/// An event: a vertical line with a label above the axes.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The place on the x axis.
    pub at: f64,
    /// What happens.
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

/// How the points of a series over numbers are connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Connection {
    /// Straight lines.
    #[default]
    Lines,
    /// Steps: a value holds until the next point.
    Steps,
}

/// One line, or the bars of one colour. Series of one name have one colour and style in all panels.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// The points from left to right; those that are not finite are omitted.
    pub points: Vec<(f64, f64)>,
    /// How they are connected.
    pub connection: Connection,
}

impl Series {
    /// A series whose points are connected by straight lines, or bars.
    #[must_use]
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series { name: name.into(), points, connection: Connection::Lines }
    }

    /// The empirical distribution function of samples: at each sample it rises by its share.
    #[must_use]
    pub fn cdf(name: impl Into<String>, samples: impl IntoIterator<Item = f64>) -> Self {
        let mut samples: Vec<f64> = samples.into_iter().filter(|sample| sample.is_finite()).collect();
        samples.sort_by(f64::total_cmp);
        let count = samples.len() as f64;
        let mut points: Vec<(f64, f64)> = samples.first().map(|first| (*first, 0.0)).into_iter().collect();
        points.extend(samples.into_iter().zip(1..).map(|(sample, number)| (sample, f64::from(number) / count)));
        Series { name: name.into(), points, connection: Connection::Steps }
    }

    fn finite(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite())
    }
}

impl Plot {
    /// The plot as an SVG document.
    #[must_use]
    pub fn svg(&self) -> String {
        svg::svg(&layout::drawing(self))
    }

    /// The plot as a PDF document of one page.
    #[must_use]
    pub fn pdf(&self) -> Vec<u8> {
        pdf::pdf(&layout::drawing(self))
    }

    /// The plot as a TikZ picture for a LaTeX document.
    #[must_use]
    pub fn tikz(&self) -> String {
        tikz::tikz(&layout::drawing(self))
    }
}

/// A number with three digits that count, or all before the point.
#[must_use]
pub fn number(value: f64) -> String {
    let digits = match value.abs() {
        large if large >= 100.0 => 0,
        large if large >= 10.0 => 1,
        large if large >= 1.0 || large == 0.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, points: &[(f64, f64)]) -> Series {
        Series::new(name, points.to_vec())
    }

    fn plot() -> Plot {
        Plot {
            title: "A <title> & (more\u{1})".into(),
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
        }
    }

    #[test]
    fn lines_and_bars_are_well_formed_and_drawn() {
        let svg = plot().svg();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let count = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
        // two of the line, and one in the legend of each line
        assert_eq!(count("circle"), 4, "what is no number is left out");
        // the paper, three bars, and in the legend that of the series that has bars only
        assert_eq!(count("rect"), 1 + 3 + 1);
        let texts = document.descendants().filter(|node| node.has_tag_name("text"));
        let texts: Vec<_> = texts.filter_map(|node| node.text()).collect();
        assert!(["a&b", "1500", "now", "CPU, %"].iter().all(|text| texts.contains(text)), "{texts:?}");
        assert!(!texts.iter().any(|text| text.contains("title")), "the caption has the title: {texts:?}");
        // one name, one colour
        let dot = document.descendants().find(|node| node.has_tag_name("circle")).unwrap();
        let bar = document.descendants().filter(|node| node.has_tag_name("rect")).nth(1).unwrap();
        assert_eq!(dot.attribute("fill"), bar.attribute("fill"));
    }

    #[test]
    fn pdf_has_valid_offsets_and_all_texts() {
        let pdf = plot().pdf();
        assert!(pdf.starts_with(b"%PDF-1.4\n") && pdf.ends_with(b"%%EOF\n"));
        assert!(pdf::has_valid_table(&pdf));
        let text = String::from_utf8_lossy(&pdf);
        for piece in ["(a&b) Tj", "(CPU, %) Tj", "/Title (A <title> & \\(more?\\))"] {
            assert!(text.contains(piece), "{piece}: {text}");
        }
    }

    #[test]
    fn tikz_is_a_balanced_picture() {
        let tikz = plot().tikz();
        assert!(tikz.contains("\\begin{tikzpicture}") && tikz.ends_with("\\end{tikzpicture}\n"), "{tikz}");
        assert!(tikz.contains("{a\\&b}") && tikz.contains("{CPU, \\%}"), "{tikz}");
        let count = |letter: char| tikz.chars().filter(|other| *other == letter).count();
        assert_eq!(count('{'), count('}'));
    }

    #[test]
    fn distribution_rises_at_each_sample() {
        let cdf = Series::cdf("c", [3.0, 1.0, f64::NAN, 2.0, 2.0]);
        assert_eq!(cdf.points, [(1.0, 0.0), (1.0, 0.25), (2.0, 0.5), (2.0, 0.75), (3.0, 1.0)]);
        assert_eq!(cdf.connection, Connection::Steps);
        assert!(Series::cdf("c", []).points.is_empty());
        let panel = Panel { x: X::Numbers("ms".into()), y_label: "CDF".into(), series: vec![cdf], marks: Vec::new() };
        let svg = Plot { title: String::new(), panels: vec![panel] }.svg();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let path = document.descendants().filter_map(|node| node.attribute("d")).max_by_key(|path| path.len()).unwrap();
        let corners: Vec<Vec<&str>> = path.split(['M', 'L']).skip(1).map(|point| point.split(' ').collect()).collect();
        assert!(corners.len() > 5, "{path}");
        assert!(corners.windows(2).all(|two| two[0][0] == two[1][0] || two[0][1] == two[1][1]), "right angles: {path}");
    }

    #[test]
    fn nothing_at_all_is_drawn_too() {
        let panel =
            Panel { x: X::Numbers(String::new()), y_label: String::new(), series: Vec::new(), marks: Vec::new() };
        for panels in [vec![], vec![panel.clone()], vec![Panel { x: X::Categories(Vec::new()), ..panel }]] {
            let plot = Plot { title: String::new(), panels };
            roxmltree::Document::parse(&plot.svg()).unwrap();
            assert!(!plot.tikz().contains("NaN") && !plot.tikz().contains("inf"), "{}", plot.tikz());
            assert!(pdf::has_valid_table(&plot.pdf()));
        }
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!([0.0, 0.25, 2.0, 12.34, 5678.9].map(number), ["0", "0.25", "2", "12.3", "5679"]);
    }
}

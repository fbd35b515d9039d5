//! The figure of docs/gymnasium.md: draws the curves that `python -m ferric.gym` writes.
//!
//! `cargo run -p ferric-paper --example learning -- learning.csv gymnasium.svg`

use anyhow::{Context, bail};
use paper::{Panel, Plot, Series, X};

/// A line is `panel,series,x,y`; lines of one series stand together.
fn panels(text: &str) -> anyhow::Result<Vec<Panel>> {
    let mut panels: Vec<(&str, Panel)> = Vec::new();
    for line in text.lines().skip(1).filter(|line| !line.is_empty()) {
        let fields: Vec<&str> = line.split(',').collect();
        let [panel, name, x, y] = fields[..] else { bail!("`{line}` has {} fields: 4 are expected", fields.len()) };
        let number = |text: &str| text.parse::<f64>().with_context(|| format!("`{text}` is no number"));
        let point = (number(x)?, number(y)?);
        if panels.last().is_none_or(|(last, _)| *last != panel) {
            let (x, y_label) = (X::Numbers("round of training".to_owned()), format!("{panel}: mean reward of a step"));
            panels.push((panel, Panel { x, y_label, series: Vec::new(), marks: Vec::new() }));
        }
        let Some((_, Panel { series, .. })) = panels.last_mut() else { continue };
        match series.last_mut().filter(|last| last.name == name) {
            Some(last) => last.points.push(point),
            None => series.push(Series::new(name, vec![point])),
        }
    }
    Ok(panels.into_iter().map(|(_, panel)| panel).collect())
}

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = &arguments[..] else { bail!("usage: learning FILE.csv FILE.svg") };
    let text = std::fs::read_to_string(from).with_context(|| format!("cannot read {from}"))?;
    let title = "Agents that learn in the Gymnasium environments, and the shipped policies".to_owned();
    std::fs::write(to, Plot { title, panels: panels(&text)? }.svg()).with_context(|| format!("cannot write {to}"))
}

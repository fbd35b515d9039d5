//! What the KPM xApp shows: a table that is drawn over itself on a terminal, plain lines elsewhere.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

/// The latest values of every UE, or of the cell, node by node.
#[derive(Debug)]
pub struct Table {
    /// The measurements, in order of their columns.
    columns: Vec<String>,
    rows: BTreeMap<(String, String), Vec<Option<f64>>>,
    terminal: bool,
}

/// Lines of a table that are shown at most: a terminal has only so many.
const LINES: usize = 40;

impl Table {
    pub fn new() -> Self {
        Table { columns: Vec::new(), rows: BTreeMap::new(), terminal: io::stdout().is_terminal() }
    }

    pub fn set(&mut self, node: &str, ue: &str, measurement: &str, value: Option<f64>) {
        let column = self.columns.iter().position(|c| c == measurement).unwrap_or_else(|| {
            self.columns.push(measurement.to_owned());
            self.columns.len() - 1
        });
        let row = self.rows.entry((node.to_owned(), ue.to_owned())).or_default();
        if row.len() <= column {
            row.resize(column + 1, None);
        }
        row[column] = value;
    }

    /// Forgets a node.
    pub fn remove(&mut self, node: &str) {
        self.rows.retain(|(n, _), _| n != node);
    }

    /// Shows what there is.
    pub fn show(&self, status: &str) -> io::Result<()> {
        let mut out = String::new();
        if self.terminal {
            out.push_str("\x1b[H\x1b[J"); // home, and clear what is below
            self.draw(&mut out, status);
        } else {
            self.summarize(&mut out, status);
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(out.as_bytes())?;
        stdout.flush()
    }

    fn draw(&self, out: &mut String, status: &str) {
        let _ = writeln!(out, "{status}\n");
        let _ = write!(out, "{:<18} {:<10}", "node", "UE");
        for column in &self.columns {
            let _ = write!(out, " {:>width$}", column, width = column.len().max(9));
        }
        out.push('\n');
        for ((node, ue), values) in self.rows.iter().take(LINES) {
            let _ = write!(out, "{node:<18} {ue:<10}");
            for (at, column) in self.columns.iter().enumerate() {
                let value = values.get(at).copied().flatten();
                let text = value.map_or("-".to_owned(), |v| format!("{v:.1}"));
                let _ = write!(out, " {text:>width$}", width = column.len().max(9));
            }
            out.push('\n');
        }
        if self.rows.len() > LINES {
            let _ = writeln!(out, "… and {} more", self.rows.len() - LINES);
        }
    }

    /// One line a node: how many UEs, and the mean of each measurement.
    fn summarize(&self, out: &mut String, status: &str) {
        let mut nodes: Vec<&str> = self.rows.keys().map(|(node, _)| node.as_str()).collect();
        nodes.dedup();
        for node in nodes {
            let rows: Vec<_> = self.rows.iter().filter(|((n, _), _)| n == node).map(|(_, values)| values).collect();
            let _ = write!(out, "{status} node={node} ues={}", rows.len());
            for (at, column) in self.columns.iter().enumerate() {
                let values: Vec<f64> = rows.iter().filter_map(|row| row.get(at).copied().flatten()).collect();
                if !values.is_empty() {
                    let mean = values.iter().sum::<f64>() / values.len() as f64;
                    let _ = write!(out, " {column}={mean:.1}");
                }
            }
            out.push('\n');
        }
    }
}

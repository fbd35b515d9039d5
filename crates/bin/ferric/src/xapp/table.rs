//! The output of the KPM xApp: a table that is redrawn on a terminal, plain lines elsewhere.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use e2sm::kpm::dictionary;
use rustix::termios::tcgetwinsize;

/// The latest values of every UE, or of the cell, node by node.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: BTreeMap<(String, String), Vec<Option<f64>>>,
    terminal: bool,
}

/// A measurement.
#[derive(Debug)]
struct Column {
    name: String,
    unit: &'static str,
}

impl Column {
    fn new(name: &str) -> Self {
        Column { name: name.to_owned(), unit: dictionary::find(name).map_or("", |entry| entry.unit) }
    }

    /// The name without its family: `UEThpDl` of `DRB.UEThpDl`.
    fn short(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or(&self.name)
    }

    fn width(&self) -> usize {
        self.short().len().max(self.unit.len()).max(7)
    }
}

impl Table {
    pub fn new() -> Self {
        Table { columns: Vec::new(), rows: BTreeMap::new(), terminal: io::stdout().is_terminal() }
    }

    pub fn set(&mut self, node: &str, ue: &str, measurement: &str, value: Option<f64>) {
        let column = self.columns.iter().position(|c| c.name == measurement).unwrap_or_else(|| {
            self.columns.push(Column::new(measurement));
            self.columns.len() - 1
        });
        let row = self.rows.entry((node.to_owned(), ue.to_owned())).or_default();
        if row.len() <= column {
            row.resize(column + 1, None);
        }
        row[column] = value;
    }

    /// Removes a node's rows.
    pub fn remove(&mut self, node: &str) {
        self.rows.retain(|(n, _), _| n != node);
    }

    /// Prints the table.
    pub fn show(&self, status: &str) -> io::Result<()> {
        let mut out = String::new();
        if self.terminal {
            out.push_str("\x1b[H\x1b[J"); // cursor home, clear to the end
            self.draw(&mut out, status);
        } else {
            self.summarize(&mut out, status);
        }
        let mut stdout = io::stdout().lock();
        if let Err(error) = stdout.write_all(out.as_bytes()).and_then(|()| stdout.flush()) {
            program::end_without_output(&error);
        }
        Ok(())
    }

    /// The part of the table that fits on the terminal.
    fn draw(&self, out: &mut String, status: &str) {
        let (width, height) = terminal_size();
        let name_width = 1 + self.rows.keys().map(|(node, ue)| node.len() + 1 + ue.len()).max().unwrap_or(0);
        let mut used = name_width;
        let fitting = self.columns.iter().take_while(|column| {
            used += 1 + column.width();
            used <= width
        });
        let columns: Vec<&Column> = fitting.collect();
        let _ = writeln!(out, "{status}\n");
        let _ = write!(out, "{:<name_width$}", "node, UE");
        for column in &columns {
            let _ = write!(out, " {:>1$}", column.short(), column.width());
        }
        let _ = write!(out, "\n{:name_width$}", "");
        for column in &columns {
            let _ = write!(out, " {:>1$}", column.unit, column.width());
        }
        out.push('\n');
        // without the lines of the status, the heading, the omissions and the cursor
        let lines = height.saturating_sub(6).max(1);
        for ((node, ue), values) in self.rows.iter().take(lines) {
            let _ = write!(out, "{:<name_width$}", format!("{node} {ue}"));
            for (at, column) in columns.iter().enumerate() {
                let value = values.get(at).copied().flatten().map_or("-".to_owned(), number);
                let _ = write!(out, " {value:>0$}", column.width());
            }
            out.push('\n');
        }
        let (more_rows, more_columns) = (self.rows.len().saturating_sub(lines), self.columns.len() - columns.len());
        if more_rows + more_columns > 0 {
            let _ = writeln!(out, "… {more_rows} more UEs, {more_columns} more measurements: enlarge the window");
        }
    }

    /// One line per node: the number of UEs and the mean of each measurement.
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
                    let _ = write!(out, " {}={}", column.name, number(mean));
                }
            }
            out.push('\n');
        }
    }
}

/// A value with its significant digits.
fn number(value: f64) -> String {
    if value == 0.0 || value.abs() >= 1000.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// Columns and rows of the terminal.
fn terminal_size() -> (usize, usize) {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => (80, 24),
    }
}

//! The output of the KPM xApp: a table that is redrawn on a terminal, plain lines elsewhere.
//!
//! A row is removed when the last reports lack it: its UE has left, or is in another cell.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use e2ap::RicActionId;
use e2sm::kpm::dictionary;
use ferric::e2::SubscriptionId;
use rustix::termios::tcgetwinsize;

/// The number of reports, or of the times between two, after which a row without values is removed.
const MISSING_REPORTS: u32 = 3;
/// The least time after which rows are removed because there are no reports.
const LEAST_SILENCE: Duration = Duration::from_secs(1);

/// The reports of one action of a subscription.
pub type Stream = (SubscriptionId, RicActionId);

/// The latest values of every UE, or of the cell, node by node.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: BTreeMap<(String, String), Row>,
    progress: HashMap<Stream, Progress>,
    terminal: bool,
}

/// The reports of a stream so far.
#[derive(Clone, Copy, Debug)]
struct Progress {
    count: u64,
    latest: Instant,
    /// The time between the latest two.
    interval: Duration,
}

/// The values of a UE, or of a cell.
#[derive(Debug, Default)]
struct Row {
    values: Vec<Option<f64>>,
    /// The latest report with it, by stream: a node may have several.
    reported: Vec<(Stream, u64)>,
    /// Further names of the UE.
    names: String,
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
        let terminal = io::stdout().is_terminal();
        Table { columns: Vec::new(), rows: BTreeMap::new(), progress: HashMap::new(), terminal }
    }

    /// Takes over a report: for each value its UE and its measurement. Removes the rows that the last reports of the stream lack.
    pub fn report(
        &mut self,
        now: Instant,
        stream: Stream,
        node: &str,
        values: impl Iterator<Item = (String, String, Option<f64>)>,
    ) {
        let first = Progress { count: 0, latest: now, interval: Duration::ZERO };
        let progress = self.progress.entry(stream).or_insert(first);
        progress.count += 1;
        progress.interval = now.saturating_duration_since(progress.latest);
        progress.latest = now;
        let count = progress.count;
        values.for_each(|(ue, measurement, value)| self.set((stream, count), node, &ue, &measurement, value));
        let is_missing = |latest: u64| count - latest >= MISSING_REPORTS.into();
        self.forget(|of, latest| of == stream && is_missing(latest));
    }

    /// Removes the rows of streams without reports: a node without UEs sends none.
    pub fn expire(&mut self, now: Instant) {
        let is_silent = |progress: &Progress| {
            let most = (progress.interval * MISSING_REPORTS).max(LEAST_SILENCE);
            progress.count > 1 && now.saturating_duration_since(progress.latest) > most
        };
        let silent: Vec<Stream> =
            self.progress.iter().filter(|(_, progress)| is_silent(progress)).map(|(stream, _)| *stream).collect();
        if !silent.is_empty() {
            self.forget(|of, _| silent.contains(&of));
        }
    }

    /// Forgets which streams report a row, and removes rows that none reports.
    fn forget(&mut self, is_over: impl Fn(Stream, u64) -> bool) {
        self.rows.retain(|_, row| {
            row.reported.retain(|(of, latest)| !is_over(*of, *latest));
            !row.reported.is_empty()
        });
    }

    fn set(&mut self, (stream, report): (Stream, u64), node: &str, ue: &str, measurement: &str, value: Option<f64>) {
        let column = self.columns.iter().position(|c| c.name == measurement).unwrap_or_else(|| {
            self.columns.push(Column::new(measurement));
            self.columns.len() - 1
        });
        let row = self.rows.entry((node.to_owned(), ue.to_owned())).or_default();
        match row.reported.iter_mut().find(|(of, _)| *of == stream) {
            Some((_, latest)) => *latest = report,
            None => row.reported.push((stream, report)),
        }
        if row.values.len() <= column {
            row.values.resize(column + 1, None);
        }
        row.values[column] = value;
    }

    /// Sets what is shown beside the name of a UE.
    pub fn set_names(&mut self, node: &str, ue: &str, names: String) {
        if let Some(row) = self.rows.get_mut(&(node.to_owned(), ue.to_owned())) {
            row.names = names;
        }
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
        let name = |((node, ue), row): (&(String, String), &Row)| match &*row.names {
            "" => format!("{node} {ue}"),
            names => format!("{node} {ue} {names}"),
        };
        let name_width = 1 + self.rows.iter().map(|row| name(row).len()).max().unwrap_or(0);
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
        for (key, row) in self.rows.iter().take(lines) {
            let _ = write!(out, "{:<name_width$}", name((key, row)));
            for (at, column) in columns.iter().enumerate() {
                let value = row.values.get(at).copied().flatten().map_or("-".to_owned(), number);
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
            let rows: Vec<_> = self.rows.iter().filter(|((n, _), _)| n == node).map(|(_, row)| &row.values).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream of reports, one a second.
    struct Reports(Instant);

    impl Reports {
        fn add(&mut self, table: &mut Table, node: &str, ues: &[&str]) {
            self.0 += Duration::from_millis(500);
            let stream = (SubscriptionId(if node == "a" { 1 } else { 2 }), RicActionId(1));
            let value = |ue: &&str| ((*ue).to_owned(), "CQI".to_owned(), Some(7.0));
            table.report(self.0, stream, node, ues.iter().map(value));
        }
    }

    fn rows(table: &Table) -> Vec<(&str, &str)> {
        table.rows.keys().map(|(node, ue)| (&**node, &**ue)).collect()
    }

    /// A UE that is handed over stands in both cells for two reports at most.
    #[test]
    fn row_of_a_ue_that_has_left_is_removed() {
        let (mut table, mut reports) = (Table::new(), Reports(Instant::now()));
        reports.add(&mut table, "a", &["1", "2"]);
        reports.add(&mut table, "b", &["3"]);
        // UE 2 is handed over
        for _ in 0..2 {
            reports.add(&mut table, "a", &["1"]);
            reports.add(&mut table, "b", &["2", "3"]);
        }
        assert_eq!(rows(&table), [("a", "1"), ("a", "2"), ("b", "2"), ("b", "3")], "it may be missing by chance");
        reports.add(&mut table, "a", &["1"]);
        assert_eq!(rows(&table), [("a", "1"), ("b", "2"), ("b", "3")]);
        table.remove("a");
        assert_eq!(rows(&table), [("b", "2"), ("b", "3")]);
    }

    /// A node sends no report on UEs while it has none.
    #[test]
    fn rows_of_a_node_without_reports_expire() {
        let (mut table, mut reports) = (Table::new(), Reports(Instant::now()));
        for _ in 0..5 {
            reports.add(&mut table, "a", &["1"]);
            reports.add(&mut table, "b", &["2"]);
        }
        // node b has reported every second, and does not any more
        let last = reports.0;
        for second in 1..=4 {
            reports.add(&mut table, "a", &["1"]);
            reports.0 += Duration::from_millis(500);
            table.expire(reports.0);
            let expected = if second <= 3 { &[("a", "1"), ("b", "2")][..] } else { &[("a", "1")] };
            assert_eq!(rows(&table), expected, "{:?} after the last", reports.0 - last);
        }
    }

    /// Of several subscriptions to a node each has some measurements of a row.
    #[test]
    fn row_of_two_streams_stays_while_one_reports_it() {
        let (mut table, now) = (Table::new(), Instant::now());
        let value = |name: &str| [("1".to_owned(), name.to_owned(), Some(7.0))].into_iter();
        let stream = |action| (SubscriptionId(1), RicActionId(action));
        table.report(now, stream(1), "a", value("CQI"));
        (0..5).for_each(|_| table.report(now, stream(2), "a", value("RSRP")));
        (0..5).for_each(|_| table.report(now, stream(1), "a", std::iter::empty()));
        assert_eq!(rows(&table), [("a", "1")]);
        // several actions of a subscription report a cell each
        for round in 0..5 {
            for cell in ["x", "y", "z", "w"] {
                let value = [(cell.to_owned(), "CQI".to_owned(), Some(f64::from(round)))].into_iter();
                table.report(now, stream(cell.as_bytes()[0]), "b", value);
            }
        }
        assert_eq!(table.rows.len(), 5);
    }
}

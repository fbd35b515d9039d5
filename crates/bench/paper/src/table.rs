//! The values of a figure: a table that is printed, written as CSV and JSON, and plotted.

use std::fmt::{self, Write};

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use plot::{Series, number};

/// A value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A text.
    Text(String),
    /// A number.
    Number(f64),
    /// A missing value.
    Nothing,
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        if value.is_finite() { Cell::Number(value) } else { Cell::Nothing }
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Cell::Nothing, Cell::from)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Cell::Text(value.to_owned())
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Text(text) => f.pad(text),
            Cell::Number(value) => f.pad(&number(*value)),
            Cell::Nothing => f.pad("-"),
        }
    }
}

/// Named columns and rows. Names end with the unit: `cpu_percent`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows, each with one cell per column.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(super) fn new<C: Into<String>>(columns: impl IntoIterator<Item = C>) -> Self {
        Table { columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let row: Vec<_> = cells.into_iter().collect();
        assert_eq!(row.len(), self.columns.len(), "a cell for each column");
        self.rows.push(row);
    }

    fn index(&self, column: &str) -> usize {
        let found = self.columns.iter().position(|name| name == column);
        found.unwrap_or_else(|| panic!("the table has no column {column}"))
    }

    /// The number in a row's column, if there is one.
    pub(super) fn value(&self, row: usize, column: &str) -> Option<f64> {
        match self.rows.get(row)?.get(self.index(column))? {
            Cell::Number(value) => Some(*value),
            _ => None,
        }
    }

    /// The column `y` over the column `x`, or over the row numbers.
    pub(super) fn series(&self, name: &str, x: Option<&str>, y: &str) -> Series {
        let point = |row| Some((x.map_or(Some(row as f64), |x| self.value(row, x))?, self.value(row, y)?));
        Series::new(name, (0..self.rows.len()).filter_map(point).collect())
    }

    /// Comma-separated values (RFC 4180).
    #[must_use]
    pub fn csv(&self) -> String {
        let quoted = |text: &str| match text.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.to_owned(),
        };
        let cell = |cell: &Cell| match cell {
            Cell::Text(text) => quoted(text),
            Cell::Number(value) => value.to_string(),
            Cell::Nothing => String::new(),
        };
        let header: Vec<_> = self.columns.iter().map(|name| quoted(name)).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>());
        std::iter::once(header).chain(rows).fold(String::new(), |mut out, line| {
            out.push_str(&line.join(","));
            out.push('\n');
            out
        })
    }
}

/// Formats columns as wide as their cells, texts to the left, numbers to the right.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = |at: usize| {
            let cells = self.rows.iter().map(|row| row[at].to_string().chars().count());
            let width = cells.chain([self.columns[at].chars().count()]).max().unwrap_or(0);
            (width, self.rows.iter().any(|row| matches!(row[at], Cell::Text(_))))
        };
        let layout: Vec<_> = (0..self.columns.len()).map(layout).collect();
        let mut line = |cells: &mut dyn Iterator<Item = String>| {
            let mut out = String::new();
            for (cell, (width, is_text)) in cells.zip(&layout) {
                if *is_text {
                    write!(out, "  {cell:width$}")?;
                } else {
                    write!(out, "  {cell:>width$}")?;
                }
            }
            writeln!(f, "{}", out.trim_end())
        };
        line(&mut self.columns.iter().cloned())?;
        self.rows.iter().try_for_each(|row| line(&mut row.iter().map(ToString::to_string)))
    }
}

struct Row<'a>(&'a [String], &'a [Cell]);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, cell) in self.0.iter().zip(self.1) {
            match cell {
                Cell::Text(text) => map.serialize_entry(name, text)?,
                Cell::Number(value) => map.serialize_entry(name, value)?,
                Cell::Nothing => map.serialize_entry(name, &())?,
            }
        }
        map.end()
    }
}

/// Serializes a list with one object per row.
impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.rows.len()))?;
        for row in &self.rows {
            list.serialize_element(&Row(&self.columns, row))?;
        }
        list.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_formatted() {
        let mut table = Table::new(["agents", "cpu_percent", "who"]);
        table.row([2.0.into(), 12.5.into(), "a \"b\", c".into()]);
        table.row([18.0.into(), None.into(), Cell::from(f64::NAN)]);
        assert_eq!(table.csv(), "agents,cpu_percent,who\n2,12.5,\"a \"\"b\"\", c\"\n18,,\n");
        assert_eq!(
            serde_json::to_value(&table).unwrap(),
            serde_json::json!([
                { "agents": 2.0, "cpu_percent": 12.5, "who": "a \"b\", c" },
                { "agents": 18.0, "cpu_percent": null, "who": null },
            ])
        );
        let text = table.to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines,
            ["  agents  cpu_percent  who", "       2         12.5  a \"b\", c", "      18            -  -"]
        );
        assert_eq!(table.series("s", Some("agents"), "cpu_percent").points, [(2.0, 12.5)]);
        assert_eq!(table.series("s", None, "agents").points, [(0.0, 2.0), (1.0, 18.0)]);
    }
}

//! Aligned tables: with a bold heading and cut to the width on a terminal, as they are elsewhere.

use std::io;

use rustix::termios::tcgetwinsize;

/// Spaces between two columns.
const GAP: usize = 2;

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    name: &'static str,
    is_number: bool,
}

impl Column {
    /// A column that is aligned at its left.
    pub const fn text(name: &'static str) -> Self {
        Column { name, is_number: false }
    }

    /// A column that is aligned at its right.
    pub const fn number(name: &'static str) -> Self {
        Column { name, is_number: true }
    }
}

/// The lines of a table. Control characters of names are escaped; an empty cell is a `-`, so that each line has all columns.
pub fn draw(columns: &[Column], rows: &[Vec<String>], is_terminal: bool) -> String {
    let width = is_terminal.then(terminal_width);
    lines(columns, rows, width)
}

/// The table; for a terminal of that many characters if it is given.
fn lines(columns: &[Column], rows: &[Vec<String>], width: Option<usize>) -> String {
    let cell = |text: &String| if text.is_empty() { "-".to_owned() } else { program::escaped(text).to_string() };
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    let widths: Vec<usize> = (0..columns.len())
        .map(|at| rows.iter().map(|row| row[at].chars().count()).chain([columns[at].name.len()]).max().unwrap_or(0))
        .collect();
    let line = |cells: &[&str]| {
        let mut line = String::new();
        for ((cell, column), width) in cells.iter().zip(columns).zip(&widths) {
            let (padding, gap) = (width - cell.chars().count(), if line.is_empty() { 0 } else { GAP });
            let (before, after) = if column.is_number { (padding, 0) } else { (0, padding) };
            line.extend(std::iter::repeat_n(' ', gap + before));
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', after));
        }
        let line = line.trim_end();
        line.chars().take(width.unwrap_or(usize::MAX)).collect::<String>()
    };
    let heading = line(&columns.iter().map(|column| column.name).collect::<Vec<_>>());
    let mut text = if width.is_some() { format!("\x1b[1m{heading}\x1b[0m\n") } else { heading + "\n" };
    for row in &rows {
        text.push_str(&line(&row.iter().map(String::as_str).collect::<Vec<_>>()));
        text.push('\n');
    }
    text
}

fn terminal_width() -> usize {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 => size.ws_col.into(),
        _ => 80,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[Column::text("NAME"), Column::number("N"), Column::text("LAST")];

    fn rows() -> Vec<Vec<String>> {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        vec![row(["a", "7", "x"]), row(["größer", "123", ""])]
    }

    #[test]
    fn columns_are_aligned_and_empty_cells_are_marked() {
        assert_eq!(lines(COLUMNS, &rows(), None), "NAME      N  LAST\na         7  x\ngrößer  123  -\n");
        assert_eq!(lines(COLUMNS, &[], None), "NAME  N  LAST\n");
    }

    #[test]
    fn terminal_has_a_bold_heading_and_lines_of_its_width() {
        assert_eq!(lines(COLUMNS, &rows(), Some(11)), "\x1b[1mNAME      N\x1b[0m\na         7\ngrößer  123\n");
    }

    #[test]
    fn names_cannot_control_a_terminal() {
        let row = vec!["\x1b[2J\n".to_owned(), "1".to_owned(), String::new()];
        let text = lines(COLUMNS, &[row], None);
        assert!(!text.contains('\x1b') && text.lines().count() == 2, "{text:?}");
    }
}

//! Checks the list of measurements in the documents, which is written from the table.
//!
//! `FERRIC_BLESS=1 cargo test -p ferric-ran --lib measurements_in_documents` writes it.

use std::fmt::Write as _;
use std::path::Path;

use e2sm::kpm::dictionary::{self, Scope};

use super::measurements::{Class, MEASUREMENTS};

const START: &str = "<!-- measurements: written by a test of the crate ran -->\n";
const END: &str = "<!-- end of measurements -->\n";

fn table() -> String {
    let mut table = String::from("| measurement | node | of | labels | unit | source | definition |\n");
    table.push_str("|---|---|---|---|---|---|---|\n");
    for measurement in MEASUREMENTS {
        let node = match measurement.class {
            Class::CellCu => "CU-CP",
            Class::CuUp => "CU-UP",
            Class::CellDu => "DU",
        };
        let scope = match measurement.scope {
            Scope::Cell => "cell",
            Scope::Ue => "UE",
            Scope::CellAndUe => "cell, UE",
        };
        let labels = if measurement.is_divisible { "yes" } else { "" };
        let unit = dictionary::find(measurement.name).map_or("", |entry| entry.unit);
        let (name, source, definition) = (measurement.name, measurement.source, measurement.definition);
        let _ = writeln!(table, "| `{name}` | {node} | {scope} | {labels} | {unit} | {source} | {definition} |");
    }
    table
}

/// Replaces the text between two marks, which stay.
fn replaced(text: &str, start: &str, end: &str, content: &str) -> String {
    let (head, rest) = text.split_once(start).unwrap_or_else(|| panic!("no `{start}`"));
    let (_, tail) = rest.split_once(end).unwrap_or_else(|| panic!("no `{end}` after `{start}`"));
    format!("{head}{start}{content}{end}{tail}")
}

#[test]
fn measurements_in_documents_are_those_of_the_model() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let count = MEASUREMENTS.len().to_string();
    let contents = [
        ("docs/scenarios.md", START, END, table()),
        ("README.md", "report styles 1 to 5, distributions, conditions; ", " measurements of the model", count),
    ];
    for (file, start, end, content) in contents {
        let path = root.join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let real = replaced(&text, start, end, &content);
        if std::env::var_os("FERRIC_BLESS").is_some() {
            std::fs::write(&path, real).unwrap();
        } else {
            let command = "FERRIC_BLESS=1 cargo test -p ferric-ran --lib measurements_in_documents";
            assert!(text == real, "{file} differs from the table of measurements; `{command}` updates it");
        }
    }
}

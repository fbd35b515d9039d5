//! Records as text: CSV (RFC 4180), JSON lines, InfluxDB line protocol.

use std::fmt::Write;
use std::sync::Arc;

use ferric::xapp::Batch;
use serde_json::Value;

use crate::arguments::Format;
use crate::sink::{SUBJECT_COLUMNS, Subject, number};

/// The measurement of InfluxDB that the records are points of.
const INFLUX_MEASUREMENT: &str = "kpm";

/// Writes records in one of the formats.
#[derive(Clone, Debug)]
pub struct Encoder {
    format: Format,
    measurements: Arc<[String]>,
}

impl Encoder {
    /// An encoder for records of these measurements. A format that is no text is written as CSV.
    pub fn new(format: Format, measurements: &[String]) -> Self {
        Encoder { format, measurements: measurements.into() }
    }

    /// What stands before the records of a file.
    pub fn header(&self) -> String {
        if matches!(self.format, Format::Jsonl | Format::Influx) {
            return String::new();
        }
        let mut text = String::new();
        let columns = SUBJECT_COLUMNS.into_iter().chain(self.measurements.iter().map(String::as_str));
        for (at, column) in columns.enumerate() {
            if at > 0 {
                text.push(',');
            }
            csv_field(column, &mut text);
        }
        text + "\r\n"
    }

    /// Writes the first records of a batch.
    pub fn write_rows(&self, batch: &Batch, rows: usize, text: &mut String) {
        for row in 0..rows {
            self.write(batch, row, text);
        }
    }

    /// Writes a record with its end of line. Returns `false` if there is nothing to write: a point of InfluxDB has at least one
    /// value.
    pub fn write(&self, batch: &Batch, row: usize, text: &mut String) -> bool {
        let subject = Subject::of(batch, row);
        let time_ns = batch.times_ns.get(row).copied().unwrap_or(0);
        let numbers = (0..self.measurements.len()).map(|column| number(batch, column, row));
        match self.format {
            Format::Jsonl => json_line(time_ns, &subject, self.measurements.iter().zip(numbers), text),
            Format::Influx => return influx_line(time_ns, &subject, self.measurements.iter().zip(numbers), text),
            _ => csv_line(time_ns, &subject, numbers, text),
        }
        true
    }
}

fn csv_line(time_ns: i64, subject: &Subject, numbers: impl Iterator<Item = Option<f64>>, text: &mut String) {
    // a string has room, here and below
    let _ = write!(text, "{time_ns}");
    for name in [Some(&subject.node), subject.cell.as_ref(), subject.ue.as_ref(), subject.slice.as_ref()] {
        text.push(',');
        csv_field(name.map_or("", String::as_str), text);
    }
    for number in numbers {
        text.push(',');
        if let Some(number) = number {
            let _ = write!(text, "{number}");
        }
    }
    text.push_str("\r\n");
}

/// RFC 4180 2.5 to 2.7: what has commas, quotes or line breaks is quoted.
fn csv_field(field: &str, text: &mut String) {
    if field.contains([',', '"', '\r', '\n']) {
        text.push('"');
        text.push_str(&field.replace('"', "\"\""));
        text.push('"');
    } else {
        text.push_str(field);
    }
}

fn json_line<'m>(
    time_ns: i64,
    subject: &Subject,
    values: impl Iterator<Item = (&'m String, Option<f64>)>,
    text: &mut String,
) {
    let Subject { node, cell, ue, slice } = subject;
    let _ = write!(text, "{{\"time_ns\":{time_ns},\"node\":{}", Value::from(node.as_str()));
    for (name, value) in [("cell", cell), ("ue", ue), ("slice", slice)] {
        if let Some(value) = value {
            let _ = write!(text, ",\"{name}\":{}", Value::from(value.as_str()));
        }
    }
    for (name, value) in values {
        let _ = match value {
            Some(value) => write!(text, ",{}:{value}", Value::from(name.as_str())),
            None => write!(text, ",{}:null", Value::from(name.as_str())),
        };
    }
    text.push_str("}\n");
}

/// A point: tags in the order of their keys, which saves the server sorting them; every value is a float, since a field of
/// InfluxDB keeps the type of its first value.
fn influx_line<'m>(
    time_ns: i64,
    subject: &Subject,
    values: impl Iterator<Item = (&'m String, Option<f64>)>,
    text: &mut String,
) -> bool {
    let begin = text.len();
    text.push_str(INFLUX_MEASUREMENT);
    let Subject { node, cell, ue, slice } = subject;
    for (key, value) in [("cell", cell.as_ref()), ("node", Some(node)), ("slice", slice.as_ref()), ("ue", ue.as_ref())]
    {
        // a tag without a value is left out
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let _ = write!(text, ",{key}=");
            influx_key(value, text);
        }
    }
    let mut separator = ' ';
    for (name, value) in values {
        if let Some(value) = value {
            text.push(separator);
            influx_key(name, text);
            let _ = write!(text, "={value}");
            separator = ',';
        }
    }
    if separator == ' ' {
        text.truncate(begin);
        return false;
    }
    let _ = writeln!(text, " {time_ns}");
    true
}

/// Escapes a tag's value, or the key of a tag or field: commas, equals signs and spaces by a backslash. The protocol has no
/// escape for line breaks, nor for a backslash before one of those or at the end: they are replaced.
fn influx_key(name: &str, text: &mut String) {
    for character in name.chars() {
        match character {
            ',' | '=' | ' ' => text.extend(['\\', character]),
            '\\' => text.push('/'),
            character if character.is_control() => text.push('_'),
            character => text.push(character),
        }
    }
}

#[cfg(test)]
pub mod tests {
    use ferric::xapp::kpm::{Column, Dictionary, kind};

    use super::*;

    /// Two records: a UE with an integer and no value; a node with a real number and one that is not finite.
    pub fn batch() -> Batch {
        let dictionary = Dictionary {
            nodes: vec!["gnb-00101-e00".into(), "a, \"b\"=c\\".into()],
            cells: vec!["003804001".parse().unwrap()],
            ues: vec!["amf:17".parse().unwrap()],
            slices: vec!["1-00000a".parse().unwrap()],
        };
        let none = ferric::xapp::kpm::NONE;
        Batch {
            times_ns: vec![1_700_000_000_123_456_789, 1_700_000_001_000_000_000],
            nodes: vec![0, 1],
            cells: vec![0, none],
            ues: vec![0, none],
            slices: vec![0, none],
            moves: Vec::new(),
            columns: vec![
                Column { values: vec![42.0, 0.5], kinds: vec![kind::INTEGER, kind::REAL] },
                Column { values: vec![0.0, f64::NAN], kinds: vec![kind::NO_VALUE, kind::REAL] },
            ],
            measurements: names().into(),
            dictionary: Arc::new(dictionary),
        }
    }

    pub fn names() -> Vec<String> {
        vec!["DRB.UEThpDl".into(), "a=b,c".into()]
    }

    fn encode(format: Format) -> String {
        let encoder = Encoder::new(format, &names());
        let mut text = encoder.header();
        for row in 0..2 {
            assert!(encoder.write(&batch(), row, &mut text));
        }
        text
    }

    #[test]
    fn csv_has_a_header_and_quotes_what_needs_it() {
        assert_eq!(
            encode(Format::Csv),
            "time_ns,node,cell,ue,slice,DRB.UEThpDl,\"a=b,c\"\r\n\
             1700000000123456789,gnb-00101-e00,003804001,amf:17,1-00000a,42,\r\n\
             1700000001000000000,\"a, \"\"b\"\"=c\\\",,,,0.5,\r\n"
        );
    }

    #[test]
    fn json_lines_have_null_where_there_is_no_value() {
        let text = encode(Format::Jsonl);
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(
            lines,
            [
                serde_json::json!({
                    "time_ns": 1_700_000_000_123_456_789_i64, "node": "gnb-00101-e00", "cell": "003804001", "ue": "amf:17",
                    "slice": "1-00000a", "DRB.UEThpDl": 42, "a=b,c": null,
                }),
                serde_json::json!({
                    "time_ns": 1_700_000_001_000_000_000_i64, "node": "a, \"b\"=c\\", "DRB.UEThpDl": 0.5, "a=b,c": null,
                }),
            ]
        );
    }

    #[test]
    fn line_protocol_escapes_keys_and_values_and_omits_what_is_missing() {
        assert_eq!(
            encode(Format::Influx),
            "kpm,cell=003804001,node=gnb-00101-e00,slice=1-00000a,ue=amf:17 DRB.UEThpDl=42 1700000000123456789\n\
             kpm,node=a\\,\\ \"b\"\\=c/ DRB.UEThpDl=0.5 1700000001000000000\n"
        );
        let mut empty = batch();
        empty.columns[0].kinds[0] = kind::NOT_SATISFIED;
        let mut text = "before".to_owned();
        assert!(!Encoder::new(Format::Influx, &names()).write(&empty, 0, &mut text));
        assert_eq!(text, "before");
    }

    /// A point as its grammar reads it: measurement, tags, fields, time.
    type Point = (String, Vec<(String, String)>, Vec<(String, f64)>, i64);

    /// Reads a point by the grammar of the line protocol, which knows nothing of the writer.
    fn read_point(line: &str) -> Option<Point> {
        let mut pieces = split(line, ' ');
        let (time, fields, head) = (pieces.pop()?, pieces.pop()?, pieces.pop()?);
        let mut tags = split(&head, ',');
        let measurement = tags.remove(0);
        let pair = |text: &String| {
            let parts = split(text, '=');
            let [key, value] = parts.as_slice() else { return None };
            let [key, value] =
                [key, value].map(|text| text.replace("\\,", ",").replace("\\ ", " ").replace("\\=", "="));
            (!key.is_empty() && !value.is_empty()).then_some((key, value))
        };
        let tags = tags.iter().map(pair).collect::<Option<Vec<_>>>()?;
        let fields = split(&fields, ',').iter().map(pair).collect::<Option<Vec<_>>>()?;
        let fields =
            fields.into_iter().map(|(key, value)| Some((key, value.parse().ok()?))).collect::<Option<Vec<_>>>()?;
        (pieces.is_empty() && !measurement.is_empty() && !fields.is_empty()).then_some((
            measurement,
            tags,
            fields,
            time.parse().ok()?,
        ))
    }

    /// Splits at what no backslash precedes.
    fn split(text: &str, separator: char) -> Vec<String> {
        let mut pieces = vec![String::new()];
        let mut is_escaped = false;
        for character in text.chars() {
            if character == separator && !is_escaped {
                pieces.push(String::new());
            } else if let Some(last) = pieces.last_mut() {
                last.push(character);
            }
            is_escaped = character == '\\' && !is_escaped;
        }
        pieces
    }

    #[test]
    fn every_line_follows_the_grammar_of_the_line_protocol_whatever_the_names() {
        let awkward = ["a b", "a,b", "a=b", "a\\", "\\,", "a\nb", "ü=\\ ,", "\\\\ \\", "\"", "#a", "a\r", "\u{7f}"];
        for name in awkward {
            let mut batch = batch();
            batch.dictionary = Arc::new(Dictionary { nodes: vec![name.into()], ..(*batch.dictionary).clone() });
            let names = vec![name.to_owned(), "x".to_owned()];
            let mut text = String::new();
            assert!(Encoder::new(Format::Influx, &names).write(&batch, 0, &mut text));
            let line = text.strip_suffix('\n').unwrap();
            assert!(!line.contains('\n'), "{line:?}");
            let shown: String = name
                .chars()
                .map(|c| {
                    if c == '\\' {
                        '/'
                    } else if c.is_control() {
                        '_'
                    } else {
                        c
                    }
                })
                .collect();
            let tags = [("cell", "003804001"), ("node", &shown), ("slice", "1-00000a"), ("ue", "amf:17")];
            let tags = tags.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
            let point = ("kpm".to_owned(), tags, vec![(shown, 42.0)], 1_700_000_000_123_456_789);
            assert_eq!(read_point(line), Some(point), "{line:?}");
        }
    }
}

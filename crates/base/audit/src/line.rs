//! One line of the log: how it is written, and what is checked of it.

use serde_json::{Map, Value};

use crate::digest::{Digest, digest};

/// The longest line, in octets without its end.
pub(crate) const MAX_LINE: usize = 16 * 1024;
/// What stands before the hash of a line.
const HASH: &str = ",\"hash\":\"";

/// Returns a line without its end, and its hash. A record that is too long for a line loses its fields, and says so.
pub(crate) fn write(
    seq: u64,
    time: &str,
    event: &str,
    fields: &[(String, Value)],
    previous: Digest,
) -> (Vec<u8>, Digest) {
    let text = write_fields(seq, time, event, fields, previous);
    let text = if text.len() > MAX_LINE - 128 {
        let omitted = [("omitted_octets".to_owned(), Value::from(text.len()))];
        write_fields(seq, time, event, &omitted, previous)
    } else {
        text
    };
    let hash = digest(text.as_bytes());
    (format!("{text}{HASH}{hash}\"}}").into_bytes(), hash)
}

/// The text of a line before its hash.
fn write_fields(seq: u64, time: &str, event: &str, fields: &[(String, Value)], previous: Digest) -> String {
    let mut object = Map::new();
    object.insert("seq".to_owned(), seq.into());
    object.insert("time".to_owned(), time.into());
    object.insert("event".to_owned(), event.into());
    object.extend(fields.iter().cloned());
    object.insert("previous".to_owned(), previous.to_string().into());
    let mut text = Value::Object(object).to_string();
    text.pop(); // the brace at its end
    text
}

/// What a line says of its place in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub seq: u64,
    pub previous: Digest,
    pub hash: Digest,
}

/// Why a line is not what the log has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineFault {
    NotARecord,
    WrongHash,
}

/// Reads a line without its end, and checks its own hash.
pub(crate) fn read(line: &[u8]) -> Result<Place, LineFault> {
    let text = std::str::from_utf8(line).map_err(|_| LineFault::NotARecord)?;
    let (content, hash) = text.rsplit_once(HASH).ok_or(LineFault::NotARecord)?;
    let hash: Digest = hash.strip_suffix("\"}").and_then(|hash| hash.parse().ok()).ok_or(LineFault::NotARecord)?;
    if digest(content.as_bytes()) != hash {
        return Err(LineFault::WrongHash);
    }
    let object: Value = serde_json::from_str(text).map_err(|_| LineFault::NotARecord)?;
    let seq = object.get("seq").and_then(Value::as_u64).ok_or(LineFault::NotARecord)?;
    let previous = object.get("previous").and_then(Value::as_str).and_then(|text| text.parse().ok());
    Ok(Place { seq, previous: previous.ok_or(LineFault::NotARecord)?, hash })
}

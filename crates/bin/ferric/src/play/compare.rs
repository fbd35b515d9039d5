//! The differences between two messages.

use e2ap::Version;
use per::Gather;
use serde_json::Value;

use per::json;

/// The most differences that are printed per message.
const MAX_DIFFERENCES: usize = 10;

/// The name of a message.
pub fn name(pdu: &[u8], version: Version) -> String {
    let gather = Gather::new();
    match e2ap::decode(pdu, version, &gather) {
        Ok(decoded) => decoded.pdu.name().to_owned(),
        Err(_) => format!("{} octets that are not E2AP v{version}", pdu.len()),
    }
}

/// The differences between a recorded and a received message, one line each.
pub fn differences(recorded: &[u8], now: &[u8], version: Version) -> Vec<String> {
    if recorded == now {
        return Vec::new();
    }
    let mut found = Vec::new();
    if let (Some(recorded), Some(now)) = (value(recorded, version), value(now, version)) {
        differ("", &recorded, &now, &mut found);
    }
    if found.is_empty() {
        // undecodable, or another encoding of the same value
        let at = recorded.iter().zip(now).take_while(|(a, b)| a == b).count();
        let (before, after) = (recorded.len(), now.len());
        found.push(format!("differs from octet {at} on ({before} octets recorded, {after} now)"));
    }
    if found.len() > MAX_DIFFERENCES {
        let more = found.len() - MAX_DIFFERENCES;
        found.truncate(MAX_DIFFERENCES);
        found.push(format!("and {more} more"));
    }
    found
}

fn value(pdu: &[u8], version: Version) -> Option<Value> {
    let gather = Gather::new();
    e2ap::decode(pdu, version, &gather).ok().map(|decoded| json::of(&decoded.pdu))
}

fn differ(path: &str, recorded: &Value, now: &Value, found: &mut Vec<String>) {
    match (recorded, now) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match after.get(key) {
                    Some(now) => differ(&path, value, now, found),
                    None => found.push(format!("{path}: {} recorded, now absent", short(value))),
                }
            }
            for (key, value) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
                found.push(format!("{path}.{key}: absent in the recording, now {}", short(value)));
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (at, (before, after)) in before.iter().zip(after).enumerate() {
                differ(&format!("{path}[{at}]"), before, after, found);
            }
        }
        (before, after) if before != after => {
            found.push(format!("{path}: {} recorded, now {}", short(before), short(after)));
        }
        _ => {}
    }
}

/// A value, shortened to one line.
fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(60).chain("…".chars()).collect() }
}

//! The content of subscriptions and controls on the command line.

use conform::{ControlContent, SubscriptionContent};

/// Parses `FUNCTION:TRIGGER` or `FUNCTION:TRIGGER:ACTION`.
pub fn subscription(text: &str) -> Result<SubscriptionContent, String> {
    let mut parts = text.split(':');
    let function = function(parts.next())?;
    let event_trigger = octets(parts.next().ok_or("no event trigger: FUNCTION:TRIGGER or FUNCTION:TRIGGER:ACTION")?)?;
    let action_definition = parts.next().map(octets).transpose()?;
    match parts.next() {
        None => Ok(SubscriptionContent { function, event_trigger, action_definition }),
        Some(_) => Err("more than three parts".to_owned()),
    }
}

/// Parses `FUNCTION:HEADER:MESSAGE`.
pub fn control(text: &str) -> Result<ControlContent, String> {
    let parts: Vec<_> = text.split(':').collect();
    let [id, header, message] = parts[..] else { return Err("not three parts: FUNCTION:HEADER:MESSAGE".to_owned()) };
    Ok(ControlContent { function: function(Some(id))?, header: octets(header)?, message: octets(message)? })
}

fn function(text: Option<&str>) -> Result<u16, String> {
    let id = text.and_then(|text| text.parse().ok()).filter(|id| *id <= 4095);
    id.ok_or_else(|| "the RAN function is not a number from 0 to 4095".to_owned())
}

fn octets(text: &str) -> Result<Vec<u8>, String> {
    let digits = text.as_bytes();
    let pair = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let is_hex = digits.len().is_multiple_of(2) && digits.iter().all(u8::is_ascii_hexdigit);
    let octets: Option<Vec<_>> = if is_hex { digits.chunks(2).map(pair).collect() } else { None };
    octets.ok_or_else(|| format!("`{text}` is not an even number of hexadecimal digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read() {
        let read = subscription("2:00ff").unwrap();
        assert_eq!((read.function, read.event_trigger, read.action_definition), (2, vec![0, 255], None));
        assert_eq!(subscription("2:00:0102").unwrap().action_definition, Some(vec![1, 2]));
        let read = control("3::ab").unwrap();
        assert_eq!((read.function, read.header, read.message), (3, vec![], vec![0xab]));
        for bad in ["", "2", "4096:00", "x:00", "2:0", "2:0g", "2:+1", "2:00:01:02", "2:é0"] {
            assert!(subscription(bad).is_err(), "{bad}");
        }
        for bad in ["", "3:00", "3:00:00:00", "3:0:00"] {
            assert!(control(bad).is_err(), "{bad}");
        }
    }
}

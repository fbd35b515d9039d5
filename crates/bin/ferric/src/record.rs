//! `--record`: messages in a file for Wireshark and `ferric play`.

use std::path::PathBuf;

use anyhow::Context;
use ferric::record::{Recorder, RecorderConfig};

/// The heading of these options in `--help`.
pub const HEADING: &str = "Recording";

/// Options of all commands that record their links.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RecordArgs {
    /// Record all messages to a pcapng file (overwritten) for Wireshark, `ferric decode` and `ferric play`.
    #[arg(long, global = true, help_heading = HEADING, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Size limit of the recording in octets, with suffix K, M or G; at the limit it is renamed to FILE.1 and a new file
    /// starts.
    #[arg(long, global = true, help_heading = HEADING, value_name = "OCTETS", default_value = "256M", value_parser = octets, requires = "record")]
    record_limit: u64,
}

impl RecordArgs {
    /// Starts the recording that the arguments request. It ends when the recorder is dropped.
    pub fn start(&self) -> anyhow::Result<Option<Recorder>> {
        let Some(path) = &self.record else { return Ok(None) };
        let config = RecorderConfig { limit_octets: self.record_limit, ..RecorderConfig::new(path) };
        let recorder = Recorder::create(config).with_context(|| format!("cannot record into {}", path.display()))?;
        Ok(Some(recorder))
    }
}

/// Parses a number of octets, such as `64K` or `1G`: at least 4 KiB.
fn octets(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err("not a number with an optional K, M or G".into()),
    };
    let number: u64 = digits.parse().map_err(|_| "not a number with an optional K, M or G".to_owned())?;
    number.checked_mul(1 << shift).filter(|octets| *octets >= 4096).ok_or_else(|| "below 4K".into())
}

#[cfg(test)]
mod tests {
    use super::octets;

    #[test]
    fn size_is_parsed() {
        assert_eq!(octets("4096"), Ok(4096));
        assert_eq!(octets("64k"), Ok(64 << 10));
        assert_eq!(octets("2G"), Ok(2 << 30));
        for bad in ["", "M", "-1M", "4095", "1T", "99999999999G", "1MM"] {
            assert!(octets(bad).is_err(), "{bad}");
        }
    }
}

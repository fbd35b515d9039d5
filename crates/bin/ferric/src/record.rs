//! `--record`: what is said, in a file for Wireshark and for `ferric play`.

use std::path::PathBuf;

use anyhow::Context;
use ferric::record::{Recorder, RecorderConfig};

/// What `--help` calls these options.
pub const HEADING: &str = "Recording";

/// Options of every command that talks to somebody.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RecordArgs {
    /// Record what is said into a pcapng file, which is overwritten: for Wireshark, `ferric decode` and `ferric play`.
    #[arg(long, global = true, help_heading = HEADING, value_name = "FILE")]
    record: Option<PathBuf>,
    /// When the recording's file has that many octets (K, M and G may follow), it goes by the name FILE.1, and a new one
    /// begins.
    #[arg(long, global = true, help_heading = HEADING, value_name = "OCTETS", default_value = "256M", value_parser = octets, requires = "record")]
    record_limit: u64,
}

impl RecordArgs {
    /// Begins the recording, if one is asked for. It ends when what comes back is dropped.
    pub fn start(&self) -> anyhow::Result<Option<Recorder>> {
        let Some(path) = &self.record else { return Ok(None) };
        let config = RecorderConfig { limit_octets: self.record_limit, ..RecorderConfig::new(path) };
        let recorder = Recorder::create(config).with_context(|| format!("cannot record into {}", path.display()))?;
        Ok(Some(recorder))
    }
}

/// A number of octets, such as `64K` or `1G`: 4 KiB at least.
fn octets(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err("expected a number, and K, M or G behind it".into()),
    };
    let number: u64 = digits.parse().map_err(|_| "expected a number, and K, M or G behind it".to_owned())?;
    number.checked_mul(1 << shift).filter(|octets| *octets >= 4096).ok_or_else(|| "expected 4K at least".into())
}

#[cfg(test)]
mod tests {
    use super::octets;

    #[test]
    fn sizes() {
        assert_eq!(octets("4096"), Ok(4096));
        assert_eq!(octets("64k"), Ok(64 << 10));
        assert_eq!(octets("2G"), Ok(2 << 30));
        for bad in ["", "M", "-1M", "4095", "1T", "99999999999G", "1MM"] {
            assert!(octets(bad).is_err(), "{bad}");
        }
    }
}

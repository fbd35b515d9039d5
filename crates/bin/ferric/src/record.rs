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
    #[arg(long, global = true, help_heading = HEADING, value_name = "OCTETS", default_value = "256M", value_parser = program::parse_octets, requires = "record")]
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

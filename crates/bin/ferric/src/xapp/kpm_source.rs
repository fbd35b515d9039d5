//! A node whose reports are read, and what is known of it.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use e2ap::RicActionId;
use e2sm::kpm::{CountMismatch, Detection, TimeStamp, TimestampReader};
use ferric::e2::NodeId;
use tracing::{info, warn};

/// A subscription, and how to decode its indications.
pub struct Source {
    pub node: NodeId,
    pub node_name: String,
    pub detection: Detection,
    /// The encoded action definition: it names values that the node sends without names.
    pub action: Vec<u8>,
    /// The sequence number of each action's next indication.
    pub next_sn: HashMap<RicActionId, u16>,
    timestamps: TimestampReader,
    /// What was logged once for this node.
    logged: Logged,
}

/// Lines that are logged once for a node.
#[derive(Default)]
struct Logged {
    unknown_time_stamp: bool,
    different_counts: bool,
}

impl Source {
    pub fn new(node: NodeId, node_name: &str, detection: Detection, action: Vec<u8>) -> Self {
        Source {
            node,
            node_name: node_name.to_owned(),
            detection,
            action,
            next_sn: HashMap::new(),
            timestamps: TimestampReader::default(),
            logged: Logged::default(),
        }
    }

    /// The time from the end of a report's period until `received`, if it is known. Logs what was recognised.
    pub fn latency(&mut self, stamp: TimeStamp, received: SystemTime, period: Duration) -> Option<Duration> {
        let before = self.timestamps;
        let latency = self.timestamps.latency(stamp, received, period);
        if self.timestamps.format().is_none() {
            if !self.logged.unknown_time_stamp {
                self.logged.unknown_time_stamp = true;
                warn!(
                    node = self.node_name,
                    stamp = %hexadecimal(stamp.octets()),
                    "the time stamps have no known format that fits this host's clock: the latency is unknown; compare the \
                     clocks of the base station and of this host"
                );
            }
        } else if self.timestamps != before {
            info!(node = self.node_name, "time stamps: {}", self.timestamps);
        }
        latency
    }

    /// Warns once of a record whose number of values differs from that of its measurements.
    pub fn check_counts(&mut self, mismatch: Option<CountMismatch>) {
        if let Some(mismatch) = mismatch.filter(|_| !self.logged.different_counts) {
            self.logged.different_counts = true;
            warn!(
                node = self.node_name,
                reported = mismatch.reported,
                expected = mismatch.expected,
                "the node leaves out or adds values: they are shown as ?1, ?2, … because their names are unknown; request \
                 only what the node reports (--measurement)"
            );
        }
    }
}

/// Octets as hexadecimal digits.
fn hexadecimal(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

//! What controllers can change and follow: E2SM-RC, E2SM-CCC, E2SM-NI, SLICE, RRC notifications and the association of UEs.

mod carrier_aggregation;
pub mod ccc;
mod events;
mod handover_messages;
mod measurement_configuration;
mod measurement_reports;
mod mobility;
pub mod ni;
pub mod rc;
mod rrc;
mod sessions;
pub mod slices;
mod x2_handovers;

pub use ccc::NodeConfiguration;
pub use events::MobilityEvents;
pub use ni::Taps;
pub use slices::SliceState;

//! The FlexRAN protocol between a controller and the agents of eNBs (version 2 of its messages, those of OpenAirInterface).
//!
//! A message is a protocol buffer behind its length in four octets, big-endian, over TCP. An agent connects and sends a hello; the
//! controller answers it, requests configurations and statistics, and the agent replies. Either side may request an echo.
//!
//! | message | body | of |
//! |---|---|---|
//! | hello, echo request, echo reply | [`Hello`], [`Echo`] | both |
//! | statistics request, statistics reply | [`StatisticsRequest`], [`Statistics`] | controller, agent |
//! | eNB configuration request and reply | [`EnbConfig`] | controller, agent |
//! | UE configuration request and reply | [`UeConfigs`] | controller, agent |
//! | logical channel configuration request and reply | [`LogicalChannels`] | controller, agent |
//! | downlink MAC configuration | [`DlMacConfig`] | controller |
//! | UE state change | [`UeStateChange`] | agent |
//! | disconnect | | agent |
//!
//! Field numbers and values of enumerations are those that the protocol has published. A message is declared once, with its field
//! numbers beside its fields; what is declared is read and written. Unknown fields are skipped, unknown messages are [`Body::Other`].
//!
//! # Bounds
//! Reading takes time and memory in proportion to the octets. Lists have at most [`MAX_ITEMS`] items; further ones are checked and
//! ignored. Messages are not nested in themselves, so the depth is that of the declarations.
//!
//! # Example
//!
//! ```
//! use flexran::{Body, Direction, Message};
//!
//! let request = Message { direction: Direction::Initiating, xid: 7, body: Body::EnbConfigRequest };
//! let octets = request.encode();
//! assert_eq!(Message::decode(&octets)?, request);
//! # Ok::<(), flexran::WireError>(())
//! ```

#![forbid(unsafe_code)]

mod configuration;
mod message;
mod scheduling;
mod statistics;
#[cfg(test)]
mod tests;

pub use configuration::{
    CellConfig, EnbConfig, LogicalChannel, LogicalChannels, MeasurementEvents, MeasurementInfo, PlmnId, SecondaryCell,
    UeChannels, UeConfig, UeConfigs, UeStateChange, UeStateChangeKind,
};
pub use message::{Body, Direction, Echo, Hello, Kind, Message};
pub use protobuf::{MAX_ITEMS, WireError};
pub use scheduling::{
    DlBroadcast, DlData, DlDci, DlMacConfig, DlRandomAccessResponse, OfdmSymbols, RlcPdu, RlcPduBlock,
};
pub use statistics::{
    CellGlobalId, CellStatistics, CgiMeasurement, CompleteStatisticsRequest, CsiReport, DlCqiReport, GtpStatistics,
    MacStatistics, Neighbour, NeighbourMeasurements, NoiseInterference, PdcpStatistics, PlmnDigits, ReferenceSignal,
    ReportFrequency, RlcBuffer, RrcMeasurements, Statistics, StatisticsRequest, UeStatistics, WidebandCqi, cell_flags,
    ue_flags,
};

/// The TCP port of controllers by default.
pub const DEFAULT_PORT: u16 = 2210;

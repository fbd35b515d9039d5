//! The RIC-xApp protocol between an xApp and a near-RT RIC. `docs/xapp-protocol.md` describes it.

mod announcements;
mod authorization;
mod client;
mod decode;
mod encode;
mod host;
mod protocol;
mod ric_list;
pub(crate) mod wire;

pub use client::XappClient;
pub(crate) use host::node_busy;
pub use host::{FunctionHint, ServiceEvent, XappHost};
pub use protocol::{
    ENVELOPE_OCTETS, Envelope, FunctionInfo, NodeInfo, OLDEST_PROTOCOL_VERSION, PROTOCOL_VERSION, ProtocolError,
    RicMessage, XappMessage,
};
pub use ric_list::RicList;
pub use wire::DeliveryChange;

//! The RIC-xApp protocol: what an xApp and a near-RT RIC say to each other. `docs/xapp-protocol.md` is its description.

mod client;
mod decode;
mod encode;
mod host;
mod news;
mod permits;
mod protocol;
pub(crate) mod wire;

pub use client::XappClient;
pub use host::{FunctionHint, XappHost};
pub use protocol::{
    ControlResult, ENVELOPE_OCTETS, Envelope, FunctionInfo, ModifyResult, NodeInfo, PROTOCOL_VERSION, ProtocolError,
    QueryResult, RefusalCode, RicMessage, SubscribeFailure, XappMessage,
};
pub use wire::Taking;

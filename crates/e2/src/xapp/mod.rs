//! The RIC-xApp protocol: what an xApp and a near-RT RIC say to each other. `docs/xapp-protocol.md` is its description.

mod client;
mod decode;
mod encode;
mod host;
mod news;
mod permits;
mod protocol;
pub(crate) mod wire;

pub use client::{ClientEvent, XappClient};
pub use host::{FunctionHint, XappHost};
pub use protocol::{
    ControlResult, ENVELOPE_OCTETS, Envelope, FunctionInfo, Message, ModifyResult, NodeInfo, PROTOCOL_VERSION,
    ProtocolError, QueryResult, RefusalCode, SubscribeFailure,
};
pub use wire::Taking;

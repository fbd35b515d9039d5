//! The client library of external apps (xApps).
//!
//! [`Ric`] is the whole API: it connects, and leads to nodes, cells, UEs, measurements and controls. `docs/xapp-api.md` describes
//! its nouns and verbs, threads, errors and back-pressure.
//!
//! ```no_run
//! use ferric::xapp::Ric;
//!
//! let ric = Ric::connect()?;
//! for record in ric.kpm(["DRB.UEThpDl", "CQI"]).every(1000)? {
//!     let record = record?;
//!     println!("{:?} {:?} kbit/s", record.ue, record.number("DRB.UEThpDl"));
//! }
//! # Ok::<(), ferric::xapp::Error>(())
//! ```
//!
//! Below it is the raw level, [`raw`]: events and commands of one connection, in octets of the service models. It alone is
//! the feature `xapp-raw`.

#[cfg(feature = "xapp")]
mod a1;
#[cfg(feature = "xapp")]
mod arbiter;
#[cfg(feature = "xapp")]
mod configuration;
#[cfg(feature = "xapp")]
mod control;
#[cfg(feature = "xapp")]
mod core;
#[cfg(feature = "xapp")]
pub mod cpu;
#[cfg(feature = "xapp")]
mod decision;
#[cfg(feature = "xapp")]
mod directory;
#[cfg(feature = "xapp")]
mod error;
#[cfg(feature = "xapp")]
mod event;
#[cfg(feature = "xapp")]
mod feed;
#[cfg(feature = "xapp")]
pub mod kpm;
#[cfg(feature = "xapp")]
mod names;
#[cfg(feature = "xapp")]
mod node;
#[cfg(feature = "xapp")]
mod query;
#[cfg(feature = "xapp")]
mod quota;
pub mod raw;
#[cfg(feature = "xapp")]
mod resolve;
#[cfg(feature = "xapp")]
mod ric;
#[cfg(feature = "xapp")]
mod rrc;
#[cfg(feature = "xapp")]
mod session;
#[cfg(feature = "xapp")]
mod slices;
#[cfg(feature = "xapp")]
pub mod tc;
#[cfg(feature = "xapp")]
mod ue;

#[cfg(feature = "xapp")]
pub use a1::{A1Policy, EiEvent, PolicyOperation};
#[cfg(feature = "xapp")]
pub use arbiter::ConflictQuestion;
#[cfg(feature = "xapp")]
pub use configuration::CellConfiguration;
#[cfg(feature = "xapp")]
pub use control::Answer;
#[cfg(feature = "xapp")]
pub use cpu::{CpuReport, Cpus};
#[cfg(feature = "xapp")]
pub use decision::{HandoverRequest, Policy};
#[cfg(feature = "xapp")]
pub use e2::topology::{RntiScope, UeIdentity, UeReference, UeReferenceError};
#[cfg(feature = "xapp")]
pub use error::{Error, Noun};
#[cfg(feature = "xapp")]
pub use event::Event;
#[cfg(feature = "xapp")]
pub use feed::Feed;
#[cfg(feature = "xapp")]
pub use kpm::{Batch, KpmRequest, KpmStream, Record, StreamCounts, Value};
#[cfg(feature = "xapp")]
pub use names::{CellId, NetworkSlice};
#[cfg(feature = "xapp")]
pub use quota::Quota;
pub use raw::{
    Commands, Indication, MAX_RICS, MAX_VERIFICATIONS, Reconnect, RequestEvent, TooManyVerifications, Verdict,
    Verification, Xapp, XappConfig, XappEvent, XappGroup,
};
#[cfg(feature = "xapp")]
pub use resolve::IntoName;
#[cfg(feature = "xapp")]
pub use ric::{Cell, Node, Ric, RicOptions};
#[cfg(feature = "xapp")]
pub use rrc::RrcMessage;
#[cfg(feature = "xapp")]
pub use slices::{Direction, SliceShare, SliceState, Slices};
#[cfg(feature = "xapp")]
pub use ue::{Qos, Ue};

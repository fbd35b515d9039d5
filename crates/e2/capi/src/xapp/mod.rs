//! xApps: a session with a near-RT RIC. The nouns and verbs are those of docs/xapp-api.md.

mod batch;
mod configuration;
mod control;
mod event;
mod handover;
mod kpm;
mod list;
mod policy;
mod rrc;
mod session;
mod slices;
mod tc;

pub use batch::*;
pub use configuration::*;
pub use control::*;
pub use event::*;
pub use handover::*;
pub use kpm::*;
pub use list::*;
pub use policy::*;
pub use rrc::*;
pub use session::*;
pub use slices::*;
pub use tc::*;

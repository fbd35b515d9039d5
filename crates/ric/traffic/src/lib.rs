//! Flow-based traffic control (FlexRIC paper, 6.1.1): what RLC and TC tell is forwarded to Redis, TC is set over REST, and a
//! guard keeps the flow that must not wait out of the queue of the others.
//!
//! | part | what it is |
//! |---|---|
//! | [`Forwarder`] | an internal app: copies the statistics of RLC and TC, which a thread of its own takes to Redis as JSON |
//! | [`record`] | those records, and reading them again |
//! | [`RedisReader`] | the same records at the other end, for xApps |
//! | [`TrafficLink`] | the same over the RIC's own link for xApps, and controls |
//! | [`FlowGuard`] | what an xApp decides: records in, controls out; no socket, no clock, no thread |
//!
//! `docs/traffic-controller.md` shows them together.

#![forbid(unsafe_code)]

#[cfg(feature = "redis")]
mod backlog;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "redis")]
mod forwarder;
pub mod guard;
#[cfg(feature = "xapp")]
mod link;
#[cfg(feature = "rest")]
mod manager;
#[cfg(feature = "redis")]
mod publisher;
#[cfg(feature = "redis")]
mod reader;
pub mod record;
#[cfg(any(feature = "client", feature = "rest"))]
mod resource;
#[cfg(feature = "redis")]
mod server;

use e2sm::flexric::EventTriggerDefinition;
use e2sm::{Model, Wire};
use ferric::e2::{Action, SubscriptionSpec};
use ferric::e2ap::{RicActionId, RicActionType};

#[cfg(feature = "client")]
pub use client::TcClient;
#[cfg(feature = "redis")]
pub use forwarder::{Forwarded, Forwarder};
pub use guard::{Answer, FlowGuard, GuardConfig, News};
#[cfg(feature = "xapp")]
pub use link::{LinkEvent, TrafficLink};
#[cfg(feature = "rest")]
pub use manager::add_to;
#[cfg(feature = "redis")]
pub use publisher::{DEFAULT_PREFIX, RedisConfig};
#[cfg(feature = "redis")]
pub use reader::{RedisReader, Via};
#[cfg(any(feature = "client", feature = "rest"))]
pub use resource::TcRequest;
#[cfg(feature = "redis")]
pub use server::{RedisFiles, RedisUrl, RedisUrlError};

/// The models that tell what a bearer's packets wait for, by the names that their records have.
pub const MODELS: [(&str, Model); 2] = [("rlc", e2sm::rlc::MODEL), ("tc", e2sm::tc::MODEL)];

/// A subscription to one of FlexRIC's models: everything that it tells, every so many milliseconds.
#[must_use]
pub fn subscription(period_ms: u32, wire: Wire) -> SubscriptionSpec {
    let mut event_trigger = Vec::new();
    if let Err(error) = (EventTriggerDefinition { period_ms }).encode(wire, &mut event_trigger) {
        panic!("a number can be encoded in each wire form of these models: {error}");
    }
    let action = Action { id: RicActionId(1), kind: RicActionType::Report, definition: None, subsequent: None };
    SubscriptionSpec { event_trigger, actions: vec![action] }
}

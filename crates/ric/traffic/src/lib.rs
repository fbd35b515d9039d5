//! Flow-based traffic control (FlexRIC paper, 6.1.1): statistics of RLC and TC are forwarded to Redis, TC is configured by REST,
//! and a guard keeps a low-latency flow out of the queue of the others.
//!
//! | item | feature | description |
//! |---|---|---|
//! | `Forwarder` | `redis` | an internal app that forwards the statistics of RLC and TC to Redis, as JSON, on a thread of its own |
//! | [`record`] | | the records of RLC and TC |
//! | `RedisReader` | `redis` | reads the records from Redis, for xApps |
//! | `TrafficLink` | `xapp` | records and controls over the RIC's interface for xApps |
//! | `add_to` | `rest` | an internal app with the REST resources of TC |
//! | `TcClient` | `client` | controls of TC by REST |
//! | [`FlowGuard`] | | the decisions of an xApp: records in, controls out; no socket, no clock, no thread |
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

use e2sm::flexric::EventTriggerDefinition;
use e2sm::{Model, Wire};
use ferric::e2::{Action, SubscriptionSpec};
use ferric::e2ap::{RicActionId, RicActionType};

#[cfg(feature = "client")]
pub use client::TcClient;
#[cfg(feature = "redis")]
pub use forwarder::{Forwarder, ForwarderStats};
pub use guard::{Answer, FlowGuard, GuardConfig, GuardEvent};
#[cfg(feature = "xapp")]
pub use link::{LinkEvent, TrafficLink};
#[cfg(feature = "rest")]
pub use manager::add_to;
#[cfg(feature = "redis")]
pub use publisher::{DEFAULT_PREFIX, RedisConfig};
#[cfg(feature = "redis")]
pub use reader::{RedisReader, RedisSource};
#[cfg(any(feature = "client", feature = "rest"))]
pub use resource::TcRequest;
#[cfg(feature = "redis")]
pub use shared_store::{RedisFiles, RedisUrl, RedisUrlError};

/// The models whose statistics are forwarded, with their names in records.
pub const MODELS: [(&str, Model); 2] = [("rlc", e2sm::rlc::MODEL), ("tc", e2sm::tc::MODEL)];

/// Returns a subscription to all reports of one of FlexRIC's models, with a period in milliseconds.
#[must_use]
pub fn subscription(period_ms: u32, wire: Wire) -> SubscriptionSpec {
    let mut event_trigger = Vec::new();
    if let Err(error) = (EventTriggerDefinition { period_ms }).encode(wire, &mut event_trigger) {
        panic!("cannot encode the event trigger: {error}");
    }
    let action = Action { id: RicActionId(1), kind: RicActionType::Report, definition: None, subsequent: None };
    SubscriptionSpec { event_trigger, actions: vec![action] }
}

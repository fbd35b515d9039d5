//! The bodies of MEC 012 v2.2.1 and v1.1.1: subscriptions, notifications, and the answers to queries.

mod filter;
pub mod notification;
pub mod query;
mod shared;
pub mod subscription;
pub mod v1;

pub use notification::notification;
pub use shared::{
    AssociateIdBody, Ecgi, Fault, HoStatus, Link, Links, MAX_LIST, Nrcgi, S1EventType, TimeStamp, Trigger, TriggerNr,
};
pub use subscription::InlineSubscription;

//! What the shared log has of a subscription.

use serde::{Deserialize, Serialize};

use super::NewSubscription;
use crate::criteria::Criteria;
use crate::delivery::{CallbackError, Channel, Target};
use crate::model::TimeStamp;
use crate::subscriptions::{Subscription, Version};

/// A subscription in the log. Its key is its id.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Counts its changes: a record with a number that is known already lost the race against the one before, and changes nothing.
    pub change: u64,
    owner: String,
    subscriber: String,
    is_v1: bool,
    href: String,
    criteria: Criteria,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline: Option<TimeStamp>,
    document: String,
    /// The URL; without it the subscription has a WebSocket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    callback: Option<String>,
    tenant: String,
    tail: String,
    /// The process at which its WebSocket was open last, or that has created it.
    pub holder: i64,
    /// The notice of its expiry was sent.
    #[serde(default)]
    pub is_noticed: bool,
}

impl Record {
    /// The record of a subscription.
    pub fn new(subscription: &Subscription, target: &Target, change: u64, holder: i64) -> Self {
        let Subscription { owner, subscriber, version, href, criteria, deadline, document } = subscription;
        let callback = match &target.channel {
            Channel::Callback(callback) => Some(callback.to_string()),
            Channel::WebSocket => None,
        };
        Record {
            change,
            owner: owner.to_string(),
            subscriber: subscriber.to_string(),
            is_v1: *version == Version::V1,
            href: href.to_string(),
            criteria: criteria.clone(),
            deadline: *deadline,
            document: document.to_string(),
            callback,
            tenant: target.tenant.to_string(),
            tail: target.tail.to_string(),
            holder,
            is_noticed: false,
        }
    }

    /// The subscription of a record.
    pub fn into_subscription(self) -> Result<NewSubscription, CallbackError> {
        let target = match &self.callback {
            Some(url) => Target::callback(url, self.tail)?,
            None => Target::websocket(self.tail),
        };
        let subscription = Subscription {
            owner: self.owner.into(),
            subscriber: self.subscriber.into(),
            version: if self.is_v1 { Version::V1 } else { Version::V2 },
            href: self.href.into(),
            criteria: self.criteria,
            deadline: self.deadline,
            document: self.document.into(),
        };
        Ok(NewSubscription { subscription, target: target.of_tenant(self.tenant), is_tested: false })
    }

    /// The record as JSON.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| panic!("records are structs of numbers and texts: {error}"))
    }
}

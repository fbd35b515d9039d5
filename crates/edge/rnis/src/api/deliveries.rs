//! `/rnis/v1/subscriptions`: what was done for each subscription of either version. MEC 012 has no such resource.

use rest::{Operation, Response, Route};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Context, ROLE, tenancy};
use crate::delivery::DeliveryState;
use crate::matcher::Key;
use crate::model::TimeStamp;
use crate::subscriptions::Subscription;

/// The subscriptions of the application.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct DeliveryList {
    /// In the order of their creation.
    subscriptions: Vec<SubscriptionDelivery>,
}

/// The delivery of a subscription.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SubscriptionDelivery {
    /// The id.
    id: u64,
    /// The URI.
    href: String,
    /// The type.
    subscription_type: &'static str,
    /// When it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TimeStamp")]
    expiry_deadline: Option<TimeStamp>,
    /// Notifications that were answered with 2xx.
    delivered: u64,
    /// Notifications that were dropped.
    dropped: u64,
    /// Attempts that failed, those of test notifications included.
    failures: u64,
    /// The last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    last_error: Option<String>,
}

/// The route.
pub fn routes(context: &Context) -> Vec<Route> {
    let context = context.clone();
    let operation = Operation::get("/rnis/v1/subscriptions", "getDeliveries", "What was delivered to subscriptions")
        .tag("delivery")
        .role(ROLE)
        .returns::<DeliveryList>("The subscriptions.");
    let list = Route::new(operation, move |request| {
        let found = context.service.find(|subscription| *subscription.owner == *tenancy::owner(request));
        let subscriptions = found.into_iter().map(|(key, subscription)| {
            delivery(key, &subscription, context.service.delivery_state(key).unwrap_or_default())
        });
        Ok(Response::ok(DeliveryList { subscriptions: subscriptions.collect() }))
    });
    vec![list]
}

fn delivery(key: Key, subscription: &Subscription, state: DeliveryState) -> SubscriptionDelivery {
    SubscriptionDelivery {
        id: key.0,
        href: subscription.href.to_string(),
        subscription_type: subscription.criteria.topic.type_name(),
        expiry_deadline: subscription.deadline,
        delivered: state.delivered,
        dropped: state.dropped,
        failures: state.failures,
        last_error: state.last_error,
    }
}

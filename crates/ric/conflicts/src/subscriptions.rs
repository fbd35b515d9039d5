//! Subscriptions in the audit log: who has requested them, and what became of them.

use std::collections::HashMap;

use audit::AuditLog;
use ferric::e2::{Consumer, SubscriptionFact, SubscriptionId, SubscriptionStep, SubscriptionSummary, Ticket};
use serde_json::Value;

use crate::state::who;

/// Records the subscriptions of xApps, and not those of the RIC's own apps. Their number is bounded by the quotas of the controller.
#[derive(Debug)]
pub(crate) struct SubscriptionAudit {
    log: Option<AuditLog>,
    /// The number of the last request.
    last: u64,
    requested: HashMap<(Consumer, Ticket), u64>,
    active: HashMap<(Consumer, SubscriptionId), u64>,
}

impl SubscriptionAudit {
    pub fn new(log: Option<AuditLog>) -> Self {
        SubscriptionAudit { log, last: 0, requested: HashMap::new(), active: HashMap::new() }
    }

    pub fn step(&mut self, step: &SubscriptionStep<'_>) {
        let Some(log) = &self.log else { return };
        let SubscriptionStep { consumer, identity, what } = *step;
        if identity.is_some_and(|identity| identity.is_internal) {
            return;
        }
        let outcome = |number: u64, outcome: String| {
            log.record("subscription_outcome", &[("subscription", number.into()), ("outcome", outcome.into())]);
        };
        match what {
            SubscriptionFact::Requested { ticket, request } => {
                self.last += 1;
                self.requested.insert((consumer, ticket), self.last);
                log.record("subscription", &request_fields(self.last, step, &request, None));
            }
            SubscriptionFact::Refused { request, why } => {
                self.last += 1;
                log.record("subscription", &request_fields(self.last, step, &request, Some(why.to_string())));
            }
            SubscriptionFact::Active { ticket, subscription, not_admitted } => {
                let Some(number) = self.requested.remove(&(consumer, ticket)) else { return };
                self.active.insert((consumer, subscription), number);
                match not_admitted {
                    0 => outcome(number, "active".to_owned()),
                    count => outcome(number, format!("active without {count} of its actions")),
                }
            }
            SubscriptionFact::Failed { ticket, error } => {
                let Some(number) = self.requested.remove(&(consumer, ticket)) else { return };
                outcome(number, format!("failed: {error}"));
            }
            SubscriptionFact::Ended { subscription, end } => {
                let Some(number) = self.active.remove(&(consumer, subscription)) else { return };
                outcome(number, format!("ended: {end}"));
            }
        }
    }

    /// A consumer is gone, and its subscriptions with it.
    pub fn consumer_gone(&mut self, consumer: Consumer) {
        let Some(log) = &self.log else { return };
        let requested = self.requested.extract_if(|(of, _), _| *of == consumer).map(|(_, number)| number);
        let mut gone: Vec<_> = requested.collect();
        gone.extend(self.active.extract_if(|(of, _), _| *of == consumer).map(|(_, number)| number));
        gone.sort_unstable();
        for number in gone {
            let outcome = "ended: the connection of its xApp has ended";
            log.record("subscription_outcome", &[("subscription", number.into()), ("outcome", outcome.into())]);
        }
    }
}

fn request_fields(
    number: u64,
    step: &SubscriptionStep<'_>,
    request: &SubscriptionSummary<'_>,
    refused: Option<String>,
) -> Vec<(&'static str, Value)> {
    let mut fields = vec![("subscription", number.into())];
    fields.extend([("xapp", step.identity.map_or("", |identity| &*identity.name).into())]);
    fields.extend(who(step.identity));
    fields.extend([
        ("node", request.node.map_or_else(String::new, |node| node.global_id.to_string()).into()),
        ("function", request.function.0.into()),
        ("actions", request.actions.into()),
        ("decision", if refused.is_some() { "refused" } else { "accepted" }.into()),
    ]);
    fields.extend(refused.map(|why| ("reason", why.into())));
    fields
}

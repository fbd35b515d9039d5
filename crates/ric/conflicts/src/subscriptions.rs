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
            SubscriptionFact::NotAllowed { request, lacking } => {
                self.last += 1;
                log.record("subscription", &request_fields(self.last, step, &request, Some(lacking.to_string())));
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use audit::LogConfig;
    use ferric::e2::{ConsumerIdentity, Misuse, SubscribeError, SubscriptionEnd, XappRights};
    use ferric::e2ap::RanFunctionId;

    use super::*;

    #[test]
    fn subscriptions_of_xapps_are_recorded_from_request_to_end() {
        let path = std::env::temp_dir().join(format!("ferric-subscriptions-{}.log", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let log = AuditLog::start(LogConfig::new(&path)).unwrap();
        let mut audit = SubscriptionAudit::new(Some(log.clone()));
        let xapp =
            ConsumerIdentity { rights: Some(Arc::new(XappRights::default())), ..ConsumerIdentity::named("e42:1") };
        let internal = ConsumerIdentity { is_internal: true, ..ConsumerIdentity::named("slicing") };
        let request = SubscriptionSummary { node: None, function: RanFunctionId(2), actions: 3 };
        let mut step = |consumer: u32, what: SubscriptionFact<'_>| {
            let identity = Some(if consumer == 0 { &internal } else { &xapp });
            audit.step(&SubscriptionStep { consumer: Consumer(consumer), identity, what });
        };
        let requested = |ticket: u32| SubscriptionFact::Requested { ticket: Ticket(ticket), request };
        let active = |ticket: u32, subscription: u32, not_admitted: usize| SubscriptionFact::Active {
            ticket: Ticket(ticket),
            subscription: SubscriptionId(subscription),
            not_admitted,
        };
        step(0, requested(1));
        step(0, active(1, 1, 0));
        (1..=4).for_each(|ticket| step(1, requested(ticket)));
        step(1, SubscriptionFact::Refused { request, why: Misuse::NotAllowed });
        step(1, active(1, 7, 0));
        step(1, active(2, 8, 1));
        step(1, SubscriptionFact::Failed { ticket: Ticket(3), error: &SubscribeError::TimedOut });
        step(1, SubscriptionFact::Ended { subscription: SubscriptionId(7), end: SubscriptionEnd::Deleted });
        audit.consumer_gone(Consumer(1));
        assert!(audit.requested.is_empty() && audit.active.is_empty(), "{audit:?}");
        log.finish();
        let text = std::fs::read_to_string(&path).unwrap();
        let _ = std::fs::remove_file(&path);
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let requests: Vec<_> = lines.iter().filter(|line| line["event"] == "subscription").collect();
        let decisions: Vec<_> = requests.iter().map(|line| line["decision"].as_str().unwrap()).collect();
        assert_eq!(decisions, ["accepted", "accepted", "accepted", "accepted", "refused"], "{text}");
        assert_eq!(requests[4]["reason"], Misuse::NotAllowed.to_string());
        assert_eq!((&requests[0]["xapp"], &requests[0]["actions"]), (&"e42:1".into(), &3.into()));
        assert_eq!(requests[0]["rights"], "0 grants to read, 0 to control");
        let outcomes = lines.iter().filter(|line| line["event"] == "subscription_outcome");
        let outcomes: Vec<_> =
            outcomes.map(|line| (line["subscription"].as_u64().unwrap(), line["outcome"].as_str().unwrap())).collect();
        let expected = [
            (1, "active"),
            (2, "active without 1 of its actions"),
            (3, "failed: the node did not answer the subscription request in time"),
            (1, "ended: its consumer unsubscribed"),
            (2, "ended: the connection of its xApp has ended"),
            (4, "ended: the connection of its xApp has ended"),
        ];
        assert_eq!(outcomes, expected, "{text}");
    }
}

//! A custom RAN function in a gNB's agent: a thermometer that reports with the period of the subscription.
//!
//! `cargo run -p ferric-examples --bin ran_function -- tcp://127.0.0.1:36421`, with `ferric ric` running, which logs
//! the node

use std::time::Duration;

use ferric::agent::{Admission, AgentLoop, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
use ferric::e2::{Function, SubscriptionRequest, Time};
use ferric::e2ap::*;

/// The event trigger is the period in milliseconds, four octets; the indication message is the temperature, one octet.
#[derive(Default)]
pub struct Thermometer {
    subscriptions: Vec<(RequestKey, RicActionId, Duration, Time)>,
}

impl RanFunction for Thermometer {
    fn id(&self) -> RanFunctionId {
        RanFunctionId(99)
    }

    fn definition(&self) -> Function {
        let oid = "1.3.6.1.4.1.32473.1.99".into(); // an arc for examples: use your own
        Function { id: self.id(), revision: RanFunctionRevision(1), oid, definition: b"Thermometer".to_vec() }
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _: &Views,
    ) -> Result<Admission, Cause> {
        let trigger = <[u8; 4]>::try_from(&request.event_trigger[..]);
        let period_ms = trigger.map(u32::from_be_bytes).ok().filter(|period| *period > 0);
        let period_ms = period_ms.ok_or(Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported))?;
        let period = Duration::from_millis(period_ms.into());
        let key = RequestKey { controller, id: request.request_id };
        let actions = request.actions.iter().map(|action| action.id);
        self.subscriptions.extend(actions.clone().map(|action| (key, action, period, now + period)));
        Ok(Admission { admitted: actions.collect(), not_admitted: Vec::new() })
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.subscriptions.retain(|(other, ..)| *other != key);
    }

    fn next_report(&self) -> Option<Time> {
        self.subscriptions.iter().map(|(.., due)| *due).min()
    }

    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        for (key, action, period, due) in self.subscriptions.iter_mut().filter(|(.., due)| *due <= now) {
            let _ = reports.report(*key, *action, &[], &[21]); // fails for a subscription that has just ended
            *due = now + *period;
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ric = std::env::args().nth(1).unwrap_or("tcp://127.0.0.1:36421".into()).parse()?;
    let node = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xf00, 22));
    let mut agents = AgentLoop::new(Default::default())?;
    agents.add(node, ric, vec![Box::new(Thermometer::default())]);
    Ok(agents.run()?)
}

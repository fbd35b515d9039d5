//! What subscriptions bring. The way of one that stands is [`Controller::handle_pdu`]; here are the strays.
//!
//! Procedure: RIC Indication. Clause: E2AP v03.01 8.2.5. Role: ric. Since: v01.00. Scenarios: indication*

use e2ap::RicIndication;

use super::requests::Request;
use super::{Controller, NodeId};
use crate::Time;

impl Controller {
    /// An indication of no subscription that stands.
    pub(super) fn stray_indication(&mut self, now: Time, node: NodeId, indication: &RicIndication<'_>) {
        let (id, function) = (indication.request_id, indication.ran_function_id);
        let place = self.requests.place(id);
        // Under way when its subscription ended, or ahead of its response: nobody's fault, and nobody's.
        match place.map(|place| (place, self.requests.get(place))) {
            Some((place, None)) if self.requests.rests(place) => {
                self.requests.heard(now, place);
                self.strays += 1;
            }
            Some((_, Some(Request::Subscription(s)))) if s.node == node && !s.is_active() => self.strays += 1,
            _ => self.unknown_request(now, node, id, function, "RicIndication"),
        }
    }
}

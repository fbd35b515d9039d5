//! KPM subscriptions that yield the ids which the nodes have for their UEs.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use e2sm::Arena;
use e2sm::common::{SNssai, Sst};
use e2sm::kpm::{Detection, EveryUe, IndicationMessage, Plan, RanFunctionDefinition, Revision};
use ferric::e2::topology::UeName;
use ferric::e2::{self, Action, Indication, RanFunction, SubscriptionId, SubscriptionOrder, SubscriptionSpec, Ticket};
use ferric::e2ap::{RicActionId, RicActionType};
use ferric::server::{Iapp, IappContext, IappEvent, RequestEvent, Server};
use per::Gather;
use tracing::{debug, info, warn};

/// The condition of the reports: UEs of slices with this SST (eMBB). It is the only condition that all public base stations accept.
const SLICE: EveryUe = EveryUe::InSlice(SNssai { sst: Sst([1]), sd: None });

/// The internal app.
struct UeIdReports {
    period_ms: u32,
    requested: HashMap<Ticket, Detection>,
    subscribed: HashMap<SubscriptionId, Subscribed>,
    arena: Arena,
    undecodable: u64,
}

/// Adds an app to a RIC that subscribes to KPM's reports of UEs (style 4) of each node that offers them, and records the UE IDs in
/// the RAN database.
///
/// # Panics
/// If the period is zero.
pub fn ask_for_ue_ids(server: &mut Server, period: Duration) {
    let period_ms = period.as_millis().try_into().unwrap_or(u32::MAX);
    assert!(period_ms > 0, "reports need a period");
    server.add_iapp(Box::new(UeIdReports {
        period_ms,
        requested: HashMap::new(),
        subscribed: HashMap::new(),
        arena: Arena::new(),
        undecodable: 0,
    }));
}

struct Subscribed {
    detection: Detection,
    /// A name of each UE in the last report.
    reported: BTreeSet<UeName>,
}

impl UeIdReports {
    fn order(&self, function: &RanFunction) -> Option<(Detection, SubscriptionOrder)> {
        let detection = Detection::from_ran_function(&function.oid, function.revision.0, &function.definition).ok()?;
        let (revision, wire) = (detection.revision, detection.wire);
        // v01.00 has no reports of UEs
        if revision == Revision::V1_00 {
            return None;
        }
        let arena = Arena::new();
        let definition = RanFunctionDefinition::decode_in(&function.definition, revision, wire, &arena).ok()?;
        let plan = Plan::every_ue(&definition, revision, SLICE, self.period_ms).ok()?;
        let (mut event_trigger, mut action) = (Vec::new(), Vec::new());
        plan.trigger.encode_in(revision, wire, &mut event_trigger).ok()?;
        plan.action.encode_in(revision, wire, &mut action).ok()?;
        let (id, kind) = (RicActionId(1), RicActionType::Report);
        let actions = vec![Action { id, kind, definition: Some(action), subsequent: None }];
        let spec = SubscriptionSpec { event_trigger, actions };
        Some((detection, SubscriptionOrder { restore: false, ..spec.into() }))
    }

    fn node_up(&mut self, node: &e2::Node, ric: &mut IappContext<'_>) {
        let orders = node.functions.iter().filter_map(|function| Some((function.id, self.order(function)?)));
        let Some((function, (detection, order))) = orders.collect::<Vec<_>>().into_iter().next() else { return };
        match ric.subscribe(node.id, function, order) {
            Ok(ticket) => {
                info!(node = %node.global_id, "subscribed to KPM for the ids of UEs");
                self.requested.insert(ticket, detection);
            }
            Err(misuse) => warn!(node = %node.global_id, "no ids of UEs: {misuse}"),
        }
    }

    fn learn(&mut self, indication: &Indication<'_>, message: &[u8], ric: &mut IappContext<'_>) -> Result<(), String> {
        let Some(subscribed) = self.subscribed.get_mut(&indication.subscription) else { return Ok(()) };
        self.arena.reset();
        let Detection { revision, wire, .. } = subscribed.detection;
        let message = IndicationMessage::decode_in(message, revision, wire, &self.arena);
        let mut reported = BTreeSet::new();
        for ue_id in message.map_err(|error| error.to_string())?.ue_ids() {
            let names = UeName::all_of(ue_id);
            ric.learn_ue(indication.node, &names);
            reported.extend(names.first());
        }
        // a UE that is not reported any more has left
        for gone in subscribed.reported.difference(&reported) {
            ric.forget_ue(indication.node, gone);
        }
        subscribed.reported = reported;
        Ok(())
    }
}

impl Iapp for UeIdReports {
    fn name(&self) -> &'static str {
        "ids of UEs"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        match event {
            IappEvent::NodeUp(node) => self.node_up(node, ric),
            IappEvent::Request(RequestEvent::Subscribed { ticket, subscription, .. }) => {
                if let Some(detection) = self.requested.remove(ticket) {
                    let reported = BTreeSet::new();
                    self.subscribed.insert(*subscription, Subscribed { detection, reported });
                }
            }
            IappEvent::Request(RequestEvent::SubscriptionFailed { ticket, error })
                if self.requested.remove(ticket).is_some() =>
            {
                debug!(%error, "no ids of UEs");
            }
            IappEvent::Request(RequestEvent::SubscriptionEnded { subscription, .. }) => {
                self.subscribed.remove(subscription);
            }
            _ => {}
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>) {
        let gather = Gather::new();
        let learned = match indication.payload {
            Some((_, message)) => self.learn(indication, message, ric),
            None => match indication.decode(&gather) {
                Ok(decoded) => self.learn(indication, &decoded.message.to_cow(), ric),
                Err(error) => Err(error.to_string()),
            },
        };
        if let Err(error) = learned {
            self.undecodable += 1;
            // logged at powers of two: a node may send only such reports
            if self.undecodable.is_power_of_two() {
                warn!(undecodable = self.undecodable, error, "cannot decode a report of UEs");
            }
        }
    }
}

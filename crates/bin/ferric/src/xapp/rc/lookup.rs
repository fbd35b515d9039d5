//! Short subscriptions to KPM, which yield the ids that the parts of a base station have for their UEs.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use e2sm::Arena;
use e2sm::common::{SNssai, Sst};
use e2sm::kpm::{Detection, EveryUe, IndicationMessage, Plan, RanFunctionDefinition, Revision};
use ferric::e2::topology::RanDatabase;
use ferric::e2::xapp::NodeInfo;
use ferric::e2::{Action, NodeId, SubscriptionId, SubscriptionSpec, Ticket, Time};
use ferric::e2ap::{RanFunctionId, RicActionId, RicActionType};
use ferric::xapp::{Commands, Indication, RequestEvent};
use per::Gather;
use tracing::{debug, info};

/// The reporting period.
const PERIOD_MS: u32 = 250;
/// The longest wait for the reports.
const PATIENCE: Duration = Duration::from_secs(2);

/// A node that is asked.
struct Asked {
    node: NodeId,
    detection: Detection,
}

/// The subscriptions that are in use.
#[derive(Default)]
pub(super) struct Lookup {
    requested: HashMap<Ticket, Asked>,
    subscribed: BTreeMap<SubscriptionId, Asked>,
    asked: HashSet<NodeId>,
    /// Those that have not reported yet.
    waiting: HashSet<NodeId>,
    until: Option<Instant>,
}

impl Lookup {
    /// Whether reports are still expected.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty() && self.until.is_some_and(|until| Instant::now() < until)
    }

    /// Subscribes to the UE IDs of a node, unless it was done before. A node that offers none is left alone.
    pub fn ask(&mut self, node: &NodeInfo, slice: Sst, ric: &mut Commands<'_>) {
        if !self.asked.insert(node.id) {
            return;
        }
        for function in &node.functions {
            let hinted = function.model_revision.as_deref().and_then(|revision| revision.parse::<Revision>().ok());
            let detected = Detection::from_ran_function(&function.oid, function.revision.0, &function.definition);
            let detection = match (hinted, detected) {
                (Some(revision), Ok(_)) => Detection::configured(revision).in_wire_of(&function.oid),
                (_, Ok(detection)) => detection,
                (_, Err(_)) => continue,
            };
            match spec(&function.definition, detection, slice) {
                Ok(spec) => {
                    info!(node = %node.global_id, "asks KPM for the ids of UEs");
                    let ticket = ric.subscribe(node.id, RanFunctionId(function.id.0), spec);
                    self.requested.insert(ticket, Asked { node: node.id, detection });
                    self.waiting.insert(node.id);
                    self.until = Some(Instant::now() + PATIENCE);
                    return;
                }
                Err(error) => debug!(node = %node.global_id, %error, "KPM does not report each UE"),
            }
        }
    }

    pub fn handle_request(&mut self, event: &RequestEvent) {
        match event {
            RequestEvent::Subscribed { ticket, subscription, .. } => {
                if let Some(asked) = self.requested.remove(ticket) {
                    self.subscribed.insert(*subscription, asked);
                }
            }
            RequestEvent::SubscriptionFailed { ticket, error } => {
                if let Some(asked) = self.requested.remove(ticket) {
                    debug!(%error, "no ids of UEs");
                    self.waiting.remove(&asked.node);
                }
            }
            RequestEvent::SubscriptionEnded { subscription, .. } => {
                if let Some(asked) = self.subscribed.remove(subscription) {
                    self.waiting.remove(&asked.node);
                }
            }
            _ => {}
        }
    }

    pub fn node_lost(&mut self, node: NodeId) {
        self.waiting.remove(&node);
    }

    /// Records the UE IDs of a report.
    pub fn handle_indication(&mut self, indication: &Indication<'_>, ran: &mut RanDatabase) {
        let Some(asked) = self.subscribed.get(&indication.subscription) else { return };
        let gather = Gather::new();
        let decoded;
        let message = match indication.peek() {
            Some(peeked) => peeked.message,
            None => match indication.decode(&gather) {
                Ok(full) => {
                    decoded = full.message.to_cow().into_owned();
                    &decoded[..]
                }
                Err(_) => return,
            },
        };
        let arena = Arena::new();
        let (revision, wire) = (asked.detection.revision, asked.detection.wire);
        match IndicationMessage::decode_in(message, revision, wire, &arena) {
            Ok(message) => {
                for ue_id in message.ue_ids() {
                    ran.learn_ue_id(Time::from_nanos(0), asked.node, ue_id);
                }
            }
            Err(error) => debug!(%error, "cannot decode a report"),
        }
        self.waiting.remove(&asked.node);
    }

    /// Ends the subscriptions.
    pub fn end(&mut self, ric: &mut Commands<'_>) {
        for subscription in std::mem::take(&mut self.subscribed).into_keys() {
            ric.unsubscribe(subscription);
        }
        self.waiting.clear();
    }
}

/// A subscription to the UEs of a slice: the only condition that OAI's base stations accept.
fn spec(definition: &[u8], detection: Detection, sst: Sst) -> Result<SubscriptionSpec, e2sm::Error> {
    let (revision, wire) = (detection.revision, detection.wire);
    let arena = Arena::new();
    let definition = RanFunctionDefinition::decode_in(definition, revision, wire, &arena)?;
    let plan = Plan::every_ue(&definition, revision, EveryUe::InSlice(SNssai { sst, sd: None }), PERIOD_MS)?;
    let (mut event_trigger, mut action) = (Vec::new(), Vec::new());
    plan.trigger.encode_in(revision, wire, &mut event_trigger)?;
    plan.action.encode_in(revision, wire, &mut action)?;
    let (id, kind) = (RicActionId(1), RicActionType::Report);
    Ok(SubscriptionSpec {
        event_trigger,
        actions: vec![Action { id, kind, definition: Some(action), subsequent: None }],
    })
}

//! Subscriptions to what nodes report of their UEs.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use e2sm::Arena;
use e2sm::kpm::EveryUe;
use ferric::e2::topology::{UeModel, UeReportConfig, UeSource};
use ferric::e2::xapp::NodeInfo;
use ferric::e2::{NodeId, SubscriptionId, Ticket};
use ferric::xapp::{Commands, Indication, RequestEvent};
use per::Gather;
use tracing::{debug, info};

use super::Ues;

/// The longest wait for the first reports of a node.
const PATIENCE: Duration = Duration::from_secs(2);

/// The subscriptions.
#[derive(Default)]
pub(super) struct Reports {
    requested: HashMap<Ticket, (NodeId, UeSource)>,
    subscribed: BTreeMap<SubscriptionId, (NodeId, UeSource)>,
    asked: HashSet<NodeId>,
    /// The nodes whose models that tell all UEs at once have not reported yet.
    waiting: HashSet<(NodeId, &'static str)>,
    /// The end of the wait.
    until: Option<Instant>,
}

impl Reports {
    pub fn node_lost(&mut self, node: NodeId) {
        self.asked.remove(&node);
        self.waiting.retain(|(of, _)| *of != node);
        self.subscribed.retain(|_, (of, _)| *of != node);
    }
}

impl Ues {
    /// Whether reports are still expected.
    #[cfg(feature = "xapp")]
    pub fn is_waiting(&self) -> bool {
        !self.reports.waiting.is_empty() && self.reports.until.is_some_and(|until| Instant::now() < until)
    }

    /// Subscribes to what a node reports of its UEs by these models, unless it was done before. `period_ms` and `kpm_ues` are those
    /// of KPM.
    pub fn ask(
        &mut self,
        node: &NodeInfo,
        models: &'static [UeModel],
        period_ms: u32,
        kpm_ues: EveryUe,
        ric: &mut Commands<'_>,
    ) {
        if !self.reports.asked.insert(node.id) {
            return;
        }
        let config = UeReportConfig { models, period_ms: Some(period_ms), kpm_ues };
        for source in UeSource::of_node(node.functions.iter().map(Into::into), &config) {
            let model = source.model();
            info!(node = %node.global_id, model = model.name(), "asks for the names of UEs");
            // RC reports changes only
            if model != UeModel::Rc {
                self.reports.waiting.insert((node.id, model.name()));
                self.reports.until = Some(Instant::now() + PATIENCE);
            }
            let ticket = ric.subscribe(node.id, source.function, source.order());
            self.reports.requested.insert(ticket, (node.id, source));
        }
    }

    pub fn handle_request(&mut self, event: &RequestEvent) {
        match event {
            RequestEvent::Subscribed { ticket, subscription, .. } => {
                if let Some(source) = self.reports.requested.remove(ticket) {
                    self.reports.subscribed.insert(*subscription, source);
                }
            }
            RequestEvent::SubscriptionFailed { ticket, error } => {
                if let Some((node, source)) = self.reports.requested.remove(ticket) {
                    debug!(%error, model = source.model().name(), "no names of UEs");
                    self.reports.waiting.remove(&(node, source.model().name()));
                }
            }
            RequestEvent::SubscriptionEnded { subscription, .. } => {
                if let Some((node, source)) = self.reports.subscribed.remove(subscription) {
                    self.reports.waiting.remove(&(node, source.model().name()));
                }
            }
            _ => {}
        }
    }

    /// Records the UEs of a report. Returns whether the report belongs to the directory.
    pub fn handle_indication(&mut self, indication: &Indication<'_>) -> bool {
        let now = self.now();
        let Some((node, source)) = self.reports.subscribed.get_mut(&indication.subscription) else { return false };
        let gather = Gather::new();
        let decoded;
        let message = match indication.peek() {
            Some(peeked) => peeked.message,
            None => match indication.decode(&gather) {
                Ok(full) => {
                    decoded = full.message.to_cow().into_owned();
                    &decoded[..]
                }
                Err(_) => return true,
            },
        };
        match source.read(message, &Arena::new()) {
            Ok(changes) => changes.iter().for_each(|change| self.ran.apply(now, *node, change)),
            Err(error) => debug!(%error, model = source.model().name(), "cannot decode a report of UEs"),
        }
        self.reports.waiting.remove(&(*node, source.model().name()));
        true
    }

    /// Ends the subscriptions.
    #[cfg(feature = "xapp")]
    pub fn end(&mut self, ric: &mut Commands<'_>) {
        for subscription in std::mem::take(&mut self.reports.subscribed).into_keys() {
            ric.unsubscribe(subscription);
        }
        self.reports.waiting.clear();
    }
}

//! Subscriptions to KPM and RC that yield the ids which the nodes have for their UEs.

use std::collections::HashMap;
use std::time::Duration;

use e2sm::Arena;
use e2sm::common::{SNssai, Sst};
use e2sm::kpm::EveryUe;
use ferric::e2::topology::{UeModel, UeReportConfig, UeSource};
use ferric::e2::{self, Indication, SubscriptionId, SubscriptionOrder, Ticket};
use ferric::server::{Iapp, IappContext, IappEvent, RequestEvent, Server};
use per::Gather;
use tracing::{debug, info, warn};

/// The condition of the reports of KPM: UEs of slices with this SST (eMBB). It is the only condition that all public base stations
/// accept.
const SLICE: EveryUe = EveryUe::InSlice(SNssai { sst: Sst([1]), sd: None });
/// The slicing controller reads the others.
const MODELS: &[UeModel] = &[UeModel::Kpm, UeModel::Rc];

/// The internal app.
struct UeIdReports {
    config: UeReportConfig,
    requested: HashMap<Ticket, UeSource>,
    subscribed: HashMap<SubscriptionId, UeSource>,
    arena: Arena,
    undecodable: u64,
}

/// Adds an app to a RIC that records the UE IDs in reports of RC (styles 4 and 5) in the RAN database, of each node that offers
/// them, and those in reports of KPM (style 4) if their period is given.
///
/// # Panics
/// If the period is zero.
pub fn ask_for_ue_ids(server: &mut Server, period: Option<Duration>) {
    let period_ms = period.map(|period| period.as_millis().try_into().unwrap_or(u32::MAX));
    assert!(period_ms != Some(0), "reports need a period");
    server.add_iapp(Box::new(UeIdReports {
        config: UeReportConfig { models: MODELS, period_ms, kpm_ues: SLICE },
        requested: HashMap::new(),
        subscribed: HashMap::new(),
        arena: Arena::new(),
        undecodable: 0,
    }));
}

impl UeIdReports {
    fn node_up(&mut self, node: &e2::Node, ric: &mut IappContext<'_>) {
        let mut models = Vec::new();
        for source in UeSource::of_node(node.functions.iter().map(Into::into), &self.config) {
            let order = SubscriptionOrder { restore: false, ..source.order() };
            match ric.subscribe(node.id, source.function, order) {
                Ok(ticket) => {
                    models.push(source.model().name());
                    self.requested.insert(ticket, source);
                }
                Err(misuse) if ric.allows_line(node.id) => {
                    warn!(node = %node.global_id, model = source.model().name(), "no ids of UEs: {misuse}");
                }
                Err(_) => {}
            }
        }
        models.dedup();
        if !models.is_empty() && ric.allows_line(node.id) {
            info!(node = %node.global_id, ?models, "subscribed to the ids of UEs");
        }
    }

    fn learn(&mut self, indication: &Indication<'_>, message: &[u8], ric: &mut IappContext<'_>) -> Result<(), String> {
        let Some(source) = self.subscribed.get_mut(&indication.subscription) else { return Ok(()) };
        self.arena.reset();
        let changes = source.read(message, &self.arena).map_err(|error| error.to_string())?;
        changes.iter().for_each(|change| ric.apply_ue(indication.node, change));
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
                if let Some(source) = self.requested.remove(ticket) {
                    self.subscribed.insert(*subscription, source);
                }
            }
            IappEvent::Request(RequestEvent::SubscriptionFailed { ticket, error }) => {
                if let Some(source) = self.requested.remove(ticket) {
                    debug!(%error, model = source.model().name(), "no ids of UEs");
                }
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
            if self.undecodable.is_power_of_two() && ric.allows_line(indication.node) {
                warn!(undecodable = self.undecodable, error, "cannot decode a report of UEs");
            }
        }
    }
}

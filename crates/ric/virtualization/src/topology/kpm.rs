//! KPM of a base station with several parts: one function with the measurements of all of them.
//!
//! An action is divided by measurement: each part is asked for what it measures, and names the UEs as it does. The reports of a period
//! are merged by UE, with the UE ID of the CU-CP, and sent when all parts have reported that reported in the period before.
//!
//! | | the report |
//! |---|---|
//! | a part is lost, or its report cannot be decoded | has no value for its measurements |
//! | a record has another number of values than its measurements | has no value for them |
//! | a UE is repeated by a part | has the first of its rows |
//! | a UE is unknown to the CU-CP | does not have it |
//! | several DUs have values of a UE | has those of the first one |
//! | of UEs that meet conditions, at several DUs | has the sum over all of them, see [`groups`] |
//! | a part refuses to check conditions | has its values of the UEs for which another part does |

mod groups;
mod merge;
mod offer;
mod plan;

use std::collections::{BTreeSet, HashMap};

use e2sm::Arena;
use e2sm::common::UeId;
use e2sm::kpm::{EventTriggerDefinition, EventTriggerDefinitionFormats, EveryUe};
use ferric::agent::RequestKey;
use ferric::e2::topology::{Part, UeChange, UeModel, UeName, UeRef, UeReportConfig, UeSource};
use ferric::e2::{Action, Node, NodeId, RequestEvent, SubscriptionId, SubscriptionOrder, SubscriptionSpec, Ticket};
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RanFunctionId, RicActionId};
use ferric::server::IappContext;
use tracing::{debug, warn};

use super::exposed::Station;
use super::merged::{Divided, DividedAction, Env, Merged, MergedModel, MergedSubscriptions, PartRequest};
use super::offers::Ranked;
use super::periods::{Collector, Pending};
use super::ues::SharedCu;
use merge::{PartReport, ue_id_of_cu};
pub(super) use offer::KpmParts;
use plan::{Context, Split, du_of, split};

/// The service models by which the CU-CP names its UEs, the best first.
const NAMES: &[UeModel] = &[UeModel::Rrc, UeModel::Rc, UeModel::Kpm];
/// The period of reports that are requested for the names of UEs only.
const NAMES_PERIOD_MS: u32 = 1000;

/// The service model.
struct Kpm;

/// A divided action and the reports of its period.
#[derive(Debug)]
struct MergedAction {
    split: Split,
    collector: Collector<PartReport>,
}

impl DividedAction for MergedAction {
    fn id(&self) -> RicActionId {
        self.split.id
    }

    fn parts(&self) -> impl Iterator<Item = Ranked> + Clone {
        self.split.parts.iter().map(|part| part.part)
    }

    fn request(&self, part: Ranked) -> Option<PartRequest> {
        let definition = self.split.part(part)?.definition.clone();
        Some(PartRequest { event_trigger: None, definition })
    }

    fn has_conditions(&self, part: Ranked) -> bool {
        self.split.part(part).is_some_and(|of| of.selects == Some(true))
    }

    fn renew(&mut self, again: Self) {
        self.split = again.split;
    }
}

/// The subscriptions to merged functions, and those by which the names of UEs are learned.
#[derive(Default)]
pub(super) struct MergedKpm {
    subscriptions: MergedSubscriptions<Kpm>,
    /// By the node of the CU-CP.
    names: HashMap<NodeId, NameSource>,
}

struct NameSource {
    source: UeSource,
    ticket: Ticket,
    subscription: Option<SubscriptionId>,
}

impl MergedKpm {
    /// Subscribes to what the parts have of a subscription of the controller.
    pub fn subscribe(
        &mut self,
        of: (usize, RanFunctionId),
        key: RequestKey,
        spec: SubscriptionSpec,
        env: &mut Env<'_, '_>,
    ) {
        self.subscriptions.subscribe(of, key, spec, env);
    }

    /// Ends the subscriptions of a base station that `is_gone` selects.
    pub fn remove(&mut self, station: usize, is_gone: impl Fn(RequestKey) -> bool, ric: &mut IappContext<'_>) {
        self.subscriptions.remove(station, is_gone, ric);
    }

    /// Subscribes to the parts that have come back, and to the names of the UEs of CU-CPs.
    pub fn refresh(&mut self, nodes: &HashMap<NodeId, Node>, env: &mut Env<'_, '_>) {
        self.subscriptions.refresh(env);
        let with_kpm = env.stations.iter().filter(|station| station.handle.is_some() && station.kpm.merged().is_some());
        let cus: BTreeSet<NodeId> = with_kpm.filter_map(|station| station.parts.get(&Part::Control).copied()).collect();
        for (id, node) in cus.into_iter().filter_map(|id| Some((id, nodes.get(&id)?))) {
            if self.names.contains_key(&id) {
                continue;
            }
            let config =
                UeReportConfig { models: NAMES, period_ms: Some(NAMES_PERIOD_MS), kpm_ues: EveryUe::default() };
            let sources = UeSource::of_node(node.functions.iter().map(Into::into), &config);
            let rank = |source: &UeSource| NAMES.iter().position(|model| *model == source.model());
            let Some(source) = sources.into_iter().min_by_key(rank) else {
                if env.ric.allows_line(id) {
                    warn!(node = %node.global_id, "the CU-CP names no UEs (RRC, RC, KPM): reports of UEs are empty");
                }
                continue;
            };
            let order = SubscriptionOrder { restore: false, ..source.order() };
            match env.ric.subscribe(id, source.function, order) {
                Ok(ticket) => drop(self.names.insert(id, NameSource { source, ticket, subscription: None })),
                Err(misuse) if env.ric.allows_line(id) => {
                    warn!(node = %node.global_id, function = source.function.0, "cannot subscribe to names of UEs: {misuse}");
                }
                Err(_) => {}
            }
        }
    }

    /// Reports without the measurements of a lost node.
    pub fn node_lost(&mut self, node: NodeId, env: &mut Env<'_, '_>) {
        self.names.remove(&node);
        self.subscriptions.node_lost(node, env);
    }

    /// Handles the answer of a part. Returns whether it was to a subscription of a merged function.
    pub fn handle_request(&mut self, event: &RequestEvent, env: &mut Env<'_, '_>) -> bool {
        self.handle_names(event) || self.subscriptions.handle_request(event, env)
    }

    /// Asks the DUs to which UEs of lists have moved, as a CU-CP says.
    fn follow(&mut self, cu: NodeId, changes: &[UeChange], env: &mut Env<'_, '_>) {
        let ran = env.ric.ran();
        let place = |change: &UeChange| {
            let UeChange::Present { names, .. } = change else { return None };
            let ue = names.iter().find_map(|name| ran.find_ue(cu, name))?;
            Some((ue.id(), du_of(ran, cu, ue)?))
        };
        let places: Vec<(UeRef, NodeId)> = changes.iter().filter_map(place).collect();
        if places.is_empty() {
            return;
        }
        let has_moved = |action: &MergedAction| {
            let known = |ue: &UeRef| action.split.ues.get(ue);
            places.iter().any(|(ue, du)| known(ue).is_some_and(|before| *before != Some(*du)))
        };
        self.subscriptions.renew(has_moved, env);
    }

    fn handle_names(&mut self, event: &RequestEvent) -> bool {
        let (ticket, answer) = match event {
            RequestEvent::Subscribed { ticket, subscription, .. } => (ticket, Ok(*subscription)),
            RequestEvent::SubscriptionFailed { ticket, error } => (ticket, Err(error)),
            RequestEvent::SubscriptionEnded { subscription, .. } => {
                let before = self.names.len();
                self.names.retain(|_, names| names.subscription != Some(*subscription));
                return self.names.len() < before;
            }
            _ => return false,
        };
        let Some(names) = self.names.values_mut().find(|names| names.ticket == *ticket) else { return false };
        match answer {
            Ok(subscription) => names.subscription = Some(subscription),
            Err(error) => warn!(?error, "a CU-CP refuses to name its UEs: reports of UEs are empty"),
        }
        true
    }

    /// Takes over a report. Returns whether it is one of these subscriptions.
    pub fn report(
        &mut self,
        (node, subscription, action): (NodeId, SubscriptionId, RicActionId),
        (header, message): (&[u8], &[u8]),
        arena: &Arena,
        env: &mut Env<'_, '_>,
    ) -> bool {
        let names = self.names.get_mut(&node).filter(|names| names.subscription == Some(subscription));
        let Some(names) = names else {
            return self.subscriptions.report((node, subscription, action), (header, message), arena, env);
        };
        match names.source.read(message, arena) {
            Ok(changes) => {
                changes.iter().for_each(|change| env.ric.apply_ue(node, change));
                self.follow(node, &changes, env);
            }
            Err(error) if env.ric.allows_line(node) => {
                warn!("cannot decode the names of UEs of a CU-CP: {error}");
            }
            Err(_) => {}
        }
        true
    }
}

/// Divides an action of a base station.
fn divided(
    station: usize,
    action: &Action,
    period_ms: u32,
    unable: &BTreeSet<Ranked>,
    env: &Env<'_, '_>,
) -> Result<Split, Cause> {
    let of = &env.stations[station];
    let cu = of.parts.get(&Part::Control).copied();
    let cu = cu.ok_or(Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable))?;
    let shared = env.cus.get(&cu).filter(|_| of.config.shares_cu());
    let owns = |ue_id: &UeId<'_>| shared.is_none_or(|shared| shared.owner(ue_id) == Some(station));
    let cells = shared.map(|shared| {
        let own = shared.cells.iter().filter(|(_, of)| **of == station);
        own.map(|(cell, _)| *cell).collect()
    });
    split(&of.kpm, action, period_ms, &Context { ran: env.ric.ran(), cu, cells, owns: &owns, unable })
}

impl MergedModel for Kpm {
    type Action = MergedAction;

    fn target(station: &Station, part: Ranked) -> Option<(NodeId, RanFunctionId)> {
        station.kpm.target(part)
    }

    fn divide(
        station: usize,
        spec: &SubscriptionSpec,
        unable: &BTreeSet<Ranked>,
        env: &Env<'_, '_>,
    ) -> Result<Divided<MergedAction>, Cause> {
        let parts = &env.stations[station].kpm;
        let detection = parts.detection().ok_or(Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid))?;
        let trigger = EventTriggerDefinition::decode_in(&spec.event_trigger, detection.revision, detection.wire)
            .map_err(|_| Cause::Protocol(CauseProtocol::TransferSyntaxError))?;
        let EventTriggerDefinitionFormats::Format1(trigger) = trigger.formats;
        Divided::of(spec, |action| {
            let split = divided(station, action, trigger.reporting_period, unable, env)?;
            Ok(MergedAction { split, collector: Collector::default() })
        })
    }

    fn report(
        of: &mut Merged<MergedAction>,
        (part, node, at): (Ranked, NodeId, usize),
        (header, message): (&[u8], &[u8]),
        arena: &Arena,
        env: &mut Env<'_, '_>,
    ) {
        let station = &env.stations[of.station];
        let (Some(detection), Some(cu)) = (station.kpm.detection(), station.parts.get(&Part::Control).copied()) else {
            return;
        };
        let merged = &mut of.actions[at];
        let Some(part_action) = merged.split.part(part) else { return };
        let shared = env.cus.get(&cu).filter(|_| station.config.shares_cu());
        let ric = &mut *env.ric;
        let translate = |ue_id: &UeId<'_>| {
            let names = UeName::all_of(ue_id);
            if part.1 == Part::Control {
                ric.learn_ue(node, &names);
            }
            let known =
                |name| ric.ran().find_ue(node, name).and_then(|ue| Some((ue.id(), ue_id_of_cu(ric.ran(), cu, ue)?)));
            let (ue, of_cu) = names.iter().find_map(known)?;
            // a DU of the base station has its UEs only
            let is_own = |shared: &SharedCu| matches!(part.1, Part::Du(_)) || shared.owner(&of_cu) == Some(of.station);
            shared.is_none_or(is_own).then_some((ue, of_cu))
        };
        let read = merge::read(&merged.split, part_action, &detection, message, arena, translate);
        let config = &env.stations[of.station].config;
        let report = read.unwrap_or_else(|error| {
            if env.ric.allows_line(node) {
                warn!(station = %config, part = ?part.1, "cannot decode a report of measurements: {error}");
            }
            PartReport::default()
        });
        let PartReport { mismatches, left_out, .. } = report;
        if mismatches > 0 && env.ric.allows_line(node) {
            warn!(station = %config, part = ?part.1, mismatches, "records of a part do not fit its measurements: they have no values");
        }
        if left_out > 0 {
            debug!(station = %config, part = ?part.1, left_out, "UEs that the CU-CP does not know are not reported");
        }
        let parts = merged.split.parts.iter().map(|part| part.part);
        if let Some(before) = merged.collector.add(parts, part, header, report) {
            send(of, at, before, env);
        }
    }

    fn progress(of: &mut Merged<MergedAction>, at: usize, env: &mut Env<'_, '_>) {
        let mut collector = std::mem::take(&mut of.actions[at].collector);
        let complete = collector.take_complete(of.actions[at].parts(), |part| of.is_active(part));
        of.actions[at].collector = collector;
        if let Some(complete) = complete {
            send(of, at, complete, env);
        }
    }
}

/// Sends the report of a period.
fn send(of: &Merged<MergedAction>, at: usize, pending: Pending<PartReport>, env: &mut Env<'_, '_>) {
    let split = &of.actions[at].split;
    let station = &env.stations[of.station];
    let Some(detection) = station.kpm.detection() else { return };
    let mut message = Vec::new();
    match merge::write(pending, split, &detection, &mut message) {
        Ok(Some(header)) if of.is_answered => of.send(split.id, &header, &message, env),
        Ok(_) => {}
        Err(error) => warn!(station = %station.config, "cannot merge the measurements of the parts: {error}"),
    }
}

#[cfg(test)]
mod tests;

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

mod merge;
mod offer;
mod plan;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use e2sm::Arena;
use e2sm::common::UeId;
use e2sm::kpm::{EventTriggerDefinition, EventTriggerDefinitionFormats, EveryUe};
use ferric::agent::{Admission, RequestKey, SendAgentLoop};
use ferric::e2::topology::{Part, UeModel, UeName, UeReportConfig, UeSource};
use ferric::e2::{
    Action, Node, NodeId, RequestEvent, SubscribeError, SubscriptionId, SubscriptionOrder, SubscriptionSpec, Ticket,
};
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RanFunctionId, RicActionId};
use ferric::server::IappContext;
use tracing::{debug, warn};

use super::exposed::Station;
use super::ues::SharedCu;
use crate::outgoing::Outgoing;
use merge::{Collector, PartReport, Pending, ue_id_of_cu};
pub(super) use offer::KpmParts;
use offer::Ranked;
use plan::{Context, Split, split};

/// The service models by which the CU-CP names its UEs, the best first.
const NAMES: &[UeModel] = &[UeModel::Rrc, UeModel::Rc, UeModel::Kpm];
/// The period of reports that are requested for the names of UEs only.
const NAMES_PERIOD_MS: u32 = 1000;
/// The maximum number of subscriptions of all base stations.
const MAX_SUBSCRIPTIONS: usize = 4096;

/// What the merged functions act on.
pub(super) struct Env<'e, 'r> {
    pub stations: &'e mut [Station],
    pub agents: &'e mut SendAgentLoop,
    /// The CU-CPs of several base stations.
    pub cus: &'e HashMap<NodeId, SharedCu>,
    pub ric: &'e mut IappContext<'r>,
}

/// The subscription to a part.
#[derive(Debug)]
struct PartSubscription {
    node: NodeId,
    state: PartState,
    /// The actions that the part has not admitted.
    refused: Vec<(RicActionId, Cause)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PartState {
    Requested(Ticket),
    Active(SubscriptionId),
    /// Refused, or ended by the part.
    Ended,
}

/// A divided action and the reports of its period.
#[derive(Debug)]
struct MergedAction {
    split: Split,
    collector: Collector,
}

/// A subscription of the controller.
#[derive(Debug)]
struct Merged {
    station: usize,
    function: RanFunctionId,
    key: RequestKey,
    spec: SubscriptionSpec,
    period_ms: u32,
    actions: Vec<MergedAction>,
    refused: Vec<(RicActionId, Cause)>,
    parts: BTreeMap<Ranked, PartSubscription>,
    is_answered: bool,
}

/// The subscriptions to merged functions, and those by which the names of UEs are learned.
#[derive(Default)]
pub(super) struct MergedKpm {
    all: Vec<Merged>,
    /// Subscriptions that have ended before the part has answered.
    abandoned: BTreeSet<Ticket>,
    /// By the node of the CU-CP.
    names: HashMap<NodeId, NameSource>,
    /// What the reports of each active subscription are for.
    active: HashMap<SubscriptionId, Receiver>,
}

#[derive(Clone, Copy, Debug)]
enum Receiver {
    Names,
    /// The place of the subscription in `all`, and the part.
    Measurements(usize, Ranked),
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
        (station, function): (usize, RanFunctionId),
        key: RequestKey,
        spec: SubscriptionSpec,
        env: &mut Env<'_, '_>,
    ) {
        let subscribed = self.divide(station, &spec, env).and_then(|(period_ms, splits, refused)| {
            let actions = splits.into_iter().map(|split| MergedAction { split, collector: Collector::default() });
            let mut merged = Merged {
                station,
                function,
                key,
                spec,
                period_ms,
                actions: actions.collect(),
                refused,
                parts: BTreeMap::new(),
                is_answered: false,
            };
            let parts: BTreeSet<Ranked> =
                merged.actions.iter().flat_map(|action| &action.split.parts).map(|part| part.part).collect();
            parts.into_iter().for_each(|part| merged.ask(part, env));
            if merged.parts.is_empty() {
                return Err(Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable));
            }
            Ok(merged)
        });
        match subscribed {
            Ok(merged) => self.all.push(merged),
            Err(cause) => env.stations[station].send(function, Outgoing::Subscribed { key, answer: Err(cause) }),
        }
    }

    /// The reporting period, the divided actions, and those that are refused.
    #[allow(clippy::type_complexity, reason = "used once")]
    fn divide(
        &self,
        station: usize,
        spec: &SubscriptionSpec,
        env: &Env<'_, '_>,
    ) -> Result<(u32, Vec<Split>, Vec<(RicActionId, Cause)>), Cause> {
        if self.all.len() >= MAX_SUBSCRIPTIONS {
            return Err(Cause::RicRequest(CauseRicRequest::FunctionResourceLimit));
        }
        let parts = &env.stations[station].kpm;
        let detection = parts.detection().ok_or(Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid))?;
        let trigger = EventTriggerDefinition::decode_in(&spec.event_trigger, detection.revision, detection.wire)
            .map_err(|_| Cause::Protocol(CauseProtocol::TransferSyntaxError))?;
        let EventTriggerDefinitionFormats::Format1(trigger) = trigger.formats;
        let (mut splits, mut refused) = (Vec::new(), Vec::new());
        for action in &spec.actions {
            match divided(station, action, trigger.reporting_period, env) {
                Ok(split) => splits.push(split),
                Err(cause) => refused.push((action.id, cause)),
            }
        }
        match (&splits[..], &refused[..]) {
            ([], [(_, cause), ..]) => Err(*cause),
            ([], []) => Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported)),
            _ => Ok((trigger.reporting_period, splits, refused)),
        }
    }

    /// Ends the subscriptions of a base station that `is_gone` selects.
    pub fn remove(&mut self, station: usize, is_gone: impl Fn(RequestKey) -> bool, ric: &mut IappContext<'_>) {
        let abandoned = &mut self.abandoned;
        self.all.retain(|merged| {
            let stays = merged.station != station || !is_gone(merged.key);
            if !stays {
                for part in merged.parts.values() {
                    match part.state {
                        PartState::Requested(ticket) => drop(abandoned.insert(ticket)),
                        // fails only for one that has ended
                        PartState::Active(id) => drop(ric.unsubscribe(id)),
                        PartState::Ended => {}
                    }
                }
            }
            stays
        });
        self.index();
    }

    fn index(&mut self) {
        let names = self.names.values().filter_map(|names| Some((names.subscription?, Receiver::Names)));
        let parts = self.all.iter().enumerate().flat_map(|(at, merged)| merged.parts.iter().map(move |of| (at, of)));
        let parts = parts.filter_map(|(at, (part, subscription))| match subscription.state {
            PartState::Active(id) => Some((id, Receiver::Measurements(at, *part))),
            _ => None,
        });
        self.active = names.chain(parts).collect();
    }

    /// Subscribes to the parts that have come back, and to the names of the UEs of CU-CPs.
    pub fn refresh(&mut self, nodes: &HashMap<NodeId, Node>, env: &mut Env<'_, '_>) {
        for merged in &mut self.all {
            merged.take_back(env);
        }
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
        for merged in &mut self.all {
            let before = merged.parts.len();
            merged.parts.retain(|_, part| part.node != node);
            if merged.parts.len() < before {
                // the others are not waited for any longer
                merged.answer(env);
                merged.progress(env);
            }
        }
        self.index();
    }

    /// Handles the answer of a part. Returns whether it was to a subscription of a merged function.
    pub fn handle_request(&mut self, event: &RequestEvent, env: &mut Env<'_, '_>) -> bool {
        let is_own = self.handle(event, env);
        if is_own {
            self.index();
        }
        is_own
    }

    fn handle(&mut self, event: &RequestEvent, env: &mut Env<'_, '_>) -> bool {
        let unavailable = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
        let (ticket, answer) = match event {
            RequestEvent::Subscribed { ticket, subscription, not_admitted, .. } => {
                (ticket, Ok((*subscription, not_admitted.clone())))
            }
            RequestEvent::SubscriptionFailed { ticket, error } => {
                let cause = if let SubscribeError::Refused { cause, .. } = error { *cause } else { unavailable };
                (ticket, Err(cause))
            }
            RequestEvent::SubscriptionEnded { subscription, .. } => return self.ended(*subscription, env),
            _ => return false,
        };
        if self.abandoned.remove(ticket) {
            if let Ok((subscription, _)) = answer {
                // fails only for one that has ended
                let _ = env.ric.unsubscribe(subscription);
            }
            return true;
        }
        if let Some(names) = self.names.values_mut().find(|names| names.ticket == *ticket) {
            match answer {
                Ok((subscription, _)) => names.subscription = Some(subscription),
                Err(cause) => warn!(?cause, "a CU-CP refuses to name its UEs: reports of UEs are empty"),
            }
            return true;
        }
        let is_asked = |part: &PartSubscription| part.state == PartState::Requested(*ticket);
        let Some(merged) = self.all.iter_mut().find(|merged| merged.parts.values().any(is_asked)) else { return false };
        let actions: Vec<RicActionId> = merged.spec.actions.iter().map(|action| action.id).collect();
        if let Some(part) = merged.parts.values_mut().find(|part| is_asked(part)) {
            (part.state, part.refused) = match answer {
                Ok((subscription, refused)) => (PartState::Active(subscription), refused),
                Err(cause) => (PartState::Ended, actions.into_iter().map(|id| (id, cause)).collect()),
            };
        }
        if !merged.answer(env) {
            let (station, key) = (merged.station, merged.key);
            self.remove(station, |of| of == key, env.ric);
        }
        true
    }

    fn ended(&mut self, subscription: SubscriptionId, env: &mut Env<'_, '_>) -> bool {
        let node = self.names.iter().find(|(_, names)| names.subscription == Some(subscription)).map(|(node, _)| *node);
        if let Some(node) = node {
            self.names.remove(&node);
            return true;
        }
        for merged in &mut self.all {
            let is_ended = |part: &&mut PartSubscription| part.state == PartState::Active(subscription);
            if let Some(part) = merged.parts.values_mut().find(is_ended) {
                part.state = PartState::Ended;
                merged.progress(env);
                return true;
            }
        }
        false
    }

    /// Takes over a report. Returns whether it is one of these subscriptions.
    pub fn report(
        &mut self,
        (node, subscription, action): (NodeId, SubscriptionId, RicActionId),
        header: &[u8],
        message: &[u8],
        arena: &Arena,
        env: &mut Env<'_, '_>,
    ) -> bool {
        match self.active.get(&subscription).copied() {
            None => return false,
            Some(Receiver::Names) => {
                let Some(names) = self.names.get_mut(&node) else { return true };
                match names.source.read(message, arena) {
                    Ok(changes) => changes.iter().for_each(|change| env.ric.apply_ue(node, change)),
                    Err(error) if env.ric.allows_line(node) => {
                        warn!("cannot decode the names of UEs of a CU-CP: {error}");
                    }
                    Err(_) => {}
                }
            }
            Some(Receiver::Measurements(at, part)) => {
                self.all[at].report(part, node, action, (header, message), arena, env);
            }
        }
        true
    }
}

/// Divides an action of a base station.
fn divided(station: usize, action: &Action, period_ms: u32, env: &Env<'_, '_>) -> Result<Split, Cause> {
    let of = &env.stations[station];
    let cu = of.parts.get(&Part::Control).copied();
    let cu = cu.ok_or(Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable))?;
    let shared = env.cus.get(&cu).filter(|_| of.config.shares_cu());
    let owns = |ue_id: &UeId<'_>| shared.is_none_or(|shared| shared.owner(ue_id) == Some(station));
    let cells = shared.map(|shared| {
        let own = shared.cells.iter().filter(|(_, of)| **of == station);
        own.map(|(cell, _)| *cell).collect()
    });
    split(&of.kpm, action, period_ms, &Context { ran: env.ric.ran(), cu, cells, owns: &owns })
}

impl Merged {
    /// Subscribes to a part; if it refuses at once, it has no values.
    fn ask(&mut self, part: Ranked, env: &mut Env<'_, '_>) {
        let station = &env.stations[self.station];
        let Some((node, function)) = station.kpm.offer(part).and_then(|offer| Some((offer.node?, offer.function)))
        else {
            return;
        };
        let of_part = |action: &MergedAction| {
            let definition = Some(action.split.part(part)?.definition.clone());
            let asked = self.spec.actions.iter().find(|asked| asked.id == action.split.id)?;
            Some(Action { definition, ..asked.clone() })
        };
        let actions = self.actions.iter().filter_map(of_part).collect();
        let spec = SubscriptionSpec { event_trigger: self.spec.event_trigger.clone(), actions };
        let order = SubscriptionOrder { restore: false, ..spec.into() };
        match env.ric.subscribe(node, function, order) {
            Ok(ticket) => {
                let state = PartState::Requested(ticket);
                self.parts.insert(part, PartSubscription { node, state, refused: Vec::new() });
            }
            Err(misuse) if env.ric.allows_line(node) => {
                warn!(station = %station.config, function = function.0, "cannot subscribe to measurements: {misuse}");
            }
            Err(_) => {}
        }
    }

    /// Subscribes to the parts that have come back: with the names that UEs have there now.
    fn take_back(&mut self, env: &mut Env<'_, '_>) {
        let wanted = self.actions.iter().flat_map(|action| &action.split.parts).map(|part| part.part);
        let wanted: BTreeSet<Ranked> = wanted.filter(|part| !self.parts.contains_key(part)).collect();
        let is_back =
            |part: &Ranked| env.stations[self.station].kpm.offer(*part).is_some_and(|offer| offer.node.is_some());
        for part in wanted.into_iter().filter(is_back).collect::<Vec<_>>() {
            for action in &mut self.actions {
                let Some(asked) = self.spec.actions.iter().find(|asked| asked.id == action.split.id) else { continue };
                let Ok(again) = divided(self.station, asked, self.period_ms, env) else { continue };
                let again = again.parts.into_iter().find(|again| again.part == part);
                let before = action.split.parts.iter_mut().find(|before| before.part == part);
                if let (Some(before), Some(again)) = (before, again) {
                    *before = again;
                }
            }
            self.ask(part, env);
        }
    }

    /// Answers the controller once all parts have answered. An action is admitted if all its parts admit it. Returns whether the
    /// subscription goes on.
    fn answer(&mut self, env: &mut Env<'_, '_>) -> bool {
        if self.is_answered || self.parts.values().any(|part| matches!(part.state, PartState::Requested(_))) {
            return true;
        }
        self.is_answered = true;
        for part in self.parts.values_mut() {
            self.refused.append(&mut part.refused);
        }
        self.refused.sort_by_key(|(id, _)| id.0);
        self.refused.dedup_by_key(|(id, _)| id.0);
        let refused = &self.refused;
        self.actions.retain(|action| !refused.iter().any(|(id, _)| *id == action.split.id));
        let answer = match (&self.actions[..], &refused[..]) {
            ([], [(_, cause), ..]) => Err(*cause),
            ([], []) => Err(Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable)),
            (actions, refused) => {
                let admitted = actions.iter().map(|action| action.split.id).collect();
                Ok(Admission { admitted, not_admitted: refused.to_vec() })
            }
        };
        let goes_on = answer.is_ok();
        env.stations[self.station].send(self.function, Outgoing::Subscribed { key: self.key, answer });
        goes_on
    }

    fn report(
        &mut self,
        part: Ranked,
        node: NodeId,
        action: RicActionId,
        (header, message): (&[u8], &[u8]),
        arena: &Arena,
        env: &mut Env<'_, '_>,
    ) {
        let station = &env.stations[self.station];
        let (Some(detection), Some(cu)) = (station.kpm.detection(), station.parts.get(&Part::Control).copied()) else {
            return;
        };
        let Some(at) = self.actions.iter().position(|known| known.split.id == action) else { return };
        let merged = &mut self.actions[at];
        let Some(part_action) = merged.split.part(part) else { return };
        let shared = env.cus.get(&cu).filter(|_| env.stations[self.station].config.shares_cu());
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
            let is_own =
                |shared: &SharedCu| matches!(part.1, Part::Du(_)) || shared.owner(&of_cu) == Some(self.station);
            shared.is_none_or(is_own).then_some((ue, of_cu))
        };
        let read = merge::read(&merged.split, part_action, &detection, message, arena, translate);
        let config = &env.stations[self.station].config;
        let PartReport { rows, mismatches, left_out } = read.unwrap_or_else(|error| {
            if env.ric.allows_line(node) {
                warn!(station = %config, part = ?part.1, "cannot decode a report of measurements: {error}");
            }
            PartReport::default()
        });
        if mismatches > 0 && env.ric.allows_line(node) {
            warn!(station = %config, part = ?part.1, mismatches, "records of a part do not fit its measurements: they have no values");
        }
        if left_out > 0 {
            debug!(station = %config, part = ?part.1, left_out, "UEs that the CU-CP does not know are not reported");
        }
        if let Some(before) = merged.collector.add(&merged.split, part, header, rows) {
            self.send(at, before, env);
        }
        self.progress(env);
    }

    /// Sends the reports of periods for which all parts have reported that are to.
    fn progress(&mut self, env: &mut Env<'_, '_>) {
        for at in 0..self.actions.len() {
            let MergedAction { split, collector } = &mut self.actions[at];
            let parts = &self.parts;
            let is_active = |part: Ranked| parts.get(&part).is_some_and(|of| matches!(of.state, PartState::Active(_)));
            if let Some(complete) = collector.take_complete(split, is_active) {
                self.send(at, complete, env);
            }
        }
    }

    /// Sends the report of a period.
    fn send(&mut self, at: usize, pending: Pending, env: &mut Env<'_, '_>) {
        let split = &self.actions[at].split;
        let station = &mut env.stations[self.station];
        let Some(detection) = station.kpm.detection() else { return };
        let mut message = Vec::new();
        match pending.write(split, &detection, &mut message) {
            Ok(Some(header)) if self.is_answered => {
                let of = (self.key, split.id);
                let mut shared = station.shared.lock();
                station.has_outgoing |= shared.outbox.report(env.agents, self.function, of, &header, &message);
            }
            Ok(_) => {}
            Err(error) => warn!(station = %station.config, "cannot merge the measurements of the parts: {error}"),
        }
    }
}

#[cfg(test)]
mod tests;

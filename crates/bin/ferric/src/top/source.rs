//! Where the values come from: subscriptions to KPM and to slices on each node.

use std::collections::{BTreeMap, HashMap};
use std::time::SystemTime;

use anyhow::{Context, bail};
use e2ap::{RanFunctionId, RicActionId, RicActionType};
use e2sm::common::UeId;
use e2sm::kpm::{
    ActionDefinition, Detection, EveryUe, IndicationMessage, MeasurementRequest, MeasurementType,
    RanFunctionDefinition, ReportRequest, Revision, Scope,
};
use e2sm::slice::{self, Parameters, Share};
use e2sm::{Arena, Wire};
use ferric::e2::topology::UeModel;
use ferric::e2::xapp::{FunctionInfo, NodeInfo};
use ferric::e2::{Action, NodeId, SubscriptionId, SubscriptionSpec, Ticket};
use ferric::xapp::{Commands, Indication, RequestEvent, XappEvent};
use per::Gather;

use super::model::{Network, Sample};
use crate::xapp::ues::{KnownUe, Ues};

/// What is shown of each UE, and what of each cell, as far as the node offers it.
const OF_UES: [&str; 8] = [
    "DRB.UEThpDl",
    "DRB.UEThpUl",
    "DRB.PdcpSduVolumeDL",
    "DRB.PdcpSduVolumeUL",
    "RRU.PrbTotDl",
    "RRU.PrbTotUl",
    "DRB.RlcSduDelayDl",
    "CQI",
];
const OF_CELLS: [&str; 7] = [
    "DRB.UEThpDl",
    "DRB.UEThpUl",
    "DRB.PdcpSduVolumeDL",
    "DRB.PdcpSduVolumeUL",
    "RRU.PrbTotDl",
    "RRU.PrbTotUl",
    "RRC.ConnMean",
];
/// The report styles, by the format of their action definition (E2SM-KPM 7.4).
const UES: i64 = 4;
const CELL: i64 = 1;
/// The most slices of a cell that are shown.
const MAX_SLICES: usize = 16;

/// The subscriptions of an xApp that shows a network.
pub struct Sources {
    period_ms: u32,
    pending: BTreeMap<Ticket, Source>,
    sources: BTreeMap<SubscriptionId, Source>,
    ues: Ues,
    arena: Arena,
}

/// A subscription.
struct Source {
    id: NodeId,
    node: String,
    kind: Kind,
}

enum Kind {
    Ues(Kpm),
    Cell(Kpm),
    Slices(Wire),
}

/// A subscription to KPM: the encoded action names values that the node sends without names.
struct Kpm {
    revision: Revision,
    wire: Wire,
    action: Vec<u8>,
}

impl Sources {
    pub fn new(period_ms: u32) -> Self {
        Sources { period_ms, pending: BTreeMap::new(), sources: BTreeMap::new(), ues: Ues::new(), arena: Arena::new() }
    }

    /// Handles an event of the xApp. Returns whether the network has new values.
    pub fn handle(&mut self, event: XappEvent<'_>, ric: &mut Commands<'_>, network: &mut Network) -> bool {
        let now = SystemTime::now();
        if let XappEvent::Request(event) = &event {
            self.ues.handle_request(event);
        }
        match event {
            XappEvent::NodeUp(node) => self.node_up(now, node, ric, network),
            XappEvent::NodeLost(node) => {
                let name = node.global_id.to_string();
                self.sources.retain(|_, source| source.node != name);
                self.ues.node_lost(node.id);
                network.remove_cell(&name);
                network.event(now, format!("{} lost", node.global_id.label()));
            }
            XappEvent::Disconnected { retry_in } => {
                let trouble = format!("connection to the RIC lost, next attempt in {} s", retry_in.as_secs());
                network.event(now, trouble.clone());
                network.trouble = Some(trouble);
            }
            XappEvent::Reconnected(ric_id) => {
                network.trouble = None;
                network.ric = ric_id.to_string();
                network.event(now, "connected to the RIC again".to_owned());
            }
            XappEvent::Request(RequestEvent::Subscribed { ticket, subscription, .. }) => {
                if let Some(source) = self.pending.remove(&ticket) {
                    self.sources.insert(subscription, source);
                }
            }
            XappEvent::Request(RequestEvent::SubscriptionFailed { ticket, error }) => {
                if let Some(source) = self.pending.remove(&ticket) {
                    network.set_trouble(&source.node, error.to_string());
                    network.event(now, format!("{}: {error}", source.node));
                }
            }
            XappEvent::Request(RequestEvent::SubscriptionEnded { subscription, end }) => {
                if let Some(source) = self.sources.remove(&subscription) {
                    network.event(now, format!("{}: subscription ended: {end}", source.node));
                }
            }
            XappEvent::Indication(indication) => {
                return !self.ues.handle_indication(&indication) && self.indication(now, &indication, network);
            }
            XappEvent::ReportsDropped(reports) => {
                network.event(now, format!("{reports} reports dropped so far: this xApp reads too slowly"));
            }
            _ => {}
        }
        false
    }

    fn node_up(&mut self, now: SystemTime, node: &NodeInfo, ric: &mut Commands<'_>, network: &mut Network) {
        let name = node.global_id.to_string();
        network.trouble = None;
        network.add_cell(&name, &node.global_id.label().to_string());
        network.event(now, format!("{} up", node.global_id.label()));
        let mut has_kpm = false;
        for function in &node.functions {
            if let Some(wire) = slice::MODEL.wire_of(function.oid.trim()) {
                self.subscribe_to_slices(node, &name, function, wire, ric);
                continue;
            }
            match self.subscribe_to_kpm(node, &name, function, ric) {
                Ok(is_kpm) => has_kpm |= is_kpm,
                Err(error) => {
                    has_kpm = true;
                    network.set_trouble(&name, format!("{error:#}"));
                    network.event(now, format!("{name}: {error:#}"));
                }
            }
        }
        self.ues.node_up(node);
        self.ues.ask(node, &[UeModel::Rrc], self.period_ms, EveryUe::AnySignal, ric);
        if !has_kpm {
            network.set_trouble(&name, "the node does not offer KPM".to_owned());
        }
    }

    /// Subscribes to reports of UEs and of the cell. Returns false for a function of another model.
    fn subscribe_to_kpm(
        &mut self,
        node: &NodeInfo,
        name: &str,
        function: &FunctionInfo,
        ric: &mut Commands<'_>,
    ) -> anyhow::Result<bool> {
        let detected = Detection::from_ran_function(&function.oid, function.revision.0, &function.definition);
        let hinted = function.model_revision.as_deref().and_then(|revision| revision.parse().ok());
        let detection = match (hinted, detected) {
            (_, Err(e2sm::Error::UnknownOid)) => return Ok(false),
            (Some(revision), _) => Detection::configured(revision).in_wire_of(&function.oid),
            (None, detected) => detected.context("unknown revision of KPM")?,
        };
        let (revision, wire) = (detection.revision, detection.wire);
        if revision < Revision::V2_01 {
            bail!("KPM {revision} has other reports: use `ferric xapp kpm`");
        }
        let arena = Arena::new();
        let definition = RanFunctionDefinition::decode_in(&function.definition, revision, wire, &arena)?;
        let mut is_subscribed = false;
        for (format, wanted) in [(UES, &OF_UES[..]), (CELL, &OF_CELLS[..])] {
            let styles = definition.ric_report_style_list.iter().flatten();
            let offered: Vec<&str> = styles
                .filter(|style| style.ric_action_format_type.0 == format)
                .flat_map(|style| style.meas_info_action_list.iter().map(|item| item.meas_name.as_str()))
                .collect();
            let measurements: Vec<_> = wanted
                .iter()
                .filter(|name| offered.contains(name))
                .map(|name| MeasurementRequest::named(name))
                .collect();
            if measurements.is_empty() {
                continue;
            }
            let request = ReportRequest {
                measurements: &measurements,
                granularity_period_ms: self.period_ms,
                reporting_period_ms: self.period_ms,
                scope: if format == UES { Scope::EveryUe(EveryUe::AnySignal) } else { Scope::Node },
            };
            let plan = request.plan(&definition, revision)?;
            let (mut event_trigger, mut action) = (Vec::new(), Vec::new());
            plan.trigger.encode_in(revision, wire, &mut event_trigger)?;
            plan.action.encode_in(revision, wire, &mut action)?;
            let kpm = Kpm { revision, wire, action: action.clone() };
            let kind = if format == UES { Kind::Ues(kpm) } else { Kind::Cell(kpm) };
            self.subscribe(node, name, function.id, event_trigger, Some(action), kind, ric);
            is_subscribed = true;
        }
        if !is_subscribed {
            bail!("the node offers none of the measurements that are shown");
        }
        Ok(true)
    }

    fn subscribe_to_slices(
        &mut self,
        node: &NodeInfo,
        name: &str,
        function: &FunctionInfo,
        wire: Wire,
        ric: &mut Commands<'_>,
    ) {
        let mut event_trigger = Vec::new();
        // FlexRIC's models count periods in ms
        let trigger = slice::EventTriggerDefinition { period_ms: self.period_ms };
        if trigger.encode(wire, &mut event_trigger).is_ok() {
            self.subscribe(node, name, function.id, event_trigger, None, Kind::Slices(wire), ric);
        }
    }

    #[allow(clippy::too_many_arguments)] // the fields of the message, and what is kept of it
    fn subscribe(
        &mut self,
        node: &NodeInfo,
        name: &str,
        function: RanFunctionId,
        event_trigger: Vec<u8>,
        definition: Option<Vec<u8>>,
        kind: Kind,
        ric: &mut Commands<'_>,
    ) {
        let action = Action { id: RicActionId(1), kind: RicActionType::Report, definition, subsequent: None };
        let ticket = ric.subscribe(node.id, function, SubscriptionSpec { event_trigger, actions: vec![action] });
        self.pending.insert(ticket, Source { id: node.id, node: name.to_owned(), kind });
    }

    fn indication(&mut self, now: SystemTime, indication: &Indication<'_>, network: &mut Network) -> bool {
        let Some(source) = self.sources.get(&indication.subscription) else { return false };
        let gather = Gather::new();
        let full; // holds the parts of a fragmented indication
        let message = match indication.peek() {
            Some(peeked) => peeked.message,
            None => match indication.decode(&gather) {
                Ok(decoded) => {
                    full = decoded.message.to_cow().into_owned();
                    &full[..]
                }
                Err(error) => {
                    network.set_trouble(&source.node, format!("cannot decode an indication: {error}"));
                    return true;
                }
            },
        };
        self.arena.reset();
        let period_ms = self.period_ms;
        match &source.kind {
            Kind::Ues(kpm) => match samples(kpm, message, &self.arena, |ue_id| self.ues.learn(source.id, ue_id)) {
                Ok((samples, ues)) => {
                    network.ue_report(now, &source.node, &samples, period_ms);
                    for ue in ues {
                        network.set_identity(&source.node, &ue.reference.to_string(), ue.others(), ue.json());
                    }
                }
                Err(error) => network.set_trouble(&source.node, format!("cannot decode a report: {error}")),
            },
            Kind::Cell(kpm) => match samples(kpm, message, &self.arena, |ue_id| self.ues.learn(source.id, ue_id)) {
                Ok((samples, _)) => network.cell_report(&source.node, &samples, period_ms),
                Err(error) => network.set_trouble(&source.node, format!("cannot decode a report: {error}")),
            },
            Kind::Slices(wire) => {
                if let Ok(message) = slice::IndicationMessage::decode(message, *wire, &self.arena) {
                    network.set_slices(&source.node, slices(&message));
                }
            }
        }
        true
    }
}

/// The values of a report, and its UEs.
fn samples(
    kpm: &Kpm,
    message: &[u8],
    arena: &Arena,
    mut learn: impl FnMut(&UeId<'_>) -> KnownUe,
) -> Result<(Vec<Sample>, Vec<KnownUe>), e2sm::Error> {
    let action = ActionDefinition::decode_in(&kpm.action, kpm.revision, kpm.wire, arena).ok();
    let message = IndicationMessage::decode_in(message, kpm.revision, kpm.wire, arena)?;
    let ues: HashMap<&UeId<'_>, KnownUe> = message.ue_ids().map(|ue_id| (ue_id, learn(ue_id))).collect();
    let rows = message.rows(action.as_ref());
    let sample = |row: e2sm::kpm::Row<'_>| {
        let measurement = match row.measurement {
            Some(MeasurementType::MeasName(name)) => name.0.as_str().to_owned(),
            Some(MeasurementType::MeasId(id)) => format!("#{}", id.0),
            None => format!("?{}", row.position + 1),
        };
        let known = row.ue.and_then(|ue_id| ues.get(ue_id));
        (known.map_or_else(|| "cell".to_owned(), |ue| ue.reference.to_string()), measurement, row.value.number())
    };
    let samples = rows.map(sample).collect();
    Ok((samples, ues.into_values().collect()))
}

/// The downlink slices of a cell: `1 NVS 50 %, 3 UEs`.
fn slices(message: &slice::IndicationMessage<'_>) -> Vec<String> {
    let show = |slice: &slice::Slice<'_>| {
        let ues = message.ues.iter().filter(|ue| ue.dl_id == slice.id).count();
        let share = match &slice.parameters {
            Parameters::Nvs(slice::NvsParameters::Capacity(Share { reserved })) => {
                format!(" {:.0} %", reserved * 100.0)
            }
            Parameters::Nvs(slice::NvsParameters::Rate(rate)) => format!(" {} Mbit/s", rate.required_mbps),
            Parameters::Static(positions) => format!(" {} to {}", positions.low, positions.high),
            _ => String::new(),
        };
        format!("{} {}{share}, {ues} UEs", slice.id, slice.parameters.algorithm())
    };
    message.slices.dl.slices.iter().take(MAX_SLICES).map(show).collect()
}

//! Reports of nodes that identify their UEs: what to subscribe to, and what its indications say.
//!
//! | service model | reports of a UE | when |
//! |---|---|---|
//! | RRC notifications (ferric) | UE ID, C-RNTI, cell, network, slices, addresses; that it has left | at once |
//! | E2SM-KPM, report style 4 | UE ID, with C-RNTI and cell from v04.00 on | each period |
//! | E2SM-RC, report style 4 (UE information, RRC state) | UE ID; that it has left | when its state changes |
//! | E2SM-RC, report style 5 (on demand, v01.03) | UE ID and cell | once |
//! | MAC statistics (FlexRIC) | C-RNTI | each period |
//!
//! [`UeSource::of_node`] returns those that a node offers, each with its subscription ([`UeSource::order`]). [`UeSource::read`] reads an indication as
//! changes, which [`RanDatabase::apply`] records. Nothing is kept but a name of each UE of the last periodic report, so that those
//! that are not reported any more are removed.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use e2ap::{RanFunctionId, RicActionId, RicActionType};
use e2sm::common::UeId;
use e2sm::kpm::{self, EveryUe};
use e2sm::rc::{self, IndicationMessageFormats, RrcState};
use e2sm::rrc::{self, Event, Ipv4Address, Notification};
use e2sm::{Arena, Error, Wire, mac};

use super::{RanDatabase, UeContext, UeName, cell_identity};
use crate::xapp::FunctionInfo;
use crate::{Action, NodeId, RanFunction, SubscriptionOrder, SubscriptionSpec, Time};

/// The most UEs of a report that are read; further ones are ignored.
const MAX_UES: usize = 8192;

/// A RAN function as its node has registered it.
#[derive(Clone, Copy, Debug)]
pub struct OfferedFunction<'a> {
    /// Its id.
    pub id: RanFunctionId,
    /// Its revision.
    pub revision: u16,
    /// Its object identifier; empty in E2AP v01.00.
    pub oid: &'a str,
    /// Its definition.
    pub definition: &'a [u8],
    /// The revision of its service model, if an operator has configured it: `3.00`.
    pub model_revision: Option<&'a str>,
}

impl<'a> From<&'a RanFunction> for OfferedFunction<'a> {
    fn from(function: &'a RanFunction) -> Self {
        let RanFunction { id, revision, oid, definition, .. } = function;
        OfferedFunction { id: *id, revision: revision.0, oid, definition, model_revision: None }
    }
}

impl<'a> From<&'a FunctionInfo> for OfferedFunction<'a> {
    fn from(function: &'a FunctionInfo) -> Self {
        let FunctionInfo { id, revision, oid, definition, model_revision, .. } = function;
        let model_revision = model_revision.as_deref();
        OfferedFunction { id: *id, revision: revision.0, oid, definition, model_revision }
    }
}

/// A service model that identifies UEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UeModel {
    /// RRC notifications.
    Rrc,
    /// E2SM-KPM.
    Kpm,
    /// E2SM-RC.
    Rc,
    /// MAC statistics.
    Mac,
}

impl UeModel {
    /// All of them.
    pub const ALL: &'static [UeModel] = &[UeModel::Rrc, UeModel::Kpm, UeModel::Rc, UeModel::Mac];

    /// Its name for the log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            UeModel::Rrc => "RRC notifications",
            UeModel::Kpm => "KPM",
            UeModel::Rc => "RC",
            UeModel::Mac => "MAC statistics",
        }
    }
}

/// What is requested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UeReportConfig {
    /// The service models that are used where a node offers them.
    pub models: &'static [UeModel],
    /// The period of periodic reports, in milliseconds; `None` requests no periodic reports.
    pub period_ms: Option<u32>,
    /// The UEs that KPM reports. OAI's base stations accept those of a slice only.
    pub kpm_ues: EveryUe,
}

/// A RAN function of a node that identifies UEs, and the subscription to it.
#[derive(Clone, Debug)]
pub struct UeSource {
    /// The function.
    pub function: RanFunctionId,
    spec: SubscriptionSpec,
    kind: Kind,
    /// A name of each UE in the last report of all UEs.
    reported: BTreeSet<UeName>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Rrc(Wire),
    Kpm(kpm::Detection),
    Rc(rc::Detection),
    Mac(Wire),
}

/// What a report says of a UE.
#[derive(Clone, Debug, PartialEq)]
pub enum UeChange {
    /// The node serves it, and has these names for it.
    Present {
        /// Its names.
        names: Vec<UeName>,
        /// What else the report says of it.
        context: UeContext,
    },
    /// The node serves a UE with this C-RNTI.
    Rnti(u16),
    /// The UE with this name has left the node.
    Left(UeName),
}

impl UeSource {
    /// Returns what a node offers of the requested models, each once at most; of RC both report styles.
    pub fn of_node<'a>(functions: impl IntoIterator<Item = OfferedFunction<'a>>, config: &UeReportConfig) -> Vec<Self> {
        let mut sources: Vec<UeSource> = Vec::new();
        for function in functions {
            let found = UeSource::of_function(&function, config);
            let is_new = |source: &UeSource| {
                let mut known = sources.iter().filter(|known| known.function != function.id);
                config.models.contains(&source.model()) && !known.any(|known| known.model() == source.model())
            };
            let new: Vec<_> = found.into_iter().filter(is_new).collect();
            sources.extend(new);
        }
        sources
    }

    fn of_function(function: &OfferedFunction<'_>, config: &UeReportConfig) -> Vec<Self> {
        if let Some(wire) = rrc::MODEL.wire_of(function.oid) {
            return UeSource::of_rrc(function.id, wire).into_iter().collect();
        }
        if let (Some(wire), Some(period_ms)) = (mac_wire(function), config.period_ms) {
            return UeSource::of_mac(function.id, wire, period_ms).into_iter().collect();
        }
        if let (Ok(detection), Some(period_ms)) = (detect_kpm(function), config.period_ms) {
            return UeSource::of_kpm(function, detection, config.kpm_ues, period_ms).into_iter().collect();
        }
        detect_rc(function).map_or_else(|_| Vec::new(), |detection| UeSource::of_rc(function, detection))
    }

    fn new(function: RanFunctionId, kind: Kind, event_trigger: Vec<u8>, definition: Option<Vec<u8>>) -> Self {
        let (id, action_kind) = (RicActionId(1), RicActionType::Report);
        let spec = SubscriptionSpec {
            event_trigger,
            actions: vec![Action { id, kind: action_kind, definition, subsequent: None }],
        };
        UeSource { function, spec, kind, reported: BTreeSet::new() }
    }

    fn of_rrc(function: RanFunctionId, wire: Wire) -> Option<Self> {
        let mut trigger = Vec::new();
        rrc::EventTriggerDefinition::ALL.encode(wire, &mut trigger).ok()?;
        Some(UeSource::new(function, Kind::Rrc(wire), trigger, None))
    }

    fn of_mac(function: RanFunctionId, wire: Wire, period_ms: u32) -> Option<Self> {
        let mut trigger = Vec::new();
        mac::EventTriggerDefinition { period_ms }.encode(wire, &mut trigger).ok()?;
        Some(UeSource::new(function, Kind::Mac(wire), trigger, None))
    }

    fn of_kpm(function: &OfferedFunction<'_>, detection: kpm::Detection, ues: EveryUe, period_ms: u32) -> Option<Self> {
        let (revision, wire) = (detection.revision, detection.wire);
        // v01.00 has no reports of UEs
        if revision == kpm::Revision::V1_00 {
            return None;
        }
        let arena = Arena::new();
        let definition = kpm::RanFunctionDefinition::decode_in(function.definition, revision, wire, &arena).ok()?;
        let plan = kpm::Plan::every_ue(&definition, revision, ues, period_ms).ok()?;
        let (mut trigger, mut action) = (Vec::new(), Vec::new());
        plan.trigger.encode_in(revision, wire, &mut trigger).ok()?;
        plan.action.encode_in(revision, wire, &mut action).ok()?;
        Some(UeSource::new(function.id, Kind::Kpm(detection), trigger, Some(action)))
    }

    fn of_rc(function: &OfferedFunction<'_>, detection: rc::Detection) -> Vec<Self> {
        let (revision, wire) = (detection.revision, detection.wire);
        let arena = Arena::new();
        let Ok(definition) = rc::RanFunctionDefinition::decode_in(function.definition, revision, wire, &arena) else {
            return Vec::new();
        };
        let styles = || definition.report.iter().flat_map(|report| &report.report_style_list);
        let state = rc::dictionary::ue_information::RRC_STATE_CHANGED_TO;
        let has_states = styles().any(|style| {
            let mut parameters = style.report_parameters_list.iter().flatten();
            style.ric_report_style_type.0 == 4 && parameters.any(|parameter| parameter.ran_parameter_id == state)
        });
        // a report on demand needs one parameter that the node offers
        let on_demand = styles().filter(|style| style.ric_report_style_type.0 == 5);
        let parameter = on_demand.flat_map(|style| style.report_parameters_list.iter().flatten()).next();
        let states = [RrcState::RrcConnected, RrcState::RrcInactive, RrcState::RrcIdle];
        let plans = [
            has_states.then(|| rc::Plan::report_rrc_states(&states)),
            parameter.map(|parameter| rc::Plan::report_on_demand(&[parameter.ran_parameter_id])),
        ];
        let sources = plans.into_iter().flatten().filter_map(|plan| {
            let (trigger, action) = plan.encode_in(revision, wire).ok()?;
            Some(UeSource::new(function.id, Kind::Rc(detection), trigger, Some(action)))
        });
        sources.collect()
    }

    /// The subscription. It is not shared with other consumers where the node reports present UEs once, at its begin: a consumer
    /// that shares it later would miss them.
    #[must_use]
    pub fn order(&self) -> SubscriptionOrder {
        let reports_once = matches!(self.kind, Kind::Rrc(_) | Kind::Rc(_));
        SubscriptionOrder { consent: reports_once, ..self.spec.clone().into() }
    }

    /// Its service model.
    #[must_use]
    pub fn model(&self) -> UeModel {
        match self.kind {
            Kind::Rrc(_) => UeModel::Rrc,
            Kind::Kpm(_) => UeModel::Kpm,
            Kind::Rc(_) => UeModel::Rc,
            Kind::Mac(_) => UeModel::Mac,
        }
    }

    /// Reads the message of an indication of the subscription.
    ///
    /// # Errors
    /// The message cannot be decoded.
    pub fn read(&mut self, message: &[u8], arena: &Arena) -> Result<Vec<UeChange>, Error> {
        match self.kind {
            Kind::Rrc(wire) => {
                let message = rrc::IndicationMessage::decode(message, wire, arena)?;
                Ok(message.notifications.iter().take(MAX_UES).map(UeChange::of_notification).collect())
            }
            Kind::Kpm(detection) => {
                let message = kpm::IndicationMessage::decode_in(message, detection.revision, detection.wire, arena)?;
                let present = message.ue_ids().take(MAX_UES).map(|ue_id| UeChange::present(ue_id)).collect();
                Ok(self.without_those_that_left(present))
            }
            Kind::Mac(wire) => {
                let message = mac::IndicationMessage::decode(message, wire, arena)?;
                let rntis = message.ues.iter().take(MAX_UES).filter_map(|ue| u16::try_from(ue.rnti).ok());
                let present = rntis.map(UeChange::Rnti).collect();
                Ok(self.without_those_that_left(present))
            }
            Kind::Rc(detection) => {
                let message = rc::IndicationMessage::decode_in(message, detection.revision, detection.wire, arena)?;
                if let IndicationMessageFormats::Format4(format) = &message.formats {
                    let ues = format.ue_info_list.iter().take(MAX_UES);
                    let in_cell = |cell| UeContext { cell: Some(cell_identity(cell)), ..UeContext::default() };
                    let change = |names, context| UeChange::Present { names, context };
                    let changes = ues.map(|item| change(UeName::all_of(&item.ue_id), in_cell(&item.cell_global_id)));
                    return Ok(changes.collect());
                }
                let states = rc::rrc_states(&message)?;
                Ok(states.iter().take(MAX_UES).filter_map(|(ue_id, state)| UeChange::of_state(ue_id, *state)).collect())
            }
        }
    }

    /// Adds the UEs that the last report contained and this one does not.
    fn without_those_that_left(&mut self, mut changes: Vec<UeChange>) -> Vec<UeChange> {
        let name = |change: &UeChange| match change {
            UeChange::Present { names, .. } => names.first().copied(),
            UeChange::Rnti(rnti) => Some(UeName::Rnti { rnti: *rnti, cell: None }),
            UeChange::Left(name) => Some(*name),
        };
        let reported = changes.iter().filter_map(name).collect();
        let before = core::mem::replace(&mut self.reported, reported);
        changes.extend(before.difference(&self.reported).map(|name| UeChange::Left(*name)));
        changes
    }
}

impl UeChange {
    /// What an RRC notification says.
    #[must_use]
    pub fn of_notification(notification: &Notification<'_>) -> Self {
        let Notification { event, ue_id, rnti, cell, plmn, s_nssais, addresses } = notification;
        let name = UeName::rnti(*rnti, cell);
        if *event == Event::Detached {
            return UeChange::Left(UeName::all_of(ue_id).first().copied().unwrap_or(name));
        }
        let addresses = addresses.iter().flatten().map(|Ipv4Address(octets)| Ipv4Addr::from(*octets));
        let (plmn, s_nssais, addresses) = (Some(*plmn), s_nssais.to_vec(), addresses.collect());
        let mut names = UeName::all_of(ue_id);
        names.retain(|other| !matches!(other, UeName::Rnti { .. }));
        names.push(name);
        UeChange::Present { names, context: UeContext { cell: None, plmn, s_nssais, addresses } }
    }

    fn present(ue_id: &UeId<'_>) -> Self {
        UeChange::Present { names: UeName::all_of(ue_id), context: UeContext::default() }
    }

    fn of_state(ue_id: &UeId<'_>, state: RrcState) -> Option<Self> {
        match state {
            // an eNB keeps the context of an idle UE
            _ if matches!(ue_id, UeId::Enb(_)) => Some(UeChange::present(ue_id)),
            RrcState::RrcConnected | RrcState::RrcInactive => Some(UeChange::present(ue_id)),
            RrcState::RrcIdle => UeName::all_of(ue_id).first().copied().map(UeChange::Left),
            RrcState::Any => None,
        }
    }
}

impl RanDatabase {
    /// Records what a report of a node says of a UE.
    pub fn apply(&mut self, now: Time, node: NodeId, change: &UeChange) {
        match change {
            UeChange::Present { names, context } => {
                if let Some(ue) = self.learn_ue(now, node, names) {
                    self.set_ue_context(ue, context);
                }
            }
            UeChange::Rnti(rnti) => drop(self.see_rnti(now, node, *rnti, None)),
            UeChange::Left(UeName::Rnti { rnti, cell: None }) => {
                let cell = self.only_cell(node);
                self.forget_ue(node, &UeName::Rnti { rnti: *rnti, cell });
            }
            UeChange::Left(name) => drop(self.forget_ue(node, name)),
        }
    }
}

/// The wire form of MAC statistics. E2AP v01.00 has no object identifier: there, FlexRIC's model is known by its definition.
fn mac_wire(function: &OfferedFunction<'_>) -> Option<Wire> {
    let model = mac::MODEL;
    if function.oid.is_empty() {
        let is_mac = function.id.0 == model.function_id && function.definition == model.name.as_bytes();
        return is_mac.then_some(Wire::Plain);
    }
    model.wire_of(function.oid)
}

/// Precedence: what an operator has configured, then what the node registers.
fn detect_kpm(function: &OfferedFunction<'_>) -> Result<kpm::Detection, Error> {
    let detected = kpm::Detection::from_ran_function(function.oid, function.revision, function.definition)?;
    let configured = function.model_revision.and_then(|revision| revision.parse().ok());
    Ok(configured.map_or(detected, |revision| kpm::Detection::configured(revision).in_wire_of(function.oid)))
}

fn detect_rc(function: &OfferedFunction<'_>) -> Result<rc::Detection, Error> {
    let detected = rc::Detection::from_ran_function(function.oid, function.revision, function.definition)?;
    let configured = function.model_revision.and_then(|revision| revision.parse().ok());
    Ok(configured.map_or(detected, |revision| rc::Detection::configured(revision).in_wire_of(function.oid)))
}

#[cfg(test)]
mod tests {
    use e2sm::common::{Cgi, GnbCuUeF1apId, NrCgi, PlmnIdentity, RntiValue, SNssai, Sst, UeIdGnbDu};
    use per::List;

    use super::*;

    const CELL: u64 = 0x380_4001;

    fn du_ue(id: u32) -> UeId<'static> {
        UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(id), ran_ueid: None, cell_rnti: None })
    }

    fn nr_cell() -> Cgi {
        Cgi::NrCgi(NrCgi::new(PlmnIdentity::from_codes(1, 1, 2), CELL))
    }

    fn source(kind: Kind) -> UeSource {
        UeSource::new(RanFunctionId(1), kind, Vec::new(), None)
    }

    fn function<'a>(id: u16, oid: &'a str, definition: &'a [u8]) -> OfferedFunction<'a> {
        OfferedFunction { id: RanFunctionId(id), revision: 1, oid, definition, model_revision: None }
    }

    const CONFIG: UeReportConfig =
        UeReportConfig { models: UeModel::ALL, period_ms: Some(500), kpm_ues: EveryUe::AnySignal };

    #[test]
    fn notification_tells_all_names_and_the_context() {
        let mut notification = Notification {
            event: Event::Attached,
            ue_id: du_ue(7),
            rnti: RntiValue(0x4601),
            cell: nr_cell(),
            plmn: PlmnIdentity::from_codes(1, 1, 2),
            s_nssais: List::from(vec![SNssai { sst: Sst([1]), sd: None }]),
            addresses: Some(List::from(vec![Ipv4Address([10, 45, 0, 7])])),
        };
        let read = |notification: &Notification<'static>| {
            let mut octets = Vec::new();
            let notifications = List::from(vec![notification.clone()]);
            rrc::IndicationMessage { notifications }.encode(Wire::Per, &mut octets).unwrap();
            source(Kind::Rrc(Wire::Per)).read(&octets, &Arena::new()).unwrap()
        };
        let rnti = UeName::Rnti { rnti: 0x4601, cell: Some(CELL) };
        let context = UeContext {
            cell: None,
            plmn: Some(PlmnIdentity::from_codes(1, 1, 2)),
            s_nssais: vec![SNssai { sst: Sst([1]), sd: None }],
            addresses: vec![Ipv4Addr::new(10, 45, 0, 7)],
        };
        let present = UeChange::Present { names: vec![UeName::F1ap(7), rnti], context };
        assert_eq!(read(&notification), [present]);
        notification.event = Event::Detached;
        assert_eq!(read(&notification), [UeChange::Left(UeName::F1ap(7))]);
    }

    #[test]
    fn ue_that_a_periodic_report_omits_has_left() {
        let mut mac = source(Kind::Mac(Wire::Per));
        let mut read = |rntis: &[u32]| {
            let ues = rntis.iter().map(|rnti| mac::UeStats { rnti: *rnti, ..mac::UeStats::default() });
            let mut octets = Vec::new();
            mac::IndicationMessage { ues: ues.collect(), timestamp_us: 0 }.encode(Wire::Per, &mut octets).unwrap();
            mac.read(&octets, &Arena::new()).unwrap()
        };
        assert_eq!(read(&[0x4601, 0x4602]), [UeChange::Rnti(0x4601), UeChange::Rnti(0x4602)]);
        let left = UeChange::Left(UeName::Rnti { rnti: 0x4601, cell: None });
        assert_eq!(read(&[0x4602]), [UeChange::Rnti(0x4602), left]);
        assert_eq!(read(&[0x4602, 0x1_0000]), [UeChange::Rnti(0x4602)], "a C-RNTI has 16 bits");
        assert!(mac.read(&[0xff], &Arena::new()).is_err());
    }

    #[test]
    fn rc_tells_states_and_on_demand_cells() {
        use e2sm::rc::{
            IndicationMessageFormat2, IndicationMessageFormat2Item, IndicationMessageFormat4,
            IndicationMessageFormat4ItemUe, RanParameterElementFalse, RanParameterItem, RanParameterValue,
            RanParameterValueType, Revision,
        };
        let read = |formats| {
            let mut octets = Vec::new();
            rc::IndicationMessage { formats }.encode(Revision::V1_03, &mut octets).unwrap();
            source(Kind::Rc(rc::Detection::configured(Revision::V1_03))).read(&octets, &Arena::new()).unwrap()
        };
        let of_state = |number: i64| {
            let element = RanParameterElementFalse { value: Some(RanParameterValue::ValueInt(number)) };
            let ran_parameter_id = rc::dictionary::ue_information::RRC_STATE_CHANGED_TO;
            let value_type = RanParameterValueType::ElementFalse(element);
            let ran_p_list = List::from(vec![RanParameterItem { ran_parameter_id, value_type }]);
            let item = IndicationMessageFormat2Item { ue_id: du_ue(7), ran_p_list };
            IndicationMessageFormats::Format2(IndicationMessageFormat2 { ue_parameter_list: List::from(vec![item]) })
        };
        let names = vec![UeName::F1ap(7)];
        let present = |context| UeChange::Present { names: names.clone(), context };
        assert_eq!(read(of_state(0)), [present(UeContext::default())]);
        assert_eq!(read(of_state(1)), [present(UeContext::default())]);
        assert_eq!(read(of_state(2)), [UeChange::Left(UeName::F1ap(7))]);
        let ue = IndicationMessageFormat4ItemUe { ue_id: du_ue(7), ue_context_info: None, cell_global_id: nr_cell() };
        let format = IndicationMessageFormat4 { ue_info_list: List::from(vec![ue]), cell_info_list: List::default() };
        let context = UeContext { cell: Some(CELL), ..UeContext::default() };
        assert_eq!(read(IndicationMessageFormats::Format4(format)), [present(context)]);
    }

    #[test]
    fn node_is_asked_for_what_it_offers() {
        let models = |functions: Vec<OfferedFunction<'_>>, config: &UeReportConfig| {
            let sources = UeSource::of_node(functions, config);
            sources.iter().map(|source| (source.function.0, source.model())).collect::<Vec<_>>()
        };
        let rrc = rrc::MODEL.oid(Wire::Per);
        let offered = || {
            vec![
                function(142, "", mac::MODEL.name.as_bytes()),
                function(149, &rrc, b""),
                function(150, &rrc, b""),
                function(7, "1.2.3", b"another model"),
                function(2, e2sm::rc::OID, b"malformed"),
            ]
        };
        assert_eq!(models(offered(), &CONFIG), [(142, UeModel::Mac), (149, UeModel::Rrc)]);
        let on_event = UeReportConfig { period_ms: None, ..CONFIG };
        assert_eq!(models(offered(), &on_event), [(149, UeModel::Rrc)]);
        let without_rrc = UeReportConfig { models: &[UeModel::Kpm, UeModel::Rc, UeModel::Mac], ..CONFIG };
        assert_eq!(models(offered(), &without_rrc), [(142, UeModel::Mac)]);
    }
}

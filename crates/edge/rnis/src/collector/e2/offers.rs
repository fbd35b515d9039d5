//! What a node offers, and the subscriptions to it.

use ap::{lte_rrc, nr_rrc};
use e2sm::ccc::{self, AttributeName};
use e2sm::common::{FiveQi, InterfaceType, RrcClassLte, RrcClassNr, RrcMessageId, RrcType};
use e2sm::kpm::{self, EveryUe, LabelInfoItem, MeasurementLabel, MeasurementRequest, ReportRequest, Scope};
use e2sm::rc::dictionary::{message_copy, node_information};
use e2sm::rc::{self, MessageTypeNi, Plan};
use e2sm::{Arena, Error, Wire, gtp, rrc};
use ferric::e2::xapp::FunctionInfo;
use ferric::e2::{Action, SubscriptionOrder, SubscriptionSpec};
use ferric::e2ap::{RanFunctionId, RicActionId, RicActionType};
use ids::Cgi;

use super::layer2;

/// The 5QIs of GBR traffic whose measurements are requested (TS 23.501 table 5.7.4-1). Traffic of others counts as other traffic.
pub(super) const GBR_FIVE_QIS: [u8; 4] = [1, 2, 3, 4];
/// The 5QIs by which the QoS of a bearer is recognized.
const FIVE_QIS: [u8; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/// What a subscription reports.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// UEs that attach, detach and are handed over: RRC notifications.
    Notifications(Wire),
    /// Copies of the measurement reports of UEs of NR: E2SM-RC.
    MeasurementReports(rc::Detection),
    /// Copies of the measurement reports of UEs of E-UTRA: E2SM-RC.
    EutraMeasurementReports(rc::Detection),
    /// Copies of the messages that configure measurements of UEs of NR: E2SM-RC.
    Reconfigurations(rc::Detection),
    /// Copies of the messages that configure measurements and secondary cells of UEs of E-UTRA: E2SM-RC.
    EutraReconfigurations(rc::Detection),
    /// Copies of messages to the core network: E2SM-RC.
    InterfaceMessages(rc::Detection),
    /// Copies of messages between base stations: E2SM-RC.
    HandoverMessages(rc::Detection),
    /// The physical identities of cells: E2SM-CCC.
    Cells,
    /// The physical identities of a cell and of its neighbours: E2SM-RC v01.03.
    NeighbourRelations(rc::Detection),
    /// Tunnels to the core network: GTP statistics.
    Tunnels(Wire),
    /// Measurements of a cell: E2SM-KPM.
    CellMeasurements(Measurements, Cgi),
    /// Measurements of each UE: E2SM-KPM.
    UeMeasurements(Measurements),
}

/// A subscription to E2SM-KPM.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measurements {
    pub detection: kpm::Detection,
    /// Names the measurements of reports that do not name them.
    pub action: kpm::ActionDefinition<'static>,
    /// Whether they are divided by 5QI.
    pub is_divided: bool,
}

impl Kind {
    /// Its name for the log.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Notifications(_) => "RRC notifications",
            Kind::MeasurementReports(_) | Kind::EutraMeasurementReports(_) => "copies of measurement reports (E2SM-RC)",
            Kind::Reconfigurations(_) | Kind::EutraReconfigurations(_) => "copies of reconfigurations of UEs (E2SM-RC)",
            Kind::InterfaceMessages(_) => "copies of interface messages (E2SM-RC)",
            Kind::HandoverMessages(_) => "copies of messages between base stations (E2SM-RC)",
            Kind::Cells => "cells (E2SM-CCC)",
            Kind::NeighbourRelations(_) => "neighbour relations (E2SM-RC)",
            Kind::Tunnels(_) => "GTP statistics",
            Kind::CellMeasurements(..) => "measurements of a cell (E2SM-KPM)",
            Kind::UeMeasurements(_) => "measurements of UEs (E2SM-KPM)",
        }
    }

    /// Whether both report the same, however they are requested.
    pub fn is_same(&self, other: &Kind) -> bool {
        match (self, other) {
            (Kind::CellMeasurements(_, one), Kind::CellMeasurements(_, other)) => one == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// A subscription that a node offers.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub function: RanFunctionId,
    pub kind: Kind,
    pub order: SubscriptionOrder,
}

impl Offer {
    fn new(function: RanFunctionId, kind: Kind, event_trigger: Vec<u8>, definition: Option<Vec<u8>>) -> Self {
        let (id, action_kind) = (RicActionId(1), RicActionType::Report);
        let actions = vec![Action { id, kind: action_kind, definition, subsequent: None }];
        let order = SubscriptionOrder::from(SubscriptionSpec { event_trigger, actions });
        // reports that begin with the present state are not shared: a consumer that shares them later would miss it
        let reports_once = matches!(kind, Kind::Notifications(_) | Kind::Cells | Kind::NeighbourRelations(_));
        Offer { function, kind, order: SubscriptionOrder { consent: reports_once, ..order } }
    }
}

/// What a function offers besides the measurements of cells, which are requested by [`cell_measurements`] when a cell is known.
///
/// # Errors
/// A malformed definition, or an unknown revision of a service model that is known.
pub(super) fn of_function(function: &FunctionInfo, is_enb: bool, period_ms: u32) -> Result<Vec<Offer>, Error> {
    if let Some(wire) = rrc::MODEL.wire_of(&function.oid) {
        let mut trigger = Vec::new();
        rrc::EventTriggerDefinition::ALL.encode(wire, &mut trigger)?;
        return Ok(vec![Offer::new(function.id, Kind::Notifications(wire), trigger, None)]);
    }
    if let Some(wire) = gtp::MODEL.wire_of(&function.oid) {
        let mut trigger = Vec::new();
        gtp::EventTriggerDefinition { period_ms }.encode(wire, &mut trigger)?;
        return Ok(vec![Offer::new(function.id, Kind::Tunnels(wire), trigger, None)]);
    }
    if function.oid.trim() == ccc::OID {
        return Ok(vec![cells(function)?]);
    }
    match detect_rc(function) {
        Err(Error::UnknownOid) => {}
        detected => return message_copies(function, is_enb, detected?),
    }
    match detect_kpm(function) {
        Err(Error::UnknownOid) => Ok(Vec::new()),
        detected => Ok(ue_measurements(function, detected?, period_ms, true)?.into_iter().collect()),
    }
}

/// Precedence: what an operator has configured at the RIC, then what the node registers.
fn detect_rc(function: &FunctionInfo) -> Result<rc::Detection, Error> {
    let detected = rc::Detection::from_ran_function(&function.oid, function.revision.0, &function.definition)?;
    let configured = function.model_revision.as_ref().and_then(|revision| revision.parse().ok());
    Ok(configured.map_or(detected, |revision| rc::Detection::configured(revision).in_wire_of(&function.oid)))
}

fn detect_kpm(function: &FunctionInfo) -> Result<kpm::Detection, Error> {
    let detected = kpm::Detection::from_ran_function(&function.oid, function.revision.0, &function.definition)?;
    let configured = function.model_revision.as_ref().and_then(|revision| revision.parse().ok());
    Ok(configured.map_or(detected, |revision| kpm::Detection::configured(revision).in_wire_of(&function.oid)))
}

/// The physical identities of the node's cells, by which UEs report them.
fn cells(function: &FunctionInfo) -> Result<Offer, Error> {
    let name = || "O-NRCellDU".to_owned();
    let structures = vec![ccc::StructureForEventTrigger { name: name(), attributes: None }];
    let cells = vec![ccc::CellForEventTrigger { cell_global_id: None, structures }];
    let trigger = ccc::EventTriggerDefinition { format: ccc::EventTriggerDefinitionFormat::CellLevelChange(cells) };
    let attributes = Some(vec![AttributeName { name: "nRPCI".into() }]);
    let structures = vec![ccc::StructureForAction { report_type: ccc::ReportType::All, name: name(), attributes }];
    let cells = vec![ccc::CellForAction { cell_global_id: None, structures }];
    let definition = ccc::ActionDefinition { ric_style_type: 2, format: ccc::ActionDefinitionFormat::CellLevel(cells) };
    let (mut event_trigger, mut octets) = (Vec::new(), Vec::new());
    trigger.encode(&mut event_trigger)?;
    definition.encode(&mut octets)?;
    Ok(Offer::new(function.id, Kind::Cells, event_trigger, Some(octets)))
}

/// Copies of messages (E2SM-RC report style 1): measurement reports on UL-DCCH, reconfigurations on DL-DCCH, and messages on NG and Xn, or
/// X2. Neighbour relations (style 5) are reported once.
fn message_copies(function: &FunctionInfo, is_enb: bool, detection: rc::Detection) -> Result<Vec<Offer>, Error> {
    let (revision, wire) = (detection.revision, detection.wire);
    let arena = Arena::new();
    let definition = rc::RanFunctionDefinition::decode_in(&function.definition, revision, wire, &arena)?;
    let styles = || definition.report.iter().flat_map(|report| &report.report_style_list);
    let parameters = styles()
        .filter(|style| style.ric_report_style_type.0 == 1)
        .flat_map(|style| style.report_parameters_list.iter().flatten())
        .map(|parameter| parameter.ran_parameter_id);
    let parameters: Vec<_> = parameters.collect();
    let mut offers = Vec::new();
    if parameters.contains(&message_copy::RRC_MESSAGE) {
        let lte = |class, message_id| RrcMessageId { rrc_type: RrcType::Lte(class), message_id };
        let copies = match is_enb {
            true => vec![
                (lte(RrcClassLte::UlDcch, lte_rrc::MEASUREMENT_REPORT), Kind::EutraMeasurementReports(detection)),
                (
                    lte(RrcClassLte::DlDcch, lte_rrc::RRC_CONNECTION_RECONFIGURATION),
                    Kind::EutraReconfigurations(detection),
                ),
            ],
            false => {
                let nr = |class, message_id| RrcMessageId { rrc_type: RrcType::Nr(class), message_id };
                vec![
                    (nr(RrcClassNr::UlDcch, nr_rrc::MEASUREMENT_REPORT), Kind::MeasurementReports(detection)),
                    (nr(RrcClassNr::DlDcch, nr_rrc::RRC_RECONFIGURATION), Kind::Reconfigurations(detection)),
                ]
            }
        };
        for (message, kind) in copies {
            let (trigger, action) = Plan::report_rrc_messages(&[message]).encode_in(revision, wire)?;
            offers.push(Offer::new(function.id, kind, trigger, Some(action)));
        }
    }
    let is_on_demand = |style: &rc::ReportStyleItem<'_>| style.ric_report_style_type.0 == 5;
    if revision == rc::Revision::V1_03 && styles().any(is_on_demand) {
        let plan = Plan::report_on_demand(&[node_information::NEIGHBOUR_RELATION_TABLE]);
        let (trigger, action) = plan.encode_in(revision, wire)?;
        offers.push(Offer::new(function.id, Kind::NeighbourRelations(detection), trigger, Some(action)));
    }
    if parameters.contains(&message_copy::NI_MESSAGE) {
        let to_neighbours = if is_enb { InterfaceType::X2 } else { InterfaceType::Xn };
        let mut copies = vec![(to_neighbours, Kind::HandoverMessages(detection))];
        if !is_enb {
            copies.push((InterfaceType::Ng, Kind::InterfaceMessages(detection)));
        }
        for (ni_type, kind) in copies {
            let messages = MessageTypeNi { ni_type, ni_identifier: None, ni_message: None };
            let (trigger, action) = Plan::report_ni_messages(&[messages]).encode_in(revision, wire)?;
            offers.push(Offer::new(function.id, kind, trigger, Some(action)));
        }
    }
    Ok(offers)
}

/// Measurements of each UE, if the node offers any that are read here.
pub(super) fn ue_measurements(
    function: &FunctionInfo,
    detection: kpm::Detection,
    period_ms: u32,
    is_divided: bool,
) -> Result<Option<Offer>, Error> {
    let scope = Scope::EveryUe(EveryUe::AnySignal);
    let divided = |name: &str| match layer2::UE_MEASUREMENTS.iter().find(|measured| measured.name == name) {
        Some(measured) if measured.has_every_five_qi => &FIVE_QIS[..],
        Some(measured) if measured.is_divisible => &GBR_FIVE_QIS[..],
        _ => &[],
    };
    let names = layer2::UE_MEASUREMENTS.iter().map(|measured| measured.name);
    let planned =
        plan(function, &detection, period_ms, scope, names, |name| if is_divided { divided(name) } else { &[] })?;
    let offer = planned.map(|(action, trigger, definition)| {
        let kind = Kind::UeMeasurements(Measurements { detection, action, is_divided });
        Offer::new(function.id, kind, trigger, Some(definition))
    });
    Ok(offer)
}

/// Measurements of a cell, if the function is E2SM-KPM and offers any that are read here.
pub(super) fn cell_measurements(
    function: &FunctionInfo,
    cell: Cgi,
    period_ms: u32,
    is_divided: bool,
) -> Result<Option<Offer>, Error> {
    let detection = match detect_kpm(function) {
        Err(Error::UnknownOid) => return Ok(None),
        detected => detected?,
    };
    let divided = |name: &str| match layer2::CELL_MEASUREMENTS.iter().find(|measured| measured.name == name) {
        Some(measured) if measured.is_divisible && is_divided => &GBR_FIVE_QIS[..],
        _ => &[],
    };
    let names = layer2::CELL_MEASUREMENTS.iter().map(|measured| measured.name);
    let planned = plan(function, &detection, period_ms, Scope::Cell(cell), names, divided)?;
    let offer = planned.map(|(action, trigger, definition)| {
        let kind = Kind::CellMeasurements(Measurements { detection, action, is_divided }, cell);
        Offer::new(function.id, kind, trigger, Some(definition))
    });
    Ok(offer)
}

/// Without division by 5QI, for a node that refuses it; `None` for what is not divided.
pub(super) fn undivided(offer: &Offer, function: &FunctionInfo, period_ms: u32) -> Option<Offer> {
    match &offer.kind {
        Kind::UeMeasurements(of) if of.is_divided => {
            ue_measurements(function, of.detection, period_ms, false).ok().flatten()
        }
        Kind::CellMeasurements(of, cell) if of.is_divided => {
            cell_measurements(function, *cell, period_ms, false).ok().flatten()
        }
        _ => None,
    }
}

type Planned = (kpm::ActionDefinition<'static>, Vec<u8>, Vec<u8>);

/// The report of those measurements that the node offers; `None` if it offers none, or no such reports.
fn plan(
    function: &FunctionInfo,
    detection: &kpm::Detection,
    period_ms: u32,
    scope: Scope<'static>,
    names: impl Iterator<Item = &'static str>,
    five_qis: impl Fn(&str) -> &'static [u8],
) -> Result<Option<Planned>, Error> {
    let (revision, wire) = (detection.revision, detection.wire);
    // v01.00 has no reports of single measurements
    if revision == kpm::Revision::V1_00 {
        return Ok(None);
    }
    let arena = Arena::new();
    let definition = kpm::RanFunctionDefinition::decode_in(&function.definition, revision, wire, &arena)?;
    let is_of_cell = matches!(scope, Scope::Cell(_));
    let styles = || {
        let is_fitting = move |format: i64| if is_of_cell { format == 1 } else { (2..=5).contains(&format) };
        let styles = definition.ric_report_style_list.iter().flatten();
        styles.filter(move |style| is_fitting(style.ric_action_format_type.0))
    };
    let is_offered =
        |name: &&str| styles().any(|style| style.meas_info_action_list.iter().any(|item| *item.meas_name == **name));
    let labelled: Vec<(&'static str, Vec<LabelInfoItem>)> = names
        .filter(is_offered)
        .map(|name| {
            let label =
                |five_qi: &u8| MeasurementLabel { five_qi: Some(FiveQi(*five_qi)), ..MeasurementLabel::default() };
            let divided = five_qis(name).iter().map(label);
            let labels = std::iter::once(MeasurementLabel::NO_LABEL).chain(divided);
            (name, labels.map(|meas_label| LabelInfoItem { meas_label }).collect())
        })
        .collect();
    let measurements: Vec<_> =
        labelled.iter().map(|(name, labels)| MeasurementRequest { name, labels: labels.as_slice() }).collect();
    if measurements.is_empty() {
        return Ok(None);
    }
    let (granularity_period_ms, reporting_period_ms) = (period_ms, period_ms);
    let request = ReportRequest { measurements: &measurements, granularity_period_ms, reporting_period_ms, scope };
    let plan = match request.plan(&definition, revision) {
        // no style for this scope
        Err(Error::NoReportStyle | Error::NotOffered { .. }) => return Ok(None),
        plan => plan?,
    };
    let (mut trigger, mut octets) = (Vec::new(), Vec::new());
    plan.trigger.encode_in(revision, wire, &mut trigger)?;
    plan.action.encode_in(revision, wire, &mut octets)?;
    Ok(Some((per::IntoOwned::into_owned(plan.action), trigger, octets)))
}

//! E2SM-RC: control actions, and reports of what happens in the cell.
//!
//! A handover moves the UE to another cell of the RAN; a conditional one prepares a cell, to which the UE leaves by itself; a UE's
//! measurements are added, changed and deleted, the event of handovers among them. A slice-level PRB quota limits the resource blocks of a slice; DRX sets the
//! cycles of a UE, whose other timers stay; a bearer's priority, from its number or its QoS, weighs in scheduling.
//!
//! Reported are RRC states, the messages on NG that accompany them, messages about sessions and handovers, the measurement reports of
//! RRC, changes of the cell, and handovers in preparation.

use std::borrow::Cow;
use std::time::Duration;

use e2sm::common::{
    Cgi, EutraArfcn, EutraPci, EutraTac, FiveGsTac, FiveQi, NrArfcn, NrFrequencyBandItem, NrFrequencyInfo, NrPci,
    ServingCellArfcn, ServingCellPci, UeId,
};
use e2sm::rc::dictionary::HANDOVER_PREPARATION;
use e2sm::rc::dictionary::ue_information::DL_BUFFER_OCCUPANCY;
use e2sm::rc::{
    ActionId, ControlAction, DrbQos, Drx, Flag, MappedFlow, NeighborCellEutra, NeighborCellItem, NeighborCellNr,
    NeighborRelationInfo, NrModeInfo, RanParameterElementItem, RanParameterId, RanParameterValue, RrcState,
};
use ferric::agent::Ue;
use ferric::e2::Time;
use ferric::e2ap::{Cause, CauseRicRequest};
use per::{List, Octets, Real};
use radio::phy::Duplex;
use radio::{DrxConfig, ShortCycle};
use ran_functions::kpm::KpmSource;
use ran_functions::rc::{
    Event, EventKind, Origin, ProcedureId, RcSource, Refusal, SupportedBreakpoint, SupportedInsert, SupportedParameter,
    Verdict,
};

use tracing::debug;

use crate::band::{Spectrum, earfcn};
use crate::node::{DEFAULT_DRB, Node, UeContext, place_of};
use crate::node_type::NodeType;
use crate::priority::scheduling_weight;
use crate::simulation::UeBearer;

/// The period of reads while events may occur.
const POLL_PERIOD: Duration = Duration::from_millis(100);
/// Neighbours in a neighbour relation report.
const MAX_NEIGHBOURS: usize = 32;

/// UE parameters that the specification does not define. Its own ids begin at 1 in each table.
const RSRP_DBM: RanParameterId = RanParameterId(4_000_000_001);
const CQI: RanParameterId = RanParameterId(4_000_000_002);
const SLICE_TYPE: RanParameterId = RanParameterId(4_000_000_003);
const FIVE_QI: RanParameterId = RanParameterId(4_000_000_004);
/// A MeasurementReport of RRC (TS 38.331) with the serving cell and the strongest neighbours.
pub(super) const MEASURED_CELLS: RanParameterId = RanParameterId(4_000_000_005);

/// Parameters of a handover that are refused: single PDU sessions, bearers and secondary cells.
const REFUSED_OF_HANDOVER: [RanParameterId; 3] = [RanParameterId(7), RanParameterId(13), RanParameterId(19)];
/// Parameters of a bearer's QoS that are refused: all but DRB ID, 5QI and priority level.
const REFUSED_OF_DRB_QOS: [RanParameterId; 8] = [
    RanParameterId(3),
    RanParameterId(4),
    RanParameterId(7),
    RanParameterId(12),
    RanParameterId(19),
    RanParameterId(20),
    RanParameterId(21),
    RanParameterId(22),
];

/// The scheduling weight of a bearer other than the default one.
const DEDICATED_WEIGHT: f32 = 4.0;
/// The largest DRB identity (TS 38.331, DRB-Identity).
const MAX_DRB: u8 = 32;
/// The queued downlink octets of a bearer.
fn queued_octets(bearer: &radio::Bearer) -> u64 {
    u64::from(bearer.downlink().waiting_octets()) + bearer.tc().totals().waiting.octets
}

impl Node {
    /// Changes a UE of the cell, and publishes its bearer to the other parts of the gNB.
    pub(super) fn change_ue(&mut self, ue: Ue, change: impl FnOnce(&mut radio::Ue, &mut UeContext)) {
        let Some(place) = self.place(ue) else { return };
        let mut simulation = self.simulation.borrow_mut();
        let ue = simulation.model.network.cell_mut(self.cell_number()).ue_mut(place);
        if let Some((ue, context)) = ue.zip(self.contexts.get_mut(place)) {
            change(ue, context);
            let UeContext { five_qi: [five_qi], drb, has_session, .. } = *context;
            let bearer = UeBearer { five_qi, drb, has_session };
            simulation.bearers.version += 1;
            simulation.bearers.by_ue.insert(context.number, bearer);
        }
    }
}

fn refuse<T>(reason: impl Into<Cow<'static, str>>) -> Result<T, Refusal> {
    Err(Refusal::new(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute), reason))
}

/// The DRX parameters with the cycles of a control and the timers that the UE has.
fn drx_config(drx: &Drx, current: DrxConfig) -> Result<DrxConfig, String> {
    let short = match (drx.short_cycle, drx.short_cycle_timer) {
        (None, None) => None,
        (Some(_), Some(cycles)) => {
            let cycle_ms = drx.short_cycle_ms().ok_or("invalid short DRX cycle")?;
            Some(ShortCycle { cycle_ms, cycles })
        }
        (Some(_), None) => return Err("a short DRX cycle requires the short DRX cycle timer".into()),
        (None, Some(_)) => return Err("a short DRX cycle timer requires the short DRX cycle".into()),
    };
    let long_cycle_ms = drx.long_cycle_ms().ok_or("invalid long DRX cycle")?;
    let start_offset_ms = current.start_offset_ms.map(|offset| offset % long_cycle_ms);
    let config = DrxConfig { long_cycle_ms, start_offset_ms, short, ..current };
    config.check().map_err(|error| error.to_string())?;
    Ok(config)
}

impl RcSource for Node {
    fn advance(&mut self, now: Time) {
        KpmSource::advance(self, now);
    }

    fn cells(&self) -> Vec<Cgi> {
        vec![KpmSource::cell(self)]
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        KpmSource::ues(self, out);
    }

    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        KpmSource::ue_id(self, ue)
    }

    fn control_actions(&self) -> &[ActionId] {
        if let Some(actions) = self.profile.rc.actions {
            return actions;
        }
        match self.node_type {
            NodeType::Gnb | NodeType::CuUp => &[
                ControlAction::DRB_QOS,
                ControlAction::QOS_FLOW_MAPPING,
                ControlAction::DRX,
                ControlAction::SLICE_PRB_QUOTA,
                ControlAction::HANDOVER,
                ControlAction::CONDITIONAL_HANDOVER,
                ControlAction::ADD_MEASUREMENT,
                ControlAction::MODIFY_MEASUREMENT,
                ControlAction::DELETE_MEASUREMENT,
            ],
            NodeType::CuCp => &[
                ControlAction::DRB_QOS,
                ControlAction::QOS_FLOW_MAPPING,
                ControlAction::HANDOVER,
                ControlAction::CONDITIONAL_HANDOVER,
                ControlAction::ADD_MEASUREMENT,
                ControlAction::MODIFY_MEASUREMENT,
                ControlAction::DELETE_MEASUREMENT,
            ],
            NodeType::Du => &[ControlAction::DRX, ControlAction::SLICE_PRB_QUOTA],
            // QoS flows and S-NSSAIs exist in 5G only
            NodeType::Enb => &[ControlAction::DRB_QOS, ControlAction::DRX, ControlAction::HANDOVER],
        }
    }

    fn refused_parameters(&self, action: ActionId) -> &[RanParameterId] {
        // a profile lists what its base station lists
        if self.profile.rc.offer.is_some() || self.profile.rc.actions.is_some() {
            return &[];
        }
        match action {
            ControlAction::HANDOVER => &REFUSED_OF_HANDOVER,
            ControlAction::DRB_QOS => &REFUSED_OF_DRB_QOS,
            _ => &[],
        }
    }

    fn control(
        &mut self,
        now: Time,
        origin: Origin,
        ue: Option<Ue>,
        action: &ControlAction,
    ) -> Result<Vec<RanParameterElementItem<'static>>, Refusal> {
        // the action takes effect from now on
        KpmSource::advance(self, now);
        let (Origin::Control(controller) | Origin::Policy(controller)) = origin;
        match (action, ue) {
            (ControlAction::SlicePrbQuota(quota), _) => {
                self.set_quota(controller, quota).map_err(|refusal| {
                    Refusal::new(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute), refusal.reason)
                })?;
            }
            (ControlAction::Handover(handover), Some(ue)) => return self.control_handover(ue, handover),
            (ControlAction::ConditionalHandover(handover), Some(ue)) => {
                return self.control_conditional_handover(ue, handover);
            }
            (ControlAction::AddMeasurement(trigger), Some(ue)) => return self.add_measurement(ue, trigger),
            (ControlAction::ModifyMeasurement(change), Some(ue)) => return self.modify_measurement(ue, change),
            (ControlAction::DeleteMeasurement(id), Some(ue)) => return self.delete_measurement(ue, *id),
            (ControlAction::Other(other), Some(_)) => {
                return refuse(format!("{}: parameters other than those of the RAN function definition", other.id));
            }
            (action, Some(ue)) => {
                let Some(context) = self.context(ue).cloned() else { return refuse("the UE has left the cell") };
                match action {
                    ControlAction::Drx(drx) => {
                        let now = self.cell().now();
                        let current = self.cell().ue(place_of(ue)).and_then(|ue| ue.drx().copied());
                        let config = drx_config(drx, current.unwrap_or_default()).or_else(refuse)?;
                        self.change_ue(ue, |ue, _| ue.set_drx(now, Some(config)));
                    }
                    ControlAction::DrbQos(qos) => {
                        let DrbQos { drb_id, five_qi, priority_level, .. } = *qos;
                        let supported = DrbQos { drb_id, five_qi, priority_level, ..DrbQos::default() };
                        if *qos != supported {
                            return refuse("only 5QI and priority level of a bearer can be changed");
                        }
                        if context.drb != drb_id {
                            return refuse(format!("unknown DRB: the UE has DRB {} only", context.drb));
                        }
                        let Some(weight) = scheduling_weight(context.qfi, five_qi, priority_level) else {
                            return refuse("unsupported 5QI: use 1 to 9");
                        };
                        self.change_ue(ue, |ue, context| {
                            ue.set_preference(drb_id, weight);
                            context.five_qi = [FiveQi(five_qi.unwrap_or(context.five_qi[0].0))];
                        });
                    }
                    ControlAction::QosFlowMapping(mapping) => {
                        let is_known = |flow: &MappedFlow| flow.qfi == context.qfi && flow.direction.is_none();
                        if self.profile.accepts_unknown && !mapping.flows.iter().any(is_known) {
                            debug!(
                                drb = mapping.drb_id,
                                "mapping of QoS flows accepted without effect: the UE has none of them"
                            );
                            return Ok(Vec::new());
                        }
                        if mapping.flows.is_empty() || mapping.flows.iter().any(|flow| flow.qfi != context.qfi) {
                            return refuse(format!("unknown QoS flow: the UE has QFI {} only", context.qfi));
                        }
                        if mapping.flows.iter().any(|flow| flow.direction.is_some()) {
                            return refuse(
                                "mapping of one direction is not supported: a flow uses one bearer in both directions",
                            );
                        }
                        let drb_id = mapping.drb_id;
                        if !(1..=MAX_DRB).contains(&drb_id) {
                            return refuse(format!("DRB id {drb_id} is out of range 1 to {MAX_DRB}"));
                        }
                        self.change_ue(ue, |ue, context| {
                            ue.move_flows(drb_id);
                            ue.set_preference(drb_id, if drb_id == DEFAULT_DRB { 1.0 } else { DEDICATED_WEIGHT });
                            context.drb = drb_id;
                        });
                    }
                    other => panic!("{} is not offered", other.id()),
                }
            }
            (action, None) => panic!("{} requires a UE", action.id()),
        }
        Ok(Vec::new())
    }

    fn policy_actions(&self) -> &[ActionId] {
        if self.node_type.has_rrc() && self.profile.rc.has_procedures { &[ControlAction::HANDOVER] } else { &[] }
    }

    fn breakpoints(&self) -> &[SupportedBreakpoint] {
        static HANDOVER: SupportedBreakpoint = SupportedBreakpoint {
            breakpoint: HANDOVER_PREPARATION,
            call_process: Cow::Borrowed("Mobility Management"),
            name: Cow::Borrowed("Handover Preparation"),
            insert: SupportedInsert {
                style: 3,
                indication: 1,
                name: Cow::Borrowed("Handover Control Request"),
                action: ControlAction::HANDOVER,
            },
        };
        let has_procedures = self.node_type.has_rrc() && self.profile.rc.has_procedures;
        if has_procedures { std::slice::from_ref(&HANDOVER) } else { &[] }
    }

    fn resume(&mut self, now: Time, procedure: ProcedureId, verdict: Verdict<'_>) {
        KpmSource::advance(self, now);
        let Some((ue, target)) = self.mobility.events.take_handover(procedure) else { return };
        let target = match verdict {
            Verdict::Continue => target,
            Verdict::Replace(ControlAction::Handover(handover)) => handover.target,
            Verdict::Replace(_) | Verdict::Cancel => return,
        };
        if let Err(reason) = self.hand_over(ue, &target) {
            debug!(cell = self.cell_number(), ?ue, "handover not performed: {reason}");
        }
    }

    fn event_kinds(&self) -> &[EventKind] {
        if let Some(events) = self.profile.rc.events {
            return events;
        }
        match self.node_type {
            NodeType::Gnb => {
                &[EventKind::NiMessages, EventKind::RrcMessages, EventKind::NodeChanges, EventKind::RrcStates]
            }
            NodeType::CuUp => &[EventKind::NiMessages, EventKind::NodeChanges, EventKind::RrcStates],
            NodeType::CuCp => &[EventKind::NiMessages, EventKind::RrcMessages, EventKind::RrcStates],
            NodeType::Enb => &[EventKind::NiMessages, EventKind::RrcMessages, EventKind::RrcStates],
            NodeType::Du => &[EventKind::NodeChanges],
        }
    }

    fn next_event(&mut self, now: Time) -> Option<Event> {
        KpmSource::advance(self, now);
        self.mobility.events.next_event()
    }

    fn set_events_enabled(&mut self, is_enabled: bool) {
        self.subscribe_to_events(is_enabled);
    }

    fn next_event_time(&self) -> Option<Time> {
        if self.mobility.events.has_events() {
            return Some(Time::default());
        }
        self.mobility.events.needs_polling().then(|| self.last_read() + POLL_PERIOD)
    }

    fn ue_parameters(&self) -> &[SupportedParameter] {
        const fn offer(id: RanParameterId, name: &'static str, is_layer_2: bool) -> SupportedParameter {
            SupportedParameter { id, name: Cow::Borrowed(name), is_layer_2 }
        }
        // layer 2 first
        static OFFERS: [SupportedParameter; 6] = [
            offer(DL_BUFFER_OCCUPANCY, "DL Buffer Occupancy", true),
            offer(CQI, "CQI", true),
            offer(RSRP_DBM, "SS-RSRP in dBm", true),
            offer(MEASURED_CELLS, "Measured cells", true),
            offer(SLICE_TYPE, "Slice/Service type", false),
            offer(FIVE_QI, "5QI", false),
        ];
        match self.node_type {
            _ if !self.profile.rc.has_ue_parameters => &[],
            NodeType::Gnb | NodeType::Enb | NodeType::CuUp => &OFFERS,
            NodeType::CuCp => &OFFERS[2..],
            NodeType::Du => &OFFERS[..2],
        }
    }

    fn ue_parameter(&self, ue: Ue, id: RanParameterId) -> Option<RanParameterValue<'static>> {
        let context = self.context(ue)?;
        let cell = self.cell();
        let place = place_of(ue);
        let ue = cell.ue(place)?;
        match id {
            MEASURED_CELLS => {
                drop(cell);
                self.measured_cells(place).map(|octets| RanParameterValue::ValueOctS(Octets::from(octets)))
            }
            RSRP_DBM => Some(RanParameterValue::ValueReal(Real::from(ue.channel().rsrp_dbm()))),
            DL_BUFFER_OCCUPANCY => {
                let octets: u64 = ue.bearers().iter().map(queued_octets).sum();
                Some(RanParameterValue::ValueInt(8 * octets as i64))
            }
            FIVE_QI => Some(RanParameterValue::ValueInt(context.five_qi[0].0.into())),
            CQI => Some(RanParameterValue::ValueInt(ue.downlink().cqi().into())),
            SLICE_TYPE => Some(RanParameterValue::ValueInt(context.slice[0].sst.0[0].into())),
            _ => None,
        }
    }

    fn rrc_state(&self, ue: Ue) -> Option<RrcState> {
        let cell = self.cell();
        let ue = cell.ue(self.place(ue)?)?;
        Some(self.rrc_state_of(ue.is_inactive(cell.now())))
    }

    fn neighbor_relations(&self, _cell: &Cgi) -> Option<NeighborRelationInfo<'static>> {
        let simulation = self.simulation.borrow();
        let carrier = |number: usize| simulation.model.network.cell(number).grid().carrier();
        let arfcn = |spectrum: &Spectrum| NrArfcn { nr_arfcn: spectrum.downlink_arfcn };
        // a carrier outside all bands cannot be expressed
        let neighbour = |number: u16| {
            let (carrier, pci) = (carrier(number.into()), simulation.pcis[usize::from(number)]);
            let nr_cgi = match self.mobility.cell_of(number) {
                Cgi::NrCgi(nr_cgi) => nr_cgi,
                Cgi::EutraCgi(eutra_cgi) => {
                    return Some(NeighborCellItem::Eutra(NeighborCellEutra {
                        eutra_cgi,
                        eutra_pci: EutraPci(pci),
                        eutra_arfcn: EutraArfcn(earfcn(carrier)?),
                        eutra_tac: EutraTac([0, 1]),
                        x2_xn_established: if self.node_type == NodeType::Enb { Flag::True } else { Flag::False },
                        ho_validated: if self.node_type == NodeType::Enb { Flag::True } else { Flag::False },
                        version: 1,
                    }));
                }
            };
            let spectrum = Spectrum::of(carrier)?;
            let band = |band: &u16| NrFrequencyBandItem {
                freq_band_indicator_nr: *band,
                supported_sul_band_list: List::default(),
            };
            let bands: Vec<_> = spectrum.bands.iter().map(band).collect();
            let is_tdd = matches!(carrier.duplex, Duplex::Tdd { .. });
            let is_same = self.node_type != NodeType::Enb;
            // within the gNB there is no Xn
            let has_xn = is_same && !self.mobility.is_sibling(number);
            Some(NeighborCellItem::Nr(NeighborCellNr {
                nr_cgi,
                nr_pci: NrPci(pci),
                five_gs_tac: FiveGsTac([0, 0, 1]),
                nr_mode_info: if is_tdd { NrModeInfo::Tdd } else { NrModeInfo::Fdd },
                nr_freq_info: NrFrequencyInfo {
                    nr_arfcn: arfcn(&spectrum),
                    frequency_band_list: List::from(bands),
                    frequency_shift_7p5khz: None,
                },
                x2_xn_established: if has_xn { Flag::True } else { Flag::False },
                ho_validated: if is_same { Flag::True } else { Flag::False },
                version: 1,
            }))
        };
        let neighbours: Vec<_> = self.mobility.other_nodes().take(MAX_NEIGHBOURS).filter_map(neighbour).collect();
        let (own, pci) = (carrier(self.cell_number()), simulation.pcis[self.cell_number()]);
        let (serving_cell_pci, serving_cell_arfcn) = match self.node_type {
            NodeType::Enb => (ServingCellPci::Eutra(EutraPci(pci)), ServingCellArfcn::Eutra(EutraArfcn(earfcn(own)?))),
            _ => (ServingCellPci::Nr(NrPci(pci)), ServingCellArfcn::Nr(arfcn(&Spectrum::of(own)?))),
        };
        (!neighbours.is_empty()).then(|| NeighborRelationInfo {
            serving_cell_pci,
            serving_cell_arfcn,
            neighbor_cell_list: List::from(neighbours),
        })
    }
}

#[cfg(test)]
mod tests;

//! E2SM-RC: the emulator obeys. A handover moves the UE to another cell of the RAN; a quota bounds a slice's blocks; a
//! UE with DRX is sent to in its cycle; a bearer with a priority gets its flow served first, by its number or by its QoS.
//!
//! It tells of what it truly does: RRC states, the messages on its NG interface that go with them, a cell that is
//! configured otherwise, handovers that are about to be prepared. It has no messages of RRC, and tells of none.

use std::borrow::Cow;
use std::time::Duration;

use e2sm::common::{
    Cgi, FiveGsTac, FiveQi, NrArfcn, NrFrequencyBandItem, NrFrequencyInfo, NrPci, ServingCellArfcn, ServingCellPci,
    UeId,
};
use e2sm::rc::dictionary::HANDOVER_PREPARATION;
use e2sm::rc::dictionary::ue_information::DL_BUFFER_OCCUPANCY;
use e2sm::rc::{
    ActionId, ControlAction, DrbQos, Flag, NeighborCellItem, NeighborCellNr, NeighborRelationInfo, NrModeInfo,
    RanParameterElementItem, RanParameterId, RanParameterValue, RrcState,
};
use ferric::agent::Ue;
use ferric::e2::Time;
use ferric::e2ap::{Cause, CauseRicRequest};
use per::{List, Real};
use radio::phy::Duplex;
use ran_functions::kpm::KpmSource;
use ran_functions::rc::{
    Event, EventKind, Origin, ProcedureId, RcSource, Refusal, SupportedBreakpoint, SupportedInsert, SupportedParameter,
    Verdict,
};

use crate::band::Spectrum;
use crate::node::{DEFAULT_DRB, Facts, Node, place_of};
use crate::part::Part;
use crate::world::ChangedBearer;

/// How often something that happens by itself is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// Neighbours that are told.
const MAX_NEIGHBOURS: usize = 32;

/// Parameters of UEs, with numbers of our own: the specification's begin at 1 in each of its tables.
const RSRP_DBM: RanParameterId = RanParameterId(4_000_000_001);
const CQI: RanParameterId = RanParameterId(4_000_000_002);
const SLICE_TYPE: RanParameterId = RanParameterId(4_000_000_003);
const FIVE_QI: RanParameterId = RanParameterId(4_000_000_004);

/// How much more a bearer with a priority counts than the default one.
const PRIORITY: f32 = 4.0;
/// The greatest number of a bearer (TS 38.331, DRB-Identity).
const MAX_DRB: u8 = 32;
/// The default priority levels of 5QIs (TS 23.501 table 5.7.4-1).
const PRIORITY_LEVELS: [(u8, u8); 9] =
    [(1, 20), (2, 40), (3, 30), (4, 50), (5, 10), (6, 60), (7, 70), (8, 80), (9, 90)];
/// How much a priority level can count against the default one, either way.
const MAX_PREFERENCE: f32 = 10.0;

/// How much a bearer counts for its priority level: as much as that is below the level which the UE's first 5QI has by
/// itself. `None` where nothing is known of a 5QI.
fn preference(first_five_qi: u8, five_qi: Option<u8>, priority_level: Option<u8>) -> Option<f32> {
    let level_of = |five_qi: u8| PRIORITY_LEVELS.iter().find(|(known, _)| *known == five_qi).map(|(_, level)| *level);
    let own = level_of(first_five_qi)?;
    let of_five_qi = five_qi.map(level_of);
    let level = match (priority_level, of_five_qi) {
        (_, Some(None)) => return None,
        (Some(level), _) | (None, Some(Some(level))) => level,
        (None, None) => own,
    };
    Some((f32::from(own) / f32::from(level.max(1))).clamp(1.0 / MAX_PREFERENCE, MAX_PREFERENCE))
}

/// What waits for a bearer's downlink.
fn waiting_octets(bearer: &radio::Bearer) -> u64 {
    u64::from(bearer.downlink().waiting_octets()) + bearer.tc().totals().waiting.octets
}

impl Node {
    /// Changes a UE that is there.
    fn of_ue(&mut self, ue: Ue, change: impl FnOnce(&mut radio::Ue, &mut Facts)) {
        let Some(place) = self.place(ue) else { return };
        let mut world = self.world.borrow_mut();
        let there = world.model.network.cell_mut(self.mobility.number().into()).ue_mut(place);
        if let Some((there, facts)) = there.zip(self.facts.get_mut(place)) {
            change(there, facts);
            let bearer = ChangedBearer { five_qi: facts.five_qi[0], drb: facts.drb };
            world.bearers.changes += 1;
            world.bearers.of_ues.insert(facts.number, bearer);
        }
    }
}

fn refuse<T>(reason: impl Into<Cow<'static, str>>) -> Result<T, Refusal> {
    Err(Refusal::new(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute), reason))
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
        match self.part {
            Part::Gnb | Part::CuUp => &[
                ControlAction::DRB_QOS,
                ControlAction::QOS_FLOW_MAPPING,
                ControlAction::DRX,
                ControlAction::SLICE_PRB_QUOTA,
                ControlAction::HANDOVER,
            ],
            Part::CuCp => &[ControlAction::DRB_QOS, ControlAction::QOS_FLOW_MAPPING, ControlAction::HANDOVER],
            Part::Du => &[ControlAction::DRX, ControlAction::SLICE_PRB_QUOTA],
            // flows of QoS and slices by S-NSSAI are 5G's
            Part::Enb => &[ControlAction::DRB_QOS, ControlAction::DRX, ControlAction::HANDOVER],
        }
    }

    fn control(
        &mut self,
        now: Time,
        origin: Origin,
        ue: Option<Ue>,
        action: &ControlAction,
    ) -> Result<Vec<RanParameterElementItem<'static>>, Refusal> {
        // what was before goes on as it was
        KpmSource::advance(self, now);
        let (Origin::Control(controller) | Origin::Policy(controller)) = origin;
        match (action, ue) {
            (ControlAction::SlicePrbQuota(quota), _) => {
                self.set_quota(controller, quota).map_err(|refusal| {
                    Refusal::new(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute), refusal.reason)
                })?;
            }
            (ControlAction::Handover(handover), Some(ue)) => {
                if !handover.other.is_empty() {
                    return refuse("a UE goes with all that it has: no sessions, bearers or secondary cells are told");
                }
                self.hand_over(ue, &handover.target).or_else(|stays| refuse(stays.to_string()))?;
            }
            (action, Some(ue)) => {
                let Some(facts) = self.facts(ue).cloned() else { return refuse("the UE has left") };
                match action {
                    ControlAction::Drx(drx) => {
                        if drx.short_cycle.is_some() || drx.short_cycle_timer.is_some() {
                            return refuse("a UE has its long DRX cycle only: a short one is not carried out here");
                        }
                        let Some(cycle_ms) = drx.long_cycle_ms() else {
                            return refuse("there is no DRX cycle of that number");
                        };
                        let nanos = u64::from(cycle_ms) * 1_000_000;
                        self.of_ue(ue, |there, _| there.set_drx(Some(nanos)));
                    }
                    ControlAction::DrbQos(qos) => {
                        let DrbQos { drb_id, five_qi, priority_level, .. } = *qos;
                        let simple = DrbQos { drb_id, five_qi, priority_level, ..DrbQos::default() };
                        if *qos != simple {
                            return refuse("of a bearer's QoS, 5QI and priority level alone can be changed here");
                        }
                        if facts.drb != drb_id {
                            return refuse(format!("the UE has one bearer, whose number is {}", facts.drb));
                        }
                        let Some(preference) = preference(facts.qfi, five_qi, priority_level) else {
                            return refuse("nothing is known here of that 5QI: it is 1 to 9");
                        };
                        self.of_ue(ue, |there, facts| {
                            there.set_preference(drb_id, preference);
                            facts.five_qi = [FiveQi(five_qi.unwrap_or(facts.five_qi[0].0))];
                        });
                    }
                    ControlAction::QosFlowMapping(mapping) => {
                        if mapping.flows.is_empty() || mapping.flows.iter().any(|flow| flow.qfi != facts.qfi) {
                            return refuse(format!("the UE has one flow, whose identifier is {}", facts.qfi));
                        }
                        if mapping.flows.iter().any(|flow| flow.direction.is_some()) {
                            return refuse("a flow goes over one bearer both ways: no direction is told");
                        }
                        let drb_id = mapping.drb_id;
                        if !(1..=MAX_DRB).contains(&drb_id) {
                            return refuse(format!("bearers have numbers from 1 to {MAX_DRB}"));
                        }
                        self.of_ue(ue, |there, facts| {
                            there.move_flows(drb_id);
                            there.set_preference(drb_id, if drb_id == DEFAULT_DRB { 1.0 } else { PRIORITY });
                            facts.drb = drb_id;
                        });
                    }
                    other => panic!("{} is not offered", other.id()),
                }
            }
            (action, None) => panic!("{} is about a UE", action.id()),
        }
        Ok(Vec::new())
    }

    fn policy_actions(&self) -> &[ActionId] {
        if self.part.has_rrc() { &[ControlAction::HANDOVER] } else { &[] }
    }

    fn breakpoints(&self) -> &[SupportedBreakpoint] {
        const HANDOVER: SupportedBreakpoint = SupportedBreakpoint {
            breakpoint: HANDOVER_PREPARATION,
            call_process: "Mobility Management",
            name: "Handover Preparation",
            insert: SupportedInsert {
                style: 3,
                indication: 1,
                name: "Handover Control Request",
                action: ControlAction::HANDOVER,
            },
        };
        if self.part.has_rrc() { &[HANDOVER] } else { &[] }
    }

    fn resume(&mut self, now: Time, procedure: ProcedureId, verdict: Verdict<'_>) {
        KpmSource::advance(self, now);
        let Some((ue, target)) = self.mobility.take(procedure) else { return };
        let target = match verdict {
            Verdict::Continue => target,
            Verdict::Replace(ControlAction::Handover(handover)) => handover.target,
            Verdict::Replace(_) | Verdict::Cancel => return,
        };
        // a UE that has left, or a cell that is not there: it stays as it is
        let _ = self.hand_over(ue, &target);
    }

    fn event_kinds(&self) -> &[EventKind] {
        match self.part {
            Part::Gnb | Part::CuUp => &[EventKind::NiMessages, EventKind::NodeChanges, EventKind::RrcStates],
            Part::CuCp | Part::Enb => &[EventKind::NiMessages, EventKind::RrcStates],
            Part::Du => &[EventKind::NodeChanges],
        }
    }

    fn next_event(&mut self, now: Time) -> Option<Event> {
        KpmSource::advance(self, now);
        self.mobility.next_event()
    }

    fn set_events_enabled(&mut self, is_watched: bool) {
        self.watch_events(is_watched);
    }

    fn next_event_time(&self) -> Option<Time> {
        if self.mobility.has_events() {
            return Some(Time::default());
        }
        self.mobility.is_busy().then(|| self.looked_at() + LOOK)
    }

    fn ue_parameters(&self) -> &[SupportedParameter] {
        // those of layer 2 first
        const OFFERS: &[SupportedParameter] = &[
            SupportedParameter { id: DL_BUFFER_OCCUPANCY, name: "DL Buffer Occupancy", is_layer_2: true },
            SupportedParameter { id: CQI, name: "CQI", is_layer_2: true },
            SupportedParameter { id: RSRP_DBM, name: "SS-RSRP in dBm", is_layer_2: true },
            SupportedParameter { id: SLICE_TYPE, name: "Slice/Service type", is_layer_2: false },
            SupportedParameter { id: FIVE_QI, name: "5QI", is_layer_2: false },
        ];
        match self.part {
            Part::Gnb | Part::Enb | Part::CuUp => OFFERS,
            Part::CuCp => &OFFERS[2..],
            Part::Du => &OFFERS[..2],
        }
    }

    fn ue_parameter(&self, ue: Ue, id: RanParameterId) -> Option<RanParameterValue<'static>> {
        let facts = self.facts(ue)?;
        let cell = self.cell();
        let there = cell.ue(place_of(ue))?;
        match id {
            RSRP_DBM => Some(RanParameterValue::ValueReal(Real::from(there.channel().rsrp_dbm()))),
            DL_BUFFER_OCCUPANCY => {
                let octets: u64 = there.bearers().iter().map(waiting_octets).sum();
                Some(RanParameterValue::ValueInt(8 * octets as i64))
            }
            FIVE_QI => Some(RanParameterValue::ValueInt(facts.five_qi[0].0.into())),
            CQI => Some(RanParameterValue::ValueInt(there.downlink().cqi().into())),
            SLICE_TYPE => Some(RanParameterValue::ValueInt(facts.slice[0].sst.0[0].into())),
            _ => None,
        }
    }

    fn rrc_state(&self, ue: Ue) -> Option<RrcState> {
        let cell = self.cell();
        let there = cell.ue(self.place(ue)?)?;
        Some(self.rrc_state_of(there.is_inactive(cell.now())))
    }

    fn neighbor_relations(&self, _cell: &Cgi) -> Option<NeighborRelationInfo<'static>> {
        if self.part == Part::Enb {
            return None; // NR alone has this structure here
        }
        let world = self.world.borrow();
        let carrier = |number: usize| world.model.network.cell(number).grid().carrier();
        let arfcn = |spectrum: &Spectrum| NrArfcn { nr_arfcn: spectrum.downlink_arfcn };
        let neighbour = |number: u16| {
            let Cgi::NrCgi(nr_cgi) = self.mobility.cell(number) else { return None };
            // one whose carrier is in no band cannot be told
            let spectrum = Spectrum::of(carrier(number.into()))?;
            let band = |band: &u16| NrFrequencyBandItem {
                freq_band_indicator_nr: *band,
                supported_sul_band_list: List::default(),
            };
            let bands: Vec<_> = spectrum.bands.iter().map(band).collect();
            let is_tdd = matches!(carrier(number.into()).duplex, Duplex::Tdd { .. });
            Some(NeighborCellItem::Nr(NeighborCellNr {
                nr_cgi,
                nr_pci: NrPci(world.nr_pcis[usize::from(number)]),
                five_gs_tac: FiveGsTac([0, 0, 1]),
                nr_mode_info: if is_tdd { NrModeInfo::Tdd } else { NrModeInfo::Fdd },
                nr_freq_info: NrFrequencyInfo {
                    nr_arfcn: arfcn(&spectrum),
                    frequency_band_list: List::from(bands),
                    frequency_shift_7p5khz: None,
                },
                x2_xn_established: Flag::True,
                ho_validated: Flag::True,
                version: 1,
            }))
        };
        let neighbours: Vec<_> = self.mobility.others().take(MAX_NEIGHBOURS).filter_map(neighbour).collect();
        let own = Spectrum::of(carrier(self.at()))?;
        (!neighbours.is_empty()).then(|| NeighborRelationInfo {
            serving_cell_pci: ServingCellPci::Nr(NrPci(self.nr_pci())),
            serving_cell_arfcn: ServingCellArfcn::Nr(arfcn(&own)),
            neighbor_cell_list: List::from(neighbours),
        })
    }
}

#[cfg(test)]
mod tests;

//! E2SM-RC: the emulator obeys. A handover moves the UE to another cell of the RAN; a quota bounds a slice's blocks; a
//! UE with DRX is sent to in its cycle; a bearer with a priority gets its flow served first, by its number or by its QoS.
//!
//! It tells of what it truly does: RRC states, the messages on its NG interface that go with them, a cell that is
//! configured otherwise, handovers that are about to be prepared. It has no messages of RRC, and tells of none.

use std::borrow::Cow;
use std::time::Duration;

use e2sm::common::{
    Cgi, FiveGsTac, NrArfcn, NrFrequencyBandItem, NrFrequencyInfo, NrPci, ServingCellArfcn, ServingCellPci, UeId,
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
use functions::kpm::KpmSource;
use functions::rc::{
    BreakpointOffer, Event, Happening, InsertOffer, Origin, ParameterOffer, Procedure, RcSource, Refusal, Verdict,
};
use per::{List, Real};

use crate::node::Node;

/// How often something that happens by itself is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// Neighbours that are told.
const MAX_NEIGHBOURS: usize = 32;
/// 3.5 GHz in band n78 (TS 38.104 5.4.2.1).
const NR_ARFCN: u32 = 633_334;
const BAND: u16 = 78;
/// Physical cell identities are 0 to 1007.
const PCIS: u16 = 1008;

/// Parameters of UEs, with numbers of our own: the specification's begin at 1 in each of its tables.
const RSRP_DBM: RanParameterId = RanParameterId(4_000_000_001);
const CQI: RanParameterId = RanParameterId(4_000_000_002);
const SLICE_TYPE: RanParameterId = RanParameterId(4_000_000_003);
const FIVE_QI: RanParameterId = RanParameterId(4_000_000_004);

fn refuse<T>(why: impl Into<Cow<'static, str>>) -> Result<T, Refusal> {
    Err(Refusal::new(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute), why))
}

impl RcSource for Node {
    fn catch_up(&mut self, now: Time) {
        self.advance(now);
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

    fn actions(&self) -> &[ActionId] {
        &[
            ControlAction::DRB_QOS,
            ControlAction::QOS_FLOW_MAPPING,
            ControlAction::DRX,
            ControlAction::SLICE_PRB_QUOTA,
            ControlAction::HANDOVER,
        ]
    }

    fn control(
        &mut self,
        now: Time,
        origin: Origin,
        ue: Option<Ue>,
        action: &ControlAction,
    ) -> Result<Vec<RanParameterElementItem<'static>>, Refusal> {
        // what was before goes on as it was
        self.advance(now);
        let (Origin::Control(controller) | Origin::Policy(controller)) = origin;
        let step_s = self.cell.step_s();
        match (action, ue) {
            (ControlAction::SlicePrbQuota(quota), _) => {
                self.set_quota(controller, quota).map_err(|refusal| {
                    Refusal::new(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute), refusal.why)
                })?;
            }
            (ControlAction::Handover(handover), Some(ue)) => {
                if !handover.other.is_empty() {
                    return refuse("a UE goes with all that it has: no sessions, bearers or secondary cells are told");
                }
                self.hand_over(ue, &handover.target).or_else(|stays| refuse(stays.why()))?;
            }
            (action, Some(ue)) => {
                let there = self.cell.ue_mut(ue.0 as usize);
                let Some(there) = there else { return refuse("the UE has left") };
                match action {
                    ControlAction::Drx(drx) => {
                        // a cycle is a step at least
                        let cycle_s = drx.long_cycle_ms().map(|ms| (f64::from(ms) / 1e3).max(step_s));
                        there.set_drx(cycle_s.filter(|cycle_s| *cycle_s > step_s));
                    }
                    ControlAction::DrbQos(qos) => {
                        let DrbQos { drb_id, five_qi, priority_level, .. } = *qos;
                        let simple = DrbQos { drb_id, five_qi, priority_level, ..DrbQos::default() };
                        if *qos != simple {
                            return refuse("of a bearer's QoS, 5QI and priority level alone can be changed here");
                        }
                        if there.drb() != drb_id {
                            return refuse(format!("the UE has one bearer, whose number is {}", there.drb()));
                        }
                        let set = there.set_qos(five_qi, priority_level);
                        set.map_or_else(|| refuse("nothing is known here of that 5QI: it is 1 to 9"), Ok)?;
                    }
                    ControlAction::QosFlowMapping(mapping) => {
                        let has = |qfi: u8| there.qfi() == qfi;
                        if mapping.flows.is_empty() || !mapping.flows.iter().all(|flow| has(flow.qfi)) {
                            return refuse(format!("the UE has one flow, whose identifier is {}", there.qfi()));
                        }
                        there.set_drb(mapping.drb_id);
                    }
                    other => panic!("{} is not offered", other.id()),
                }
            }
            (action, None) => panic!("{} is about a UE", action.id()),
        }
        Ok(Vec::new())
    }

    fn policies(&self) -> &[ActionId] {
        &[ControlAction::HANDOVER]
    }

    fn breakpoints(&self) -> &[BreakpointOffer] {
        const HANDOVER: BreakpointOffer = BreakpointOffer {
            breakpoint: HANDOVER_PREPARATION,
            call_process: "Mobility Management",
            name: "Handover Preparation",
            insert: InsertOffer {
                style: 3,
                indication: 1,
                name: "Handover Control Request",
                action: ControlAction::HANDOVER,
            },
        };
        &[HANDOVER]
    }

    fn resume(&mut self, now: Time, procedure: Procedure, verdict: Verdict<'_>) {
        self.advance(now);
        let Some((ue, target)) = self.mobility.take(procedure) else { return };
        let target = match verdict {
            Verdict::GoOn => target,
            Verdict::Instead(ControlAction::Handover(handover)) => handover.target,
            Verdict::Instead(_) | Verdict::Cancel => return,
        };
        // a UE that has left, or a cell that is not there: it stays as it is
        let _ = self.hand_over(ue, &target);
    }

    fn happenings(&self) -> &[Happening] {
        &[Happening::NiMessages, Happening::NodeChanges, Happening::RrcStates]
    }

    fn next_event(&mut self, now: Time) -> Option<Event> {
        self.advance(now);
        self.mobility.next_event()
    }

    fn watched(&mut self, is_watched: bool) {
        self.mobility.watched(is_watched);
    }

    fn next_look(&self) -> Option<Time> {
        if self.mobility.has_events() {
            return Some(Time::default());
        }
        self.mobility.is_busy().then(|| self.looked_at() + LOOK)
    }

    fn parameters(&self) -> &[ParameterOffer] {
        &[
            ParameterOffer { id: DL_BUFFER_OCCUPANCY, name: "DL Buffer Occupancy", is_layer_2: true },
            ParameterOffer { id: RSRP_DBM, name: "SS-RSRP in dBm", is_layer_2: true },
            ParameterOffer { id: CQI, name: "CQI", is_layer_2: true },
            ParameterOffer { id: SLICE_TYPE, name: "Slice/Service type", is_layer_2: false },
            ParameterOffer { id: FIVE_QI, name: "5QI", is_layer_2: false },
        ]
    }

    fn parameter(&self, ue: Ue, id: RanParameterId) -> Option<RanParameterValue<'static>> {
        let ue = self.cell.ue(usize::try_from(ue.0).ok()?)?;
        match id {
            RSRP_DBM => Some(RanParameterValue::ValueReal(Real::from(ue.rsrp_dbm()))),
            DL_BUFFER_OCCUPANCY => Some(RanParameterValue::ValueInt(ue.downlink.waiting_bits() as i64)),
            FIVE_QI => Some(RanParameterValue::ValueInt(ue.five_qis().first()?.0.into())),
            CQI => Some(RanParameterValue::ValueInt(ue.cqi().into())),
            SLICE_TYPE => Some(RanParameterValue::ValueInt(ue.slices().first()?.sst.0[0].into())),
            _ => None,
        }
    }

    fn rrc_state(&self, ue: Ue) -> Option<RrcState> {
        self.cell.ue(usize::try_from(ue.0).ok()?)?;
        Some(if self.is_silent(ue) { RrcState::RrcInactive } else { RrcState::RrcConnected })
    }

    fn neighbours(&self, _cell: &Cgi) -> Option<NeighborRelationInfo<'static>> {
        let frequency = NrArfcn { nr_arfcn: NR_ARFCN };
        let neighbour = |cell: Cgi| {
            let Cgi::NrCgi(nr_cgi) = cell else { return None };
            let band = NrFrequencyBandItem { freq_band_indicator_nr: BAND, supported_sul_band_list: List::default() };
            Some(NeighborCellItem::Nr(NeighborCellNr {
                nr_cgi,
                // as its node has it until it is configured otherwise
                nr_pci: NrPci((nr_cgi.nr_cell_identity.value >> 14) as u16 % PCIS),
                five_gs_tac: FiveGsTac([0, 0, 1]),
                nr_mode_info: NrModeInfo::Tdd,
                nr_freq_info: NrFrequencyInfo {
                    nr_arfcn: frequency,
                    frequency_band_list: List::from(vec![band]),
                    frequency_shift_7p5khz: None,
                },
                x2_xn_established: Flag::True,
                ho_validated: Flag::True,
                version: 1,
            }))
        };
        let neighbours: Vec<_> = self.mobility.other_cells().take(MAX_NEIGHBOURS).filter_map(neighbour).collect();
        (!neighbours.is_empty()).then(|| NeighborRelationInfo {
            serving_cell_pci: ServingCellPci::Nr(NrPci(self.nr_pci())),
            serving_cell_arfcn: ServingCellArfcn::Nr(frequency),
            neighbor_cell_list: List::from(neighbours),
        })
    }
}

#[cfg(test)]
mod tests;

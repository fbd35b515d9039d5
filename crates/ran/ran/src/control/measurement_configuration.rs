//! The configuration of UEs' measurements, as copies of the RRC messages (E2SM-RC report style 1): RRCReconfiguration of a gNB
//! (TS 38.331 5.5.2), RRCConnectionReconfiguration of an eNB (TS 36.331 5.5.2).
//!
//! A UE that arrives is configured by its cell, which removes what another cell has configured; changes by E2SM-RC follow. The
//! measurement objects are the carrier of the cell, and for events of the other radio access technology that of its first cell in the
//! RAN. A message has the nearest values of the protocol.

use ap::{lte_rrc, nr_rrc};
use e2sm::common::{RrcClassLte, RrcClassNr, RrcMessageId, RrcType};
use ferric::agent::Ue;
use radio::phy::{Carrier, Grid, Rat};
use radio::{EventCondition, HANDOVER_MEASUREMENT, MeasurementEvent, ReportTrigger, UeEntry};
use ran_functions::rc::Event;

use crate::band::{Spectrum, earfcn};
use crate::node::{Node, ue_of};

/// What a message configures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configured {
    /// All measurements of a UE, whatever another cell has configured.
    All,
    /// All measurements of a UE that has none.
    First,
    /// A measurement that was added or changed.
    One(u8),
    /// A measurement that was removed.
    Removed(u8),
}

/// A report as the protocols describe it.
fn report(trigger: &ReportTrigger) -> nr_rrc::Report {
    use nr_rrc::Condition;
    match trigger {
        ReportTrigger::Periodic(interval) => nr_rrc::Report::Periodical { interval_ms: interval.as_millis() as u64 },
        ReportTrigger::Event(MeasurementEvent { condition, hysteresis_db, time_to_trigger }) => {
            let condition = match *condition {
                EventCondition::A1 { threshold_dbm } => Condition::A1(threshold_dbm),
                EventCondition::A2 { threshold_dbm } => Condition::A2(threshold_dbm),
                EventCondition::A3 { offset_db } => Condition::A3(offset_db),
                EventCondition::A4 { threshold_dbm } => Condition::A4(threshold_dbm),
                EventCondition::A5 { serving_dbm, neighbour_dbm } => Condition::A5(serving_dbm, neighbour_dbm),
                EventCondition::B1 { threshold_dbm } => Condition::B1(threshold_dbm),
                EventCondition::B2 { serving_dbm, neighbour_dbm } => Condition::B2(serving_dbm, neighbour_dbm),
            };
            nr_rrc::Report::Event {
                condition,
                hysteresis_db: *hysteresis_db,
                time_to_trigger_ms: time_to_trigger.as_millis() as u64,
            }
        }
    }
}

/// Whether a measurement needs a cell of the other radio access technology.
fn is_inter_rat(trigger: &ReportTrigger) -> bool {
    let ReportTrigger::Event(event) = trigger else { return false };
    matches!(event.condition, EventCondition::B1 { .. } | EventCondition::B2 { .. })
}

/// ARFCN and subcarrier spacing of the SSB of an NR carrier, in kHz; `None` if no band contains it.
fn nr_carrier(carrier: &Carrier) -> Option<(u32, u16)> {
    Some((Spectrum::of(carrier)?.downlink_arfcn, 15 << carrier.numerology.min(2)))
}

/// EARFCN and PRBs of a carrier of E-UTRA; `None` if no band contains it.
fn eutra_carrier(grid: &Grid) -> Option<(u16, u8)> {
    Some((earfcn(grid.carrier())?, u8::try_from(grid.prbs()).ok()?))
}

/// The measurement identity in messages of E-UTRA, as in its reports: the last one is that of handovers.
fn eutra_id(id: u8) -> Option<u8> {
    match id {
        HANDOVER_MEASUREMENT => Some(lte_rrc::MAX_MEAS_ID),
        id => Some(id).filter(|id| *id < lte_rrc::MAX_MEAS_ID),
    }
}

impl Node {
    /// Reports the message that configures the measurements of a UE that has arrived.
    pub fn report_first_measurements(&mut self, stay: &UeEntry, is_new: bool) {
        self.report_measurement_configuration(ue_of(stay), if is_new { Configured::First } else { Configured::All });
    }

    /// Reports the message that configures measurements of a UE. Carriers outside of all bands have none.
    pub fn report_measurement_configuration(&mut self, ue: Ue, configured: Configured) {
        let Some(place) = self.place(ue).filter(|_| self.mobility.events.is_subscribed()) else { return };
        if !self.reports_rrc_messages() {
            return;
        }
        let Some((id, octets)) = self.measurement_configuration(place, configured) else { return };
        self.mobility.events.report(Event::RrcMessage { ue, id, from_ue: false, octets });
    }

    fn measurement_configuration(&self, place: usize, configured: Configured) -> Option<(RrcMessageId, Vec<u8>)> {
        let simulation = self.simulation.borrow();
        let network = &simulation.model.network;
        let (cell, rat) = (self.cell_number(), self.rat());
        let grid_of = |number: usize| network.cell(number).grid();
        let other = (0..network.cells()).map(grid_of).find(|grid| grid.carrier().rat != rat);
        let mut measurements = network.measurements_of(cell, place);
        // a UE cannot look for cells of a technology that is not there
        measurements.retain(|(_, trigger)| other.is_some() || !is_inter_rat(trigger));
        let mut removed: Vec<u8> = Vec::new();
        match configured {
            Configured::All => removed.extend(1..=HANDOVER_MEASUREMENT),
            Configured::First => {}
            Configured::One(id) => measurements.retain(|(known, _)| *known == id),
            Configured::Removed(id) => {
                removed.push(id);
                measurements.clear();
            }
        }
        let measurements = measurements.iter().map(|(id, trigger)| (*id, report(trigger)));
        let encoded = match rat {
            Rat::Nr => {
                let message = nr_rrc::MeasurementConfiguration {
                    removed,
                    measurements: measurements.collect(),
                    carrier: nr_carrier(grid_of(cell).carrier())?,
                    eutra_carrier: other.and_then(eutra_carrier).map(|(earfcn, prbs)| (earfcn.into(), prbs)),
                    ..nr_rrc::MeasurementConfiguration::default()
                };
                message.encode()
            }
            Rat::Lte => {
                let message = lte_rrc::MeasurementConfiguration {
                    removed: removed.into_iter().filter_map(eutra_id).collect(),
                    measurements: measurements.filter_map(|(id, report)| Some((eutra_id(id)?, report))).collect(),
                    carrier: eutra_carrier(grid_of(cell))?,
                    nr_carrier: other.and_then(|grid| nr_carrier(grid.carrier())),
                    ..lte_rrc::MeasurementConfiguration::default()
                };
                message.encode()
            }
        };
        let id = match rat {
            Rat::Nr => {
                RrcMessageId { rrc_type: RrcType::Nr(RrcClassNr::DlDcch), message_id: nr_rrc::RRC_RECONFIGURATION }
            }
            Rat::Lte => RrcMessageId {
                rrc_type: RrcType::Lte(RrcClassLte::DlDcch),
                message_id: lte_rrc::RRC_CONNECTION_RECONFIGURATION,
            },
        };
        // without a carrier for events of the other technology there is no message
        Some((id, encoded.ok()?))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ap::nr_rrc::{MeasurementChanges, ReportKind};
    use e2sm::rc::{ControlAction, MeasurementChange, MeasurementTrigger};
    use ferric::agent::ControllerId;
    use ferric::e2::Time;
    use ran_functions::kpm::KpmSource;
    use ran_functions::rc::{Origin, RcSource};

    use super::*;
    use crate::{RanConfig, testing};

    const START: Time = Time::from_nanos(5_000_000_000);

    /// Cells with an event for each condition and periodic reports; the last one is of LTE.
    fn nodes() -> Vec<Node> {
        let mut scenario = testing::mixed_traffic(4, 2);
        for cell in &mut scenario.cells[2..] {
            cell.radio.carrier = Carrier::lte();
        }
        let event = |condition| MeasurementEvent { condition, hysteresis_db: 1.0, time_to_trigger: Duration::ZERO };
        scenario.measurement.events = vec![
            event(EventCondition::A1 { threshold_dbm: -90.0 }),
            event(EventCondition::A2 { threshold_dbm: -110.0 }),
            event(EventCondition::A3 { offset_db: 3.0 }),
            event(EventCondition::A4 { threshold_dbm: -100.0 }),
            event(EventCondition::A5 { serving_dbm: -100.0, neighbour_dbm: -95.0 }),
            event(EventCondition::B1 { threshold_dbm: -105.0 }),
            event(EventCondition::B2 { serving_dbm: -105.0, neighbour_dbm: -100.0 }),
        ];
        scenario.measurement.report_interval = Some(Duration::from_millis(480));
        scenario.handover.a3_offset_db = None;
        let mut nodes = testing::nodes(&RanConfig { scenario, ..RanConfig::default() });
        for node in &mut nodes {
            KpmSource::advance(node, START);
            node.set_events_enabled(true);
        }
        nodes
    }

    fn first_ue(node: &Node) -> Ue {
        let mut ues = Vec::new();
        KpmSource::ues(node, &mut ues);
        ues[0]
    }

    /// The copies of configurations until now, with their UEs.
    fn configurations(node: &mut Node, now: Time) -> Vec<(Ue, MeasurementChanges)> {
        std::iter::from_fn(|| node.next_event(now))
            .filter_map(|event| match event {
                Event::RrcMessage { ue, from_ue: false, octets, id } => {
                    let changes = match id.rrc_type {
                        RrcType::Nr(_) => MeasurementChanges::decode_nr(&octets),
                        RrcType::Lte(_) => MeasurementChanges::decode_eutra(&octets),
                    };
                    Some((ue, changes.unwrap()))
                }
                _ => None,
            })
            .collect()
    }

    fn kinds() -> Vec<(u8, ReportKind)> {
        let events = (1..=5).map(ReportKind::EventA).chain([1, 2].map(ReportKind::EventB));
        (1..).zip(events.chain([ReportKind::Periodical])).collect()
    }

    #[test]
    fn ue_that_arrives_is_configured_by_its_cell() {
        let mut nodes = nodes();
        for (from, most) in [(0, 64), (2, 32)] {
            assert_eq!(configurations(&mut nodes[from + 1], START), [], "the UEs are there already");
            let target = nodes[from].mobility.cell_of(from as u16 + 1);
            let ue = first_ue(&nodes[from]);
            nodes[from].hand_over(ue, &target).unwrap();
            let configured = configurations(&mut nodes[from + 1], START + Duration::from_secs(1 + from as u64));
            let [(_, changes)] = &configured[..] else { panic!("{configured:?}") };
            assert_eq!((&changes.reports, changes.removed.len()), (&kinds(), most));
            let expected: Vec<(u8, u8)> = (1..=8).map(|id| (id, id)).collect();
            assert_eq!(changes.added, expected);
        }
    }

    #[test]
    fn changes_of_single_measurements_are_configured() {
        let mut nodes = nodes();
        let node = &mut nodes[0];
        let ue = first_ue(node);
        let every = MeasurementTrigger::Periodic { interval_ms: 240 };
        let change = MeasurementChange { id: 1, trigger: every };
        for (action, added, removed) in [
            (ControlAction::AddMeasurement(every), vec![(9, 9)], vec![]),
            (ControlAction::ModifyMeasurement(change), vec![(1, 1)], vec![]),
            (ControlAction::DeleteMeasurement(9), vec![], vec![9]),
        ] {
            node.control(START, Origin::Control(ControllerId(1)), Some(ue), &action).unwrap();
            let configured = configurations(node, START);
            let [(of, changes)] = &configured[..] else { panic!("{configured:?}") };
            assert_eq!((*of, &changes.added, &changes.removed), (ue, &added, &removed));
            assert!(changes.reports.iter().all(|(_, kind)| *kind == ReportKind::Periodical), "{changes:?}");
        }
    }
}

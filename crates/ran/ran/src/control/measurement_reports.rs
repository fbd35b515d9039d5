//! Measurement reports of UEs, as copies of the RRC messages (E2SM-RC report style 1): those of NR (TS 38.331), and of eNBs those of
//! E-UTRA (TS 36.331). A report has all serving cells, and neighbours of one radio access technology: of the other one by events B1
//! and B2.

use ap::{lte_rrc, nr_rrc};
use e2sm::common::{RrcClassLte, RrcClassNr, RrcMessageId, RrcType};
use radio::CellMeasurement;
use radio::phy::Rat;
use ran_functions::rc::{Event, EventKind, RcSource};

use crate::node::{Node, ue_of};
use crate::node_type::NodeType;
use crate::simulation::RanSimulation;

/// The message type of the reports of a radio access technology.
const fn message_of(rat: Rat) -> RrcMessageId {
    match rat {
        Rat::Nr => RrcMessageId { rrc_type: RrcType::Nr(RrcClassNr::UlDcch), message_id: nr_rrc::MEASUREMENT_REPORT },
        Rat::Lte => {
            RrcMessageId { rrc_type: RrcType::Lte(RrcClassLte::UlDcch), message_id: lte_rrc::MEASUREMENT_REPORT }
        }
    }
}

/// What a UE of NR reports of an NR cell.
fn nr_result(cell: &CellMeasurement, pci: u16) -> nr_rrc::CellResult {
    nr_rrc::CellResult {
        pci: Some(pci),
        rsrp: Some(nr_rrc::rsrp_range(cell.rsrp_dbm)),
        rsrq: Some(nr_rrc::rsrq_range(cell.rsrq_db)),
        sinr: Some(nr_rrc::sinr_range(cell.sinr_db)),
    }
}

/// A UL-DCCH-Message of a UE of `rat`. Neighbours are those of the technology of the strongest one.
fn encode(
    simulation: &RanSimulation,
    rat: Rat,
    id: u8,
    (serving, secondary): (&CellMeasurement, &[(u8, CellMeasurement)]),
    neighbours: &[CellMeasurement],
) -> Vec<u8> {
    let rat_of = |cell: &CellMeasurement| simulation.model.network.cell(cell.cell).grid().carrier().rat;
    let pci = |cell: &CellMeasurement| simulation.pcis[cell.cell];
    let kind = neighbours.first().map_or(rat, rat_of);
    let reported: Vec<&CellMeasurement> =
        neighbours.iter().filter(|cell| rat_of(cell) == kind).take(radio::MAX_REPORTED_CELLS).collect();
    let encoded = match rat {
        Rat::Nr => {
            let nr_secondary = |(index, cell): &(u8, CellMeasurement)| nr_rrc::SecondaryResult {
                index: *index,
                cell: nr_result(cell, pci(cell)),
                best_neighbour: None,
            };
            let mut message = nr_rrc::MeasurementReport {
                meas_id: id,
                serving: nr_result(serving, pci(serving)),
                secondary: secondary.iter().map(nr_secondary).collect(),
                ..nr_rrc::MeasurementReport::default()
            };
            match kind {
                Rat::Nr => message.neighbours = reported.iter().map(|cell| nr_result(cell, pci(cell))).collect(),
                Rat::Lte => {
                    let result = |cell: &&CellMeasurement| nr_rrc::EutraCellResult {
                        pci: pci(cell),
                        rsrp: Some(lte_rrc::rsrp_range(cell.rsrp_dbm)),
                        rsrq: Some(lte_rrc::rsrq_range(cell.rsrq_db)),
                        sinr: Some(lte_rrc::sinr_range(cell.sinr_db)),
                    };
                    message.eutra_neighbours = reported.iter().map(result).collect();
                }
            }
            message.encode()
        }
        Rat::Lte => {
            let lte_secondary = |(index, cell): &(u8, CellMeasurement)| lte_rrc::SecondaryResult {
                index: *index,
                quality: Some(lte_rrc::Quality {
                    rsrp: lte_rrc::rsrp_range(cell.rsrp_dbm),
                    rsrq: lte_rrc::rsrq_range(cell.rsrq_db),
                }),
                best_neighbour: None,
            };
            let mut message = lte_rrc::MeasurementReport {
                meas_id: id.min(lte_rrc::MAX_MEAS_ID),
                rsrp: lte_rrc::rsrp_range(serving.rsrp_dbm),
                rsrq: lte_rrc::rsrq_range(serving.rsrq_db),
                secondary: secondary.iter().map(lte_secondary).collect(),
                ..lte_rrc::MeasurementReport::default()
            };
            match kind {
                Rat::Lte => {
                    let result = |cell: &&CellMeasurement| lte_rrc::CellResult {
                        pci: pci(cell),
                        rsrp: Some(lte_rrc::rsrp_range(cell.rsrp_dbm)),
                        rsrq: Some(lte_rrc::rsrq_range(cell.rsrq_db)),
                    };
                    message.neighbours = reported.iter().map(result).collect();
                }
                Rat::Nr => {
                    let result = |cell: &&CellMeasurement| lte_rrc::NrCellResult {
                        pci: pci(cell),
                        rsrp: Some(nr_rrc::rsrp_range(cell.rsrp_dbm)),
                        rsrq: Some(nr_rrc::rsrq_range(cell.rsrq_db)),
                        sinr: Some(nr_rrc::sinr_range(cell.sinr_db)),
                    };
                    message.nr_neighbours = reported.iter().map(result).collect();
                }
            }
            message.encode()
        }
    };
    encoded.unwrap_or_else(|error| panic!("the model's values are within the protocol's bounds: {error}"))
}

impl Node {
    /// Whether it reports RRC messages.
    pub fn reports_rrc_messages(&self) -> bool {
        self.event_kinds().contains(&EventKind::RrcMessages)
    }

    pub(super) fn rat(&self) -> Rat {
        if self.node_type == NodeType::Enb { Rat::Lte } else { Rat::Nr }
    }

    /// A measurement report of the UE at a place, as it would be sent now, with neighbours of its own technology.
    pub fn measured_cells(&self, place: usize) -> Option<Vec<u8>> {
        let (simulation, rat) = (self.simulation.borrow(), self.rat());
        let network = &simulation.model.network;
        let measured = network.measured(self.cell_number(), place);
        let (serving, others) = measured.split_first()?;
        let secondary = network.measured_secondary(self.cell_number(), place);
        let is_serving = |cell: &CellMeasurement| secondary.iter().any(|(_, serving)| serving.cell == cell.cell);
        let is_same =
            |cell: &&CellMeasurement| network.cell(cell.cell).grid().carrier().rat == rat && !is_serving(cell);
        let neighbours: Vec<CellMeasurement> = others.iter().filter(is_same).copied().collect();
        Some(encode(&simulation, rat, 1, (serving, &secondary), &neighbours))
    }

    /// Reports the measurement reports that UEs have sent.
    pub fn report_measurements(&mut self) {
        let (cell, rat) = (self.cell_number(), self.rat());
        let messages: Vec<_> = {
            let mut simulation = self.simulation.borrow_mut();
            let reports: Vec<_> = simulation.model.network.take_reports(cell).collect();
            let encoded = |report: &radio::MeasurementReport| {
                encode(&simulation, rat, report.id, (&report.serving, &report.secondary), &report.neighbours)
            };
            reports.iter().map(|report| (ue_of(&report.ue), encoded(report))).collect()
        };
        for (ue, octets) in messages {
            self.mobility.events.report(Event::RrcMessage { ue, id: message_of(rat), from_ue: true, octets });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ap::nr_rrc::MeasurementReport;
    use ferric::e2::Time;
    use ran_functions::kpm::KpmSource;

    use super::*;
    use crate::{RanConfig, testing};

    const START: Time = Time::from_nanos(5_000_000_000);

    #[test]
    fn measurement_reports_are_copied_to_subscribers() {
        let mut scenario = testing::mixed_traffic(3, 2);
        scenario.measurement.report_interval = Some(Duration::from_millis(480));
        let mut nodes = testing::nodes(&RanConfig { scenario, ..RanConfig::default() });
        let node = &mut nodes[1];
        KpmSource::advance(node, START);
        node.set_events_enabled(true);
        let mut reports = Vec::new();
        for tenth in 1..=20 {
            let now = START + Duration::from_millis(100 * tenth);
            while let Some(event) = node.next_event(now) {
                if let Event::RrcMessage { ue, id, from_ue, octets } = event {
                    assert_eq!((id, from_ue), (message_of(Rat::Nr), true));
                    reports.push((ue, MeasurementReport::decode(&octets).unwrap()));
                }
            }
        }
        assert_eq!(reports.len(), 8, "two UEs, four times in two seconds");
        for (ue, report) in reports {
            assert!(node.context(ue).is_some());
            assert_eq!((report.meas_id, report.serving.pci, report.neighbours.len()), (1, Some(node.nr_pci()), 2));
            let cell = node.cell();
            let rsrp_dbm = cell.ue(crate::node::place_of(ue)).unwrap().channel().rsrp_dbm();
            let reported_dbm = nr_rrc::rsrp_dbm(report.serving.rsrp.unwrap());
            assert!((rsrp_dbm - reported_dbm).abs() < 6.0, "{rsrp_dbm} and {reported_dbm} dBm");
        }
        node.set_events_enabled(false);
        KpmSource::advance(node, START + Duration::from_secs(5));
        assert_eq!(node.next_event(START + Duration::from_secs(5)), None);
    }

    #[test]
    fn measurements_of_neighbours_are_parameters_of_a_ue() {
        let mut nodes = testing::nodes(&RanConfig { scenario: testing::mixed_traffic(3, 2), ..RanConfig::default() });
        let node = &mut nodes[0];
        KpmSource::advance(node, START + Duration::from_secs(1));
        let mut ues = Vec::new();
        KpmSource::ues(node, &mut ues);
        let value = node.ue_parameter(ues[0], super::super::rc::MEASURED_CELLS);
        let Some(e2sm::rc::RanParameterValue::ValueOctS(octets)) = value else { panic!("{value:?}") };
        let report = MeasurementReport::decode(&octets.to_cow()).unwrap();
        assert_eq!((report.serving.pci, report.neighbours.len()), (Some(node.nr_pci()), 2));
        assert!(report.neighbours[0].rsrp >= report.neighbours[1].rsrp, "the strongest first");
    }

    /// The reports of a RAN of one NR cell and two LTE cells, with an event for each technology, by cell.
    #[test]
    fn reports_of_enbs_are_those_of_eutra() {
        let mut scenario = testing::mixed_traffic(3, 2);
        for cell in &mut scenario.cells[1..] {
            cell.radio.carrier = radio::phy::Carrier::lte();
        }
        let event = |condition| radio::MeasurementEvent {
            condition,
            hysteresis_db: 0.0,
            time_to_trigger: Duration::from_millis(100),
        };
        scenario.measurement.events = vec![
            event(radio::EventCondition::A4 { threshold_dbm: -150.0 }),
            event(radio::EventCondition::B1 { threshold_dbm: -150.0 }),
        ];
        let mut nodes = testing::nodes(&RanConfig { scenario, ..RanConfig::default() });
        let pcis: Vec<u16> = nodes[0].simulation.borrow().pcis.clone();
        for node in &mut nodes {
            KpmSource::advance(node, START);
            node.set_events_enabled(true);
        }
        let mut octets_of = |node: usize| -> Vec<Vec<u8>> {
            let events = std::iter::from_fn(|| nodes[node].next_event(START + Duration::from_secs(2)));
            let octets = |event| match event {
                Event::RrcMessage { id, octets, .. } => {
                    assert_eq!(id, message_of(if node == 0 { Rat::Nr } else { Rat::Lte }));
                    Some(octets)
                }
                _ => None,
            };
            events.filter_map(octets).collect()
        };
        let of_nr: Vec<_> = octets_of(0).iter().map(|octets| MeasurementReport::decode(octets).unwrap()).collect();
        assert!(of_nr.len() >= 2 && of_nr.iter().all(|report| report.meas_id == 2 && report.neighbours.is_empty()));
        assert!(of_nr[0].eutra_neighbours.iter().all(|cell| pcis[1..].contains(&cell.pci)), "{of_nr:?}");
        let of_lte: Vec<_> =
            octets_of(1).iter().map(|octets| lte_rrc::MeasurementReport::decode(octets).unwrap()).collect();
        let by = |id| of_lte.iter().filter(move |report| report.meas_id == id).collect::<Vec<_>>();
        assert!(!by(1).is_empty() && !by(2).is_empty(), "{of_lte:?}");
        assert!(by(1).iter().all(|report| report.neighbours.iter().all(|cell| cell.pci == pcis[2])));
        assert!(by(2).iter().all(|report| report.nr_neighbours.iter().all(|cell| cell.pci == pcis[0])));
    }
}

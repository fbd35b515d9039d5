//! Measurement reports of UEs, as copies of the RRC messages (E2SM-RC report style 1).

use ap::nr_rrc::{self, CellResult, MeasurementReport};
use e2sm::common::{RrcClassNr, RrcMessageId, RrcType};
use radio::CellMeasurement;
use ran_functions::rc::{Event, EventKind, RcSource};

use crate::node::{Node, ue_of};
use crate::node_type::NodeType;

/// The message type of the reports.
const MESSAGE: RrcMessageId =
    RrcMessageId { rrc_type: RrcType::Nr(RrcClassNr::UlDcch), message_id: nr_rrc::MEASUREMENT_REPORT };

/// What is reported of a cell.
fn result(cell: &CellMeasurement, pcis: &[u16]) -> CellResult {
    CellResult {
        pci: pcis.get(cell.cell).copied(),
        rsrp: Some(nr_rrc::rsrp_range(cell.rsrp_dbm)),
        rsrq: Some(nr_rrc::rsrq_range(cell.rsrq_db)),
        sinr: Some(nr_rrc::sinr_range(cell.sinr_db)),
    }
}

fn encoded(message: &MeasurementReport) -> Vec<u8> {
    message.encode().unwrap_or_else(|error| panic!("the model's values are within the protocol's bounds: {error}"))
}

impl Node {
    /// Whether it reports RRC messages.
    pub fn reports_rrc_messages(&self) -> bool {
        self.event_kinds().contains(&EventKind::RrcMessages)
    }

    /// A measurement report of the UE at a place, as it would be sent now; `None` for a UE of LTE.
    pub fn measured_cells(&self, place: usize) -> Option<Vec<u8>> {
        if self.node_type == NodeType::Enb {
            return None;
        }
        let simulation = self.simulation.borrow();
        let measured = simulation.model.network.measured(self.cell_number(), place);
        let mut cells =
            measured.iter().take(1 + radio::MAX_REPORTED_CELLS).map(|cell| result(cell, &simulation.nr_pcis));
        let message = MeasurementReport { meas_id: 1, serving: cells.next()?, neighbours: cells.collect() };
        Some(encoded(&message))
    }

    /// Reports the measurement reports that UEs have sent.
    pub fn report_measurements(&mut self) {
        let (reports, pcis) = {
            let mut simulation = self.simulation.borrow_mut();
            let reports: Vec<_> = simulation.model.network.take_reports(self.cell_number()).collect();
            (reports, simulation.nr_pcis.clone())
        };
        for report in reports {
            let message = MeasurementReport {
                meas_id: report.id,
                serving: result(&report.serving, &pcis),
                neighbours: report.neighbours.iter().map(|cell| result(cell, &pcis)).collect(),
            };
            let octets = encoded(&message);
            let ue = ue_of(&report.ue);
            self.mobility.events.report(Event::RrcMessage { ue, id: MESSAGE, from_ue: true, octets });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
                    assert_eq!((id, from_ue), (MESSAGE, true));
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
}

//! Measurements of connections, handovers and random access, from the counters of the network.

use e2sm::kpm::{MeasurementLabel, Value};
use radio::{CellMeasurement, MobilityCounts};
use ran_functions::kpm::MeasuredObject;

use super::{CounterSnapshot, Kpi};
use crate::node::Node;

/// A count of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MobilityCount {
    Setups,
    SetupsSucceeded,
    SetupsRejected,
    SetupsWithoutReply,
    Reestablishments,
    ReestablishmentsSucceeded,
    Preparations,
    PreparationsSucceeded,
    PreparationsFailed,
    Allocations,
    AllocationsSucceeded,
    AllocationsFailed,
    Executions,
    ExecutionsSucceeded,
    ExecutionsFailed,
    ConditionalPreparations,
    ConditionalPreparationsSucceeded,
    ConditionalUes,
    ConditionalExecutionsSucceeded,
    TooEarly,
    TooLate,
    ToWrongCell,
    PingPongs,
}

impl MobilityCount {
    fn of(self, counts: &MobilityCounts) -> u64 {
        match self {
            MobilityCount::Setups => counts.setups_attempted,
            MobilityCount::SetupsSucceeded => counts.setups_succeeded,
            MobilityCount::SetupsRejected => counts.setups_failed_rejected,
            MobilityCount::SetupsWithoutReply => counts.setups_failed_no_reply,
            MobilityCount::Reestablishments => counts.reestablishments_attempted,
            MobilityCount::ReestablishmentsSucceeded => counts.reestablishments_succeeded,
            MobilityCount::Preparations => counts.preparations_requested,
            MobilityCount::PreparationsSucceeded => counts.preparations_succeeded,
            MobilityCount::PreparationsFailed => counts.preparations_failed_locked + counts.preparations_failed_full,
            MobilityCount::Allocations => counts.allocations_requested,
            MobilityCount::AllocationsSucceeded => counts.allocations_succeeded,
            MobilityCount::AllocationsFailed => counts.allocations_failed,
            MobilityCount::Executions => counts.executions_requested,
            MobilityCount::ExecutionsSucceeded => counts.executions_succeeded,
            MobilityCount::ExecutionsFailed => counts.executions_failed,
            MobilityCount::ConditionalPreparations => counts.conditional_preparations_requested,
            MobilityCount::ConditionalPreparationsSucceeded => counts.conditional_preparations_succeeded,
            MobilityCount::ConditionalUes => counts.conditional_ues,
            MobilityCount::ConditionalExecutionsSucceeded => counts.conditional_executions_succeeded,
            MobilityCount::TooEarly => counts.too_early,
            MobilityCount::TooLate => counts.too_late,
            MobilityCount::ToWrongCell => counts.to_wrong_cell,
            MobilityCount::PingPongs => counts.ping_pongs,
        }
    }
}

/// A quality of a cell at a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    Rsrp,
    Rsrq,
    Sinr,
}

impl Quality {
    fn of(self, cell: &CellMeasurement) -> f64 {
        match self {
            Quality::Rsrp => cell.rsrp_dbm,
            Quality::Rsrq => cell.rsrq_db,
            Quality::Sinr => cell.sinr_db,
        }
    }
}

/// The speed of light, in metres per second.
const LIGHT_M_PER_S: f64 = 299_792_458.0;
/// 16 T_s (TS 36.211 4): the step of timing advance commands of LTE, and of NR with subcarriers of 15 kHz (TS 38.213 4.2).
const STEP_S: f64 = 16.0 / 30.72e6;

/// The timing advance of a UE at a distance: the time to the base station and back, rounded to steps.
fn timing_advance(distance_m: f64) -> f64 {
    (2.0 * distance_m / LIGHT_M_PER_S / STEP_S).round()
}

impl Node {
    /// The value of a measurement of mobility; `None` for other measurements.
    pub(super) fn mobility_value(
        &self,
        since: &CounterSnapshot,
        object: MeasuredObject<'_>,
        label: &MeasurementLabel,
        kpi: Kpi,
    ) -> Option<Value> {
        let grown = || {
            let simulation = self.simulation.borrow();
            simulation.model.network.mobility_counts(self.cell_number()).since(&since.mobility)
        };
        let per_second = |count: u64| {
            let seconds = self.cell().now().since(since.at).as_secs_f64();
            if seconds > 0.0 { Value::Integer((count as f64 / seconds).round() as u32) } else { Value::NoValue }
        };
        match kpi {
            Kpi::Mobility(count) => Some(Value::Integer(u32::try_from(count.of(&grown())).unwrap_or(u32::MAX))),
            Kpi::ContentionPreambles => Some(per_second(grown().contention_preambles)),
            Kpi::DedicatedPreambles => Some(per_second(grown().dedicated_preambles)),
            Kpi::ServingCell(quality) => Some(self.mean_quality(object, label, quality, 0)),
            Kpi::StrongestNeighbour(quality) => Some(self.mean_quality(object, label, quality, 1)),
            Kpi::TimingAdvance => Some(self.mean_timing_advance(object, label)),
            _ => None,
        }
    }

    /// The mean timing advance of the UEs of an object, in units of 16 T_s; no value for UEs without a position.
    fn mean_timing_advance(&self, object: MeasuredObject<'_>, label: &MeasurementLabel) -> Value {
        let cell = self.cell();
        let (mut sum, mut count) = (0.0, 0);
        self.for_each_place(object, label, &mut |place| {
            if let Some(geometry) = cell.ue(place).and_then(|ue| ue.channel().geometry()) {
                sum += timing_advance(geometry.line_m());
                count += 1;
            }
        });
        if count == 0 { Value::NoValue } else { Value::Integer((sum / f64::from(count)).round() as u32) }
    }

    /// The mean of a quality over the UEs of an object, of the serving cell (rank 0) or the strongest neighbour (rank 1).
    fn mean_quality(
        &self,
        object: MeasuredObject<'_>,
        label: &MeasurementLabel,
        quality: Quality,
        rank: usize,
    ) -> Value {
        let simulation = self.simulation.borrow();
        let (mut sum, mut count) = (0.0, 0);
        self.for_each_place(object, label, &mut |place| {
            let measured = simulation.model.network.measured(self.cell_number(), place);
            if let Some(cell) = measured.get(rank) {
                sum += quality.of(cell);
                count += 1;
            }
        });
        if count == 0 { Value::NoValue } else { Value::Real(sum / f64::from(count)) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ferric::agent::Ue;
    use ferric::e2::Time;
    use radio::AdministrativeState;
    use ran_functions::kpm::KpmSource;

    use super::*;
    use crate::node::place_of;
    use crate::scenario::Scenario;
    use crate::{RanConfig, testing};

    #[test]
    fn timing_advance_counts_steps_of_78_metres() {
        assert_eq!([0.0, 39.0, 39.1, 78.1, 1000.0, 100_000.0].map(timing_advance), [0.0, 0.0, 1.0, 1.0, 13.0, 1281.0]);
    }

    const START: Time = Time::from_nanos(5_000_000_000);
    const SECOND: Duration = Duration::from_secs(1);

    fn nodes(scenario: Scenario) -> Vec<Node> {
        let mut nodes = testing::nodes(&RanConfig { scenario, ..RanConfig::default() });
        advance(&mut nodes, START);
        nodes
    }

    fn advance(nodes: &mut [Node], until: Time) {
        nodes.iter_mut().for_each(|node| node.advance(until));
    }

    fn value(node: &Node, since: &CounterSnapshot, object: MeasuredObject<'_>, name: &str) -> Value {
        let at = node.measurements().iter().position(|offer| offer.name == name).unwrap();
        node.value(since, object, at, &MeasurementLabel::NO_LABEL)
    }

    fn count(node: &Node, since: &CounterSnapshot, name: &str) -> u32 {
        match value(node, since, MeasuredObject::Cell, name) {
            Value::Integer(count) => count,
            other => panic!("{name}: {other:?}"),
        }
    }

    fn ues(node: &Node) -> Vec<Ue> {
        let mut ues = Vec::new();
        KpmSource::ues(node, &mut ues);
        ues
    }

    #[test]
    fn handovers_are_counted_at_source_and_target() {
        let mut nodes = nodes(testing::mixed_traffic(2, 2));
        let all = CounterSnapshot::default();
        assert_eq!([count(&nodes[0], &all, "RRC.ConnEstabAtt"), count(&nodes[0], &all, "RRC.ConnEstabSucc")], [2, 2]);
        let before: Vec<_> = nodes
            .iter()
            .map(|node| {
                let mut mark = CounterSnapshot::default();
                node.take_snapshot(&mut mark);
                mark
            })
            .collect();
        let ue = ues(&nodes[0])[0];
        let there = ues(&nodes[1]);
        nodes[0].hand_over(ue, &testing::cell_of(1)).unwrap();
        advance(&mut nodes, START + SECOND / 2);
        let moved = *ues(&nodes[1]).iter().find(|ue| !there.contains(ue)).unwrap();
        nodes[1].hand_over(moved, &testing::cell_of(0)).unwrap();
        advance(&mut nodes, START + SECOND);
        let names = |nodes: &[Node], cell: usize, names: &[&str]| -> Vec<u32> {
            names.iter().map(|name| count(&nodes[cell], &before[cell], name)).collect()
        };
        let preparation = ["MM.HoPrepInterReq", "MM.HoPrepInterSucc", "MM.HoPrepInterFail"];
        let allocation = ["MM.HoResAlloInterReq", "MM.HoResAlloInterSucc", "MM.HoResAlloInterFail"];
        let execution = ["MM.HoExeInterReq", "MM.HoExeInterSucc", "MM.HoExeInterFail"];
        for cell in 0..2 {
            for of in [preparation, allocation, execution] {
                assert_eq!(names(&nodes, cell, &of), [1, 1, 0], "cell {cell}: {of:?}");
            }
            assert_eq!(names(&nodes, cell, &["RACH.PreambleDedCell", "RACH.PreambleACell"]), [1, 0]);
        }
        // back in the first cell after half a second
        assert_eq!([0, 1].map(|cell| count(&nodes[cell], &before[cell], "HO.IntraSys.PingPong")), [1, 0]);
        assert_eq!(names(&nodes, 0, &["RRC.ConnEstabAtt", "RRC.ReEstabAtt"]), [0, 0]);

        nodes[1].cell_mut().set_administrative_state(AdministrativeState::Locked);
        let ue = ues(&nodes[0])[0];
        nodes[0].hand_over(ue, &testing::cell_of(1)).unwrap_err();
        assert_eq!(names(&nodes, 0, &preparation), [2, 1, 1]);
        assert_eq!(names(&nodes, 1, &allocation), [2, 1, 1]);
    }

    #[test]
    fn qualities_are_those_of_serving_cell_and_strongest_neighbour() {
        let nodes = nodes(testing::mixed_traffic(3, 2));
        let node = &nodes[1];
        let mut since = CounterSnapshot::default();
        node.take_snapshot(&mut since);
        for ue in ues(node) {
            let measured = node.simulation.borrow().model.network.measured(1, place_of(ue));
            let [serving, strongest, weakest] = &measured[..] else { panic!("{measured:?}") };
            assert!(strongest.rsrp_dbm >= weakest.rsrp_dbm);
            for (cell, name) in [(serving, "HO.SrcCellQual"), (strongest, "HO.TrgtCellQual")] {
                let real = |quality: &str| {
                    let value = value(node, &since, MeasuredObject::Ues(&[ue]), &format!("{name}.RS-{quality}"));
                    value.number().unwrap()
                };
                assert_eq!([real("RSRP"), real("RSRQ"), real("SINR")], [cell.rsrp_dbm, cell.rsrq_db, cell.sinr_db]);
            }
        }
    }
}

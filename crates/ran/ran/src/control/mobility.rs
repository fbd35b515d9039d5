//! E2SM-RC: handovers, conditional handovers and the measurements of single UEs.

use std::borrow::Cow;
use std::time::Duration;

use e2sm::rc::{
    ConditionalHandover, Handover, MEASUREMENT_IDENTITY, MeasurementChange, MeasurementCondition, MeasurementEvent,
    MeasurementTrigger, RanParameterElementItem, RanParameterValue,
};
use ferric::agent::Ue;
use ferric::e2ap::{Cause, CauseRicRequest};
use radio::{EventCondition, HANDOVER_MEASUREMENT, HandoverError, MeasurementError, ReportTrigger};
use ran_functions::rc::Refusal;
use tracing::info;

use super::measurement_configuration::Configured;
use crate::node::Node;

type Outcome = Vec<RanParameterElementItem<'static>>;

/// The refusal of a handover. A target that admits no UE is not ready; a full one lacks resources.
fn handover_refusal(error: HandoverError) -> Refusal {
    let cause = match error {
        HandoverError::CellLocked => CauseRicRequest::SystemNotReady,
        HandoverError::CellFull | HandoverError::TooManyCandidates => CauseRicRequest::FunctionResourceLimit,
        _ => CauseRicRequest::ControlFailedToExecute,
    };
    Refusal::new(Cause::RicRequest(cause), error.to_string())
}

/// The refusal of a measurement.
fn measurement_refusal(error: MeasurementError) -> Refusal {
    let cause = match error {
        MeasurementError::TooMany => CauseRicRequest::FunctionResourceLimit,
        _ => CauseRicRequest::ControlFailedToExecute,
    };
    let parameter = match error {
        MeasurementError::UnknownMeasurement(_) | MeasurementError::NotForHandovers => Some(MEASUREMENT_IDENTITY),
        MeasurementError::UnknownUe | MeasurementError::TooMany => None,
    };
    Refusal { parameter, ..Refusal::new(Cause::RicRequest(cause), error.to_string()) }
}

/// The refusal of a UE that is not in the cell.
fn unknown_ue() -> Refusal {
    handover_refusal(HandoverError::UnknownUe)
}

fn refuse<T>(reason: impl Into<Cow<'static, str>>) -> Result<T, Refusal> {
    Err(Refusal::new(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute), reason))
}

fn half_db(halves: impl Into<f64>) -> f64 {
    halves.into() / 2.0
}

/// An event of the model.
fn event(event: &MeasurementEvent) -> radio::MeasurementEvent {
    let condition = match event.condition {
        MeasurementCondition::A1 { serving_dbm } => EventCondition::A1 { threshold_dbm: serving_dbm.into() },
        MeasurementCondition::A2 { serving_dbm } => EventCondition::A2 { threshold_dbm: serving_dbm.into() },
        MeasurementCondition::A3 { offset_half_db } => EventCondition::A3 { offset_db: half_db(offset_half_db) },
        MeasurementCondition::A4 { neighbour_dbm } => EventCondition::A4 { threshold_dbm: neighbour_dbm.into() },
        MeasurementCondition::A5 { serving_dbm, neighbour_dbm } => {
            EventCondition::A5 { serving_dbm: serving_dbm.into(), neighbour_dbm: neighbour_dbm.into() }
        }
        MeasurementCondition::B1 { neighbour_dbm } => EventCondition::B1 { threshold_dbm: neighbour_dbm.into() },
        MeasurementCondition::B2 { serving_dbm, neighbour_dbm } => {
            EventCondition::B2 { serving_dbm: serving_dbm.into(), neighbour_dbm: neighbour_dbm.into() }
        }
    };
    radio::MeasurementEvent {
        condition,
        hysteresis_db: half_db(event.hysteresis_half_db),
        time_to_trigger: Duration::from_millis(event.time_to_trigger_ms.into()),
    }
}

/// A trigger of the model.
fn trigger(trigger: &MeasurementTrigger) -> ReportTrigger {
    match trigger {
        MeasurementTrigger::Periodic { interval_ms } => {
            ReportTrigger::Periodic(Duration::from_millis((*interval_ms).into()))
        }
        MeasurementTrigger::Event(of) => ReportTrigger::Event(event(of)),
    }
}

impl Node {
    /// Hands a UE over as a controller orders.
    pub(super) fn control_handover(&mut self, ue: Ue, handover: &Handover) -> Result<Outcome, Refusal> {
        if !handover.other.is_empty() {
            return refuse(
                "handover of single sessions, bearers or secondary cells is not supported: the UE keeps them all",
            );
        }
        self.mobility.handover_reasons.insert(ue, "RC");
        self.hand_over(ue, &handover.target).map_err(handover_refusal)?;
        Ok(Vec::new())
    }

    /// Prepares or cancels the conditional handover of a UE.
    pub(super) fn control_conditional_handover(
        &mut self,
        ue: Ue,
        handover: &ConditionalHandover,
    ) -> Result<Outcome, Refusal> {
        let (cell, place) = (self.cell_number(), self.place(ue).ok_or_else(unknown_ue)?);
        match handover {
            ConditionalHandover::Prepare { target, condition } => {
                let to = self.mobility.find_cell(target).ok_or_else(|| handover_refusal(HandoverError::UnknownCell))?;
                let mut simulation = self.simulation.borrow_mut();
                let network = &mut simulation.model.network;
                network
                    .order_conditional_handover(cell, place, to, condition.as_ref().map(event))
                    .map_err(handover_refusal)?;
                info!(ue = ue.0, cell, to, "conditional handover prepared by RC");
            }
            ConditionalHandover::Cancel => {
                if !self.simulation.borrow_mut().model.network.cancel_conditional_handover(cell, place) {
                    return refuse("no conditional handover of the UE is prepared by RC");
                }
            }
        }
        Ok(Vec::new())
    }

    /// Adds a measurement of a UE. The outcome contains its identity.
    pub(super) fn add_measurement(&mut self, ue: Ue, added: &MeasurementTrigger) -> Result<Outcome, Refusal> {
        let (cell, place) = (self.cell_number(), self.place(ue).ok_or_else(unknown_ue)?);
        let mut simulation = self.simulation.borrow_mut();
        let added = simulation.model.network.add_measurement(cell, place, trigger(added));
        drop(simulation);
        let id = added.map_err(measurement_refusal)?;
        self.report_measurement_configuration(ue, Configured::One(id));
        let value = RanParameterValue::ValueInt(id.into());
        Ok(vec![RanParameterElementItem { ran_parameter_id: MEASUREMENT_IDENTITY, value }])
    }

    /// Changes a measurement of a UE.
    pub(super) fn modify_measurement(&mut self, ue: Ue, change: &MeasurementChange) -> Result<Outcome, Refusal> {
        let (cell, place) = (self.cell_number(), self.place(ue).ok_or_else(unknown_ue)?);
        let mut simulation = self.simulation.borrow_mut();
        let changed = simulation.model.network.change_measurement(cell, place, change.id, trigger(&change.trigger));
        changed.map_err(measurement_refusal)?;
        drop(simulation);
        self.report_measurement_configuration(ue, Configured::One(change.id));
        if change.id == HANDOVER_MEASUREMENT {
            self.mobility.events.expect_handovers();
        }
        Ok(Vec::new())
    }

    /// Deletes a measurement of a UE.
    pub(super) fn delete_measurement(&mut self, ue: Ue, id: u8) -> Result<Outcome, Refusal> {
        let (cell, place) = (self.cell_number(), self.place(ue).ok_or_else(unknown_ue)?);
        let mut simulation = self.simulation.borrow_mut();
        simulation.model.network.remove_measurement(cell, place, id).map_err(measurement_refusal)?;
        drop(simulation);
        self.report_measurement_configuration(ue, Configured::Removed(id));
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use e2sm::common::Cgi;
    use e2sm::rc::dictionary::HANDOVER_PREPARATION;
    use e2sm::rc::{ActionId, ControlAction, OtherAction, RanParameterId};
    use ferric::agent::ControllerId;
    use ferric::e2::Time;
    use ran_functions::kpm::KpmSource;
    use ran_functions::rc::{Event, Origin, RcSource, Verdict};

    use super::*;
    use crate::{RanConfig, testing};

    const START: Time = Time::from_nanos(5_000_000_000);
    const RIC: Origin = Origin::Control(ControllerId(1));

    fn at_ms(ms: u64) -> Time {
        START + Duration::from_millis(ms)
    }

    fn nodes() -> Vec<Node> {
        let mut nodes = testing::nodes(&RanConfig { scenario: testing::mixed_traffic(2, 2), ..RanConfig::default() });
        nodes.iter_mut().for_each(|node| KpmSource::advance(node, START));
        nodes
    }

    fn ues(node: &Node) -> Vec<Ue> {
        let mut ues = Vec::new();
        KpmSource::ues(node, &mut ues);
        ues
    }

    /// An event whose condition every pair of cells meets.
    fn always(time_to_trigger_ms: u16) -> MeasurementEvent {
        let condition = MeasurementCondition::A5 { serving_dbm: -31, neighbour_dbm: -156 };
        MeasurementEvent { condition, hysteresis_half_db: 0, time_to_trigger_ms }
    }

    fn cell(number: u16) -> Cgi {
        testing::cell_of(number)
    }

    #[test]
    fn conditional_handover_is_executed_when_its_condition_holds() {
        let mut nodes = nodes();
        let ue = ues(&nodes[0])[0];
        let control = |node: &mut Node, handover| {
            node.control(START, RIC, Some(ue), &ControlAction::ConditionalHandover(handover))
        };
        let to = |number, condition| ConditionalHandover::Prepare { target: cell(number), condition };
        assert!(control(&mut nodes[0], to(1, None)).unwrap_err().reason.starts_with("conditional handover without"));
        let unknown = control(&mut nodes[0], to(9, Some(always(1280)))).unwrap_err();
        assert_eq!(unknown.reason, "the target cell does not exist in this RAN");
        control(&mut nodes[0], to(1, Some(always(1280)))).unwrap();
        nodes.iter_mut().for_each(|node| KpmSource::advance(node, at_ms(1200)));
        assert_eq!(ues(&nodes[0]).len(), 2, "the time to trigger runs");
        nodes.iter_mut().for_each(|node| KpmSource::advance(node, at_ms(1500)));
        assert_eq!([ues(&nodes[0]).len(), ues(&nodes[1]).len()], [1, 3]);
        let counts = *nodes[0].simulation.borrow().model.network.mobility_counts(0);
        assert_eq!((counts.conditional_executions_succeeded, counts.executions_requested), (1, 0));
    }

    #[test]
    fn cancelled_conditional_handover_is_not_executed() {
        let mut nodes = nodes();
        let ue = ues(&nodes[0])[0];
        let mut control =
            |handover| nodes[0].control(START, RIC, Some(ue), &ControlAction::ConditionalHandover(handover));
        assert!(control(ConditionalHandover::Cancel).is_err(), "none is prepared");
        let condition = Some(always(1280));
        control(ConditionalHandover::Prepare { target: cell(1), condition }).unwrap();
        control(ConditionalHandover::Cancel).unwrap();
        nodes.iter_mut().for_each(|node| KpmSource::advance(node, at_ms(3000)));
        assert_eq!(ues(&nodes[0]).len(), 2);
    }

    /// The event of handovers that RC sets for a UE asks a controller as that of the scenario does.
    #[test]
    fn handover_event_of_a_ue_begins_a_procedure() {
        let mut nodes = nodes();
        let node = &mut nodes[0];
        let ue = ues(node)[1];
        assert_eq!(node.next_event_time(), None, "no handover can begin");
        let trigger = MeasurementTrigger::Event(always(320));
        let change = MeasurementChange { id: HANDOVER_MEASUREMENT, trigger };
        node.control(START, RIC, Some(ue), &ControlAction::ModifyMeasurement(change)).unwrap();
        assert!(node.next_event_time().is_some());
        assert_eq!(node.next_event(at_ms(300)), None);
        let Some(Event::Breakpoint { procedure, breakpoint, ue: of, wants }) = node.next_event(at_ms(500)) else {
            panic!("no procedure");
        };
        assert_eq!((breakpoint, of, wants), (HANDOVER_PREPARATION, ue, ControlAction::Handover(Handover::to(cell(1)))));
        node.resume(at_ms(500), procedure, Verdict::Continue);
        nodes.iter_mut().for_each(|node| KpmSource::advance(node, at_ms(700)));
        assert_eq!([ues(&nodes[0]).len(), ues(&nodes[1]).len()], [1, 3]);
    }

    #[test]
    fn measurement_reports_follow_the_configuration_of_the_ue() {
        let mut nodes = nodes();
        let node = &mut nodes[0];
        let ue = ues(node)[0];
        node.set_events_enabled(true);
        let reports = |node: &mut Node, from: u64, to: u64| {
            let mut reports = Vec::new();
            for tenth in from..=to {
                let events = std::iter::from_fn(|| node.next_event(at_ms(100 * tenth)));
                reports.extend(events.filter_map(|event| match event {
                    Event::RrcMessage { ue, octets, from_ue: true, .. } => {
                        Some((ue, ap::nr_rrc::MeasurementReport::decode(&octets).unwrap().meas_id))
                    }
                    _ => None,
                }));
            }
            reports
        };
        assert_eq!(reports(node, 1, 10), []);
        let add = ControlAction::AddMeasurement(MeasurementTrigger::Periodic { interval_ms: 240 });
        let outcome = node.control(at_ms(1000), RIC, Some(ue), &add).unwrap();
        let value = RanParameterValue::ValueInt(1);
        assert_eq!(outcome, [RanParameterElementItem { ran_parameter_id: MEASUREMENT_IDENTITY, value }]);
        assert_eq!(reports(node, 11, 22), vec![(ue, 1); 4], "of this UE only");
        let change = MeasurementChange { id: 1, trigger: MeasurementTrigger::Event(always(100)) };
        node.control(at_ms(2200), RIC, Some(ue), &ControlAction::ModifyMeasurement(change)).unwrap();
        assert_eq!(reports(node, 23, 32), [(ue, 1)], "once when the event is triggered, then every 1024 ms");
        node.control(at_ms(3200), RIC, Some(ue), &ControlAction::DeleteMeasurement(1)).unwrap();
        assert_eq!(reports(node, 33, 60), []);
        let refusal = node.control(at_ms(6000), RIC, Some(ue), &ControlAction::DeleteMeasurement(1)).unwrap_err();
        assert_eq!(refusal.parameter, Some(MEASUREMENT_IDENTITY));
        assert_eq!(refusal.reason, "the UE has no measurement with identity 1");
    }

    #[test]
    fn parameters_of_other_base_stations_are_refused() {
        let mut nodes = nodes();
        let ue = ues(&nodes[0])[0];
        let item = ControlAction::DeleteMeasurement(1).to_parameters().remove(0);
        let parameters = vec![e2sm::rc::RanParameterItem { ran_parameter_id: RanParameterId(1), ..item }];
        let action = ControlAction::from_parameters(ActionId::new(9, 3), &parameters).unwrap();
        assert_eq!(action, ControlAction::Other(OtherAction { id: ActionId::new(9, 3), parameters }));
        let refusal = nodes[0].control(START, RIC, Some(ue), &action).unwrap_err();
        assert!(refusal.reason.ends_with("parameters other than those of the RAN function definition"));
    }
}

//! The preparation of handovers between gNBs on Xn (TS 38.423 8.2.1 and 8.2.3); between eNBs it is on X2
//! ([`super::x2_handovers`]).
//!
//! The source asks the target by HANDOVER REQUEST, which answers by ACKNOWLEDGE or PREPARATION FAILURE. The model's target answers at
//! once, and the UE is commanded then. A handover that is given up before the UE has gone, and one whose T304 has expired, is
//! cancelled by HANDOVER CANCEL: TXnRELOCoverall has the length of T304. Candidates of conditional handovers are prepared and cancelled
//! by the same messages, which name their cells.
//!
//! The source copies the messages of both directions by E2SM-RC, in the order of the model: the target knows no UE yet. At the taps of
//! E2SM-NI, the messages pass from one gNB to the other: the target answers when the request has passed. What a controller does there
//! has no effect on the handover, which the model has decided.

use std::time::Duration;

use ap::xnap::{
    HandoverCancel, HandoverCause, HandoverPreparationFailure, HandoverRequest, HandoverRequestAcknowledge,
    HandoverSession, PROCEDURE_HANDOVER_CANCEL, PROCEDURE_HANDOVER_PREPARATION,
};
use e2sm::common::{Cgi, InterfaceIdXn, InterfaceIdentifier, InterfaceMessageId, InterfaceMessageType};
use ids::{AmfUeNgapId, NrCgi};
use radio::{CancelCause, HandoverError, UeEntry};
use ran_functions::rc::Event;

use super::ni::{gnb, xnap_id};
use super::sessions::{SESSION, UPF};
use crate::interfaces::encoded;
use crate::node::{Node, guami, ue_of};
use crate::node_type::NodeType;
use crate::simulation::Answer;

impl Node {
    /// The Xn interface to the gNB of a cell, the number and the identity of the cell; `None` if there is none.
    fn xn_to(&self, to: usize) -> Option<(usize, u16, NrCgi)> {
        let number = u16::try_from(to).ok()?;
        let Cgi::NrCgi(cell) = self.mobility.cell_of(number) else { return None };
        Some((self.interface_to(number)?, number, cell))
    }

    /// Reports a message on Xn by E2SM-RC.
    fn report_on_xn(
        &mut self,
        stay: &UeEntry,
        cell: u16,
        (procedure, message_type): (u8, InterfaceMessageType),
        is_incoming: bool,
        octets: Vec<u8>,
    ) {
        let interface =
            InterfaceIdentifier::Xn(InterfaceIdXn { global_ng_ran_id: gnb(self.mobility.base_station_of(cell)) });
        let id = InterfaceMessageId { interface_procedure_id: procedure.into(), message_type };
        self.mobility.events.report(Event::NiMessage { ue: ue_of(stay), interface, id, is_incoming, octets });
    }

    /// Sends the messages by which a target was asked to admit a UE.
    pub fn report_preparation(
        &mut self,
        stay: &UeEntry,
        to: usize,
        refusal: Option<HandoverError>,
        is_conditional: bool,
        stayed: Duration,
    ) {
        if self.node_type == NodeType::Enb {
            if !is_conditional {
                self.report_x2_preparation(stay, to, refusal, stayed);
            }
            return;
        }
        let ue = ue_of(stay);
        let Some((interface, cell, target)) = self.xn_to(to) else { return };
        let Some(context) = self.context_or_former(ue) else { return };
        let (source_id, qfi) = (xnap_id(stay.number), context.qfi);
        let session = HandoverSession {
            id: SESSION,
            s_nssai: context.slice[0],
            gateway: UPF,
            teid: self.teids(ue).1,
            flows: vec![(qfi, context.five_qi[0].0)],
        };
        let request = HandoverRequest {
            source_ng_ran_node_ue_xnap_id: source_id,
            source: (self.nr_cgi(), u16::try_from(stayed.as_secs()).unwrap_or(u16::MAX)),
            target,
            guami: guami(),
            amf_ue_ngap_id: AmfUeNgapId(self.amf_ue_ngap_id(ue) as i64),
            address: self.address(),
            sessions: vec![session],
            is_conditional,
        };
        let candidate = is_conditional.then_some(target);
        let (message_type, answer) = match refusal {
            None => {
                let acknowledge = HandoverRequestAcknowledge {
                    source_ng_ran_node_ue_xnap_id: source_id,
                    target_ng_ran_node_ue_xnap_id: source_id,
                    sessions: vec![(SESSION, vec![qfi])],
                    candidate,
                };
                (InterfaceMessageType::SuccessfulOutcome, encoded(acknowledge.encode()))
            }
            Some(reason) => {
                let cause = match reason {
                    HandoverError::CellFull => HandoverCause::NoRadioResources,
                    _ => HandoverCause::CellNotAvailable,
                };
                let failure = HandoverPreparationFailure { source_ng_ran_node_ue_xnap_id: source_id, cause, candidate };
                (InterfaceMessageType::UnsuccessfulOutcome, encoded(failure.encode()))
            }
        };
        let request = encoded(request.encode());
        let kind = (PROCEDURE_HANDOVER_PREPARATION, InterfaceMessageType::InitiatingMessage);
        self.report_on_xn(stay, cell, kind, false, request.clone());
        self.report_on_xn(stay, cell, (kind.0, message_type), true, answer.clone());
        self.tap_to_neighbour((interface, cell), request, Some(ue), None, Some(Answer { ue, octets: answer }));
    }

    /// Sends the message that cancels a handover.
    pub fn report_cancellation(&mut self, stay: &UeEntry, to: usize, is_conditional: bool, cause: CancelCause) {
        if self.node_type == NodeType::Enb {
            if !is_conditional {
                self.report_x2_cancellation(stay, to, cause);
            }
            return;
        }
        let Some((interface, cell, target)) = self.xn_to(to) else { return };
        let cancel = HandoverCancel {
            source_ng_ran_node_ue_xnap_id: xnap_id(stay.number),
            target_ng_ran_node_ue_xnap_id: xnap_id(stay.number),
            cause: match cause {
                CancelCause::Unwanted => HandoverCause::ProcedureCancelled,
                CancelCause::UeLost => HandoverCause::ConnectionLost,
                CancelCause::Expired => HandoverCause::OverallExpiry,
            },
            candidate: is_conditional.then_some(target),
        };
        let octets = encoded(cancel.encode());
        let kind = (PROCEDURE_HANDOVER_CANCEL, InterfaceMessageType::InitiatingMessage);
        self.report_on_xn(stay, cell, kind, false, octets.clone());
        self.tap_to_neighbour((interface, cell), octets, Some(ue_of(stay)), None, None);
    }
}

#[cfg(test)]
mod tests {
    use ap::xnap::HandoverMessage;
    use ferric::e2::Time;
    use radio::AdministrativeState;
    use ran_functions::kpm::KpmSource;
    use ran_functions::ni::{MessageDecision, MessageDirection, NiSource};
    use ran_functions::rc::RcSource;

    use super::*;
    use crate::testing::{self, cell_of};
    use crate::{RanConfig, Scenario};

    const START: Time = Time::from_nanos(5_000_000_000);

    fn at_ms(ms: u64) -> Time {
        START + Duration::from_millis(ms)
    }

    fn nodes(scenario: Scenario) -> Vec<Node> {
        let mut nodes = testing::nodes(&RanConfig { scenario, ..RanConfig::default() });
        for node in &mut nodes {
            KpmSource::advance(node, START);
            node.set_events_enabled(true);
        }
        nodes
    }

    /// The messages on Xn that a node has copied until now, with their UEs.
    fn copies(node: &mut Node, now: Time) -> Vec<(u64, bool, HandoverMessage)> {
        std::iter::from_fn(|| node.next_event(now))
            .filter_map(|event| match event {
                Event::NiMessage { ue, is_incoming, octets, .. } => {
                    Some((ue.0, is_incoming, HandoverMessage::decode(&octets)?))
                }
                _ => None,
            })
            .collect()
    }

    fn requested(to: u16, is_conditional: bool) -> HandoverMessage {
        HandoverMessage::Request { target: cell_of(to), is_conditional }
    }

    #[test]
    fn handover_is_prepared_or_refused() {
        let mut nodes = nodes(testing::mixed_traffic(2, 2));
        nodes[0].hand_over(ferric::agent::Ue(1), &cell_of(1)).unwrap();
        let acknowledge = HandoverMessage::Acknowledge { candidate: None };
        assert_eq!(
            copies(&mut nodes[0], at_ms(0)),
            [(1, false, requested(1, false)), (1, true, acknowledge)],
            "before the UE has gone"
        );
        assert_eq!(copies(&mut nodes[1], at_ms(200)), [], "the target knows no UE, and reports its arrival only");
        nodes[1].cell_mut().set_administrative_state(AdministrativeState::Locked);
        nodes[0].hand_over(ferric::agent::Ue(0), &cell_of(1)).unwrap_err();
        nodes[0].process_cell_events();
        let failure = HandoverMessage::Failure { candidate: None };
        assert_eq!(copies(&mut nodes[0], at_ms(200)), [(0, false, requested(1, false)), (0, true, failure)]);
    }

    #[test]
    fn handovers_that_are_given_up_are_cancelled() {
        let mut nodes = nodes(testing::mixed_traffic(3, 2));
        let event = radio::MeasurementEvent {
            condition: radio::EventCondition::A5 { serving_dbm: -156.0, neighbour_dbm: -31.0 },
            hysteresis_db: 0.0,
            time_to_trigger: Duration::from_millis(160),
        };
        for to in [1, 2] {
            let mut simulation = nodes[0].simulation.borrow_mut();
            simulation.model.network.order_conditional_handover(0, 0, to, Some(event)).unwrap();
        }
        let prepared = copies(&mut nodes[0], at_ms(100));
        let candidate = |to| Some(cell_of(to));
        assert_eq!(
            prepared,
            [
                (0, false, requested(1, true)),
                (0, true, HandoverMessage::Acknowledge { candidate: candidate(1) }),
                (0, false, requested(2, true)),
                (0, true, HandoverMessage::Acknowledge { candidate: candidate(2) }),
            ]
        );
        // the UE is handed over to one of them: the other one is cancelled
        nodes[0].hand_over(ferric::agent::Ue(0), &cell_of(2)).unwrap();
        let cancel = HandoverMessage::Cancel { candidates: vec![cell_of(1)] };
        let acknowledge = HandoverMessage::Acknowledge { candidate: None };
        assert_eq!(
            copies(&mut nodes[0], at_ms(100)),
            [(0, false, requested(2, false)), (0, true, acknowledge), (0, false, cancel)]
        );
    }

    #[test]
    fn target_answers_at_the_tap_when_the_request_has_passed() {
        let mut nodes = nodes(testing::mixed_traffic(2, 2));
        nodes.iter_mut().for_each(|node| node.set_watched(START, true));
        nodes[0].hand_over(ferric::agent::Ue(1), &cell_of(1)).unwrap();
        let mut on_xn = |node: usize| {
            KpmSource::advance(&mut nodes[node], at_ms(10));
            let message = std::iter::from_fn(|| nodes[node].next_message(at_ms(10))).find(|of| of.interface == 1);
            message.map(|message| {
                nodes[node].decide(at_ms(10), message.id, MessageDecision::Pass);
                (message.direction, message.ue.map(|ue| ue.0), HandoverMessage::decode(&message.octets).unwrap())
            })
        };
        let request = requested(1, false);
        assert_eq!(on_xn(0), Some((MessageDirection::Outgoing, Some(1), request.clone())));
        assert_eq!(on_xn(1), Some((MessageDirection::Incoming, None, request)));
        let acknowledge = HandoverMessage::Acknowledge { candidate: None };
        assert_eq!(on_xn(1), Some((MessageDirection::Outgoing, None, acknowledge.clone())));
        assert_eq!(on_xn(0), Some((MessageDirection::Incoming, Some(1), acknowledge)));
        assert_eq!([on_xn(0), on_xn(1)], [None, None]);
    }
}

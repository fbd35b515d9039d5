//! The preparation of handovers between eNBs on X2 (TS 36.423 8.2.1 and 8.2.3), as that between gNBs
//! ([`super::handover_messages`]). Candidates of conditional handovers have no messages here.

use std::time::Duration;

use ap::x2ap::{
    HandoverBearer, HandoverCancel, HandoverCause, HandoverPreparationFailure, HandoverRequest,
    HandoverRequestAcknowledge, PROCEDURE_HANDOVER_CANCEL, PROCEDURE_HANDOVER_PREPARATION,
};
use e2sm::common::{Cgi, InterfaceIdX2, InterfaceIdentifier, InterfaceMessageId, InterfaceMessageType, X2NodeType};
use ids::{EutraCgi, MmeUeS1apId};
use radio::{CancelCause, HandoverError, UeEntry};
use ran_functions::rc::Event;

use super::ni::{enb, new_x2ap_id, old_x2ap_id};
use super::sessions::UPF;
use crate::interfaces::encoded;
use crate::node::{Node, ue_of};
use crate::node_type::gummei;
use crate::simulation::Answer;

/// The largest E-RAB ID.
const MAX_ERAB_ID: u8 = 15;

impl Node {
    /// The X2 interface to a neighbour, its number and its cell; `None` if there is none.
    fn x2_to(&self, to: usize) -> Option<(usize, u16, EutraCgi)> {
        let neighbour = u16::try_from(to).ok()?;
        let Cgi::EutraCgi(cell) = self.mobility.cell_of(neighbour) else { return None };
        Some((self.interface_to(neighbour)?, neighbour, cell))
    }

    /// Reports a message on X2 by E2SM-RC.
    fn report_on_x2(
        &mut self,
        stay: &UeEntry,
        neighbour: u16,
        (procedure, message_type): (u8, InterfaceMessageType),
        is_incoming: bool,
        octets: Vec<u8>,
    ) {
        let node_type = X2NodeType::GlobalEnbId(enb(neighbour));
        let interface = InterfaceIdentifier::X2(InterfaceIdX2 { node_type });
        let id = InterfaceMessageId { interface_procedure_id: procedure.into(), message_type };
        self.mobility.events.report(Event::NiMessage { ue: ue_of(stay), interface, id, is_incoming, octets });
    }

    /// Sends the messages by which a target was asked to admit a UE.
    pub(super) fn report_x2_preparation(
        &mut self,
        stay: &UeEntry,
        to: usize,
        refusal: Option<HandoverError>,
        stayed: Duration,
    ) {
        let ue = ue_of(stay);
        let Some((interface, neighbour, target)) = self.x2_to(to) else { return };
        let Cgi::EutraCgi(source) = self.mobility.cell_of(self.mobility.number()) else { return };
        let Some(context) = self.context_or_former(ue) else { return };
        let (old, new) = (old_x2ap_id(ue), new_x2ap_id(stay.number));
        let bearer = HandoverBearer {
            id: context.qfi.min(MAX_ERAB_ID),
            qci: context.five_qi[0].0,
            gateway: UPF,
            teid: self.teids(ue).1,
        };
        let request = HandoverRequest {
            old_enb_ue_x2ap_id: old,
            source: (source, u16::try_from(stayed.as_secs()).unwrap_or(u16::MAX)),
            target,
            gummei: gummei(),
            mme_ue_s1ap_id: MmeUeS1apId(self.amf_ue_ngap_id(ue) as u32),
            bearers: vec![bearer],
        };
        let (message_type, answer) = match refusal {
            None => {
                let acknowledge = HandoverRequestAcknowledge {
                    old_enb_ue_x2ap_id: old,
                    new_enb_ue_x2ap_id: new,
                    bearers: vec![bearer.id],
                };
                (InterfaceMessageType::SuccessfulOutcome, encoded(acknowledge.encode()))
            }
            Some(reason) => {
                let cause = match reason {
                    HandoverError::CellFull => HandoverCause::NoRadioResources,
                    _ => HandoverCause::CellNotAvailable,
                };
                let failure = HandoverPreparationFailure { old_enb_ue_x2ap_id: old, cause };
                (InterfaceMessageType::UnsuccessfulOutcome, encoded(failure.encode()))
            }
        };
        let request = encoded(request.encode());
        let kind = (PROCEDURE_HANDOVER_PREPARATION, InterfaceMessageType::InitiatingMessage);
        self.report_on_x2(stay, neighbour, kind, false, request.clone());
        self.report_on_x2(stay, neighbour, (kind.0, message_type), true, answer.clone());
        self.tap_to_neighbour((interface, neighbour), request, Some(ue), None, Some(Answer { ue, octets: answer }));
    }

    /// Sends the message that cancels a handover.
    pub(super) fn report_x2_cancellation(&mut self, stay: &UeEntry, to: usize, cause: CancelCause) {
        let Some((interface, neighbour, _)) = self.x2_to(to) else { return };
        let cancel = HandoverCancel {
            old_enb_ue_x2ap_id: old_x2ap_id(ue_of(stay)),
            new_enb_ue_x2ap_id: new_x2ap_id(stay.number),
            cause: match cause {
                CancelCause::Expired => HandoverCause::OverallExpiry,
                CancelCause::Unwanted | CancelCause::UeLost => HandoverCause::Unspecified,
            },
        };
        let octets = encoded(cancel.encode());
        let kind = (PROCEDURE_HANDOVER_CANCEL, InterfaceMessageType::InitiatingMessage);
        self.report_on_x2(stay, neighbour, kind, false, octets.clone());
        self.tap_to_neighbour((interface, neighbour), octets, Some(ue_of(stay)), None, None);
    }
}

#[cfg(test)]
mod tests {
    use ap::x2ap::HandoverMessage;
    use ferric::agent::Ue;
    use ferric::e2::Time;
    use radio::phy::Carrier;
    use ran_functions::kpm::KpmSource;
    use ran_functions::rc::RcSource;

    use super::*;
    use crate::{RanConfig, testing};

    const START: Time = Time::from_nanos(5_000_000_000);

    #[test]
    fn handover_between_enbs_is_prepared_or_refused() {
        let mut scenario = testing::mixed_traffic(2, 2);
        for cell in &mut scenario.cells {
            cell.radio.carrier = Carrier::lte();
            cell.radio.max_ues = Some(3);
        }
        let mut nodes = testing::nodes(&RanConfig { scenario, ..RanConfig::default() });
        for node in &mut nodes {
            KpmSource::advance(node, START);
            node.set_events_enabled(true);
        }
        let node = &mut nodes[0];
        let target = node.mobility.cell_of(1);
        let Cgi::EutraCgi(cell) = target else { panic!("{target:?}") };
        node.hand_over(Ue(1), &target).unwrap();
        node.hand_over(Ue(0), &target).unwrap_err();
        node.process_cell_events();
        let copies = std::iter::from_fn(|| node.next_event(START)).filter_map(|event| match event {
            Event::NiMessage { ue, interface: InterfaceIdentifier::X2(_), is_incoming, octets, .. } => {
                Some((ue.0, is_incoming, HandoverMessage::decode(&octets)?))
            }
            _ => None,
        });
        let request = HandoverMessage::Request(cell);
        assert_eq!(
            copies.collect::<Vec<_>>(),
            [
                (1, false, request),
                (1, true, HandoverMessage::Acknowledge),
                (0, false, request),
                (0, true, HandoverMessage::Failure),
            ]
        );
    }
}

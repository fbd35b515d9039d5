//! The PDU session of a UE: when a UE attaches to a gNB, the AMF requests its session and the gNB responds (TS 38.413 8.2.1). Where the
//! scenario's timeline says so, the AMF modifies the session's QoS flow or releases the session (8.2.3 and 8.2.2).
//!
//! The session has the UE's QoS flow, and a tunnel whose ends have the TEIDs that GTP statistics report. Their addresses are of the
//! range for benchmarks (RFC 2544): 198.18.0.0/16 has the base stations by number, 198.19.0.1 is the UPF. The model has no guaranteed
//! bit rates, so flows have none. An eNB's bearers are set up without messages.

use std::net::Ipv4Addr;

use ap::ngap::{
    self, EstablishedSession, GtpTunnel, PROCEDURE_PDU_SESSION_RESOURCE_SETUP, PduSessionResourceSetupRequest,
    PduSessionResourceSetupResponse, QosFlow, RequestedSession, SessionChangeMessage,
};
use e2sm::common::{FiveQi, InterfaceIdNg, InterfaceIdentifier, InterfaceMessageId, InterfaceMessageType};
use ferric::agent::Ue;
use ids::AmfUeNgapId;
use ran_functions::ni::MessageDirection;
use ran_functions::rc::Event;

use crate::interfaces::encoded;
use crate::node::{Node, guami, ue_of};
use crate::node_type::NodeType;
use crate::scenario::SessionChange;

/// The only session of a UE.
pub(super) const SESSION: u8 = 1;
pub(super) const UPF: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 1);

impl Node {
    /// Its address on NG and Xn.
    pub(super) fn address(&self) -> Ipv4Addr {
        let [high, low] = self.mobility.place().first.to_be_bytes();
        Ipv4Addr::new(198, 18, high, low)
    }

    /// The messages that set up the session of a UE.
    fn session_messages(&self, ue: Ue) -> Option<[Vec<u8>; 2]> {
        let context = self.context_or_former(ue)?;
        let (teid_gnb, teid_upf) = self.teids(ue);
        let (amf_ue_ngap_id, ran_ue_ngap_id) = (AmfUeNgapId(self.amf_ue_ngap_id(ue) as i64), self.ue_numbers(ue).at_cu);
        let flow = QosFlow { qfi: context.qfi, five_qi: Some(context.five_qi[0].0), gbr_bps: None };
        let request = PduSessionResourceSetupRequest {
            amf_ue_ngap_id,
            ran_ue_ngap_id,
            sessions: vec![RequestedSession {
                id: SESSION,
                s_nssai: context.slice[0],
                gateway: GtpTunnel { address: UPF.into(), teid: teid_upf },
                flows: vec![flow],
            }],
        };
        let base_station = GtpTunnel { address: self.address().into(), teid: teid_gnb };
        let response = PduSessionResourceSetupResponse {
            amf_ue_ngap_id,
            ran_ue_ngap_id,
            sessions: vec![EstablishedSession { id: SESSION, base_station, qfis: vec![context.qfi] }],
        };
        Some([encoded(request.encode()), encoded(response.encode())])
    }

    /// The AMF sets up the session of a UE that has attached.
    pub fn set_up_session(&mut self, ue: Ue) {
        if self.context_or_former(ue).is_some_and(|context| !context.has_session) {
            return;
        }
        let Some(messages) = self.session_messages(ue) else { return };
        self.exchange_on_ng(ue, PROCEDURE_PDU_SESSION_RESOURCE_SETUP, messages);
    }

    /// Processes what the timeline says of sessions.
    pub fn change_sessions(&mut self) {
        let cell = self.cell_number();
        let changes = self.simulation.borrow_mut().model.take_session_changes(cell);
        for (stay, change) in changes {
            self.remember_ue(&stay);
            let ue = ue_of(&stay);
            let Some(context) = self.context_or_former(ue).filter(|context| context.has_session) else { continue };
            let qfi = context.qfi;
            self.change_ue(ue, |_, context| match change {
                SessionChange::FiveQi(five_qi) => context.five_qi = [FiveQi(five_qi)],
                SessionChange::Release => context.has_session = false,
            });
            let [request, response] = match change {
                SessionChange::FiveQi(five_qi) => {
                    let flow = QosFlow { qfi, five_qi: Some(five_qi), gbr_bps: None };
                    [
                        ngap::SessionChange::Modify(vec![(SESSION, vec![flow])]),
                        ngap::SessionChange::Modified(vec![(SESSION, vec![qfi])]),
                    ]
                }
                SessionChange::Release => {
                    [ngap::SessionChange::Release(vec![SESSION]), ngap::SessionChange::Released(vec![SESSION])]
                }
            };
            let (procedure, _) = request.procedure();
            let (amf_ue_ngap_id, ran_ue_ngap_id) =
                (AmfUeNgapId(self.amf_ue_ngap_id(ue) as i64), self.ue_numbers(ue).at_cu);
            let message = |change| encoded(SessionChangeMessage { amf_ue_ngap_id, ran_ue_ngap_id, change }.encode());
            self.exchange_on_ng(ue, procedure, [message(request), message(response)]);
        }
    }

    /// A request of the AMF and the response of a gNB, copied to controllers and taken to the tap.
    fn exchange_on_ng(&mut self, ue: Ue, procedure: u8, messages: [Vec<u8>; 2]) {
        if self.node_type == NodeType::Enb {
            return;
        }
        let kinds = [InterfaceMessageType::InitiatingMessage, InterfaceMessageType::SuccessfulOutcome];
        let directions = [MessageDirection::Incoming, MessageDirection::Outgoing];
        for ((octets, message_type), direction) in messages.into_iter().zip(kinds).zip(directions) {
            let id = InterfaceMessageId { interface_procedure_id: procedure.into(), message_type };
            let interface = InterfaceIdentifier::Ng(InterfaceIdNg { guami: guami() });
            let is_incoming = direction == MessageDirection::Incoming;
            self.mobility.events.report(Event::NiMessage { ue, interface, id, is_incoming, octets: octets.clone() });
            self.tap_message(self.last_read(), 0, direction, octets, Some(ue));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::time::Duration;

    use e2sm::gtp::Tunnel;
    use ferric::e2::Time;
    use ran_functions::kpm::KpmSource;
    use ran_functions::rc::RcSource;
    use ran_functions::statistics::StatisticsSource;

    use super::*;
    use crate::{RanConfig, testing};

    const START: Time = Time::from_nanos(5_000_000_000);

    #[test]
    fn session_of_an_attaching_ue_is_set_up_with_its_tunnel() {
        let mut scenario = testing::mixed_traffic(1, 2);
        scenario.ues[1].arrives = radio::Time::from_millis(6000);
        let mut node = testing::nodes(&RanConfig { scenario, ..RanConfig::default() }).remove(0);
        KpmSource::advance(&mut node, START);
        node.set_events_enabled(true);
        let mut messages = Vec::new();
        for tenth in 1..=70 {
            let now = START + Duration::from_millis(100 * tenth);
            while let Some(event) = node.next_event(now) {
                match event {
                    Event::NiMessage { ue, is_incoming, octets, id, .. } if id.interface_procedure_id == 29 => {
                        messages.push((ue, is_incoming, octets));
                    }
                    _ => {}
                }
            }
        }
        let [(ue, true, request), (of, false, response)] = &messages[..] else { panic!("{messages:?}") };
        assert_eq!(ue, of);
        let request = PduSessionResourceSetupRequest::decode(request).unwrap().unwrap();
        let response = PduSessionResourceSetupResponse::decode(response).unwrap().unwrap();
        let mut tunnels: Vec<Tunnel> = Vec::new();
        node.records(*ue, &mut tunnels);
        let (requested, established) = (&request.sessions[0], &response.sessions[0]);
        assert_eq!(tunnels[0].teid_upf, requested.gateway.teid);
        assert_eq!(tunnels[0].teid_gnb, established.base_station.teid);
        assert_eq!(established.base_station.address, IpAddr::from([198, 18, 0, 0]));
        assert_eq!((established.qfis.as_slice(), requested.flows[0].qfi), (&[tunnels[0].qfi][..], tunnels[0].qfi));
        assert_eq!(request.amf_ue_ngap_id.0 as u64, node.amf_ue_ngap_id(*ue));
    }

    #[test]
    fn timeline_modifies_and_releases_sessions() {
        use crate::scenario::{TimelineChange, TimelineEntry};
        let mut scenario = testing::mixed_traffic(1, 2);
        let entry = |ms, change| TimelineEntry {
            at: radio::Time::from_millis(ms),
            change: TimelineChange::Session { ue: 1, change },
        };
        scenario.timeline = vec![entry(500, SessionChange::FiveQi(2)), entry(900, SessionChange::Release)];
        scenario.warm_up = Duration::ZERO;
        let mut node = testing::nodes(&RanConfig { scenario, ..RanConfig::default() }).remove(0);
        KpmSource::advance(&mut node, START);
        node.set_events_enabled(true);
        let mut changes = Vec::new();
        for tenth in 1..=12 {
            let now = START + Duration::from_millis(100 * tenth);
            while let Some(event) = node.next_event(now) {
                if let Event::NiMessage { ue, is_incoming, octets, .. } = event
                    && let Some(Ok(message)) = SessionChangeMessage::decode(&octets)
                {
                    assert_eq!(ue, Ue(1));
                    changes.push((is_incoming, message.change));
                }
            }
        }
        let qfi = node.context(Ue(1)).unwrap().qfi;
        let flow = QosFlow { qfi, five_qi: Some(2), gbr_bps: None };
        assert_eq!(
            changes,
            [
                (true, ngap::SessionChange::Modify(vec![(SESSION, vec![flow])])),
                (false, ngap::SessionChange::Modified(vec![(SESSION, vec![qfi])])),
                (true, ngap::SessionChange::Release(vec![SESSION])),
                (false, ngap::SessionChange::Released(vec![SESSION])),
            ]
        );
        let mut tunnels: Vec<Tunnel> = Vec::new();
        node.records(Ue(1), &mut tunnels);
        assert_eq!((tunnels.len(), node.context(Ue(1)).unwrap().five_qi), (0, [FiveQi(2)]));
        node.records(Ue(0), &mut tunnels);
        assert_eq!(tunnels.len(), 1);
    }
}

//! Copies of messages on NG and Xn: the bearers that they set up, and the handovers that they prepare.

use std::collections::HashMap;

use ap::ngap::{GtpTunnel, PduSessionResourceSetupRequest, PduSessionResourceSetupResponse, RequestedSession};
use ap::xnap::HandoverMessage;

use crate::collector::ues::BearerReport;
use crate::event::{BearerQos, HandoverStatus, Tunnel};
use crate::identity::Cell;
use crate::state::BearerState;

/// The most UEs whose requests wait for their responses. Beyond it all are forgotten: their responses were not copied.
const MAX_WAITING: usize = 4096;

/// Sessions that are requested of nodes, by UE.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    requested: HashMap<String, Vec<RequestedSession>>,
}

impl Sessions {
    /// Reads a message about a UE. Returns the bearers that it sets up: the response to a request does.
    pub fn read(&mut self, key: &str, octets: &[u8]) -> Vec<BearerReport> {
        if let Some(Ok(request)) = PduSessionResourceSetupRequest::decode(octets) {
            if self.requested.len() >= MAX_WAITING {
                self.requested.clear();
            }
            self.requested.insert(key.to_owned(), request.sessions);
            return Vec::new();
        }
        let Some(Ok(response)) = PduSessionResourceSetupResponse::decode(octets) else { return Vec::new() };
        let requested = self.requested.remove(key).unwrap_or_default();
        let mut bearers = Vec::new();
        for session in response.sessions {
            let request = requested.iter().find(|request| request.id == session.id);
            let gateway = request.map_or_else(Tunnel::default, |request| tunnel(request.gateway));
            for qfi in session.qfis {
                let flow = request.and_then(|request| request.flows.iter().find(|flow| flow.qfi == qfi));
                let qos = flow.and_then(|flow| Some(BearerQos { qci: flow.five_qi?, rates_bps: flow.gbr_bps }));
                let tunnel = Some((tunnel(session.base_station), gateway.clone()));
                bearers.push(BearerReport { id: qfi, state: BearerState { qos, tunnel } });
            }
        }
        bearers
    }
}

/// Handovers in preparation, by UE: their target cells. Messages about conditional handovers name their cells themselves.
#[derive(Debug, Default)]
pub(super) struct Handovers {
    targets: HashMap<String, Cell>,
}

impl Handovers {
    /// Reads a message about a UE. Returns the target cells of its handovers, and how far they are.
    pub fn read(&mut self, key: &str, octets: &[u8]) -> (Vec<Cell>, HandoverStatus) {
        let (cells, status) = match HandoverMessage::decode(octets) {
            None => return (Vec::new(), HandoverStatus::Cancelled),
            Some(HandoverMessage::Request { target, is_conditional }) => {
                if self.targets.len() >= MAX_WAITING {
                    self.targets.clear();
                }
                if !is_conditional {
                    self.targets.insert(key.to_owned(), Cell(target));
                }
                (vec![Cell(target)], HandoverStatus::InPreparation)
            }
            // the UE may fail to follow the command, and the source then cancels; a conditional handover is executed by the UE
            Some(HandoverMessage::Acknowledge { candidate }) => {
                let target = self.targets.get(key).copied().filter(|_| candidate.is_none());
                (target.into_iter().collect(), HandoverStatus::InExecution)
            }
            Some(HandoverMessage::Failure { candidate }) => {
                let target = candidate.map(Cell).or_else(|| self.targets.remove(key));
                (target.into_iter().collect(), HandoverStatus::Rejected)
            }
            Some(HandoverMessage::Cancel { candidates }) if candidates.is_empty() => {
                (self.targets.remove(key).into_iter().collect(), HandoverStatus::Cancelled)
            }
            Some(HandoverMessage::Cancel { candidates }) => {
                (candidates.into_iter().map(Cell).collect(), HandoverStatus::Cancelled)
            }
        };
        (cells, status)
    }
}

fn tunnel(end: GtpTunnel) -> Tunnel {
    Tunnel { address: end.address.to_string(), teid: format!("{:08x}", end.teid) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The octets are those of an independent encoder (pycrate 0.8).
    macro_rules! vector {
        ($name:literal) => {
            unhex(include_str!(concat!("../../../../../../vectors/interfaces/", $name, ".hex")))
        };
    }

    fn unhex(digits: &str) -> Vec<u8> {
        let digits = digits.trim();
        (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn handovers_are_followed_from_their_request_on() {
        let mut handovers = Handovers::default();
        let target = Cell::nr(ids::PlmnIdentity::from_codes(1, 1, 2), 0x380_4001);
        let (request, cancel) = (vector!("xnap-handover-request"), vector!("xnap-handover-cancel"));
        let failure = unhex("4000000f000002004940020003000740020100");
        assert_eq!(handovers.read("amf:1", &cancel).0, [], "the request was not seen");
        assert_eq!(handovers.read("amf:1", &request), (vec![target], HandoverStatus::InPreparation));
        assert_eq!(handovers.read("amf:2", &failure).0, [], "another UE");
        assert_eq!(handovers.read("amf:1", &failure), (vec![target], HandoverStatus::Rejected));
        handovers.read("amf:1", &request);
        let acknowledge =
            unhex("20000024000004004940020003004f400480010003002a4006000001000090004d40050400200000");
        assert_eq!(handovers.read("amf:1", &acknowledge), (vec![target], HandoverStatus::InExecution));
        assert_eq!(handovers.read("amf:1", &cancel), (vec![target], HandoverStatus::Cancelled));
        assert_eq!(handovers.read("amf:1", b"garbage").0, []);
    }

    #[test]
    fn candidates_of_conditional_handovers_are_named_by_their_messages() {
        let mut handovers = Handovers::default();
        let target = Cell::nr(ids::PlmnIdentity::from_codes(1, 1, 2), 0x380_4001);
        let acknowledge = unhex(
            "20000031000005004940020003004f400480010003002a4006000001000090004d40050400200000009f00090000f1100038040010",
        );
        assert_eq!(handovers.read("amf:1", &acknowledge).0, [], "the UE begins it by itself");
        let failure = unhex("4000001c00000300494002000300074002010000a100090000f1100038040010");
        assert_eq!(handovers.read("amf:1", &failure), (vec![target], HandoverStatus::Rejected));
        let cancel = unhex("00024024000004004900020003004f40048001000300074002080000a000090000f1100038040010");
        assert_eq!(handovers.read("amf:1", &cancel), (vec![target], HandoverStatus::Cancelled));
    }
}

//! Copies of messages on NG and Xn: the bearers that they set up, and the handovers that they prepare.

use std::collections::HashMap;

use ap::ngap::{GtpTunnel, PduSessionResourceSetupRequest, PduSessionResourceSetupResponse, RequestedSession};
use ap::xnap::HandoverMessage;

use crate::collector::ues::BearerReport;
use crate::event::{BearerQos, HandoverStatus, Tunnel};
use crate::identity::{Cell, Slice};
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
                let slice = request.map(|request| Slice(request.s_nssai));
                bearers.push(BearerReport { id: qfi, state: BearerState { qos, tunnel }, slice });
            }
        }
        bearers
    }
}

/// Handovers in preparation, by UE.
#[derive(Debug, Default)]
pub(super) struct Handovers {
    targets: HashMap<String, Cell>,
}

impl Handovers {
    /// Reads a message about a UE. Returns the target cell of its handover, and how far it is.
    pub fn read(&mut self, key: &str, octets: &[u8]) -> Option<(Cell, HandoverStatus)> {
        match HandoverMessage::decode(octets)? {
            HandoverMessage::Request(target) => {
                if self.targets.len() >= MAX_WAITING {
                    self.targets.clear();
                }
                self.targets.insert(key.to_owned(), Cell(target));
                Some((Cell(target), HandoverStatus::InPreparation))
            }
            // the UE may fail to follow the command, and the source then cancels
            HandoverMessage::Acknowledge => Some((*self.targets.get(key)?, HandoverStatus::InExecution)),
            HandoverMessage::Failure => Some((self.targets.remove(key)?, HandoverStatus::Rejected)),
            HandoverMessage::Cancel => Some((self.targets.remove(key)?, HandoverStatus::Cancelled)),
        }
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
        let failure = unhex("4000000f000002004940020007000740020100");
        assert_eq!(handovers.read("amf:1", &cancel), None, "the request was not seen");
        assert_eq!(handovers.read("amf:1", &request), Some((target, HandoverStatus::InPreparation)));
        assert_eq!(handovers.read("amf:2", &failure), None, "another UE");
        assert_eq!(handovers.read("amf:1", &failure), Some((target, HandoverStatus::Rejected)));
        handovers.read("amf:1", &request);
        // the kind of the failure, changed to that of a success
        let acknowledge = [&[0x20], &failure[1..]].concat();
        assert_eq!(handovers.read("amf:1", &acknowledge), Some((target, HandoverStatus::InExecution)));
        assert_eq!(handovers.read("amf:1", &cancel), Some((target, HandoverStatus::Cancelled)));
        assert_eq!(handovers.read("amf:1", b"garbage"), None);
    }
}

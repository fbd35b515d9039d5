//! Copies of messages on NG, Xn and X2: the bearers that they set up, modify and release, and the handovers that they prepare.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ap::ngap::{
    GtpTunnel, PduSessionResourceSetupRequest, PduSessionResourceSetupResponse, QosFlow, RequestedSession,
    SessionChange, SessionChangeMessage,
};
use ap::x2ap;
use ap::xnap::HandoverMessage;
use ids::Cgi;

use crate::collector::ues::BearerReport;
use crate::event::{BearerQos, HandoverStatus, Tunnel};
use crate::identity::{Cell, Slice};
use crate::state::BearerState;

/// The most UEs whose requests wait for their responses. Beyond it all are forgotten: their responses were not copied.
const MAX_WAITING: usize = 4096;
/// The most UEs whose sessions are known. Beyond it all are forgotten: their releases are those that GTP statistics show.
const MAX_UES: usize = 65_536;

/// Sessions that are requested of nodes, by UE, and what they consist of.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    requested: HashMap<String, Vec<RequestedSession>>,
    /// QoS that is requested for flows.
    changes: HashMap<String, Vec<QosFlow>>,
    /// The QFIs of each session.
    established: HashMap<String, BTreeMap<u8, BTreeSet<u8>>>,
}

/// What a message says of the bearers of a UE.
#[derive(Debug, Default, PartialEq)]
pub(super) struct BearerChanges {
    /// Bearers that are set up or modified.
    pub reports: Vec<BearerReport>,
    /// Bearers that are released.
    pub released: Vec<u8>,
}

/// Adds an entry of a UE. Beyond the bound all are forgotten.
pub(super) fn remember<T>(map: &mut HashMap<String, T>, key: &str, value: T, most: usize) {
    if map.len() >= most && !map.contains_key(key) {
        map.clear();
    }
    map.insert(key.to_owned(), value);
}

impl Sessions {
    /// Reads a message about a UE. The response to a request says what has changed.
    pub fn read(&mut self, key: &str, octets: &[u8]) -> BearerChanges {
        if let Some(Ok(request)) = PduSessionResourceSetupRequest::decode(octets) {
            remember(&mut self.requested, key, request.sessions, MAX_WAITING);
            return BearerChanges::default();
        }
        if let Some(Ok(message)) = SessionChangeMessage::decode(octets) {
            return self.read_change(key, message.change);
        }
        let Some(Ok(response)) = PduSessionResourceSetupResponse::decode(octets) else {
            return BearerChanges::default();
        };
        let requested = self.requested.remove(key).unwrap_or_default();
        let mut reports = Vec::new();
        let mut established = self.established.remove(key).unwrap_or_default();
        for session in response.sessions {
            let request = requested.iter().find(|request| request.id == session.id);
            let gateway = request.map_or_else(Tunnel::default, |request| tunnel(request.gateway));
            established.insert(session.id, session.qfis.iter().copied().collect());
            for qfi in session.qfis {
                let flow = request.and_then(|request| request.flows.iter().find(|flow| flow.qfi == qfi));
                let qos = flow.and_then(qos_of);
                let tunnel = Some((tunnel(session.base_station), gateway.clone()));
                let slice = request.map(|request| Slice(request.s_nssai));
                reports.push(BearerReport { id: qfi, state: BearerState { qos, tunnel }, slice });
            }
        }
        remember(&mut self.established, key, established, MAX_UES);
        BearerChanges { reports, released: Vec::new() }
    }

    fn read_change(&mut self, key: &str, change: SessionChange) -> BearerChanges {
        let mut changes = BearerChanges::default();
        match change {
            SessionChange::Modify(sessions) => {
                let flows = sessions.into_iter().flat_map(|(_, flows)| flows).collect();
                remember(&mut self.changes, key, flows, MAX_WAITING);
            }
            SessionChange::Modified(sessions) => {
                let requested = self.changes.remove(key).unwrap_or_default();
                for (session, qfis) in sessions {
                    if let Some(established) = self.established.get_mut(key) {
                        established.entry(session).or_default().extend(&qfis);
                    }
                    let flows = qfis.iter().filter_map(|qfi| requested.iter().find(|flow| flow.qfi == *qfi));
                    changes.reports.extend(flows.map(|flow| {
                        let state = BearerState { qos: qos_of(flow), tunnel: None };
                        BearerReport { id: flow.qfi, state, slice: None }
                    }));
                }
            }
            SessionChange::Release(_) => {}
            SessionChange::Released(sessions) => {
                let Some(established) = self.established.get_mut(key) else { return changes };
                let released = sessions.iter().filter_map(|session| established.remove(session));
                changes.released = released.flatten().collect();
            }
        }
        changes
    }
}

fn qos_of(flow: &QosFlow) -> Option<BearerQos> {
    Some(BearerQos { qci: flow.five_qi?, rates_bps: flow.gbr_bps })
}

/// Handovers in preparation, by UE: their target cells. Messages about conditional handovers name their cells themselves.
#[derive(Debug, Default)]
pub(super) struct Handovers {
    targets: HashMap<String, Cell>,
}

impl Handovers {
    /// Reads a message about a UE, on X2 or on Xn. Returns the target cells of its handovers, and how far they are.
    pub fn read(&mut self, key: &str, octets: &[u8], is_x2: bool) -> (Vec<Cell>, HandoverStatus) {
        let message = match is_x2 {
            true => x2ap::HandoverMessage::decode(octets).map(unconditional),
            false => HandoverMessage::decode(octets),
        };
        let (cells, status) = match message {
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

/// A message on X2 as one on Xn.
fn unconditional(message: x2ap::HandoverMessage) -> HandoverMessage {
    match message {
        x2ap::HandoverMessage::Request(target) => {
            HandoverMessage::Request { target: Cgi::EutraCgi(target), is_conditional: false }
        }
        x2ap::HandoverMessage::Acknowledge => HandoverMessage::Acknowledge { candidate: None },
        x2ap::HandoverMessage::Failure => HandoverMessage::Failure { candidate: None },
        x2ap::HandoverMessage::Cancel => HandoverMessage::Cancel { candidates: Vec::new() },
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
    fn sessions_are_modified_and_released() {
        let mut sessions = Sessions::default();
        let modify = unhex("001a0028000003000a0005600e000003005500020007004000120000010e0000010087000701048000021c00");
        let modified = unhex("201a001d000003000a4005600e0000030055400200070041400700000103100024");
        let released = unhex("201c001b000003000a4005600e000003005540020007004640050000010100");
        assert_eq!(sessions.read("amf:1", &modified), BearerChanges::default(), "the request was not seen");
        assert!(sessions.read("amf:1", &released).released.is_empty(), "the session was not seen");
        let request = unhex(
            "001d0051000003000a0005600e000003005500020007004a003b000001002035000003008b000a01f00a00000100000011008600010000880\
             01b04090000091c00140000011c004001f40010fa00200186a010c350",
        );
        let response = unhex(
            "201d0035000003000a4005600e000003005540020007004b401f0000011b000fe020010db80000000000000000000000070e00000004090040",
        );
        assert_eq!(sessions.read("amf:1", &request), BearerChanges::default());
        let established = sessions.read("amf:1", &response).reports;
        let of = |reports: &[BearerReport]| -> Vec<_> {
            reports.iter().map(|report| (report.id, report.state.qos.map(|qos| qos.qci))).collect()
        };
        assert_eq!(of(&established), [(9, Some(9)), (1, Some(1))]);
        sessions.read("amf:1", &modify);
        let changed = sessions.read("amf:1", &modified).reports;
        assert_eq!((of(&changed), &changed[0].state.tunnel), (vec![(9, Some(2))], &None));
        let BearerChanges { reports, released: ids } = sessions.read("amf:1", &released);
        assert_eq!((reports.len(), ids), (0, vec![1, 9]));
    }

    #[test]
    fn handovers_are_followed_from_their_request_on() {
        let mut handovers = Handovers::default();
        let target = Cell::nr(ids::PlmnIdentity::from_codes(1, 1, 2), 0x380_4001);
        let (request, cancel) = (vector!("xnap-handover-request"), vector!("xnap-handover-cancel"));
        let failure = unhex("4000000f000002004940020003000740020100");
        assert!(handovers.read("amf:1", &cancel, false).0.is_empty(), "the request was not seen");
        assert_eq!(handovers.read("amf:1", &request, false), (vec![target], HandoverStatus::InPreparation));
        assert!(handovers.read("amf:2", &failure, false).0.is_empty(), "another UE");
        assert_eq!(handovers.read("amf:1", &failure, false), (vec![target], HandoverStatus::Rejected));
        handovers.read("amf:1", &request, false);
        let acknowledge = unhex("20000024000004004940020003004f400480010003002a4006000001000090004d40050400200000");
        assert_eq!(handovers.read("amf:1", &acknowledge, false), (vec![target], HandoverStatus::InExecution));
        assert_eq!(handovers.read("amf:1", &cancel, false), (vec![target], HandoverStatus::Cancelled));
        assert!(handovers.read("amf:1", b"garbage", false).0.is_empty());
    }

    #[test]
    fn candidates_of_conditional_handovers_are_named_by_their_messages() {
        let mut handovers = Handovers::default();
        let target = Cell::nr(ids::PlmnIdentity::from_codes(1, 1, 2), 0x380_4001);
        let acknowledge = unhex(
            "20000031000005004940020003004f400480010003002a4006000001000090004d40050400200000009f00090000f1100038040010",
        );
        assert!(handovers.read("amf:1", &acknowledge, false).0.is_empty(), "the UE begins it by itself");
        let failure = unhex("4000001c00000300494002000300074002010000a100090000f1100038040010");
        assert_eq!(handovers.read("amf:1", &failure, false), (vec![target], HandoverStatus::Rejected));
        let cancel = unhex("00024024000004004900020003004f40048001000300074002080000a000090000f1100038040010");
        assert_eq!(handovers.read("amf:1", &cancel, false), (vec![target], HandoverStatus::Cancelled));
    }

    #[test]
    fn handovers_on_x2_are_followed() {
        let mut handovers = Handovers::default();
        let target = Cell::eutra(ids::PlmnIdentity::from_codes(1, 1, 2), 0xe_0101);
        let request = unhex(
            "0000008086000006000a00020003000540020000000b00080000f11000e01010001700070000f110000101000e004c060e00\
             0003000000000000000000000000000000000000000000000000000000000000000000000000000402540be4008002540be4\
             00000004400e0500092003e0c613000100000004020000000f400c000000f11000e0001100000c",
        );
        let acknowledge = unhex("20000024000004000a400200030009400201040001400700000040020280000c4006050019000000");
        let failure = unhex("4000000f000002000a40020003000540020600");
        let cancel = unhex("00014015000003000a00020003000940020104000540020480");
        assert_eq!(handovers.read("mme:1", &request, true), (vec![target], HandoverStatus::InPreparation));
        assert_eq!(handovers.read("mme:1", &failure, true), (vec![target], HandoverStatus::Rejected));
        assert!(handovers.read("mme:1", &cancel, true).0.is_empty(), "there is nothing to cancel");
        handovers.read("mme:1", &request, true);
        assert_eq!(handovers.read("mme:1", &acknowledge, true), (vec![target], HandoverStatus::InExecution));
        assert_eq!(handovers.read("mme:1", &cancel, true), (vec![target], HandoverStatus::Cancelled));
        assert!(handovers.read("mme:2", &request, false).0.is_empty(), "no message on Xn");
    }
}

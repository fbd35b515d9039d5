//! The NG interface of a node, as E2SM-NI taps it: what the gNB tells its AMF of its UEs.
//!
//! A UE that has had nothing to send for a while goes to RRC_INACTIVE, and back when there is something again; each time
//! the gNB sends an RRC INACTIVE TRANSITION REPORT (TS 38.413 8.3.5 and 9.2.2.10), as it does where its AMF has asked for
//! them. The AMF at the other end is silent: what goes on is counted, and nothing comes.
//!
//! E2SM-NI has no name for an AMF: the interface goes by the gNB's.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use e2sm::common::{
    GlobalGnbId, GlobalNgRanNodeId, GnbId, InterfaceIdNg, InterfaceIdentifier, InterfaceMessageId,
    InterfaceMessageType, PlmnIdentity,
};
use e2sm::ni::{NiIdentifier, NiType};
use ferric::agent::{ControllerId, Ue};
use ferric::e2::Time;
use functions::kpm::KpmSource;
use functions::ni::{Fate, Interface, Message, MessageId, NiSource, Way};
use functions::rc;
use per::{Bits, List, Octets, Per};

use crate::mobility::INACTIVE_S;
use crate::node::{GNB_ID_BITS, MCC, MNC, NR_CELL_BITS, Node, guami};

/// How often UEs are looked at while somebody watches.
const LOOK: Duration = Duration::from_millis(20);
/// Messages at the tap: more go on untold.
const MAX_WAITING: usize = 4096;
/// The tracking area of all cells.
const TAC: [u8; 3] = [0, 0, 1];

/// What is at the taps of a node.
#[derive(Debug, Default)]
pub struct Taps {
    interfaces: Vec<Interface>,
    /// While somebody watches: when to look next.
    next_look: Option<Time>,
    ues: Vec<Activity>,
    waiting: VecDeque<Message>,
    /// Told of, and not yet decided.
    undecided: BTreeSet<MessageId>,
    last: u64,
    /// Messages that went to the AMF, as they were, in place of others, or of a controller's making.
    sent: u64,
    /// Messages that did not.
    dropped: u64,
}

/// Whether a UE has had something to send of late.
#[derive(Clone, Copy, Debug)]
struct Activity {
    /// Its steps with something to send, when it was last looked at.
    active_steps: u64,
    last_active: Time,
    state: RrcState,
}

impl Activity {
    fn new(active_steps: u64, now: Time) -> Self {
        Activity { active_steps, last_active: now, state: RrcState::Connected }
    }
}

impl Taps {
    pub fn new(gnb: u32) -> Self {
        let gnb = GlobalNgRanNodeId::Gnb(GlobalGnbId {
            plmn_identity: plmn(),
            gnb_id: GnbId::GnbId(Bits::new(gnb.into(), GNB_ID_BITS)),
        });
        let ng = Interface { kind: NiType::Ng, id: NiIdentifier::GlobalNgRanId(gnb) };
        Taps { interfaces: vec![ng], ..Taps::default() }
    }
}

fn plmn() -> PlmnIdentity {
    PlmnIdentity::from_codes(MCC, MNC, 2)
}

impl Node {
    /// Steps with something to send, of each UE.
    fn active_steps(&self) -> impl Iterator<Item = u64> {
        self.cell.counters().iter().map(|counters| counters.downlink_active + counters.uplink_active)
    }

    /// What the AMF is told of a UE's state.
    fn report_of(&self, ue: Ue, state: RrcState) -> Vec<u8> {
        let cell = u64::from(self.gnb) << (NR_CELL_BITS - GNB_ID_BITS) | 1;
        rrc_inactive_transition_report(self.amf_ue_ngap_id(ue) as i64, ue.0 as u32, state, cell)
    }

    /// The same message, as E2SM-RC copies it.
    pub fn transition_report(&self, ue: Ue, is_inactive: bool) -> rc::Event {
        let state = if is_inactive { RrcState::Inactive } else { RrcState::Connected };
        rc::Event::NiMessage {
            ue,
            interface: InterfaceIdentifier::Ng(InterfaceIdNg { guami: guami() }),
            id: InterfaceMessageId {
                interface_procedure_id: ID_RRC_INACTIVE_TRANSITION_REPORT.into(),
                message_type: InterfaceMessageType::InitiatingMessage,
            },
            is_incoming: false,
            octets: self.report_of(ue, state),
        }
    }

    /// Looks at who has become active or inactive until now, and has the AMF told.
    fn look_at_activity(&mut self, now: Time) {
        let mut changes = Vec::new();
        let steps: Vec<u64> = self.active_steps().collect();
        // those that have come meanwhile were just now busy with that
        let newcomers = steps.iter().skip(self.taps.ues.len()).map(|steps| Activity::new(*steps, now));
        self.taps.ues.extend(newcomers.collect::<Vec<_>>());
        for at in self.cell.here() {
            let (Some(activity), Some(steps)) = (self.taps.ues.get_mut(at), steps.get(at).copied()) else { continue };
            let ue = at as u64;
            if steps != activity.active_steps {
                (activity.active_steps, activity.last_active) = (steps, now);
            }
            let is_inactive = (now - activity.last_active).as_secs_f64() >= INACTIVE_S;
            let state = if is_inactive { RrcState::Inactive } else { RrcState::Connected };
            if std::mem::replace(&mut activity.state, state) != state {
                changes.push((ue, state));
            }
        }
        for (ue, state) in changes {
            let octets = self.report_of(Ue(ue), state);
            self.taps.last += 1;
            if self.taps.waiting.len() < MAX_WAITING {
                let (id, ue) = (MessageId(self.taps.last), Some(Ue(ue)));
                self.taps.waiting.push_back(Message { id, at: now, interface: 0, way: Way::Outgoing, octets, ue });
            } else {
                self.taps.sent += 1;
            }
        }
    }
}

impl NiSource for Node {
    fn interfaces(&self) -> &[Interface] {
        &self.taps.interfaces
    }

    fn watch(&mut self, now: Time, is_watched: bool) {
        if !is_watched {
            self.taps.next_look = None;
            self.taps.sent += self.taps.waiting.drain(..).count() as u64;
            return;
        }
        self.advance(now);
        self.taps.ues = self.active_steps().map(|steps| Activity::new(steps, now)).collect();
        self.taps.next_look = Some(now + LOOK);
    }

    fn next_message(&mut self, now: Time) -> Option<Message> {
        if self.taps.next_look.is_some_and(|next| next <= now) {
            self.advance(now);
            self.look_at_activity(now);
            self.taps.next_look = Some(now + LOOK);
        }
        let message = self.taps.waiting.pop_front()?;
        self.taps.undecided.insert(message.id);
        Some(message)
    }

    fn next_look(&self) -> Option<Time> {
        self.taps.next_look
    }

    fn decide(&mut self, _now: Time, message: MessageId, fate: Fate) {
        if self.taps.undecided.remove(&message) {
            match fate {
                Fate::Pass | Fate::Replace(_) => self.taps.sent += 1,
                Fate::Drop => self.taps.dropped += 1,
            }
        }
    }

    fn inject(
        &mut self,
        _now: Time,
        _origin: ControllerId,
        _interface: usize,
        way: Way,
        octets: &[u8],
    ) -> Result<(), Cow<'static, str>> {
        if way == Way::Incoming {
            return Err("the emulated node acts on no message of an AMF".into());
        }
        per::decode::<NgapPdu<'_>>(octets, 0).map_err(|error| format!("no PDU of NGAP: {error}"))?;
        self.taps.sent += 1;
        Ok(())
    }
}

/// NGAP-PDU (TS 38.413 9.4.3).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
enum NgapPdu<'a> {
    InitiatingMessage(NgapMessage<'a>),
    SuccessfulOutcome(NgapMessage<'a>),
    UnsuccessfulOutcome(NgapMessage<'a>),
}

/// InitiatingMessage, SuccessfulOutcome and UnsuccessfulOutcome, which are alike. An open type is written as octets are.
#[derive(Clone, Debug, PartialEq, Per)]
struct NgapMessage<'a> {
    procedure_code: u8,
    criticality: Criticality,
    value: Octets<'a>,
}

/// Criticality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
enum Criticality {
    Reject,
    Ignore,
    Notify,
}

/// A message: a list of IEs.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct ProtocolIes<'a> {
    #[per(size = 0..=65535)]
    protocol_ies: List<'a, ProtocolIeField<'a>>,
}

/// ProtocolIE-Field.
#[derive(Clone, Debug, PartialEq, Per)]
struct ProtocolIeField<'a> {
    id: u16,
    criticality: Criticality,
    value: Octets<'a>,
}

/// AMF-UE-NGAP-ID (TS 38.413 9.3.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(range = 0..=1_099_511_627_775)]
struct AmfUeNgapId(i64);

/// RRCState (TS 38.413 9.3.1.92).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
enum RrcState {
    Inactive,
    Connected,
}

/// UserLocationInformation (TS 38.413 9.3.1.16), of which a gNB has one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
enum UserLocationInformation {
    Eutra(NoSuchThing),
    Nr(UserLocationInformationNr),
    N3iwf(NoSuchThing),
    Extensions(NoSuchThing),
}

/// UserLocationInformationNR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
struct UserLocationInformationNr {
    nr_cgi: NrCgi,
    tai: Tai,
    time_stamp: Option<[u8; 4]>,
    ie_extensions: Option<NoSuchThing>,
}

/// NR-CGI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
struct NrCgi {
    plmn_identity: PlmnIdentity,
    #[per(size = 36..=36)]
    nr_cell_identity: Bits,
    ie_extensions: Option<NoSuchThing>,
}

/// TAI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
struct Tai {
    plmn_identity: PlmnIdentity,
    tac: [u8; 3],
    ie_extensions: Option<NoSuchThing>,
}

/// In the place of what is never written here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
struct NoSuchThing(bool);

// TS 38.413 9.4.7
const ID_RRC_INACTIVE_TRANSITION_REPORT: u8 = 37;
const ID_AMF_UE_NGAP_ID: u16 = 10;
const ID_RAN_UE_NGAP_ID: u16 = 85;
const ID_RRC_STATE: u16 = 92;
const ID_USER_LOCATION_INFORMATION: u16 = 121;

/// The octets of a value, which is within its constraints.
fn encoded<T: per::Encode>(value: &T) -> Octets<'static> {
    let mut octets = Vec::new();
    match per::encode(value, 0, &mut octets) {
        Ok(()) => Octets::from(octets),
        Err(error) => panic!("the model's values are within NGAP's bounds: {error}"),
    }
}

/// An RRC INACTIVE TRANSITION REPORT (TS 38.413 9.2.2.10).
fn rrc_inactive_transition_report(amf_ue_ngap_id: i64, ran_ue_ngap_id: u32, state: RrcState, cell: u64) -> Vec<u8> {
    let location = UserLocationInformationNr {
        nr_cgi: NrCgi { plmn_identity: plmn(), nr_cell_identity: Bits::new(cell, NR_CELL_BITS), ie_extensions: None },
        tai: Tai { plmn_identity: plmn(), tac: TAC, ie_extensions: None },
        time_stamp: None,
        ie_extensions: None,
    };
    let ie = |id, criticality, value| ProtocolIeField { id, criticality, value };
    let message = ProtocolIes {
        protocol_ies: List::from(vec![
            ie(ID_AMF_UE_NGAP_ID, Criticality::Reject, encoded(&AmfUeNgapId(amf_ue_ngap_id))),
            ie(ID_RAN_UE_NGAP_ID, Criticality::Reject, encoded(&ran_ue_ngap_id)),
            ie(ID_RRC_STATE, Criticality::Ignore, encoded(&state)),
            ie(ID_USER_LOCATION_INFORMATION, Criticality::Ignore, encoded(&UserLocationInformation::Nr(location))),
        ]),
    };
    let pdu = NgapPdu::InitiatingMessage(NgapMessage {
        procedure_code: ID_RRC_INACTIVE_TRANSITION_REPORT,
        criticality: Criticality::Ignore,
        value: encoded(&message),
    });
    encoded(&pdu).to_cow().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RanConfig;

    const START: Time = Time::from_nanos(5_000_000_000);
    const SECOND: Duration = Duration::from_secs(1);

    /// The octets are those of an independent encoder (pycrate 0.8.1).
    #[test]
    fn the_report_is_ngaps() {
        let octets = rrc_inactive_transition_report(0x0e00_0003, 3, RrcState::Inactive, 0x3800_0001);
        let expected = "0025402a000004000a0005600e000003005500020003005c4001000079400f4000f1100380000010\
                        00f110000001";
        assert_eq!(octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>(), expected);
    }

    fn messages(node: &mut Node, from: Time, seconds: u32) -> Vec<Message> {
        let mut all = Vec::new();
        for tick in 1..=seconds * 50 {
            let now = from + LOOK * tick;
            all.extend(std::iter::from_fn(|| node.next_message(now)));
        }
        all
    }

    #[test]
    fn ues_come_to_rest_and_wake() {
        let mut node = Node::new(&RanConfig::default(), 0, Default::default());
        node.watch(START, true);
        let all = messages(&mut node, START, 20);
        assert!(all.len() > 10, "{} transitions", all.len());
        let state = |message: &Message| {
            let pdu: NgapPdu<'_> = per::decode(&message.octets, 0).unwrap();
            let NgapPdu::InitiatingMessage(message) = pdu else { panic!("an initiating message") };
            assert_eq!(message.procedure_code, ID_RRC_INACTIVE_TRANSITION_REPORT);
            let octets = message.value.to_cow();
            let ies: ProtocolIes<'_> = per::decode(&octets, 0).unwrap();
            let state = ies.protocol_ies.iter().find(|ie| ie.id == ID_RRC_STATE).unwrap();
            per::decode::<RrcState>(&state.value.to_cow(), 0).unwrap()
        };
        for ue in (0..32).map(Ue) {
            let of_ue: Vec<_> = all.iter().filter(|message| message.ue == Some(ue)).map(state).collect();
            let expected = [RrcState::Inactive, RrcState::Connected].into_iter().cycle();
            assert!(of_ue.iter().copied().eq(expected.take(of_ue.len())), "{of_ue:?}");
        }
        let count = all.len() as u64;
        node.decide(START, all[0].id, Fate::Drop);
        all[1..].iter().for_each(|message| node.decide(START, message.id, Fate::Pass));
        node.decide(START, all[0].id, Fate::Pass);
        assert_eq!((node.taps.sent, node.taps.dropped), (count - 1, 1));
        node.watch(START, false);
        assert_eq!(node.next_look(), None);
        assert_eq!(messages(&mut node, START + SECOND * 20, 5), []);
    }

    #[test]
    fn what_is_injected_must_be_ngap() {
        let mut node = Node::new(&RanConfig::default(), 0, Default::default());
        let good = rrc_inactive_transition_report(1, 1, RrcState::Connected, 1);
        let origin = ControllerId(1);
        node.inject(START, origin, 0, Way::Outgoing, &good).unwrap();
        assert_eq!(node.taps.sent, 1);
        assert!(node.inject(START, origin, 0, Way::Outgoing, b"hello").unwrap_err().starts_with("no PDU of NGAP"));
        assert!(node.inject(START, origin, 0, Way::Incoming, &good).is_err());
    }
}

//! The interfaces of a node, as E2SM-NI taps them: NG of a gNB, and Xn to its neighbours; S1 and X2 of an eNB.
//!
//! A UE without traffic goes to RRC_INACTIVE after a while, and back when traffic arrives. At each transition the gNB sends an
//! RRC INACTIVE TRANSITION REPORT (TS 38.413 8.3.5 and 9.2.2.10), as if its AMF had requested these reports. When a UE
//! attaches to a gNB, its AMF sets up a session ([`super::sessions`]). Messages to the AMF are counted.
//!
//! An eNB suspends the UE's context at its MME and resumes it (TS 36.413 8.3.7 and 8.3.8); meanwhile the UE is in RRC_IDLE.
//!
//! E2SM-NI cannot identify an AMF or MME: NG and S1 carry the identity of the base station, Xn and X2 that of the neighbour.
//!
//! Before a handover, the gNBs prepare it on Xn ([`super::handover_messages`]), eNBs on X2 ([`super::x2_handovers`]). After a handover the new gNB sends a UE CONTEXT RELEASE to the old one (TS 38.423 8.2.7). It arrives when the tap releases it:
//! late if a RIC holds it, never if a RIC drops it. The old gNB has released the UE anyway. Between eNBs the message is that of
//! X2 (TS 36.423 8.2.3). Between a gNB and an eNB there is none.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use ap::ngap::{self, RrcInactiveTransitionReport, RrcState};
use ap::s1ap::{self, UeContextResumeRequest, UeContextSuspendRequest, UeS1apIds};
use ap::{Pdu, x2ap, xnap};
use e2sm::common::{
    Cgi, InterfaceIdNg, InterfaceIdS1, InterfaceIdX2, InterfaceIdXn, InterfaceIdentifier, InterfaceMessageId,
    InterfaceMessageType, X2NodeType,
};
use e2sm::ni::{NiIdentifier, NiType};
use ferric::agent::{ControllerId, Ue};
use ferric::e2::Time;
use ids::{
    AmfUeNgapId, EnbUeX2apId, GlobalEnbId, GlobalGnbId, GlobalNgRanNodeId, GnbId, MmeUeS1apId, NgRanNodeUeXnapId,
};
use radio::UeEntry;
use ran_functions::kpm::KpmSource;
use ran_functions::ni::{Interface, Message, MessageDecision, MessageDirection, MessageId, NiSource};
use ran_functions::rc;

use crate::interfaces::{TAC, enb_id, encoded, plmn};
use crate::mobility::Mobility;
use crate::node::{FIRST_GNB, GNB_ID_BITS, Node, guami, place_of, ue_of};
use crate::node_type::{NodeType, gummei};
use crate::simulation::{Answer, NeighbourMessage};

/// The interval at which the RRC states of UEs are checked while a subscription exists.
const POLL_PERIOD: Duration = Duration::from_millis(20);
/// The nearest neighbours, which have an Xn or X2 interface.
const MAX_NEIGHBOURS: usize = 32;
/// Messages waiting at the taps. Further ones pass without a report.
const MAX_WAITING: usize = 4096;

/// The taps of a node's interfaces, and the messages at them.
#[derive(Debug, Default)]
pub struct Taps {
    interfaces: Vec<Interface>,
    /// The first cells of the neighbours of the Xn or X2 interfaces, which follow NG or S1 in `interfaces`.
    neighbours: Vec<u16>,
    /// The next check of RRC states; `None` without a subscription.
    next_poll: Option<Time>,
    /// UEs that were reported as inactive.
    inactive: BTreeSet<Ue>,
    waiting: VecDeque<Message>,
    /// Messages that were reported and are not decided yet.
    undecided: BTreeMap<MessageId, Message>,
    /// What is known of messages at the taps besides what these show.
    passages: BTreeMap<MessageId, Passage>,
    last_id: u64,
    /// Messages that went to the AMF or to a neighbour: unchanged, as replacements, or injected.
    sent: u64,
    /// Messages that were dropped.
    dropped: u64,
}

/// What is known of a message at a tap besides what this shows.
#[derive(Debug, Default)]
struct Passage {
    /// The cell of the neighbour; `None` for its first one.
    to_cell: Option<u16>,
    /// The UE by its id there.
    receiver_ue: Option<Ue>,
    /// What the receiver answers.
    answer: Option<Answer>,
}

impl Taps {
    /// The interfaces of a node: to the AMF or MME, and to its neighbours of the same technology.
    pub fn of_node(node_type: NodeType, mobility: &Mobility) -> Self {
        if !node_type.has_rrc() {
            return Taps::default();
        }
        let is_enb = node_type == NodeType::Enb;
        let is_same = |number: &u16| matches!(mobility.cell_of(*number), Cgi::EutraCgi(_)) == is_enb;
        let mut seen = BTreeSet::from([mobility.place().first]);
        let others = mobility.other_nodes().filter(is_same).map(|cell| mobility.base_station_of(cell));
        let neighbours: Vec<u16> = others.filter(|first| seen.insert(*first)).take(MAX_NEIGHBOURS).collect();
        let (to_core, to_neighbour) = if is_enb { (NiType::S1, NiType::X2) } else { (NiType::Ng, NiType::Xn) };
        let to = |kind, number| {
            let id = match is_enb {
                true => NiIdentifier::GlobalEnbId(enb(number)),
                false => NiIdentifier::GlobalNgRanId(gnb(number)),
            };
            Interface { kind, id }
        };
        let core = to(to_core, mobility.place().first);
        let others = neighbours.iter().map(|neighbour| to(to_neighbour, *neighbour));
        Taps { interfaces: std::iter::once(core).chain(others).collect(), neighbours, ..Taps::default() }
    }

    /// The Xn or X2 interface to a neighbour, by its first cell.
    fn to_neighbour(&self, neighbour: u16) -> Option<usize> {
        self.neighbours.iter().position(|number| *number == neighbour).map(|at| at + 1)
    }

    /// The first cell of the neighbour at the other end of an interface.
    fn neighbour(&self, interface: usize) -> Option<u16> {
        self.neighbours.get(interface.checked_sub(1)?).copied()
    }
}

/// The gNB whose first cell has this number.
pub(super) fn gnb(number: u16) -> GlobalNgRanNodeId {
    let gnb_id = GnbId::new(FIRST_GNB + u32::from(number), GNB_ID_BITS);
    GlobalNgRanNodeId::Gnb(GlobalGnbId { plmn_identity: plmn(), gnb_id })
}

/// The eNB whose first cell has this number.
pub(super) fn enb(number: u16) -> GlobalEnbId {
    enb_id(FIRST_GNB + u32::from(number))
}

impl Node {
    /// The message to the AMF or MME about a UE that became inactive or active.
    fn transition_message(&self, ue: Ue, is_inactive: bool) -> Vec<u8> {
        let core_id = self.amf_ue_ngap_id(ue);
        if self.node_type == NodeType::Enb {
            // 24 bits: at any time one UE has them
            let enb_ue_s1ap_id = ue.0 as u32 & 0x00ff_ffff;
            let ids = UeS1apIds { mme_ue_s1ap_id: MmeUeS1apId(core_id as u32), enb_ue_s1ap_id };
            return encoded(match is_inactive {
                true => UeContextSuspendRequest(ids).encode(),
                false => UeContextResumeRequest(ids).encode(),
            });
        }
        let report = RrcInactiveTransitionReport {
            amf_ue_ngap_id: AmfUeNgapId(core_id as i64),
            ran_ue_ngap_id: self.ue_numbers(ue).at_cu,
            rrc_state: if is_inactive { RrcState::Inactive } else { RrcState::Connected },
            nr_cgi: self.nr_cgi(),
            tac: TAC,
        };
        encoded(report.encode())
    }

    /// The same message as an event of E2SM-RC.
    pub fn transition_report(&self, ue: Ue, is_inactive: bool) -> rc::Event {
        let s1 = InterfaceIdentifier::S1(InterfaceIdS1 { gummei: gummei() });
        let (interface, procedure) = match (self.node_type, is_inactive) {
            (NodeType::Enb, true) => (s1, s1ap::PROCEDURE_UE_CONTEXT_SUSPEND),
            (NodeType::Enb, false) => (s1, s1ap::PROCEDURE_UE_CONTEXT_RESUME),
            _ => {
                let ng = InterfaceIdentifier::Ng(InterfaceIdNg { guami: guami() });
                (ng, ngap::PROCEDURE_RRC_INACTIVE_TRANSITION_REPORT)
            }
        };
        message_event(ue, interface, procedure, self.transition_message(ue, is_inactive))
    }

    /// Sends the messages about UEs that became active or inactive.
    fn report_activity(&mut self, now: Time) {
        let inactive = self.inactive_ues();
        let before = std::mem::replace(&mut self.taps.inactive, inactive.clone());
        for ue in inactive.symmetric_difference(&before).copied() {
            let is_inactive = inactive.contains(&ue);
            if self.context(ue).is_none() {
                continue;
            }
            let octets = self.transition_message(ue, is_inactive);
            self.tap_message(now, 0, MessageDirection::Outgoing, octets, Some(ue));
        }
    }

    /// Takes a message to its tap, where it waits if a subscription exists and there is room.
    pub(super) fn tap_message(
        &mut self,
        at: Time,
        interface: usize,
        direction: MessageDirection,
        octets: Vec<u8>,
        ue: Option<Ue>,
    ) {
        self.taps.last_id += 1;
        let message = Message { id: MessageId(self.taps.last_id), at, interface, direction, octets, ue };
        self.tap(message, Passage::default());
    }

    /// The Xn or X2 interface to the base station of a cell; `None` for a cell of its own, and one without.
    pub(super) fn interface_to(&self, cell: u16) -> Option<usize> {
        self.taps.to_neighbour(self.mobility.base_station_of(cell))
    }

    /// Takes a message to the cell of a neighbour to its tap. `receiver_ue` is the UE by its id there.
    pub(super) fn tap_to_neighbour(
        &mut self,
        (interface, cell): (usize, u16),
        octets: Vec<u8>,
        ue: Option<Ue>,
        receiver_ue: Option<Ue>,
        answer: Option<Answer>,
    ) {
        self.taps.last_id += 1;
        let (id, direction) = (MessageId(self.taps.last_id), MessageDirection::Outgoing);
        let message = Message { id, at: self.last_read(), interface, direction, octets, ue };
        self.tap(message, Passage { to_cell: Some(cell), receiver_ue, answer });
    }

    fn tap(&mut self, message: Message, passage: Passage) {
        if passage.to_cell.is_some() || passage.answer.is_some() {
            self.taps.passages.insert(message.id, passage);
        }
        if self.taps.next_poll.is_some() && self.taps.waiting.len() < MAX_WAITING {
            self.taps.waiting.push_back(message);
        } else {
            self.deliver(message);
        }
    }

    /// Delivers a message to its receiver. The node itself reads no incoming messages: it sends the answers that the model has
    /// decided.
    fn deliver(&mut self, message: Message) {
        let Passage { to_cell, receiver_ue, answer } = self.taps.passages.remove(&message.id).unwrap_or_default();
        if message.direction == MessageDirection::Outgoing {
            self.taps.sent += 1;
            if let Some(neighbour) = self.taps.neighbour(message.interface) {
                let from = self.mobility.number();
                let message = NeighbourMessage { from, ue: receiver_ue, octets: message.octets, answer };
                self.send_to_neighbour(to_cell.unwrap_or(neighbour), message);
            }
        } else if let Some((Answer { ue, octets }, cell)) = answer.zip(to_cell) {
            self.tap_to_neighbour((message.interface, cell), octets, None, Some(ue), None);
        }
    }

    /// Sends a UE CONTEXT RELEASE to the neighbour that handed over a UE.
    pub fn release_source_context(&mut self, source: u16, source_ue: Ue, stay: &UeEntry) {
        let ue = ue_of(stay);
        let Some(interface) = self.interface_to(source) else { return };
        let neighbour = self.mobility.base_station_of(source);
        let (id, procedure, octets) = if self.node_type == NodeType::Enb {
            let id = InterfaceIdentifier::X2(InterfaceIdX2 { node_type: X2NodeType::GlobalEnbId(enb(neighbour)) });
            (id, x2ap::PROCEDURE_UE_CONTEXT_RELEASE, x2_ue_context_release(source_ue, stay.number))
        } else {
            let id = InterfaceIdentifier::Xn(InterfaceIdXn { global_ng_ran_id: gnb(neighbour) });
            (id, xnap::PROCEDURE_UE_CONTEXT_RELEASE, xn_ue_context_release(stay.number))
        };
        self.mobility.events.report(message_event(ue, id, procedure, octets.clone()));
        self.tap_to_neighbour((interface, source), octets, Some(ue), Some(source_ue), None);
    }

    /// Takes a message from a neighbour.
    pub fn receive_from_neighbour(&mut self, message: NeighbourMessage) {
        let Some(interface) = self.interface_to(message.from) else { return };
        self.taps.last_id += 1;
        let (id, direction) = (MessageId(self.taps.last_id), MessageDirection::Incoming);
        let NeighbourMessage { from, ue, octets, answer } = message;
        let message = Message { id, at: self.last_read(), interface, direction, octets, ue };
        self.tap(message, Passage { to_cell: Some(from), receiver_ue: None, answer });
    }
}

/// The id of a UE on Xn, at each gNB: its number in the RAN.
pub(super) fn xnap_id(number: u64) -> NgRanNodeUeXnapId {
    NgRanNodeUeXnapId(number as u32)
}

/// A UE CONTEXT RELEASE on Xn.
fn xn_ue_context_release(number: u64) -> Vec<u8> {
    let release = xnap::UeContextRelease {
        source_ng_ran_node_ue_xnap_id: xnap_id(number),
        target_ng_ran_node_ue_xnap_id: xnap_id(number),
    };
    encoded(release.encode())
}

/// The id of a UE on X2 at the eNB that hands it over: its place there, which has 12 bits.
pub(super) fn old_x2ap_id(ue: Ue) -> EnbUeX2apId {
    EnbUeX2apId(place_of(ue) as u16)
}

/// The id of a UE on X2 at the eNB that it is handed over to, which knows no place yet: 12 bits of its number in the RAN.
pub(super) fn new_x2ap_id(number: u64) -> EnbUeX2apId {
    EnbUeX2apId((number & 0xfff) as u16)
}

/// A UE CONTEXT RELEASE on X2.
fn x2_ue_context_release(source: Ue, number: u64) -> Vec<u8> {
    let release =
        x2ap::UeContextRelease { old_enb_ue_x2ap_id: old_x2ap_id(source), new_enb_ue_x2ap_id: new_x2ap_id(number) };
    encoded(release.encode())
}

/// An outgoing message as an event of E2SM-RC.
fn message_event(ue: Ue, interface: InterfaceIdentifier, procedure: u8, octets: Vec<u8>) -> rc::Event {
    let id = InterfaceMessageId {
        interface_procedure_id: procedure.into(),
        message_type: InterfaceMessageType::InitiatingMessage,
    };
    rc::Event::NiMessage { ue, interface, id, is_incoming: false, octets }
}

impl NiSource for Node {
    fn interfaces(&self) -> &[Interface] {
        &self.taps.interfaces
    }

    fn set_watched(&mut self, now: Time, is_watched: bool) {
        if !is_watched {
            self.taps.next_poll = None;
            for message in std::mem::take(&mut self.taps.waiting) {
                self.deliver(message);
            }
            return;
        }
        self.advance(now);
        self.taps.inactive = self.inactive_ues();
        self.taps.next_poll = Some(now + POLL_PERIOD);
    }

    fn next_message(&mut self, now: Time) -> Option<Message> {
        if self.taps.next_poll.is_some_and(|next| next <= now) {
            self.advance(now);
            self.report_activity(now);
            self.taps.next_poll = Some(now + POLL_PERIOD);
        }
        let message = self.taps.waiting.pop_front()?;
        self.taps.undecided.insert(message.id, message.clone());
        Some(message)
    }

    fn next_poll(&self) -> Option<Time> {
        self.taps.next_poll
    }

    fn decide(&mut self, _now: Time, message: MessageId, decision: MessageDecision) {
        let Some(message) = self.taps.undecided.remove(&message) else { return };
        match decision {
            MessageDecision::Pass => self.deliver(message),
            MessageDecision::Replace(octets) => self.deliver(Message { octets, ..message }),
            MessageDecision::Drop => {
                self.taps.passages.remove(&message.id);
                self.taps.dropped += 1;
            }
        }
    }

    fn inject(
        &mut self,
        now: Time,
        _origin: ControllerId,
        interface: usize,
        direction: MessageDirection,
        octets: &[u8],
    ) -> Result<(), Cow<'static, str>> {
        if direction == MessageDirection::Incoming {
            return Err("the emulated node ignores messages of its core network and of neighbours".into());
        }
        let protocol = self.taps.interfaces.get(interface).map(|interface| interface.kind.protocol());
        let protocol = protocol.ok_or_else(|| format!("no interface {interface}"))?;
        Pdu::decode(protocol, octets).map_err(|error| format!("not a PDU of the interface's protocol: {error}"))?;
        let id = MessageId(self.taps.last_id + 1);
        self.taps.last_id = id.0;
        self.deliver(Message { id, at: now, interface, direction, octets: octets.to_vec(), ue: None });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ap::{NumericIe, PduView, Protocol};

    use super::*;
    use crate::testing::{self, cell_of};

    const START: Time = Time::from_nanos(5_000_000_000);
    const SECOND: Duration = Duration::from_secs(1);

    fn messages(node: &mut Node, from: Time, seconds: u32) -> Vec<Message> {
        let mut all = Vec::new();
        for tick in 1..=seconds * 50 {
            let now = from + POLL_PERIOD * tick;
            all.extend(std::iter::from_fn(|| node.next_message(now)));
        }
        all
    }

    #[test]
    fn ues_become_inactive_and_active() {
        let mut node = testing::node();
        node.set_watched(START, true);
        // the sessions of the UEs were set up before
        let before = node.taps.sent;
        let all = messages(&mut node, START, 20);
        assert!(all.len() > 10, "{} transitions", all.len());
        let state = |message: &Message| {
            let pdu = PduView::read(Protocol::Ngap, &message.octets).unwrap();
            assert_eq!(pdu.procedure_code, ngap::PROCEDURE_RRC_INACTIVE_TRANSITION_REPORT);
            let ie = NumericIe::find(ngap::NUMERIC_IES, ngap::IE_RRC_STATE).unwrap();
            ie.read(pdu.ie(ngap::IE_RRC_STATE).unwrap()).unwrap()
        };
        for ue in (0..32).map(Ue) {
            let of_ue: Vec<_> = all.iter().filter(|message| message.ue == Some(ue)).map(state).collect();
            let expected = [0, 1].into_iter().cycle(); // inactive, connected
            assert!(of_ue.iter().copied().eq(expected.take(of_ue.len())), "{of_ue:?}");
        }
        let count = all.len() as u64;
        node.decide(START, all[0].id, MessageDecision::Drop);
        all[1..].iter().for_each(|message| node.decide(START, message.id, MessageDecision::Pass));
        node.decide(START, all[0].id, MessageDecision::Pass);
        assert_eq!((node.taps.sent - before, node.taps.dropped), (count - 1, 1));
        node.set_watched(START, false);
        assert_eq!(node.next_poll(), None);
        assert_eq!(messages(&mut node, START + SECOND * 20, 5), []);
    }

    #[test]
    fn injected_octets_must_be_ngap() {
        let mut node = testing::node();
        let good = node.transition_message(Ue(1), false);
        let origin = ControllerId(1);
        node.inject(START, origin, 0, MessageDirection::Outgoing, &good).unwrap();
        assert_eq!(node.taps.sent, 1);
        assert!(
            node.inject(START, origin, 0, MessageDirection::Outgoing, b"hello")
                .unwrap_err()
                .starts_with("not a PDU of the interface's protocol")
        );
        assert!(node.inject(START, origin, 0, MessageDirection::Incoming, &good).is_err());
    }

    /// Two nodes, of which the second gets a UE of the first.
    fn handover(is_watched: [bool; 2]) -> [Node; 2] {
        let mut nodes: [Node; 2] = testing::nodes_with_mixed_traffic(2, 4).try_into().unwrap();
        for (node, is_watched) in nodes.iter_mut().zip(is_watched) {
            node.advance(START);
            if is_watched {
                node.set_watched(START, true);
            }
        }
        nodes[0].hand_over(Ue(2), &cell_of(1)).unwrap();
        nodes
    }

    /// The next message on Xn.
    fn on_xn(node: &mut Node, now: Time) -> Option<Message> {
        node.advance(now);
        let is_release = |octets: &[u8]| {
            let protocols = [(Protocol::Xnap, xnap::PROCEDURE_UE_CONTEXT_RELEASE), (Protocol::X2ap, 5)];
            let is = |(protocol, code)| PduView::read(protocol, octets).is_some_and(|pdu| pdu.procedure_code == code);
            octets.len() < 10 || protocols.into_iter().any(is)
        };
        std::iter::from_fn(|| node.next_message(now))
            .find(|message| message.interface == 1 && is_release(&message.octets))
    }

    #[test]
    fn handover_sends_ue_context_release_to_old_node() {
        let now = START + SECOND;
        let release = xn_ue_context_release(2);
        for (decision, received) in [
            (MessageDecision::Pass, Some(release.clone())),
            (MessageDecision::Replace(vec![1, 2, 3]), Some(vec![1, 2, 3])),
            (MessageDecision::Drop, None),
        ] {
            let [mut old, mut new] = handover([true, true]);
            assert_eq!(new.interfaces().iter().map(|at| at.kind).collect::<Vec<_>>(), [NiType::Ng, NiType::Xn]);
            assert_eq!(
                new.interfaces()[1],
                old.interfaces().first().map(|ng| Interface { kind: NiType::Xn, ..*ng }).unwrap()
            );
            let message = on_xn(&mut new, now).unwrap();
            assert_eq!(
                (message.direction, message.ue, &message.octets),
                (MessageDirection::Outgoing, Some(Ue(4)), &release)
            );
            assert_eq!(on_xn(&mut old, now), None, "it is held");
            new.decide(now, message.id, decision);
            let message = on_xn(&mut old, now);
            assert_eq!(message.as_ref().map(|message| &message.octets), received.as_ref());
            if let Some(message) = message {
                assert_eq!(
                    (message.direction, message.ue),
                    (MessageDirection::Incoming, Some(Ue(2))),
                    "the UE as the old node identifies it"
                );
                old.decide(now, message.id, MessageDecision::Pass);
            }
        }
        // without a subscription at the sender, and after it ended
        let [mut old, mut new] = handover([true, false]);
        new.advance(now);
        assert_eq!(on_xn(&mut old, now).unwrap().octets, release);
        let [mut old, mut new] = handover([true, true]);
        new.advance(now);
        new.set_watched(now, false);
        assert_eq!(on_xn(&mut old, now).unwrap().octets, release);
    }

    #[test]
    fn enb_has_s1_and_x2() {
        let mut scenario = crate::Scenario::with_mixed_traffic(2, 8, 1);
        for cell in &mut scenario.cells {
            cell.radio.carrier = radio::phy::Carrier::lte();
        }
        let config = crate::RanConfig { scenario, ..Default::default() };
        let [mut old, mut new] = testing::nodes(&config).try_into().unwrap();
        for node in [&mut old, &mut new] {
            node.set_watched(START, true);
        }
        let kinds: Vec<_> = new.interfaces().iter().map(|at| at.kind).collect();
        assert_eq!(kinds, [NiType::S1, NiType::X2]);
        let target = new.mobility.cell_of(1);
        old.hand_over(Ue(2), &target).unwrap();
        let message = on_xn(&mut new, START + SECOND).unwrap();
        assert_eq!(message.octets, x2_ue_context_release(Ue(2), 2));
        new.decide(START + SECOND, message.id, MessageDecision::Pass);
        assert_eq!(on_xn(&mut old, START + SECOND).unwrap().ue, Some(Ue(2)));

        let all = messages(&mut new, START + SECOND, 20);
        for ue in (0..9).map(Ue) {
            let of_ue: Vec<u8> =
                all.iter().filter(|message| message.ue == Some(ue)).map(|message| message.octets[1]).collect();
            let expected = [s1ap::PROCEDURE_UE_CONTEXT_SUSPEND, s1ap::PROCEDURE_UE_CONTEXT_RESUME].into_iter().cycle();
            assert!(of_ue.iter().copied().eq(expected.take(of_ue.len())), "{ue:?}: {of_ue:?}");
        }
        assert!(
            all.iter().any(|message| message.octets[1] == s1ap::PROCEDURE_UE_CONTEXT_RESUME),
            "{} messages",
            all.len()
        );
        let idle = new.transition_report(Ue(1), true);
        assert!(matches!(idle, rc::Event::NiMessage { interface: InterfaceIdentifier::S1(_), .. }));
    }

    #[test]
    fn injected_message_reaches_neighbour() {
        let [mut old, mut new] = handover([true, false]);
        let octets = xn_ue_context_release(7);
        new.inject(START, ControllerId(1), 1, MessageDirection::Outgoing, &octets).unwrap();
        let message = on_xn(&mut old, START + SECOND).unwrap();
        assert_eq!((message.ue, message.octets), (None, octets));
    }
}

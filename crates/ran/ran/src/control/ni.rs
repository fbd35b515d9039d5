//! The interfaces of a node, as E2SM-NI taps them: of a gNB NG, and Xn to its neighbours; of an eNB S1 and X2.
//!
//! A UE that has had nothing to send for a while goes to RRC_INACTIVE, and back when there is something again; each time
//! the gNB sends an RRC INACTIVE TRANSITION REPORT (TS 38.413 8.3.5 and 9.2.2.10), as it does where its AMF has asked for
//! them. The AMF at the other end is silent: what goes on is counted, and nothing comes.
//!
//! An eNB has its MME suspend the UE's context, and resume it (TS 36.413 8.3.7 and 8.3.8): its UE is in RRC_IDLE meanwhile.
//!
//! E2SM-NI has no name for an AMF or MME: NG and S1 go by the base station's. Xn and X2 go by the neighbour's.
//!
//! A UE that is handed over has its new gNB send a UE CONTEXT RELEASE to the old one (TS 38.423 8.2.7). It comes there as
//! it was let go: late where a RIC has held it, never where one has dropped it; the old gNB has forgotten the UE anyway. From
//! eNB to eNB it is that of X2 (TS 36.423 8.2.3). Between a gNB and an eNB there is neither.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::interfaces::messages::{
    ID_RRC_INACTIVE_TRANSITION_REPORT, ID_UE_CONTEXT_RELEASE, ID_UE_CONTEXT_RESUME, ID_UE_CONTEXT_SUSPEND,
    ID_X2_UE_CONTEXT_RELEASE, Pdu, RrcState, rrc_inactive_transition_report, ue_context_release,
    ue_context_suspend_or_resume, x2_ue_context_release,
};
use e2sm::common::{
    Cgi, EnbId, GlobalEnbId, GlobalGnbId, GlobalNgRanNodeId, GnbId, InterfaceIdNg, InterfaceIdS1, InterfaceIdX2,
    InterfaceIdXn, InterfaceIdentifier, InterfaceMessageId, InterfaceMessageType, X2NodeType,
};
use e2sm::ni::{NiIdentifier, NiType};
use ferric::agent::{ControllerId, Ue};
use ferric::e2::Time;
use per::Bits;
use ran_functions::kpm::KpmSource;
use ran_functions::ni::{Fate, Interface, Message, MessageId, NiSource, Way};
use ran_functions::rc;

use crate::interfaces::plmn;
use crate::mobility::Mobility;
use crate::node::{FIRST_GNB, GNB_ID_BITS, Node, guami, place_of};
use crate::part::{ENB_ID_BITS, Part, gummei};
use crate::simulation::NeighbourMessage;

/// How often UEs are looked at while somebody watches.
const LOOK: Duration = Duration::from_millis(20);
/// Neighbours with an Xn or X2 interface: the next ones.
const MAX_NEIGHBOURS: usize = 32;
/// Messages at the tap: more go on untold.
const MAX_WAITING: usize = 4096;
/// What is at the taps of a node.
#[derive(Debug, Default)]
pub struct Taps {
    interfaces: Vec<Interface>,
    /// The neighbours, each at the other end of an Xn or X2 interface: those after NG or S1.
    neighbours: Vec<u16>,
    /// While somebody watches: when to look next.
    next_look: Option<Time>,
    /// UEs that the AMF holds for inactive.
    inactive: BTreeSet<Ue>,
    waiting: VecDeque<Message>,
    /// ReportedState of, and not yet decided.
    undecided: BTreeMap<MessageId, Message>,
    last: u64,
    /// Messages that went to the AMF or to a neighbour, as they were, in place of others, or of a controller's making.
    sent: u64,
    /// Messages that did not.
    dropped: u64,
}

impl Taps {
    /// The interfaces of a node: to the AMF or MME, and to its neighbours of the same technology.
    pub fn of_node(number: u16, part: Part, mobility: &Mobility) -> Self {
        if !part.has_rrc() {
            return Taps::default();
        }
        let is_enb = part == Part::Enb;
        let is_same = |number: &u16| matches!(mobility.cell_of(*number), Cgi::EutraCgi(_)) == is_enb;
        let neighbours: Vec<u16> = mobility.other_nodes().filter(is_same).take(MAX_NEIGHBOURS).collect();
        let (to_core, to_neighbour) = if is_enb { (NiType::S1, NiType::X2) } else { (NiType::Ng, NiType::Xn) };
        let to = |kind, number| {
            let id = match is_enb {
                true => NiIdentifier::GlobalEnbId(enb(number)),
                false => NiIdentifier::GlobalNgRanId(gnb(number)),
            };
            Interface { kind, id }
        };
        let core = to(to_core, number);
        let others = neighbours.iter().map(|neighbour| to(to_neighbour, *neighbour));
        Taps { interfaces: std::iter::once(core).chain(others).collect(), neighbours, ..Taps::default() }
    }

    /// The Xn or X2 interface to a neighbour.
    fn to_neighbour(&self, neighbour: u16) -> Option<usize> {
        self.neighbours.iter().position(|number| *number == neighbour).map(|at| at + 1)
    }

    /// The neighbour at the other end of an interface.
    fn neighbour(&self, interface: usize) -> Option<u16> {
        self.neighbours.get(interface.checked_sub(1)?).copied()
    }
}

/// The gNB of a node.
fn gnb(number: u16) -> GlobalNgRanNodeId {
    let id = FIRST_GNB + u32::from(number);
    let gnb_id = GnbId::GnbId(Bits::new(id.into(), GNB_ID_BITS));
    GlobalNgRanNodeId::Gnb(GlobalGnbId { plmn_identity: plmn(), gnb_id })
}

/// The eNB of a node.
fn enb(number: u16) -> GlobalEnbId {
    let id = FIRST_GNB + u32::from(number);
    GlobalEnbId { plmn_identity: plmn(), enb_id: EnbId::MacroEnbId(Bits::new(id.into(), ENB_ID_BITS)) }
}

impl Node {
    /// What the AMF or MME is told of a UE that has come to rest, or woken.
    fn report_of(&self, ue: Ue, is_inactive: bool) -> Vec<u8> {
        if self.part == Part::Enb {
            let procedure = if is_inactive { ID_UE_CONTEXT_SUSPEND } else { ID_UE_CONTEXT_RESUME };
            // of 24 bits: there is but one such UE at a time
            let enb_ue_s1ap_id = ue.0 as u32 & 0x00ff_ffff;
            return ue_context_suspend_or_resume(procedure, self.amf_ue_ngap_id(ue) as u32, enb_ue_s1ap_id);
        }
        let state = if is_inactive { RrcState::Inactive } else { RrcState::Connected };
        rrc_inactive_transition_report(self.amf_ue_ngap_id(ue) as i64, ue.0 as u32, state, self.gnb)
    }

    /// The same message, as E2SM-RC copies it.
    pub fn transition_report(&self, ue: Ue, is_inactive: bool) -> rc::Event {
        let (interface, procedure) = match (self.part, is_inactive) {
            (Part::Enb, true) => (InterfaceIdentifier::S1(InterfaceIdS1 { gummei: gummei() }), ID_UE_CONTEXT_SUSPEND),
            (Part::Enb, false) => (InterfaceIdentifier::S1(InterfaceIdS1 { gummei: gummei() }), ID_UE_CONTEXT_RESUME),
            _ => (InterfaceIdentifier::Ng(InterfaceIdNg { guami: guami() }), ID_RRC_INACTIVE_TRANSITION_REPORT),
        };
        sent(ue, interface, procedure, self.report_of(ue, is_inactive))
    }

    /// Looks at who has become active or inactive until now, and has the AMF told.
    fn report_activity(&mut self, now: Time) {
        let inactive = self.inactive_ues();
        let before = std::mem::replace(&mut self.taps.inactive, inactive.clone());
        for ue in inactive.symmetric_difference(&before).copied() {
            let is_inactive = inactive.contains(&ue);
            if self.context(ue).is_none() {
                continue;
            }
            let octets = self.report_of(ue, is_inactive);
            self.tap_message(now, 0, Way::Outgoing, octets, Some(ue));
        }
    }

    /// A message is on its way; it stops where somebody watches and there is room.
    fn tap_message(&mut self, at: Time, interface: usize, way: Way, octets: Vec<u8>, ue: Option<Ue>) {
        self.taps.last += 1;
        let message = Message { id: MessageId(self.taps.last), at, interface, way, octets, ue };
        if self.taps.next_look.is_some() && self.taps.waiting.len() < MAX_WAITING {
            self.taps.waiting.push_back(message);
        } else {
            self.deliver(message);
        }
    }

    /// A message goes to whom it is for. What comes to this node itself is read by nobody.
    fn deliver(&mut self, message: Message) {
        if message.way == Way::Outgoing {
            self.taps.sent += 1;
            if let Some(neighbour) = self.taps.neighbour(message.interface) {
                let from = self.mobility.number();
                let ue = message.ue.and_then(|ue| self.mobility.events.source_ue(ue, neighbour));
                self.send_to_neighbour(neighbour, NeighbourMessage { from, ue, octets: message.octets });
            }
        }
    }

    /// A UE has come from a neighbour: that one is told.
    pub fn release_source_context(&mut self, source: u16, source_ue: Ue, ue: Ue) {
        let Some(interface) = self.taps.to_neighbour(source) else { return };
        let (id, procedure, octets) = if self.part == Part::Enb {
            let node_type = X2NodeType::GlobalEnbId(enb(source));
            let id = InterfaceIdentifier::X2(InterfaceIdX2 { node_type });
            // of 12 bits: the places
            let octets = x2_ue_context_release(place_of(source_ue) as u32, place_of(ue) as u32);
            (id, ID_X2_UE_CONTEXT_RELEASE, octets)
        } else {
            let id = InterfaceIdentifier::Xn(InterfaceIdXn { global_ng_ran_id: gnb(source) });
            (id, ID_UE_CONTEXT_RELEASE, ue_context_release(source_ue.0 as u32, ue.0 as u32))
        };
        self.mobility.events.report(sent(ue, id, procedure, octets.clone()));
        self.tap_message(self.last_read(), interface, Way::Outgoing, octets, Some(ue));
    }

    /// A neighbour's message has come.
    pub fn receive_from_neighbour(&mut self, message: NeighbourMessage) {
        let Some(interface) = self.taps.to_neighbour(message.from) else { return };
        self.tap_message(self.last_read(), interface, Way::Incoming, message.octets, message.ue);
    }
}

/// A message that a node sends, as E2SM-RC copies it.
fn sent(ue: Ue, interface: InterfaceIdentifier, procedure: u8, octets: Vec<u8>) -> rc::Event {
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

    fn watch(&mut self, now: Time, is_watched: bool) {
        if !is_watched {
            self.taps.next_look = None;
            for message in std::mem::take(&mut self.taps.waiting) {
                self.deliver(message);
            }
            return;
        }
        self.advance(now);
        self.taps.inactive = self.inactive_ues();
        self.taps.next_look = Some(now + LOOK);
    }

    fn next_message(&mut self, now: Time) -> Option<Message> {
        if self.taps.next_look.is_some_and(|next| next <= now) {
            self.advance(now);
            self.report_activity(now);
            self.taps.next_look = Some(now + LOOK);
        }
        let message = self.taps.waiting.pop_front()?;
        self.taps.undecided.insert(message.id, message.clone());
        Some(message)
    }

    fn next_look(&self) -> Option<Time> {
        self.taps.next_look
    }

    fn decide(&mut self, _now: Time, message: MessageId, fate: Fate) {
        let Some(message) = self.taps.undecided.remove(&message) else { return };
        match fate {
            Fate::Pass => self.deliver(message),
            Fate::Replace(octets) => self.deliver(Message { octets, ..message }),
            Fate::Drop => self.taps.dropped += 1,
        }
    }

    fn inject(
        &mut self,
        now: Time,
        _origin: ControllerId,
        interface: usize,
        way: Way,
        octets: &[u8],
    ) -> Result<(), Cow<'static, str>> {
        if way == Way::Incoming {
            return Err("the emulated node acts on no message of its core or a neighbour".into());
        }
        per::decode::<Pdu<'_>>(octets, 0).map_err(|error| format!("no PDU of the interface's protocol: {error}"))?;
        let id = MessageId(self.taps.last + 1);
        self.taps.last = id.0;
        self.deliver(Message { id, at: now, interface, way, octets: octets.to_vec(), ue: None });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interfaces::messages::{ID_RRC_STATE, ProtocolIes};
    use crate::testing::{self, cell_of};

    const START: Time = Time::from_nanos(5_000_000_000);
    const SECOND: Duration = Duration::from_secs(1);

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
        let mut node = testing::node();
        node.watch(START, true);
        let all = messages(&mut node, START, 20);
        assert!(all.len() > 10, "{} transitions", all.len());
        let state = |message: &Message| {
            let pdu: Pdu<'_> = per::decode(&message.octets, 0).unwrap();
            let Pdu::InitiatingMessage(message) = pdu else { panic!("an initiating message") };
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
        let mut node = testing::node();
        let good = rrc_inactive_transition_report(1, 1, RrcState::Connected, 1);
        let origin = ControllerId(1);
        node.inject(START, origin, 0, Way::Outgoing, &good).unwrap();
        assert_eq!(node.taps.sent, 1);
        assert!(
            node.inject(START, origin, 0, Way::Outgoing, b"hello")
                .unwrap_err()
                .starts_with("no PDU of the interface's protocol")
        );
        assert!(node.inject(START, origin, 0, Way::Incoming, &good).is_err());
    }

    /// Two nodes, of which the second gets a UE of the first.
    fn handover(is_watched: [bool; 2]) -> [Node; 2] {
        let mut nodes: [Node; 2] = testing::crowd(2, 4).try_into().unwrap();
        for (node, is_watched) in nodes.iter_mut().zip(is_watched) {
            node.advance(START);
            if is_watched {
                node.watch(START, true);
            }
        }
        nodes[0].hand_over(Ue(2), &cell_of(1)).unwrap();
        nodes
    }

    /// The next message on Xn.
    fn on_xn(node: &mut Node, now: Time) -> Option<Message> {
        node.advance(now);
        std::iter::from_fn(|| node.next_message(now)).find(|message| message.interface == 1)
    }

    #[test]
    fn a_handover_is_told_to_the_old_node() {
        let now = START + SECOND;
        let told = ue_context_release(2, 4);
        for (fate, heard) in
            [(Fate::Pass, Some(told.clone())), (Fate::Replace(vec![1, 2, 3]), Some(vec![1, 2, 3])), (Fate::Drop, None)]
        {
            let [mut old, mut new] = handover([true, true]);
            assert_eq!(new.interfaces().iter().map(|at| at.kind).collect::<Vec<_>>(), [NiType::Ng, NiType::Xn]);
            assert_eq!(
                new.interfaces()[1],
                old.interfaces().first().map(|ng| Interface { kind: NiType::Xn, ..*ng }).unwrap()
            );
            let message = on_xn(&mut new, now).unwrap();
            assert_eq!((message.way, message.ue, &message.octets), (Way::Outgoing, Some(Ue(4)), &told));
            assert_eq!(on_xn(&mut old, now), None, "it is held");
            new.decide(now, message.id, fate);
            let message = on_xn(&mut old, now);
            assert_eq!(message.as_ref().map(|message| &message.octets), heard.as_ref());
            if let Some(message) = message {
                assert_eq!((message.way, message.ue), (Way::Incoming, Some(Ue(2))), "by the old node's name");
                old.decide(now, message.id, Fate::Pass);
            }
        }
        // nobody watches the one that sends, and then nobody any more
        let [mut old, mut new] = handover([true, false]);
        new.advance(now);
        assert_eq!(on_xn(&mut old, now).unwrap().octets, told);
        let [mut old, mut new] = handover([true, true]);
        new.advance(now);
        new.watch(now, false);
        assert_eq!(on_xn(&mut old, now).unwrap().octets, told);
    }

    #[test]
    fn an_enb_has_s1_and_x2() {
        let mut scenario = crate::Scenario::crowd(2, 8, 1);
        for cell in &mut scenario.cells {
            cell.radio.carrier = radio::phy::Carrier::lte();
        }
        let config = crate::RanConfig { scenario, ..Default::default() };
        let [mut old, mut new] = testing::nodes(&config).try_into().unwrap();
        for node in [&mut old, &mut new] {
            node.watch(START, true);
        }
        let kinds: Vec<_> = new.interfaces().iter().map(|at| at.kind).collect();
        assert_eq!(kinds, [NiType::S1, NiType::X2]);
        let target = new.mobility.cell_of(1);
        old.hand_over(Ue(2), &target).unwrap();
        let message = on_xn(&mut new, START + SECOND).unwrap();
        assert_eq!(message.octets, x2_ue_context_release(2, 8));
        new.decide(START + SECOND, message.id, Fate::Pass);
        assert_eq!(on_xn(&mut old, START + SECOND).unwrap().ue, Some(Ue(2)));

        let all = messages(&mut new, START + SECOND, 20);
        for ue in (0..9).map(Ue) {
            let of_ue: Vec<u8> = all.iter().filter(|told| told.ue == Some(ue)).map(|told| told.octets[1]).collect();
            let expected = [ID_UE_CONTEXT_SUSPEND, ID_UE_CONTEXT_RESUME].into_iter().cycle();
            assert!(of_ue.iter().copied().eq(expected.take(of_ue.len())), "{ue:?}: {of_ue:?}");
        }
        assert!(all.iter().any(|message| message.octets[1] == ID_UE_CONTEXT_RESUME), "{} messages", all.len());
        let idle = new.transition_report(Ue(1), true);
        assert!(matches!(idle, rc::Event::NiMessage { interface: InterfaceIdentifier::S1(_), .. }));
    }

    #[test]
    fn a_neighbour_hears_what_is_injected() {
        let [mut old, mut new] = handover([true, false]);
        let octets = ue_context_release(7, 7);
        new.inject(START, ControllerId(1), 1, Way::Outgoing, &octets).unwrap();
        let message = on_xn(&mut old, START + SECOND).unwrap();
        assert_eq!((message.ue, message.octets), (None, octets));
    }
}

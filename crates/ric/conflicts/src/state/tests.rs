//! Decisions on controls of SLICE: what each policy makes of two xApps, and the bounds.

use std::time::Duration;

use e2sm::Wire;
use e2sm::slice::{
    ControlMessage, DirectionSlices, MODEL, NvsParameters, Parameters, Rate, Share, Slice, SliceConfiguration,
};
use ferric::e2::{AssocId, ConsumerIdentity, RanFunction, RefusalCode};
use ferric::e2ap::{Codec, GlobalE2NodeId, GnbId, RanFunctionRevision, Version};
use per::PrintableString;

use super::*;

const FUNCTION: RanFunctionId = RanFunctionId(145);

fn node() -> Node {
    let plmn = e2sm::common::PlmnIdentity::from_codes(1, 1, 2);
    let oid = MODEL.oid(Wire::Per).into();
    let function = RanFunction { id: FUNCTION, revision: RanFunctionRevision(0), oid, definition: Box::default() };
    Node {
        id: NodeId(1),
        global_id: GlobalE2NodeId::gnb(plmn, GnbId::new(0xe00, 28)),
        assoc: AssocId(1),
        version: Version::V2_03,
        codec: Codec::Per,
        functions: vec![function],
        components: ferric::e2::Components::default(),
        controller_path: ferric::e2::ControllerPath::default(),
    }
}

fn at(ms: u64) -> Time {
    Time::default() + Duration::from_millis(ms)
}

fn slices(all: &[(u32, Parameters<'static>)]) -> Vec<u8> {
    let slice = |(id, parameters): &(u32, Parameters<'static>)| Slice {
        id: *id,
        label: PrintableString::literal(""),
        ue_scheduler: PrintableString::literal("PF"),
        parameters: parameters.clone(),
    };
    let dl = DirectionSlices { scheduler: PrintableString::literal("NVS"), slices: all.iter().map(slice).collect() };
    let mut out = Vec::new();
    let message = ControlMessage::AddOrModify(SliceConfiguration { dl, ul: DirectionSlices::default() });
    message.encode(Wire::Per, &mut out).unwrap();
    out
}

fn share(reserved: f32) -> Parameters<'static> {
    Parameters::Nvs(NvsParameters::Capacity(Share { reserved }))
}

/// The share of the first slice of a message.
fn share_of(message: &[u8]) -> f32 {
    let ControlMessage::AddOrModify(slices) = ControlMessage::decode_owned(message, Wire::Per).unwrap() else {
        panic!("a configuration of slices");
    };
    match slices.dl.slices[0].parameters {
        Parameters::Nvs(NvsParameters::Capacity(share)) => share.reserved,
        ref other => panic!("{other:?}"),
    }
}

/// A mitigation with a node and xApps, which are known by their names.
struct World {
    state: State,
    ran: RanDatabase,
    tickets: u32,
}

/// What the tests look at.
#[derive(Debug, PartialEq)]
enum Got {
    Sent,
    Share(f32),
    Refused(Cause),
    Waits,
}

impl World {
    fn new(rules: &str) -> World {
        let state = State::new(ConflictRules::parse(rules).unwrap(), None, None);
        World { state, ran: RanDatabase::new(100), tickets: 0 }
    }

    fn control(&mut self, xapp: &str, ms: u64, message: &[u8]) -> Got {
        match self.request(xapp, ms, &node(), FUNCTION, (&[], message)) {
            Mediation::Send => Got::Sent,
            Mediation::Change { message, .. } => Got::Share(share_of(&message)),
            Mediation::Refuse(cause) => Got::Refused(cause),
            Mediation::Hold => Got::Waits,
        }
    }

    fn request(
        &mut self,
        xapp: &str,
        ms: u64,
        node: &Node,
        function: RanFunctionId,
        (header, message): (&[u8], &[u8]),
    ) -> Mediation {
        self.tickets += 1;
        let identity = ConsumerIdentity::named(xapp);
        let consumer = consumer(xapp);
        let control = RequestedControl {
            now: at(ms),
            consumer,
            identity: Some(&identity),
            ticket: Ticket(self.tickets),
            node,
            ran: &self.ran,
            function,
            header,
            message,
            call_process_id: None,
            ack: true,
        };
        self.state.mediate(&control)
    }

    fn set(&mut self, xapp: &str, ms: u64, slice: u32, reserved: f32) -> Got {
        self.control(xapp, ms, &slices(&[(slice, share(reserved))]))
    }

    fn reason(&self) -> String {
        let conflict = self.state.decisions.back().and_then(|decision| decision.conflict.clone());
        conflict.map(|conflict| conflict.reason).unwrap_or_default()
    }
}

fn rule(policy: &str) -> String {
    format!("[[xapp]]\nname = \"a\"\npriority = 2\n[[rule]]\nparameter = \"slice/dl\"\nhold_ms = 1000\n{policy}\n")
}

#[test]
fn priority_takes_over_and_keeps_as_long_as_it_renews() {
    let mut world = World::new(&rule("policy = \"priority\""));
    assert_eq!(world.set("b", 0, 1, 0.5), Got::Sent);
    assert_eq!(world.set("a", 10, 1, 0.6), Got::Sent);
    assert!(world.reason().contains("priority 2 is above 0"), "{}", world.reason());
    assert_eq!(world.set("b", 20, 1, 0.5), Got::Refused(CONFLICT));
    assert!(world.reason().contains("priority 0 is not above 2; held for 990 ms"), "{}", world.reason());
    assert_eq!(world.set("b", 20, 2, 0.5), Got::Sent, "another slice");
    assert_eq!(world.set("a", 900, 1, 0.6), Got::Sent);
    assert_eq!(world.set("b", 1500, 1, 0.5), Got::Refused(CONFLICT));
    assert_eq!(world.set("b", 1900, 1, 0.5), Got::Sent);
    assert_eq!(world.set("c", 1950, 1, 0.5), Got::Refused(CONFLICT), "an equal priority does not take over");
}

#[test]
fn first_has_the_parameter_for_the_hold_time_however_often_it_repeats() {
    let mut world = World::new(&rule("policy = \"first\""));
    assert_eq!(world.set("b", 0, 1, 0.5), Got::Sent);
    assert_eq!(world.set("b", 900, 1, 0.6), Got::Sent);
    assert_eq!(world.set("a", 999, 1, 0.5), Got::Refused(CONFLICT));
    assert_eq!(world.set("a", 1000, 1, 0.5), Got::Sent);
    assert_eq!(world.set("b", 1001, 1, 0.5), Got::Refused(CONFLICT));
}

#[test]
fn numbers_of_all_xapps_are_combined() {
    for (merge, expected) in [("min", 0.25), ("max", 0.75), ("mean", 0.5)] {
        let mut world = World::new(&rule(&format!("policy = \"merge\"\nmerge = \"{merge}\"")));
        assert_eq!(world.set("a", 0, 1, 0.25), Got::Sent);
        assert_eq!(world.set("b", 10, 1, 0.75), Got::Share(expected), "{merge}");
        assert_eq!(world.set("a", 20, 1, 0.25), Got::Share(expected), "{merge}: b's request still counts");
        assert_eq!(world.set("a", 1500, 1, 0.25), Got::Sent, "{merge}: b's time is over");
    }
    let mut world = World::new(&rule("policy = \"merge\"\nmerge = \"mean\""));
    assert_eq!(world.set("a", 0, 1, 0.25), Got::Sent);
    let rate = Parameters::Nvs(NvsParameters::Rate(Rate { required_mbps: 5.0, reference_mbps: 50.0 }));
    assert_eq!(world.control("b", 10, &slices(&[(1, rate)])), Got::Refused(CONFLICT));
    assert!(world.reason().contains("another unit"), "{}", world.reason());
}

#[test]
fn cooldown_also_holds_back_who_has_changed_it() {
    let mut world = World::new(&rule("policy = \"cooldown\""));
    assert_eq!(world.set("a", 0, 1, 0.5), Got::Sent);
    assert_eq!(world.set("a", 500, 1, 0.6), Got::Refused(CONFLICT));
    assert_eq!(world.set("b", 999, 1, 0.6), Got::Refused(CONFLICT));
    assert_eq!(world.set("b", 1000, 1, 0.6), Got::Sent);
}

#[test]
fn arbiter_decides_and_its_silence_is_the_default() {
    for (default, accepts) in [("refuse", false), ("accept", true)] {
        let mut world = World::new(&rule(&format!("policy = \"ask\"\ntimeout_ms = 100\ndefault = \"{default}\"")));
        assert_eq!(world.set("a", 0, 1, 0.5), Got::Sent);
        assert_eq!(world.set("b", 10, 1, 0.6), Got::Waits);
        assert_eq!(world.set("b", 20, 1, 0.7), Got::Waits);
        assert_eq!(world.state.questions.poll_timeout(), Some(at(110)));
        let number = world.state.questions.open()[0].number;
        assert_eq!(world.state.answer(number, true, at(50)), Some(()));
        assert_eq!(world.state.answer(number, true, at(50)), None, "it is answered");
        let released = world.state.questions.poll_release().unwrap();
        assert_eq!((released.refusal, released.content.1), (None, slices(&[(1, share(0.6))])));
        world.state.handle_timeout(at(119));
        assert_eq!(world.state.questions.poll_release(), None);
        world.state.handle_timeout(at(120));
        let released = world.state.questions.poll_release().unwrap();
        assert_eq!(released.refusal, (!accepts).then_some(NO_ANSWER));
        assert!(world.reason().contains("not answered in time"), "{}", world.reason());
    }
}

/// The consumer of an xApp's name.
fn consumer(xapp: &str) -> Consumer {
    Consumer(xapp.bytes().map(u32::from).sum())
}

impl World {
    fn offer(&mut self, xapp: &str) -> Result<(), RefusalCode> {
        self.state.set_arbiter(consumer(xapp), Some(&ConsumerIdentity::named(xapp)), true)
    }

    /// The questions that arbiters get now.
    fn asked(&mut self, ms: u64) -> Vec<(Consumer, u64)> {
        let next = || self.state.poll_question(at(ms)).map(|(consumer, asked)| (consumer, asked.question));
        std::iter::from_fn(next).collect()
    }
}

#[test]
fn question_waits_once_for_an_arbiter_that_comes_and_goes() {
    let mut world = World::new(&("arbiters = [\"judge\", \"deputy\"]\n".to_owned() + &rule("policy = \"ask\"")));
    assert_eq!(world.set("a", 0, 1, 0.5), Got::Sent);
    assert_eq!(world.set("b", 10, 1, 0.6), Got::Waits);
    for _ in 0..100 {
        world.offer("judge").unwrap();
        world.state.set_arbiter(consumer("judge"), None, false).unwrap();
    }
    world.offer("judge").unwrap();
    assert_eq!(world.state.questions.unsent(), 1);
    assert_eq!(world.asked(20), [(consumer("judge"), 2)]);
}

#[test]
fn first_arbiter_of_the_rules_is_asked_and_the_next_one_after_its_end() {
    let mut world = World::new(&("arbiters = [\"judge\", \"deputy\"]\n".to_owned() + &rule("policy = \"ask\"")));
    assert_eq!(world.offer("stranger"), Err(RefusalCode::NotAllowed));
    assert_eq!(world.set("a", 0, 1, 0.5), Got::Sent);
    assert_eq!(world.set("b", 10, 1, 0.6), Got::Waits);
    assert_eq!(world.asked(10), [], "no arbiter is there: REST only");
    world.offer("deputy").unwrap();
    assert_eq!(world.state.questions.poll_timeout(), Some(Time::default()), "at once");
    assert_eq!(world.asked(20), [(consumer("deputy"), 2)]);
    world.offer("judge").unwrap();
    assert_eq!(world.set("b", 30, 1, 0.7), Got::Waits);
    assert_eq!(world.asked(30), [(consumer("judge"), 3)]);
    assert_eq!(world.state.decide(consumer("deputy"), 3, true, at(40)), Err(RefusalCode::NotAllowed), "not asked");
    world.state.consumer_gone(consumer("judge"));
    assert_eq!(world.asked(50), [(consumer("deputy"), 3)]);
    assert_eq!(world.state.decide(consumer("judge"), 3, true, at(50)), Err(RefusalCode::NotAllowed), "it is gone");
    world.state.decide(consumer("deputy"), 3, false, at(60)).unwrap();
    assert!(world.reason().contains("the arbiter deputy refuses it"), "{}", world.reason());
    assert_eq!(world.state.decide(consumer("deputy"), 3, true, at(60)), Err(RefusalCode::UnknownQuestion), "twice");
    assert_eq!(world.state.questions.poll_release().unwrap().refusal, Some(CONFLICT));
    // the default is 500 ms
    assert_eq!(world.state.decide(consumer("deputy"), 2, true, at(510)), Err(RefusalCode::UnknownQuestion), "late");
    world.state.handle_timeout(at(510));
    assert_eq!(world.state.questions.poll_release().unwrap().refusal, Some(NO_ANSWER));
    assert_eq!(
        world.state.counters.answers.iter().map(|(how, count)| (*how, *count)).collect::<Vec<_>>(),
        [("dropped", 0), ("refused", 1), ("timeout", 1)]
    );
}

#[test]
fn arbiter_does_not_decide_on_its_own_control_and_not_without_the_rules() {
    let rules = |arbiters: &str| format!("arbiters = [{arbiters}]\n{}", rule("policy = \"ask\""));
    let mut world = World::new(&rules("\"judge\""));
    world.offer("judge").unwrap();
    assert_eq!(world.set("a", 0, 1, 0.5), Got::Sent);
    assert_eq!(world.set("judge", 10, 1, 0.6), Got::Waits);
    assert_eq!(world.asked(10), []);
    assert_eq!(world.set("b", 20, 1, 0.6), Got::Waits);
    assert_eq!(world.asked(20), [(consumer("judge"), 3)]);
    world.state.set_rules(ConflictRules::parse(&rules("\"other\"")).unwrap());
    assert_eq!(world.state.decide(consumer("judge"), 3, true, at(30)), Err(RefusalCode::NotAllowed));
    assert_eq!(world.state.answer(3, true, at(30)), Some(()), "over REST");
    // it takes its offer back
    world.state.set_rules(ConflictRules::parse(&rules("\"judge\"")).unwrap());
    world.offer("judge").unwrap();
    world.state.set_arbiter(consumer("judge"), None, false).unwrap();
    assert_eq!(world.set("c", 40, 1, 0.6), Got::Waits);
    assert_eq!(world.asked(40), []);
}

#[test]
fn question_has_the_control_and_bounded_texts() {
    let mut world = World::new(&("arbiters = [\"judge\"]\n".to_owned() + &rule("policy = \"ask\"")));
    world.offer("judge").unwrap();
    let many: Vec<_> = (0..200).map(|id| (id, share(0.001))).collect();
    assert_eq!(world.set("a", 0, 7, 0.5), Got::Sent);
    assert_eq!(world.control("b", 100, &slices(&many)), Got::Waits);
    let (_, asked) = world.state.poll_question(at(250)).unwrap();
    assert_eq!((&*asked.xapp, &*asked.with, &*asked.parameter), ("b", "a", "slice/dl of slice 7"));
    assert_eq!((asked.left_ms, asked.settings.len(), asked.node), (350, 1024, NodeId(1)));
    assert_eq!(asked.message, slices(&many));
}

#[test]
fn rules_are_replaced_while_parameters_are_held() {
    let kpi = "[[kpi]]\nname = \"delay\"\nparameters = [\"slice/dl\", \"tc\"]\npolicy = \"first\"\n";
    let mut world = World::new(&(rule("policy = \"first\"") + kpi));
    assert_eq!(world.set("a", 0, 1, 0.5), Got::Sent);
    assert_eq!(world.state.holders.count(at(1)), 2, "the parameter and the KPI");
    assert!(!world.state.set_rules(ConflictRules::parse(&(rule("policy = \"cooldown\"") + kpi)).unwrap()));
    assert_eq!(world.set("b", 10, 1, 0.5), Got::Refused(CONFLICT), "it is held by the former rule");
    assert!(world.state.set_rules(ConflictRules::parse(&rule("policy = \"first\"")).unwrap()));
    assert_eq!(world.state.holders.count(at(20)), 1, "the KPI is none any more");
    assert_eq!(world.set("b", 20, 1, 0.5), Got::Refused(CONFLICT));
    let counted: u64 = world.state.counters.conflicts.values().sum();
    assert_eq!((counted, world.state.counters.conflicts[&["direct", "cooldown", "refused"]]), (2, 1));
}

#[test]
fn xapp_that_floods_the_arbiter_leaves_room_for_another() {
    let mut world = World::new(&rule("policy = \"ask\""));
    assert_eq!(world.set("a", 0, 1, 0.5), Got::Sent);
    let mut asked = 0;
    while world.set("b", 10, 1, 0.6) == Got::Waits {
        asked += 1;
    }
    assert_eq!(asked, 32);
    assert_eq!(world.set("c", 10, 1, 0.6), Got::Waits);
    world.state.consumer_gone(Consumer(u32::from(b'b')));
    assert_eq!(world.state.questions.open().len(), 1);
    world.state.node_lost(NodeId(1), at(20));
    assert_eq!(world.state.questions.poll_release().unwrap().refusal, Some(NODE_LOST));
}

#[test]
fn control_that_fails_does_not_hold_the_parameter() {
    let mut world = World::new(&rule("policy = \"first\""));
    assert_eq!(world.set("a", 0, 1, 0.5), Got::Sent);
    let failed = ControlOutcome::Failed { cause: CONFLICT, outcome: None };
    world.state.control_ended(Consumer(u32::from(b'a')), Ticket(1), &failed);
    assert_eq!(world.set("b", 10, 1, 0.5), Got::Sent);
    world.state.control_ended(Consumer(u32::from(b'b')), Ticket(2), &ControlOutcome::Acknowledged(None));
    assert_eq!(world.set("a", 20, 1, 0.5), Got::Refused(CONFLICT));
    assert!(world.state.pending.is_empty());
}

#[test]
fn parameters_that_move_one_kpi_are_an_indirect_conflict() {
    let kpi = "[[kpi]]\nname = \"delay\"\nparameters = [\"slice/dl\", \"slice/association\"]\npolicy = \"first\"";
    let mut world = World::new(kpi);
    assert_eq!(world.set("a", 0, 1, 0.5), Got::Sent);
    assert_eq!(world.set("b", 10, 2, 0.5), Got::Sent, "the same parameter of another slice");
    let mut message = Vec::new();
    let ue = e2sm::slice::UeSlices { dl_id: 1, ul_id: 1, rnti: 7 };
    ControlMessage::Associate([ue].into_iter().collect()).encode(Wire::Per, &mut message).unwrap();
    assert_eq!(world.control("c", 20, &message), Got::Refused(CONFLICT));
    let conflict = world.state.decisions.back().unwrap().conflict.clone().unwrap();
    assert_eq!((conflict.kind, &*conflict.parameter), (Kind::Indirect, "kpi/delay"));
    assert_eq!(world.control("b", 30, &message), Got::Sent, "its own parameter");
}

#[test]
fn octets_that_cannot_be_read_are_refused_unless_configured_otherwise() {
    let mut world = World::new(&rule("policy = \"first\""));
    assert_eq!(world.control("a", 0, &[0xff; 9]), Got::Refused(INVALID));
    assert!(world.reason().contains("cannot be read"), "{}", world.reason());
    assert_eq!(world.control("a", 0, &vec![0; 100_000]), Got::Refused(INVALID));
    let many: Vec<_> = (0..300).map(|id| (id, share(0.001))).collect();
    assert_eq!(world.control("a", 0, &slices(&many)), Got::Refused(INVALID));
    let mut world = World::new(&("unreadable = \"pass\"\n".to_owned() + &rule("policy = \"first\"")));
    assert_eq!(world.control("a", 0, &[0xff; 9]), Got::Sent);
    // no rule is for this model
    let mut world = World::new("[[rule]]\nparameter = \"rc\"\npolicy = \"first\"");
    assert_eq!(world.control("a", 0, &[0xff; 9]), Got::Sent);
}

#[test]
fn xapp_that_takes_all_parameters_leaves_room() {
    let mut world = World::new(&rule("policy = \"first\""));
    let (mut first, mut refused) = (0, 0);
    while refused == 0 {
        let all: Vec<_> = (first..first + 200).map(|id| (id, share(0.001))).collect();
        match world.control("a", 0, &slices(&all)) {
            Got::Sent => first += 200,
            got => {
                assert_eq!(got, Got::Refused(LIMIT));
                refused += 1;
            }
        }
    }
    assert_eq!(world.set("b", 0, 1_000_000, 0.5), Got::Sent);
    assert_eq!(world.set("a", 1000, 2_000_000, 0.5), Got::Sent, "its time is over");
    assert!(world.state.decisions.len() <= MAX_DECISIONS);
}

mod protected_kpis;
mod ue_names;

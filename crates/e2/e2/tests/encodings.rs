//! Agent and controller in each encoding: setup, subscription, indication, and undecodable PDUs.

use std::time::Duration;

use e2::{
    Action, Agent, AgentConfig, AgentEvent, AssocId, Consumer, Controller, ControllerConfig, Event, Function, Notice,
    RequestEvent, Routed, SubscriptionSpec, Ticket, Time,
};
use e2ap::{
    Codec, GlobalE2NodeId, GnbId, PlmnIdentity, RanFunctionId, RanFunctionRevision, RicActionId, RicActionType,
    RicIndicationType, Version,
};
use per::Gather;

const ASSOC: AssocId = AssocId(1);

struct Pair {
    now: Time,
    agent: Agent,
    ric: Controller,
}

impl Pair {
    fn new(node: Codec, ric: Codec, version: Version) -> Pair {
        let id = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xE00, 28));
        let function = Function {
            id: RanFunctionId(2),
            revision: RanFunctionRevision(1),
            oid: "1.3.6.1".into(),
            definition: vec![0x20; 40],
        };
        let mut config = AgentConfig::new(id, vec![function]);
        (config.version, config.codec) = (version, node);
        let (now, agent) = (Time::from_nanos(0), Agent::new(config));
        let mut pair = Pair { now, agent, ric: Controller::new(ControllerConfig::default()) };
        assert_eq!(pair.agent.poll_event(), Some(AgentEvent::Connect));
        pair.ric.handle_open_in(now, ASSOC, ric);
        pair.agent.handle_open(now);
        pair.settle();
        pair
    }

    /// Delivers PDUs until neither side sends.
    fn settle(&mut self) {
        loop {
            let mut pdu = Vec::new();
            if self.agent.poll_transmit(&mut pdu) {
                assert!(matches!(self.ric.handle_pdu(self.now, ASSOC, &pdu), Routed::Done));
            } else if self.ric.poll_transmit(&mut pdu).is_some() {
                self.agent.handle_pdu(self.now, &pdu);
            } else {
                return;
            }
        }
    }
}

#[test]
fn subscription_delivers_indications_in_every_encoding() {
    for codec in Codec::ALL {
        for version in Version::ALL {
            let mut pair = Pair::new(*codec, *codec, version);
            assert!(pair.agent.is_up(), "{codec} {version}");
            let Some(Event::NodeUp(node)) = pair.ric.poll_event() else { panic!("{codec}: the node is not up") };
            let known = pair.ric.node(node).unwrap();
            assert_eq!((known.codec, known.functions[0].definition.len()), (*codec, 40));
            let _ = pair.agent.poll_event();

            let action = Action { id: RicActionId(1), kind: RicActionType::Report, definition: None, subsequent: None };
            let spec = SubscriptionSpec { event_trigger: vec![1, 2], actions: vec![action] };
            pair.ric.subscribe(pair.now, Consumer(1), Ticket(1), node, RanFunctionId(2), spec).unwrap();
            pair.settle();
            let Some(AgentEvent::Subscribe(request)) = pair.agent.poll_event() else {
                panic!("{codec}: no subscription at the agent")
            };
            assert_eq!(request.event_trigger, [1, 2]);
            pair.agent.admit(request.request_id, &[RicActionId(1)], &[]).unwrap();
            pair.settle();
            assert!(
                matches!(pair.ric.poll_event(), Some(Event::Request { event: RequestEvent::Subscribed { .. }, .. })),
                "{codec} {version}"
            );

            for size in [0, 1500, 40_000] {
                let (mut pdu, payload) = (Vec::new(), vec![7; size]);
                let kind = RicIndicationType::Report;
                pair.agent
                    .write_indication(request.request_id, RicActionId(1), kind, b"head", &payload, &mut pdu)
                    .unwrap();
                let Routed::Indication(indication) = pair.ric.handle_pdu(pair.now, ASSOC, &pdu) else {
                    panic!("{codec} {version}: an indication of {size} octets is not routed")
                };
                assert_eq!((indication.codec, indication.pdu), (*codec, &pdu[..]));
                let gather = Gather::new();
                let message = indication.decode(&gather).unwrap();
                assert_eq!(message.message.to_cow(), &payload[..]);
                if let Some((header, message)) = indication.payload {
                    assert_eq!((header, message), (&b"head"[..], &payload[..]));
                }
            }
        }
    }
}

/// The ends of a link are configured with different encodings: the RIC answers in its own, logs it, and closes the link after
/// the setup timeout.
#[test]
fn mismatched_encodings_do_not_connect() {
    let mut pair = Pair::new(Codec::FLAT, Codec::Per, Version::V2_03);
    assert!(!pair.agent.is_up());
    let notice = pair.ric.poll_event();
    assert!(
        matches!(notice, Some(Event::Notice { notice: Notice::Malformed(_) | Notice::Unreadable(_), .. })),
        "{notice:?}"
    );
    pair.now = pair.now + Duration::from_secs(60);
    pair.ric.handle_timeout(pair.now);
    assert!(pair.ric.poll_close().is_some());
    assert_eq!(pair.ric.nodes().count(), 0);
}

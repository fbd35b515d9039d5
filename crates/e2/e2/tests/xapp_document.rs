//! Compares the example of `docs/xapp-protocol.md` with the encoded messages.

use std::path::Path;

use e2::xapp::{
    Envelope, FunctionInfo, NodeInfo, OLDEST_PROTOCOL_VERSION, PROTOCOL_VERSION, ProtocolError, RicMessage, XappMessage,
};
use e2::{
    Action, ActionChange, AddedAction, ChangeResult, ControlOutcome, ModifyOutcome, NodeId, QueryOutcome, RequestEvent,
    SubscriptionChange, SubscriptionEnd, SubscriptionId, SubscriptionSpec, Ticket,
};
use e2ap::{
    Cause, CauseRicRequest, GlobalE2NodeId, GlobalRicId, GnbId, PlmnIdentity, RanFunctionId, RanFunctionRevision,
    RicActionId, RicActionType, RicSubsequentAction, RicSubsequentActionType, RicTimeToWait, Version,
};

const PLMN: PlmnIdentity = PlmnIdentity::from_codes(1, 1, 2);

fn change() -> SubscriptionChange {
    let changed =
        ActionChange { id: RicActionId(1), definition: Some(vec![0xAD]), execution_order: Some(3), subsequent: None };
    let action = Action { id: RicActionId(2), kind: RicActionType::Report, definition: None, subsequent: None };
    SubscriptionChange {
        event_trigger: Some(vec![0x07, 0xD0]),
        remove: vec![],
        modify: vec![changed],
        add: vec![AddedAction { action, execution_order: 4 }],
    }
}

/// A message of either side.
#[derive(Debug, PartialEq)]
enum Message<'a> {
    Xapp(XappMessage),
    Ric(RicMessage<'a>),
}

impl From<XappMessage> for Message<'_> {
    fn from(message: XappMessage) -> Self {
        Message::Xapp(message)
    }
}

impl<'a> From<RicMessage<'a>> for Message<'a> {
    fn from(message: RicMessage<'a>) -> Self {
        Message::Ric(message)
    }
}

impl<'a> Message<'a> {
    fn encode(&self) -> Vec<u8> {
        let mut octets = Vec::new();
        match self {
            Message::Xapp(message) => message.encode(&mut octets),
            Message::Ric(message) => message.encode(&mut octets),
        }
        octets
    }

    /// Decodes a message; types from 0x80 are sent by the RIC.
    fn decode(octets: &'a [u8]) -> Result<Self, ProtocolError> {
        match octets.first() {
            Some(0x80..) => RicMessage::decode(octets).map(Message::Ric),
            _ => XappMessage::decode(octets).map(Message::Xapp),
        }
    }
}

macro_rules! messages {
    ($(($name:literal, $message:expr $(,)?)),* $(,)?) => { vec![$(($name, Message::from($message))),*] };
}

/// Returns the messages of the example in the order of the document.
fn example() -> Vec<(&'static str, Message<'static>)> {
    let (node, function) = (NodeId(1), RanFunctionId(2));
    let action =
        Action { id: RicActionId(1), kind: RicActionType::Report, definition: Some(vec![0xAC]), subsequent: None };
    let spec = SubscriptionSpec { event_trigger: vec![0x03, 0xE8], actions: vec![action] };
    let subscription = SubscriptionId(5);
    messages![
        (
            "Hello",
            XappMessage::Hello { lowest: OLDEST_PROTOCOL_VERSION, highest: PROTOCOL_VERSION, name: "demo".into() }
        ),
        ("Welcome", RicMessage::Welcome { version: PROTOCOL_VERSION, ric_id: GlobalRicId::new(PLMN, 1) }),
        (
            "NodeUp",
            RicMessage::NodeUp(NodeInfo {
                id: node,
                global_id: GlobalE2NodeId::gnb(PLMN, GnbId::new(0xE00, 28)),
                version: Version::V2_03,
                encoding: "per".into(),
                functions: vec![FunctionInfo {
                    id: function,
                    revision: RanFunctionRevision(1),
                    oid: "1.3.6".into(),
                    definition: vec![0xDE, 0xF0],
                    model_revision: None,
                }],
            }),
        ),
        ("Subscribe", XappMessage::Subscribe { ticket: Ticket(7), node, function, order: spec.into() }),
        (
            "Subscribed",
            RicMessage::Request(RequestEvent::Subscribed {
                ticket: Ticket(7),
                subscription,
                admitted: vec![RicActionId(1)],
                not_admitted: vec![],
            }),
        ),
        ("Envelope", RicMessage::Envelope(Envelope { node, subscription, pdu: &[0x00, 0x05, 0x40] })),
        (
            "Control",
            XappMessage::Control {
                ticket: Ticket(8),
                node,
                function,
                ack: true,
                call_process_id: None,
                header: vec![0x01],
                message: vec![0x02, 0x03],
            },
        ),
        (
            "Controlled",
            RicMessage::Request(RequestEvent::Controlled {
                ticket: Ticket(8),
                outcome: ControlOutcome::Acknowledged(None)
            })
        ),
        (
            "Query",
            XappMessage::Query { ticket: Ticket(9), node, function, header: vec![0x01], definition: vec![0x0A, 0x0B] },
        ),
        (
            "Queried",
            RicMessage::Request(RequestEvent::Queried {
                ticket: Ticket(9),
                outcome: QueryOutcome::Answered(vec![0x2A].into())
            })
        ),
        ("Modify", XappMessage::Modify { ticket: Ticket(10), subscription, change: change() }),
        (
            "Modified",
            RicMessage::Request(RequestEvent::Modified {
                ticket: Ticket(10),
                subscription,
                outcome: ModifyOutcome::Done(ChangeResult {
                    modified: vec![RicActionId(1)],
                    not_added: vec![(RicActionId(2), Cause::RicRequest(CauseRicRequest::ExcessiveActions))],
                    ..ChangeResult::default()
                }),
            }),
        ),
        (
            "ChangeRequired",
            RicMessage::Request(RequestEvent::ChangeRequired {
                subscription,
                remove: vec![],
                modify: vec![(RicActionId(1), RicTimeToWait::W1s)],
            }),
        ),
        ("AnswerChange", XappMessage::AnswerChange { subscription, refused: vec![] }),
        (
            "SubscriptionChanged",
            RicMessage::Request(RequestEvent::SubscriptionChanged {
                subscription,
                removed: vec![],
                modified: vec![(RicActionId(1), RicTimeToWait::W1s)],
            }),
        ),
        (
            "NodeChanged",
            RicMessage::NodeChanged(NodeInfo {
                id: node,
                global_id: GlobalE2NodeId::gnb(PLMN, GnbId::new(0xE00, 28)),
                version: Version::V3_01,
                encoding: "per".into(),
                functions: vec![],
            }),
        ),
        ("SubscriptionSuspended", RicMessage::Request(RequestEvent::SubscriptionSuspended(subscription))),
        (
            "SubscriptionResumed",
            RicMessage::Request(RequestEvent::SubscriptionResumed {
                subscription,
                node: NodeId(2),
                admitted: vec![RicActionId(1)],
                not_admitted: vec![],
            }),
        ),
        ("Unsubscribe", XappMessage::Unsubscribe { subscription }),
        (
            "SubscriptionEnded",
            RicMessage::Request(RequestEvent::SubscriptionEnded { subscription, end: SubscriptionEnd::Deleted })
        ),
        ("Dropped", RicMessage::Dropped { reports: 300 }),
        ("ToService", XappMessage::Service { kind: 20012, document: b"{}".to_vec() }),
        ("FromService", RicMessage::Service { kind: 20010, document: b"{}" }),
        ("NodeLost", RicMessage::NodeLost(node)),
    ]
}

/// Parses the example: each message has a name and hexadecimal octets on one or more lines.
fn documented(document: &str) -> Vec<(String, Vec<u8>)> {
    let block = document.split("```hex\n").nth(1).expect("the document has a hex block").split("```").next().unwrap();
    let mut messages: Vec<(String, Vec<u8>)> = Vec::new();
    for line in block.lines() {
        let (name, rest) = line.split_once(':').map_or((None, line), |(name, rest)| (Some(name.trim()), rest));
        if let Some(name) = name {
            messages.push((name.to_owned(), Vec::new()));
        }
        let octets =
            rest.split_whitespace().map(|digits| u8::from_str_radix(digits, 16).expect("two hexadecimal digits"));
        messages.last_mut().expect("the first line has a name").1.extend(octets);
    }
    messages
}

#[test]
fn documented_example_matches_implementation() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/xapp-protocol.md");
    let documented = documented(&std::fs::read_to_string(path).unwrap());
    let example = example();
    assert_eq!(documented.len(), example.len());
    for ((name, octets), (wanted, message)) in documented.iter().zip(&example) {
        let real = message.encode();
        assert_eq!(name, wanted);
        assert_eq!(octets, &real, "{name}: {real:02x?}");
        assert_eq!(Message::decode(octets).as_ref(), Ok(message), "{name}");
    }
}

#[test]
fn truncated_or_extended_message_is_rejected() {
    for (name, message) in example() {
        let mut octets = message.encode();
        for end in 0..octets.len() {
            assert!(Message::decode(&octets[..end]).is_err(), "{name} cut to {end} octets");
        }
        match &message {
            Message::Xapp(_) => assert!(RicMessage::decode(&octets).is_err(), "{name} decoded as a message of the RIC"),
            Message::Ric(_) => assert!(XappMessage::decode(&octets).is_err(), "{name} decoded as a message of an xApp"),
        }
        octets.push(0);
        assert!(Message::decode(&octets).is_err(), "{name} with an extra octet");
    }
}

#[test]
fn time_to_wait_of_every_version_round_trips() {
    for kind in [RicSubsequentActionType::Continue, RicSubsequentActionType::Wait] {
        for time_to_wait in [RicTimeToWait::Zero, RicTimeToWait::W1ms, RicTimeToWait::W60s] {
            let action = Action {
                id: RicActionId(1),
                kind: RicActionType::Insert,
                definition: None,
                subsequent: Some(RicSubsequentAction { kind, time_to_wait }),
            };
            let spec = SubscriptionSpec { event_trigger: vec![], actions: vec![action] };
            let message = XappMessage::Subscribe {
                ticket: Ticket(1),
                node: NodeId(1),
                function: RanFunctionId(2),
                order: spec.into(),
            };
            let mut octets = Vec::new();
            message.encode(&mut octets);
            assert_eq!(XappMessage::decode(&octets).unwrap(), message);
        }
    }
}

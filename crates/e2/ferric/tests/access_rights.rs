//! Access rules by TLS certificate, against a real server.
#![cfg(feature = "tls")]

mod common;

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::function::{Reporter, impatient, poll_agents_until};
use common::peer::{FUNCTION, OID, Peer, VERSION, decoded, node_id, report_spec, setup_request};
use common::session::{node_id_of, poll_until};
use common::test_server::{Ric, free_ports};
use common::{PATIENCE, eventually};
use e2ap::e42::{self, E42ControlRequest, E42Pdu, E42SetupRequest, E42SubscriptionRequest, E42Version, XappId};
use e2ap::{Cause, CauseMisc, Pdu, PlmnIdentity, RanFunctionId, RanFunctionRevision, RicActionType};
use e2sm::common::{Cgi, GnbCuUeF1apId, NrCgi, RanFunctionName, UeId, UeIdGnbDu};
use e2sm::rc::{self, Control, ControlAction, Drx, Handover};
use ferric::agent::{AgentLoop, AgentLoopConfig};
use ferric::e2::{
    AddedAction, FunctionName, Grant, GrantLimits, NodeId, Selection, SubscriptionChange, SubscriptionId,
};
use ferric::e2::{ControlOutcome, ModifyOutcome, QueryOutcome, RefusalCode, SubscribeError, XappRights};
use ferric::link::{Address, Class, Config, Error, Events, Interest, Link, Poll, Scratch, StreamId, Tls, TlsFiles};
use ferric::server::{E42Config, NodeEntry, Rights, ServerConfig, XappEntry};
use ferric::xapp::{RequestEvent, Xapp, XappConfig, XappEvent};
use testkit::certificates::Authority;
use testkit::certificates::rcgen::{CertificateParams, date_time_ymd};

/// Issues a certificate for `name` and loads it.
fn issue(authority: &Authority, name: &str, adapt: impl FnOnce(&mut CertificateParams)) -> Tls {
    let files = authority.issue(&[name], adapt);
    Tls::load(&TlsFiles { ca: files.ca, certificate: files.certificate, key: files.key }).unwrap()
}

/// A RIC with TLS, and its CA.
struct Secured {
    authority: Authority,
    ric: Ric,
}

fn secured(rights: Rights) -> Secured {
    secured_with(rights, |_| ())
}

fn secured_with(rights: Rights, change: impl FnOnce(&mut ServerConfig)) -> Secured {
    let authority = Authority::new();
    let any_port: Address = "tls://127.0.0.1:0".parse().unwrap();
    let mut config = ServerConfig { e2: vec![any_port.clone().into()], xapp: Some(any_port), rights, ..free_ports() };
    config.link.tls = Some(issue(&authority, "127.0.0.1", |_| ()));
    change(&mut config);
    Secured { ric: Ric::start(config), authority }
}

impl Secured {
    fn tls(&self, name: &str) -> Tls {
        issue(&self.authority, name, |_| ())
    }

    fn node(&self, name: &str) -> Node {
        Node::connect(&self.ric.e2[0], self.tls(name))
    }

    fn xapp(&self, name: &str) -> Result<Xapp, ferric::Error> {
        let mut config = XappConfig::default();
        config.link.tls = Some(self.tls(name));
        Xapp::connect(&self.ric.xapp, name, config)
    }
}

/// A node driven by the test.
struct Node {
    link: Link,
    poll: Poll,
    scratch: Scratch,
}

impl Node {
    fn connect(address: &Address, tls: Tls) -> Node {
        let link = Link::connect(address, &Config { tls: Some(tls), ..Config::default() }).unwrap();
        let poll = Poll::new().unwrap();
        poll.add(&link, 0, Interest::READ_WRITE).unwrap();
        Node { link, poll, scratch: Scratch::new() }
    }

    fn set_up(&mut self, number: u32) {
        self.link.send(StreamId(0), &[&setup_request(number, VERSION)], Class::Keep).unwrap();
    }

    /// Returns the next PDU; an error once the RIC has closed.
    fn receive(&mut self) -> Result<Pdu<'static>, Error> {
        self.receive_bytes().map(|pdu| decoded(&pdu))
    }

    fn receive_bytes(&mut self) -> Result<Vec<u8>, Error> {
        let deadline = Instant::now() + PATIENCE;
        let mut got = None;
        while got.is_none() {
            assert!(Instant::now() < deadline, "no PDU arrives");
            self.link.flush()?;
            let interest = if self.link.wants_write() { Interest::READ_WRITE } else { Interest::READ };
            self.poll.modify(&self.link, 0, interest).unwrap();
            self.poll.wait(&mut Events::new(), Some(Duration::from_millis(20))).unwrap();
            self.link.receive(&mut self.scratch, 1, &mut |_, pdu| got = Some(pdu.to_vec()))?;
        }
        Ok(got.unwrap())
    }

    fn is_accepted(&mut self) {
        assert!(matches!(self.receive(), Ok(Pdu::E2SetupResponse(_))));
    }

    fn is_refused(&mut self) {
        match self.receive() {
            Ok(Pdu::E2SetupFailure(failure)) => {
                assert_eq!(failure.cause, Some(Cause::Misc(CauseMisc::OmIntervention)));
                assert!(failure.time_to_wait.is_some());
            }
            other => panic!("{other:?}"),
        }
    }

    fn is_closed(&mut self) {
        let error = self.receive().unwrap_err();
        assert!(matches!(error, Error::Closed | Error::Lost(_)), "{error:?}");
    }
}

fn some<const N: usize>(names: [&str; N]) -> Selection<String> {
    names.into_iter().map(str::to_owned).collect()
}

fn id(number: u32) -> String {
    node_id(number).to_string()
}

fn for_nodes(entries: &[(&str, Selection<String>)]) -> Rights {
    let entry = |(certificate, node_ids): &(&str, Selection<String>)| NodeEntry {
        certificate: (*certificate).to_owned(),
        node_ids: node_ids.clone(),
    };
    Rights { nodes: Some(entries.iter().map(entry).collect()), xapps: None }
}

#[test]
fn node_may_use_only_the_ids_of_its_rule() {
    let server = secured(for_nodes(&[("gnb1.example", some([&id(1), &id(2)])), ("any.example", Selection::All)]));
    let mut node = server.node("gnb1.example");
    node.set_up(3);
    node.is_refused();
    // the connection stays open: the node may set up as itself, on the same association
    node.set_up(1);
    node.is_accepted();
    node.set_up(2);
    node.is_accepted();
    node.set_up(3);
    node.is_refused();
    let mut any = server.node("any.example");
    any.set_up(77);
    any.is_accepted();
    // a certificate of the CA without a rule
    server.node("stranger.example").is_closed();
}

#[test]
fn node_without_certificate_is_rejected_if_there_are_rules() {
    let plain: Address = "tcp://127.0.0.1:0".parse().unwrap();
    let rights = for_nodes(&[("gnb1.example", Selection::All)]);
    let server = secured_with(rights, |config| config.e2.push(plain.clone().into()));
    let mut peer = Peer::connect(&server.ric.e2[1]);
    peer.send(&setup_request(1, VERSION));
    assert!(peer.expect_closed().is_empty());
    // a peer without TLS is not served either
    let Address::Tls { port, .. } = server.ric.e2[0] else { unreachable!() };
    let mut peer = Peer::of(TcpStream::connect(("127.0.0.1", port)).unwrap());
    peer.send(&setup_request(1, VERSION));
    while peer.stream.peek(&mut [0]).is_ok_and(|octets| octets > 0) {
        // the alert with the reason
        std::io::Read::read(&mut peer.stream, &mut [0; 64]).unwrap();
    }
    let mut node = server.node("gnb1.example");
    node.set_up(1);
    node.is_accepted();
}

#[test]
fn node_is_taken_over_only_by_the_same_identity() {
    // without rules, certificates alone count
    let plain: Address = "tcp://127.0.0.1:0".parse().unwrap();
    let server = secured_with(Rights::default(), |config| config.e2.push(plain.into()));
    let mut holder = server.node("gnb1.example");
    holder.set_up(1);
    holder.is_accepted();
    let mut thief = server.node("gnb2.example");
    thief.set_up(1);
    thief.is_refused();
    let mut anonymous = Peer::connect(&server.ric.e2[1]);
    anonymous.send(&setup_request(1, VERSION));
    assert!(matches!(anonymous.receive_pdu(), Pdu::E2SetupFailure(_)));
    // the second node has another identity
    thief.set_up(2);
    thief.is_accepted();
    // another certificate with the same name, as after a renewal, has the same identity
    let mut same = server.node("gnb1.example");
    same.set_up(1);
    same.is_accepted();
    holder.is_closed();
    // a node without an identity may be taken over by any peer, as without TLS
    let mut plain = Peer::connect(&server.ric.e2[1]);
    plain.set_up(9);
    let mut secure = server.node("gnb9.example");
    secure.set_up(9);
    secure.is_accepted();
    // a peer that only names the node cannot join as another of its associations
    let mut other = Peer::connect(&server.ric.e2[1]);
    other.send_pdu(e2ap::E2NodeConfigurationUpdate {
        transaction_id: Some(e2ap::TransactionId(1)),
        global_e2_node_id: Some(node_id(9)),
        component_config_update_v1: None,
        component_config_addition: None,
        component_config_update: None,
        component_config_removal: None,
        tnl_association_removal: None,
    });
    match other.receive_pdu() {
        Pdu::E2NodeConfigurationUpdateFailure(failure) => {
            assert_eq!(failure.cause, Some(Cause::Misc(CauseMisc::OmIntervention)));
        }
        other => panic!("{other:?}"),
    }
    assert!(other.expect_closed().is_empty());
    assert!(plain.expect_closed().is_empty());
}

fn grant(nodes: Selection<String>, functions: Selection<FunctionName>) -> Grant {
    Grant::new(nodes, functions)
}

fn for_xapps(entries: Vec<(&str, XappRights)>) -> Rights {
    let entry = |(certificate, rights): (&str, XappRights)| XappEntry {
        certificate: certificate.into(),
        rights: Arc::new(rights),
    };
    Rights { nodes: None, xapps: Some(entries.into_iter().map(entry).collect()) }
}

/// The result of a subscription, which the node answers if the request reaches it.
fn outcome(xapp: &mut Xapp) -> Result<SubscriptionId, SubscribeError> {
    poll_until(xapp, |event| match event {
        XappEvent::Request(RequestEvent::Subscribed { subscription, .. }) => Some(Ok(subscription)),
        XappEvent::Request(RequestEvent::SubscriptionFailed { error: failure, .. }) => Some(Err(failure)),
        _ => None,
    })
}

#[test]
fn xapp_may_read_and_control_only_what_its_rule_grants() {
    let by_oid: Selection<FunctionName> = [FunctionName::Oid(OID.into())].into_iter().collect();
    let by_id: Selection<FunctionName> = [FunctionName::Id(FUNCTION)].into_iter().collect();
    let other_function: Selection<FunctionName> = [FunctionName::Id(RanFunctionId(99))].into_iter().collect();
    let reader = XappRights { read: vec![grant(some([&id(1)]), by_oid)], control: vec![] };
    let controller = XappRights {
        read: vec![grant(Selection::All, other_function), grant(Selection::All, by_id.clone())],
        control: vec![grant(some([&id(2)]), by_id)],
    };
    let rights = for_xapps(vec![
        ("reader.example", reader),
        ("controller.example", controller),
        ("idle.example", XappRights::default()),
    ]);
    let plain: Address = "tcp://127.0.0.1:0".parse().unwrap();
    let server = secured_with(rights, |config| config.e2.push(plain.into()));
    let mut nodes: Vec<Peer> = (1..=2)
        .map(|number| {
            let mut node = Peer::connect(&server.ric.e2[1]);
            node.set_up(number);
            node
        })
        .collect();
    let refused = Err(SubscribeError::Misuse(RefusalCode::NotAllowed));
    for (name, may_read, may_control) in [
        ("reader.example", [true, false], [false, false]),
        ("controller.example", [true, true], [false, true]),
        ("idle.example", [false, false], [false, false]),
    ] {
        let mut xapp = server.xapp(name).unwrap();
        for (at, node) in nodes.iter_mut().enumerate() {
            let number = at as u32 + 1;
            // it may guess the id of a function that was not announced
            let is_seen = may_read[at] || may_control[at];
            let named = if is_seen { node_id_of(&mut xapp, number) } else { NodeId(number) };
            xapp.commands().subscribe(named, FUNCTION, report_spec(name.as_bytes()));
            if may_read[at] {
                xapp.poll(Some(Duration::ZERO), |_, _| ()).unwrap();
                node.admit();
                let subscription = outcome(&mut xapp).unwrap();
                // nor can a modification add an INSERT to what it may only read
                let mut action = report_spec(b"").actions.remove(0);
                action.kind = RicActionType::Policy;
                let add = vec![AddedAction { action, execution_order: 0 }];
                xapp.commands().modify(subscription, SubscriptionChange { add, ..SubscriptionChange::default() });
                let changed = poll_until(&mut xapp, |event| match event {
                    XappEvent::Request(RequestEvent::Modified { outcome: result, .. }) => Some(result),
                    _ => None,
                });
                let code = if may_control[at] { RefusalCode::NotInVersion } else { RefusalCode::NotAllowed };
                assert_eq!(changed, ModifyOutcome::Misuse(code), "{name} {number}");
            } else {
                assert_eq!(outcome(&mut xapp), refused, "{name} {number}");
            }
            // a query reads, too
            xapp.commands().query(named, FUNCTION, b"header", b"definition");
            let query_outcome = poll_until(&mut xapp, |event| match event {
                XappEvent::Request(RequestEvent::Queried { outcome: result, .. }) => Some(result),
                _ => None,
            });
            // these nodes use a version without queries
            let code = if may_read[at] { RefusalCode::NotInVersion } else { RefusalCode::NotAllowed };
            assert_eq!(query_outcome, QueryOutcome::Misuse(code), "{name} {number}");
            // INSERT and POLICY need more than `read`
            let mut policy = report_spec(name.as_bytes());
            policy.actions[0].kind = RicActionType::Policy;
            xapp.commands().subscribe(named, FUNCTION, policy);
            if may_read[at] && may_control[at] {
                xapp.poll(Some(Duration::ZERO), |_, _| ()).unwrap();
                node.admit();
                outcome(&mut xapp).unwrap();
            } else {
                assert_eq!(outcome(&mut xapp), refused, "{name} {number}");
            }
            xapp.commands().control(named, FUNCTION, b"header", b"message");
            if may_control[at] {
                xapp.poll(Some(Duration::ZERO), |_, _| ()).unwrap();
                assert!(matches!(node.receive_pdu(), Pdu::RicControlRequest(_)), "{name} {number}");
            } else {
                let result = poll_until(&mut xapp, |event| match event {
                    XappEvent::Request(RequestEvent::Controlled { outcome: result, .. }) => Some(result),
                    _ => None,
                });
                assert_eq!(result, ControlOutcome::Misuse(RefusalCode::NotAllowed), "{name} {number}");
            }
        }
        let visible: Vec<_> = xapp.nodes().map(|node| node.id.0).collect();
        let seen: Vec<_> = [1, 2].into_iter().filter(|n| may_read[n - 1] || may_control[n - 1]).collect();
        assert_eq!(visible, seen.iter().map(|n| *n as u32).collect::<Vec<_>>(), "{name}");
        // what remains of this xApp's subscriptions does not belong to the next one
        drop(xapp);
        for (at, node) in nodes.iter_mut().enumerate() {
            for _ in 0..u32::from(may_read[at]) + u32::from(may_read[at] && may_control[at]) {
                assert!(matches!(node.receive_pdu(), Pdu::RicSubscriptionDeleteRequest(_)), "{name}");
            }
        }
    }
    match server.xapp("stranger.example").err().unwrap() {
        ferric::Error::Refused(RefusalCode::NotAllowed) => {}
        other => panic!("{other:?}"),
    }
}

/// Rights that are limited to some actions of controls need controls that can be read.
#[test]
fn xapp_with_limited_rights_controls_only_what_they_name() {
    let only_handovers = GrantLimits { parameters: Some(vec!["rc/3/1".parse().unwrap()]), ..GrantLimits::default() };
    let mut limited = grant(Selection::All, Selection::All);
    limited.limits = only_handovers;
    let steering = XappRights { read: vec![grant(Selection::All, Selection::All)], control: vec![limited] };
    let plain: Address = "tcp://127.0.0.1:0".parse().unwrap();
    let rights = for_xapps(vec![("steering.example", steering)]);
    let server = secured_with(rights, |config| config.e2.push(plain.into()));
    let mut node = Peer::connect(&server.ric.e2[1]);
    node.set_up(1);
    let mut xapp = server.xapp("steering.example").unwrap();
    let id = node_id_of(&mut xapp, 1);
    let controlled = |xapp: &mut Xapp| {
        poll_until(xapp, |event| match event {
            XappEvent::Request(RequestEvent::Controlled { outcome, .. }) => Some(outcome),
            _ => None,
        })
    };
    let not_allowed = ControlOutcome::Misuse(RefusalCode::NotAllowed);
    // of a service model that the RIC does not know
    xapp.commands().control(id, FUNCTION, b"header", b"message");
    assert_eq!(controlled(&mut xapp), not_allowed);
    let definition = rc::RanFunctionDefinition {
        ran_function_name: RanFunctionName {
            short_name: per::PrintableString::literal("ORAN-E2SM-RC"),
            e2sm_oid: per::PrintableString::literal(rc::OID),
            description: per::PrintableString::literal("RC"),
            instance: None,
        },
        event_trigger: None,
        report: None,
        insert: None,
        control: None,
        policy: None,
        query: None,
    };
    let mut octets = Vec::new();
    definition.encode(rc::Revision::V1_03, &mut octets).unwrap();
    let item = e2ap::RanFunctionItem {
        id: RanFunctionId(3),
        definition: octets.into(),
        revision: RanFunctionRevision(1),
        oid: Some(per::PrintableString::literal(rc::OID)),
    };
    node.send_pdu(e2ap::RicServiceUpdate {
        transaction_id: Some(e2ap::TransactionId(1)),
        ran_functions_added: Some(vec![item].into()),
        ran_functions_modified: None,
        ran_functions_deleted: None,
    });
    assert!(matches!(node.receive_pdu(), Pdu::RicServiceUpdateAcknowledge(_)));
    let ue = UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(7), ran_ueid: None, cell_rnti: None });
    let cell = Cgi::NrCgi(NrCgi::new(PlmnIdentity::from_codes(1, 1, 2), 0x38001));
    for (action, is_allowed) in
        [(ControlAction::Drx(Drx::long(320)), false), (ControlAction::Handover(Handover::to(cell)), true)]
    {
        let (header, message) = Control::of_ue(ue.clone(), action).encode(rc::Revision::V1_03).unwrap();
        xapp.commands().control(id, RanFunctionId(3), &header, &message);
        if is_allowed {
            xapp.poll(Some(Duration::ZERO), |_, _| ()).unwrap();
            let Pdu::RicControlRequest(request) = node.receive_pdu() else { panic!("no control") };
            assert_eq!(request.ran_function_id, RanFunctionId(3));
        } else {
            assert_eq!(controlled(&mut xapp), not_allowed);
        }
    }
}

/// Functions of a node may be added and removed. An xApp sees a node while it has rights for one of its functions, and
/// only those functions.
#[test]
fn xapp_sees_only_functions_that_it_has_rights_for() {
    let only: Selection<FunctionName> = [FunctionName::Id(FUNCTION)].into_iter().collect();
    let reader = XappRights { read: vec![grant(Selection::All, only)], control: vec![] };
    let all = XappRights { read: vec![grant(Selection::All, Selection::All)], control: vec![] };
    let rights = for_xapps(vec![("reader.example", reader), ("all.example", all)]);
    let plain: Address = "tcp://127.0.0.1:0".parse().unwrap();
    let server = secured_with(rights, |config| config.e2.push(plain.into()));
    let mut node = Peer::connect(&server.ric.e2[1]);
    node.set_up(1);
    let mut update = |added: Option<u16>, deleted: Option<u16>| {
        let item = |id: u16| e2ap::RanFunctionItem {
            id: RanFunctionId(id),
            definition: b"definition".into(),
            revision: RanFunctionRevision(1),
            oid: Some(per::PrintableString::literal("1.2.3")),
        };
        let gone = |id: u16| e2ap::RanFunctionIdItem { id: RanFunctionId(id), revision: RanFunctionRevision(1) };
        node.send_pdu(e2ap::RicServiceUpdate {
            transaction_id: Some(e2ap::TransactionId(1)),
            ran_functions_added: added.map(|id| vec![item(id)].into()),
            ran_functions_modified: None,
            ran_functions_deleted: deleted.map(|id| vec![gone(id)].into()),
        });
        assert!(matches!(node.receive_pdu(), Pdu::RicServiceUpdateAcknowledge(_)));
    };
    let functions = |node: &ferric::e2::xapp::NodeInfo| node.functions.iter().map(|f| f.id.0).collect::<Vec<_>>();
    let next_change = |xapp: &mut Xapp| {
        poll_until(xapp, |event| match event {
            XappEvent::NodeUp(node) => Some(("up", functions(node))),
            XappEvent::NodeChanged(node) => Some(("changed", functions(node))),
            XappEvent::NodeLost(_) => Some(("lost", Vec::new())),
            _ => None,
        })
    };
    let (mut reader, mut all) = (server.xapp("reader.example").unwrap(), server.xapp("all.example").unwrap());
    let its = FUNCTION.0;
    assert_eq!((next_change(&mut reader), next_change(&mut all)), (("up", vec![its]), ("up", vec![its])));
    update(Some(77), None);
    assert_eq!((next_change(&mut reader), next_change(&mut all)), (("changed", vec![its]), ("changed", vec![its, 77])));
    update(None, Some(its));
    assert_eq!((next_change(&mut reader), next_change(&mut all)), (("lost", vec![]), ("changed", vec![77])));
    // a node without functions for the xApp is not announced
    let mut late = server.xapp("reader.example").unwrap();
    update(Some(its), Some(77));
    assert_eq!((next_change(&mut reader), next_change(&mut late)), (("up", vec![its]), ("up", vec![its])));
    assert_eq!(next_change(&mut all), ("changed", vec![its]));
    drop(node);
    for xapp in [&mut reader, &mut late, &mut all] {
        assert_eq!(next_change(xapp), ("lost", vec![]));
    }
}

/// An xApp over E42 driven by the test, with a certificate or without.
fn e42_says(peer: &mut Node, pdu: &E42Pdu<'_>) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    pdu.encode(E42Version::V2, &mut bytes).unwrap();
    peer.link.send(StreamId(0), &[&bytes], Class::Keep).unwrap();
    peer.receive_bytes()
}

/// Nodes with their functions.
type Told = Vec<(String, Vec<u16>)>;

/// Sets up. Returns the xApp id and the announced nodes.
fn e42_comes(peer: &mut Node) -> Result<(XappId, Told), Error> {
    let answer = e42_says(peer, &E42Pdu::SetupRequest(E42SetupRequest { ran_functions: e42_functions() }))?;
    let gather = per::Gather::new();
    match e42::decode(&answer, E42Version::V2, &gather).unwrap() {
        E42Pdu::SetupResponse(response) => {
            let functions = |node: &e42::ConnectedNode<'_>| node.ran_functions.iter().map(|f| f.id.0).collect();
            let nodes = response.nodes.iter().map(|node| (node.global_e2_node_id.to_string(), functions(node)));
            Ok((response.xapp_id, nodes.collect()))
        }
        other => panic!("{other:?}"),
    }
}

fn e42_functions() -> e2ap::Items<'static, e2ap::RanFunctionItem<'static>> {
    let oid = Some(per::PrintableString::literal("1.2.3"));
    let revision = RanFunctionRevision(1);
    vec![e2ap::RanFunctionItem { id: FUNCTION, definition: b"definition".into(), revision, oid }].into()
}

fn e42_subscribes(xapp_id: XappId, node: u32, kind: RicActionType) -> E42Pdu<'static> {
    let action = e2ap::RicActionToBeSetup {
        id: e2ap::RicActionId(1),
        kind,
        definition: None,
        subsequent_action: None,
        execution_order: None,
    };
    E42Pdu::SubscriptionRequest(E42SubscriptionRequest {
        xapp_id,
        global_e2_node_id: node_id(node),
        request_id: e2ap::RicRequestId { requestor: node as u16, instance: kind as u16 },
        ran_function_id: FUNCTION,
        details: e2ap::RicSubscriptionDetails { event_trigger_definition: b"t".into(), actions: vec![action].into() },
    })
}

#[test]
fn access_rules_apply_to_e42_xapps() {
    let reads = |node: u32| XappRights { read: vec![grant(some([&id(node)]), Selection::All)], control: vec![] };
    let rights = for_xapps(vec![("e42.example", reads(1)), ("idle.example", XappRights::default())]);
    let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (tls, plain, e2) = (free(), free(), "tcp://127.0.0.1:0".parse::<Address>().unwrap());
    let addresses = [format!("e42+tls://127.0.0.1:{tls}"), format!("e42+tcp://127.0.0.1:{plain}")];
    let e42 = E42Config {
        addresses: addresses.iter().map(|url| url.parse().unwrap()).collect(),
        version: E42Version::V2,
        functions: Selection::All,
        without_certificate: Some(Arc::new(reads(2))),
        tap: None,
    };
    let server = secured_with(rights, |config| {
        config.e2.push(e2.into());
        config.e42 = Some(e42.clone());
    });
    let mut nodes = [1, 2].map(|number| {
        let mut node = Peer::connect(&server.ric.e2[1]);
        node.set_up(number);
        node
    });
    // with a certificate, and without
    for (at, certificate) in [Some("e42.example"), None].into_iter().enumerate() {
        let mut xapp = match certificate {
            Some(name) => Node::connect(&e42.addresses[0].0, server.tls(name)),
            None => Node::connect(&e42.addresses[1].0, server.tls("unused.example")),
        };
        let (xapp_id, visible) = e42_comes(&mut xapp).unwrap();
        let (own, other) = (at as u32 + 1, 2 - at as u32);
        assert_eq!(visible, [(id(own), vec![FUNCTION.0])]);
        let refused = |answer: Vec<u8>| match decoded(&answer) {
            Pdu::RicSubscriptionFailure(failure) => failure.cause,
            other => panic!("{other:?}"),
        };
        let om = Some(Cause::Misc(CauseMisc::OmIntervention));
        let report = RicActionType::Report;
        assert_eq!(refused(e42_says(&mut xapp, &e42_subscribes(xapp_id, other, report)).unwrap()), om);
        assert_eq!(refused(e42_says(&mut xapp, &e42_subscribes(xapp_id, own, RicActionType::Policy)).unwrap()), om);
        let control = E42Pdu::ControlRequest(E42ControlRequest {
            xapp_id,
            global_e2_node_id: node_id(own),
            request_id: e2ap::RicRequestId { requestor: 7, instance: 7 },
            ran_function_id: FUNCTION,
            call_process_id: None,
            header: b"".into(),
            message: b"".into(),
            ack_request: None,
        });
        match decoded(&e42_says(&mut xapp, &control).unwrap()) {
            Pdu::RicControlFailure(failure) => assert_eq!(failure.cause, om),
            other => panic!("{other:?}"),
        }
        let mut bytes = Vec::new();
        e42_subscribes(xapp_id, own, report).encode(E42Version::V2, &mut bytes).unwrap();
        xapp.link.send(StreamId(0), &[&bytes], Class::Keep).unwrap();
        xapp.link.flush().unwrap();
        nodes[at].admit();
        assert!(matches!(xapp.receive().unwrap(), Pdu::RicSubscriptionResponse(_)));
    }
    // an xApp with empty rights gets no nodes; an unknown one is rejected
    let mut idle = Node::connect(&e42.addresses[0].0, server.tls("idle.example"));
    assert_eq!(e42_comes(&mut idle).unwrap().1, []);
    let mut stranger = Node::connect(&e42.addresses[0].0, server.tls("stranger.example"));
    assert!(e42_comes(&mut stranger).is_err());
    eventually("a log line", || server.ric.log.text().contains("no access rule for the peer's certificate"));
}

#[test]
fn agents_and_xapps_work_over_tls() {
    let server = secured(Rights::default());
    let mut config = impatient();
    config.link.tls = Some(server.tls("gnb1.example"));
    let mut agents = AgentLoop::new(config).unwrap();
    agents.add(node_id(1), server.ric.e2[0].clone().into(), vec![Box::new(Reporter::new(Duration::from_millis(1)))]);
    poll_agents_until(&mut agents, "the setup", |agents| agents.connected_controllers() == 1);
    let mut xapp = server.xapp("x.example").unwrap();
    let node = node_id_of(&mut xapp, 1);
    xapp.commands().subscribe(node, FUNCTION, report_spec(b""));
    let mut reports = 0;
    poll_agents_until(&mut agents, "100 reports", |_| {
        xapp.poll(Some(Duration::ZERO), |event, _| reports += u32::from(matches!(event, XappEvent::Indication(_))))
            .unwrap();
        reports >= 100
    });
    assert_eq!(agents.dropped_reports(), 0);
}

#[test]
fn certificate_problem_is_reported_to_the_xapp() {
    let server = secured(Rights::default());
    let config = |tls| {
        let mut config = XappConfig::default();
        config.link.tls = Some(tls);
        config
    };
    let others = issue(&Authority::new(), "x", |_| ());
    let error = Xapp::connect(&server.ric.xapp, "x", config(others)).err().unwrap().to_string();
    assert!(error.contains("signed by none of our CAs"), "{error}");
    let expired = issue(&server.authority, "x", |params| {
        params.not_before = date_time_ymd(2019, 1, 1);
        params.not_after = date_time_ymd(2020, 1, 1);
    });
    let error = Xapp::connect(&server.ric.xapp, "x", config(expired)).err().unwrap().to_string();
    assert!(error.contains("our certificate as expired; renew it"), "{error}");
    let error = Xapp::connect(&server.ric.xapp, "x", XappConfig::default()).err().unwrap().to_string();
    assert!(error.contains("a CA, a certificate and a key"), "{error}");
}

#[test]
fn slow_handshake_is_closed() {
    let server = secured_with(Rights::default(), |config| config.controller.setup_timeout = Duration::from_millis(200));
    for address in [&server.ric.e2[0], &server.ric.xapp] {
        let Address::Tls { port, .. } = *address else { unreachable!() };
        for octets in [&[][..], &[22, 3, 1, 2, 0, 1, 0]] {
            let mut peer = Peer::of(TcpStream::connect(("127.0.0.1", port)).unwrap());
            peer.write(octets);
            let begun = Instant::now();
            // an alert may precede the close
            let mut alert = Vec::new();
            std::io::Read::read_to_end(&mut peer.stream, &mut alert).unwrap();
            assert!(alert.len() < 10);
            assert!(begun.elapsed() < PATIENCE / 2);
        }
    }
}

#[test]
fn agent_reconnects_when_the_handshake_never_completes() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let authority = Authority::new();
    let mut config = AgentLoopConfig { setup_timeout: Duration::from_millis(100), ..impatient() };
    config.link.tls = Some(issue(&authority, "gnb1.example", |_| ()));
    let mut agents = AgentLoop::new(config).unwrap();
    let address = format!("tls://{}", silent.local_addr().unwrap()).parse().unwrap();
    agents.add(node_id(1), address, vec![Box::new(Reporter::new(Duration::from_secs(1)))]);
    silent.set_nonblocking(true).unwrap();
    let mut held = Vec::new();
    // it reconnects several times
    poll_agents_until(&mut agents, "three attempts", |_| {
        held.extend(silent.accept().map(|(stream, _)| stream));
        held.len() >= 3
    });
    // the connections that it gave up are closed
    use std::io::Read;
    held[0].set_read_timeout(Some(PATIENCE)).unwrap();
    eventually("the close", || matches!(held[0].read(&mut [0; 4096]), Ok(0)));
}

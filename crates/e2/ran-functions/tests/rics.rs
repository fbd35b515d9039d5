//! Functions on a real agent with real RICs, over memory links in one thread.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use e2sm::common::{Cgi, GnbCuUeF1apId, NrCgi, PlmnIdentity, UeId, UeIdGnbDu};
use e2sm::kpm::{
    EveryUe, IndicationMessage, MeasurementLabel, MeasurementRequest, RanFunctionDefinition, ReportRequest, Revision,
    Scope, Value, dictionary,
};
use ferric::agent::{AgentLoop, AgentLoopConfig, NodeConfig, RanFunction, Ue};
use ferric::e2::{self, ControlOutcome, SubscriptionSpec};
use ferric::e2ap::{self, Cause, CauseRicRequest, GlobalE2NodeId, GnbId, RanFunctionId, RicActionId, RicActionType};
use ferric::link::Address;
use ferric::server::{Iapp, IappContext, IappEvent, RequestEvent, Server, ServerConfig};
use per::Bits;
use ran_functions::hw::HwFunction;
use ran_functions::kpm::{KpmConfig, KpmFunction, KpmSource, MeasuredObject, SupportedMeasurement};

const KPM: RanFunctionId = RanFunctionId(2);
const HW: RanFunctionId = RanFunctionId(140);

/// Three UEs with rates in proportion to their numbers.
struct Three;

impl KpmSource for Three {
    type Snapshot = ();

    fn cell(&self) -> Cgi {
        Cgi::NrCgi(NrCgi { plmn_identity: PlmnIdentity::from_codes(1, 1, 2), nr_cell_identity: Bits::new(1, 36) })
    }

    fn measurements(&self) -> &[SupportedMeasurement] {
        &[SupportedMeasurement { name: Cow::Borrowed("DRB.UEThpDl"), id: None, scope: dictionary::Scope::CellAndUe }]
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        out.extend([Ue(1), Ue(2), Ue(3)]);
    }

    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        let id = GnbCuUeF1apId(ue.0 as u32);
        UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: id, ran_ueid: None, cell_rnti: None })
    }

    fn take_snapshot(&self, (): &mut ()) {}

    fn value(&self, (): &(), object: MeasuredObject<'_>, _offer: usize, _label: &MeasurementLabel) -> Value {
        match object {
            MeasuredObject::Cell | MeasuredObject::OneCell(_) => Value::Integer(6),
            MeasuredObject::Ues(ues) => Value::Integer(ues.iter().map(|ue| ue.0 as u32).sum()),
        }
    }
}

/// What an iApp heard.
#[derive(Default)]
struct Heard {
    nodes: u32,
    reports: u32,
    values: Vec<Value>,
    pings: Vec<(Vec<u8>, Vec<u8>)>,
    outcomes: Vec<ControlOutcome>,
}

/// Subscribes to every function of every node. Pings each new node before and after.
struct Listener {
    period_ms: u32,
    heard: Arc<Mutex<Heard>>,
}

impl Iapp for Listener {
    fn name(&self) -> &str {
        "listener"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        match event {
            IappEvent::NodeUp(node) => {
                self.heard.lock().unwrap().nodes += 1;
                ric.control(node.id, HW, b"too", b"early").unwrap();
                let kpm = node.function(KPM).unwrap();
                let revision = Revision::V3_00;
                let offered = RanFunctionDefinition::decode_owned(&kpm.definition, revision).unwrap();
                let measurements = [MeasurementRequest::named("DRB.UEThpDl")];
                let request = ReportRequest {
                    measurements: &measurements,
                    granularity_period_ms: self.period_ms,
                    reporting_period_ms: self.period_ms,
                    scope: Scope::EveryUe(EveryUe::AnySignal),
                };
                let plan = request.plan(&offered, revision).unwrap();
                let (mut event_trigger, mut definition) = (Vec::new(), Vec::new());
                plan.trigger.encode(revision, &mut event_trigger).unwrap();
                plan.action.encode(revision, &mut definition).unwrap();
                let action = |definition| e2::Action {
                    id: RicActionId(3),
                    kind: RicActionType::Report,
                    definition,
                    subsequent: None,
                };
                let actions = vec![action(Some(definition))];
                ric.subscribe(node.id, KPM, SubscriptionSpec { event_trigger, actions }).unwrap();
                let spec = SubscriptionSpec { event_trigger: Vec::new(), actions: vec![action(None)] };
                ric.subscribe(node.id, HW, spec).unwrap();
            }
            IappEvent::Request(RequestEvent::Subscribed { admitted, .. }) => {
                assert_eq!(*admitted, [RicActionId(3)]);
                let node = ric.nodes().next().unwrap().id;
                ric.control(node, HW, b"head", b"body").unwrap();
            }
            IappEvent::Request(RequestEvent::Controlled { outcome, .. }) => {
                self.heard.lock().unwrap().outcomes.push((*outcome).clone())
            }
            IappEvent::Ran(_)
            | IappEvent::ControlEnded(_)
            | IappEvent::NodeLost(_)
            | IappEvent::Request(RequestEvent::SubscriptionEnded { .. })
            | IappEvent::Request(RequestEvent::SubscriptionSuspended(_))
            | IappEvent::Request(RequestEvent::SubscriptionResumed { .. }) => {}
            other => panic!("{other:?}"),
        }
    }

    fn on_indication(&mut self, indication: &e2::Indication<'_>, _ric: &mut IappContext<'_>) {
        let (header, message) = indication.payload.unwrap();
        let mut heard = self.heard.lock().unwrap();
        if indication.ran_function_id == HW {
            heard.pings.push((header.to_vec(), message.to_vec()));
            return;
        }
        let message = IndicationMessage::decode_owned(message, Revision::V3_00).unwrap();
        heard.reports += 1;
        heard.values = message.rows(None).map(|row| row.value).collect();
    }
}

fn ric(address: &Address, period_ms: u32) -> (Server, Arc<Mutex<Heard>>) {
    let config = ServerConfig { e2: vec![address.clone().into()], xapp: None, ..ServerConfig::default() };
    let mut server = Server::bind(config).unwrap();
    let heard = Arc::new(Mutex::new(Heard::default()));
    server.add_iapp(Box::new(Listener { period_ms, heard: Arc::clone(&heard) }));
    (server, heard)
}

/// A node towards all RICs, each of which sees all of its UEs.
fn agents(rics: &[&Address]) -> AgentLoop {
    let mut agents = AgentLoop::new(AgentLoopConfig {
        retry_first: Duration::from_millis(20),
        retry_last: Duration::from_millis(20),
        ..AgentLoopConfig::default()
    })
    .unwrap();
    let source = Rc::new(RefCell::new(Three));
    let node = GlobalE2NodeId::gnb(e2ap::PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xe00, 22));
    let kpm = KpmFunction::new(source, KpmConfig::default());
    let functions: Vec<Box<dyn RanFunction>> = vec![Box::new(kpm), Box::new(HwFunction::new())];
    let node = agents.add_node(NodeConfig::new(node), functions);
    for ric in rics {
        let controller = agents.add_controller(node, (*ric).clone().into());
        for ue in 1..=3 {
            agents.views_mut(node).expose(controller, Ue(ue)).unwrap();
        }
    }
    agents
}

fn run(agents: &mut AgentLoop, servers: &mut [&mut Server], mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < deadline, "not what was waited for");
        agents.poll(Some(Duration::from_millis(1))).unwrap();
        for server in servers.iter_mut() {
            server.poll(Some(Duration::ZERO)).unwrap();
        }
    }
}

fn count(heard: &Mutex<Heard>) -> u32 {
    heard.lock().unwrap().reports
}

#[test]
fn two_rics_subscribe_independently() {
    let (a, b): (Address, Address) = ("memory:fn-two-a".parse().unwrap(), "memory:fn-two-b".parse().unwrap());
    let ((mut server_a, heard_a), (mut server_b, heard_b)) = (ric(&a, 5), ric(&b, 100));
    let mut agents = agents(&[&a, &b]);
    run(&mut agents, &mut [&mut server_a, &mut server_b], || count(&heard_a) >= 20 && count(&heard_b) >= 5);
    let values = [1, 2, 3].map(Value::Integer);
    assert_eq!(heard_a.lock().unwrap().values, values);
    assert_eq!(heard_b.lock().unwrap().values, values);
    assert!(count(&heard_a) > 2 * count(&heard_b), "each at its own period");
}

#[test]
fn ping_is_acknowledged_and_indicated() {
    let address: Address = "memory:fn-ping".parse().unwrap();
    let (mut server, heard) = ric(&address, 1000);
    let mut agents = agents(&[&address]);
    run(&mut agents, &mut [&mut server], || {
        let heard = heard.lock().unwrap();
        heard.outcomes.len() == 3 && !heard.pings.is_empty()
    });
    let heard = heard.lock().unwrap();
    assert!(heard.pings.iter().all(|ping| *ping == (b"head".to_vec(), b"body".to_vec())));
    let nobody = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
    assert!(
        matches!(&heard.outcomes[0], ControlOutcome::Failed { cause, .. } if *cause == nobody),
        "no subscription: {:?}",
        heard.outcomes[0]
    );
    assert!(matches!(heard.outcomes[2], ControlOutcome::Acknowledged(None)), "{:?}", heard.outcomes[2]);
}

#[test]
fn reconnected_ric_subscribes_again() {
    let address: Address = "memory:fn-back".parse().unwrap();
    let (mut server, heard) = ric(&address, 5);
    let mut agents = agents(&[&address]);
    run(&mut agents, &mut [&mut server], || heard.lock().unwrap().reports >= 3);
    drop(server);
    run(&mut agents, &mut [], {
        let mut turns = 0;
        move || {
            turns += 1;
            turns > 20
        }
    });
    assert_eq!(agents.connected_controllers(), 0);
    let (mut server, heard) = ric(&address, 5);
    run(&mut agents, &mut [&mut server], || heard.lock().unwrap().reports >= 3);
    assert_eq!(heard.lock().unwrap().nodes, 1);
    assert_eq!(heard.lock().unwrap().values.len(), 3, "one report at a time: the old subscription has ended");
}

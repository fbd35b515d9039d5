//! The parts of a gNB behind a RIC with an abstraction of the topology, towards another RIC.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use e2sm::common::{Cgi, GnbCuUeF1apId, NrCgi, RntiValue, UeId, UeIdGnbDu};
use e2sm::rrc::{Event, EventTriggerDefinition, Notification};
use e2sm::{Arena, Model, Wire, mac, pdcp, rrc};
use ferric::agent::{
    Admission, AgentLoop, ControlFailure, ControllerId, FunctionContext, NodeConfig, NodeHandle, RanFunction,
    RequestKey, Views,
};
use ferric::e2::{
    Action, ControlOutcome, ControlRequest, Function, Indication, NodeId, RequestEvent, SubscriptionRequest,
    SubscriptionSpec, Time,
};
use ferric::e2ap::{
    Cause, E2NodeComponentConfigAdditionItem, E2NodeComponentConfiguration, E2NodeComponentId,
    E2NodeComponentInterfaceF1, E2NodeComponentInterfaceType, GlobalE2NodeId, GnbCuUpId, GnbDuId, GnbId, PlmnIdentity,
    RanFunctionId, RanFunctionRevision, RicActionId, RicActionType,
};
use ferric::server::{Iapp, IappContext, IappEvent, IappWaker, Server, ServerConfig};
use per::{Gather, Octets};
use virtualization::topology::Topology;

const PATIENCE: Duration = Duration::from_secs(20);
/// A function that several parts have, of no model that is known.
const COMMON: RanFunctionId = RanFunctionId(2);
const PLMN: PlmnIdentity = PlmnIdentity::from_codes(1, 1, 2);
/// An F1 SETUP REQUEST, made with pycrate's TS 38.473; its three cells have the identities 123456789, 12345678a and 12345678b.
const F1_SETUP: &str = "0001008092000005004e00020003002a0003200e00002d400400806475002c00710002002b0021080000f1101234567890\
    00000000010000f110410009a73400004d002700021011002b0021080000f11012345678a000010000010000f110410009a73400004d0027\
    00021011002b0021080000f11012345678b000020000010000f110410009a73400004d00270002101100ab000100";

/// What the test and a function share.
#[derive(Default)]
struct Port {
    subscribers: Vec<RequestKey>,
    messages: VecDeque<Vec<u8>>,
    controls: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A function of a part.
struct Stub {
    definition: Function,
    port: Rc<RefCell<Port>>,
}

impl Stub {
    fn new(id: RanFunctionId, oid: &str) -> Stub {
        let oid = oid.to_owned();
        let definition = Function { id, revision: RanFunctionRevision(1), definition: vec![1, 2, 3], oid };
        Stub { definition, port: Rc::default() }
    }

    fn of(model: Model) -> Stub {
        Stub::new(RanFunctionId(model.function_id), &model.oid(Wire::Per))
    }

    fn common() -> Stub {
        Stub::new(COMMON, "1.3.6.1.4.1.32473.9")
    }
}

impl RanFunction for Stub {
    fn id(&self) -> RanFunctionId {
        self.definition.id
    }

    fn definition(&self) -> Function {
        self.definition.clone()
    }

    fn subscribe(
        &mut self,
        _: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _: &Views,
    ) -> Result<Admission, Cause> {
        self.port.borrow_mut().subscribers.push(RequestKey { controller, id: request.request_id });
        let admitted = request.actions.iter().map(|action| action.id).collect();
        Ok(Admission { admitted, not_admitted: Vec::new() })
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.port.borrow_mut().subscribers.retain(|known| *known != key);
    }

    fn control(
        &mut self,
        _: Time,
        _: ControllerId,
        request: &ControlRequest,
        _: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        self.port.borrow_mut().controls.push((request.header.clone(), request.message.clone()));
        Ok(Some(b"done".to_vec()))
    }

    fn next_report(&self) -> Option<Time> {
        let port = self.port.borrow();
        (!port.messages.is_empty() && !port.subscribers.is_empty()).then(Time::default)
    }

    fn report(&mut self, _: Time, context: &mut FunctionContext<'_>) {
        let mut port = self.port.borrow_mut();
        while let Some(message) = port.messages.pop_front() {
            for key in &port.subscribers {
                context.report(*key, RicActionId(1), &[0], &message).unwrap();
            }
        }
    }
}

type Command = Box<dyn FnOnce(&mut IappContext<'_>) + Send>;

/// What the controller of the base stations has received.
#[derive(Default)]
struct Received {
    commands: Vec<Command>,
    requests: Vec<RequestEvent>,
    indications: Vec<(NodeId, RanFunctionId, Vec<u8>)>,
}

struct Probe(Arc<Mutex<Received>>);

impl Iapp for Probe {
    fn name(&self) -> &str {
        "probe"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, _: &mut IappContext<'_>) {
        if let IappEvent::Request(event) = event {
            self.0.lock().unwrap().requests.push((*event).clone());
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, _: &mut IappContext<'_>) {
        let gather = Gather::new();
        let message = indication.decode(&gather).unwrap().message.to_cow().into_owned();
        self.0.lock().unwrap().indications.push((indication.node, indication.ran_function_id, message));
    }

    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        let commands = std::mem::take(&mut self.0.lock().unwrap().commands);
        commands.into_iter().for_each(|command| command(ric));
    }
}

/// A RIC with the topology, the controller that sees it, and the agents of the parts.
struct World {
    host: Server,
    controller: Server,
    received: Arc<Mutex<Received>>,
    waker: IappWaker,
    agents: AgentLoop,
}

impl World {
    /// Starts with base stations, as in the file.
    fn new(stations: &str) -> World {
        let config =
            || ServerConfig { e2: vec!["tcp://127.0.0.1:0".parse().unwrap()], xapp: None, ..Default::default() };
        let mut controller = Server::bind(config()).unwrap();
        let received = Arc::default();
        controller.add_iapp(Box::new(Probe(Arc::clone(&received))));
        let waker = controller.iapp_waker().unwrap();
        let ric = controller.e2_endpoints().next().unwrap();
        let topology = Topology::parse(&format!("ric = \"{ric}\"\n{stations}")).unwrap();
        let mut host = Server::bind(config()).unwrap();
        virtualization::topology::add_to(&mut host, topology, ferric::link::Config::default()).unwrap();
        World { host, controller, received, waker, agents: AgentLoop::new(Default::default()).unwrap() }
    }

    fn step(&mut self) {
        self.agents.poll(Some(Duration::from_millis(1))).unwrap();
        self.host.poll(Some(Duration::from_millis(1))).unwrap();
        self.controller.poll(Some(Duration::from_millis(1))).unwrap();
    }

    fn until(&mut self, what: &str, mut is_so: impl FnMut(&World) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < deadline, "no {what}");
            self.step();
        }
    }

    /// Connects a part. Returns the ports of its functions.
    fn connect(&mut self, part: Part, stubs: Vec<Stub>) -> (NodeHandle, Vec<Rc<RefCell<Port>>>) {
        let ports = stubs.iter().map(|stub| Rc::clone(&stub.port)).collect();
        let components = match part {
            Part::Du(du) => vec![f1(du)],
            _ => Vec::new(),
        };
        let config = NodeConfig { components, ..NodeConfig::new(part.id()) };
        let functions = stubs.into_iter().map(|stub| Box::new(stub) as Box<dyn RanFunction>).collect();
        let handle = self.agents.add_node(config, functions);
        let ric = self.host.e2_endpoints().next().unwrap();
        self.agents.add_controller(handle, ric);
        let before = self.host.controller().nodes().count();
        self.until("part", |world| world.host.controller().nodes().count() > before);
        (handle, ports)
    }

    /// The base stations that the controller sees, with the ids of their functions.
    fn seen(&self) -> Vec<(String, Vec<u16>)> {
        let nodes = self.controller.controller().nodes();
        let mut seen: Vec<_> = nodes
            .map(|node| (node.global_id.to_string(), node.functions.iter().map(|function| function.id.0).collect()))
            .collect();
        seen.sort();
        seen
    }

    fn until_seen(&mut self, expected: &[(&str, &[u16])]) {
        let expected: Vec<_> = expected.iter().map(|(name, ids)| ((*name).to_owned(), ids.to_vec())).collect();
        let deadline = Instant::now() + PATIENCE;
        while self.seen() != expected {
            assert!(Instant::now() < deadline, "{:?} are not {expected:?}", self.seen());
            self.step();
        }
    }

    fn node(&self, name: &str) -> NodeId {
        let mut nodes = self.controller.controller().nodes();
        nodes.find(|node| node.global_id.to_string() == name).expect("the base station").id
    }

    fn command(&self, command: impl FnOnce(&mut IappContext<'_>) + Send + 'static) {
        self.received.lock().unwrap().commands.push(Box::new(command));
        self.waker.wake();
    }

    /// Subscribes the controller to a function, and waits for the answer.
    fn subscribe(&mut self, name: &str, function: RanFunctionId, event_trigger: Vec<u8>) {
        let node = self.node(name);
        let report = Action { id: RicActionId(1), kind: RicActionType::Report, definition: None, subsequent: None };
        let spec = SubscriptionSpec { event_trigger, actions: vec![report] };
        let count = |world: &World| {
            let received = world.received.lock().unwrap();
            received.requests.iter().filter(|event| matches!(event, RequestEvent::Subscribed { .. })).count()
        };
        let before = count(self);
        self.command(move |ric| {
            ric.subscribe(node, function, spec).unwrap();
        });
        self.until("subscription", |world| count(world) > before);
    }

    /// Sends a control, and returns its outcome.
    fn control(&mut self, name: &str, function: RanFunctionId) -> ControlOutcome {
        let node = self.node(name);
        self.command(move |ric| {
            ric.control(node, function, &[7], &[8, 9]).unwrap();
        });
        let outcome = |world: &World| {
            world.received.lock().unwrap().requests.iter().find_map(|event| match event {
                RequestEvent::Controlled { outcome, .. } => Some(outcome.clone()),
                _ => None,
            })
        };
        self.until("outcome", |world| outcome(world).is_some());
        let outcome = outcome(self).unwrap();
        self.received.lock().unwrap().requests.retain(|event| !matches!(event, RequestEvent::Controlled { .. }));
        outcome
    }

    /// Has a function of a part report, and returns what the controller receives: by base station.
    fn report(
        &mut self,
        handle: NodeHandle,
        port: &Rc<RefCell<Port>>,
        message: Vec<u8>,
        count: usize,
    ) -> Vec<(NodeId, Vec<u8>)> {
        port.borrow_mut().messages.push_back(message);
        self.agents.wake(handle);
        self.until("indications", |world| world.received.lock().unwrap().indications.len() >= count);
        // and nothing else
        (0..20).for_each(|_| self.step());
        let mut indications: Vec<_> = std::mem::take(&mut self.received.lock().unwrap().indications);
        indications.sort_by_key(|(node, ..)| node.0);
        indications.into_iter().map(|(node, _, message)| (node, message)).collect()
    }
}

#[derive(Clone, Copy)]
enum Part {
    CuCp,
    CuUp,
    Du(i64),
}

impl Part {
    fn id(self) -> GlobalE2NodeId {
        let mut id = GlobalE2NodeId::gnb(PLMN, GnbId::new(0xe00, 22));
        if let GlobalE2NodeId::Gnb(gnb) = &mut id {
            gnb.gnb_cu_up_id = matches!(self, Part::CuUp).then_some(GnbCuUpId(4));
            if let Part::Du(du) = self {
                gnb.gnb_du_id = Some(GnbDuId(du));
            }
        }
        id
    }
}

/// The cell of a DU: the first one of its F1 SETUP REQUEST.
fn cell(du: i64) -> Cgi {
    Cgi::NrCgi(NrCgi::new(PlmnIdentity([0, 0xf1, 0x10]), 0x1_2345_0000 + 0x1000 * du as u64 + 0x789))
}

fn f1(du: i64) -> E2NodeComponentConfigAdditionItem<'static> {
    let text: String = F1_SETUP.split_whitespace().collect::<String>().replace("123456", &format!("12345{du}"));
    let digits = text.as_bytes().chunks(2);
    let request: Vec<u8> =
        digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect();
    E2NodeComponentConfigAdditionItem {
        interface_type: E2NodeComponentInterfaceType::F1,
        id: E2NodeComponentId::F1(E2NodeComponentInterfaceF1 { gnb_du_id: GnbDuId(du) }),
        configuration: E2NodeComponentConfiguration {
            request_part: Octets::from(request),
            response_part: Octets::default(),
        },
    }
}

fn mac_report(rnti: u32) -> Vec<u8> {
    let ues = vec![mac::UeStats { rnti, ..mac::UeStats::default() }].into();
    let mut out = Vec::new();
    mac::IndicationMessage { ues, timestamp_us: 3 }.encode(Wire::Per, &mut out).unwrap();
    out
}

fn pdcp_report(rntis: &[u32]) -> Vec<u8> {
    let bearers = rntis.iter().map(|rnti| pdcp::BearerStats { rnti: *rnti, ..pdcp::BearerStats::default() });
    let mut out = Vec::new();
    let message = pdcp::IndicationMessage { bearers: bearers.collect(), timestamp_us: 3 };
    message.encode(Wire::Per, &mut out).unwrap();
    out
}

fn event(number: u32, rnti: u16, du: i64, event: Event) -> Notification<'static> {
    let gnb_cu_ue_f1ap_id = GnbCuUeF1apId(number);
    Notification {
        event,
        ue_id: UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id, ran_ueid: None, cell_rnti: None }),
        rnti: RntiValue(rnti),
        cell: cell(du),
        plmn: PLMN,
        s_nssais: Vec::new().into(),
        addresses: None,
    }
}

fn events(all: Vec<Notification<'static>>) -> Vec<u8> {
    let mut out = Vec::new();
    rrc::IndicationMessage { notifications: all.into() }.encode(Wire::Per, &mut out).unwrap();
    out
}

/// What an RRC report says: event, C-RNTI and cell of each UE.
fn decoded(message: &[u8]) -> Vec<(Event, u16, Cgi)> {
    let arena = Arena::new();
    let report = rrc::IndicationMessage::decode(message, Wire::Per, &arena).unwrap();
    report.notifications.iter().map(|event| (event.event, event.rnti.0, event.cell)).collect()
}

const WHOLE: &str = "[[base_station]]\ngnb = \"gnb-00101-e00\"\n";
const E00: &str = "gnb-00101-e00";

#[test]
fn parts_of_a_gnb_are_one_base_station() {
    let mut world = World::new(WHOLE);
    let (du, of_du) = world.connect(Part::Du(1), vec![Stub::common(), Stub::of(mac::MODEL)]);
    let up = || vec![Stub::common(), Stub::of(pdcp::MODEL)];
    let (cu_up, _) = world.connect(Part::CuUp, up());
    (0..20).for_each(|_| world.step());
    assert_eq!(world.seen(), [], "there is no CU-CP yet");
    let cu = || vec![Stub::common(), Stub::of(rrc::MODEL)];
    let (cu_cp, of_cu) = world.connect(Part::CuCp, cu());
    let all: [(&str, &[u16]); 1] = [(E00, &[2, 142, 144, 149, 1024, 1025])];
    world.until_seen(&all);
    // a request goes to the part that has the function
    let outcome = world.control(E00, RanFunctionId(1024));
    assert_eq!(outcome, ControlOutcome::Acknowledged(Some(b"done".to_vec().into())));
    assert_eq!(of_du[0].borrow().controls, [(vec![7], vec![8, 9])]);
    assert_eq!(of_cu[0].borrow().controls, []);
    world.control(E00, COMMON);
    assert_eq!(of_cu[0].borrow().controls.len(), 1);
    world.subscribe(E00, RanFunctionId(142), vec![1]);
    let node = world.node(E00);
    assert_eq!(world.report(du, &of_du[1], mac_report(70), 1), [(node, mac_report(70))]);

    // without the CU-UP, the base station has fewer functions, and everything else goes on
    world.agents.remove_node(cu_up);
    world.until_seen(&[(E00, &[2, 142, 149, 1024])]);
    assert_eq!(world.report(du, &of_du[1], mac_report(71), 1), [(node, mac_report(71))]);
    world.connect(Part::CuUp, up());
    world.until_seen(&all);
    assert_eq!(world.node(E00), node);

    // without the CU-CP, there is none; it comes back as the same
    world.agents.remove_node(cu_cp);
    world.until_seen(&[]);
    world.until("end of the subscription to the part", |_| of_du[1].borrow().subscribers.is_empty());
    world.connect(Part::CuCp, cu());
    world.until_seen(&all);
    world.agents.remove_node(du);
    world.until_seen(&[]);
}

#[test]
fn cu_with_two_dus_is_two_base_stations() {
    const F01: &str = "gnb-00101-f01";
    const F02: &str = "gnb-00101-f02";
    let station = |id: &str, du: u32| format!("[[base_station]]\ngnb = \"{E00}\"\nid = \"{id}\"\ndus = [{du}]\n");
    let mut world = World::new(&(station(F01, 1) + &station(F02, 2)));
    // a function whose content is that of both base stations is of none
    let (cu_cp, of_cu) = world.connect(Part::CuCp, vec![Stub::common(), Stub::of(rrc::MODEL)]);
    let (cu_up, of_up) = world.connect(Part::CuUp, vec![Stub::of(pdcp::MODEL)]);
    let (du, of_du) = world.connect(Part::Du(1), vec![Stub::common(), Stub::of(mac::MODEL)]);
    world.connect(Part::Du(2), vec![Stub::of(mac::MODEL)]);
    world.connect(Part::Du(3), vec![Stub::of(mac::MODEL)]);
    world.until_seen(&[(F01, &[2, 142, 144, 149]), (F02, &[142, 144, 149])]);
    let (first, second) = (world.node(F01), world.node(F02));

    let mut trigger = Vec::new();
    EventTriggerDefinition::ALL.encode(Wire::Per, &mut trigger).unwrap();
    world.until("own subscription", |_| !of_cu[1].borrow().subscribers.is_empty());
    world.subscribe(F01, RanFunctionId(149), trigger.clone());
    world.subscribe(F02, RanFunctionId(149), trigger);
    let attached = |number, rnti, du| event(number, rnti, du, Event::Attached);
    // a UE of each DU, the third one of which is in no base station
    let report = events(vec![attached(1, 71, 1), attached(2, 72, 2), attached(3, 73, 3)]);
    let received = world.report(cu_cp, &of_cu[1], report, 2);
    let received: Vec<_> = received.iter().map(|(node, message)| (*node, decoded(message))).collect();
    let both = [(first, vec![(Event::Attached, 71, cell(1))]), (second, vec![(Event::Attached, 72, cell(2))])];
    assert_eq!(BTreeSet::from_iter(received.iter().map(|(node, _)| node.0)).len(), 2);
    both.iter().for_each(|one| assert!(received.contains(one), "{received:?}"));

    // the records of the CU-UP
    for name in [F01, F02] {
        world.subscribe(name, RanFunctionId(144), vec![1]);
    }
    let received = world.report(cu_up, &of_up[0], pdcp_report(&[71, 72, 73, 71]), 2);
    for expected in [(first, pdcp_report(&[71, 71])), (second, pdcp_report(&[72]))] {
        assert!(received.contains(&expected), "{received:?}");
    }

    // a handover between the DUs is one between base stations
    let moved = event(1, 88, 2, Event::HandedOver(cell(1)));
    let received = world.report(cu_cp, &of_cu[1], events(vec![moved]), 2);
    let received: Vec<_> = received.iter().map(|(node, message)| (*node, decoded(message))).collect();
    let left = (first, vec![(Event::Detached, 71, cell(1))]);
    let came = (second, vec![(Event::HandedOver(cell(1)), 88, cell(2))]);
    assert!(received.contains(&left) && received.contains(&came), "{received:?}");

    // reports of a DU are those of its base station
    world.subscribe(F01, RanFunctionId(142), vec![1]);
    assert_eq!(world.report(du, &of_du[1], mac_report(5), 1), [(first, mac_report(5))]);
    // one base station is lost with its DU, the other one stays
    world.agents.remove_node(du);
    world.until_seen(&[(F02, &[142, 144, 149])]);
    assert_eq!(world.node(F02), second);
    world.connect(Part::Du(1), vec![Stub::common(), Stub::of(mac::MODEL)]);
    world.until_seen(&[(F01, &[2, 142, 144, 149]), (F02, &[142, 144, 149])]);
}

//! Tenants that come, go, flood and die beside others.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use e2sm::common::{Cgi, GnbCuUeF1apId, NrCgi, PlmnIdentity, RntiValue, UeId, UeIdGnbDu};
use e2sm::rrc::{Event, Notification};
use e2sm::{Wire, rlc};
use ferric::agent::{
    Admission, AgentLoop, AgentLoopConfig, ControllerId, FunctionContext, NodeConfig, RanFunction, RequestKey, Ue,
    Views,
};
use ferric::e2::{Action, Function, RequestEvent, SubscriptionRequest, SubscriptionSpec, Time};
use ferric::e2ap::{Cause, GlobalE2NodeId, GnbId, RanFunctionId, RanFunctionRevision, RicActionId, RicActionType};
use ferric::link::Address;
use ferric::xapp::{Xapp, XappConfig, XappEvent};
use ran_functions::rrc::{RrcConfig, RrcFunction, RrcSource};
use system_tests::{PATIENCE, TestRic};
use virtualization::{Sla, SlaHandle};

const WIRE: Wire = Wire::Plain;
/// The period of the subscriptions whose reports are watched.
const PERIOD_MS: u32 = 5;

/// By event trigger: the subscriptions that the base station has now, and has had.
type Counts = Arc<Mutex<BTreeMap<Vec<u8>, (usize, usize)>>>;

struct Subscription {
    key: RequestKey,
    event_trigger: Vec<u8>,
    period: Duration,
    next: Time,
    /// The number of the last report.
    number: u32,
}

/// The RLC function of a base station with the UEs 1 to 3, whose reports have consecutive numbers in each subscription.
struct NumberedReports {
    subscriptions: Vec<Subscription>,
    counts: Counts,
}

impl RanFunction for NumberedReports {
    fn id(&self) -> RanFunctionId {
        RanFunctionId(rlc::MODEL.function_id)
    }

    fn definition(&self) -> Function {
        let definition = rlc::MODEL.name.as_bytes().to_vec();
        Function { id: self.id(), revision: RanFunctionRevision(1), oid: rlc::MODEL.oid(WIRE), definition }
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _: &Views,
    ) -> Result<Admission, Cause> {
        let trigger = rlc::EventTriggerDefinition::decode(&request.event_trigger, WIRE).expect("a valid event trigger");
        let counts = &mut self.counts.lock().unwrap();
        let (present, total) = counts.entry(request.event_trigger.clone()).or_default();
        (*present, *total) = (*present + 1, *total + 1);
        self.subscriptions.push(Subscription {
            key: RequestKey { controller, id: request.request_id },
            event_trigger: request.event_trigger.clone(),
            period: Duration::from_millis(trigger.period_ms.into()),
            next: now,
            number: 0,
        });
        let admitted = request.actions.iter().map(|action| action.id).collect();
        Ok(Admission { admitted, not_admitted: Vec::new() })
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        let gone = self.subscriptions.iter().position(|known| known.key == key).expect("a known subscription");
        let gone = self.subscriptions.remove(gone);
        self.counts.lock().unwrap().get_mut(&gone.event_trigger).expect("it was counted").0 -= 1;
    }

    fn next_report(&self) -> Option<Time> {
        self.subscriptions.iter().map(|known| known.next).min()
    }

    fn report(&mut self, now: Time, context: &mut FunctionContext<'_>) {
        let mut header = Vec::new();
        rlc::IndicationHeader::default().encode(WIRE, &mut header).unwrap();
        for known in self.subscriptions.iter_mut().filter(|known| known.next <= now) {
            known.next = now + known.period;
            known.number += 1;
            let of_ue = |rnti| rlc::BearerStats { rnti, tx_pdu_packets: known.number, ..rlc::BearerStats::default() };
            let mut message = Vec::new();
            let bearers = (1..=3).map(of_ue).collect();
            rlc::IndicationMessage { bearers, timestamp_us: 0 }.encode(WIRE, &mut message).unwrap();
            // fails only for a subscription that has ended
            let _ = context.report(known.key, RicActionId(1), &header, &message);
        }
    }
}

/// The UEs 1 to 3, each in the network of its number.
struct Ues;

impl RrcSource for Ues {
    fn ues(&self, out: &mut Vec<Ue>) {
        out.extend((1..=3).map(Ue));
    }

    fn present(&self, Ue(number): Ue) -> Notification<'static> {
        let number = number as u16;
        let ue_id = UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(number.into()), ran_ueid: None, cell_rnti: None };
        Notification {
            event: Event::Present,
            ue_id: UeId::GnbDu(ue_id),
            rnti: RntiValue(number),
            cell: Cgi::NrCgi(NrCgi::new(PlmnIdentity::from_codes(1, 1, 2), 1)),
            plmn: PlmnIdentity::from_codes(1, number, 2),
            s_nssais: Vec::new().into(),
            addresses: None,
        }
    }

    fn has_events(&self) -> bool {
        false
    }

    fn take_events(&mut self, _: &mut Vec<(Ue, Notification<'static>)>) {}
}

/// A base station on a thread of its own.
struct Station {
    counts: Counts,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Station {
    fn start(ric: &Address) -> Station {
        let (stop, stopped) = channel();
        let (ric, counts) = (ric.clone(), Counts::default());
        let of_thread = counts.clone();
        let thread = std::thread::spawn(move || run(&ric, of_thread, &stopped));
        Station { counts, stop: Some(stop), thread: Some(thread) }
    }

    /// The subscriptions with a period that the base station has now, and has had.
    fn count(&self, period_ms: u32) -> (usize, usize) {
        self.counts.lock().unwrap().get(&trigger(period_ms)).copied().unwrap_or_default()
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking(), "the base station panicked");
    }
}

fn run(ric: &Address, counts: Counts, stopped: &Receiver<()>) {
    let id = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xe00, 22));
    let mut agents = AgentLoop::new(AgentLoopConfig::default()).unwrap();
    let rrc = RrcFunction::new(Rc::new(RefCell::new(Ues)), RrcConfig::default());
    let functions: Vec<Box<dyn RanFunction>> =
        vec![Box::new(NumberedReports { subscriptions: Vec::new(), counts }), Box::new(rrc)];
    let node = agents.add_node(NodeConfig::new(id), functions);
    agents.add_controller(node, ric.clone().into());
    while stopped.try_recv() == Err(TryRecvError::Empty) {
        agents.poll(Some(Duration::from_millis(5))).unwrap();
    }
}

fn trigger(period_ms: u32) -> Vec<u8> {
    let mut octets = Vec::new();
    rlc::EventTriggerDefinition { period_ms }.encode(WIRE, &mut octets).unwrap();
    octets
}

fn subscribe(xapp: &mut Xapp, period_ms: u32) {
    let node = xapp.nodes().next().expect("a node").id;
    let report = Action { id: RicActionId(1), kind: RicActionType::Report, definition: None, subsequent: None };
    let spec = SubscriptionSpec { event_trigger: trigger(period_ms), actions: vec![report] };
    xapp.commands().subscribe(node, RanFunctionId(rlc::MODEL.function_id), spec);
}

/// An xApp of a tenant that reads all reports of the tenant's UE.
struct Watch {
    xapp: Xapp,
    ue: u32,
    /// The number of the last report.
    last: Option<u32>,
    received: u32,
}

impl Watch {
    fn start(ric: &TestRic, ue: u32) -> Watch {
        let mut xapp = Xapp::connect(&ric.xapp, "watch", XappConfig::default()).unwrap();
        let deadline = Instant::now() + PATIENCE;
        while xapp.nodes().next().is_none() {
            assert!(Instant::now() < deadline, "no node of tenant {ue}");
            xapp.poll(Some(Duration::from_millis(20)), |_, _| {}).unwrap();
        }
        subscribe(&mut xapp, PERIOD_MS);
        Watch { xapp, ue, last: None, received: 0 }
    }

    /// Reads what there is: each report has the number after that of the one before, and the tenant's own UE.
    fn read(&mut self) {
        let Watch { xapp, ue, last, received } = self;
        let mut handle = |event: XappEvent<'_>| match event {
            XappEvent::Indication(indication) => {
                let message = indication.peek().expect("a small report").message;
                let report = rlc::IndicationMessage::decode_owned(message, WIRE).unwrap();
                // a tenant's UE may be known after its first reports
                let [bearer] = &report.bearers[..] else {
                    assert!(report.bearers.is_empty() && last.is_none(), "{:?}", report.bearers);
                    return;
                };
                assert_eq!(bearer.rnti, *ue);
                let number = bearer.tx_pdu_packets;
                assert!(last.is_none_or(|last| last + 1 == number), "tenant {ue}: {number} after {last:?}");
                *last = Some(number);
                *received += 1;
            }
            XappEvent::Request(RequestEvent::Subscribed { .. }) | XappEvent::NodeUp(_) => {}
            other => panic!("tenant {ue}: {other:?}"),
        };
        xapp.poll(Some(Duration::from_millis(2)), |event, _| handle(event)).unwrap();
    }
}

/// Reads the reports of tenants while something is awaited, and then 100 more of each.
fn read_until(watches: &mut [Watch], what: &str, mut is_done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_done() {
        assert!(Instant::now() < deadline, "{what}");
        watches.iter_mut().for_each(Watch::read);
    }
    let received: Vec<u32> = watches.iter().map(|watch| watch.received).collect();
    while watches.iter().zip(&received).any(|(watch, before)| watch.received < before + 100) {
        assert!(Instant::now() < deadline, "{what}, and 100 reports");
        watches.iter_mut().for_each(Watch::read);
    }
}

/// The agreements of tenants, named and with the network of their number, and with a quarter of the cell each.
fn sla(tenants: &[(u16, &TestRic)]) -> Sla {
    let tenant = |(number, ric): &(u16, &TestRic)| {
        format!("[[tenant]]\nname = \"t{number}\"\nshare_percent = 25\nplmn = \"0010{number}\"\nric = \"{}\"\n", ric.e2)
    };
    Sla::parse(&tenants.iter().map(tenant).collect::<String>()).unwrap()
}

struct Network {
    a: TestRic,
    b: TestRic,
    c: TestRic,
    sla: SlaHandle,
    station: Station,
    _host: TestRic,
}

impl Network {
    /// A base station and the controllers of three tenants, of which `count` have agreements.
    fn start(count: usize) -> Network {
        let [a, b, c] = [TestRic::start(), TestRic::start(), TestRic::start()];
        let (host, handle) = TestRic::with_virtual_networks(sla(&[(1, &a), (2, &b), (3, &c)][..count]));
        let station = Station::start(&host.e2);
        Network { a, b, c, sla: handle, station, _host: host }
    }

    fn watch_two(&self) -> [Watch; 2] {
        let mut watches = [Watch::start(&self.a, 1), Watch::start(&self.b, 2)];
        read_until(&mut watches, "reports", || true);
        watches
    }
}

fn nodes(ric: &TestRic) -> usize {
    ric.rest.get("/v1/nodes")["nodes"].as_array().unwrap().len()
}

#[test]
fn equal_subscriptions_of_tenants_are_one_of_the_base_station() {
    let network = Network::start(2);
    let mut watches = network.watch_two();
    assert_eq!(network.station.count(PERIOD_MS), (1, 1));
    // it is deleted with the last of them
    let [a, b] = &mut watches;
    drop(std::mem::replace(&mut a.xapp, Xapp::connect(&network.a.xapp, "idle", XappConfig::default()).unwrap()));
    read_until(std::slice::from_mut(b), "reports of the other tenant", || true);
    assert_eq!(network.station.count(PERIOD_MS), (1, 1));
    drop(watches);
    system_tests::eventually("no subscription is left", || network.station.count(PERIOD_MS) == (0, 1));
}

#[test]
fn tenant_that_comes_and_goes_is_not_noticed_by_others() {
    let network = Network::start(2);
    let mut watches = network.watch_two();
    for round in 1..=2 {
        network.sla.replace(sla(&[(3, &network.c), (1, &network.a), (2, &network.b)]));
        read_until(&mut watches, "the third tenant has its node", || nodes(&network.c) == 1);
        let mut third = [Watch::start(&network.c, 3)];
        read_until(&mut third, "the third tenant has reports", || true);
        read_until(&mut watches, "the others have all", || true);
        assert_eq!(network.station.count(PERIOD_MS), (1, 1), "round {round}");
        subscribe(&mut third[0].xapp, 1000 + round);
        read_until(&mut watches, "its subscription", || {
            third[0].xapp.poll(Some(Duration::from_millis(2)), |_, _| {}).unwrap();
            network.station.count(1000 + round) == (1, 1)
        });
        network.sla.replace(sla(&[(2, &network.b), (1, &network.a)]));
        read_until(&mut watches, "the third tenant has no node", || nodes(&network.c) == 0);
        assert_eq!(network.station.count(PERIOD_MS), (1, 1), "round {round}");
        read_until(&mut watches, "nothing of it is left", || network.station.count(1000 + round) == (0, 1));
    }
}

#[test]
fn tenant_that_subscribes_to_everything_and_dies_is_not_noticed_by_others() {
    let Network { a, b, c, station, sla: _sla, _host } = Network::start(3);
    let mut watches = [Watch::start(&a, 1), Watch::start(&b, 2)];
    let mut third = Watch::start(&c, 3);
    read_until(&mut watches, "reports", || true);
    for at in 0..200 {
        subscribe(&mut third.xapp, 100 + at);
    }
    let mut answered = 0;
    read_until(&mut watches, "answers", || {
        let mut count = |event: XappEvent<'_>| {
            let is_answer = matches!(
                event,
                XappEvent::Request(RequestEvent::Subscribed { .. } | RequestEvent::SubscriptionFailed { .. })
            );
            answered += u32::from(is_answer);
        };
        third.xapp.poll(Some(Duration::from_millis(2)), |event, _| count(event)).unwrap();
        answered >= 200
    });
    let is_present = |at: &u32| station.count(100 + at).0 == 1;
    assert!((0..200).filter(is_present).count() >= 100, "it has many subscriptions");
    // its controller is gone, without a word
    drop(c);
    read_until(&mut watches, "its subscriptions are deleted", || (0..200).filter(is_present).count() == 0);
    assert_eq!(station.count(PERIOD_MS), (1, 1));
}

//! Functions on the thread of an agent, while the base station updates their source on another thread.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use e2sm::common::{Cgi, GnbCuUeF1apId, NrCgi, PlmnIdentity, RntiValue, UeId, UeIdGnbDu};
use e2sm::kpm::{
    IndicationMessage, MeasurementLabel, MeasurementRequest, RanFunctionDefinition, ReportRequest, Revision, Scope,
    Value, dictionary,
};
use e2sm::rrc::{self, Event, EventTriggerDefinition, Notification};
use e2sm::{Wire, gtp, mac, pdcp, rlc};
use ferric::agent::{RanFunction, SendAgentLoop, Ue};
use ferric::e2::{self, SubscriptionSpec};
use ferric::e2ap::{self, GlobalE2NodeId, GnbId, RanFunctionId, RicActionId, RicActionType};
use ferric::link::Address;
use ferric::server::{Iapp, IappContext, IappEvent, Server, ServerConfig};
use per::Bits;
use ran_functions::association::{AssociationFunction, UeDirectory};
use ran_functions::ccc::{CccFunction, CccSource};
use ran_functions::hw::HwFunction;
use ran_functions::kpm::{KpmConfig, KpmFunction, KpmSource, MeasuredObject, SupportedMeasurement};
use ran_functions::ni::{NiFunction, NiSource};
use ran_functions::rc::{RcFunction, RcSource};
use ran_functions::rrc::{RrcConfig, RrcFunction, RrcSource};
use ran_functions::slice::{SliceFunction, SliceSource};
use ran_functions::statistics::{GtpFunction, MacFunction, PdcpFunction, RlcFunction, StatisticsSource};
use ran_functions::tc::{TcFunction, TcSource};

const KPM: RanFunctionId = RanFunctionId(2);
const RRC: RanFunctionId = RanFunctionId(rrc::MODEL.function_id);
const PERIOD_MS: u32 = 2;

fn assert_send<T: Send>() {}

#[expect(dead_code, reason = "it compiles only if every function with a source that is `Send` is `Send`")]
fn functions_are_send<S>()
where
    S: Send + KpmSource<Snapshot: Send> + RcSource + NiSource + CccSource + SliceSource + TcSource + RrcSource,
    S: UeDirectory + StatisticsSource<mac::UeStats> + StatisticsSource<rlc::BearerStats>,
    S: StatisticsSource<pdcp::BearerStats> + StatisticsSource<gtp::Tunnel>,
{
    assert_send::<KpmFunction<Arc<Mutex<S>>>>();
    assert_send::<RcFunction<Arc<Mutex<S>>>>();
    assert_send::<NiFunction<Arc<Mutex<S>>>>();
    assert_send::<CccFunction<Arc<Mutex<S>>>>();
    assert_send::<MacFunction<Arc<Mutex<S>>>>();
    assert_send::<RlcFunction<Arc<Mutex<S>>>>();
    assert_send::<PdcpFunction<Arc<Mutex<S>>>>();
    assert_send::<GtpFunction<Arc<Mutex<S>>>>();
    assert_send::<SliceFunction<Arc<Mutex<S>>>>();
    assert_send::<TcFunction<Arc<Mutex<S>>>>();
    assert_send::<RrcFunction<Arc<Mutex<S>>>>();
    assert_send::<AssociationFunction<Arc<Mutex<S>>>>();
    assert_send::<HwFunction>();
}

/// A cell without UEs that measures a number.
struct Cell {
    /// A list that is built at run time.
    measurements: Vec<SupportedMeasurement>,
    counter: u32,
}

impl KpmSource for Cell {
    type Snapshot = ();

    fn cell(&self) -> Cgi {
        cell()
    }

    fn measurements(&self) -> &[SupportedMeasurement] {
        &self.measurements
    }

    fn ues(&self, _out: &mut Vec<Ue>) {}

    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        ue_id(ue.0 as u32)
    }

    fn take_snapshot(&self, (): &mut ()) {}

    fn value(&self, (): &(), _object: MeasuredObject<'_>, _measurement: usize, _label: &MeasurementLabel) -> Value {
        Value::Integer(self.counter)
    }
}

/// A base station whose UEs another thread attaches: those that are connected, and the events that were not taken yet.
#[derive(Default)]
struct BaseStation {
    ues: Vec<Ue>,
    events: Vec<(Ue, Notification<'static>)>,
}

impl BaseStation {
    fn attach(&mut self, rnti: u16) {
        let ue = Ue(u64::from(rnti));
        self.ues.push(ue);
        self.events.push((ue, notification(Event::Attached, rnti)));
    }
}

impl RrcSource for BaseStation {
    fn ues(&self, out: &mut Vec<Ue>) {
        out.extend(&self.ues);
    }

    fn present(&self, ue: Ue) -> Notification<'static> {
        notification(Event::Present, ue.0 as u16)
    }

    fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    fn take_events(&mut self, out: &mut Vec<(Ue, Notification<'static>)>) {
        out.append(&mut self.events);
    }
}

fn cell() -> Cgi {
    Cgi::NrCgi(NrCgi { plmn_identity: PlmnIdentity::from_codes(1, 1, 2), nr_cell_identity: Bits::new(1, 36) })
}

fn ue_id(number: u32) -> UeId<'static> {
    UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(number), ran_ueid: None, cell_rnti: None })
}

fn notification(event: Event, rnti: u16) -> Notification<'static> {
    Notification {
        event,
        ue_id: ue_id(rnti.into()),
        rnti: RntiValue(rnti),
        cell: cell(),
        plmn: PlmnIdentity::from_codes(1, 1, 2),
        s_nssais: Default::default(),
        addresses: None,
    }
}

/// Subscribes to the attachments of each node, and passes their RNTIs on; 0 when the subscription is admitted.
struct AttachListener(Sender<u16>);

impl Iapp for AttachListener {
    fn name(&self) -> &str {
        "attach-listener"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        if let IappEvent::Request(e2::RequestEvent::Subscribed { .. }) = event {
            self.0.send(0).unwrap();
        }
        let IappEvent::NodeUp(node) = event else { return };
        let mut event_trigger = Vec::new();
        let trigger = EventTriggerDefinition { attach: true, ..EventTriggerDefinition::default() };
        trigger.encode(Wire::Per, &mut event_trigger).unwrap();
        let (id, kind) = (RicActionId(1), RicActionType::Report);
        let actions = vec![e2::Action { id, kind, definition: None, subsequent: None }];
        ric.subscribe(node.id, RRC, SubscriptionSpec { event_trigger, actions }).unwrap();
    }

    fn on_indication(&mut self, indication: &e2::Indication<'_>, _ric: &mut IappContext<'_>) {
        let (_, message) = indication.payload.unwrap();
        let message = rrc::IndicationMessage::decode_owned(message, Wire::Per).unwrap();
        message.notifications.iter().for_each(|notification| self.0.send(notification.rnti.0).unwrap());
    }
}

#[test]
fn event_of_another_thread_is_reported_when_it_wakes_the_agent() {
    let address: Address = "memory:fn-waker".parse().unwrap();
    let config = ServerConfig { e2: vec![address.clone().into()], xapp: None, ..ServerConfig::default() };
    let mut server = Server::bind(config).unwrap();
    let (sender, attached) = channel();
    server.add_iapp(Box::new(AttachListener(sender)));
    let source = Arc::new(Mutex::new(BaseStation::default()));
    let function = RrcFunction::new(Arc::clone(&source), RrcConfig::default());
    let functions: Vec<Box<dyn RanFunction + Send>> = vec![Box::new(function)];
    let node = GlobalE2NodeId::gnb(e2ap::PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xe00, 22));
    let mut agents = SendAgentLoop::new_send(Default::default()).unwrap();
    agents.add(node, address.into(), functions);
    let (stop, waker) = (agents.stop_handle(), agents.waker().unwrap());
    let agent = std::thread::spawn(move || agents.run());

    let deadline = Instant::now() + Duration::from_secs(60);
    for rnti in 0..=20 {
        if rnti > 0 {
            source.lock().unwrap().attach(rnti);
            waker.wake();
        }
        while !attached.try_iter().any(|reported| reported == rnti) {
            assert!(Instant::now() < deadline && !agent.is_finished(), "no report of {rnti}");
            server.poll(Some(Duration::from_millis(1))).unwrap();
        }
    }
    stop.stop();
    agent.join().unwrap().unwrap();
}

/// Subscribes to the measurement of each node, and passes its values on.
struct Listener(Sender<Value>);

impl Iapp for Listener {
    fn name(&self) -> &str {
        "listener"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        let IappEvent::NodeUp(node) = event else { return };
        let revision = Revision::V3_00;
        let definition = &node.function(KPM).unwrap().definition;
        let request = ReportRequest {
            measurements: &[MeasurementRequest::named("VENDOR.Counter1")],
            granularity_period_ms: PERIOD_MS,
            reporting_period_ms: PERIOD_MS,
            scope: Scope::Node,
        };
        let plan = request.plan(&RanFunctionDefinition::decode_owned(definition, revision).unwrap(), revision).unwrap();
        let (mut event_trigger, mut definition) = (Vec::new(), Vec::new());
        plan.trigger.encode(revision, &mut event_trigger).unwrap();
        plan.action.encode(revision, &mut definition).unwrap();
        let (id, kind, definition) = (RicActionId(1), RicActionType::Report, Some(definition));
        let actions = vec![e2::Action { id, kind, definition, subsequent: None }];
        ric.subscribe(node.id, KPM, SubscriptionSpec { event_trigger, actions }).unwrap();
    }

    fn on_indication(&mut self, indication: &e2::Indication<'_>, _ric: &mut IappContext<'_>) {
        let (_, message) = indication.payload.unwrap();
        let message = IndicationMessage::decode_owned(message, Revision::V3_00).unwrap();
        message.rows(None).for_each(|row| self.0.send(row.value).unwrap());
    }
}

fn ric(address: &Address) -> (Server, Receiver<Value>) {
    let config = ServerConfig { e2: vec![address.clone().into()], xapp: None, ..ServerConfig::default() };
    let mut server = Server::bind(config).unwrap();
    let (sender, values) = channel();
    server.add_iapp(Box::new(Listener(sender)));
    (server, values)
}

#[test]
fn function_reports_what_another_thread_writes() {
    let address: Address = "memory:fn-threads".parse().unwrap();
    let (mut server, values) = ric(&address);
    let measurement = |number| SupportedMeasurement {
        name: format!("VENDOR.Counter{number}").into(),
        id: None,
        scope: dictionary::Scope::Cell,
    };
    let measurements = (1..=2).map(measurement).collect();
    let source = Arc::new(Mutex::new(Cell { measurements, counter: 0 }));
    let kpm = KpmFunction::new(Arc::clone(&source), KpmConfig::default());
    let functions: Vec<Box<dyn RanFunction + Send>> = vec![Box::new(kpm), Box::new(HwFunction::new())];
    let node = GlobalE2NodeId::gnb(e2ap::PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xe00, 22));
    let mut agents = SendAgentLoop::new_send(Default::default()).unwrap();
    agents.add(node, address.into(), functions);
    let stop = agents.stop_handle();
    let agent = std::thread::spawn(move || agents.run());

    let deadline = Instant::now() + Duration::from_secs(60);
    for counter in 1..=20 {
        source.lock().unwrap().counter = counter;
        // reports that were sent before have lower values
        while !values.try_iter().any(|value| value == Value::Integer(counter)) {
            assert!(Instant::now() < deadline && !agent.is_finished(), "no report of {counter}");
            server.poll(Some(Duration::from_millis(1))).unwrap();
        }
    }
    stop.stop();
    agent.join().unwrap().unwrap();
}

//! The cost of an emulated node: `cargo bench -p ferric-ran`.
//!
//! A report has 8 measurements of 32 UEs, every 10 ms, and includes a step of the model, the values, KPM, E2AP and the memory
//! link. Nodes without subscriptions are measured by their memory and by the time of an idle poll.

#![allow(unsafe_code, reason = "counting allocations requires an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use e2sm::kpm::{EveryUe, MeasurementRequest, RanFunctionDefinition, ReportRequest, Revision, Scope};
use ferric::e2::{Action, Indication, SubscriptionSpec};
use ferric::e2ap::{RanFunctionId, RicActionId, RicActionType};
use ferric::link::Address;
use ferric::server::{Iapp, IappContext, IappEvent, Server, ServerConfig};
use ran::{Ran, RanConfig, Scenario};

const KPM: RanFunctionId = RanFunctionId(2);
const REPORTS: u64 = 300;

struct Counting;

static COUNT: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static OCTETS: AtomicU64 = AtomicU64::new(0);

// SAFETY: the system's allocator fulfils the contract; counting does not affect it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(u64::from(COUNT.load(Relaxed)), Relaxed);
        OCTETS.fetch_add(layout.size() as u64, Relaxed);
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        OCTETS.fetch_sub(layout.size() as u64, Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Subscribes to every UE of every node.
struct Subscriber;

impl Iapp for Subscriber {
    fn name(&self) -> &str {
        "subscriber"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        let IappEvent::NodeUp(node) = event else { return };
        let names = [
            "DRB.UEThpDl",
            "DRB.UEThpUl",
            "DRB.RlcSduDelayDl",
            "DRB.PdcpSduVolumeDL",
            "DRB.PdcpSduVolumeUL",
            "RRU.PrbTotDl",
            "RRU.PrbTotUl",
            "CQI",
        ];
        let measurements = names.map(MeasurementRequest::named);
        let scope = Scope::EveryUe(EveryUe::AnySignal);
        let request =
            ReportRequest { measurements: &measurements, granularity_period_ms: 10, reporting_period_ms: 10, scope };
        let revision = Revision::V3_00;
        let kpm = node.function(KPM).expect("every node has KPM");
        let offered = RanFunctionDefinition::decode_owned(&kpm.definition, revision).expect("ours");
        let plan = request.plan(&offered, revision).expect("all measurements are supported");
        let (mut event_trigger, mut definition) = (Vec::new(), Vec::new());
        plan.trigger.encode(revision, &mut event_trigger).expect("ours");
        plan.action.encode(revision, &mut definition).expect("ours");
        let (id, kind) = (RicActionId(0), RicActionType::Report);
        let actions = vec![Action { id, kind, definition: Some(definition), subsequent: None }];
        ric.subscribe(node.id, KPM, SubscriptionSpec { event_trigger, actions }).expect("the node is there");
    }

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}
}

fn server(name: &str) -> (Server, Address) {
    let e2 = Address::Memory(name.into());
    let config = ServerConfig { e2: vec![e2.clone().into()], xapp: None, ..ServerConfig::default() };
    (Server::bind(config).expect("the name is free"), e2)
}

fn reports() {
    let (mut server, e2) = server("bench-report");
    server.add_iapp(Box::new(Subscriber));
    let mut ran = Ran::new(RanConfig { rics: vec![e2.into()], ..RanConfig::default() }).expect("a good configuration");
    let mut busy = Duration::ZERO;
    let mut best = Duration::MAX;
    let warm = 50;
    while server.counters().indications < warm + REPORTS {
        let before = server.counters().indications;
        std::thread::sleep(Duration::from_micros(500));
        COUNT.store(before >= warm, Relaxed);
        let start = Instant::now();
        ran.poll(Some(Duration::ZERO)).expect("epoll works");
        let spent = start.elapsed();
        COUNT.store(false, Relaxed);
        server.poll(Some(Duration::ZERO)).expect("epoll works");
        if server.counters().indications > before && before >= warm {
            busy += spent;
            best = best.min(spent);
        }
    }
    let mean = busy.as_secs_f64() * 1e6 / REPORTS as f64;
    let allocations = ALLOCATIONS.load(Relaxed) as f64 / REPORTS as f64;
    println!(
        "report on 32 UEs: best {:.1} us, mean {mean:.1} us, {allocations:.1} allocations",
        best.as_secs_f64() * 1e6
    );
}

fn idle_nodes() {
    const NODES: u16 = 1000;
    let (mut server, e2) = server("bench-idle");
    let before = OCTETS.load(Relaxed);
    let config = RanConfig {
        rics: vec![e2.into()],
        scenario: Scenario::with_mixed_traffic(NODES, 32, 1),
        ..RanConfig::default()
    };
    let mut ran = Ran::new(config).expect("a good configuration");
    let created = OCTETS.load(Relaxed) - before;
    let start = Instant::now();
    while ran.up() < usize::from(NODES) {
        ran.poll(Some(Duration::ZERO)).expect("epoll works");
        server.poll(Some(Duration::ZERO)).expect("epoll works");
    }
    let up_ms = start.elapsed().as_secs_f64() * 1e3;
    let connected = OCTETS.load(Relaxed) - before;
    let mut best = Duration::MAX;
    for _ in 0..1000 {
        let start = Instant::now();
        ran.poll(Some(Duration::ZERO)).expect("epoll works");
        best = best.min(start.elapsed());
    }
    println!(
        "{NODES} idle nodes: {:.1} MB, {:.1} MB with the RIC; all set up in {up_ms:.0} ms; an idle poll {:.1} us",
        created as f64 / 1e6,
        connected as f64 / 1e6,
        best.as_secs_f64() * 1e6
    );
}

fn main() {
    reports();
    idle_nodes();
}

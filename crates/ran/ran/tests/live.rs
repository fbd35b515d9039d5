//! Live mode with a RIC: the rates of real programs follow the slices of an xApp. Needs root, and iperf3 for part of it.

use std::net::UdpSocket;
use std::process::{Child, Command};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use e2sm::Wire;
use e2sm::slice::{
    self, ControlHeader, ControlMessage, DirectionSlices, NvsParameters, Parameters, Share, Slice, SliceConfiguration,
    UeSlices,
};
use ferric::StopHandle;
use ferric::e2::ControlOutcome;
use ferric::link::Address;
use ferric::server::{Server, ServerConfig};
use ferric::xapp::{RequestEvent, Xapp, XappEvent};
use per::PrintableString;
use ran::{Error, LiveConfig, LiveCounts, Namespace, Namespaces, Ran, RanConfig, Scenario};
use testkit::live;

/// Starts programs in a namespace.
fn spawn_in(namespace: &Namespace) -> impl FnOnce(&mut Command) -> Child + '_ {
    |program| namespace.enter(|| program.spawn().unwrap()).unwrap()
}

const PATIENCE: Duration = Duration::from_secs(20);
/// The C-RNTI of the first UE of a cell.
const FIRST_RNTI: u16 = 0x4601;

/// A RIC and a RAN in live mode.
struct Running {
    namespaces: Namespaces,
    xapp: Address,
    ric: Option<(StopHandle, JoinHandle<()>)>,
    ran: Option<(StopHandle, JoinHandle<LiveCounts>)>,
}

impl Running {
    fn start(letter: char, ues: u16) -> Running {
        let prefix = live::prefix(letter);
        let [e2, xapp] = ["e2", "xapp"].map(|end| Address::Memory(format!("{prefix}-{end}")));
        let (ric_sender, ric_stop) = mpsc::channel();
        let (e2_address, xapp_address) = (e2.clone(), xapp.clone());
        // each is created on the thread that runs it
        let ric = thread::spawn(move || {
            let config =
                ServerConfig { e2: vec![e2_address.into()], xapp: Some(xapp_address), ..ServerConfig::default() };
            let mut server = Server::bind(config).unwrap();
            ric_sender.send(server.stop_handle()).unwrap();
            server.run().unwrap();
        });
        let ric_stop = ric_stop.recv().unwrap();
        let (ran_sender, ran_stop) = mpsc::channel();
        let ran = thread::spawn(move || {
            let live = Some(LiveConfig { ues, prefix, ..LiveConfig::default() });
            let config = RanConfig {
                rics: vec![e2.into()],
                scenario: Scenario::without_traffic(ues),
                live,
                ..RanConfig::default()
            };
            let mut ran = Ran::new(config).unwrap();
            ran_sender.send((ran.stop_handle(), ran.take_namespaces().unwrap())).unwrap();
            ran.run().unwrap();
            ran.live_counts().unwrap()
        });
        let (ran_stop, namespaces) = ran_stop.recv().unwrap();
        Running { namespaces, xapp, ric: Some((ric_stop, ric)), ran: Some((ran_stop, ran)) }
    }

    /// Ends the RAN, and returns its counters.
    fn end(&mut self) -> LiveCounts {
        let (stop, ran) = self.ran.take().unwrap();
        stop.stop();
        ran.join().unwrap()
    }

    /// Connects an xApp that sends a control to the SLICE function.
    fn control(&self, message: &ControlMessage<'_>) {
        let mut xapp = Xapp::connect(&self.xapp, "test", Default::default()).unwrap();
        let deadline = Instant::now() + PATIENCE;
        let mut is_done = false;
        while !is_done {
            assert!(Instant::now() < deadline, "no answer");
            xapp.poll(Some(Duration::from_millis(100)), |event, ric| match event {
                XappEvent::NodeUp(node) => {
                    let is_slice = |oid: &str| slice::MODEL.wire_of(oid) == Some(Wire::Plain);
                    let function = node.functions.iter().find(|function| is_slice(&function.oid)).unwrap();
                    let (mut header, mut body) = (Vec::new(), Vec::new());
                    ControlHeader::default().encode(Wire::Plain, &mut header).unwrap();
                    message.encode(Wire::Plain, &mut body).unwrap();
                    ric.control(node.id, function.id, &header, &body);
                }
                XappEvent::Request(RequestEvent::Controlled { outcome: result, .. }) => {
                    assert!(matches!(result, ControlOutcome::Acknowledged(_)), "{result:?}");
                    is_done = true;
                }
                _ => {}
            })
            .unwrap();
        }
    }

    /// The rates that UEs receive over TCP simultaneously, in bit/s.
    fn received_bps(&self) -> Vec<f64> {
        thread::scope(|scope| {
            let core = self.namespaces.core.as_ref().unwrap();
            let flows: Vec<_> = (5201..)
                .zip(&self.namespaces.ues)
                .map(|(port, ue)| {
                    scope.spawn(move || {
                        let server = format!("iperf3 -s -1 -p {port} --forceflush");
                        let _server = live::serve(spawn_in(core), &server, "listening");
                        let client = format!("iperf3 -c 10.45.0.1 -p {port} -R -O 1 -t 1 -C cubic -J");
                        let report = live::run_json(spawn_in(ue), &client);
                        report["end"]["sum_received"]["bits_per_second"].as_f64().unwrap()
                    })
                })
                .collect();
            flows.into_iter().map(|flow| flow.join().unwrap()).collect()
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for stop in [self.ric.as_ref().map(|ric| &ric.0), self.ran.as_ref().map(|ran| &ran.0)].into_iter().flatten() {
            stop.stop();
        }
        // the namespaces are removed afterwards, also if a thread has panicked
        self.ric.take().map(|(_, ric)| ric.join());
        self.ran.take().map(|(_, ran)| ran.join());
    }
}

#[test]
fn packets_pass_while_a_ric_is_connected() {
    let Some(_lock) = live::lock_host(netns::check_host) else { return };
    let mut running = Running::start('a', 2);
    let core = running.namespaces.core.as_ref().unwrap().enter(|| UdpSocket::bind("10.45.0.1:7").unwrap()).unwrap();
    let ue = running.namespaces.ues[1].enter(|| UdpSocket::bind("10.45.0.3:7").unwrap()).unwrap();
    let mut buffer = [0; 2000];
    // UEs arrive with the first slots; earlier packets are lost
    core.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while core.recv_from(&mut buffer).is_err() {
        assert!(Instant::now() < deadline, "no UE has arrived");
        ue.send_to(b"?", "10.45.0.1:7").unwrap();
    }
    for socket in [&core, &ue] {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    for number in 0..20 {
        ue.send_to(&[number; 1300], "10.45.0.1:7").unwrap();
        // skips delayed packets of the first loop
        while core.recv_from(&mut buffer).unwrap().0 != 1300 {}
        core.send_to(&buffer[..1300], "10.45.0.3:7").unwrap();
        let (length, from) = ue.recv_from(&mut buffer).unwrap();
        assert_eq!((length, buffer[0], from), (1300, number, "10.45.0.1:7".parse().unwrap()));
    }
    // controls are answered between slots
    running.control(&ControlMessage::AddOrModify(slices(0.5)));
    let counts = running.end();
    assert!(counts.slots > 0 && counts.core.sent >= 20 && counts.ues.sent >= 20, "{counts:?}");
    assert_eq!(counts.core.not_ipv4 + counts.bridge.unknown_destination + counts.bridge.wrong_source, 0, "{counts:?}");
}

/// Two downlink slices, the first with the given share. They do not lend resources, so that the order in which programs start
/// has no effect.
fn slices(share: f32) -> SliceConfiguration<'static> {
    let slice = |id, reserved| Slice {
        id,
        label: PrintableString::literal("slice"),
        ue_scheduler: PrintableString::literal("PF"),
        parameters: Parameters::Nvs(NvsParameters::Capacity(Share { reserved })),
    };
    let slices = vec![slice(0, share), slice(1, 1.0 - share)];
    let dl = DirectionSlices { scheduler: PrintableString::literal("NVS-PARTITION"), slices: slices.into() };
    SliceConfiguration { dl, ..SliceConfiguration::default() }
}

#[test]
fn iperf3_rates_follow_the_slices_of_an_xapp() {
    let Some(_lock) = live::lock_host(netns::check_host) else { return };
    if !live::are_installed(&["iperf3"]) {
        return;
    }
    let mut running = Running::start('e', 2);
    running.control(&ControlMessage::AddOrModify(slices(0.75)));
    let members = [(0, FIRST_RNTI), (1, FIRST_RNTI + 1)];
    let members = members.map(|(dl_id, rnti)| UeSlices { dl_id, ul_id: slice::NO_SLICE, rnti });
    running.control(&ControlMessage::Associate(members.to_vec().into()));
    let before = running.received_bps();
    // the shares exchanged
    running.control(&ControlMessage::AddOrModify(slices(0.25)));
    let after = running.received_bps();
    let counts = running.end();
    println!("{before:?}, {after:?}; {counts:?}");
    assert!((1.8..5.0).contains(&(before[0] / before[1])), "{before:?}");
    assert!((1.8..5.0).contains(&(after[1] / after[0])), "{after:?}");
    // the sum is about the capacity of the cell
    for all in [before, after] {
        let all_bps: f64 = all.iter().sum();
        assert!((20e6..62e6).contains(&all_bps), "{all_bps}");
    }
}

#[test]
fn invalid_configurations_are_refused() {
    let live = |ues, speed| RanConfig {
        scenario: Scenario { speed, ..Scenario::without_traffic(2) },
        live: Some(LiveConfig { ues, ..LiveConfig::default() }),
        ..RanConfig::default()
    };
    for ues in [0, 3] {
        assert!(matches!(Ran::new(live(ues, 1.0)).err(), Some(Error::LiveUes(2))));
    }
    assert!(matches!(Ran::new(live(1, 2.0)).err(), Some(Error::LiveSpeed)));
    let mut prefix = live(1, 1.0);
    prefix.live = Some(LiveConfig { prefix: "a/b".to_owned(), ..LiveConfig::default() });
    let error = Ran::new(prefix).err().unwrap();
    assert!(matches!(error, Error::Live(netns::Error::Prefix)), "{error}");
}

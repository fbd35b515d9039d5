//! Live mode with a RIC: what real programs get follows what an xApp sets. Needs root, and iperf3 for part of it.

#[path = "../../netns/tests/support/programs.rs"]
mod programs;
#[path = "../../netns/tests/support/mod.rs"]
mod support;

use std::net::UdpSocket;
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
use ran::{Error, LiveConfig, LiveCounts, Namespaces, Ran, RanConfig, Scenario};

const PATIENCE: Duration = Duration::from_secs(20);
/// The first UE's in its cell.
const FIRST_RNTI: u16 = 0x4601;

/// A RIC and a RAN in live mode.
struct Running {
    namespaces: Namespaces,
    xapp: Address,
    ric: Option<(StopHandle, JoinHandle<()>)>,
    ran: Option<(StopHandle, JoinHandle<LiveCounts>)>,
}

impl Running {
    fn start(message: char, ues: u16) -> Running {
        let prefix = support::config(message, 1).prefix;
        let [e2, xapp] = ["e2", "xapp"].map(|end| Address::Memory(format!("{prefix}-{end}")));
        let (ric_sender, ric_stop) = mpsc::channel();
        let (e2_address, xapp_address) = (e2.clone(), xapp.clone());
        // each is made where it runs
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
            let config =
                RanConfig { rics: vec![e2.into()], scenario: Scenario::quiet(ues), live, ..RanConfig::default() };
            let mut ran = Ran::new(config).unwrap();
            ran_sender.send((ran.stop_handle(), ran.take_namespaces().unwrap())).unwrap();
            ran.run().unwrap();
            ran.live_counts().unwrap()
        });
        let (ran_stop, namespaces) = ran_stop.recv().unwrap();
        Running { namespaces, xapp, ric: Some((ric_stop, ric)), ran: Some((ran_stop, ran)) }
    }

    /// Ends the RAN; what it counted.
    fn end(&mut self) -> LiveCounts {
        let (stop, ran) = self.ran.take().unwrap();
        stop.stop();
        ran.join().unwrap()
    }

    /// An xApp sends a control to the SLICE function.
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

    /// What UEs receive over TCP at the same time, in bit/s.
    fn received_bps(&self) -> Vec<f64> {
        thread::scope(|scope| {
            let core = self.namespaces.core.as_ref().unwrap();
            let flows: Vec<_> = (5201..)
                .zip(&self.namespaces.ues)
                .map(|(port, ue)| {
                    scope.spawn(move || {
                        let server = format!("iperf3 -s -1 -p {port} --forceflush");
                        let _server = programs::serve(core, &server, "listening");
                        let client = format!("iperf3 -c 10.45.0.1 -p {port} -R -O 1 -t 1 -C cubic -J");
                        let report = programs::json(ue, &client);
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
        // the namespaces are removed after that, whatever became of the threads
        self.ric.take().map(|(_, ric)| ric.join());
        self.ran.take().map(|(_, ran)| ran.join());
    }
}

#[test]
fn packets_go_up_and_down_while_a_ric_is_served() {
    let Some(_turn) = support::turn() else { return };
    let mut running = Running::start('a', 2);
    let core = running.namespaces.core.as_ref().unwrap().enter(|| UdpSocket::bind("10.45.0.1:7").unwrap()).unwrap();
    let ue = running.namespaces.ues[1].enter(|| UdpSocket::bind("10.45.0.3:7").unwrap()).unwrap();
    let mut buffer = [0; 2000];
    // UEs come with the first slots, and what is sent before that is lost
    core.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while core.recv_from(&mut buffer).is_err() {
        assert!(Instant::now() < deadline, "no UE has come");
        ue.send_to(b"?", "10.45.0.1:7").unwrap();
    }
    for socket in [&core, &ue] {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    for number in 0..20 {
        ue.send_to(&[number; 1300], "10.45.0.1:7").unwrap();
        // before it come questions that were late
        while core.recv_from(&mut buffer).unwrap().0 != 1300 {}
        core.send_to(&buffer[..1300], "10.45.0.3:7").unwrap();
        let (length, from) = ue.recv_from(&mut buffer).unwrap();
        assert_eq!((length, buffer[0], from), (1300, number, "10.45.0.1:7".parse().unwrap()));
    }
    // a slice that takes nothing from anybody: controls are answered in between
    running.control(&ControlMessage::AddOrModify(slices(0.5)));
    let counts = running.end();
    assert!(counts.slots > 0 && counts.core.sent >= 20 && counts.ues.sent >= 20, "{counts:?}");
    assert_eq!(counts.core.not_ipv4 + counts.bridge.nowhere + counts.bridge.foreign, 0, "{counts:?}");
}

/// Two slices of the downlink, the first with that share of it. What one does not need is not the other's: which of two
/// programs began first does not matter.
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
fn what_iperf3_gets_follows_the_slices_that_an_xapp_sets() {
    let Some(_turn) = support::turn() else { return };
    if !programs::is_there("iperf3") {
        return;
    }
    let mut running = Running::start('e', 2);
    running.control(&ControlMessage::AddOrModify(slices(0.75)));
    let members = [(0, FIRST_RNTI), (1, FIRST_RNTI + 1)];
    let members = members.map(|(dl_id, rnti)| UeSlices { dl_id, ul_id: slice::NO_SLICE, rnti });
    running.control(&ControlMessage::Associate(members.to_vec().into()));
    let before = running.received_bps();
    // and the other way round
    running.control(&ControlMessage::AddOrModify(slices(0.25)));
    let after = running.received_bps();
    let counts = running.end();
    println!("{before:?}, {after:?}; {counts:?}");
    assert!((1.8..5.0).contains(&(before[0] / before[1])), "{before:?}");
    assert!((1.8..5.0).contains(&(after[1] / after[0])), "{after:?}");
    // all of it is no more than the cell carries, and not much less
    for all in [before, after] {
        let all_bps: f64 = all.iter().sum();
        assert!((20e6..62e6).contains(&all_bps), "{all_bps}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let live = |ues, speed| RanConfig {
        scenario: Scenario { speed, ..Scenario::quiet(2) },
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

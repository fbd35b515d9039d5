//! Real programs through an emulated cell: they get the rate and delay of the cell. Needs root, iperf3 and irtt.

mod support;

use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use netns::{Bridge, BridgeCounts, Config, Interfaces, Namespace, Namespaces};
use radio::mac::Reservation;
use radio::phy::{Channel, Direction, Fixed};
use radio::tc::{DelayTarget, DisciplineChoice, PacerChoice, QueueConfiguration, QueueId};
use radio::{CellConfig, HandoverConfig, Network, Random, Slicing, Subscription, Time, Ue, tc};
use socket2::{Domain, Protocol, Socket, Type};
use support::spawn_in;
use testkit::live;

const MCS: u8 = 20;

/// A cell of 106 PRBs with UEs at MCS 20, and the capacity of its downlink in bit/s.
fn network(config: &Config, tc: tc::Configuration) -> (Network, f64) {
    let cell = CellConfig { tc, ..CellConfig::default() };
    let mut network = Network::new([cell], HandoverConfig::default(), NonZeroUsize::MIN).unwrap();
    for (number, address) in (0..).zip(&config.ues) {
        let cell = network.cell(0);
        let of = |direction| (cell.adaptation(direction), MCS);
        let channel = Channel::Fixed(Fixed::mcs(of(Direction::Downlink), of(Direction::Uplink)));
        let random = Random::new(1, number);
        let ue = Ue::new(number, Subscription::default(), *address, channel, random, cell.config());
        network.add(0, ue, Time::START, None).unwrap();
    }
    let cell = network.cell(0);
    let blocks = cell.blocks(Direction::Downlink);
    let pattern = cell.grid().pattern();
    let octets: u32 = pattern.iter().map(|(down, _)| blocks.octets(MCS, blocks.prbs(), *down)).sum();
    let capacity_bps = f64::from(octets) * 8.0 / (cell.grid().slot().as_secs_f64() * pattern.len() as f64);
    (network, capacity_bps)
}

/// The configuration of a cell.
#[derive(Default)]
struct Settings {
    slicing: Option<Slicing>,
    tc: tc::Configuration,
}

/// Calls `test` while the network runs in real time.
fn running<T>(config: &Config, settings: Settings, test: impl FnOnce(&Namespaces, f64) -> T) -> (T, Network, Bridge) {
    let Interfaces { core, ues, namespaces } = Interfaces::open(config).unwrap();
    let mut bridge = Bridge::new(core, (0..).zip(ues)).unwrap();
    let (mut network, capacity_bps) = network(config, settings.tc);
    // all UEs have arrived
    network.advance(Time::from_millis(20));
    if let Some(slicing) = settings.slicing {
        let schedulers = vec!["PF"; config.ues.len()];
        network.cell_mut(0).set_slicing(Direction::Downlink, slicing, &schedulers, "");
        for place in 0..config.ues.len() {
            network.cell_mut(0).set_slice(place, Direction::Downlink, Some(place as u32));
        }
    }
    let slot = network.cell(0).grid().slot();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let cell = thread::Builder::new().name("cell".to_owned()).spawn_scoped(scope, || {
            let begin = Instant::now() - Duration::from_nanos(network.cell(0).now().as_nanos());
            while !is_over.load(Ordering::Relaxed) {
                bridge.receive(&mut network).unwrap();
                network.advance(Time::from_nanos(begin.elapsed().as_nanos() as u64));
                bridge.deliver(&mut network).unwrap();
                let next = Duration::from_nanos(network.cell(0).now().as_nanos());
                thread::sleep(next.saturating_sub(begin.elapsed()).min(slot));
            }
            let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            println!(
                "the cell used {:.1} % of a core",
                (used.tv_sec as f64 + used.tv_nsec as f64 * 1e-9) / begin.elapsed().as_secs_f64() * 100.0
            );
            (network, bridge)
        });
        struct EndGuard<'a>(&'a AtomicBool);
        impl Drop for EndGuard<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let guard = EndGuard(&is_over);
        let result = test(&namespaces, capacity_bps);
        drop(guard);
        let (network, bridge) = cell.unwrap().join().unwrap();
        (result, network, bridge)
    })
}

/// The rate that a UE receives over TCP in the second second, in bit/s.
fn received_bps(namespaces: &Namespaces, ue: usize) -> f64 {
    let core = namespaces.core.as_ref().unwrap();
    let port = 5201 + ue;
    let _server = live::serve(spawn_in(core), &format!("iperf3 -s -1 -p {port} --forceflush"), "listening");
    let client = format!("iperf3 -c 10.45.0.1 -p {port} -R -O 1 -t 1 -C cubic -J");
    let report = live::run_json(spawn_in(&namespaces.ues[ue]), &client);
    report["end"]["sum_received"]["bits_per_second"].as_f64().unwrap()
}

#[test]
fn ues_reach_each_other_and_dropped_packets_are_counted() {
    let Some(_lock) = support::lock_host() else { return };
    let config = support::config('w', 2);
    let (_, network, bridge) = running(&config, Settings::default(), |namespaces, _| {
        let core = namespaces.core.as_ref().unwrap();
        let bind = |namespace: &Namespace| {
            let socket = namespace.enter(|| UdpSocket::bind("0.0.0.0:7").unwrap()).unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            socket
        };
        let (core, ue1, ue2) = (bind(core), bind(&namespaces.ues[0]), bind(&namespaces.ues[1]));
        let mut buffer = [0; 16];
        ue1.send_to(b"to a UE", "10.45.0.3:7").unwrap();
        let (length, from) = ue2.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..length], from), (&b"to a UE"[..], "10.45.0.2:7".parse().unwrap()));
        // an address that no UE has
        core.send_to(b"lost", "10.45.9.9:7").unwrap();
        // a source that is not the UE's
        let raw =
            namespaces.ues[0].enter(|| Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP)).unwrap()).unwrap();
        raw.set_header_included_v4(true).unwrap();
        let mut packet = [0; 28];
        packet[0] = 0x45;
        packet[8..20].copy_from_slice(&[64, 17, 0, 0, 10, 45, 0, 77, 10, 45, 0, 1]);
        let to: SocketAddr = "10.45.0.1:0".parse().unwrap();
        raw.send_to(&packet, &to.into()).unwrap();
        // when the later packets have arrived, the earlier ones have been counted
        ue1.send_to(b"last", "10.45.0.1:7").unwrap();
        assert_eq!(core.recv_from(&mut buffer).unwrap(), (4, "10.45.0.2:7".parse().unwrap()));
        core.send_to(b"last", "10.45.0.2:7").unwrap();
        assert_eq!(ue1.recv_from(&mut buffer).unwrap(), (4, "10.45.0.1:7".parse().unwrap()));
    });
    assert_eq!(*bridge.counts(), BridgeCounts { unknown_destination: 1, wrong_source: 1, ..BridgeCounts::default() });
    // both directions passed the air interface
    let counts = |place| network.cell(0).counts(place).unwrap();
    assert_eq!((counts(0).ul_rlc.delivered_packets, counts(1).dl_rlc.delivered_packets), (2, 1));
}

#[test]
fn ue_outside_all_cells_and_full_buffers_drop_packets() {
    let Some(_lock) = support::lock_host() else { return };
    let config = support::config('v', 1);
    let Interfaces { core, ues, namespaces } = Interfaces::open(&config).unwrap();
    let mut bridge = Bridge::new(core, (0..).zip(ues)).unwrap();
    let (mut network, _) = network(&config, tc::Configuration::default());
    let socket = |namespace: &Namespace| namespace.enter(|| UdpSocket::bind("0.0.0.0:7").unwrap()).unwrap();
    let (core, ue) = (socket(namespaces.core.as_ref().unwrap()), socket(&namespaces.ues[0]));
    // before the first slot
    core.send_to(&[0; 100], "10.45.0.2:7").unwrap();
    ue.send_to(&[0; 100], "10.45.0.1:7").unwrap();
    bridge.receive(&mut network).unwrap();
    assert_eq!(*bridge.counts(), BridgeCounts { no_cell: 2, ..BridgeCounts::default() });
    // time stops: the buffer of RLC holds a million octets
    network.advance(Time::from_millis(20));
    for _ in 0..1000 {
        ue.send_to(&[0; 1300], "10.45.0.1:7").unwrap();
        bridge.receive(&mut network).unwrap();
    }
    assert!((200..300).contains(&bridge.counts().buffer_full), "{:?}", bridge.counts());
    // time continues
    network.advance(Time::from_millis(2000));
    bridge.deliver(&mut network).unwrap();
    assert_eq!(bridge.core().counts().sent, 1000 - bridge.counts().buffer_full);
    assert_eq!(bridge.ues().map(|port| port.counts().received).sum::<u64>(), 1001);
}

#[test]
fn packets_use_the_mapped_bearer() {
    let Some(_lock) = support::lock_host() else { return };
    let config = support::config('o', 1);
    let Interfaces { core, ues, namespaces } = Interfaces::open(&config).unwrap();
    let mut bridge = Bridge::new(core, (0..).zip(ues)).unwrap();
    let (mut network, _) = network(&config, tc::Configuration::default());
    network.advance(Time::from_millis(20));
    let socket = |namespace: &Namespace| namespace.enter(|| UdpSocket::bind("0.0.0.0:7").unwrap()).unwrap();
    let (core, ue) = (socket(namespaces.core.as_ref().unwrap()), socket(&namespaces.ues[0]));
    network.cell_mut(0).ue_mut(0).unwrap().move_flows(5);
    core.send_to(&[0; 100], "10.45.0.2:7").unwrap();
    ue.send_to(&[0; 100], "10.45.0.1:7").unwrap();
    bridge.receive(&mut network).unwrap();
    network.advance(Time::from_millis(100));
    bridge.deliver(&mut network).unwrap();
    let delivered = network.cell(0).ue(0).unwrap().bearers().iter().map(|bearer| {
        let of = |rlc: &radio::rlc::Rlc| rlc.counts().delivered_packets;
        (bearer.id(), of(bearer.downlink()), of(bearer.uplink()))
    });
    assert_eq!(delivered.collect::<Vec<_>>(), [(1, 0, 0), (5, 1, 1)]);
    assert_eq!(bridge.core().counts().sent + bridge.ues().map(|port| port.counts().sent).sum::<u64>(), 2);
}

#[test]
fn iperf3_measures_the_capacity_of_the_cell() {
    let Some(_lock) = support::lock_host() else { return };
    if !live::are_installed(&["iperf3"]) {
        return;
    }
    let config = support::config('b', 1);
    let ((bps, capacity_bps), network, _) =
        running(&config, Settings::default(), |namespaces, capacity_bps| (received_bps(namespaces, 0), capacity_bps));
    println!("{:.1} of {:.1} Mbit/s", bps * 1e-6, capacity_bps * 1e-6);
    assert!(bps < capacity_bps, "{bps} of {capacity_bps}");
    assert!(bps > 0.5 * capacity_bps, "{bps} of {capacity_bps}");
    // the traffic passed the cell
    let delivered = network.cell(0).counts(0).unwrap().dl_rlc.delivered_octets;
    assert!(delivered as f64 * 8.0 > bps, "{delivered}");
}

#[test]
fn iperf3_rates_follow_the_slices() {
    let Some(_lock) = support::lock_host() else { return };
    if !live::are_installed(&["iperf3"]) {
        return;
    }
    let config = support::config('s', 2);
    let reservations = vec![Reservation::Capacity(0.75), Reservation::Capacity(0.25)];
    let slicing = Some(Slicing::Nvs { reservations, is_shared: false });
    let (bps, ..) = running(&config, Settings { slicing, ..Settings::default() }, |namespaces, _| {
        thread::scope(|scope| {
            let other = scope.spawn(|| received_bps(namespaces, 1));
            [received_bps(namespaces, 0), other.join().unwrap()]
        })
    });
    println!("{:.1} and {:.1} Mbit/s", bps[0] * 1e-6, bps[1] * 1e-6);
    let ratio = bps[0] / bps[1];
    assert!((1.8..5.0).contains(&ratio), "{bps:?}");
}

#[test]
fn kernel_tcp_responds_to_congestion_marks() {
    let Some(_lock) = support::lock_host() else { return };
    if !live::are_installed(&["iperf3"]) {
        return;
    }
    let config = support::config('j', 1);
    let queue = DisciplineChoice::EcnCoDel(DelayTarget { target_ms: 5, interval_ms: 50 });
    let tc = tc::Configuration {
        queues: vec![QueueConfiguration::new(QueueId(0), queue)],
        pacer: PacerChoice::Bdp5g,
        ..tc::Configuration::default()
    };
    let ((bps, capacity_bps), network, bridge) =
        running(&config, Settings { tc, ..Settings::default() }, |namespaces, capacity_bps| {
            for namespace in namespaces.core.iter().chain(&namespaces.ues) {
                namespace.enter(|| std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "1").unwrap()).unwrap();
            }
            (received_bps(namespaces, 0), capacity_bps)
        });
    let marked: u64 = bridge.ues().map(|port| port.counts().marked).sum();
    let dropped = network.cell(0).ue(0).unwrap().bearers()[0].tc().totals().dropped;
    println!("{:.1} Mbit/s, {marked} marks, {dropped:?} dropped", bps * 1e-6);
    assert!(marked > 0);
    // it responds to marks before packets are lost, and uses the capacity
    assert!(dropped.packets < 10, "{dropped:?}");
    assert!(bps > 0.5 * capacity_bps, "{bps} of {capacity_bps}");
}

#[test]
fn irtt_measures_the_delay_of_the_cell() {
    let Some(_lock) = support::lock_host() else { return };
    if !live::are_installed(&["irtt"]) {
        return;
    }
    let config = support::config('i', 1);
    let (report, network, bridge) = running(&config, Settings::default(), |namespaces, _| {
        let core = namespaces.core.as_ref().unwrap();
        let _server = live::serve(spawn_in(core), "irtt server -b 10.45.0.1", "starting");
        live::run_json(spawn_in(&namespaces.ues[0]), "irtt client -i 20ms -d 1s -l 172 -Q -o - 10.45.0.1")
    });
    let stats = &report["stats"];
    let rtt_ms = stats["rtt"]["median"].as_f64().unwrap() * 1e-6;
    println!("round trips of {rtt_ms:.1} ms");
    // uplink: a scheduling request and a grant first; downlink: at least one slot
    assert!((2.0..100.0).contains(&rtt_ms), "{rtt_ms}");
    assert!(stats["packets_received"].as_u64() >= Some(45), "{stats}");
    let rlc = network.cell(0).counts(0).unwrap();
    assert!(rlc.ul_rlc.delivered_packets >= 50 && rlc.dl_rlc.delivered_packets >= 45, "{rlc:?}");
    assert_eq!(*bridge.counts(), BridgeCounts::default());
}

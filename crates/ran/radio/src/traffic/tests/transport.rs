//! TCP over a bottleneck of 12 Mbit/s: a full segment takes 0.97 ms, the core 10 ms there and back.

use std::time::Duration;

use super::link::{Link, Network};
use crate::traffic::{CongestionControl, Direction, Flow, FlowSpecification, Kind, SlowStart, Tcp, TcpState};
use crate::{Content, Packet, Random, Time};

const RATE_BPS: u64 = 12_000_000;

fn bbr() -> Tcp {
    Tcp { control: CongestionControl::Bbr, ..Tcp::default() }
}

fn plain() -> Tcp {
    Tcp { control: CongestionControl::Cubic { slow_start: SlowStart::Plain }, ..Tcp::default() }
}

fn state(network: &Network) -> TcpState {
    network.flows[0].tcp(Direction::Down).unwrap()
}

/// The utilization of the downlink.
fn utilization(network: &Network) -> f64 {
    network.down.carried_octets as f64 * 8.0 / network.now.as_secs_f64() / network.down.rate_bps as f64
}

/// Loses the packets with these numbers.
fn losing(numbers: impl Fn(u64) -> bool + 'static) -> Box<dyn FnMut(&Packet) -> bool> {
    Box::new(move |packet| numbers(packet.number))
}

/// Loses this share of the packets.
fn losing_share(share: f64, seed: u64) -> Box<dyn FnMut(&Packet) -> bool> {
    let mut random = Random::new(seed, 0);
    Box::new(move |_| random.uniform() < share)
}

#[test]
fn cubic_fills_buffer() {
    // the buffer of 200 kB takes 133 ms
    let mut network = Network::bottleneck(Kind::Greedy(Tcp::default()), RATE_BPS, 200_000);
    network.run_s(30.0);
    let (state, rtt) = (state(&network), &network.flows[0].counts().rtt);
    assert!(state.reductions >= 3 && state.timeouts == 0, "{state:?}");
    assert!((130.0..146.0).contains(&rtt.quantile_ms(0.99).unwrap()), "{:?}", rtt.max_ms());
    assert!(rtt.quantile_ms(0.5).unwrap() > 100.0, "{:?}", rtt.quantile_ms(0.5));
    assert!(utilization(&network) > 0.98, "{}", utilization(&network));
    // each lost segment was retransmitted once
    assert_eq!(state.retransmissions, network.down.overflowed);
}

#[test]
fn bbr_fills_link_but_not_buffer() {
    // the bandwidth-delay product is 15 kB; the buffer is a hundred times larger
    let mut network = Network::bottleneck(Kind::Greedy(bbr()), RATE_BPS, 1_500_000);
    network.run_s(5.0);
    let startup_octets = network.down.max_queued_octets;
    network.down.max_queued_octets = 0;
    let mut min_window = u64::MAX;
    network.run(Time::from_millis(35_000), |network| min_window = min_window.min(state(network).window_segments));
    let (state, rtt) = (state(&network), &network.flows[0].counts().rtt);
    assert!(utilization(&network) > 0.95, "{} {state:?}", utilization(&network));
    assert_eq!((state.retransmissions, state.timeouts), (0, 0));
    // in flight are two products and the allowance for bursts, of which one product is on the path
    assert!(network.down.max_queued_octets < 40_000, "{}", network.down.max_queued_octets);
    assert!(startup_octets < 100_000, "{startup_octets}");
    assert!(rtt.quantile_ms(0.5).unwrap() < 30.0, "{:?}", rtt.quantile_ms(0.5));
    // the sender has probed the round-trip time of the empty path
    assert_eq!(min_window, 4);
    assert!((state.delivery_rate_bps / (12e6 * 1400.0 / 1452.0) - 1.0).abs() < 0.1, "{state:?}");
}

#[test]
fn hystart_ends_slow_start_before_buffer_is_full() {
    let lost_at_start = |tcp| {
        let mut network = Network::bottleneck(Kind::Greedy(tcp), RATE_BPS, 300_000);
        network.run_s(1.5);
        (network.down.overflowed, network.down.max_queued_octets)
    };
    let (plain_lost, plain_max) = lost_at_start(plain());
    let (lost, max) = lost_at_start(Tcp::default());
    assert!(plain_lost > 50 && plain_max > 298_000, "{plain_lost} {plain_max}");
    assert!(lost == 0 && max < 250_000, "{lost} {max}");
}

#[test]
fn two_flows_share_link_fairly() {
    for (tcp, min_share) in [(Tcp::default(), 0.35), (bbr(), 0.35)] {
        let first = FlowSpecification::new(Kind::Greedy(tcp.clone()));
        let second = FlowSpecification { start: Time::from_millis(3_000), ..first.clone() };
        let down = Link::new(RATE_BPS, 60_000);
        let mut network = Network::new([first, second], down, Link::new(0, u64::MAX));
        network.run_s(30.0);
        let received = |network: &Network, flow: usize| network.flows[flow].counts().downlink.received_octets as f64;
        let before = [0, 1].map(|flow| received(&network, flow));
        network.run_s(90.0);
        let [a, b] = [0, 1].map(|flow| received(&network, flow) - before[flow]);
        let share = a.min(b) / (a + b);
        assert!(share > min_share, "{tcp:?}: {share}");
        assert!(utilization(&network) > 0.95, "{tcp:?}");
    }
}

#[test]
fn lost_segment_is_retransmitted_once() {
    type Case = (fn(u64) -> bool, u64);
    let cases: [Case; 4] = [
        (|n| n == 100, 1),
        (|n| (100..120).contains(&n), 20),
        (|n| (100..140).contains(&n) && n % 2 == 0, 20),
        (|n| (100..103).contains(&n) || (114..130).contains(&n), 19),
    ];
    for tcp in [plain(), bbr()] {
        for (lost, count) in cases {
            let kind = Kind::Transfer { octets: 1_400_000, tcp: tcp.clone() };
            let mut network = Network::bottleneck(kind, RATE_BPS, 1_000_000);
            network.down.loses = losing(lost);
            network.run_s(60.0);
            let state = state(&network);
            assert_eq!(network.down.lost, count);
            assert_eq!((state.retransmissions, state.timeouts), (count, 0), "{tcp:?} {state:?}");
            assert_eq!(state.delivered_segments, 1000);
            let took_ms = network.flows[0].counts().downlink.delay.max_ms();
            assert!(network.flows[0].next_event() == Time::NEVER && took_ms.is_some());
        }
    }
}

#[test]
fn lost_tail_is_recovered_by_probe_or_timeout() {
    for tcp in [Tcp::default(), bbr()] {
        // three are lost; the probe repeats the last one, and its acknowledgement reveals the others
        // (packet 0 is the SYN)
        for (lost, expected) in [(98..101, (3, 1, 0)), (98..102, (4, 1, 1))] {
            let kind = Kind::Transfer { octets: 140_000, tcp: tcp.clone() };
            let mut network = Network::bottleneck(kind, RATE_BPS, 1_000_000);
            network.down.loses = losing(move |n| lost.contains(&n));
            network.run_s(60.0);
            let state = state(&network);
            assert_eq!((state.retransmissions, state.probes, state.timeouts), expected, "{state:?}");
            assert_eq!((state.delivered_segments, state.in_flight_segments), (100, 0));
            assert_eq!(network.flows[0].next_event(), Time::NEVER);
        }
    }
}

#[test]
fn lost_acknowledgements_are_tolerated() {
    for tcp in [Tcp::default(), bbr()] {
        let mut network = Network::bottleneck(Kind::Greedy(tcp), RATE_BPS, 200_000);
        network.up.loses = losing_share(0.3, 5);
        network.run_s(20.0);
        let state = state(&network);
        assert!(utilization(&network) > 0.95, "{} {state:?}", utilization(&network));
        // when BBR probes the round-trip time, four segments have only two acknowledgements, and both may be lost
        assert!(state.timeouts <= u64::from(state.reductions == 0), "{state:?}");
        // the next acknowledgement repeats almost all SACK blocks of a lost one
        let needless = state.retransmissions - network.down.overflowed.min(state.retransmissions);
        assert!(needless <= 5, "{needless} of {}", state.retransmissions);
    }
}

#[test]
fn marks_reduce_window_without_loss() {
    let mut network = Network::bottleneck(Kind::Greedy(Tcp { ecn: true, ..Tcp::default() }), RATE_BPS, 200_000);
    network.down.mark_octets = 30_000;
    network.run_s(30.0);
    let state = state(&network);
    assert!(state.reductions > 5, "{state:?}");
    assert_eq!((network.down.overflowed, state.retransmissions), (0, 0));
    assert!(network.flows[0].counts().downlink.marked_packets >= state.reductions);
    assert!(network.down.max_queued_octets < 100_000, "{}", network.down.max_queued_octets);
    assert!(utilization(&network) > 0.97, "{}", utilization(&network));
}

#[test]
fn random_losses_slow_cubic_more_than_bbr() {
    let measure = |tcp| {
        let mut network = Network::bottleneck(Kind::Greedy(tcp), 30_000_000, 300_000);
        network.down.loses = losing_share(0.01, 3);
        network.run_s(30.0);
        assert!(state(&network).timeouts <= 2, "{:?}", state(&network));
        utilization(&network)
    };
    let (cubic, bbr) = (measure(Tcp::default()), measure(bbr()));
    assert!(cubic < 0.6 && bbr > 0.85, "{cubic} {bbr}");
}

#[test]
fn transfers_complete_over_bad_links() {
    let (mut timeouts, mut duplicates) = (0, 0);
    for seed in 0..60 {
        let mut random = Random::new(seed, 4);
        let tcp = [Tcp::default(), bbr(), plain(), Tcp { ecn: true, ..Tcp::default() }][seed as usize % 4].clone();
        let direction = [Direction::Down, Direction::Up, Direction::Both][seed as usize % 3];
        let kind = Kind::Transfer { octets: 3_000_000, tcp };
        let rate_bps = 2_000_000 + (random.uniform() * 30e6) as u64;
        let link = |random: &mut Random| {
            let mut link = Link::new(rate_bps, 20_000 + (random.uniform() * 300e3) as u64);
            link.mark_octets = 10_000 + (random.uniform() * 100e3) as u64;
            link.loses = losing_in_bursts(random.next_u64());
            let mut swaps = Random::new(random.next_u64(), 0);
            link.is_overtaken = Box::new(move || swaps.uniform() < 0.01);
            link
        };
        let (down, up) = (link(&mut random), link(&mut random));
        let specification = FlowSpecification { direction, ..FlowSpecification::new(kind) };
        let mut network = Network::new([specification], down, up);
        network.run_s(3_000.0);
        let flow = &network.flows[0];
        assert_eq!(flow.next_event(), Time::NEVER, "{seed}");
        assert_eq!(flow.counts().completed.count(), if direction == Direction::Both { 2 } else { 1 }, "{seed}");
        for state in [Direction::Down, Direction::Up].into_iter().filter_map(|way| flow.tcp(way)) {
            // 2142 full segments and one of 1200 octets
            assert_eq!((state.sent_segments, state.delivered_segments, state.in_flight_segments), (2143, 2143, 0));
            timeouts += state.timeouts;
        }
        duplicates += flow.counts().downlink.duplicate_packets + flow.counts().uplink.duplicate_packets;
    }
    // the links were bad enough to cause timeouts and spurious retransmissions
    assert!(timeouts > 100 && duplicates > 300, "{timeouts} {duplicates}");
}

/// Alternates between periods in which 0.1 % of the packets are lost, half of them, or all.
fn losing_in_bursts(seed: u64) -> Box<dyn FnMut(&Packet) -> bool> {
    let mut random = Random::new(seed, 1);
    let (mut until, mut share) = (Time::START, 0.0);
    Box::new(move |packet| {
        while until < packet.sent {
            let (mean_s, loss) = match random.uniform() {
                u if u < 0.6 => (0.5, 0.001),
                u if u < 0.9 => (0.1, 0.5),
                _ => (0.5, 1.0),
            };
            (until, share) = (until + Duration::from_secs_f64(random.exponential(mean_s)), loss);
        }
        random.uniform() < share
    })
}

#[test]
fn transfers_complete_in_both_directions() {
    for direction in [Direction::Down, Direction::Up, Direction::Both] {
        let kind = Kind::Transfer { octets: 1_000_001, tcp: Tcp::default() };
        let mut network = Network::ideal(FlowSpecification { direction, ..FlowSpecification::new(kind) });
        network.run_s(10.0);
        let flow = &network.flows[0];
        assert_eq!(flow.next_event(), Time::NEVER);
        // one end opens the connection, or both do: a SYN and a SYN-ACK each
        let handshakes = if direction == Direction::Both { 2 } else { 1 };
        let data = |counts: &crate::traffic::DirectionCounts, segments: u64| {
            let acknowledgements = counts.received_packets - handshakes - segments;
            counts.received_octets - handshakes * 60 - acknowledgements * 52
        };
        let counts = flow.counts();
        // 714 full segments and one of 401 octets, with headers
        let whole = 1_000_001 + 715 * 52;
        let (down, up) = (&counts.downlink, &counts.uplink);
        let (sent_down, sent_up) = (direction != Direction::Up, direction != Direction::Down);
        for (counts, sends) in [(down, sent_down), (up, sent_up)] {
            let (segments, octets) = if sends { (715, whole) } else { (0, 0) };
            assert_eq!(data(counts, segments), octets);
        }
        let transfers = if direction == Direction::Both { 2 } else { 1 };
        assert_eq!(counts.completed.count(), transfers);
        assert!(counts.completed.max_ms().unwrap() < 200.0, "{:?}", counts.completed.max_ms());
        for way in [Direction::Down, Direction::Up] {
            let sends = direction == way || direction == Direction::Both;
            assert_eq!(flow.tcp(way).map(|state| state.delivered_segments), sends.then_some(715));
        }
    }
}

/// The one-way delay is 5 ms.
#[test]
fn handshake_takes_round_trip_and_a_second_more_after_loss() {
    // segments, whether the SYN and the SYN-ACK are lost, and when the last segment arrives
    let cases = [
        // SYN at 0, SYN-ACK at 5, data at 10
        (1, false, false, 15.0),
        (10, false, false, 15.0),
        // the SYN is retransmitted after a second, whichever of the two was lost
        (1, true, false, 1015.0),
        (1, false, true, 1015.0),
        // the initial window is one segment: its acknowledgement is delayed by 40 ms and permits two more
        (3, true, false, 1065.0),
    ];
    for (segments, is_syn_lost, is_syn_ack_lost, completed_ms) in cases {
        for tcp in [Tcp::default(), bbr()] {
            // BBR paces: the initial window takes a third of a round trip
            let slack_ms = if tcp == bbr() { 4.0 } else { 0.0 };
            let kind = Kind::Transfer { octets: 1_400 * segments, tcp };
            let mut network = Network::ideal(FlowSpecification::new(kind));
            network.down.loses = losing(move |n| is_syn_lost && n == 0);
            network.up.loses = losing(move |n| is_syn_ack_lost && n == 0);
            network.run_s(3.0);
            let completed = network.flows[0].counts().completed.max_ms().unwrap();
            assert!((completed_ms..=completed_ms + slack_ms).contains(&completed), "{segments}: {completed}");
            assert_eq!((state(&network).retransmissions, state(&network).timeouts), (0, 0));
        }
    }
}

#[test]
fn sender_without_acknowledgements_backs_off() {
    for tcp in [Tcp::default(), bbr()] {
        let mut network = Network::bottleneck(Kind::Greedy(tcp), RATE_BPS, 200_000);
        network.run_s(1.0);
        network.up.loses = Box::new(|_| true);
        network.run_s(2.0);
        let (before, steps) = (state(&network), network.steps);
        network.run_s(1000.0);
        let after = state(&network);
        let timeouts = after.timeouts - before.timeouts;
        // the timeout doubles from about 0.2 s to 60 s: 8 timeouts, and then one per minute
        assert!((18..30).contains(&timeouts), "{timeouts}");
        assert_eq!(after.retransmissions - before.retransmissions, timeouts);
        assert!(network.steps - steps < 200, "{}", network.steps - steps);
        // the sender resumes when acknowledgements arrive again
        network.up.loses = Box::new(|_| false);
        network.run_s(1065.0);
        assert!(state(&network).delivered_segments > after.delivered_segments + 2_000);
    }
}

/// Packets that the RAN delivers by its own retransmissions are late, not lost.
#[test]
fn outage_without_losses_does_not_reduce_window() {
    for control in [Tcp::default().control, CongestionControl::Bbr] {
        // less than the buffer
        let tcp = Tcp { receive_window_octets: 60_000, control, ..Tcp::default() };
        let mut network = Network::bottleneck(Kind::Greedy(tcp), RATE_BPS, 200_000);
        network.run_s(2.0);
        let before = state(&network);
        network.down.blocked_until = Time::from_millis(2_500);
        network.run_s(2.6);
        let after = state(&network);
        assert_eq!((after.timeouts, after.spurious_timeouts, after.probes), (1, 1, 1), "{after:?}");
        // the first segment, and the probe if no new segment may be sent
        assert!((1..=2).contains(&after.retransmissions) && after.reductions == 0, "{after:?}");
        assert!(after.window_segments >= before.window_segments, "{before:?} {after:?}");
    }
    // the flow makes progress after any sequence of outages
    for seed in 0..20 {
        let mut random = Random::new(seed, 3);
        let tcp = if seed % 2 == 0 { Tcp::default() } else { bbr() };
        let mut network = Network::bottleneck(Kind::Greedy(tcp), RATE_BPS, 100_000);
        network.down.loses = losing_share(0.02, seed);
        for _ in 0..20 {
            network.run(network.now + Duration::from_secs_f64(random.exponential(0.3)), |_| {});
            let held = Duration::from_secs_f64(random.exponential(0.4));
            (network.down.blocked_until, network.up.blocked_until) = (network.now + held, network.now);
            if random.uniform() < 0.3 {
                network.up.blocked_until = network.now + held;
            }
        }
        let before = state(&network).delivered_segments;
        network.run(network.now + Duration::from_secs(30), |_| {});
        assert!(state(&network).delivered_segments > before + 2_000, "{seed}: {:?}", state(&network));
    }
}

#[test]
fn receive_window_bounds_segments_in_flight() {
    let tcp = Tcp { receive_window_octets: 7_000, ..Tcp::default() };
    let mut network = Network::bottleneck(Kind::Greedy(tcp), 1_000_000_000, 1_000_000);
    let mut max = 0;
    network.run(Time::from_millis(10_000), |network| {
        let state = network.flows[0].tcp(Direction::Down);
        max = max.max(state.map_or(0, |state| state.in_flight_segments));
    });
    assert_eq!(max, 5);
    // five segments per 10 ms, or less if the acknowledgement of the fifth is delayed
    let rate_bps = state(&network).delivered_segments as f64 * 1400.0 * 8.0 / 10.0;
    assert!((1.2e6..5.6e6).contains(&rate_bps), "{rate_bps}");
    // an unused congestion window does not grow
    assert!(state(&network).window_segments <= 11, "{:?}", state(&network));
}

/// The packets that a flow sends, in order.
fn output(seed: u64, tcp: &Tcp) -> Vec<(u64, Time, u32, Content)> {
    use super::link::tuple;
    use crate::FlowId;
    let specification = FlowSpecification::new(Kind::Greedy(tcp.clone()));
    let mut network = Network::bottleneck(Kind::Greedy(tcp.clone()), RATE_BPS, 100_000);
    network.flows[0] = Flow::new(FlowId(0), specification, tuple(), Random::new(seed, 0));
    let log = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let recorded = log.clone();
    let mut random = Random::new(seed, 1);
    network.down.loses = Box::new(move |packet| {
        recorded.borrow_mut().push((packet.number, packet.sent, packet.octets, packet.content.clone()));
        random.uniform() < 0.01
    });
    network.run_s(5.0);
    log.take()
}

#[test]
fn same_seed_gives_same_packets() {
    for tcp in [Tcp::default(), bbr()] {
        let first = output(11, &tcp);
        assert!(first.len() > 1000);
        assert!(first == output(11, &tcp));
        assert!(first != output(12, &tcp));
    }
}

#[test]
fn packets_are_conserved_and_windows_respected() {
    for seed in 0..18 {
        let mut random = Random::new(seed, 9);
        let tcp = if seed % 2 == 0 { Tcp::default() } else { bbr() };
        let window = tcp.receive_window();
        let rate_bps = 1_000_000 + (random.uniform() * 50e6) as u64;
        let buffer = 10_000 + (random.uniform() * 300e3) as u64;
        let direction = [Direction::Down, Direction::Up, Direction::Both][seed as usize % 3];
        let specification = FlowSpecification { direction, ..FlowSpecification::new(Kind::Greedy(tcp)) };
        let mut network = Network::new([specification], Link::new(rate_bps, buffer), Link::new(rate_bps, buffer));
        network.down.loses = losing_share(0.03 * random.uniform(), seed);
        network.up.loses = losing_share(0.1 * random.uniform(), seed + 100);
        let (mut sent, mut probes) = ([0; 2], [0; 2]);
        network.run(Time::from_millis(3_000), |network| {
            let counts = network.flows[0].counts();
            for (way, counts, link) in [(0, &counts.downlink, &network.down), (1, &counts.uplink, &network.up)] {
                let lost = link.lost + link.overflowed;
                assert!(counts.lost_packets <= lost, "{seed}");
                assert!(counts.received_packets + lost <= counts.sent_packets, "{seed}");
                let direction = [Direction::Down, Direction::Up][way];
                let Some(state) = network.flows[0].tcp(direction) else { continue };
                let now_sent = state.sent_segments + state.retransmissions;
                let is_within_window = state.in_flight_segments <= state.window_segments.max(1);
                // a probe ignores the window
                assert!(is_within_window || now_sent == sent[way] || state.probes > probes[way], "{seed} {state:?}");
                assert!(state.sent_segments - state.delivered_segments <= window, "{seed}");
                (sent[way], probes[way]) = (now_sent, state.probes);
            }
        });
        assert!(sent[0] + sent[1] > 300, "{seed} {sent:?}");
        // after the stop all packets in flight arrive, and no more are sent
        network.flows[0].stop(network.now);
        let sent = |network: &Network| network.flows[0].counts().downlink.sent_packets;
        let before = sent(&network);
        network.run_s(100.0);
        assert_eq!(sent(&network), before);
        let counts = network.flows[0].counts();
        for (counts, link) in [(&counts.downlink, &network.down), (&counts.uplink, &network.up)] {
            assert_eq!(counts.sent_packets, counts.received_packets + link.lost + link.overflowed, "{seed}");
        }
        assert_eq!(network.flows[0].next_event(), Time::NEVER);
    }
}

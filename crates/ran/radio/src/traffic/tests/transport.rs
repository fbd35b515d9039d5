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

/// The share of the rate that the link has carried.
fn use_of(network: &Network) -> f64 {
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
fn cubic_fills_the_buffer() {
    // 200 kB take 133 ms
    let mut network = Network::bottleneck(Kind::Greedy(Tcp::default()), RATE_BPS, 200_000);
    network.run_s(30.0);
    let (state, rtt) = (state(&network), &network.flows[0].counts().rtt);
    assert!(state.reductions >= 3 && state.timeouts == 0, "{state:?}");
    assert!((130.0..146.0).contains(&rtt.quantile_ms(0.99).unwrap()), "{:?}", rtt.max_ms());
    assert!(rtt.quantile_ms(0.5).unwrap() > 100.0, "{:?}", rtt.quantile_ms(0.5));
    assert!(use_of(&network) > 0.98, "{}", use_of(&network));
    // what was lost was sent again, and nothing else
    assert_eq!(state.retransmissions, network.down.overflowed);
}

#[test]
fn bbr_fills_the_link_and_not_the_buffer() {
    // 15 kB are the bandwidth-delay product; the buffer is a hundred times that
    let mut network = Network::bottleneck(Kind::Greedy(bbr()), RATE_BPS, 1_500_000);
    network.run_s(5.0);
    let startup_octets = network.down.most_queued_octets;
    network.down.most_queued_octets = 0;
    let mut least_window = u64::MAX;
    network.run(Time::from_millis(35_000), |network| least_window = least_window.min(state(network).window_segments));
    let (state, rtt) = (state(&network), &network.flows[0].counts().rtt);
    assert!(use_of(&network) > 0.95, "{} {state:?}", use_of(&network));
    assert_eq!((state.retransmissions, state.timeouts), (0, 0));
    // two products in flight, and the room for lumps, of which one product is on the way
    assert!(network.down.most_queued_octets < 40_000, "{}", network.down.most_queued_octets);
    assert!(startup_octets < 100_000, "{startup_octets}");
    assert!(rtt.quantile_ms(0.5).unwrap() < 30.0, "{:?}", rtt.quantile_ms(0.5));
    // it has looked at the empty path
    assert_eq!(least_window, 4);
    assert!((state.delivery_rate_bps / (12e6 * 1400.0 / 1452.0) - 1.0).abs() < 0.1, "{state:?}");
}

#[test]
fn hystart_ends_slow_start_before_the_buffer_is_full() {
    let lost_at_start = |tcp| {
        let mut network = Network::bottleneck(Kind::Greedy(tcp), RATE_BPS, 300_000);
        network.run_s(1.5);
        (network.down.overflowed, network.down.most_queued_octets)
    };
    let (plain_lost, plain_most) = lost_at_start(plain());
    let (lost, most) = lost_at_start(Tcp::default());
    assert!(plain_lost > 50 && plain_most > 298_000, "{plain_lost} {plain_most}");
    assert!(lost == 0 && most < 250_000, "{lost} {most}");
}

#[test]
fn two_flows_share_fairly() {
    for (tcp, least) in [(Tcp::default(), 0.35), (bbr(), 0.35)] {
        let first = FlowSpecification::new(Kind::Greedy(tcp.clone()));
        let second = FlowSpecification { start: Time::from_millis(3_000), ..first.clone() };
        let down = Link::new(RATE_BPS, 60_000);
        let mut network = Network::new([first, second], down, Link::new(0, u64::MAX));
        network.run_s(30.0);
        let had = |network: &Network, flow: usize| network.flows[flow].counts().downlink.received_octets as f64;
        let before = [0, 1].map(|flow| had(&network, flow));
        network.run_s(90.0);
        let [a, b] = [0, 1].map(|flow| had(&network, flow) - before[flow]);
        let share = a.min(b) / (a + b);
        assert!(share > least, "{tcp:?}: {share}");
        assert!(use_of(&network) > 0.95, "{tcp:?}");
    }
}

#[test]
fn what_is_lost_once_is_sent_again_once() {
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
fn a_lost_tail_is_found_by_a_probe_and_where_that_is_lost_by_the_timer() {
    for tcp in [Tcp::default(), bbr()] {
        // three are lost, the last of them is sent again and comes; then the others are
        // (the first packet opens the connection)
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
fn lost_acknowledgements_do_no_harm() {
    for tcp in [Tcp::default(), bbr()] {
        let mut network = Network::bottleneck(Kind::Greedy(tcp), RATE_BPS, 200_000);
        network.up.loses = losing_share(0.3, 5);
        network.run_s(20.0);
        let state = state(&network);
        assert!(use_of(&network) > 0.95, "{} {state:?}", use_of(&network));
        // when BBR looks at the empty path, four segments have but two acknowledgements, and both may be lost
        assert!(state.timeouts <= u64::from(state.reductions == 0), "{state:?}");
        // blocks of lost acknowledgements come again with the next, but for few
        let needless = state.retransmissions - network.down.overflowed.min(state.retransmissions);
        assert!(needless <= 5, "{needless} of {}", state.retransmissions);
    }
}

#[test]
fn marks_reduce_without_loss() {
    let mut network = Network::bottleneck(Kind::Greedy(Tcp { ecn: true, ..Tcp::default() }), RATE_BPS, 200_000);
    network.down.mark_octets = 30_000;
    network.run_s(30.0);
    let state = state(&network);
    assert!(state.reductions > 5, "{state:?}");
    assert_eq!((network.down.overflowed, state.retransmissions), (0, 0));
    assert!(network.flows[0].counts().downlink.marked_packets >= state.reductions);
    assert!(network.down.most_queued_octets < 100_000, "{}", network.down.most_queued_octets);
    assert!(use_of(&network) > 0.97, "{}", use_of(&network));
}

#[test]
fn random_losses_hurt_cubic_more_than_bbr() {
    let used = |tcp| {
        let mut network = Network::bottleneck(Kind::Greedy(tcp), 30_000_000, 300_000);
        network.down.loses = losing_share(0.01, 3);
        network.run_s(30.0);
        assert!(state(&network).timeouts <= 2, "{:?}", state(&network));
        use_of(&network)
    };
    let (cubic, bbr) = (used(Tcp::default()), used(bbr()));
    assert!(cubic < 0.6 && bbr > 0.85, "{cubic} {bbr}");
}

#[test]
fn transfers_end_whatever_happens_on_the_way() {
    let (mut timeouts, mut needless) = (0, 0);
    for seed in 0..60 {
        let mut random = Random::new(seed, 4);
        let tcp = [Tcp::default(), bbr(), plain(), Tcp { ecn: true, ..Tcp::default() }][seed as usize % 4].clone();
        let direction = [Direction::Down, Direction::Up, Direction::Both][seed as usize % 3];
        let kind = Kind::Transfer { octets: 3_000_000, tcp };
        let rate_bps = 2_000_000 + (random.uniform() * 30e6) as u64;
        let link = |random: &mut Random| {
            let mut link = Link::new(rate_bps, 20_000 + (random.uniform() * 300e3) as u64);
            link.mark_octets = 10_000 + (random.uniform() * 100e3) as u64;
            link.loses = losing_in_stretches(random.next_u64());
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
        needless += flow.counts().downlink.duplicate_packets + flow.counts().uplink.duplicate_packets;
    }
    // it was hard, and led to mistakes
    assert!(timeouts > 100 && needless > 300, "{timeouts} {needless}");
}

/// Good times and bad ones: 0.1 % are lost, then for a while half of them, or all.
fn losing_in_stretches(seed: u64) -> Box<dyn FnMut(&Packet) -> bool> {
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
fn transfers_end_in_both_directions() {
    for direction in [Direction::Down, Direction::Up, Direction::Both] {
        let kind = Kind::Transfer { octets: 1_000_001, tcp: Tcp::default() };
        let mut network = Network::ideal(FlowSpecification { direction, ..FlowSpecification::new(kind) });
        network.run_s(10.0);
        let flow = &network.flows[0];
        assert_eq!(flow.next_event(), Time::NEVER);
        // one opens the connection, or both do, with an answer each
        let opening = if direction == Direction::Both { 2 } else { 1 };
        let data = |counts: &crate::traffic::DirectionCounts, segments: u64| {
            let acknowledgements = counts.received_packets - opening - segments;
            counts.received_octets - opening * 60 - acknowledgements * 52
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

/// Each way takes 5 ms.
#[test]
fn opening_a_connection_takes_a_round_trip_and_where_it_is_lost_a_second_more() {
    // segments, whether the question and the answer are lost, and when the last segment comes
    let cases = [
        // asked at 0, answered at 5, sent at 10
        (1, false, false, 15.0),
        (10, false, false, 15.0),
        // asked again a second later, whichever of the two was lost
        (1, true, false, 1015.0),
        (1, false, true, 1015.0),
        // then one segment goes at first: its acknowledgement waits for 40 ms, and lets two out
        (3, true, false, 1065.0),
    ];
    for (segments, question, answer, completed_ms) in cases {
        for tcp in [Tcp::default(), bbr()] {
            // BBR paces: its first window takes a third of a round trip
            let slack_ms = if tcp == bbr() { 4.0 } else { 0.0 };
            let kind = Kind::Transfer { octets: 1_400 * segments, tcp };
            let mut network = Network::ideal(FlowSpecification::new(kind));
            network.down.loses = losing(move |n| question && n == 0);
            network.up.loses = losing(move |n| answer && n == 0);
            network.run_s(3.0);
            let completed = network.flows[0].counts().completed.max_ms().unwrap();
            assert!((completed_ms..=completed_ms + slack_ms).contains(&completed), "{segments}: {completed}");
            assert_eq!((state(&network).retransmissions, state(&network).timeouts), (0, 0));
        }
    }
}

#[test]
fn who_gets_no_answer_backs_off_and_does_not_spin() {
    for tcp in [Tcp::default(), bbr()] {
        let mut network = Network::bottleneck(Kind::Greedy(tcp), RATE_BPS, 200_000);
        network.run_s(1.0);
        network.up.loses = Box::new(|_| true);
        network.run_s(2.0);
        let (before, steps) = (state(&network), network.steps);
        network.run_s(1000.0);
        let after = state(&network);
        let timeouts = after.timeouts - before.timeouts;
        // from some 0.2 s doubling to 60 s: 8 and then one a minute
        assert!((18..30).contains(&timeouts), "{timeouts}");
        assert_eq!(after.retransmissions - before.retransmissions, timeouts);
        assert!(network.steps - steps < 200, "{}", network.steps - steps);
        // and goes on when it is there again
        network.up.loses = Box::new(|_| false);
        network.run_s(1065.0);
        assert!(state(&network).delivered_segments > after.delivered_segments + 2_000);
    }
}

/// What a RAN bridges by sending again below comes late, not never.
#[test]
fn an_outage_in_which_nothing_is_lost_costs_nothing_but_its_time() {
    for control in [Tcp::default().control, CongestionControl::Bbr] {
        // no more than the buffer holds
        let tcp = Tcp { receive_window_octets: 60_000, control, ..Tcp::default() };
        let mut network = Network::bottleneck(Kind::Greedy(tcp), RATE_BPS, 200_000);
        network.run_s(2.0);
        let before = state(&network);
        network.down.held_until = Time::from_millis(2_500);
        network.run_s(2.6);
        let after = state(&network);
        assert_eq!((after.timeouts, after.needless_timeouts, after.probes), (1, 1, 1), "{after:?}");
        // the first segment, and the probe where nothing new may be sent
        assert!((1..=2).contains(&after.retransmissions) && after.reductions == 0, "{after:?}");
        assert!(after.window_segments >= before.window_segments, "{before:?} {after:?}");
    }
    // whatever comes, and whenever: time goes on, and so does the flow
    for seed in 0..20 {
        let mut random = Random::new(seed, 3);
        let tcp = if seed % 2 == 0 { Tcp::default() } else { bbr() };
        let mut network = Network::bottleneck(Kind::Greedy(tcp), RATE_BPS, 100_000);
        network.down.loses = losing_share(0.02, seed);
        for _ in 0..20 {
            network.run(network.now + Duration::from_secs_f64(random.exponential(0.3)), |_| {});
            let held = Duration::from_secs_f64(random.exponential(0.4));
            (network.down.held_until, network.up.held_until) = (network.now + held, network.now);
            if random.uniform() < 0.3 {
                network.up.held_until = network.now + held;
            }
        }
        let before = state(&network).delivered_segments;
        network.run(network.now + Duration::from_secs(30), |_| {});
        assert!(state(&network).delivered_segments > before + 2_000, "{seed}: {:?}", state(&network));
    }
}

#[test]
fn a_receive_window_bounds_what_is_in_flight() {
    let tcp = Tcp { receive_window_octets: 7_000, ..Tcp::default() };
    let mut network = Network::bottleneck(Kind::Greedy(tcp), 1_000_000_000, 1_000_000);
    let mut most = 0;
    network.run(Time::from_millis(10_000), |network| {
        let state = network.flows[0].tcp(Direction::Down);
        most = most.max(state.map_or(0, |state| state.in_flight_segments));
    });
    assert_eq!(most, 5);
    // five segments each 10 ms, or less where the fifth is acknowledged late
    let rate_bps = state(&network).delivered_segments as f64 * 1400.0 * 8.0 / 10.0;
    assert!((1.2e6..5.6e6).contains(&rate_bps), "{rate_bps}");
    // a window that is never used does not grow
    assert!(state(&network).window_segments <= 11, "{:?}", state(&network));
}

/// What comes out of a flow, in order.
fn output(seed: u64, tcp: &Tcp) -> Vec<(u64, Time, u32, Content)> {
    use super::link::tuple;
    use crate::FlowId;
    let specification = FlowSpecification::new(Kind::Greedy(tcp.clone()));
    let mut network = Network::bottleneck(Kind::Greedy(tcp.clone()), RATE_BPS, 100_000);
    network.flows[0] = Flow::new(FlowId(0), specification, tuple(), Random::new(seed, 0));
    let log = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let seen = log.clone();
    let mut random = Random::new(seed, 1);
    network.down.loses = Box::new(move |packet| {
        seen.borrow_mut().push((packet.number, packet.sent, packet.octets, packet.content.clone()));
        random.uniform() < 0.01
    });
    network.run_s(5.0);
    log.take()
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    for tcp in [Tcp::default(), bbr()] {
        let first = output(11, &tcp);
        assert!(first.len() > 1000);
        assert!(first == output(11, &tcp));
        assert!(first != output(12, &tcp));
    }
}

#[test]
fn packets_are_conserved_and_windows_kept() {
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
                let may = state.in_flight_segments <= state.window_segments.max(1);
                // a probe goes whatever the window
                assert!(may || now_sent == sent[way] || state.probes > probes[way], "{seed} {state:?}");
                assert!(state.sent_segments - state.delivered_segments <= window, "{seed}");
                (sent[way], probes[way]) = (now_sent, state.probes);
            }
        });
        assert!(sent[0] + sent[1] > 300, "{seed} {sent:?}");
        // nothing new, and all that is on the way comes: nothing is left
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

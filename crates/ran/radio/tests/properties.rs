//! Invariants of a network under random changes: every packet is accounted for, slices receive their reservation, and the
//! same seed gives the same run.

use std::net::Ipv4Addr;
use std::num::NonZeroUsize;
use std::time::Duration;

use radio::mac::{Positions, Quota, Reservation};
use radio::phy::{Carrier, Channel, Direction, Duplex, Fixed, McsTable};
use radio::rlc::{Mode, RlcConfig, RlcCounts};
use radio::tc::{ClassifierChoice, Configuration, DisciplineChoice, PacerChoice, QueueConfiguration, QueueId};
use radio::traffic::{self, Flow, FlowSpecification, Kind, Tcp};
use radio::{
    CellConfig, DrxConfig, FiveTuple, HandoverConfig, HarqConfig, Network, Random, ShortCycle, Slicing, Subscription,
    Time, Ue, UeState,
};

const CELLS: usize = 3;
const UES: u64 = 12;

fn whole(random: &mut Random, below: u32) -> u32 {
    (random.uniform() * f64::from(below)) as u32
}

/// A random carrier, possibly a very small one.
fn carrier(random: &mut Random) -> Carrier {
    let lte = Carrier::lte();
    match whole(random, 7) {
        0 => Carrier { bandwidth_mhz: 1.4, uplink_control_prbs: 1, ..lte },
        1 => Carrier { duplex: Duplex::LteTdd { configuration: 1, special_subframe: 7 }, ..lte },
        2 => Carrier { numerology: 0, bandwidth_mhz: 5.0, duplex: Duplex::Fdd, ..Carrier::default() },
        3 => Carrier { numerology: 2, bandwidth_mhz: 10.0, uplink_control_prbs: 10, ..Carrier::default() },
        4 => Carrier { downlink_mcs: McsTable::Qam256, downlink_layers: 4, ..Carrier::default() },
        _ => Carrier::default(),
    }
}

fn harq(random: &mut Random) -> HarqConfig {
    match whole(random, 3) {
        0 => HarqConfig { processes: 1, transmissions: 1, decoding_slots: 16, round_trip_slots: 32 },
        1 => HarqConfig { processes: 3, transmissions: 8, decoding_slots: 1, round_trip_slots: 1 },
        _ => HarqConfig::default(),
    }
}

fn network(seed: u64, random: &mut Random) -> Network {
    let configs: Vec<CellConfig> = (0..CELLS)
        .map(|_| {
            let mode = if random.uniform() < 0.5 { Mode::Acknowledged } else { Mode::Unacknowledged };
            let discard = (random.uniform() < 0.3).then_some(Duration::from_millis(80));
            let rlc =
                RlcConfig { mode, discard, buffer_octets: 20_000 + whole(random, 200_000), ..RlcConfig::default() };
            CellConfig {
                rlc,
                carrier: carrier(random),
                harq: harq(random),
                request_period_slots: [1, 20, 77, 640][whole(random, 4) as usize],
                grant_slots: 1 + whole(random, 32) as u8,
                ..CellConfig::default()
            }
        })
        .collect();
    let mut network = Network::new(configs, HandoverConfig::default(), NonZeroUsize::MIN).unwrap();
    for number in 0..UES {
        let cell = number as usize % CELLS;
        let address = Ipv4Addr::new(10, 45, 0, 2 + number as u8);
        let channel = Channel::Fixed(Fixed::sinr(2.0 + 20.0 * random.uniform(), 2.0 + 15.0 * random.uniform()));
        let mut ue = Ue::new(
            number,
            Subscription::default(),
            address,
            channel,
            Random::new(seed, number),
            network.cell(cell).config(),
        );
        for port in 0..3 {
            let kind = match whole(random, 4) {
                0 => Kind::ConstantBitRate { rate_bps: 500_000, packet_octets: 700 },
                1 => Kind::Poisson { rate_bps: 4_000_000, packet_octets: 1300 },
                2 => Kind::Voip { echoed: true },
                _ => Kind::Greedy(Tcp::default()),
            };
            let is_tcp = kind.is_tcp();
            let direction = match whole(random, 3) {
                0 if !is_tcp => traffic::Direction::Both,
                1 => traffic::Direction::Up,
                _ => traffic::Direction::Down,
            };
            let specification = FlowSpecification { direction, ..FlowSpecification::new(kind) };
            if specification.check().is_err() {
                continue;
            }
            let protocol = if is_tcp { FiveTuple::TCP } else { FiveTuple::UDP };
            let source = Ipv4Addr::new(10, 0, 0, 1);
            let tuple = FiveTuple { source, destination: address, source_port: port, destination_port: port, protocol };
            ue.add_flow(|id, random| Flow::new(id, specification, tuple, random));
        }
        network.add(cell, ue, Time::START, None).unwrap();
    }
    network
}

/// A random action of a controller.
fn meddle(network: &mut Network, random: &mut Random) {
    let cell = whole(random, CELLS as u32) as usize;
    let direction = if random.uniform() < 0.7 { Direction::Downlink } else { Direction::Uplink };
    let now = network.cell(cell).now();
    match whole(random, 9) {
        0 => {
            let share = random.uniform();
            let reservations =
                vec![Reservation::Capacity(0.6 * share), Reservation::Rate { reserved_bps: 5e6, reference_bps: 50e6 }];
            let is_shared = random.uniform() < 0.7;
            let slicing = Slicing::Nvs { reservations, is_shared };
            network.cell_mut(cell).set_slicing(direction, slicing, &["RR", "MT"], "PF");
        }
        1 => {
            let positions = vec![Positions { low: 0, high: 3 }, Positions { low: 4, high: 9 }];
            let slicing = Slicing::Static { positions, group_prbs: 8 };
            network.cell_mut(cell).set_slicing(direction, slicing, &["PF", "PF"], "");
        }
        2 => network.cell_mut(cell).set_slicing(direction, Slicing::None, &[], "RR"),
        3 => {
            let mut tc = Configuration::default();
            for id in 1..=whole(random, 3) {
                let discipline =
                    if id == 1 { DisciplineChoice::Fifo } else { DisciplineChoice::CoDel(Default::default()) };
                tc.queues.push(QueueConfiguration::new(QueueId(id), discipline));
            }
            tc.classifier =
                if random.uniform() < 0.5 { ClassifierChoice::Stochastic } else { ClassifierChoice::RoundRobin };
            tc.pacer = if random.uniform() < 0.5 { PacerChoice::Bdp5g } else { PacerChoice::Off };
            // an invalid configuration is refused without an effect
            let _ = network.cell_mut(cell).set_traffic_control(&tc);
        }
        4 => {
            let place = network.cell(cell).ues().map(|(place, _)| place).next();
            let to = whole(random, CELLS as u32) as usize;
            if let Some(place) = place {
                let _ = network.hand_over(cell, place, to);
            }
        }
        5 => {
            let mut quota = || Quota {
                dedicated_percent: whole(random, 101),
                min_percent: whole(random, 101),
                max_percent: whole(random, 101),
            };
            let slicing = Slicing::Quotas(vec![quota(), quota(), quota()]);
            network.cell_mut(cell).set_slicing(direction, slicing, &["RR", "PF", "MT"], "RR");
        }
        6 | 7 => {
            let place = whole(random, UES as u32) as usize;
            if let Some(ue) = network.cell_mut(cell).ue_mut(place) {
                let bearer = 1 + whole(random, 32) as u8;
                ue.move_flows(bearer);
                ue.set_preference(bearer, (4.0 * random.uniform()) as f32);
                let short = Some(ShortCycle { cycle_ms: 2, cycles: 4 });
                let drx = [
                    None,
                    Some(DrxConfig { long_cycle_ms: 10, on_duration_ms: 1, inactivity_ms: 0, ..DrxConfig::default() }),
                    Some(DrxConfig { long_cycle_ms: 20, short, on_duration_ms: 1, ..DrxConfig::default() }),
                    Some(DrxConfig { retransmission_slots: 0, inactivity_ms: 1, ..DrxConfig::default() }),
                    Some(DrxConfig { long_cycle_ms: 640, ..DrxConfig::default() }),
                ];
                ue.set_drx(now, drx[whole(random, 5) as usize]);
            }
        }
        _ => {
            let is_locked = !network.cell(cell).is_locked() && random.uniform() < 0.3;
            network.cell_mut(cell).set_locked(is_locked);
            for place in 0..network.cell(cell).ue_indices() {
                network.cell_mut(cell).set_slice(place, direction, Some(whole(random, 3)));
            }
        }
    }
}

/// Checks in each cell that the packets of RLC are delivered, dropped, queued or in flight.
fn check_layers(network: &Network, seed: u64) {
    for cell in (0..CELLS).map(|cell| network.cell(cell)) {
        for (_, ue) in cell.ues() {
            for bearer in ue.bearers() {
                let totals = bearer.tc().totals();
                let accounted = totals.departed.octets + totals.waiting.octets + totals.dropped.octets;
                assert_eq!(totals.arrived.octets, accounted, "seed {seed}: traffic control of UE {}", ue.number());
                for rlc in [bearer.downlink(), bearer.uplink()] {
                    let counts = rlc.counts();
                    let pending = (rlc.in_flight().0 + rlc.waiting_packets()) as u64;
                    // the first queued SDU may be in flight in part
                    let rest = rest(counts);
                    assert!(rest == pending || rest + 1 == pending, "seed {seed}: {counts:?} and {pending}");
                }
            }
            for link in [ue.downlink().counts(), ue.uplink().counts()] {
                let done = link.rounds.iter().sum::<u64>() + link.lost_blocks;
                assert!(done <= link.blocks && link.blocks - done <= 32, "seed {seed}: {link:?}");
            }
        }
        for direction in [Direction::Downlink, Direction::Uplink] {
            let usage = cell.usage(direction);
            assert!(usage.used_elements <= usage.elements);
        }
    }
}

/// Packets that RLC has neither delivered nor dropped.
fn rest(counts: &RlcCounts) -> u64 {
    let accounted =
        counts.delivered_packets + counts.lost_packets + counts.buffer_full_packets + counts.discarded_packets;
    counts.in_packets - accounted
}

/// The packets of a UE that wait in each direction.
fn rests(ue: &Ue) -> [u64; 2] {
    let (mut down, mut up) = (0, 0);
    for bearer in ue.bearers() {
        down += bearer.tc().totals().waiting.packets + rest(bearer.downlink().counts());
        up += rest(bearer.uplink().counts());
    }
    [down, up]
}

/// Checks that each UE is in exactly one state.
fn check_states(network: &Network, seed: u64) {
    let mut numbers: Vec<u64> = network.ue_states().map(|(ue, _)| ue.number()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..UES).collect::<Vec<_>>(), "seed {seed}");
}

/// The blocks of each UE in its cell, in the downlink and the uplink.
fn blocks(network: &Network) -> Vec<[u64; 2]> {
    let mut blocks = vec![[0, 0]; UES as usize];
    for (_, ue) in (0..CELLS).flat_map(|cell| network.cell(cell).ues()) {
        blocks[ue.number() as usize] = [ue.downlink().counts().blocks, ue.uplink().counts().blocks];
    }
    blocks
}

fn run(seed: u64) -> Vec<String> {
    let mut random = Random::new(seed, 77);
    let mut network = network(seed, &mut random);
    for turn in 1..=40 {
        network.advance(Time::from_millis(50 * turn));
        check_layers(&network, seed);
        check_states(&network, seed);
        meddle(&mut network, &mut random);
    }
    // all flows stop, and queued packets are delivered
    network.advance(Time::from_millis(2100));
    for cell in 0..CELLS {
        let cell = network.cell_mut(cell);
        cell.set_locked(false);
        for direction in [Direction::Downlink, Direction::Uplink] {
            cell.set_slicing(direction, Slicing::None, &[], "");
        }
        let now = cell.now();
        for place in 0..cell.ue_indices() {
            let Some(ue) = cell.ue_mut(place) else { continue };
            ue.set_drx(now, None);
            (0..3).for_each(|flow| ue.stop_flow(now, radio::FlowId(flow)));
        }
    }
    network.advance(Time::from_millis(9_000));
    let before = blocks(&network);
    network.advance(Time::from_millis(12_000));
    let after = blocks(&network);
    for (_, ue) in (0..CELLS).flat_map(|cell| network.cell(cell).ues()) {
        // a backlog may remain on slow links, but it must shrink
        let rests = rests(ue);
        let number = ue.number() as usize;
        for (direction, rest) in rests.into_iter().enumerate() {
            let moves = after[number][direction] > before[number][direction];
            assert!(rest == 0 || moves, "seed {seed}: UE {number} is stuck");
        }
    }
    // the UEs are released, and their packets are lost
    (0..CELLS).for_each(|cell| network.cell_mut(cell).set_locked(true));
    network.advance(Time::from_millis(13_000));
    check_states(&network, seed);
    assert!(network.ue_states().all(|(_, state)| state == UeState::Released), "seed {seed}");
    let mut log = Vec::new();
    for number in 0..UES {
        // over all cells it was in
        let stays = (0..CELLS).flat_map(|cell| {
            let cell = network.cell(cell);
            (0..cell.ue_indices())
                .filter(|place| cell.ue_entry(*place).number == number)
                .filter_map(|place| cell.counts(place))
        });
        let (mut down_lost, mut up_lost) = (0, 0);
        for counts in stays {
            for (rlc, sum) in [(counts.dl_rlc, &mut down_lost), (counts.ul_rlc, &mut up_lost)] {
                *sum += rlc.lost_packets + rlc.buffer_full_packets + rlc.discarded_packets;
            }
            log.push(format!("{counts:?}"));
        }
        let (ue, _) = network.ue_states().find(|(ue, _)| ue.number() == number).expect("the UE is in the network");
        let dropped: u64 = ue.bearers().iter().map(|bearer| bearer.tc().totals().dropped.packets).sum();
        down_lost += ue.lost_between_cells(Direction::Downlink);
        up_lost += ue.lost_between_cells(Direction::Uplink);
        let flows = || ue.flows().iter().map(Flow::counts);
        let sum = |count: &dyn Fn(&traffic::FlowCounts) -> u64| flows().map(count).sum::<u64>();
        let [outside_down, outside_up] = ue
            .flows()
            .iter()
            .map(Flow::packets_outside_ran)
            .fold([0, 0], |[down, up], [d, u]| [down + d as u64, up + u as u64]);
        let sent = sum(&|flow| flow.downlink.sent_packets);
        let received = sum(&|flow| flow.downlink.received_packets);
        assert_eq!(sent, received + dropped + down_lost + outside_down, "seed {seed}: downlink of UE {number}");
        let sent = sum(&|flow| flow.uplink.sent_packets);
        let received = sum(&|flow| flow.uplink.received_packets);
        assert_eq!(sent, received + up_lost + outside_up, "seed {seed}: uplink of UE {number}");
    }
    log
}

#[test]
fn every_packet_is_accounted_for_under_random_changes() {
    for seed in 0..100 {
        run(seed);
    }
}

#[test]
fn same_seed_gives_same_run() {
    assert_eq!(run(1000), run(1000));
    assert_ne!(run(1000), run(1001));
}

/// A backlogged slice receives its share in each second, independent of the others.
#[test]
fn backlogged_slice_never_falls_below_its_share() {
    for seed in 0..10 {
        let mut random = Random::new(seed, 5);
        let configs = [CellConfig::default()];
        let mut network = Network::new(configs, HandoverConfig::default(), NonZeroUsize::MIN).unwrap();
        for number in 0..6 {
            let address = Ipv4Addr::new(10, 45, 0, 2 + number as u8);
            let (down, up) =
                (network.cell(0).adaptation(Direction::Downlink), network.cell(0).adaptation(Direction::Uplink));
            let channel = Channel::Fixed(Fixed::mcs((down, 5 + number as u8 * 3), (up, 10)));
            let random = Random::new(seed, number);
            let config = network.cell(0).config();
            let mut ue = Ue::new(number, Subscription::default(), address, channel, random, config);
            let kind = match number {
                0 => Kind::ConstantBitRate { rate_bps: 100_000_000, packet_octets: 1400 },
                1..=3 => Kind::OnOffVideo(traffic::OnOffVideo {
                    bitrate_bps: 20_000_000,
                    on_s: 1.0,
                    off_s: 1.0,
                    ..Default::default()
                }),
                _ => Kind::Poisson { rate_bps: 15_000_000, packet_octets: 1200 },
            };
            let source = Ipv4Addr::new(10, 0, 0, 1);
            let tuple = FiveTuple { source, destination: address, source_port: 1, destination_port: 1, protocol: 17 };
            ue.add_flow(|id, random| Flow::new(id, FlowSpecification::new(kind), tuple, random));
            network.add(0, ue, Time::START, None).unwrap();
        }
        let share = 0.2 + 0.6 * random.uniform();
        let rest = 1.0 - share;
        let reservations = [share, 0.6 * rest, 0.4 * rest].map(Reservation::Capacity).to_vec();
        network.advance(Time::from_millis(500));
        let cell = network.cell_mut(0);
        let slicing = Slicing::Nvs { reservations, is_shared: true };
        cell.set_slicing(Direction::Downlink, slicing, &["PF", "RR", "MT"], "");
        (0..6).for_each(|place| cell.set_slice(place, Direction::Downlink, Some((place as u32).div_ceil(2).min(2))));
        // the capacity of the cell for that UE alone, because slots differ in length
        let pattern = network.cell(0).grid().pattern().to_vec();
        let blocks = network.cell(0).blocks(Direction::Downlink);
        let mcs = network.cell(0).ue(0).unwrap().downlink().mcs();
        let whole: u32 =
            pattern.iter().filter(|(down, _)| *down > 0).map(|(down, _)| blocks.octets(mcs, 106, *down)).sum();
        let whole_per_s = f64::from(whole) * 2000.0 / pattern.len() as f64;
        let octets = |network: &Network| network.cell(0).counts(0).unwrap().dl.block_octets;
        let mut before = octets(&network);
        for second in 1..=10 {
            network.advance(Time::from_millis(500 + 1000 * second));
            let received = (octets(&network) - before) as f64 / whole_per_s;
            assert!(received > share - 0.02, "seed {seed}, second {second}: {received} of {share}");
            before = octets(&network);
        }
    }
}

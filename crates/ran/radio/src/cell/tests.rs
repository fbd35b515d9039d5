//! The throughput of a cell, and the effects of slices, queues and HARQ.

mod delegation;

use std::net::Ipv4Addr;
use std::time::Duration;

use super::*;
use crate::mac::Reservation;
use crate::phy::{Carrier, Channel, Fixed as FixedChannel};
use crate::rlc::{Mode, RlcConfig};
use crate::traffic::{CongestionControl, Flow, FlowSpecification, Kind, Tcp};
use crate::{DrxConfig, FiveTuple, FlowId, Random, ShortCycle};

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

fn tuple(ue: &Ue, port: u16, protocol: u8) -> FiveTuple {
    FiveTuple { source: SERVER, destination: ue.address(), source_port: port, destination_port: port, protocol }
}

fn add(ue: &mut Ue, port: u16, kind: Kind, start: Time) -> FlowId {
    let protocol = if matches!(kind, Kind::Greedy(_)) { FiveTuple::TCP } else { FiveTuple::UDP };
    let tuple = tuple(ue, port, protocol);
    ue.add_flow(|id, random| Flow::new(id, FlowSpecification { start, ..FlowSpecification::new(kind) }, tuple, random))
}

fn ue(cell: &Cell, number: u64, mcs: u8) -> Ue {
    let of = |direction| (cell.adaptation(direction), mcs);
    let channel = Channel::Fixed(FixedChannel::mcs(of(Direction::Downlink), of(Direction::Uplink)));
    let address = Ipv4Addr::new(10, 45, 0, 2 + number as u8);
    Ue::new(number, Subscription::default(), address, channel, Random::new(1, number), cell.config())
}

/// A cell with UEs at MCS 20 that each receive a constant bit rate.
fn busy(config: CellConfig, ues: u64, bits_per_second: u64) -> Cell {
    let mut cell = Cell::new(config).unwrap();
    for number in 0..ues {
        let mut ue = ue(&cell, number, 20);
        add(&mut ue, 5001, Kind::ConstantBitRate { rate_bps: bits_per_second, packet_octets: 1400 }, Time::START);
        cell.arrive(Box::new(ue));
    }
    cell
}

/// The downlink throughput of each UE over some seconds, in Mbit/s.
fn mbps(cell: &mut Cell, seconds: u64) -> Vec<f64> {
    let octets = |cell: &Cell| -> Vec<u64> {
        cell.ues().map(|(_, ue)| ue.bearers()[0].downlink().counts().delivered_octets).collect()
    };
    let before = octets(cell);
    cell.advance(cell.now() + Duration::from_secs(seconds));
    octets(cell).iter().zip(before).map(|(after, before)| (after - before) as f64 * 8e-6 / seconds as f64).collect()
}

fn nvs(shares: &[f64], is_shared: bool) -> Slicing {
    Slicing::Nvs { reservations: shares.iter().map(|share| Reservation::Capacity(*share)).collect(), is_shared }
}

fn set_slices(cell: &mut Cell, slicing: Slicing, of_ues: &[u32]) {
    let count = of_ues.iter().max().map_or(0, |most| *most as usize + 1);
    cell.set_slicing(Direction::Downlink, slicing, &vec!["PF"; count], "");
    for (index, slice) in of_ues.iter().enumerate() {
        cell.set_slice(index, Direction::Downlink, Some(*slice));
    }
}

#[test]
fn paper_cell_carries_sixty_megabits() {
    let mut cell = busy(CellConfig::default(), 2, 60_000_000);
    // wait until the first packets have crossed the core
    mbps(&mut cell, 1);
    let before = *cell.usage(Direction::Downlink);
    let each = mbps(&mut cell, 4);
    let sum: f64 = each.iter().sum();
    assert!((55.0..65.0).contains(&sum), "{sum} Mbit/s over 106 PRBs at MCS 20");
    assert!((each[0] - each[1]).abs() < 0.02 * sum, "{each:?}");
    let usage = cell.usage(Direction::Downlink).since(&before);
    assert!(usage.used_share() > 0.999);
}

/// FlexRIC paper, Fig. 13: a UE keeps half or two thirds of the cell when others arrive; idle slots are shared or unused.
#[test]
fn slices_are_isolated_or_share_unused_slots() {
    let mut cell = busy(CellConfig::default(), 2, 60_000_000);
    mbps(&mut cell, 1);
    let all: f64 = mbps(&mut cell, 2).iter().sum();
    let mut third = ue(&cell, 2, 20);
    add(&mut third, 5001, Kind::ConstantBitRate { rate_bps: 60_000_000, packet_octets: 1400 }, cell.now());
    cell.arrive(Box::new(third));
    let share = |cell: &mut Cell| mbps(cell, 3)[0] / all;
    assert!((share(&mut cell) - 1.0 / 3.0).abs() < 0.02, "three UEs have equal shares");
    set_slices(&mut cell, nvs(&[0.5, 0.5], true), &[0, 1, 1]);
    assert!((share(&mut cell) - 0.5).abs() < 0.02);
    set_slices(&mut cell, nvs(&[0.66, 0.34], true), &[0, 1, 1]);
    assert!((share(&mut cell) - 0.66).abs() < 0.02);
    for index in [1, 2] {
        let now = cell.now();
        cell.ue_mut(index).unwrap().stop_flow(now, FlowId(0));
    }
    // first the queued packets are served
    mbps(&mut cell, 2);
    assert!(share(&mut cell) > 0.95, "idle slots are shared");
    set_slices(&mut cell, nvs(&[0.66, 0.34], false), &[0, 1, 1]);
    assert!((share(&mut cell) - 0.66).abs() < 0.02);
    cell.set_slicing(Direction::Downlink, Slicing::None, &[], "");
    assert!(share(&mut cell) > 0.95);
}

/// FlexRIC paper, Fig. 11: a greedy flow fills the RLC buffer and delays a call. A separate queue for the call and a pacer that
/// keeps the RLC buffer short reduce its delay, and the cell remains fully used.
#[test]
fn separate_queue_and_pacer_keep_call_delay_low() {
    let call_rtt_ms = |is_controlled: bool| {
        let mut cell = Cell::new(CellConfig::default()).unwrap();
        let mut ue = ue(&cell, 0, 20);
        let call = add(&mut ue, 5060, Kind::Voip { echoed: true }, Time::START);
        let cubic = Tcp { control: CongestionControl::default(), ..Tcp::default() };
        add(&mut ue, 5001, Kind::Greedy(cubic), Time::from_millis(2000));
        if is_controlled {
            let of_call = tc::FlowPattern { protocol: Some(17), destination_port: Some(5060), ..Default::default() };
            let mut tc = tc::Configuration::default();
            tc.queues.push(tc::QueueConfiguration::new(tc::QueueId(1), tc::DisciplineChoice::Fifo));
            tc.classifier =
                tc::ClassifierChoice::Osi(vec![tc::OsiFilter { id: 0, flow: of_call, queue: tc::QueueId(1) }]);
            tc.pacer = tc::PacerChoice::Bdp5g;
            cell.set_traffic_control(&tc).unwrap();
        }
        cell.arrive(Box::new(ue));
        cell.advance(Time::from_millis(4000));
        let before = *cell.usage(Direction::Downlink);
        cell.advance(Time::from_millis(20_000));
        let usage = cell.usage(Direction::Downlink).since(&before);
        let rtt_ms = cell.ue(0).unwrap().flows()[call.0 as usize].counts().rtt.quantile_ms(0.5).unwrap();
        (rtt_ms, usage.used_share())
    };
    let (bloated, full) = call_rtt_ms(false);
    let (saved, also_full) = call_rtt_ms(true);
    assert!(bloated > 4.0 * saved, "{bloated} ms, and {saved} ms with control");
    assert!(full > 0.95 && also_full > 0.95, "{full} and {also_full} of the blocks are used");
}

#[test]
fn same_seed_gives_same_run() {
    let run = |seed: u64| {
        let mut cell = Cell::new(CellConfig::default()).unwrap();
        for number in 0..8 {
            let channel = Channel::Fixed(FixedChannel::sinr(8.0 + number as f64, 5.0));
            let address = Ipv4Addr::new(10, 45, 0, 2 + number as u8);
            let random = Random::new(seed, number);
            let mut ue = Ue::new(number, Subscription::default(), address, channel, random, cell.config());
            add(&mut ue, 5001, Kind::Poisson { rate_bps: 8_000_000, packet_octets: 900 }, Time::START);
            cell.arrive(Box::new(ue));
        }
        cell.advance(Time::from_millis(1000));
        (0..8).map(|index| cell.counts(index).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

/// HARQ on a bad channel: every block is decoded or abandoned, the sums agree, and RLC retransmits the rest.
#[test]
fn harq_counters_balance() {
    let mut cell = Cell::new(CellConfig::default()).unwrap();
    let mut link =
        FixedChannel::mcs((cell.adaptation(Direction::Downlink), 10), (cell.adaptation(Direction::Uplink), 10));
    link.downlink.block_error_rate = Some(0.4);
    link.uplink.block_error_rate = Some(0.4);
    let address = Ipv4Addr::new(10, 45, 0, 2);
    let random = Random::new(3, 0);
    let mut ue = Ue::new(0, Subscription::default(), address, Channel::Fixed(link), random, cell.config());
    let call = add(&mut ue, 7, Kind::Echo { interval_ms: 10.0, packet_octets: 200 }, Time::START);
    add(&mut ue, 5001, Kind::ConstantBitRate { rate_bps: 5_000_000, packet_octets: 1400 }, Time::START);
    cell.arrive(Box::new(ue));
    cell.advance(Time::from_millis(10_000));
    for flow in [call, FlowId(1)] {
        let now = cell.now();
        cell.ue_mut(0).unwrap().stop_flow(now, flow);
    }
    cell.advance(Time::from_millis(11_000));
    let counts = cell.counts(0).unwrap();
    for (link, rlc) in [(counts.dl, counts.dl_rlc), (counts.ul, counts.ul_rlc)] {
        let understood: u64 = link.rounds.iter().sum();
        assert_eq!(link.blocks, understood + link.lost_blocks, "{link:?}");
        assert!(link.rounds[0] > link.rounds[1] && link.rounds[1] > link.rounds[2] && link.lost_blocks > 0);
        // the error rate of each transmission is 0.4
        let first = link.rounds[0] as f64 / link.blocks as f64;
        assert!((first - 0.6).abs() < 0.05, "{first}");
        assert!((link.lost_blocks as f64 / link.blocks as f64 - 0.4f64.powi(4)).abs() < 0.02);
        assert!(rlc.retransmitted_pdus > 0 && rlc.received_pdus < rlc.sent_pdus);
        assert_eq!(rlc.received_octets, rlc.delivered_octets);
        assert_eq!((rlc.delivered_packets, rlc.lost_packets), (rlc.in_packets, 0));
        assert_eq!(rlc.delivered_octets, rlc.in_octets);
    }
}

/// A round trip includes the delays of a scheduling request and a grant.
#[test]
fn uplink_needs_scheduling_request() {
    for number in [0, 1, 250] {
        let mut cell = Cell::new(CellConfig::default()).unwrap();
        let mut ue = ue(&cell, number, 20);
        let ping = add(&mut ue, 7, Kind::Echo { interval_ms: 100.3, packet_octets: 100 }, Time::START);
        let delay_ms = 2.0 * ue.flows()[0].specification().one_way_delay_ms;
        cell.arrive(Box::new(ue));
        cell.advance(Time::from_millis(60_000));
        let rtt = &cell.ue(0).unwrap().flows()[ping.0 as usize].counts().rtt;
        let (min, median, max) = (rtt.min_ms().unwrap(), rtt.quantile_ms(0.5).unwrap(), rtt.max_ms().unwrap());
        // request occasions are 10 ms apart, in uplink slots; the grant and its transmission take some slots more
        assert!(min - delay_ms > 3.0 && (8.0..20.0).contains(&(median - delay_ms)), "UE {number}: {median} ms");
        assert!(max - delay_ms < 40.0, "UE {number}: {max} ms");
    }
}

/// With few HARQ processes, many lost blocks, and frequent or rare scheduling requests, all grants are used and all data of a
/// UE is delivered.
#[test]
fn uplink_never_stalls_under_block_errors() {
    for (processes, transmissions, request_period_slots, fdd) in
        [(1, 1, 1, true), (1, 4, 20, true), (2, 8, 640, true), (1, 2, 7, false), (16, 1, 1, false)]
    {
        let harq = HarqConfig { processes, transmissions, ..HarqConfig::default() };
        let mut carrier = Carrier::default();
        if fdd {
            carrier.duplex = crate::phy::Duplex::Fdd;
        }
        let mut cell = Cell::new(CellConfig { carrier, harq, request_period_slots, ..CellConfig::default() }).unwrap();
        let mut link =
            FixedChannel::mcs((cell.adaptation(Direction::Downlink), 10), (cell.adaptation(Direction::Uplink), 10));
        link.uplink.block_error_rate = Some(0.3);
        let address = Ipv4Addr::new(10, 45, 0, 2);
        let random = Random::new(3, 0);
        let mut ue = Ue::new(0, Subscription::default(), address, Channel::Fixed(link), random, cell.config());
        for (port, kind) in [
            (1, Kind::ConstantBitRate { rate_bps: 500_000, packet_octets: 1400 }),
            (2, Kind::Poisson { rate_bps: 40_000, packet_octets: 100 }),
        ] {
            let tuple = tuple(&ue, port, FiveTuple::UDP);
            let direction = crate::traffic::Direction::Up;
            let specification = FlowSpecification { direction, ..FlowSpecification::new(kind) };
            ue.add_flow(|id, random| Flow::new(id, specification, tuple, random));
        }
        cell.arrive(Box::new(ue));
        for second in 1..=10 {
            cell.advance(Time::from_millis(1000 * second));
            let (usage, counts) = (cell.usage(Direction::Uplink), cell.counts(0).unwrap());
            let elements = u64::from(cell.blocks(Direction::Uplink).full_elements());
            let in_flight = elements * u64::from(cell.config().grant_slots) * u64::from(cell.prbs(Direction::Uplink));
            assert!(usage.used_elements - counts.ul.elements <= in_flight, "{harq:?}: grants are lost");
            let waiting = cell.ue(0).unwrap().bearers()[0].uplink().waiting_octets();
            assert!(waiting < 60_000, "{harq:?}: {waiting} octets wait after {second} s");
        }
        let now = cell.now();
        (0..2).for_each(|flow| cell.ue_mut(0).unwrap().stop_flow(now, FlowId(flow)));
        cell.advance(Time::from_millis(12_000));
        let rlc = cell.counts(0).unwrap().ul_rlc;
        assert_eq!((rlc.delivered_packets, rlc.lost_packets), (rlc.in_packets, 0), "{harq:?}");
    }
}

/// A controller moves flows from bearer to bearer, and the large buffer of each fills: the backlog of the UE exceeds 32 bits.
#[test]
fn buffer_status_of_many_full_bearers_saturates() {
    let rlc = RlcConfig { buffer_octets: 1_000_000_000, ..RlcConfig::default() };
    let mut cell = Cell::new(CellConfig { rlc, ..CellConfig::default() }).unwrap();
    let mut ue = ue(&cell, 0, 20);
    let packet = crate::Packet {
        flow: FlowId(u32::MAX),
        tuple: tuple(&ue, 1, FiveTuple::UDP),
        octets: 900_000_000,
        ecn: crate::Ecn::NotEct,
        dscp: 0,
        number: 0,
        sent: Time::START,
        entered: Time::START,
        content: crate::Content::Filler,
    };
    for bearer in 1..=6 {
        ue.move_flows(bearer);
        assert!(ue.push_uplink(Time::START, packet.clone()));
    }
    cell.arrive(Box::new(ue));
    cell.advance(Time::from_millis(200));
    assert_eq!(cell.ue(0).unwrap().uplink_demand(cell.now()), u32::MAX);
    assert!(cell.counts(0).unwrap().ul_rlc.received_octets > 100_000);
}

#[test]
fn locked_cell_schedules_no_ue() {
    let mut cell = busy(CellConfig::default(), 2, 1_000_000);
    cell.set_locked(true);
    assert_eq!(mbps(&mut cell, 1), [0.0, 0.0]);
    cell.set_locked(false);
    assert!(mbps(&mut cell, 1).iter().all(|rate| *rate > 1.0));
}

#[test]
fn lte_and_fdd_carry_traffic() {
    for carrier in [Carrier::lte(), Carrier { duplex: crate::phy::Duplex::Fdd, ..Carrier::default() }] {
        let mut cell = busy(CellConfig { carrier, ..CellConfig::default() }, 2, 100_000_000);
        let all: f64 = mbps(&mut cell, 2).iter().sum();
        assert!(all > 15.0, "{all} Mbit/s");
        set_slices(&mut cell, nvs(&[0.75, 0.25], true), &[0, 1]);
        let share = mbps(&mut cell, 3)[0] / all;
        assert!((share - 0.75).abs() < 0.02, "{share}");
    }
}

/// A configuration that one UE's bearer refuses is applied to none, not even to those checked before it.
#[test]
fn traffic_control_is_reconfigured_for_all_ues_or_none() {
    use crate::tc::{ClassifierChoice, DisciplineChoice, FlowPattern, OsiFilter, PacerChoice, QueueId};

    let queue = |id| tc::QueueConfiguration::new(QueueId(id), DisciplineChoice::Fifo);
    let flow = FlowPattern { destination_port: Some(5001), ..FlowPattern::default() };
    let filter = OsiFilter { id: 0, flow, queue: QueueId(1) };
    let both = tc::Configuration {
        classifier: ClassifierChoice::Osi(vec![filter]),
        queues: vec![queue(0), queue(1)],
        pacer: PacerChoice::Bdp5g,
        ..tc::Configuration::default()
    };
    let mut cell = Cell::new(CellConfig { tc: both.clone(), ..CellConfig::default() }).unwrap();
    let idle = ue(&cell, 0, 20);
    cell.arrive(Box::new(idle));
    let mut busy = ue(&cell, 1, 20);
    add(&mut busy, 5001, Kind::ConstantBitRate { rate_bps: 100_000_000, packet_octets: 1400 }, Time::START);
    cell.arrive(Box::new(busy));
    cell.advance(Time::from_millis(500));
    let waiting = |cell: &Cell| cell.ue(1).unwrap().bearers()[0].tc().counts(QueueId(1)).unwrap().waiting;
    let before = waiting(&cell);
    let one = tc::Configuration {
        queues: vec![tc::QueueConfiguration { limit_octets: 10_000, ..queue(0) }],
        ..tc::Configuration::default()
    };
    let refused = cell.set_traffic_control(&one).unwrap_err();
    assert!(
        matches!(refused, tc::ConfigurationError::FirstQueueFull { octets, room_octets: 10_000, .. } if octets == before.octets)
    );
    assert_eq!(waiting(&cell), before);
    assert_eq!(cell.config().tc, both);
    assert!(cell.ues().flat_map(|(_, ue)| ue.bearers()).all(|bearer| *bearer.tc().configuration() == both));
    let roomy = tc::Configuration { queues: vec![queue(0)], ..tc::Configuration::default() };
    cell.set_traffic_control(&roomy).unwrap();
    assert!(cell.ues().flat_map(|(_, ue)| ue.bearers()).all(|bearer| *bearer.tc().configuration() == roomy));
}

/// A cell skips idle UEs without an effect on the result. A UE that a caller may have changed is processed in the next slot.
#[test]
fn idle_ues_lose_no_events() {
    let run = |mode, is_accessed| {
        let rlc = RlcConfig { mode, discard: Some(Duration::from_millis(30)), ..RlcConfig::default() };
        let mut cell = Cell::new(CellConfig { rlc, ..CellConfig::default() }).unwrap();
        for number in 0..24 {
            let mut ue = ue(&cell, number, 5);
            ue.set_channel(Channel::Fixed(FixedChannel::sinr(10.0 + number as f64, 8.0 + number as f64)));
            let short = Some(ShortCycle { cycle_ms: 5, cycles: 3 });
            let drx =
                DrxConfig { long_cycle_ms: 40, short, on_duration_ms: 2, inactivity_ms: 5, ..DrxConfig::default() };
            let long = DrxConfig { long_cycle_ms: 64, short: None, ..drx };
            ue.set_drx(Time::START, [None, Some(drx), Some(long)][number as usize % 3]);
            let kind = match number % 4 {
                0 => Kind::Transfer { octets: 40_000, tcp: Tcp::default() },
                1 => Kind::Echo { interval_ms: 17.7 + number as f64, packet_octets: 300 },
                _ => Kind::keep_alive(0.1),
            };
            add(&mut ue, 5001, kind, Time::from_millis(10 * number));
            cell.arrive(Box::new(ue));
        }
        let mut waiting = Vec::new();
        for slot in 0..4000 {
            // packets that wait too long while the cell is locked are discarded
            cell.set_locked(slot % 200 > 140);
            if is_accessed {
                (0..24).for_each(|index| assert!(cell.ue_mut(index).is_some()));
            }
            cell.step();
            let up = cell.ues().map(|(_, ue)| ue.bearers()[0].uplink().waiting_packets());
            waiting.push(up.sum::<usize>());
        }
        ((0..24).map(|index| cell.counts(index).unwrap()).collect::<Vec<_>>(), waiting)
    };
    for mode in [Mode::Acknowledged, Mode::Unacknowledged] {
        let (counts, waiting) = run(mode, true);
        assert!(counts.iter().filter(|counts| counts.dl.blocks > 0 && counts.ul.blocks > 0).count() > 12);
        assert!(counts.iter().any(|counts| counts.ul_rlc.discarded_packets > 0));
        assert!((counts, waiting) == run(mode, false), "{mode:?}");
    }
}

/// A HARQ process is reused after the feedback of its block: with few processes, a UE waits for feedback.
#[test]
fn harq_processes_bound_blocks_in_flight() {
    let blocks_per_s = |processes: u8| {
        let carrier = Carrier { duplex: crate::phy::Duplex::Fdd, ..Carrier::default() };
        let harq = HarqConfig { processes, ..HarqConfig::default() };
        let mut cell = busy(CellConfig { carrier, harq, ..CellConfig::default() }, 1, 200_000_000);
        cell.advance(Time::from_millis(500));
        let before = cell.ue(0).unwrap().downlink().counts().blocks;
        cell.advance(Time::from_millis(1500));
        cell.ue(0).unwrap().downlink().counts().blocks - before
    };
    // the feedback arrives 8 slots after the block; a second has 2000 slots
    assert_eq!([1, 2, 7, 8, 16].map(blocks_per_s), [250, 500, 1750, 2000, 2000]);
}

/// A lost block is retransmitted after a HARQ round trip in either direction, which includes the grant in the uplink.
#[test]
fn lost_block_is_retransmitted_after_round_trip() {
    for (grant_slots, uplink) in [(4, 8), (1, 8), (7, 9)] {
        let carrier = Carrier { duplex: crate::phy::Duplex::Fdd, ..Carrier::default() };
        // one block at a time
        let harq = HarqConfig { processes: 1, ..HarqConfig::default() };
        let mut cell = Cell::new(CellConfig { carrier, harq, grant_slots, ..CellConfig::default() }).unwrap();
        let mut lossy = ue(&cell, 0, 10);
        let link = crate::phy::Link { mcs: Some(10), block_error_rate: Some(1.0), ..crate::phy::Link::of_sinr(10.0) };
        lossy.set_channel(Channel::Fixed(FixedChannel {
            downlink: link,
            uplink: link,
            ..FixedChannel::sinr(0.0, 0.0)
        }));
        add(&mut lossy, 5001, Kind::Echo { interval_ms: 200.0, packet_octets: 40 }, Time::START);
        let kind = Kind::ConstantBitRate { rate_bps: 1_000, packet_octets: 40 };
        let direction = crate::traffic::Direction::Up;
        let specification = FlowSpecification { direction, ..FlowSpecification::new(kind) };
        let tuple = tuple(&lossy, 5002, FiveTuple::UDP);
        lossy.add_flow(|id, random| Flow::new(id, specification, tuple, random));
        cell.arrive(Box::new(lossy));
        // the slots of all transmissions; each block is transmitted four times
        let mut sent = [Vec::new(), Vec::new()];
        let mut prbs = [0; 2];
        for slot in 0..4000 {
            cell.step();
            let ue = cell.ue(0).unwrap();
            for ((sent, prbs), link) in sent.iter_mut().zip(&mut prbs).zip([ue.downlink(), ue.uplink()]) {
                let before = std::mem::replace(prbs, link.counts().elements);
                sent.extend((before != *prbs).then_some(slot));
            }
        }
        for (sent, round_trip) in sent.iter().zip([8, uplink]) {
            assert!(sent.len() >= 8, "{sent:?}");
            for four in sent.chunks_exact(4) {
                let apart: Vec<i32> = four.windows(2).map(|pair| pair[1] - pair[0]).collect();
                assert_eq!(apart, [round_trip; 3], "{grant_slots}: {four:?}");
            }
        }
    }
}

#[test]
fn lost_downlink_is_answered_with_nacks_and_costs_throughput() {
    // at a fixed MCS, without losses
    let config = CellConfig { outer_loop: None, ..CellConfig::default() };
    let failed = |cell: &Cell| cell.ue(0).map_or(0, |ue| ue.downlink().counts().failed_transmissions);
    let mut cell = busy(config, 1, 60_000_000);
    mbps(&mut cell, 1);
    assert_eq!((failed(&cell), cell.lost_transmissions()), (0, 0));
    let whole = mbps(&mut cell, 1)[0];
    let before = cell.ue(0).unwrap().bearers()[0].downlink().counts().delivered_octets;
    for slot in 0..2000 {
        if slot % 4 == 0 {
            cell.lose_next_downlink();
        }
        cell.step();
    }
    let lost = cell.lost_transmissions();
    assert!(lost > 100 && failed(&cell) == lost, "{lost} {}", failed(&cell));
    let delivered = cell.ue(0).unwrap().bearers()[0].downlink().counts().delivered_octets - before;
    assert!((delivered as f64 * 8e-6) < 0.9 * whole, "{delivered} octets, {whole} Mbit/s before");
}

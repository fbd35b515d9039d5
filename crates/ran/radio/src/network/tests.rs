//! Arrivals, departures and handovers of UEs, independent of the number of threads.

use std::net::Ipv4Addr;

mod administrative;
mod energy;
mod measurement;
mod recovery;

use super::*;
use crate::UeEntry;
use std::sync::Arc;

use crate::phy::{Area, Channel, Fixed, Geometry, MobileUe, Motion, Position, Site, UeRadio};
use crate::traffic::{Flow, FlowSpecification, Kind};
use crate::{FiveTuple, INDEX_REUSE_DELAY, MAX_UES_PER_CELL, Random, Subscription};

fn network(cells: usize, threads: usize) -> Network {
    let configs = (0..cells).map(|_| CellConfig::default());
    Network::new(configs, HandoverConfig::default(), NonZeroUsize::new(threads).unwrap()).unwrap()
}

/// Adds a UE with a SINR and a downlink flow.
fn add(network: &mut Network, cell: usize, sinr_db: f64, arrives: Time, leaves: Option<Time>) {
    let number = network.next_number();
    let address = Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 45, 0, 2)) + number as u32);
    let source = Ipv4Addr::new(10, 0, 0, 1);
    let channel = Channel::Fixed(Fixed::sinr(sinr_db, sinr_db));
    let config = network.cell(cell).config();
    let mut ue = Ue::new(number, Subscription::default(), address, channel, Random::new(9, number), config);
    let tuple = FiveTuple { source, destination: address, source_port: 7, destination_port: 7, protocol: 17 };
    let kind = Kind::Poisson { rate_bps: 3_000_000, packet_octets: 1200 };
    ue.add_flow(|id, random| {
        Flow::new(id, FlowSpecification { start: arrives, ..FlowSpecification::new(kind) }, tuple, random)
    });
    network.add(cell, ue, arrives, leaves).unwrap();
}

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// A network event without the number and subscription of the UE: its index and generation, and the other cell.
#[derive(Debug, PartialEq)]
enum Event {
    Arrived([usize; 2], Option<(usize, usize)>),
    Departed([usize; 2], Option<usize>),
    Triggered([usize; 2], usize),
}

fn events(network: &mut Network, cell: usize) -> Vec<Event> {
    let at = |entry: UeEntry| [entry.index, entry.generation as usize];
    let event = |event| match event {
        NetworkEvent::Arrived { ue, from, .. } => {
            Some(Event::Arrived(at(ue), from.map(|(cell, entry)| (cell, entry.index))))
        }
        NetworkEvent::Departed { ue, cause: DepartureCause::Handover { to } } => {
            Some(Event::Departed(at(ue), Some(to)))
        }
        NetworkEvent::Departed { ue, .. } => Some(Event::Departed(at(ue), None)),
        NetworkEvent::HandoverTriggered { ue, to } => Some(Event::Triggered(at(ue), to)),
        NetworkEvent::PowerState(_) | NetworkEvent::HandoverPrepared { .. } => None,
        NetworkEvent::HandoverCancelled { .. } => unreachable!("no handover is given up here"),
        NetworkEvent::SecondaryCellAdded { .. } | NetworkEvent::SecondaryCellReleased { .. } => {
            unreachable!("no base station has several cells here")
        }
        NetworkEvent::HandoverFailed { .. } | NetworkEvent::Locked => unreachable!("no handover fails here"),
    };
    network.take_events(cell).filter_map(event).collect()
}

#[test]
fn result_is_independent_of_threads_and_step_size() {
    let run = |threads, step_ms| {
        let mut network = network(5, threads);
        let go_on = |network: &mut Network, until| {
            while network.cell(0).now() < ms(until) {
                let next = network.cell(0).now() + Duration::from_millis(step_ms);
                network.advance(next.min(ms(until)));
            }
        };
        (0..15).for_each(|n| add(&mut network, n % 5, 10.0 + n as f64, ms(n as u64 * 7), None));
        go_on(&mut network, 200);
        network.hand_over(1, 0, 3).unwrap();
        go_on(&mut network, 700);
        (0..5)
            .flat_map(|cell| (0..network.cell(cell).ue_indices()).map(move |index| (cell, index)))
            .map(|(cell, index)| network.cell(cell).counts(index).unwrap())
            .collect::<Vec<_>>()
    };
    let at_once = run(1, 700);
    assert_eq!(run(2, 700), at_once);
    assert_eq!(run(4, 700), at_once);
    assert_eq!(run(2, 3), at_once);
}

#[test]
fn handover_keeps_queued_packets() {
    let mut network = network(2, 1);
    add(&mut network, 0, 15.0, ms(25), Some(ms(2000)));
    network.advance(ms(20));
    assert_eq!(network.cell(0).ues().count(), 0);
    network.advance(ms(40));
    assert_eq!(events(&mut network, 0), [Event::Arrived([0, 0], None)]);
    assert_eq!(network.hand_over(0, 0, 0), Err(HandoverError::SameCell));
    assert_eq!(network.hand_over(0, 0, 2), Err(HandoverError::UnknownCell));
    assert_eq!(network.hand_over(0, 1, 1), Err(HandoverError::UnknownUe));
    network.advance(ms(505));
    let before = network.cell(0).ue(0).unwrap().flows()[0].counts().downlink.clone();
    network.hand_over(0, 0, 1).unwrap();
    network.advance(ms(520));
    assert_eq!((network.cell(0).ues().count(), network.cell(1).ues().count()), (0, 0), "the UE is in transit");
    network.advance(ms(700));
    assert_eq!(events(&mut network, 0), [Event::Departed([0, 0], Some(1))]);
    assert_eq!(events(&mut network, 1), [Event::Arrived([0, 0], Some((0, 0)))]);
    assert!(network.cell(0).counts(0).unwrap().dl.blocks > 0, "the counters remain");
    network.advance(ms(1500));
    let after = network.cell(1).ue(0).unwrap().flows()[0].counts().downlink.clone();
    assert!(after.received_packets > before.received_packets);
    assert_eq!(after.lost_packets, 0, "acknowledged mode loses no packets");
    network.advance(ms(2100));
    assert_eq!(events(&mut network, 1), [Event::Departed([0, 0], None)]);
    assert_eq!(network.cell(1).ues().count(), 0);
}

/// A UE moves from one cell to the other, 600 m away.
#[test]
fn event_a3_triggers_handover() {
    let run = |is_automatic, x_m, motion| {
        let link = LinkFailureConfig { is_enabled: false, ..LinkFailureConfig::default() };
        let handover = HandoverConfig { a3_offset_db: Some(3.0), link, is_automatic, ..HandoverConfig::default() };
        let configs = [CellConfig::default(), CellConfig::default()];
        let mut network = Network::new(configs, handover, NonZeroUsize::MIN).unwrap();
        let grid = network.cell(0).grid().clone();
        let at = |x_m| Position { x_m, y_m: 0.0 };
        let sites: Arc<[Site]> = [0.0, 600.0].map(|x_m| Site::new(&grid, at(x_m))).into();
        let area = Area { min: Position { x_m: 0.0, y_m: -50.0 }, max: Position { x_m: 600.0, y_m: 50.0 } };
        let mobile_ue = MobileUe::new(area, at(x_m), motion).unwrap();
        let mut random = Random::new(1, 0);
        let geometry = Geometry::new(sites, 0, UeRadio::default(), mobile_ue, &mut random).unwrap();
        let channel = Channel::Geometry(Box::new(geometry));
        let address = Ipv4Addr::new(10, 45, 0, 2);
        let ue = Ue::new(0, Subscription::default(), address, channel, random, network.cell(0).config());
        network.add(0, ue, Time::START, None).unwrap();
        network.advance(ms(15_000));
        network
    };
    let drive = Motion::Straight { speed_m_per_s: 30.0, heading_deg: 90.0 };
    let mut network = run(true, 50.0, drive);
    assert_eq!((network.cell(0).ues().count(), network.cell(1).ues().count()), (0, 1));
    assert_eq!(events(&mut network, 0)[..2], [Event::Arrived([0, 0], None), Event::Departed([0, 0], Some(1))]);
    let mut network = run(false, 50.0, drive);
    assert_eq!(network.cell(0).ues().count(), 1, "the UE stays until a handover is requested");
    assert!(events(&mut network, 0).contains(&Event::Triggered([0, 0], 1)));
    // the report is repeated every 1.024 s, here for 15 s
    let mut network = run(false, 590.0, Motion::Still);
    let triggered = events(&mut network, 0).iter().filter(|event| **event == Event::Triggered([0, 0], 1)).count();
    assert_eq!(triggered, 15);
}

/// A UE with a fixed MCS moves to a cell whose table has fewer MCSs.
#[test]
fn fixed_mcs_is_clamped_in_target_cell() {
    let carrier = crate::phy::Carrier { downlink_mcs: crate::phy::McsTable::Qam256, ..Default::default() };
    let configs = [CellConfig::default(), CellConfig { carrier, ..CellConfig::default() }];
    let mut network = Network::new(configs, HandoverConfig::default(), NonZeroUsize::MIN).unwrap();
    add(&mut network, 0, 20.0, Time::START, None);
    let of = |direction| (network.cell(0).adaptation(direction), 28);
    let channel = Channel::Fixed(Fixed::mcs(of(crate::phy::Direction::Downlink), of(crate::phy::Direction::Uplink)));
    network.advance(ms(20));
    network.cell_mut(0).ue_mut(0).unwrap().set_channel(channel);
    network.advance(ms(100));
    assert_eq!(network.cell(0).ue(0).unwrap().downlink().mcs(), 28);
    network.hand_over(0, 0, 1).unwrap();
    network.advance(ms(400));
    assert_eq!(network.cell(1).ue(0).unwrap().downlink().mcs(), 27);
    assert!(network.cell(1).counts(0).unwrap().dl_rlc.delivered_packets > 0);
}

/// The queue counters of a cell never decrease at handovers, and count only packets of this cell.
#[test]
fn queue_counters_survive_handover() {
    use crate::tc::QueueId;

    let mut network = network(2, 1);
    (0..4).for_each(|n| add(&mut network, n % 2, 12.0, Time::START, None));
    let counts = |network: &Network| [0, 1].map(|cell| network.cell(cell).queue_counts(QueueId(0)));
    let (mut before, mut to) = (counts(&network), 0);
    for round in 1..=40 {
        network.advance(ms(100 * round));
        let now = counts(&network);
        for (now, before) in now.iter().zip(&before) {
            assert!(
                now.arrived.packets >= before.arrived.packets && now.departed.octets >= before.departed.octets,
                "round {round}"
            );
            assert!(now.sojourn.mean(ms(100 * round)) <= Duration::from_millis(50));
            assert_eq!(now.arrived, now.departed.and(now.waiting).and(now.dropped.all()));
        }
        before = now;
        let index = network.cell(1 - to).ues().next().map(|(index, _)| index);
        if let Some(index) = index {
            network.hand_over(1 - to, index, to).unwrap();
            let after = counts(&network);
            assert!((0..2).all(|cell| after[cell].departed == before[cell].departed), "round {round}");
        }
        to = 1 - to;
    }
    // each packet is counted once
    let departed = |network: &Network| {
        let ues =
            (0..2).flat_map(|cell| network.cell(cell).ues()).map(|(_, ue)| ue.bearers()[0].tc().totals().departed);
        ues.map(|departed| departed.packets).sum::<u64>()
    };
    network.advance(ms(4500));
    assert_eq!(departed(&network), counts(&network).iter().map(|counts| counts.departed.packets).sum::<u64>());
}

#[test]
fn ue_released_during_handover_departs_after_arrival() {
    let mut network = network(2, 1);
    add(&mut network, 0, 15.0, Time::START, Some(ms(510)));
    network.advance(ms(500));
    network.hand_over(0, 0, 1).unwrap();
    network.advance(ms(700));
    assert_eq!((network.cell(0).ues().count(), network.cell(1).ues().count()), (0, 0));
    assert_eq!(events(&mut network, 1), [Event::Arrived([0, 0], Some((0, 0))), Event::Departed([0, 0], None)]);
}

/// Indices are reused after the delay, for any number of UEs, and the counters of all UEs are kept.
#[test]
fn ue_indices_are_reused() {
    const ARRIVALS: u64 = 10_500;
    let duplex = crate::phy::Duplex::Fdd;
    let carrier = crate::phy::Carrier { bandwidth_mhz: 20.0, numerology: 0, duplex, ..Default::default() };
    let config = CellConfig { carrier, ..CellConfig::default() };
    let mut network = Network::new([config], HandoverConfig::default(), NonZeroUsize::MIN).unwrap();
    for number in 0..ARRIVALS {
        let arrival_ms = 3 * number;
        add(&mut network, 0, 15.0, ms(arrival_ms), Some(ms(arrival_ms + 60)));
    }
    let mut left: Vec<Option<(u32, u64)>> = Vec::new();
    let (mut arrived, mut departed_ues, mut octets) = (0, 0, 0);
    for round in 0..=(3 * ARRIVALS / 500 + 1) {
        let now_ms = 500 * round;
        network.advance(ms(now_ms));
        for event in network.take_events(0).collect::<Vec<_>>() {
            match event {
                NetworkEvent::Arrived { ue, .. } => {
                    assert_eq!(ue.number, arrived, "UEs arrive in order");
                    arrived += 1;
                    left.resize(left.len().max(ue.index + 1), None);
                    // events are read every half second: the UE may have departed that much earlier than recorded
                    let before = left[ue.index].take();
                    assert!(before.is_none_or(|(_, left_ms)| now_ms >= left_ms + 9_500), "{ue:?} after {before:?}");
                    assert_eq!(ue.generation, before.map_or(0, |(generation, _)| generation + 1));
                }
                NetworkEvent::Departed { ue, .. } => {
                    departed_ues += 1;
                    assert_eq!(left[ue.index].replace((ue.generation, now_ms)), None);
                }
                _ => unreachable!("there is only one cell"),
            }
        }
        let cell = network.cell(0);
        let counts = (0..cell.ue_indices())
            .filter_map(|index| cell.counts(index))
            .chain(cell.departed_counts().iter().map(|(_, sum)| *sum));
        let sum: u64 = counts.map(|counts| counts.dl.block_octets).sum();
        assert!(sum >= octets, "counters of departed UEs are kept");
        octets = sum;
    }
    assert_eq!((arrived, departed_ues, network.rejected_arrivals(0)), (ARRIVALS, ARRIVALS, 0));
    assert!(network.cell(0).ue_indices() <= MAX_UES_PER_CELL && octets > 10_000 * 1_000, "{octets}");
    assert_eq!(network.cell(0).departed_counts().len(), 1, "all UEs have the same subscription");
}

/// A cell admits as many UEs as it is configured to, those on their way to it included.
#[test]
fn admission_ends_at_the_configured_number_of_ues() {
    let configs = [None, Some(2)].map(|max_ues| CellConfig { max_ues, ..CellConfig::default() });
    let mut network = Network::new(configs, HandoverConfig::default(), NonZeroUsize::MIN).unwrap();
    (0..3).for_each(|_| add(&mut network, 0, 15.0, Time::START, None));
    add(&mut network, 1, 15.0, Time::START, None);
    network.advance(ms(20));
    assert_eq!((network.cell(1).free_capacity(), network.hand_over(0, 0, 1)), (1, Ok(())));
    assert_eq!(network.hand_over(0, 1, 1), Err(HandoverError::CellFull), "the first one is on its way");
    network.advance(ms(200));
    assert_eq!((network.cell(1).ue_count(), network.hand_over(0, 1, 1)), (2, Err(HandoverError::CellFull)));
    // room is free at once when a UE leaves
    assert_eq!(network.hand_over(1, 0, 0), Ok(()));
    network.advance(ms(400));
    assert_eq!(network.hand_over(0, 1, 1), Ok(()));
    // a UE that arrives is turned away
    add(&mut network, 1, 15.0, ms(600), None);
    network.advance(ms(800));
    assert_eq!((network.cell(1).ue_count(), network.rejected_arrivals(1)), (2, 1));
}

/// A full cell rejects new UEs and handovers, and reserves an index for a UE in transit.
#[test]
fn full_cell_rejects_arrivals() {
    let mut network = network(2, 1);
    (0..MAX_UES_PER_CELL - 1).for_each(|_| add(&mut network, 0, 15.0, Time::START, Some(ms(100))));
    add(&mut network, 1, 15.0, Time::START, None);
    add(&mut network, 1, 15.0, Time::START, None);
    network.advance(ms(20));
    assert_eq!(network.hand_over(1, 0, 0), Ok(()));
    assert_eq!(network.hand_over(1, 1, 0), Err(HandoverError::CellFull));
    assert_eq!(network.cell(1).ues().count(), 1, "the UE stays in its cell");
    // arrives before the UE in transit
    add(&mut network, 0, 15.0, ms(30), None);
    network.advance(ms(90));
    assert_eq!((network.cell(0).ues().count(), network.rejected_arrivals(0)), (MAX_UES_PER_CELL, 1));
    network.advance(ms(200));
    assert_eq!(
        (network.cell(0).ues().count(), network.cell(0).free_capacity()),
        (1, 0),
        "released indices are not reused yet"
    );
    network.advance(ms(100) + INDEX_REUSE_DELAY + EPOCH);
    assert_eq!(network.cell(0).free_capacity(), MAX_UES_PER_CELL - 1);
    assert_eq!(network.hand_over(1, 1, 0), Ok(()));
}

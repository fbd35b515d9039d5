//! The stages of traffic control together.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use super::*;
use crate::{Ecn, FiveTuple, FlowId};

mod custom;
mod properties;
mod reconfiguration;

const OPEN: RlcState = RlcState { rlc_octets: 0, rlc_room_octets: u32::MAX };

/// A packet of a UDP flow to a port.
fn packet(flow: u32, number: u64, octets: u32) -> Packet {
    Packet {
        flow: FlowId(flow),
        tuple: FiveTuple {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(12, 1, 1, 2),
            source_port: 5000,
            destination_port: flow as u16,
            protocol: FiveTuple::UDP,
        },
        octets,
        ecn: Ecn::NotEct,
        dscp: 0,
        number,
        sent: Time::START,
        entered: Time::NEVER,
        content: crate::Content::Filler,
    }
}

fn queues(kinds: &[DisciplineChoice]) -> Vec<QueueConfiguration> {
    let queue = |(id, kind): (u32, &DisciplineChoice)| QueueConfiguration::new(QueueId(id), kind.clone());
    (0..).zip(kinds).map(queue).collect()
}

fn fifos(number: usize) -> Vec<QueueConfiguration> {
    queues(&vec![DisciplineChoice::Fifo; number])
}

/// Filters that classify flows to queues 1, 2, … in order.
fn to_queues(flows: &[u16]) -> ClassifierChoice {
    let filter = |(id, flow): (u32, &u16)| OsiFilter {
        id,
        flow: FlowPattern { destination_port: Some(*flow), ..FlowPattern::default() },
        queue: QueueId(id + 1),
    };
    ClassifierChoice::Osi((0..).zip(flows).map(filter).collect())
}

fn drain(tc: &mut TrafficControl, now: Time) -> Vec<(u32, u64)> {
    std::iter::from_fn(|| tc.pop(now, OPEN)).map(|packet| (packet.flow.0, packet.number)).collect()
}

fn assert_nothing_lost(tc: &TrafficControl) {
    let Totals { arrived, departed, waiting, dropped, .. } = tc.totals();
    assert_eq!(arrived, departed.and(waiting).and(dropped));
    let mut all = Amount::default();
    for queue in &tc.configuration().queues {
        let counts = tc.counts(queue.id).unwrap();
        assert_eq!(counts.arrived, counts.departed.and(counts.waiting).and(counts.dropped.all()), "{counts:?}");
        all = all.and(counts.waiting);
    }
    assert_eq!(all, waiting);
}

#[test]
fn default_configuration_forwards_in_order() {
    let mut tc = TrafficControl::new(&Configuration::default()).unwrap();
    assert_eq!(tc.pop(Time::START, OPEN), None);
    for number in 0..5 {
        tc.push(Time::from_millis(number), packet(1, number, 1000));
    }
    let full = RlcState { rlc_octets: 1000, rlc_room_octets: 0 };
    let first = tc.pop(Time::from_millis(10), full).unwrap();
    assert_eq!((first.number, first.entered), (0, Time::START));
    assert_eq!(drain(&mut tc, Time::from_millis(11)), [(1, 1), (1, 2), (1, 3), (1, 4)]);
    let counts = tc.counts(QueueId(0)).unwrap();
    assert_eq!((counts.arrived.packets, counts.departed.octets, counts.waiting), (5, 5000, Amount::default()));
    // 10 + 10 + 9 + 8 + 7 ms
    let ms = |ms: f64| Duration::from_secs_f64(ms / 1e3);
    let mean = counts.sojourn.mean(Time::from_millis(11));
    assert_eq!((mean, counts.sojourn.last, counts.sojourn.max), (ms(8.8), ms(7.0), ms(10.0)));
    assert_eq!(tc.counts(QueueId(1)), None);
    assert_eq!(tc.pacer_rate_bps(Time::from_millis(100)), 400_000.0);
    assert_nothing_lost(&tc);
}

#[test]
fn full_queue_drops_arrivals() {
    let mut configuration = Configuration::default();
    configuration.queues[0].limit_octets = 2500;
    let mut tc = TrafficControl::new(&configuration).unwrap();
    for number in 0..4 {
        tc.push(Time::START, packet(1, number, 1000));
    }
    tc.push(Time::START, packet(1, 4, 500));
    let counts = tc.counts(QueueId(0)).unwrap();
    assert_eq!(counts.dropped, Drops { full: Amount { packets: 2, octets: 2000 }, ..Drops::default() });
    assert_nothing_lost(&tc);
    assert_eq!(drain(&mut tc, Time::START), [(1, 0), (1, 1), (1, 4)]);
}

#[test]
fn first_matching_filter_decides() {
    let any = FlowPattern::default();
    let filters = vec![
        OsiFilter { id: 7, flow: FlowPattern { source_port: Some(6000), ..any }, queue: QueueId(2) },
        OsiFilter {
            id: 3,
            flow: FlowPattern {
                source: Some(Ipv4Addr::new(10, 0, 0, 1)),
                destination: Some(Ipv4Addr::new(12, 1, 1, 2)),
                source_port: Some(5000),
                destination_port: Some(2),
                protocol: Some(FiveTuple::UDP),
            },
            queue: QueueId(1),
        },
        OsiFilter { id: 4, flow: FlowPattern { protocol: Some(FiveTuple::TCP), ..any }, queue: QueueId(2) },
    ];
    let configuration =
        Configuration { classifier: ClassifierChoice::Osi(filters), queues: fifos(3), ..Configuration::default() };
    let mut tc = TrafficControl::new(&configuration).unwrap();
    let mut tcp = packet(2, 0, 100);
    tcp.tuple.protocol = FiveTuple::TCP;
    let mut other = packet(2, 0, 100);
    other.tuple.source = Ipv4Addr::new(10, 0, 0, 2);
    for packet in [packet(1, 0, 100), packet(2, 0, 100), tcp, other, packet(2, 1, 100)] {
        tc.push(Time::START, packet);
    }
    assert_eq!([0, 1, 2].map(|id| tc.counts(QueueId(id)).unwrap().arrived.packets), [2, 2, 1]);
    // packets without a matching filter are counted
    assert_eq!([7, 3, 4, 9].map(|id| tc.matched_packets(id)), [0, 2, 1, 0]);
}

#[test]
fn stochastic_classifier_keeps_flows_and_spreads_them() {
    let configuration =
        Configuration { classifier: ClassifierChoice::Stochastic, queues: fifos(8), ..Configuration::default() };
    let mut tc = TrafficControl::new(&configuration).unwrap();
    for number in 0..2 {
        for flow in 0..1000 {
            tc.push(Time::START, packet(flow, number, 100));
        }
    }
    for queue in 0..8 {
        let packets = tc.counts(QueueId(queue)).unwrap().arrived.packets;
        assert!(packets.is_multiple_of(2) && (180..320).contains(&packets), "queue {queue}: {packets}");
    }
}

#[test]
fn round_robin_alternates_queues() {
    let configuration = Configuration { queues: fifos(3), ..Configuration::default() };
    let mut tc = TrafficControl::new(&configuration).unwrap();
    for number in 0..7 {
        tc.push(Time::START, packet(1, number, 100));
    }
    assert_eq!([0, 1, 2].map(|id| tc.counts(QueueId(id)).unwrap().waiting.packets), [3, 2, 2]);
    let numbers: Vec<u64> = drain(&mut tc, Time::START).into_iter().map(|(_, number)| number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn priority_queue_is_served_first() {
    let configuration = Configuration {
        classifier: to_queues(&[1, 2]),
        queues: fifos(3),
        scheduler: SchedulerChoice::Priority(vec![5, 1, 5]),
        ..Configuration::default()
    };
    let mut tc = TrafficControl::new(&configuration).unwrap();
    for (flow, number) in [(2, 0), (9, 0), (1, 0), (1, 1), (9, 1)] {
        tc.push(Time::START, packet(flow, number, 100));
    }
    assert_eq!(drain(&mut tc, Time::START), [(1, 0), (1, 1), (9, 0), (9, 1), (2, 0)]);
}

//! RLC delivers in order and without duplicates, and counts every loss.

mod measurements;

use std::net::Ipv4Addr;

use super::*;
use crate::{Content, Ecn, FiveTuple, FlowId, Random};

fn packet(number: u64, octets: u32) -> Packet {
    let address = Ipv4Addr::new(10, 0, 0, 1);
    Packet {
        flow: FlowId(0),
        tuple: FiveTuple { source: address, destination: address, source_port: 1, destination_port: 2, protocol: 17 },
        octets,
        ecn: Ecn::NotEct,
        dscp: 0,
        number,
        sent: Time::START,
        entered: Time::START,
        content: Content::Filler,
    }
}

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

fn pull(rlc: &mut Rlc, now: Time, room: u32) -> (u32, Vec<RlcPdu>) {
    let mut pdus = Vec::new();
    let used = rlc.pull(now, room, |pdu| pdus.push(pdu));
    assert!(used <= room);
    (used, pdus)
}

fn pdu(sn: u64, octets: u32, piece: u32) -> RlcPdu {
    RlcPdu { sn, octets, piece }
}

fn numbers(packets: &[Packet]) -> Vec<u64> {
    packets.iter().map(|packet| packet.number).collect()
}

#[test]
fn sdu_segmentation_matches_hand_calculation() {
    let mut rlc = Rlc::new(RlcConfig::default());
    assert!(rlc.push(ms(0), packet(0, 996)) && rlc.push(ms(1), packet(1, 96)));
    assert_eq!(
        (rlc.waiting_octets(), rlc.waiting_packets(), rlc.head_wait(ms(5))),
        (1100, 2, Duration::from_millis(5))
    );
    // 6 octets of headers and 394 of data, then 8 and 392
    assert_eq!(pull(&mut rlc, ms(2), 400), (400, vec![pdu(0, 394, 0)]));
    assert_eq!(pull(&mut rlc, ms(3), 400), (400, vec![pdu(0, 392, 1)]));
    assert_eq!(rlc.waiting_octets(), 314);
    // the rest of 214 with 8 octets of headers, and the next SDU with 6
    let (used, last) = pull(&mut rlc, ms(4), 400);
    assert_eq!((used, &*last), (222 + 106, &[pdu(0, 214, 2), pdu(1, 100, 2)][..]));
    let counts = rlc.counts();
    assert_eq!((counts.sent_packets, counts.sent_octets, counts.segments, counts.sent_pdus), (2, 1100, 3, 4));
    assert_eq!((counts.sojourn_ns, counts.last_sojourn_ns), (7_000_000, 3_000_000), "4 ms and 3 ms");
    // the second SDU is complete first, and waits for the first
    let mut out = Vec::new();
    rlc.received(ms(5), last[1], &mut out);
    rlc.received(ms(5), last[0], &mut out);
    rlc.received(ms(5), pdu(0, 392, 1), &mut out);
    assert!(out.is_empty());
    rlc.received(ms(6), pdu(0, 394, 0), &mut out);
    assert_eq!((numbers(&out), rlc.in_flight()), (vec![0, 1], (0, 0)));
}

#[test]
fn harq_failure_is_retransmitted_in_am_and_lost_in_um() {
    let mut am = Rlc::new(RlcConfig::default());
    let mut um = Rlc::new(RlcConfig { mode: Mode::Unacknowledged, ..RlcConfig::default() });
    let mut out = Vec::new();
    for rlc in [&mut am, &mut um] {
        (0..2).for_each(|number| assert!(rlc.push(ms(0), packet(number, 96))));
        let (_, pdus) = pull(rlc, ms(1), 1000);
        rlc.failed(ms(10), pdus[0]);
        rlc.received(ms(10), pdus[1], &mut out);
        assert!(out.is_empty());
    }
    assert_eq!((am.demand_octets(ms(24)), am.next_release()), (0, Time::NEVER), "no status report yet");
    assert_eq!(am.demand_octets(ms(25)), 108);
    let (_, halves) = [pull(&mut am, ms(25), 58), pull(&mut am, ms(25), 58)]
        .into_iter()
        .fold((0, vec![]), |a, b| (0, [a.1, b.1].concat()));
    assert_eq!(halves, [pdu(0, 50, 0); 2]);
    halves.into_iter().for_each(|half| am.received(ms(26), half, &mut out));
    assert_eq!((numbers(&out), am.counts().retransmitted_octets), (vec![0, 1], 100));

    out.clear();
    assert_eq!(um.next_release(), ms(50));
    um.deliver(ms(49), &mut out);
    assert!(out.is_empty());
    um.deliver(ms(50), &mut out);
    assert_eq!((numbers(&out), um.counts().lost_packets, um.next_release()), (vec![1], 1, Time::NEVER));
}

#[test]
fn full_buffer_drops_and_discard_timer_discards() {
    let mut out = Vec::new();
    let mut rlc = Rlc::new(RlcConfig { buffer_octets: 250, ..RlcConfig::default() });
    let took: Vec<bool> = (0..3).map(|number| rlc.push(ms(0), packet(number, 96))).collect();
    assert_eq!((took, rlc.counts().buffer_full_octets), (vec![true, true, false], 100));

    let discard = Some(Duration::from_millis(100));
    let mut rlc = Rlc::new(RlcConfig { discard, ..RlcConfig::default() });
    (0..3).for_each(|number| assert!(rlc.push(ms(50 * number), packet(number, 96))));
    // the first SDU was sent in part and is completed
    pull(&mut rlc, ms(1), 20);
    assert_eq!((rlc.waiting_packets(), rlc.demand_octets(ms(160))), (3, 8 + 86 + 2 * 106));
    rlc.discard_late(ms(160));
    assert_eq!((rlc.waiting_packets(), rlc.demand_octets(ms(160))), (2, 8 + 86 + 106));
    let (_, pdus) = pull(&mut rlc, ms(160), 1000);
    assert_eq!((pdus.len(), rlc.counts().discarded_packets), (2, 1));

    // without transmissions, new SDUs take the space of discarded ones
    let mut rlc = Rlc::new(RlcConfig { buffer_octets: 250, discard, ..RlcConfig::default() });
    let took: Vec<bool> = (0..8).map(|number| rlc.push(ms(40 * number), packet(number, 96))).collect();
    assert_eq!(took, [true, true, false, true, true, false, true, true]);
    assert_eq!((rlc.counts().discarded_packets, rlc.counts().buffer_full_packets), (4, 2));
    let (_, pdus) = pull(&mut rlc, ms(290), 1000);
    pdus.into_iter().for_each(|pdu| rlc.received(ms(292), pdu, &mut out));
    assert_eq!(numbers(&out), [6, 7]);
}

#[test]
fn demand_counts_due_segments_and_held_counts_received_ones() {
    let mut rlc = Rlc::new(RlcConfig::default());
    (0..4).for_each(|number| assert!(rlc.push(ms(0), packet(number, 96))));
    let (_, pdus) = pull(&mut rlc, ms(1), 330);
    assert_eq!(pdus.iter().map(|pdu| pdu.octets).collect::<Vec<_>>(), [100, 100, 100, 6]);
    assert_eq!((rlc.in_flight(), rlc.held()), ((4, 400), (0, 0)));
    rlc.failed(ms(5), pdus[0]);
    rlc.failed(ms(9), pdus[1]);
    let mut out = Vec::new();
    pdus[2..].iter().for_each(|pdu| rlc.received(ms(9), *pdu, &mut out));
    assert_eq!((rlc.in_flight(), rlc.held(), out.len()), ((4, 400), (2, 106), 0));
    // the rest of the fourth SDU, then the status reports, 15 ms after the failures
    let rest = 94 + LATER_HEADER_OCTETS;
    let again = 100 + LATER_HEADER_OCTETS;
    assert_eq!(
        [19, 20, 23, 24].map(|at| rlc.demand_octets(ms(at))),
        [rest, rest + again, rest + again, rest + 2 * again]
    );
}

/// Random traffic over a random channel, with a handover in between.
#[test]
fn rlc_counters_balance() {
    for seed in 0..300 {
        let mut random = Random::new(seed, 0);
        let mode = if seed % 2 == 0 { Mode::Acknowledged } else { Mode::Unacknowledged };
        let discard = (seed % 3 == 0).then_some(Duration::from_millis(30));
        let mut rlc = Rlc::new(RlcConfig { mode, buffer_octets: 6000, discard, ..RlcConfig::default() });
        let mut under_way: Vec<(u64, bool, RlcPdu)> = Vec::new();
        let (mut number, mut out) = (0, Vec::new());
        for at in 0..1500 {
            let now = ms(at);
            let is_draining = at > 1000;
            if !is_draining && random.uniform() < 0.6 {
                let _ = rlc.push(now, packet(number, 20 + (random.uniform() * 1400.0) as u32));
                number += 1;
            }
            let (_, pdus) = pull(&mut rlc, now, (random.uniform() * 1200.0) as u32);
            for pdu in pdus {
                let fails = !is_draining && random.uniform() < 0.2;
                under_way.push((at + 1 + (random.uniform() * 12.0) as u64, fails, pdu));
            }
            let due;
            (due, under_way) = under_way.into_iter().partition(|(due, _, _)| *due <= at);
            for (_, fails, pdu) in due {
                if fails { rlc.failed(now, pdu) } else { rlc.received(now, pdu, &mut out) }
            }
            if rlc.next_release() <= now {
                rlc.deliver(now, &mut out);
            }
            if at == 500 {
                under_way.clear();
                rlc.reestablish(&mut out);
            }
            let counts = *rlc.counts();
            let (in_flight, flying_octets) = rlc.in_flight();
            // the first queued SDU may be in flight in part
            let half = u64::from(rlc.head_sent > 0);
            let packets =
                counts.buffer_full_packets + counts.discarded_packets + counts.delivered_packets + counts.lost_packets;
            assert_eq!(
                counts.in_packets,
                packets + (in_flight + rlc.waiting_packets()) as u64 - half,
                "seed {seed} at {at}"
            );
            let octets =
                counts.buffer_full_octets + counts.discarded_octets + counts.delivered_octets + counts.lost_octets;
            let unsent = if half > 0 {
                rlc.in_flight.back().map_or(0, |last| u64::from(last.octets - rlc.head_sent))
            } else {
                0
            };
            let waiting = u64::from(rlc.waiting_octets());
            assert_eq!(counts.in_octets, octets + flying_octets + waiting - unsent, "seed {seed} at {at}");
        }
        assert_eq!(
            (rlc.in_flight(), rlc.waiting_packets()),
            ((0, 0), 0),
            "seed {seed}: all feedback has arrived at the end"
        );
        let numbers = numbers(&out);
        assert!(numbers.is_sorted_by(|a, b| a < b), "seed {seed}: in order, and once");
        assert_eq!(numbers.len() as u64, rlc.counts().delivered_packets);
        assert!(mode == Mode::Unacknowledged || rlc.counts().lost_packets == 0);
    }
}

/// Segments that are lost repeatedly are not split ever further, because their headers would fill the remaining capacity.
#[test]
fn repeated_losses_do_not_fragment_segments() {
    let mut rlc = Rlc::new(RlcConfig::default());
    (0..20).for_each(|number| assert!(rlc.push(ms(0), packet(number, 1396))));
    let mut random = Random::new(1, 0);
    let (mut now, mut out) = (0, Vec::new());
    for _ in 0..20_000 {
        now += 1;
        let (_, pdus) = pull(&mut rlc, ms(now), 20 + (random.uniform() * 4000.0) as u32);
        pdus.into_iter().for_each(|pdu| rlc.failed(ms(now), pdu));
    }
    // until the last status report has arrived
    let demand = rlc.demand_octets(ms(now + 20));
    assert!(demand < 20 * 1400 + 60 * LATER_HEADER_OCTETS, "{demand} octets for 20 SDUs of 1400");
    let (used, pdus) = pull(&mut rlc, ms(now + 20), 100_000);
    assert_eq!(used, demand);
    pdus.into_iter().for_each(|pdu| rlc.received(ms(now + 20), pdu, &mut out));
    assert_eq!(numbers(&out), (0..20).collect::<Vec<_>>());
}

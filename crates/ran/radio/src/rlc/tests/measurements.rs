//! Throughput, delays and loss of a bearer, calculated by hand.

use super::*;

/// The volume, the time and the unrestricted volume of the throughput.
fn throughput(rlc: &Rlc) -> (u64, Duration, u64) {
    let counts = rlc.counts();
    (counts.throughput_octets, Duration::from_nanos(counts.throughput_ns), counts.unrestricted_octets)
}

/// An SDU of 1000 octets in three slots: 394, 392 and 214 octets. It is decoded 2 ms after each.
fn three_slots(rlc: &mut Rlc, at: u64) -> Vec<RlcPdu> {
    assert!(rlc.push(ms(at), packet(0, 996)));
    let pdus: Vec<RlcPdu> = (0..3).flat_map(|slot| pull(rlc, ms(at + slot), 400).1).collect();
    assert_eq!(pdus.iter().map(|pdu| pdu.octets).collect::<Vec<_>>(), [394, 392, 214]);
    pdus
}

#[test]
fn throughput_excludes_the_slot_that_empties_the_buffer() {
    let (mut rlc, mut out) = (Rlc::new(RlcConfig::default()), Vec::new());
    rlc.set_feedback(Duration::from_millis(1));
    let pdus = three_slots(&mut rlc, 10);
    for (slot, pdu) in (0..).zip(pdus) {
        rlc.received(ms(12 + slot), pdu, &mut out);
    }
    // the first two pieces, from the first transmission at 10 ms to the feedback about the second at 14 ms
    assert_eq!(throughput(&rlc), (786, Duration::from_millis(4), 0));
    // a second burst counts likewise; the time between them does not
    let pdus = three_slots(&mut rlc, 1000);
    pdus.into_iter().for_each(|pdu| rlc.received(ms(1005), pdu, &mut out));
    assert_eq!(throughput(&rlc), (2 * 786, Duration::from_millis(4 + 6), 0));
}

#[test]
fn burst_of_one_slot_has_no_throughput() {
    let (mut rlc, mut out) = (Rlc::new(RlcConfig::default()), Vec::new());
    for burst in 0..10 {
        assert!(rlc.push(ms(10 * burst), packet(burst, 96)) && rlc.push(ms(10 * burst), packet(burst, 196)));
        let (_, pdus) = pull(&mut rlc, ms(10 * burst), 1000);
        pdus.into_iter().for_each(|pdu| rlc.received(ms(10 * burst + 2), pdu, &mut out));
    }
    assert_eq!(throughput(&rlc), (0, Duration::ZERO, 10 * 300));
}

/// The buffer of a bearer with a lasting transfer never empties: each period has its part.
#[test]
fn lasting_burst_counts_as_it_is_acknowledged() {
    let (mut rlc, mut out) = (Rlc::new(RlcConfig::default()), Vec::new());
    (0..20).for_each(|number| assert!(rlc.push(ms(0), packet(number, 996))));
    let mut before = (0, Duration::ZERO, 0);
    for slot in 0..10 {
        let (_, pdus) = pull(&mut rlc, ms(5 + slot), 1006);
        pdus.into_iter().for_each(|pdu| rlc.received(ms(5 + slot + 1), pdu, &mut out));
        let now = throughput(&rlc);
        assert_eq!((now.0 - before.0, now.1 - before.1), (1000, Duration::from_millis(1)), "slot {slot}");
        before = now;
    }
}

#[test]
fn retransmissions_delay_the_end_of_a_throughput_sample() {
    let (mut rlc, mut out) = (Rlc::new(RlcConfig::default()), Vec::new());
    let pdus = three_slots(&mut rlc, 0);
    rlc.failed(ms(8), pdus[1]);
    rlc.failed(ms(9), pdus[2]);
    rlc.received(ms(2), pdus[0], &mut out);
    assert_eq!(throughput(&rlc), (394, Duration::from_millis(2), 0));
    // both failed segments of the SDU are sent again as one, 15 ms later
    let (_, again) = pull(&mut rlc, ms(24), 1000);
    assert_eq!(again.iter().map(|pdu| pdu.octets).collect::<Vec<_>>(), [606]);
    rlc.received(ms(26), again[0], &mut out);
    assert_eq!((throughput(&rlc).1, out.len()), (Duration::from_millis(26), 1));

    // in unacknowledged mode they are lost
    let mut rlc = Rlc::new(RlcConfig { mode: Mode::Unacknowledged, ..RlcConfig::default() });
    let pdus = three_slots(&mut rlc, 0);
    rlc.failed(ms(8), pdus[0]);
    // after the SDU was given up
    rlc.deliver(ms(60), &mut out);
    assert_eq!(rlc.counts().lost_packets, 1);
    rlc.received(ms(61), pdus[1], &mut out);
    rlc.received(ms(61), pdus[2], &mut out);
    assert_eq!(throughput(&rlc).0, 392);
    let pdus = three_slots(&mut rlc, 100);
    pdus.into_iter().for_each(|pdu| rlc.received(ms(103), pdu, &mut out));
    assert_eq!(throughput(&rlc), (392 + 786, Duration::from_millis(61 + 3), 0), "no piece remains");
}

#[test]
fn delays_match_hand_calculation() {
    let (mut rlc, mut out) = (Rlc::new(RlcConfig::default()), Vec::new());
    rlc.set_feedback(Duration::from_millis(3));
    let pdus = three_slots(&mut rlc, 10);
    assert!(rlc.push(ms(12), packet(1, 96)));
    let (_, small) = pull(&mut rlc, ms(13), 400);
    // the second SDU is complete at 15 ms, and waits until 20 ms for the last part of the first
    rlc.received(ms(12), pdus[0], &mut out);
    rlc.received(ms(13), pdus[1], &mut out);
    rlc.received(ms(15), small[0], &mut out);
    rlc.received(ms(20), pdus[2], &mut out);
    assert_eq!(numbers(&out), [0, 1]);
    let counts = rlc.counts();
    let in_ms = |ns: u64| ns as f64 / 1e6;
    assert_eq!((counts.complete_packets, counts.delivered_packets), (2, 2));
    assert_eq!(in_ms(counts.sojourn_ns), (12.0 - 10.0) + (13.0 - 12.0), "from arrival until the last part is sent");
    assert_eq!(in_ms(counts.air_ns), (20.0 + 3.0 - 12.0) + (15.0 + 3.0 - 13.0), "and until its feedback");
    assert_eq!(in_ms(counts.assembly_ns), 20.0 - 12.0, "from the first part to the last one");
    assert_eq!(in_ms(counts.reordering_ns), 20.0 - 15.0, "and until delivery in order");
}

/// The delay in a cell does not contain the time that a packet waited in another cell.
#[test]
fn delay_counts_from_the_arrival_in_the_cell() {
    let mut rlc = Rlc::new(RlcConfig::default());
    assert!(rlc.push(ms(100), packet(0, 96)));
    rlc.reestablish(&mut Vec::new());
    rlc.reset_counts(ms(900));
    pull(&mut rlc, ms(904), 400);
    assert_eq!((rlc.counts().sent_packets, rlc.counts().sojourn_ns), (1, 4_000_000));
}

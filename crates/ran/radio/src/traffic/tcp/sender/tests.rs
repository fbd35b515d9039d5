//! The sender without a network: segments and their times.

use super::*;
use crate::traffic::specification::{CongestionControl, SlowStart};

const RTT_NS: u64 = 20_000_000;

fn sender() -> Sender {
    let control = CongestionControl::Cubic { slow_start: SlowStart::Plain };
    Sender::new(&Tcp { control, ..Tcp::default() }, Random::new(0, 0))
}

/// Writes segments and acknowledges each a round trip after it was sent. Returns the time of the last acknowledgement.
fn transfer(sender: &mut Sender, mut now: Time, segments: u64) -> Time {
    sender.write(segments * 1_400);
    let mut sent = VecDeque::new();
    loop {
        sender.send(now, |outgoing| sent.push_back((now, outgoing.segment)));
        let Some((newest_sent, segment)) = sent.pop_front() else { return now };
        now = after(newest_sent, RTT_NS);
        let (cumulative, newest) = (segment.sequence + 1, segment.transmission);
        let ack = Acknowledgement { cumulative, newest, newest_sent, ..Acknowledgement::default() };
        assert_eq!(sender.on_acknowledgement(now, &ack), RTT_NS);
    }
}

#[test]
fn unused_window_does_not_grow() {
    let mut sender = sender();
    let mut now = Time::START;
    for _ in 0..500 {
        now = transfer(&mut sender, now, 4);
    }
    assert_eq!(sender.state().window_segments, 10);
    assert_eq!(sender.due(), Time::NEVER);
    // a window that is used doubles each round trip
    transfer(&mut sender, now, 70);
    assert!((60..=80).contains(&sender.state().window_segments), "{:?}", sender.state());
}

#[test]
fn idle_window_is_reset() {
    let mut sender = sender();
    let now = transfer(&mut sender, Time::START, 1_000);
    let grown = sender.state().window_segments;
    assert!(grown > 500, "{grown}");
    let now = transfer(&mut sender, after(now, 100_000_000), 1);
    assert_eq!(sender.state().window_segments, grown);
    transfer(&mut sender, after(now, 300_000_000), 1);
    assert_eq!(sender.state().window_segments, 10);
}

#[test]
fn only_last_segment_of_message_is_short() {
    let mut sender = sender();
    assert_eq!((sender.write(3_000), sender.write(1_400), sender.write(1)), (3, 4, 5));
    let mut octets = Vec::new();
    sender.send(Time::START, |outgoing| octets.push(outgoing.octets));
    assert_eq!(octets, [1_400, 1_400, 200, 1_400, 1]);
    assert_eq!(sender.due(), Time::from_millis(1_000));
}

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// Creates a sender that has transferred four segments with a round trip of 20 ms. Returns also the segments that it sends
/// when `segments` more are written at 100 ms.
fn with_round_trip(segments: u64) -> (Sender, Vec<Outgoing>) {
    let mut sender = sender();
    assert_eq!(transfer(&mut sender, Time::START, 4), at(20));
    sender.write(segments * 1_400);
    let sent = sent(&mut sender, 100);
    (sender, sent)
}

fn sent(sender: &mut Sender, now_ms: u64) -> Vec<Outgoing> {
    let mut sent = Vec::new();
    sender.expire(at(now_ms));
    sender.send(at(now_ms), |outgoing| sent.push(outgoing));
    sent
}

fn numbers(sent: &[Outgoing]) -> Vec<(u64, u64)> {
    sent.iter().map(|outgoing| (outgoing.segment.sequence, outgoing.segment.transmission)).collect()
}

#[test]
fn last_segment_is_probed_after_two_round_trips() {
    let (mut sender, first) = with_round_trip(3);
    assert_eq!(numbers(&first), [(4, 4), (5, 5), (6, 6)]);
    assert_eq!(sender.due(), at(140));
    assert_eq!(sent(&mut sender, 139), []);
    let probe = sent(&mut sender, 140);
    assert_eq!((numbers(&probe), probe[0].is_retransmission), (vec![(6, 7)], true));
    // there is only one probe, which restarts the timer
    assert_eq!(sender.due(), at(340));
    let ack = Acknowledgement { cumulative: 7, newest: 7, newest_sent: at(140), ..Acknowledgement::default() };
    let end = |mut sender: Sender, ack: Acknowledgement| {
        sender.on_acknowledgement(at(160), &ack);
        assert_eq!((sender.due(), sender.state().timeouts, sender.state().probes), (Time::NEVER, 0, 1));
        (sender.state().reductions, sender.state().window_segments)
    };
    // the probe has repaired a loss, which counts; or the acknowledgement of the segment was late; or it was lost
    assert_eq!(end(sender.clone(), ack), (1, 7));
    assert_eq!(end(sender.clone(), Acknowledgement { newest: 6, newest_sent: at(100), ..ack }), (0, 10));
    assert_eq!(end(sender.clone(), Acknowledgement { newest_is_duplicate: true, ..ack }), (0, 10));
    // two more are missing: they are retransmitted at once
    let mut selective = [crate::SackBlock::default(); Acknowledgement::BLOCKS];
    selective[0] = crate::SackBlock { first: 2, end: 3 };
    sender.on_acknowledgement(at(160), &Acknowledgement { cumulative: 4, selective, ..ack });
    assert_eq!(numbers(&sent(&mut sender, 160)), [(4, 8), (5, 9)]);
    assert_eq!((sender.state().reductions, sender.state().timeouts), (1, 0));
}

#[test]
fn probe_allows_for_delayed_acknowledgement_prefers_new_data_and_precedes_timeout() {
    // the acknowledgement of a single segment may be delayed by 40 ms
    let (sender, _) = with_round_trip(1);
    assert_eq!(sender.due(), at(180));
    // the window is ten segments: the probe is the eleventh
    let (mut sender, first) = with_round_trip(15);
    assert_eq!((first.len(), sender.due()), (10, at(140)));
    let probe = sent(&mut sender, 140);
    assert_eq!((numbers(&probe), probe[0].is_retransmission), (vec![(14, 14)], false));
    assert_eq!(sender.state().in_flight_segments, 11);
    // two round trips of 150 ms are longer than the timer's 200 ms
    let mut sender = self::sender();
    (0..100).for_each(|_| sender.rtt.sample(150_000_000));
    sender.write(2 * 1_400);
    sent(&mut sender, 100);
    assert_eq!(sender.due(), at(300));
    assert_eq!(numbers(&sent(&mut sender, 300)), [(1, 2)]);
    assert_eq!((sender.due(), sender.state().timeouts), (at(500), 0));
}

#[test]
fn overtaken_segment_is_lost_after_quarter_round_trip() {
    let (mut sender, _) = with_round_trip(3);
    let mut selective = [crate::SackBlock::default(); Acknowledgement::BLOCKS];
    selective[0] = crate::SackBlock { first: 1, end: 3 };
    let newest_sent = at(100);
    let ack = Acknowledgement { cumulative: 4, newest: 6, newest_sent, selective, ..Acknowledgement::default() };
    sender.on_acknowledgement(at(120), &ack);
    assert_eq!((sent(&mut sender, 120), sender.due()), (vec![], at(125)));
    assert_eq!(numbers(&sent(&mut sender, 125)), [(4, 7)]);
    assert_eq!((sender.state().reductions, sender.state().probes), (1, 0));
}

/// Segments that the path delays for long are late, not lost.
#[test]
fn spurious_timeout_is_undone() {
    let (mut sender, first) = with_round_trip(10);
    assert_eq!((first.len(), sender.due()), (10, at(140)));
    assert_eq!(numbers(&sent(&mut sender, 140)), [(13, 14)]);
    assert_eq!(numbers(&sent(&mut sender, 340)), [(4, 15)]);
    assert_eq!((sender.state().timeouts, sender.state().window_segments), (1, 1));
    let ack = Acknowledgement { cumulative: 6, newest: 5, newest_sent: at(100), ..Acknowledgement::default() };

    // the first transmissions of the first two segments are acknowledged
    let mut late = sender.clone();
    late.on_acknowledgement(at(400), &ack);
    assert_eq!(sent(&mut late, 400), []);
    let state = late.state();
    assert_eq!((state.spurious_timeouts, state.in_flight_segments, state.reductions), (1, 8, 0));
    assert!(state.is_slow_start && state.window_segments >= 10, "{state:?}");
    // all but the seventh follow, three of them after it: the seventh is lost
    let mut selective = [crate::SackBlock::default(); Acknowledgement::BLOCKS];
    selective[0] = crate::SackBlock { first: 1, end: 4 };
    late.on_acknowledgement(at(401), &Acknowledgement { cumulative: 10, newest: 13, selective, ..ack });
    assert_eq!(numbers(&sent(&mut late, 401)), [(10, 16)]);
    assert_eq!((late.state().reductions, late.state().in_flight_segments), (1, 1));

    // a later transmission is delivered first: the others are late, but no timer is in the past
    selective[0] = crate::SackBlock { first: 9, end: 10 };
    let mut overtaken = sender.clone();
    overtaken.on_acknowledgement(
        at(400),
        &Acknowledgement { cumulative: 4, newest: 14, newest_sent: at(140), selective, ..ack },
    );
    overtaken.on_acknowledgement(at(401), &Acknowledgement { cumulative: 6, newest: 5, newest_sent: at(100), ..ack });
    assert_eq!((overtaken.due(), overtaken.state().spurious_timeouts), (at(401), 1));

    // the retransmission is delivered first: the others are lost
    let mut lost = sender.clone();
    lost.on_acknowledgement(at(360), &Acknowledgement { cumulative: 5, newest: 15, newest_sent: at(340), ..ack });
    assert_eq!(numbers(&sent(&mut lost, 360)), [(5, 16), (6, 17)]);
    assert_eq!(lost.state().spurious_timeouts, 0);

    // a segment in the middle is no evidence about the first
    selective[0] = crate::SackBlock { first: 4, end: 5 };
    sender.on_acknowledgement(at(400), &Acknowledgement { cumulative: 4, newest: 8, selective, ..ack });
    assert_eq!((sender.state().spurious_timeouts, sender.state().window_segments), (0, 2));
}

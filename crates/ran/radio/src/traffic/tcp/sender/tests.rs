//! What is sent when, by hand.

use super::*;
use crate::traffic::specification::{CongestionControl, SlowStart};

const RTT_NS: u64 = 20_000_000;

fn sender() -> Sender {
    let control = CongestionControl::Cubic { slow_start: SlowStart::Plain };
    Sender::new(&Tcp { control, ..Tcp::default() }, Random::new(0, 0))
}

/// Writes so many segments and has them acknowledged, one by one, a round trip after they were sent: when all are.
fn transfer(sender: &mut Sender, mut now: Time, segments: u64) -> Time {
    sender.write(segments * 1_400);
    let mut sent = VecDeque::new();
    loop {
        sender.send(now, |outgoing| sent.push_back((now, outgoing.segment)));
        let Some((newest_sent, segment)) = sent.pop_front() else { return now };
        now = after(newest_sent, RTT_NS);
        let (cumulative, newest) = (segment.sequence + 1, segment.transmission);
        let told = Acknowledgement { cumulative, newest, newest_sent, ..Acknowledgement::default() };
        assert_eq!(sender.acknowledge(now, &told), RTT_NS);
    }
}

#[test]
fn a_window_that_is_not_filled_does_not_grow() {
    let mut sender = sender();
    let mut now = Time::START;
    for _ in 0..500 {
        now = transfer(&mut sender, now, 4);
    }
    assert_eq!(sender.state().window_segments, 10);
    assert_eq!(sender.due(), Time::NEVER);
    // one that is doubles each time
    transfer(&mut sender, now, 70);
    assert!((60..=80).contains(&sender.state().window_segments), "{:?}", sender.state());
}

#[test]
fn a_window_that_rests_begins_anew() {
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
fn segments_are_full_but_for_a_messages_last() {
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

/// One that has a round trip of 20 ms behind it, by which it has sent and got four segments. What it sends when it writes
/// so many more at 100 ms.
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
fn the_last_segment_is_sent_again_after_two_round_trips() {
    let (mut sender, first) = with_round_trip(3);
    assert_eq!(numbers(&first), [(4, 4), (5, 5), (6, 6)]);
    assert_eq!(sender.due(), at(140));
    assert_eq!(sent(&mut sender, 139), []);
    let probe = sent(&mut sender, 140);
    assert_eq!((numbers(&probe), probe[0].is_retransmission), (vec![(6, 7)], true));
    // there is one only; then the timer runs anew
    assert_eq!(sender.due(), at(340));
    let told = Acknowledgement { cumulative: 7, newest: 7, newest_sent: at(140), ..Acknowledgement::default() };
    let end = |mut sender: Sender, told: Acknowledgement| {
        sender.acknowledge(at(160), &told);
        assert_eq!((sender.due(), sender.state().timeouts, sender.state().probes), (Time::NEVER, 0, 1));
        (sender.state().reductions, sender.state().window_segments)
    };
    // it has repaired a loss, which counts as one; or it had come, and its acknowledgement was late; or was lost
    assert_eq!(end(sender.clone(), told), (1, 7));
    assert_eq!(end(sender.clone(), Acknowledgement { newest: 6, newest_sent: at(100), ..told }), (0, 10));
    assert_eq!(end(sender.clone(), Acknowledgement { newest_is_duplicate: true, ..told }), (0, 10));
    // two more are missing: they are sent again at once
    let mut selective = [crate::Block::default(); Acknowledgement::BLOCKS];
    selective[0] = crate::Block { first: 2, end: 3 };
    sender.acknowledge(at(160), &Acknowledgement { cumulative: 4, selective, ..told });
    assert_eq!(numbers(&sent(&mut sender, 160)), [(4, 8), (5, 9)]);
    assert_eq!((sender.state().reductions, sender.state().timeouts), (1, 0));
}

#[test]
fn a_probe_waits_for_a_late_acknowledgement_prefers_what_is_new_and_is_no_later_than_the_timer() {
    // of one segment, the acknowledgement may wait for 40 ms
    let (sender, _) = with_round_trip(1);
    assert_eq!(sender.due(), at(180));
    // ten are the window: the eleventh asks, whatever that says
    let (mut sender, first) = with_round_trip(15);
    assert_eq!((first.len(), sender.due()), (10, at(140)));
    let probe = sent(&mut sender, 140);
    assert_eq!((numbers(&probe), probe[0].is_retransmission), (vec![(14, 14)], false));
    assert_eq!(sender.state().in_flight_segments, 11);
    // two round trips of 150 ms are longer than the timer's 200 ms
    let mut sender = self::sender();
    (0..100).for_each(|_| sender.trips.sample(150_000_000));
    sender.write(2 * 1_400);
    sent(&mut sender, 100);
    assert_eq!(sender.due(), at(300));
    assert_eq!(numbers(&sent(&mut sender, 300)), [(1, 2)]);
    assert_eq!((sender.due(), sender.state().timeouts), (at(500), 0));
}

#[test]
fn what_was_overtaken_is_lost_a_quarter_of_a_round_trip_later() {
    let (mut sender, _) = with_round_trip(3);
    let mut selective = [crate::Block::default(); Acknowledgement::BLOCKS];
    selective[0] = crate::Block { first: 1, end: 3 };
    let newest_sent = at(100);
    let told = Acknowledgement { cumulative: 4, newest: 6, newest_sent, selective, ..Acknowledgement::default() };
    sender.acknowledge(at(120), &told);
    assert_eq!((sent(&mut sender, 120), sender.due()), (vec![], at(125)));
    assert_eq!(numbers(&sent(&mut sender, 125)), [(4, 7)]);
    assert_eq!((sender.state().reductions, sender.state().probes), (1, 0));
}

/// What the path holds back for long is late, not lost.
#[test]
fn a_timeout_for_nothing_is_undone() {
    let (mut sender, first) = with_round_trip(10);
    assert_eq!((first.len(), sender.due()), (10, at(140)));
    assert_eq!(numbers(&sent(&mut sender, 140)), [(13, 14)]);
    assert_eq!(numbers(&sent(&mut sender, 340)), [(4, 15)]);
    assert_eq!((sender.state().timeouts, sender.state().window_segments), (1, 1));
    let told = Acknowledgement { cumulative: 6, newest: 5, newest_sent: at(100), ..Acknowledgement::default() };

    // the first two have come, as they were sent at first
    let mut late = sender.clone();
    late.acknowledge(at(400), &told);
    assert_eq!(sent(&mut late, 400), []);
    let state = late.state();
    assert_eq!((state.needless_timeouts, state.in_flight_segments, state.reductions), (1, 8, 0));
    assert!(state.is_slow_start && state.window_segments >= 10, "{state:?}");
    // all but the seventh follow, three of them behind it: it was lost indeed
    let mut selective = [crate::Block::default(); Acknowledgement::BLOCKS];
    selective[0] = crate::Block { first: 1, end: 4 };
    late.acknowledge(at(401), &Acknowledgement { cumulative: 10, newest: 13, selective, ..told });
    assert_eq!(numbers(&sent(&mut late, 401)), [(10, 16)]);
    assert_eq!((late.state().reductions, late.state().in_flight_segments), (1, 1));

    // something that had been sent later has come before: the others are late, but nothing is due in the past
    selective[0] = crate::Block { first: 9, end: 10 };
    let mut overtaken = sender.clone();
    overtaken
        .acknowledge(at(400), &Acknowledgement { cumulative: 4, newest: 14, newest_sent: at(140), selective, ..told });
    overtaken.acknowledge(at(401), &Acknowledgement { cumulative: 6, newest: 5, newest_sent: at(100), ..told });
    assert_eq!((overtaken.due(), overtaken.state().needless_timeouts), (at(401), 1));

    // what was sent again has come first: the others are lost
    let mut lost = sender.clone();
    lost.acknowledge(at(360), &Acknowledgement { cumulative: 5, newest: 15, newest_sent: at(340), ..told });
    assert_eq!(numbers(&sent(&mut lost, 360)), [(5, 16), (6, 17)]);
    assert_eq!(lost.state().needless_timeouts, 0);

    // one in the middle says nothing of the first
    selective[0] = crate::Block { first: 4, end: 5 };
    sender.acknowledge(at(400), &Acknowledgement { cumulative: 4, newest: 8, selective, ..told });
    assert_eq!((sender.state().needless_timeouts, sender.state().window_segments), (0, 2));
}

//! Custom parts, and the handling of their invalid results.

use std::sync::{Arc, Mutex};

use super::*;

/// Returns an invalid result from every method.
struct Invalid;

impl Classifier for Invalid {
    fn classify(&mut self, packet: &Packet, queues: usize) -> Option<usize> {
        packet.number.is_multiple_of(2).then_some(queues)
    }
}

impl Discipline for Invalid {
    fn on_dequeue(&mut self, _now: Time, _packet: &Packet, _waiting: Amount) -> Option<Verdict> {
        None
    }
}

impl Scheduler for Invalid {
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<usize> {
        // the second queue is empty
        [None, Some(1), Some(64), Some(usize::MAX)]
            [(candidates.iter().map(|one| one.packets as usize).sum::<usize>()) % 4]
    }
}

impl Pacer for Invalid {
    fn allowance(&mut self, _now: Time, _below: RlcState) -> Option<u32> {
        None
    }
}

#[test]
fn invalid_result_falls_back_to_default_and_is_counted() {
    let mut queues = fifos(2);
    queues[0].discipline = DisciplineChoice::custom("invalid", || Invalid);
    let configuration = Configuration {
        classifier: ClassifierChoice::custom("invalid", || Invalid),
        queues,
        scheduler: SchedulerChoice::custom("invalid", || Invalid),
        pacer: PacerChoice::custom("invalid", || Invalid),
    };
    let mut tc = TrafficControl::new(&configuration).unwrap();
    for number in 0..8 {
        tc.push(Time::START, packet(0, number, 100));
    }
    assert_eq!(drain(&mut tc, Time::START).len(), 8);
    assert_eq!(tc.faults(), Faults { classifier: 8, discipline: 8, scheduler: 8, pacer: 8 });
    assert_nothing_lost(&tc);
}

/// Forwards no packets.
struct Shut;

impl Pacer for Shut {
    fn allowance(&mut self, _now: Time, _below: RlcState) -> Option<u32> {
        Some(0)
    }
}

#[test]
fn blocking_pacer_is_overridden_after_one_second() {
    let pacer = PacerChoice::custom("shut", || Shut);
    let mut tc = TrafficControl::new(&Configuration { pacer, ..Configuration::default() }).unwrap();
    for number in 0..3 {
        tc.push(Time::START, packet(0, number, 100));
    }
    let held = RlcState { rlc_octets: 1, rlc_room_octets: u32::MAX };
    assert_eq!(tc.pop(Time::START, held), None);
    assert_eq!(tc.pop(Time::from_millis(5000), held), None);
    assert_eq!(tc.pop(Time::from_millis(6000), OPEN), None);
    assert_eq!(tc.pop(Time::from_millis(6999), OPEN), None);
    assert_eq!(tc.faults().pacer, 0);
    // from now on packets pass whenever RLC is empty
    assert!(tc.pop(Time::from_millis(7000), OPEN).is_some());
    assert_eq!(tc.pop(Time::from_millis(7000), held), None);
    assert!(tc.pop(Time::from_millis(7001), OPEN).is_some());
    assert_eq!(tc.faults().pacer, 2);
}

/// Forwards packets in every other second, and records transmissions.
struct Recorder(Arc<Mutex<Vec<Transmission>>>);

impl Pacer for Recorder {
    fn allowance(&mut self, now: Time, _below: RlcState) -> Option<u32> {
        Some((now.as_secs_f64() as u32) % 2)
    }

    fn transmitted(&mut self, _now: Time, transmission: Transmission) {
        self.0.lock().unwrap().push(transmission);
    }
}

#[test]
fn slow_pacer_is_not_overridden() {
    let pacer = PacerChoice::custom("recorder", || Recorder(Arc::default()));
    let mut tc = TrafficControl::new(&Configuration { pacer, ..Configuration::default() }).unwrap();
    for number in 0..3 {
        tc.push(Time::START, packet(0, number, 100));
    }
    for (ms, is_forwarded) in [(1, false), (999, false), (1000, true), (2000, false), (2999, false), (3000, true)] {
        assert_eq!(tc.pop(Time::from_millis(ms), OPEN).is_some(), is_forwarded, "{ms}");
    }
    assert_eq!(tc.faults(), Faults::default());
}

#[test]
fn pacer_sees_only_octets_it_held_back() {
    let recorded = Arc::new(Mutex::new(Vec::new()));
    let shared = recorded.clone();
    let mut configuration = Configuration {
        classifier: to_queues(&[1]),
        queues: fifos(2),
        pacer: PacerChoice::custom("recorder", move || Recorder(shared.clone())),
        ..Configuration::default()
    };
    configuration.queues[1].shaper = Some(ShaperSettings { rate_bps: 8000, window_ms: 1 });
    let mut tc = TrafficControl::new(&configuration).unwrap();
    let mut expected = Vec::new();
    let mut opportunity = |tc: &mut TrafficControl, octets, rlc_was_emptied, waiting_octets| {
        tc.transmitted(Time::from_millis(1500), octets, rlc_was_emptied);
        expected.push(Transmission { octets, rlc_was_emptied, waiting_octets });
        assert_eq!(*recorded.lock().unwrap(), expected);
    };
    opportunity(&mut tc, 10, true, 0);
    tc.push(Time::START, packet(1, 0, 700));
    tc.push(Time::START, packet(1, 1, 700));
    // the bucket of a millisecond is full: the packet may be forwarded
    opportunity(&mut tc, 10, true, 1400);
    opportunity(&mut tc, 10, false, 0);
    // the packet was forwarded and left a negative balance
    assert!(tc.pop(Time::from_millis(1500), OPEN).is_some());
    opportunity(&mut tc, 20, true, 0);
    tc.push(Time::START, packet(0, 0, 300));
    opportunity(&mut tc, 20, true, 300);
}

#[test]
fn custom_part_is_recreated_when_it_or_queues_change() {
    let made = Arc::new(Mutex::new(0));
    let counter = made.clone();
    let scheduler = SchedulerChoice::custom("longest", move || {
        *counter.lock().unwrap() += 1;
        Longest(0)
    });
    let mut configuration = Configuration { queues: fifos(2), scheduler, ..Configuration::default() };
    let mut tc = TrafficControl::new(&configuration).unwrap();
    let mut configure = |configuration: &Configuration| {
        tc.configure(Time::START, configuration).unwrap();
        *made.lock().unwrap()
    };
    configuration.pacer = PacerChoice::Bdp5g;
    configuration.queues[1].limit_octets = 1;
    assert_eq!(configure(&configuration), 1);
    configuration.queues.swap(0, 1);
    assert_eq!(configure(&configuration), 2);
    configuration.queues.pop();
    assert_eq!(configure(&configuration), 3);
    assert_eq!(configure(&Configuration::default()), 3);
    assert_eq!(configure(&Configuration { queues: fifos(1), ..configuration }), 4);
}

/// Drops arriving packets with an even number, and marks departing ones whose number is divisible by three.
struct Arithmetic;

impl Discipline for Arithmetic {
    fn on_enqueue(&mut self, _now: Time, packet: &Packet, _waiting: Amount) -> Option<Verdict> {
        Some(if packet.number.is_multiple_of(2) { Verdict::Drop } else { Verdict::Pass })
    }

    fn on_dequeue(&mut self, _now: Time, packet: &Packet, _waiting: Amount) -> Option<Verdict> {
        Some(if packet.number.is_multiple_of(3) { Verdict::Mark } else { Verdict::Pass })
    }
}

#[test]
fn discipline_drops_and_marks_on_arrival_and_departure() {
    let discipline = DisciplineChoice::custom("arithmetic", || Arithmetic);
    let mut tc =
        TrafficControl::new(&Configuration { queues: queues(&[discipline]), ..Configuration::default() }).unwrap();
    for number in 0..12 {
        let ecn = if number < 6 { Ecn::Ect } else { Ecn::NotEct };
        tc.push(Time::START, Packet { ecn, ..packet(0, number, 100) });
    }
    let departed: Vec<(u64, Ecn)> =
        std::iter::from_fn(|| tc.pop(Time::START, OPEN)).map(|packet| (packet.number, packet.ecn)).collect();
    assert_eq!(departed, [(1, Ecn::Ect), (3, Ecn::Ce), (5, Ecn::Ect), (7, Ecn::NotEct), (11, Ecn::NotEct)]);
    let counts = tc.counts(QueueId(0)).unwrap();
    assert_eq!((counts.marked_packets, counts.dropped.managed.packets), (1, 7));
    assert_eq!(tc.totals().marked_packets, 1);
    assert_nothing_lost(&tc);
}

/// Serves the longest queue first.
struct Longest(u32);

impl Scheduler for Longest {
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<usize> {
        let all: Vec<Candidate> = candidates.iter().collect();
        assert_eq!(candidates.queues(), all.len());
        all.iter().enumerate().filter(|(_, one)| one.ready).max_by_key(|(_, one)| one.octets).map(|(place, _)| place)
    }

    fn served(&mut self, _index: usize, octets: u32) {
        self.0 += octets;
    }
}

#[test]
fn scheduler_sees_queue_state() {
    let scheduler = SchedulerChoice::custom("longest", || Longest(0));
    let configuration =
        Configuration { classifier: to_queues(&[1]), queues: fifos(2), scheduler, ..Configuration::default() };
    assert_eq!(configuration, configuration.clone());
    let mut tc = TrafficControl::new(&configuration).unwrap();
    for (flow, number, octets) in [(0, 0, 300), (0, 1, 300), (1, 0, 100), (1, 1, 400)] {
        tc.push(Time::START, packet(flow, number, octets));
    }
    assert_eq!(drain(&mut tc, Time::START), [(0, 0), (1, 0), (1, 1), (0, 1)]);
    assert_eq!(tc.faults(), Faults::default());
}

//! Valid and invalid configurations, and their effect on queued packets.

use super::*;

#[test]
fn packets_of_removed_queue_move_to_first_queue_in_order() {
    let mut configuration =
        Configuration { classifier: to_queues(&[1, 2]), queues: fifos(3), ..Configuration::default() };
    let mut tc = TrafficControl::new(&configuration).unwrap();
    for (ms, flow) in [(0, 2), (1, 0), (2, 1), (3, 0), (4, 2), (4, 0)] {
        tc.push(Time::from_millis(ms), packet(flow, ms, 1000));
    }
    configuration.classifier = ClassifierChoice::RoundRobin;
    configuration.queues.truncate(1);
    tc.configure(Time::from_millis(5), &configuration).unwrap();
    assert_nothing_lost(&tc);
    let counts = tc.counts(QueueId(0)).unwrap();
    assert_eq!((counts.arrived.packets, counts.waiting.octets, tc.totals().arrived.packets), (6, 6000, 6));
    assert_eq!(tc.counts(QueueId(1)), None);
    assert_eq!(drain(&mut tc, Time::from_millis(6)), [(2, 0), (0, 1), (1, 2), (0, 3), (0, 4), (2, 4)]);
    // packets that were queued there are counted
    assert_eq!(tc.counts(QueueId(0)).unwrap().sojourn.max, Duration::from_millis(6));
    assert_nothing_lost(&tc);
}

#[test]
fn queue_is_not_removed_when_packets_would_be_lost() {
    let mut configuration = Configuration { classifier: to_queues(&[1]), queues: fifos(2), ..Configuration::default() };
    configuration.queues[0].limit_octets = 10_000;
    configuration.queues[1].limit_octets = 10_000;
    let mut tc = TrafficControl::new(&configuration).unwrap();
    for number in 0..20 {
        tc.push(Time::START, packet(1, number, 1000));
    }
    tc.push(Time::START, packet(0, 0, 1000));
    let before = (tc.configuration().clone(), tc.totals());
    let mut without = configuration.clone();
    without.classifier = ClassifierChoice::RoundRobin;
    without.queues.truncate(1);
    let refused = tc.check(&without).unwrap_err();
    assert_eq!(tc.configure(Time::START, &without), Err(refused));
    assert_eq!(
        refused.to_string(),
        "queue 1 is not empty: 10000 octets would have to move to queue 0, which has room for 9000"
    );
    assert_eq!((tc.configuration().clone(), tc.totals()), before);
    // with one packet less the queue can be removed
    assert_eq!(drain(&mut tc, Time::START).len(), 11);
    tc.check(&without).unwrap();
    tc.configure(Time::START, &without).unwrap();
    assert_eq!(tc.totals().dropped.packets, 10);
    assert_nothing_lost(&tc);
}

#[test]
fn unchanged_parts_keep_their_state() {
    let mut configuration = Configuration {
        classifier: to_queues(&[1, 2]),
        queues: fifos(3),
        scheduler: SchedulerChoice::DeficitRoundRobin(vec![100, 200, 100]),
        ..Configuration::default()
    };
    let mut tc = TrafficControl::new(&configuration).unwrap();
    for number in 0..6 {
        tc.push(Time::START, packet(1, number, 100));
        tc.push(Time::START, packet(2, number, 100));
    }
    assert_eq!(tc.pop(Time::START, OPEN).map(|packet| packet.flow.0), Some(1));
    // another queue's limit and the pacer change within a round: the round continues
    configuration.queues[0].limit_octets = 7;
    configuration.pacer = PacerChoice::Bdp5g;
    tc.configure(Time::START, &configuration).unwrap();
    assert_eq!([(); 2].map(|()| tc.pop(Time::START, OPEN).unwrap().flow.0), [1, 2]);
    assert_eq!((tc.matched_packets(0), tc.matched_packets(1)), (6, 6));
    // queues change positions: packets and counters stay with the queue id, and filters continue to count
    configuration.queues.swap(1, 2);
    configuration.queues[0].limit_octets = 5000;
    tc.configure(Time::START, &configuration).unwrap();
    tc.push(Time::START, packet(1, 6, 100));
    assert_eq!(tc.counts(QueueId(1)).unwrap().arrived.packets, 7);
    assert_eq!((tc.matched_packets(0), tc.matched_packets(1)), (7, 6));
    // another discipline or a lower limit keeps the queued packets, and new ones are dropped
    configuration.queues[2].discipline = DisciplineChoice::CoDel(DelayTarget::default());
    configuration.queues[2].limit_octets = 300;
    tc.configure(Time::START, &configuration).unwrap();
    tc.push(Time::START, packet(1, 7, 100));
    let counts = tc.counts(QueueId(1)).unwrap();
    assert_eq!((counts.waiting.packets, counts.dropped.full.packets), (5, 1));
    assert_nothing_lost(&tc);
    assert_eq!(drain(&mut tc, Time::START).len(), 10);
}

#[test]
fn shaper_keeps_rate_without_delaying_others() {
    let mut configuration = Configuration { classifier: to_queues(&[1]), queues: fifos(2), ..Configuration::default() };
    // 1000 octets per millisecond, with bursts of up to 10 ms
    configuration.queues[1].shaper = Some(ShaperSettings { rate_bps: 8_000_000, window_ms: 10 });
    let mut tc = TrafficControl::new(&configuration).unwrap();
    let mut octets = [0; 2];
    for ms in 0..1000 {
        let now = Time::from_millis(ms);
        for number in 0..2 {
            tc.push(now, packet(1, 2 * ms + number, 900));
        }
        tc.push(now, packet(0, ms, 100));
        while let Some(packet) = tc.pop(now, OPEN) {
            octets[packet.flow.0 as usize] += u64::from(packet.octets);
        }
        assert_eq!(octets[0], 100 * (ms + 1));
        let allowed = 10_000 + 1000 * ms;
        assert!(octets[1] <= 1800 * (ms + 1).min(allowed) && octets[1] < allowed + 900, "{ms}: {}", octets[1]);
        assert!(ms < 20 || octets[1] >= allowed, "{ms}: {}", octets[1]);
    }
    let rate = tc.shaper_rate_bps(Time::from_millis(1000), QueueId(1));
    assert!((rate - 8_000_000.0).abs() < 8.0 * 900.0 * 100.0, "{rate}");
    assert_eq!(tc.shaper_rate_bps(Time::from_millis(1000), QueueId(0)), 0.0);
    // packets held back by the shaper do not count as starvation by the pacer
    assert_nothing_lost(&tc);
}

#[test]
fn policer_drops_and_diverts() {
    let mut configuration = Configuration { classifier: to_queues(&[1]), queues: fifos(2), ..Configuration::default() };
    // of 4 Mbit/s, 1 Mbit/s passes, 1 is diverted and 2 are dropped
    configuration.queues[1].policer = Some(PolicerSettings {
        drop_rate_bps: 2_000_000,
        divert: Some(Divert { rate_bps: 1_000_000, to: QueueId(0) }),
    });
    let mut tc = TrafficControl::new(&configuration).unwrap();
    for ms in 0..10_000 {
        tc.push(Time::from_millis(ms), packet(1, ms, 500));
        drain(&mut tc, Time::from_millis(ms));
    }
    let [diverted, stayed] = [0, 1].map(|id| tc.counts(QueueId(id)).unwrap());
    // the buckets hold 100 ms of their rates, and let one more packet pass
    let near = |packets: u64, expected: u64, slack: u64| {
        assert!(packets.abs_diff(expected) <= slack, "{packets} instead of {expected}");
    };
    near(stayed.departed.packets, 2500 + 25, 1);
    near(diverted.departed.packets, 2500 + 25, 2);
    near(stayed.dropped.policed.packets, 5000 - 50, 2);
    assert_eq!(stayed.diverted_packets, diverted.arrived.packets);
    assert_eq!(tc.policer_rate_bps(Time::from_millis(10_000), QueueId(1)), 2_000_000.0);
    assert_nothing_lost(&tc);
}

#[test]
fn invalid_configuration_is_rejected_with_reason() {
    let base = || Configuration { classifier: to_queues(&[1, 2]), queues: fifos(3), ..Configuration::default() };
    let mut tc = TrafficControl::new(&base()).unwrap();
    let mut refused = |change: &dyn Fn(&mut Configuration), text: &str| {
        let mut configuration = base();
        change(&mut configuration);
        let error = tc.configure(Time::START, &configuration).unwrap_err();
        assert_eq!(error.to_string(), text);
        assert!(text.is_ascii());
        assert_eq!(*tc.configuration(), base());
        assert_eq!(TrafficControl::new(&configuration).map(|_| ()), Err(error));
    };
    let codel = |target_ms, interval_ms| DisciplineChoice::CoDel(DelayTarget { target_ms, interval_ms });
    refused(&|it| it.queues.clear(), "there must be at least one queue");
    refused(&|it| it.queues = fifos(65), "65 queues: at most 64 are allowed");
    refused(&|it| it.queues[2].id = QueueId(1), "queue id 1 is used twice");
    refused(&|it| it.queues[1].limit_octets = 0, "the limit of queue 1 must be at least one octet");
    let time = "it must be above 0 and below the interval";
    refused(&|it| it.queues[1].discipline = codel(0, 9), &format!("queue 1 has a target of 0 ms in 9 ms: {time}"));
    refused(&|it| it.queues[1].discipline = codel(9, 9), &format!("queue 1 has a target of 9 ms in 9 ms: {time}"));
    let rate = "rates and window of the policer and shaper of queue 2 must be above 0";
    refused(&|it| it.queues[2].shaper = Some(ShaperSettings { rate_bps: 0, window_ms: 1 }), rate);
    refused(&|it| it.queues[2].shaper = Some(ShaperSettings { rate_bps: 1, window_ms: 0 }), rate);
    let police = |drop_rate_bps, divert| Some(PolicerSettings { drop_rate_bps, divert });
    let divert = |rate_bps, to| Some(Divert { rate_bps, to: QueueId(to) });
    refused(&|it| it.queues[2].policer = police(0, None), rate);
    refused(&|it| it.queues[2].policer = police(1, divert(0, 0)), rate);
    let error = "the policer of queue 2 diverts packets to queue 7, which does not exist";
    refused(&|it| it.queues[2].policer = police(1, divert(1, 7)), error);
    refused(&|it| it.classifier = to_queues(&[1, 2, 3]), "filter 2 refers to queue 3, which does not exist");
    let filter = |id, flow| OsiFilter { id, flow, queue: QueueId(0) };
    let any = FlowPattern::default();
    let many: Vec<OsiFilter> =
        (0..257).map(|id| filter(id, FlowPattern { source_port: Some(id as u16), ..any })).collect();
    refused(&|it| it.classifier = ClassifierChoice::Osi(many.clone()), "257 filters: at most 256 are allowed");
    let osi = |it: &mut Configuration, filters: [OsiFilter; 2]| it.classifier = ClassifierChoice::Osi(filters.to_vec());
    let web = FlowPattern { protocol: Some(6), destination_port: Some(80), ..any };
    refused(&|it| osi(it, [filter(4, web), filter(4, any)]), "filter id 4 is used twice");
    let covered = "filter 5 matches no packet: filter 4 precedes it and matches all its packets";
    refused(&|it| osi(it, [filter(4, web), filter(5, web)]), covered);
    refused(&|it| osi(it, [filter(4, FlowPattern { destination_port: None, ..web }), filter(5, web)]), covered);
    let ping = FlowPattern { protocol: Some(1), ..web };
    let none = "filter 5 matches no packet: it contains a port, and its protocol has none";
    refused(&|it| osi(it, [filter(4, web), filter(5, ping)]), none);
    let mismatch = "the scheduler settings are for 2 queues, but there are 3";
    refused(&|it| it.scheduler = SchedulerChoice::Priority(vec![1, 2]), mismatch);
    refused(&|it| it.scheduler = SchedulerChoice::DeficitRoundRobin(vec![1, 2]), mismatch);
    let quantum = "the quantum of queue 1 must be at least one octet";
    refused(&|it| it.scheduler = SchedulerChoice::DeficitRoundRobin(vec![1, 0, 2]), quantum);
}

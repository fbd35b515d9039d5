//! The functions in virtual time, with a source of known values.

use std::time::Duration;

use ferric::e2;
use ferric::e2ap::{CauseProtocol, CauseRicRequest, RicActionId, RicActionType};

use super::*;
use crate::testing::{
    ExclusiveSource, FIRST, GUEST, Recorder, Sent, control, millis, periodic_subscription, report, request_id,
    subscription,
};

/// UE n has n bearers, and has sent n octets in each millisecond.
struct Counting {
    ues: Vec<Ue>,
    millis: u64,
}

impl StatisticsSource<mac::UeStats> for Counting {
    fn ues(&self, out: &mut Vec<Ue>) {
        out.extend(&self.ues);
    }

    fn records(&self, ue: Ue, out: &mut Vec<mac::UeStats>) {
        let dl_aggr_tbs_octets = ue.0 * self.millis;
        out.push(mac::UeStats { rnti: ue.0 as u32, dl_aggr_tbs_octets, ..mac::UeStats::default() });
    }

    fn advance(&mut self, now: Time) {
        self.millis = now.as_nanos() / 1_000_000;
    }
}

impl StatisticsSource<rlc::BearerStats> for Counting {
    fn ues(&self, out: &mut Vec<Ue>) {
        out.extend(&self.ues);
    }

    fn records(&self, ue: Ue, out: &mut Vec<rlc::BearerStats>) {
        let bearer = |rb_id| rlc::BearerStats { rnti: ue.0 as u32, rb_id, ..rlc::BearerStats::default() };
        out.extend((1..=ue.0 as u8).map(bearer));
    }
}

/// The wall clock stands still here.
const WALL_S: u64 = 1_700_000_000;

struct Bench<R> {
    function: StatisticsFunction<R, ExclusiveSource<Counting>>,
    views: Views,
    recorder: Recorder,
}

impl<R: StatisticsRecord> Bench<R>
where
    Counting: StatisticsSource<R>,
{
    fn new(config: PeriodicConfig) -> Self {
        let source = ExclusiveSource::new(Counting { ues: vec![Ue(1), Ue(2), Ue(3)], millis: 0 });
        let wall_clock = || SystemTime::UNIX_EPOCH + Duration::from_secs(WALL_S);
        let function = StatisticsFunction::new(source, config).with_wall_clock(wall_clock);
        Bench { function, views: Views::with_first(FIRST), recorder: Recorder::default() }
    }

    fn subscribe(&mut self, at_ms: u64, controller: ControllerId, period_ms: u32) -> Result<Admission, Cause> {
        self.request(at_ms, controller, &periodic_subscription(controller, period_ms, self.function.config.wire))
    }

    fn request(
        &mut self,
        at_ms: u64,
        controller: ControllerId,
        request: &SubscriptionRequest,
    ) -> Result<Admission, Cause> {
        self.function.subscribe(millis(at_ms), controller, request, &self.views)
    }

    fn at(&mut self, at_ms: u64) {
        self.recorder.at_ms = at_ms;
        self.function.report(millis(at_ms), &mut FunctionContext::new(&mut self.views, &mut self.recorder));
    }

    /// Calls the function whenever a report is due.
    fn run_until(&mut self, end_ms: u64) {
        while let Some(next) = self.function.next_report().filter(|next| *next <= millis(end_ms)) {
            self.at(next.as_nanos() / 1_000_000);
        }
    }

    fn times(&self) -> Vec<u64> {
        self.recorder.sent.iter().map(|sent| sent.at_ms).collect()
    }
}

fn mac_message(sent: &Sent, wire: Wire) -> mac::IndicationMessage<'static> {
    mac::IndicationMessage::decode_owned(&sent.message, wire).unwrap()
}

#[test]
fn every_ue_is_reported_each_period() {
    for wire in [Wire::Plain, Wire::Per] {
        let mut bench = Bench::<mac::UeStats>::new(PeriodicConfig { wire, ..PeriodicConfig::default() });
        assert_eq!(e2sm::detect(&bench.function.definition().oid), Some((142, wire)));
        bench.subscribe(5, FIRST, 10).unwrap();
        assert_eq!(bench.function.next_report(), Some(millis(15)));
        bench.run_until(45);
        assert_eq!(bench.times(), [15, 25, 35, 45]);
        let Sent { controller, action, header, .. } = &bench.recorder.sent[1];
        assert_eq!((*controller, *action), (FIRST, 7));
        assert_eq!(flexric::IndicationHeader::decode(header, wire).unwrap(), flexric::IndicationHeader::default());
        let message = mac_message(&bench.recorder.sent[1], wire);
        let octets: Vec<_> = message.ues.iter().map(|ue| (ue.rnti, ue.dl_aggr_tbs_octets)).collect();
        assert_eq!(octets, [(1, 25), (2, 50), (3, 75)]);
        let wall_us = WALL_S as i64 * 1_000_000;
        // the wall clock stands still, so each poll sees it set back
        assert!((wall_us..wall_us + 1000).contains(&message.timestamp_us), "{}", message.timestamp_us);
        bench.function.unsubscribe(RequestKey { controller: FIRST, id: request_id(FIRST) });
        assert_eq!(bench.function.next_report(), None);
    }
}

#[test]
fn each_bearer_of_a_ue_is_reported() {
    let mut bench = Bench::<rlc::BearerStats>::new(PeriodicConfig::default());
    bench.subscribe(0, FIRST, 1).unwrap();
    bench.run_until(1);
    let message = rlc::IndicationMessage::decode_owned(&bench.recorder.sent[0].message, Wire::Plain).unwrap();
    let bearers: Vec<_> = message.bearers.iter().map(|bearer| (bearer.rnti, bearer.rb_id)).collect();
    assert_eq!(bearers, [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)]);
}

#[test]
fn late_poll_sends_no_burst() {
    let mut bench = Bench::<mac::UeStats>::new(PeriodicConfig::default());
    bench.subscribe(0, FIRST, 10).unwrap();
    bench.at(10);
    bench.at(57);
    assert_eq!((bench.times(), bench.function.skipped_reports()), (vec![10, 57], 3));
    // without drift
    assert_eq!(bench.function.next_report(), Some(millis(60)));
    bench.at(59);
    assert_eq!(bench.recorder.sent.len(), 2, "too early is nothing");
    bench.run_until(80);
    assert_eq!(bench.times(), [10, 57, 60, 70, 80]);
}

#[test]
fn reports_contain_visible_ues() {
    let mut bench = Bench::<mac::UeStats>::new(PeriodicConfig::default());
    bench.subscribe(0, GUEST, 10).unwrap();
    bench.subscribe(0, FIRST, 10).unwrap();
    bench.run_until(10);
    bench.views.expose(GUEST, Ue(2)).unwrap();
    bench.run_until(20);
    let decoded = |sent: &Sent| {
        let message = mac_message(sent, Wire::Plain);
        (sent.controller, message.ues.iter().map(|ue| ue.rnti).collect::<Vec<_>>())
    };
    let all: Vec<_> = bench.recorder.sent.iter().map(decoded).collect();
    assert_eq!(all, [(GUEST, vec![]), (FIRST, vec![1, 2, 3]), (GUEST, vec![2]), (FIRST, vec![1, 2, 3])]);
}

#[test]
fn unsupported_requests_are_refused() {
    let config = PeriodicConfig { min_period_ms: 5, max_actions: 2, ..PeriodicConfig::default() };
    let mut bench = Bench::<mac::UeStats>::new(config);
    let trigger = |period_ms: u32| period_ms.to_le_bytes().to_vec();
    let syntax = Err(Cause::Protocol(CauseProtocol::TransferSyntaxError));
    assert_eq!(bench.request(0, FIRST, &subscription(FIRST, vec![1, 0, 0], vec![report(1)])), syntax, "cut short");
    assert_eq!(bench.request(0, FIRST, &subscription(FIRST, vec![1, 0, 0, 0, 0], vec![report(1)])), syntax, "too long");
    let trigger_cause = Err(Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported));
    assert_eq!(bench.request(0, FIRST, &subscription(FIRST, trigger(0), vec![report(1)])), trigger_cause);
    assert_eq!(
        bench.request(0, FIRST, &subscription(FIRST, trigger(4), vec![report(1)])),
        trigger_cause,
        "faster than it is bound to"
    );

    let not_supported = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
    let insert = e2::Action { kind: RicActionType::Insert, ..report(1) };
    assert_eq!(bench.request(0, FIRST, &subscription(FIRST, trigger(5), vec![insert.clone()])), Err(not_supported));
    let defined = e2::Action { definition: Some(vec![1]), ..report(2) };
    let semantic = Cause::Protocol(CauseProtocol::SemanticError);
    assert_eq!(bench.request(0, FIRST, &subscription(FIRST, trigger(5), vec![defined.clone()])), Err(semantic));
    let empty = e2::Action { definition: Some(vec![]), ..report(3) };
    let admission = bench
        .request(0, FIRST, &subscription(FIRST, trigger(5), vec![insert, defined, empty, report(4), report(5)]))
        .unwrap();
    let no_room = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);
    let refused = vec![(RicActionId(1), not_supported), (RicActionId(2), semantic), (RicActionId(5), no_room)];
    assert_eq!(admission, Admission { admitted: vec![RicActionId(3), RicActionId(4)], not_admitted: refused });
    assert_eq!(bench.subscribe(0, GUEST, 5), Err(no_room));

    let request = control(vec![1, 0, 0, 0], vec![42, 0, 0, 0]);
    let mut reports = FunctionContext::new(&mut bench.views, &mut bench.recorder);
    let failure = bench.function.control(millis(0), FIRST, &request, &mut reports).unwrap_err();
    assert_eq!((failure.cause, failure.outcome), (not_supported, None));
}

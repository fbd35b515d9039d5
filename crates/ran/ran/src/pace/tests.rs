//! KPM reports of a node whose model is faster or slower than the clock.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use e2sm::kpm::{
    EventTriggerDefinition, IndicationHeader, IndicationHeaderFormats, IndicationMessage, MeasurementRequest,
    RanFunctionDefinition, ReportRequest, Revision, Scope, TimestampFormat,
};
use ferric::agent::{ControllerId, FunctionContext, FunctionTransport, RanFunction, RequestKey, Views};
use ferric::e2::{Action, AgentMisuse, SubscriptionRequest, SubscriptionTimes};
use ferric::e2ap::{GlobalRicId, RicActionId, RicActionType, RicRequestId};
use ran_functions::kpm::{KpmConfig, KpmFunction};

use super::*;
use crate::clocked::ClockedFunction;
use crate::scenario::{ChannelScenario, FlowScenario, Scenario, UeScenario};
use crate::{RanConfig, testing};

const DAY: SystemTime = SystemTime::UNIX_EPOCH;

/// The reports that were sent: when, the start of the period, the volume in kbit, and whether it is complete.
#[derive(Default)]
struct Sent(Vec<(Time, SystemTime, f64, bool)>, Time);

impl FunctionTransport for Sent {
    fn send(
        &mut self,
        _: RequestKey,
        _: RicActionId,
        _: Option<&[u8]>,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), AgentMisuse> {
        let header = IndicationHeader::decode(header, Revision::V3_00).unwrap();
        let IndicationHeaderFormats::Format1(header) = header.formats;
        let start = TimestampFormat::Ntp.time(header.collet_start_time, DAY).expect("a time stamp of NTP");
        let message = IndicationMessage::decode_owned(message, Revision::V3_00).unwrap();
        let row = message.rows(None).next().unwrap();
        self.0.push((self.1, start, row.value.number().unwrap(), !row.incomplete));
        Ok(())
    }

    fn controllers(&self) -> Vec<(ControllerId, Option<GlobalRicId>)> {
        Vec::new()
    }
}

/// The reports on a UE that receives 1 Mbit/s, with a period of one second, polled every `poll_ms` of the clock for some time.
fn reports(speed: f64, poll_ms: u64, whole_ms: u64, catch_up_periods: u32) -> Vec<(Time, SystemTime, f64, bool)> {
    let kind = radio::traffic::Kind::ConstantBitRate { rate_bps: 1_000_000, packet_octets: 1000 };
    let ue = UeScenario {
        cell: 0,
        subscription: radio::Subscription { sst: 1, five_qi: 9, ..Default::default() },
        max_carriers: 1,
        channel: ChannelScenario::Mcs(15),
        flows: vec![FlowScenario { specification: radio::traffic::FlowSpecification::new(kind), ports: (80, 81) }],
        arrives: radio::Time::START,
        leaves: None,
    };
    let scenario = Scenario { speed, ues: vec![ue], ..Scenario::without_traffic(1) };
    let node = testing::nodes(&RanConfig { scenario, ..RanConfig::default() }).remove(0);
    let pace = Pace::of_speed(speed);
    // the time of day of the model, without the host's clock
    let clock = Arc::new(AtomicU64::new(0));
    let read = Arc::clone(&clock);
    let wall_clock = move || DAY + Duration::from_nanos(read.load(Relaxed));
    let config = KpmConfig { catch_up_periods, ..KpmConfig::default() };
    let function = KpmFunction::new(Rc::new(RefCell::new(node)), config).with_wall_clock(wall_clock);
    let mut function = ClockedFunction { function: Box::new(function), clock: pace };

    let measurements = [MeasurementRequest::named("DRB.PdcpSduVolumeDL")];
    let request = ReportRequest {
        measurements: &measurements,
        granularity_period_ms: 1000,
        reporting_period_ms: 1000,
        scope: Scope::Node,
    };
    let offered = RanFunctionDefinition::decode_owned(&function.definition().definition, Revision::V3_00).unwrap();
    let plan = request.plan(&offered, Revision::V3_00).unwrap();
    let (mut event_trigger, mut definition) = (Vec::new(), Vec::new());
    EventTriggerDefinition::every(1000).encode(Revision::V3_00, &mut event_trigger).unwrap();
    plan.action.encode(Revision::V3_00, &mut definition).unwrap();
    let action =
        Action { id: RicActionId(1), kind: RicActionType::Report, definition: Some(definition), subsequent: None };
    let request = SubscriptionRequest {
        request_id: RicRequestId { requestor: 1, instance: 1 },
        ran_function_id: function.id(),
        event_trigger,
        actions: vec![action],
        times: SubscriptionTimes::default(),
    };
    let mut views = Views::with_first(ControllerId(0));
    let start = Time::from_nanos(3_000_000_000);
    function.subscribe(start, ControllerId(0), &request, &views).unwrap();
    let mut sent = Sent::default();
    for ms in (1..=whole_ms).filter(|ms| ms % poll_ms == 0) {
        let at = start + Duration::from_millis(ms);
        clock.store(pace.model_time(at).as_nanos(), Relaxed);
        if function.next_report().is_some_and(|due| due <= at) {
            sent.1 = Time::from_nanos(at.as_nanos() - start.as_nanos());
            function.report(at, &mut FunctionContext::new(&mut views, &mut sent));
        }
    }
    sent.0
}

/// A period of one second of the model lasts 200 ms at a speed of 5, and 2 s at a speed of 0.5.
#[test]
fn report_periods_are_in_the_time_of_the_model() {
    for (speed, count) in [(5.0, 10), (1.0, 2), (0.5, 1)] {
        let reports = reports(speed, 1, 2000, 0);
        assert_eq!(reports.len(), count, "speed {speed}");
        for (number, (at, start, kbit, complete)) in (1..).zip(&reports) {
            assert_eq!(at.as_nanos(), (1e9 / speed) as u64 * number, "speed {speed}");
            assert!((992.0..=1000.0).contains(kbit) && *complete, "speed {speed}: {kbit} kbit in a second");
            let since = start.duration_since(reports[0].1).unwrap();
            assert_eq!(since.as_micros().next_multiple_of(10), 1_000_000 * u128::from(number - 1), "speed {speed}");
        }
    }
}

/// At a high speed several periods end between two polls. Each is reported by itself, up to a bound.
#[test]
fn periods_between_two_polls_are_reported_one_by_one() {
    // five periods in a poll of 5 ms
    let all = reports(1000.0, 5, 50, 64);
    assert_eq!(all.len(), 50);
    assert!(all.iter().all(|(.., kbit, complete)| (992.0..=1000.0).contains(kbit) && *complete));
    // with less than that, the next report covers what is left of the five, and the others are skipped
    let some = reports(1000.0, 5, 50, 2);
    assert_eq!(some.len(), 10 * 3);
    assert_eq!(some.iter().filter(|(.., complete)| *complete).count(), 10 * 2);
    let whole: f64 = some.iter().map(|(_, _, kbit, _)| kbit).sum();
    assert!((whole - 50_000.0).abs() < 100.0, "{whole} kbit in 50 s");
}

#[test]
fn times_of_the_model_and_of_the_loop_agree() {
    for speed in [0.001, 0.3, 1.0, 5.0, 1000.0] {
        let pace = Pace::of_speed(speed);
        assert_eq!(pace.is_real_time(), speed == 1.0);
        for nanos in [0, 1, 999, 1_000_000_007, 86_400_000_000_000] {
            let model = Time::from_nanos(nanos);
            let due = pace.loop_time(model);
            assert!(pace.model_time(due) >= model, "{speed}: a report is not due too early");
            let before = Time::from_nanos(due.as_nanos().saturating_sub(1));
            assert!(nanos == 0 || pace.model_time(before) < model, "{speed}: nor too late");
        }
    }
}

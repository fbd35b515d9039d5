//! The steps of FlexRIC's paper, 6.1.1, and invalid controls.

use e2sm::Wire;
use e2sm::tc::{
    Bdp, ChangePolicer, ChangeShaper, Classifier, ClassifierControl, DelayTarget, DeleteFilter, DeleteQueue, FiveTuple,
    ModifyFilter, ModifyQueue, NewFilter, NewOsiFilter, OsiFilter, PacerControl, PolicerControl, QueueControl,
    QueueKind, QueueParameters, Scheduler, SchedulerControl, ShaperControl,
};
use ferric::agent::Ue;
use ferric::e2ap::{CauseProtocol, CauseRicRequest};

use super::*;
use crate::testing::{self, ExclusiveSource, FIRST, GUEST, Recorder, millis, periodic_subscription};

#[derive(Default)]
struct BaseStation {
    configuration: Configuration,
    broken: bool,
}

impl TcSource for BaseStation {
    fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    fn configure(&mut self, configuration: Configuration) -> Result<(), Cow<'static, str>> {
        if self.broken {
            return Err("no bearer".into());
        }
        self.configuration = configuration;
        Ok(())
    }

    fn queue_counters(&self, queue_id: u32) -> QueueCounters {
        QueueCounters { queue: Queue { packets: 10 + queue_id, ..Queue::default() }, ..QueueCounters::default() }
    }
}

struct Bench {
    function: TcFunction<ExclusiveSource<BaseStation>>,
    source: ExclusiveSource<BaseStation>,
    views: Views,
    recorder: Recorder,
    wire: Wire,
}

impl Bench {
    fn speaking(wire: Wire) -> Self {
        let source = ExclusiveSource::new(BaseStation::default());
        let function = TcFunction::new(source.clone(), PeriodicConfig { wire, ..PeriodicConfig::default() });
        Bench { function, source, views: Views::with_first(FIRST), recorder: Recorder::default(), wire }
    }

    fn control(&mut self, controller: ControllerId, message: &ControlMessage<'_>) -> Result<(), (Cause, String)> {
        let (mut header, mut octets) = (Vec::new(), Vec::new());
        ControlHeader::default().encode(self.wire, &mut header).unwrap();
        message.encode(self.wire, &mut octets).unwrap();
        let request = testing::control(header, octets);
        let mut reports = FunctionContext::new(&mut self.views, &mut self.recorder);
        let decoded_outcome = |outcome: Option<Vec<u8>>| {
            let outcome = ControlOutcome::decode_owned(&outcome.expect("an outcome"), self.wire).unwrap();
            (outcome.code, outcome.diagnostic.to_string())
        };
        match self.function.control(millis(0), controller, &request, &mut reports) {
            Ok(outcome) => {
                assert_eq!(decoded_outcome(outcome), (SUCCESS, String::new()));
                Ok(())
            }
            Err(failure) => {
                let (code, text) = decoded_outcome(failure.outcome);
                assert_eq!(code, FAILURE);
                Err((failure.cause, text))
            }
        }
    }

    fn done(&mut self, message: ControlMessage<'_>) {
        self.control(FIRST, &message).unwrap();
    }

    /// Why a control does nothing.
    fn refused(&mut self, message: ControlMessage<'_>) -> String {
        let before = self.source.lock().configuration.clone();
        let (cause, text) = self.control(FIRST, &message).unwrap_err();
        assert_eq!(cause, Cause::RicRequest(CauseRicRequest::ControlMessageInvalid));
        assert_eq!(self.source.lock().configuration, before);
        text
    }

    fn configuration(&self) -> Configuration {
        self.source.lock().configuration.clone()
    }
}

const FIFO: ControlMessage<'static> = ControlMessage::Queue(QueueControl::Add(QueueParameters::Fifo));

fn codel(target_ms: u32, interval_ms: u32) -> ControlMessage<'static> {
    ControlMessage::Queue(QueueControl::Add(QueueParameters::CoDel(DelayTarget { target_ms, interval_ms })))
}

fn delete_queue(id: u32, kind: QueueKind) -> ControlMessage<'static> {
    ControlMessage::Queue(QueueControl::Delete(DeleteQueue { id, kind }))
}

fn filter(flow: FiveTuple, queue_id: u32) -> ControlMessage<'static> {
    ControlMessage::Classifier(ClassifierControl::Add(NewFilter::Osi(NewOsiFilter { flow, queue_id })))
}

fn scheduler(scheduler: Scheduler<'static>) -> ControlMessage<'static> {
    ControlMessage::Scheduler(SchedulerControl::Modify(scheduler))
}

fn voip() -> FiveTuple {
    FiveTuple { destination_port: Some(5060), protocol: Some(17), ..FiveTuple::default() }
}

/// A second queue, a filter for the flow that must not wait, and a pacer (FlexRIC paper, 6.1.1).
#[test]
fn filter_sends_flow_to_new_queue() {
    for wire in [Wire::Plain, Wire::Per] {
        let mut bench = Bench::speaking(wire);
        bench.done(FIFO);
        bench.done(filter(voip(), 1));
        let bdp = Bdp { drb_octets: 20_000, timestamp_us: 5 };
        bench.done(ControlMessage::Pacer(PacerControl::Modify(PacerParameters::Bdp5g(bdp))));
        bench.done(scheduler(Scheduler::Priority(vec![1, 0].into())));
        bench.done(ControlMessage::Shaper(ShaperControl::Modify(ChangeShaper {
            id: 0,
            window_ms: 100,
            max_rate_kbps: 15_000,
            active: true,
        })));

        bench.function.subscribe(millis(0), FIRST, &periodic_subscription(FIRST, 10, wire), &bench.views).unwrap();
        bench.function.report(millis(10), &mut FunctionContext::new(&mut bench.views, &mut bench.recorder));
        let report = IndicationMessage::decode_owned(&bench.recorder.sent[0].message, wire).unwrap();
        assert_eq!(report.scheduler, Scheduler::Priority(vec![1, 0].into()));
        assert_eq!(report.pacer.kind, PacerKind::Bdp5g);
        assert_eq!(report.classifier, Classifier::Osi(vec![OsiFilter { id: 0, flow: voip(), queue_id: 1 }].into()));
        let queues: Vec<_> =
            report.queues.iter().map(|entry| (entry.shaper.id, entry.queue.kind, entry.queue.packets)).collect();
        assert_eq!(queues, [(0, QueueKind::Fifo, 10), (1, QueueKind::Fifo, 11)]);
        assert!(report.queues[0].shaper.active && !report.queues[1].shaper.active && !report.queues[0].policer.active);
    }
}

#[test]
fn ids_are_the_smallest_unused() {
    let mut bench = Bench::speaking(Wire::Per);
    bench.done(FIFO);
    bench.done(codel(5, 100));
    bench.done(scheduler(Scheduler::DeficitRoundRobin(vec![100, 200, 300].into())));
    bench.done(delete_queue(1, QueueKind::Fifo));
    assert_eq!(bench.configuration().scheduler, Scheduler::DeficitRoundRobin(vec![100, 300].into()));
    bench.done(FIFO);
    assert_eq!(bench.configuration().queues.iter().map(|queue| queue.id).collect::<Vec<_>>(), [0, 2, 1]);
    assert_eq!(bench.configuration().scheduler, Scheduler::DeficitRoundRobin(vec![100, 300, 1514].into()));
    bench.done(scheduler(Scheduler::Priority(vec![4, 9, 1].into())));
    bench.done(FIFO);
    assert_eq!(bench.configuration().scheduler, Scheduler::Priority(vec![4, 9, 1, 10].into()));

    bench.done(filter(voip(), 2));
    bench.done(filter(FiveTuple::default(), 0));
    bench.done(ControlMessage::Classifier(ClassifierControl::Delete(DeleteFilter::Osi(0))));
    bench.done(filter(voip(), 1));
    let modified = OsiFilter { id: 1, flow: voip(), queue_id: 3 };
    bench.done(ControlMessage::Classifier(ClassifierControl::Modify(ModifyFilter::Osi(modified))));
    let filters = vec![modified, OsiFilter { id: 0, flow: voip(), queue_id: 1 }];
    assert_eq!(bench.configuration().classifier, Classifier::Osi(filters.into()));
    bench.done(ControlMessage::Classifier(ClassifierControl::Add(NewFilter::Stochastic)));
    assert_eq!(bench.configuration().classifier, Classifier::Stochastic);
}

#[test]
fn invalid_controls_are_refused() {
    let mut bench = Bench::speaking(Wire::Per);
    bench.done(FIFO);
    bench.done(filter(voip(), 1));
    let mut refused = |message| bench.refused(message);
    assert_eq!(refused(filter(voip(), 7)), "there is no queue 7");
    assert_eq!(refused(delete_queue(7, QueueKind::Fifo)), "there is no queue 7");
    assert_eq!(refused(delete_queue(1, QueueKind::CoDel)), "queue 1 is Fifo");
    assert_eq!(refused(delete_queue(1, QueueKind::Fifo)), "a filter or a policer sends packets to queue 1");
    let time = "it must be above 0 and below the interval";
    assert_eq!(refused(codel(0, 100)), format!("a target of 0 ms in 100 ms: {time}"));
    assert_eq!(refused(codel(100, 100)), format!("a target of 100 ms in 100 ms: {time}"));
    let parameters = QueueParameters::EcnCoDel(DelayTarget { target_ms: 0, interval_ms: 0 });
    let modify = ControlMessage::Queue(QueueControl::Modify(ModifyQueue { id: 1, parameters }));
    assert_eq!(refused(modify), format!("a target of 0 ms in 0 ms: {time}"));

    let priorities = |count| scheduler(Scheduler::Priority(vec![0; count].into()));
    assert_eq!(refused(priorities(1)), "the scheduler settings are for 1 queues, but there are 2");
    assert_eq!(refused(priorities(3)), "the scheduler settings are for 3 queues, but there are 2");
    let quanta = scheduler(Scheduler::DeficitRoundRobin(vec![5, 0].into()));
    assert_eq!(refused(quanta), "the quantum of each queue must be above 0");
    let one = "there is always one scheduler: it can only be modified";
    assert_eq!(refused(ControlMessage::Scheduler(SchedulerControl::Add)), one);
    assert_eq!(refused(ControlMessage::Scheduler(SchedulerControl::Delete)), one);
    assert_eq!(refused(ControlMessage::Pacer(PacerControl::Add)), "there is always one pacer: it can only be modified");
    let cannot = "it cannot be added";
    assert_eq!(refused(ControlMessage::Shaper(ShaperControl::Add)), format!("each queue has one shaper: {cannot}"));
    assert_eq!(refused(ControlMessage::Policer(PolicerControl::Add)), format!("each queue has one policer: {cannot}"));
    assert_eq!(refused(ControlMessage::Policer(PolicerControl::Delete(5))), "there is no queue 5");

    let limit = "rate and window of queue 1 must be above 0";
    let shaper = |window_ms, max_rate_kbps| {
        let change = ChangeShaper { id: 1, window_ms, max_rate_kbps, active: true };
        ControlMessage::Shaper(ShaperControl::Modify(change))
    };
    assert_eq!(refused(shaper(0, 1)), limit);
    assert_eq!(refused(shaper(1, 0)), limit);
    let policer = |deviation_id, drop_rate_kbps| {
        let change = ChangePolicer { id: 1, drop_rate_kbps, deviation_id, deviation_rate_kbps: 1, active: true };
        ControlMessage::Policer(PolicerControl::Modify(change))
    };
    assert_eq!(refused(policer(1, 0)), limit);
    assert_eq!(refused(policer(4, 10)), "there is no queue 4");

    let no_filter = ControlMessage::Classifier(ClassifierControl::Delete(DeleteFilter::Osi(3)));
    assert_eq!(refused(no_filter.clone()), "there is no filter 3");
    let none = ControlMessage::Classifier(ClassifierControl::Delete(DeleteFilter::RoundRobin));
    assert_eq!(refused(none), "the classifier in use has no filters to delete or modify");
    bench.done(ControlMessage::Classifier(ClassifierControl::Add(NewFilter::RoundRobin)));
    assert_eq!(bench.refused(no_filter), "only the OSI classifier has filters, and it is not in use");
    bench.done(policer(0, 10));
    assert_eq!(bench.refused(delete_queue(0, QueueKind::Fifo)), "a filter or a policer sends packets to queue 0");
    bench.done(ControlMessage::Policer(PolicerControl::Delete(1)));
    bench.done(delete_queue(0, QueueKind::Fifo));
    assert_eq!(bench.refused(delete_queue(1, QueueKind::Fifo)), "queue 1 is the last one");
}

#[test]
fn numbers_of_queues_and_filters_are_limited() {
    let mut bench = Bench::speaking(Wire::Per);
    (1..64).for_each(|_| bench.done(FIFO));
    assert_eq!(bench.refused(FIFO), "more than 64 queues");
    (0..256).for_each(|_| bench.done(filter(voip(), 63)));
    assert_eq!(bench.refused(filter(voip(), 0)), "more than 256 filters");
}

#[test]
fn only_the_first_controller_may_configure() {
    let mut bench = Bench::speaking(Wire::Per);
    bench.views.expose(GUEST, Ue(1)).unwrap();
    let failed = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
    let (cause, text) = bench.control(GUEST, &FIFO).unwrap_err();
    assert_eq!((cause, &*text), (failed, "traffic control is for the controller that sees every UE"));
    let refused =
        bench.function.subscribe(millis(0), GUEST, &periodic_subscription(GUEST, 10, Wire::Per), &bench.views);
    assert_eq!(refused, Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported)));
    // a controller that no longer sees every UE gets no reports
    bench.function.subscribe(millis(0), FIRST, &periodic_subscription(FIRST, 10, Wire::Per), &bench.views).unwrap();
    bench.views = Views::with_first(GUEST);
    bench.function.report(millis(10), &mut FunctionContext::new(&mut bench.views, &mut bench.recorder));
    assert!(bench.recorder.sent.is_empty());

    bench.views = Views::with_first(FIRST);
    bench.source.lock().broken = true;
    assert_eq!(bench.control(FIRST, &FIFO), Err((failed, "no bearer".into())));
    let request = testing::control(vec![0x00, 0x00], vec![0xFF]);
    let mut reports = FunctionContext::new(&mut bench.views, &mut bench.recorder);
    let failure = bench.function.control(millis(0), FIRST, &request, &mut reports).unwrap_err();
    assert_eq!(failure.cause, Cause::Protocol(CauseProtocol::TransferSyntaxError));
}

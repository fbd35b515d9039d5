//! Tests of the guard with a minimal node.

use e2sm::tc::{
    ClassifierControl, DeleteFilter, ModifyFilter, NewFilter, OsiFilter, PacerControl, PacerKind, PacerParameters,
    QueueControl, QueueKind, QueueParameters,
};

use super::*;
use crate::record::{ClassifierRecord, PacerRecord, PolicerRecord, QueueEntryRecord, QueueRecord, ShaperRecord};

fn voip() -> FiveTuple {
    FiveTuple { destination_port: Some(5060), protocol: Some(17), ..FiveTuple::default() }
}

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn entry(id: u32) -> QueueEntryRecord {
    QueueEntryRecord {
        shaper: ShaperRecord { id },
        policer: PolicerRecord { active: false, deviation_id: 0 },
        queue: QueueRecord {
            kind: QueueKind::Fifo,
            packets: 0,
            forwarded_packets: 0,
            mean_sojourn_us: None,
            last_sojourn_us: 0,
        },
    }
}

/// A node as a guard sees it.
struct Node {
    set: TcRecord,
    done: Vec<String>,
}

impl Node {
    fn new() -> Self {
        let set = TcRecord {
            timestamp_us: 0,
            pacer: PacerRecord { kind: PacerKind::Off },
            classifier: ClassifierRecord::RoundRobin,
            queues: vec![entry(0)],
        };
        Node { set, done: Vec::new() }
    }

    fn filters(&mut self) -> &mut Vec<OsiFilter> {
        if !matches!(self.set.classifier, ClassifierRecord::Osi(_)) {
            self.set.classifier = ClassifierRecord::Osi(Vec::new());
        }
        let ClassifierRecord::Osi(filters) = &mut self.set.classifier else { unreachable!() };
        filters
    }

    fn execute(&mut self, control: &ControlMessage<'_>) {
        match control {
            ControlMessage::Queue(QueueControl::Add(QueueParameters::Fifo)) => {
                let id = (0..).find(|id| self.set.queues.iter().all(|entry| entry.shaper.id != *id)).unwrap();
                self.set.queues.push(entry(id));
                self.done.push(format!("+queue {id}"));
            }
            ControlMessage::Queue(QueueControl::Delete(delete)) => {
                assert!(self.filters().iter().all(|filter| filter.queue_id != delete.id));
                self.set.queues.retain(|entry| entry.shaper.id != delete.id);
                self.done.push(format!("-queue {}", delete.id));
            }
            ControlMessage::Classifier(ClassifierControl::Add(NewFilter::Osi(new))) => {
                let id = self.filters().len() as u32;
                self.filters().push(OsiFilter { id, flow: new.flow, queue_id: new.queue_id });
                self.done.push(format!("+filter {id} to {}", new.queue_id));
            }
            ControlMessage::Classifier(ClassifierControl::Modify(ModifyFilter::Osi(changed))) => {
                *self.filters().iter_mut().find(|filter| filter.id == changed.id).unwrap() = *changed;
                self.done.push(format!("filter {} to {}", changed.id, changed.queue_id));
            }
            ControlMessage::Classifier(ClassifierControl::Delete(DeleteFilter::Osi(id))) => {
                self.filters().retain(|filter| filter.id != *id);
                self.done.push(format!("-filter {id}"));
            }
            ControlMessage::Pacer(PacerControl::Modify(pacer)) => {
                let is_off = *pacer == PacerParameters::Off;
                self.set.pacer.kind = if is_off { PacerKind::Off } else { PacerKind::Bdp5g };
                self.done.push(if is_off { "-pacer" } else { "+pacer" }.to_owned());
            }
            other => panic!("{other:?}"),
        }
    }

    /// Reports its configuration and executes the resulting controls, repeatedly. Returns the executed controls.
    fn run(&mut self, guard: &mut FlowGuard, mut ms: u64) -> Vec<String> {
        for _ in 0..20 {
            ms += 10;
            guard.handle_tc(at(ms), &self.set.clone());
            while let Some(control) = guard.poll_control() {
                self.execute(&control);
                assert_eq!(guard.poll_control(), None, "one at a time");
                guard.handle_answer(at(ms), Answer::Done);
            }
        }
        std::mem::take(&mut self.done)
    }
}

fn guard() -> FlowGuard {
    FlowGuard::new(GuardConfig::new(voip(), Duration::from_millis(20)))
}

fn bearers(waits_ms: &[u32]) -> RlcRecord {
    let bearer = |(at, ms): (usize, &u32)| BearerRecord {
        rnti: 0x4601 + at as u32,
        rb_id: 1,
        tx_sdu_wait_us: ms * 1000,
        tx_buffer_octets: ms * 100,
        ..BearerRecord::default()
    };
    RlcRecord { timestamp_us: 5, bearers: waits_ms.iter().enumerate().map(bearer).collect() }
}

fn events(guard: &mut FlowGuard) -> Vec<GuardEvent> {
    std::iter::from_fn(|| guard.poll_event()).collect()
}

const ACTIONS: [&str; 3] = ["+queue 1", "+filter 0 to 1", "+pacer"];

#[test]
fn passed_limit_triggers_three_steps_once() {
    let (mut guard, mut node) = (guard(), Node::new());
    guard.handle_rlc(&bearers(&[3, 20]));
    assert_eq!(
        (node.run(&mut guard, 0), events(&mut guard)),
        (vec![], vec![]),
        "a wait equal to the limit does not pass it"
    );
    guard.handle_rlc(&bearers(&[3, 21]));
    assert_eq!(node.run(&mut guard, 1000), ACTIONS);
    let reported = events(&mut guard);
    assert_eq!(reported[0], GuardEvent::LimitPassed { rnti: 0x4602, rb_id: 1, waits_us: 21_000, limit_us: 20_000 });
    assert_eq!(reported.last(), Some(&GuardEvent::Protected { queue: Some(1) }));
    assert!(guard.is_protected());
    // still above: nothing more
    guard.handle_rlc(&bearers(&[90]));
    assert_eq!((node.run(&mut guard, 2000), events(&mut guard)), (vec![], vec![]));
    assert_eq!(guard.measured().before().map(|waited| waited.max_us), Some(21_000));
    assert_eq!(guard.measured().after().map(|waited| waited.max_us), Some(90_000));
}

#[test]
fn configured_ue_alone_decides() {
    let mut guard = FlowGuard::new(GuardConfig { rnti: Some(0x4601), ..guard().config });
    let mut node = Node::new();
    guard.handle_rlc(&bearers(&[3, 500]));
    assert_eq!(node.run(&mut guard, 0), [""; 0]);
    guard.handle_rlc(&bearers(&[30, 5]));
    assert_eq!(node.run(&mut guard, 1000), ACTIONS);
}

#[test]
fn waiting_time_includes_rlc_and_tc() {
    let (mut guard, mut node) = (guard(), Node::new());
    // the last packet waited long, but was forwarded long ago
    node.set.queues[0].queue.last_sojourn_us = 900_000;
    node.run(&mut guard, 0);
    guard.handle_rlc(&bearers(&[6]));
    assert_eq!(events(&mut guard), []);
    node.set.queues[0].queue.mean_sojourn_us = Some(15_000.0);
    node.run(&mut guard, 0);
    guard.handle_rlc(&bearers(&[6]));
    assert_eq!(
        events(&mut guard),
        [GuardEvent::LimitPassed { rnti: 0x4601, rb_id: 1, waits_us: 21_000, limit_us: 20_000 }]
    );
    node.run(&mut guard, 1000);
    node.set.queues[0].queue.mean_sojourn_us = Some(900_000.0);
    node.set.queues[1].queue.mean_sojourn_us = Some(1000.0);
    node.run(&mut guard, 2000);
    guard.handle_rlc(&bearers(&[4]));
    assert_eq!(guard.measured().after().map(|waited| waited.max_us), Some(5000));
}

#[test]
fn pacer_gets_octets_in_rlc_with_their_time() {
    let (mut guard, mut node) = (guard(), Node::new());
    guard.handle_rlc(&bearers(&[70]));
    for _ in 0..2 {
        guard.handle_tc(at(1), &node.set);
        node.execute(&guard.poll_control().unwrap());
        guard.handle_answer(at(1), Answer::Done);
    }
    guard.handle_tc(at(1), &node.set);
    let bdp = PacerParameters::Bdp5g(Bdp { drb_octets: 7000, timestamp_us: 5 });
    assert_eq!(guard.poll_control(), Some(ControlMessage::Pacer(PacerControl::Modify(bdp))));
}

#[test]
fn existing_steps_are_detected() {
    // all of it, by an earlier run
    let mut node = Node::new();
    let mut first = guard();
    first.handle_rlc(&bearers(&[70]));
    assert_eq!(node.run(&mut first, 0), ACTIONS);
    let mut again = guard();
    assert_eq!(node.run(&mut again, 0), [""; 0]);
    assert_eq!(events(&mut again), [GuardEvent::FoundDone { queue: Some(1) }]);
    again.handle_rlc(&bearers(&[70]));
    assert_eq!(node.run(&mut again, 1000), [""; 0]);
    // the same if the first report is of RLC
    let mut again = guard();
    again.handle_rlc(&bearers(&[70]));
    events(&mut again);
    assert_eq!(node.run(&mut again, 0), [""; 0]);
    assert_eq!(events(&mut again), [GuardEvent::FoundDone { queue: Some(1) }]);

    // an earlier run ended before the pacer: it is set at once, whatever packets wait
    node.set.pacer.kind = PacerKind::Off;
    let mut again = guard();
    assert_eq!(node.run(&mut again, 0), ["+pacer"]);
    assert_eq!(events(&mut again)[0], GuardEvent::FoundPartlyDone);

    // an earlier run ended after the queue: the queue is used
    let mut node = Node::new();
    node.set.queues.push(entry(4));
    let mut again = guard();
    again.handle_rlc(&bearers(&[70]));
    assert_eq!(node.run(&mut again, 0), ["+filter 0 to 4", "+pacer"]);

    // a queue of other flows is not used
    let mut node = Node::new();
    node.set.queues.push(entry(1));
    node.filters().push(OsiFilter {
        id: 0,
        flow: FiveTuple { protocol: Some(1), ..FiveTuple::default() },
        queue_id: 1,
    });
    let mut other = guard();
    other.handle_rlc(&bearers(&[70]));
    assert_eq!(node.run(&mut other, 0), ["+queue 2", "+filter 1 to 2", "+pacer"]);
}

#[test]
fn existing_filters_are_considered() {
    // the flow's filter, into the default queue
    let mut node = Node::new();
    node.filters().push(OsiFilter { id: 0, flow: voip(), queue_id: 0 });
    assert_eq!(node.run(&mut guard(), 0), ["+queue 1", "filter 0 to 1", "+pacer"]);

    // a wider filter that matches first: it separates the flow already, or shadows its filter
    let udp = FiveTuple { protocol: Some(17), ..FiveTuple::default() };
    let mut node = Node::new();
    node.set.queues.push(entry(1));
    node.filters().push(OsiFilter { id: 7, flow: udp, queue_id: 1 });
    let mut separated = guard();
    separated.handle_rlc(&bearers(&[70]));
    assert_eq!(node.run(&mut separated, 0), ["+pacer"]);
    node.set.pacer.kind = PacerKind::Off;
    node.filters()[0].queue_id = 0;
    let mut covered = guard();
    covered.handle_rlc(&bearers(&[70]));
    assert_eq!(node.run(&mut covered, 0), [""; 0]);
    assert_eq!(events(&mut covered).last(), Some(&GuardEvent::CoveredByOtherFilter { filter: 7 }));
    assert!(covered.is_finished());
}

#[test]
fn outdated_reports_repeat_no_step() {
    let (mut guard, mut node) = (guard(), Node::new());
    guard.handle_rlc(&bearers(&[70]));
    let old = node.set.clone();
    guard.handle_tc(at(0), &old);
    node.execute(&guard.poll_control().unwrap());
    guard.handle_tc(at(1), &old);
    guard.handle_tc(at(2), &node.set);
    assert_eq!(guard.poll_control(), None, "not answered");
    guard.handle_answer(at(3), Answer::Done);
    guard.handle_tc(at(4), &old);
    assert_eq!(guard.poll_control(), None, "no second queue");
    guard.handle_tc(at(5), &node.set);
    node.execute(&guard.poll_control().unwrap());
    assert_eq!(node.done, ["+queue 1", "+filter 0 to 1"]);
    guard.handle_answer(at(6), Answer::Done);
    // the node acknowledges a control, but does not execute it
    let without = TcRecord { classifier: ClassifierRecord::RoundRobin, ..node.set.clone() };
    guard.handle_tc(at(5005), &without);
    assert!(!guard.is_finished());
    guard.handle_tc(at(5006), &without);
    assert_eq!(events(&mut guard).last(), Some(&GuardEvent::NotShown { step: Step::AddFilter { queue_id: 1 } }));
    assert!(guard.is_finished());
}

#[test]
fn guard_gives_up_after_unknown_outcomes_or_a_refusal() {
    let (mut guard, node) = (guard(), Node::new());
    guard.handle_rlc(&bearers(&[70]));
    for round in 0..3 {
        let now = 10_000 * round;
        guard.handle_tc(at(now), &node.set);
        assert!(guard.poll_control().is_some());
        guard.handle_answer(at(now), Answer::Unknown);
        guard.handle_tc(at(now + 999), &node.set);
        assert_eq!(guard.poll_control(), None, "the report may be older");
    }
    assert_eq!(events(&mut guard).last(), Some(&GuardEvent::TooManyUnanswered));
    assert!(guard.is_finished());

    let mut refused = FlowGuard::new(guard.config);
    refused.handle_rlc(&bearers(&[70]));
    refused.handle_tc(at(0), &node.set);
    assert!(refused.poll_control().is_some());
    refused.handle_answer(at(1), Answer::Refused("more than 64 queues".into()));
    let event = events(&mut refused).pop().unwrap();
    assert_eq!(event.to_string(), "refused: add a second FIFO queue: more than 64 queues");
    assert!(event.is_failure() && refused.is_finished());
    refused.handle_answer(at(1), Answer::Done);
    refused.handle_rlc(&bearers(&[700]));
    refused.handle_tc(at(2), &node.set);
    assert_eq!((refused.poll_control(), refused.poll_event()), (None, None));
}

#[test]
fn undo_covers_all_steps_or_own_steps() {
    const UNDONE: [&str; 3] = ["-pacer", "-filter 0", "-queue 1"];
    let mut node = Node::new();
    let mut first = guard();
    first.handle_rlc(&bearers(&[70]));
    node.run(&mut first, 0);
    // a second guard, which took no steps
    let mut second = guard();
    node.run(&mut second, 0);
    second.undo(true);
    assert_eq!(node.run(&mut second, 1000), [""; 0]);
    assert!(second.is_finished());
    first.undo(true);
    assert_eq!(node.run(&mut first, 1000), UNDONE);
    assert!(first.is_finished());

    // steps of another run, and those that it left half undone
    let mut again = guard();
    again.handle_rlc(&bearers(&[70]));
    node.run(&mut again, 0);
    let mut third = guard();
    third.undo(false);
    assert_eq!(node.run(&mut third, 0), UNDONE);
    assert_eq!(events(&mut third).last(), Some(&GuardEvent::Undone));
    node.set.queues.push(entry(3));
    let mut third = guard();
    third.undo(false);
    assert_eq!(node.run(&mut third, 0), ["-queue 3"]);
    node.set.queues.extend([entry(3), entry(4)]);
    let mut third = guard();
    third.undo(false);
    assert_eq!(node.run(&mut third, 0), [""; 0], "the queue of the flow is unknown");

    // a pacer of another client remains
    let mut node = Node::new();
    node.set.pacer.kind = PacerKind::Bdp5g;
    let mut late = guard();
    late.handle_rlc(&bearers(&[70]));
    assert_eq!(node.run(&mut late, 0), ACTIONS[..2]);
    late.undo(true);
    assert_eq!(node.run(&mut late, 1000), UNDONE[1..]);
}

#[test]
fn undo_waits_for_the_control_in_progress() {
    let (mut guard, mut node) = (guard(), Node::new());
    guard.handle_rlc(&bearers(&[70]));
    guard.handle_tc(at(0), &node.set);
    let before = node.set.clone();
    node.execute(&guard.poll_control().unwrap());
    guard.undo(true);
    guard.handle_tc(at(1), &before);
    guard.handle_answer(at(2), Answer::Done);
    guard.handle_tc(at(3), &before);
    assert!(!guard.is_finished(), "a report must show the queue first");
    assert_eq!(node.run(&mut guard, 4), ["+queue 1", "-queue 1"]);
    assert!(guard.is_finished());
}

#[test]
fn removal_by_others_is_reported_and_watching_resumes() {
    let (mut guard, mut node) = (guard(), Node::new());
    guard.handle_rlc(&bearers(&[70]));
    node.run(&mut guard, 0);
    events(&mut guard);
    node.filters().clear();
    assert_eq!(node.run(&mut guard, 1000), [""; 0]);
    assert_eq!(events(&mut guard), [GuardEvent::RemovedByOther]);
    guard.handle_rlc(&bearers(&[70]));
    assert_eq!(node.run(&mut guard, 2000), ["+filter 0 to 1"]);
    guard.undo(true);
    assert_eq!(node.run(&mut guard, 3000), ["-pacer", "-filter 0", "-queue 1"]);
}

#[test]
fn filter_without_matches_is_reported_once() {
    let (mut guard, mut node) = (guard(), Node::new());
    guard.handle_rlc(&bearers(&[70]));
    node.run(&mut guard, 0);
    events(&mut guard);
    node.set.queues[1].queue.forwarded_packets = 3;
    guard.handle_tc(at(1000), &node.set);
    guard.handle_tc(at(5999), &node.set);
    assert_eq!(guard.poll_event(), None);
    for ms in [6000, 6010] {
        guard.handle_tc(at(ms), &node.set);
    }
    let reported = events(&mut guard);
    assert_eq!(reported, [GuardEvent::NoMatches { queue: 1, time: Duration::from_secs(5) }]);
    assert!(reported[0].to_string().starts_with("matched packets: 0 in the last 5 s: queue 1"));
}

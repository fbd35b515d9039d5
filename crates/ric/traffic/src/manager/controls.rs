//! The outcomes of controls as problems of REST.

use e2sm::Wire;
use e2sm::tc::{
    Classifier, ClassifierControl, ControlMessage, ControlOutcome as Outcome, DelayTarget, DeleteFilter,
    IndicationMessage, ModifyFilter, NewFilter, PolicerControl, QueueControl, QueueParameters, Scheduler,
    SchedulerControl, ShaperControl,
};
use ferric::e2::ControlOutcome;

use rest::Problem;

/// What is wrong with an outcome, and why: in the RAN function's own words, where its wire form has some.
pub(super) fn problem_of(
    outcome: &ControlOutcome,
    wire: Wire,
    control: &ControlMessage<'_>,
    set: &IndicationMessage<'_>,
) -> Option<Problem> {
    iapp_rest::problem_of(outcome, |outcome| {
        let outcome = outcome.and_then(|outcome| Outcome::decode_owned(outcome, wire).ok());
        let diagnostic = outcome.map(|outcome| outcome.diagnostic.to_string()).filter(|text| !text.is_empty());
        diagnostic.or_else(|| reading(control, set))
    })
}

/// Returns the probable reason of a refusal, from the last report: FlexRIC's layout has no field for a diagnostic.
pub(super) fn reading(control: &ControlMessage<'_>, set: &IndicationMessage<'_>) -> Option<String> {
    let filters = match &set.classifier {
        Classifier::Osi(filters) => &filters[..],
        Classifier::RoundRobin | Classifier::Stochastic => &[],
    };
    let is_there = |id: u32| set.queues.iter().any(|entry| entry.shaper.id == id);
    let no_queue = |id: u32| (!is_there(id)).then(|| format!("there is no queue {id}"));
    match control {
        ControlMessage::Queue(QueueControl::Delete(delete)) => {
            let id = delete.id;
            let filter = filters.iter().find(|filter| filter.queue_id == id);
            let mut policers = set.queues.iter().map(|entry| entry.policer);
            let policer = policers.find(|policer| policer.active && policer.id != id && policer.deviation_id == id);
            no_queue(id)
                .or_else(|| filter.map(|filter| format!("filter {} sends packets to queue {id}", filter.id)))
                .or_else(|| policer.map(|policer| format!("policer {} sends packets to queue {id}", policer.id)))
                .or_else(|| (set.queues.len() == 1).then(|| format!("queue {id} is the last one")))
        }
        ControlMessage::Queue(QueueControl::Add(parameters)) => no_time(*parameters),
        ControlMessage::Queue(QueueControl::Modify(modify)) => {
            no_queue(modify.id).or_else(|| no_time(modify.parameters))
        }
        ControlMessage::Classifier(ClassifierControl::Add(NewFilter::Osi(new))) => no_queue(new.queue_id),
        ControlMessage::Classifier(ClassifierControl::Modify(ModifyFilter::Osi(filter))) => no_queue(filter.queue_id),
        ControlMessage::Classifier(ClassifierControl::Delete(DeleteFilter::Osi(id))) => {
            (!filters.iter().any(|filter| filter.id == *id)).then(|| format!("there is no filter {id}"))
        }
        ControlMessage::Policer(PolicerControl::Modify(change)) => {
            let is_nothing = change.active && (change.drop_rate_kbps == 0 || change.deviation_rate_kbps == 0);
            no_queue(change.id)
                .or_else(|| no_queue(change.deviation_id))
                .or_else(|| is_nothing.then(|| "the policer's rates must be above 0".to_owned()))
        }
        ControlMessage::Policer(PolicerControl::Delete(id)) | ControlMessage::Shaper(ShaperControl::Delete(id)) => {
            no_queue(*id)
        }
        ControlMessage::Shaper(ShaperControl::Modify(change)) => {
            let is_nothing = change.active && (change.max_rate_kbps == 0 || change.window_ms == 0);
            no_queue(change.id)
                .or_else(|| is_nothing.then(|| "the shaper's rate and window must be above 0".to_owned()))
        }
        ControlMessage::Scheduler(SchedulerControl::Modify(scheduler)) => {
            let (Scheduler::Priority(of_queues) | Scheduler::DeficitRoundRobin(of_queues)) = scheduler else {
                return None;
            };
            let (configured, queues) = (of_queues.len(), set.queues.len());
            let is_nothing = matches!(scheduler, Scheduler::DeficitRoundRobin(quanta) if quanta.contains(&0));
            (configured != queues)
                .then(|| format!("the scheduler settings are for {configured} queues, but there are {queues}"))
                .or_else(|| is_nothing.then(|| "with a quantum of 0 a queue never sends".to_owned()))
        }
        _ => None,
    }
}

/// CoDel's target must be a time, and within its interval (RFC 8289 3.2).
fn no_time(parameters: QueueParameters) -> Option<String> {
    match parameters {
        QueueParameters::CoDel(DelayTarget { target_ms, interval_ms })
        | QueueParameters::EcnCoDel(DelayTarget { target_ms, interval_ms })
            if target_ms == 0 || target_ms >= interval_ms =>
        {
            Some(format!("the target of {target_ms} ms must be above 0 and below the interval of {interval_ms} ms"))
        }
        _ => None,
    }
}

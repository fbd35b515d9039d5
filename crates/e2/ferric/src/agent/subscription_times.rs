//! Start and end times of subscriptions (E2AP v03.01 8.2.1.2), enforced for the functions of all nodes: outside of its times, a
//! subscription sends nothing.

use std::collections::HashMap;

use e2::{SubscriptionRequest, SubscriptionTimes};
use e2ap::{Cause, CauseRicRequest, RicActionType, RicRequestId, RicSubscriptionTime};

/// The cause of a subscription whose end has passed.
pub(super) const END_EXPIRED: Cause = Cause::RicRequest(CauseRicRequest::RicSubscriptionEndTimeExpired);

/// Whether a subscription sends indications at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enabled {
    /// Its start has come and its end has not.
    Yes,
    /// Its start has not come.
    NotYet,
    /// Its end has passed: seen for the first time.
    EndsNow,
    /// Its end has passed.
    NoMore,
}

struct Timed {
    times: SubscriptionTimes,
    has_ended: bool,
}

/// The subscriptions of one connection that have a start or end time, as many as the machine accepts.
#[derive(Default)]
pub(super) struct TimedSubscriptions {
    by_id: HashMap<RicRequestId, Timed>,
}

// Clause 8.2.1.2/5 node: A start time that has passed is ignored. Tests:
//   subscription_is_enabled_between_start_and_end. Versions: times exist from v03 on.
// Clause 8.2.1.2/12 node: The event trigger is enabled from the start time on. Does: reports before it are not sent
//   and take no sequence number; an insert before it is not sent either, so that the function continues its procedure.
//   A policy with times is refused: only its function could delay it. Tests:
//   subscription_is_enabled_between_start_and_end, report_before_its_start_time_is_not_sent. Versions: times exist from
//   v03 on.
// Clause 8.2.1.2/13 node: The event trigger is disabled when the end time is reached. Does: as before the start; the
//   first report after the end has the node require the deletion, as the clause allows. Tests:
//   subscription_is_enabled_between_start_and_end. Versions: times exist from v03 on.
impl TimedSubscriptions {
    /// Adds a subscription that has times. Others are not stored.
    ///
    /// # Errors
    /// The cause with which the subscription is refused: its end has passed, or it has a policy, which the function executes
    /// without sending anything that could be held back.
    pub fn add(&mut self, request: &SubscriptionRequest, now: RicSubscriptionTime) -> Result<(), Cause> {
        let times = request.times;
        if times == SubscriptionTimes::default() {
            return Ok(());
        }
        if times.end.is_some_and(|end| !now.is_before(end)) {
            return Err(END_EXPIRED);
        }
        if request.actions_of(RicActionType::Policy).next().is_some() {
            return Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported));
        }
        self.by_id.insert(request.request_id, Timed { times, has_ended: false });
        Ok(())
    }

    /// Forgets a subscription that has ended or was refused.
    pub fn remove(&mut self, id: RicRequestId) {
        self.by_id.remove(&id);
    }

    /// Whether a subscription sends indications; the clock is read for one with times only.
    #[inline]
    pub fn enabled(&mut self, id: RicRequestId, now: impl FnOnce() -> RicSubscriptionTime) -> Enabled {
        if self.by_id.is_empty() {
            return Enabled::Yes;
        }
        let Some(timed) = self.by_id.get_mut(&id) else { return Enabled::Yes };
        let now = now();
        if timed.times.end.is_some_and(|end| !now.is_before(end)) {
            return if std::mem::replace(&mut timed.has_ended, true) { Enabled::NoMore } else { Enabled::EndsNow };
        }
        if timed.times.start.is_some_and(|start| now.is_before(start)) { Enabled::NotYet } else { Enabled::Yes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2::Action;
    use e2ap::{RanFunctionId, RicActionId};

    fn seconds(seconds: u32) -> RicSubscriptionTime {
        RicSubscriptionTime((u64::from(seconds) << 32).to_be_bytes())
    }

    fn request(instance: u16, kind: RicActionType, start: Option<u32>, end: Option<u32>) -> SubscriptionRequest {
        SubscriptionRequest {
            request_id: RicRequestId { requestor: 1, instance },
            ran_function_id: RanFunctionId(2),
            event_trigger: Vec::new(),
            actions: vec![Action { id: RicActionId(1), kind, definition: None, subsequent: None }],
            times: SubscriptionTimes { start: start.map(seconds), end: end.map(seconds) },
        }
    }

    #[test]
    fn subscription_is_enabled_between_start_and_end() {
        let mut timed = TimedSubscriptions::default();
        let plain = request(1, RicActionType::Report, None, None);
        let both = request(2, RicActionType::Report, Some(20), Some(30));
        let passed_start = request(3, RicActionType::Insert, Some(5), None);
        for request in [&plain, &both, &passed_start] {
            timed.add(request, seconds(10)).unwrap();
        }
        let mut at = |request: &SubscriptionRequest, now| timed.enabled(request.request_id, || seconds(now));
        assert_eq!((at(&plain, 10), at(&passed_start, 10)), (Enabled::Yes, Enabled::Yes));
        let seen = [10, 19, 20, 29, 30, 31].map(|now| at(&both, now));
        use Enabled::{EndsNow, NoMore, NotYet, Yes};
        assert_eq!(seen, [NotYet, NotYet, Yes, Yes, EndsNow, NoMore]);
        timed.remove(both.request_id);
        assert_eq!(timed.enabled(both.request_id, || seconds(31)), Enabled::Yes, "another one under this id");
    }

    #[test]
    fn end_time_decides_whether_a_subscription_begins() {
        let mut timed = TimedSubscriptions::default();
        let mut add = |kind, start, end| timed.add(&request(1, kind, start, end), seconds(10));
        assert_eq!(add(RicActionType::Report, None, Some(10)), Err(END_EXPIRED));
        assert_eq!(add(RicActionType::Report, None, Some(11)), Ok(()));
        let refused = Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported));
        assert_eq!(add(RicActionType::Policy, Some(11), None), refused);
        assert_eq!(add(RicActionType::Policy, None, None), Ok(()));
    }
}

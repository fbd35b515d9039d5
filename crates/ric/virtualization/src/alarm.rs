//! The deadlines of the agents, on the event loop of the RIC.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use ferric::agent::SendAgentLoop;
use ferric::e2::Time;
use ferric::server::Server;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// A descriptor that is readable from a deadline of the agents on, until it is set again.
pub(crate) struct Alarm {
    timer: OwnedFd,
    /// When it is readable, by the clock of the agents.
    due: Option<Time>,
}

impl Alarm {
    /// Has the server wake the internal apps when the links of the agents are ready, or a deadline has come.
    pub fn start(server: &mut Server, agents: &SendAgentLoop) -> Result<Self, ferric::Error> {
        let alarm = Alarm::new().map_err(|source| ferric::Error::System { what: "timerfd", source })?;
        server.wake_iapps_on(agents)?;
        server.wake_iapps_on(&alarm)?;
        Ok(alarm)
    }

    fn new() -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        Ok(Alarm { timer, due: None })
    }

    /// Sets it to the next deadline of the agents, which have been served.
    pub fn set(&mut self, agents: &SendAgentLoop) {
        self.set_to(agents.next_deadline(), agents.now());
    }

    fn set_to(&mut self, deadline: Option<Time>, now: Time) {
        let is_over = self.due.is_some_and(|due| due <= now);
        let is_earlier = deadline.is_some_and(|deadline| self.due.is_none_or(|due| deadline < due));
        // one that comes early wakes the apps once more than necessary, which is cheaper than to set it each time
        if !is_over && !is_earlier {
            return;
        }
        self.due = deadline;
        // zero would be never
        let left = deadline.map(|deadline| (deadline - now).max(Duration::from_nanos(1)));
        let left = left.map_or(Timespec { tv_sec: 0, tv_nsec: 0 }, |left| Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        });
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: left };
        let set = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once);
        set.expect("our own timer can be set to each time");
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferric::link::{Events, Interest, Poll};

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn alarm_is_readable_from_its_deadline_until_it_is_set_again() {
        let (mut alarm, poll, mut events) = (Alarm::new().unwrap(), Poll::new().unwrap(), Events::new());
        poll.add(&alarm, 1, Interest::READ).unwrap();
        let mut is_readable = |timeout| {
            poll.wait(&mut events, timeout).unwrap();
            events.get(0).is_some()
        };
        assert!(!is_readable(Some(Duration::ZERO)));
        // a deadline that has passed
        alarm.set_to(Some(at(5)), at(7));
        assert!(is_readable(None) && is_readable(None));
        alarm.set_to(None, at(8));
        assert!(!is_readable(Some(Duration::ZERO)));
        alarm.set_to(Some(at(3_600_000)), at(8));
        assert!(!is_readable(Some(Duration::ZERO)));
        // an earlier one replaces it
        alarm.set_to(Some(at(10)), at(9));
        assert!(is_readable(None));
        // a later one does once it is over
        alarm.set_to(Some(at(3_600_000)), at(9));
        assert_eq!(alarm.due, Some(at(10)));
        alarm.set_to(Some(at(3_600_000)), at(10));
        assert!(!is_readable(Some(Duration::ZERO)));
    }
}

//! The opening of a connection (RFC 9293 3.5). Who writes first asks, and sends once that is answered; the third message is
//! its first data. Where both write first, both ask, and both answer.

use super::rtt::{RTO_INITIAL_NS, RTO_MAX_NS};
use crate::Time;
use crate::traffic::after;

/// IPv4, TCP, and what a synchronizing segment offers: a segment's size, a window's scale, timestamps, selective
/// acknowledgements.
pub const SYNCHRONIZE_OCTETS: u32 = 60;

/// How far an end is.
#[derive(Clone, Copy, Debug)]
pub struct Handshake {
    state: State,
    /// When it asks again.
    due: Time,
    /// How often it has asked again.
    again: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Asked,
    /// The other end has asked, and this one has answered.
    Answered,
    Open,
}

/// The answer to what was asked has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Whether it had to be asked more than once.
    pub was_lost: bool,
}

impl Handshake {
    pub fn new() -> Self {
        Handshake { state: State::Closed, due: Time::NEVER, again: 0 }
    }

    /// Whether data may be sent.
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// When it asks again.
    pub fn due(&self) -> Time {
        self.due
    }

    /// There is something to send: whether it is to ask now.
    pub fn needs_scheduling_request(&mut self, now: Time) -> bool {
        match self.state {
            State::Closed => self.state = State::Asked,
            State::Asked if self.due <= now => self.again += 1,
            State::Asked | State::Answered | State::Open => return false,
        }
        // RFC 6298 2.1, and 5.5 up to 2.5
        let timeout_ns = (RTO_INITIAL_NS << self.again.min(16)).min(RTO_MAX_NS);
        self.due = after(now, timeout_ns);
        true
    }

    /// The other end asks: it is to be answered.
    pub fn asked(&mut self) {
        if self.state == State::Closed {
            self.state = State::Answered;
        }
    }

    /// The other end has answered.
    pub fn apply_harq_feedback(&mut self) -> Option<Opened> {
        let is_first = self.state == State::Asked;
        (self.state, self.due) = (State::Open, Time::NEVER);
        is_first.then_some(Opened { was_lost: self.again > 0 })
    }

    /// Data has come: the other end has had the answer.
    pub fn heard(&mut self) {
        if self.state == State::Answered {
            self.state = State::Open;
        }
    }

    /// Nobody waits for it any more.
    pub fn stop(&mut self) {
        self.due = Time::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_is_open_once_that_is_answered_and_asks_ever_more_rarely() {
        let mut end = Handshake::new();
        let at = Time::from_millis;
        assert!(
            end.needs_scheduling_request(at(0))
                && !end.needs_scheduling_request(at(999))
                && end.needs_scheduling_request(at(1000))
        );
        assert!(!end.needs_scheduling_request(at(2999)) && end.needs_scheduling_request(at(3000)) && !end.is_open());
        assert_eq!(end.apply_harq_feedback(), Some(Opened { was_lost: true }));
        assert_eq!((end.is_open(), end.due(), end.apply_harq_feedback()), (true, Time::NEVER, None));
        let mut end = Handshake::new();
        let mut last = 0;
        for asked_s in [0, 1, 3, 7, 15, 31, 63, 123, 183] {
            last = asked_s * 1000;
            assert!(end.needs_scheduling_request(at(last)) && !end.needs_scheduling_request(at(last)));
        }
        assert_eq!(end.due(), at(last + 60_000));
    }

    #[test]
    fn who_is_asked_is_open_once_data_has_come_and_both_may_ask() {
        let mut end = Handshake::new();
        end.asked();
        assert!(!end.is_open() && !end.needs_scheduling_request(Time::START));
        end.heard();
        assert!(end.is_open());
        // both at once
        let mut end = Handshake::new();
        assert!(end.needs_scheduling_request(Time::START));
        end.asked();
        end.heard();
        assert!(!end.is_open());
        assert_eq!(end.apply_harq_feedback(), Some(Opened { was_lost: false }));
    }
}

//! The handshake of a connection (RFC 9293 3.5). The end that writes first sends a SYN, and data after the SYN-ACK; its first
//! data takes the place of the third message. If both ends write at once, both send a SYN and a SYN-ACK.

use super::rtt::{RTO_INITIAL_NS, RTO_MAX_NS};
use crate::Time;
use crate::traffic::after;

/// The octets of a SYN: the IPv4 and TCP headers with the options for maximum segment size, window scale, timestamps and
/// selective acknowledgements.
pub const SYN_OCTETS: u32 = 60;

/// The state of the handshake at one end.
#[derive(Clone, Copy, Debug)]
pub struct Handshake {
    state: State,
    /// When the SYN is retransmitted.
    due: Time,
    /// Retransmissions of the SYN.
    retransmissions: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    SynSent,
    SynReceived,
    Established,
}

/// The result of a handshake at the end that sent a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Established {
    /// Whether the SYN was retransmitted.
    pub was_syn_lost: bool,
}

impl Handshake {
    pub fn new() -> Self {
        Handshake { state: State::Closed, due: Time::NEVER, retransmissions: 0 }
    }

    /// Whether data may be sent.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// When the SYN is retransmitted.
    pub fn due(&self) -> Time {
        self.due
    }

    /// Returns whether a SYN is to be sent now, because there is data to send.
    pub fn poll_syn(&mut self, now: Time) -> bool {
        match self.state {
            State::Closed => self.state = State::SynSent,
            State::SynSent if self.due <= now => self.retransmissions += 1,
            State::SynSent | State::SynReceived | State::Established => return false,
        }
        // RFC 6298 2.1, and 5.5 up to 2.5
        let timeout_ns = (RTO_INITIAL_NS << self.retransmissions.min(16)).min(RTO_MAX_NS);
        self.due = after(now, timeout_ns);
        true
    }

    /// Processes a SYN. The caller answers it with a SYN-ACK.
    pub fn on_syn(&mut self) {
        if self.state == State::Closed {
            self.state = State::SynReceived;
        }
    }

    /// Processes a SYN-ACK. Returns the result when it is the first one for this end's SYN.
    pub fn on_syn_ack(&mut self) -> Option<Established> {
        let is_first = self.state == State::SynSent;
        (self.state, self.due) = (State::Established, Time::NEVER);
        is_first.then_some(Established { was_syn_lost: self.retransmissions > 0 })
    }

    /// Processes data, which shows that the other end has received the SYN-ACK.
    pub fn on_data(&mut self) {
        if self.state == State::SynReceived {
            self.state = State::Established;
        }
    }

    /// Stops retransmissions of the SYN.
    pub fn stop(&mut self) {
        self.due = Time::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syn_ack_establishes_and_syn_retransmissions_back_off() {
        let mut end = Handshake::new();
        let at = Time::from_millis;
        assert!(end.poll_syn(at(0)) && !end.poll_syn(at(999)) && end.poll_syn(at(1000)));
        assert!(!end.poll_syn(at(2999)) && end.poll_syn(at(3000)) && !end.is_established());
        assert_eq!(end.on_syn_ack(), Some(Established { was_syn_lost: true }));
        assert_eq!((end.is_established(), end.due(), end.on_syn_ack()), (true, Time::NEVER, None));
        let mut end = Handshake::new();
        let mut last = 0;
        for sent_s in [0, 1, 3, 7, 15, 31, 63, 123, 183] {
            last = sent_s * 1000;
            assert!(end.poll_syn(at(last)) && !end.poll_syn(at(last)));
        }
        assert_eq!(end.due(), at(last + 60_000));
    }

    #[test]
    fn data_establishes_passive_end_and_simultaneous_open_works() {
        let mut end = Handshake::new();
        end.on_syn();
        assert!(!end.is_established() && !end.poll_syn(Time::START));
        end.on_data();
        assert!(end.is_established());
        // simultaneous open
        let mut end = Handshake::new();
        assert!(end.poll_syn(Time::START));
        end.on_syn();
        end.on_data();
        assert!(!end.is_established());
        assert_eq!(end.on_syn_ack(), Some(Established { was_syn_lost: false }));
    }
}

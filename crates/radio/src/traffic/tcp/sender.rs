//! A TCP sender.

use std::collections::VecDeque;

use super::TcpState;
use super::control::{Acknowledged, Control, Phase};
use super::rate::Delivery;
use super::rtt::RoundTrips;
use super::scoreboard::Scoreboard;
use crate::traffic::after;
use crate::traffic::specification::Tcp;
use crate::{Acknowledgement, Random, Segment, Time};

/// The sending end of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    control: Control,
    board: Scoreboard,
    trips: RoundTrips,
    delivery: Delivery,
    phase: Phase,
    /// Where what was sent ended when the present recovery began, or the last reduction for a mark.
    recovery_end: u64,
    mark_end: u64,
    marks: u64,
    receive_window: u64,
    segment_octets: u32,
    /// What the application has written and is not sent for the first time.
    messages: VecDeque<Message>,
    written: u64,
    /// When the retransmission timer goes off.
    timer: Time,
    /// When the next segment may go, where they are paced, and whether one waits for that.
    paced_until: Time,
    is_waiting: bool,
    last_sent: Time,
    use_of_window: WindowUse,
    state: TcpState,
}

/// What the application writes at once; its last segment may be short.
#[derive(Clone, Copy, Debug)]
struct Message {
    end: u64,
    last_octets: u32,
}

/// What is sent next: a segment that was lost, or one of a message.
enum Next {
    Again(u64),
    New(Message),
}

/// Whether the window was the bound in the last round trip (RFC 7661 4.2).
#[derive(Clone, Copy, Debug, Default)]
struct WindowUse {
    round_end: u64,
    most_in_flight: u64,
    was_bound: bool,
}

/// A segment that is to go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    pub segment: Segment,
    /// Its data.
    pub octets: u32,
    pub is_again: bool,
}

impl Sender {
    pub fn new(tcp: &Tcp, random: Random) -> Self {
        Sender {
            control: Control::new(tcp, random),
            board: Scoreboard::default(),
            trips: RoundTrips::new(tcp.rto_min_ms * 1_000_000),
            delivery: Delivery::default(),
            phase: Phase::Open,
            recovery_end: 0,
            mark_end: 0,
            marks: 0,
            receive_window: tcp.receive_window(),
            segment_octets: tcp.segment_octets,
            messages: VecDeque::new(),
            written: 0,
            timer: Time::NEVER,
            paced_until: Time::START,
            is_waiting: false,
            last_sent: Time::START,
            use_of_window: WindowUse::default(),
            state: TcpState::default(),
        }
    }

    /// The application writes so many octets, [`u64::MAX`] for no end of them: the number of the segment that follows.
    /// [`Self::send`] is to be called then.
    pub fn write(&mut self, octets: u64) -> u64 {
        let full = u64::from(self.segment_octets);
        let last_octets = if octets.is_multiple_of(full) { full } else { octets % full };
        self.written = self.written.saturating_add(octets.div_ceil(full));
        self.messages.push_back(Message { end: self.written, last_octets: last_octets as u32 });
        self.written
    }

    /// When something is to be done: [`Self::expire`], then [`Self::send`].
    pub fn due(&self) -> Time {
        if self.is_waiting { self.timer.min(self.paced_until) } else { self.timer }
    }

    /// What it is at.
    pub fn state(&self) -> TcpState {
        TcpState {
            window_segments: self.control.window(),
            in_flight_segments: self.board.in_flight(),
            is_slow_start: self.control.is_slow_start(),
            smoothed_rtt_ms: self.trips.smoothed_ns().map(|ns| ns as f64 / 1e6),
            sent_segments: self.board.next(),
            delivered_segments: self.delivery.delivered(),
            retransmissions: self.board.transmissions() - self.board.next(),
            ..self.state
        }
    }

    /// The application has gone: nothing is sent any more.
    pub fn stop(&mut self) {
        self.messages.clear();
        self.is_waiting = false;
        self.timer = Time::NEVER;
    }

    /// An acknowledgement comes; [`Self::send`] is to be called then. The round trip in nanoseconds.
    pub fn acknowledge(&mut self, now: Time, told: &Acknowledgement) -> u64 {
        let rtt_ns = now.as_nanos().saturating_sub(told.newest_sent.as_nanos());
        self.trips.sample(rtt_ns);
        let in_flight_before = self.board.in_flight();
        let delivery = &mut self.delivery;
        let news = self.board.acknowledge(told, |segment| delivery.deliver(now, segment.sent, segment.stamp));
        let sample = self.delivery.take_sample(self.trips.min_ns());
        if let Some(sample) = sample {
            self.state.delivery_rate_bps = sample.rate * f64::from(self.segment_octets) * 8.0;
        }
        if self.phase != Phase::Open && self.board.first() >= self.recovery_end {
            self.phase = Phase::Open;
            self.control.on_recovered();
        }
        if news.lost > 0 && self.phase == Phase::Open {
            self.phase = Phase::Recovery;
            self.recovery_end = self.board.next();
            self.mark_end = self.recovery_end;
            self.state.reductions += 1;
            self.control.on_loss(in_flight_before, self.board.in_flight(), news.delivered);
        }
        if told.marked > self.marks {
            self.marks = told.marked;
            self.take_mark();
        }
        self.control.on_acknowledged(&Acknowledged {
            now,
            delivered: news.delivered,
            lost: news.lost,
            in_flight: self.board.in_flight(),
            in_flight_before,
            first: self.board.first(),
            next: self.board.next(),
            rtt_ns,
            smoothed_rtt_s: self.trips.smoothed_ns().unwrap_or(rtt_ns) as f64 / 1e9,
            sample,
            is_window_used: self.is_window_used(),
        });
        if news.is_advance {
            self.trips.advance();
        }
        if news.is_advance || news.delivered > 0 {
            self.start_timer(now);
        }
        rtt_ns
    }

    /// Congestion was marked: once in a window, that is as good as a loss (RFC 3168 6.1.2).
    fn take_mark(&mut self) {
        if self.phase == Phase::Open && self.board.first() >= self.mark_end {
            self.mark_end = self.board.next();
            self.state.reductions += u64::from(self.control.on_mark());
        }
    }

    fn is_window_used(&self) -> bool {
        let is_half_used = self.control.window() < 2 * self.use_of_window.most_in_flight;
        self.use_of_window.was_bound || (self.control.is_slow_start() && is_half_used)
    }

    /// RFC 6298 5.1 to 5.3.
    fn start_timer(&mut self, now: Time) {
        self.timer = if self.board.len() == 0 { Time::NEVER } else { after(now, self.trips.rto_ns()) };
    }

    /// If the retransmission timer goes off, what is in flight is lost.
    pub fn expire(&mut self, now: Time) {
        if now < self.timer {
            return;
        }
        self.state.timeouts += 1;
        self.control.on_timeout(self.phase);
        self.phase = Phase::Timeout;
        self.recovery_end = self.board.next();
        self.mark_end = self.recovery_end;
        self.board.lose_all();
        self.trips.back_off();
        self.start_timer(now);
    }

    /// Sends what may be sent now.
    pub fn send(&mut self, now: Time, mut emit: impl FnMut(Outgoing)) {
        let mut is_bound = false;
        self.is_waiting = false;
        loop {
            let message = self.messages.front().filter(|_| self.board.len() < self.receive_window).copied();
            let next = match (self.board.next_lost(), message) {
                (Some(sequence), _) => Next::Again(sequence),
                (None, Some(message)) => Next::New(message),
                (None, None) => break,
            };
            if self.board.in_flight() >= self.control.window() {
                is_bound = true;
                break;
            }
            if now < self.paced_until {
                self.is_waiting = true;
                break;
            }
            if self.board.len() == 0 {
                self.restart(now);
            }
            let stamp = self.delivery.stamp(now, self.board.in_flight());
            let outgoing = match next {
                Next::Again(sequence) => {
                    let (transmission, octets) = self.board.resend(now, sequence, stamp);
                    Outgoing { segment: Segment { sequence, transmission }, octets, is_again: true }
                }
                Next::New(message) => {
                    let sequence = self.board.next();
                    let is_last = sequence + 1 == message.end;
                    let octets = if is_last { message.last_octets } else { self.segment_octets };
                    if is_last {
                        self.messages.pop_front();
                    }
                    let transmission = self.board.send(now, octets, stamp);
                    Outgoing { segment: Segment { sequence, transmission }, octets, is_again: false }
                }
            };
            self.control.on_sent();
            self.last_sent = now;
            if let Some(interval_ns) = self.control.pacing_interval_ns() {
                self.paced_until = after(now, interval_ns);
            }
            if self.timer == Time::NEVER {
                self.start_timer(now);
            }
            emit(outgoing);
        }
        let is_short = self.messages.is_empty() && !is_bound && !self.is_waiting;
        if is_short || self.control.is_holding_back() {
            self.delivery.limit(self.board.in_flight());
        }
        let used = &self.use_of_window;
        let is_new_round = self.board.first() >= used.round_end;
        let is_more = !used.was_bound && self.board.in_flight() > used.most_in_flight;
        if is_new_round || is_bound || is_more {
            let (round_end, most_in_flight) = (self.board.next(), self.board.in_flight());
            self.use_of_window = WindowUse { round_end, most_in_flight, was_bound: is_bound };
        }
    }

    /// Nothing was on the way: for how long?
    fn restart(&mut self, now: Time) {
        if self.board.next() > 0 {
            self.control.on_idle(now.since(self.last_sent), self.trips.rto_ns());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::specification::{CongestionControl, SlowStart};

    const RTT_NS: u64 = 20_000_000;

    fn sender() -> Sender {
        let control = CongestionControl::Cubic { slow_start: SlowStart::Plain };
        Sender::new(&Tcp { control, ..Tcp::default() }, Random::new(0, 0))
    }

    /// Writes so many segments and has them acknowledged, one by one, a round trip after they were sent: when all are.
    fn transfer(sender: &mut Sender, mut now: Time, segments: u64) -> Time {
        sender.write(segments * 1_400);
        let mut sent = VecDeque::new();
        loop {
            sender.send(now, |outgoing| sent.push_back((now, outgoing.segment)));
            let Some((newest_sent, segment)) = sent.pop_front() else { return now };
            now = after(newest_sent, RTT_NS);
            let (cumulative, newest) = (segment.sequence + 1, segment.transmission);
            let told = Acknowledgement { cumulative, newest, newest_sent, ..Acknowledgement::default() };
            assert_eq!(sender.acknowledge(now, &told), RTT_NS);
        }
    }

    #[test]
    fn a_window_that_is_not_filled_does_not_grow() {
        let mut sender = sender();
        let mut now = Time::START;
        for _ in 0..500 {
            now = transfer(&mut sender, now, 4);
        }
        assert_eq!(sender.state().window_segments, 10);
        assert_eq!(sender.due(), Time::NEVER);
        // one that is doubles each time
        transfer(&mut sender, now, 70);
        assert!((60..=80).contains(&sender.state().window_segments), "{:?}", sender.state());
    }

    #[test]
    fn a_window_that_rests_begins_anew() {
        let mut sender = sender();
        let now = transfer(&mut sender, Time::START, 1_000);
        let grown = sender.state().window_segments;
        assert!(grown > 500, "{grown}");
        let now = transfer(&mut sender, after(now, 100_000_000), 1);
        assert_eq!(sender.state().window_segments, grown);
        transfer(&mut sender, after(now, 300_000_000), 1);
        assert_eq!(sender.state().window_segments, 10);
    }

    #[test]
    fn segments_are_full_but_for_a_messages_last() {
        let mut sender = sender();
        assert_eq!((sender.write(3_000), sender.write(1_400), sender.write(1)), (3, 4, 5));
        let mut octets = Vec::new();
        sender.send(Time::START, |outgoing| octets.push(outgoing.octets));
        assert_eq!(octets, [1_400, 1_400, 200, 1_400, 1]);
        assert_eq!(sender.due(), Time::from_millis(1_000));
    }
}

//! A TCP sender.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use super::control::{Acknowledged, Control, Phase};
use super::rate::{Delivery, Stamp};
use super::rtt::{RTO_INITIAL_NS, RoundTrips};
use super::scoreboard::{Outstanding, Scoreboard};
use super::{Opened, TcpState};
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
    undo: Option<Box<Undo>>,
    /// When what was overtaken is lost, unless something is told of it (RFC 8985 6.2).
    late_at: Time,
    tail: Tail,
    /// When the next segment may go, where they are paced, and whether one waits for that.
    paced_until: Time,
    is_waiting: bool,
    last_sent: Time,
    use_of_window: WindowUse,
    state: TcpState,
}

/// What was before the timer went off, until it is known whether it was right (RFC 4015, by the numbers of transmissions in
/// place of timestamps).
#[derive(Clone, Debug)]
struct Undo {
    control: Control,
    /// Transmissions until then.
    transmissions: u64,
}

/// What the application writes at once; its last segment may be short.
#[derive(Clone, Copy, Debug)]
struct Message {
    end: u64,
    last_octets: u32,
}

/// Tail loss probes (RFC 8985 7): where acknowledgements stay away, a segment asks for one before the timer goes off.
#[derive(Clone, Copy, Debug)]
struct Tail {
    /// When it is sent; never where there is no need.
    due: Time,
    /// It is due.
    is_wanted: bool,
    /// The one that was sent, until it is known what became of it.
    sent: Option<Probe>,
    /// How long the receiver may wait with an acknowledgement (TLP.max_ack_delay there).
    delay_ns: u64,
}

/// A probe.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// The segment that follows all that was sent (TLP.end_seq).
    end: u64,
    /// Its transmission where it was sent again; `None` where it was new.
    again: Option<u64>,
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
    pub is_retransmission: bool,
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
            undo: None,
            late_at: Time::NEVER,
            tail: Tail { due: Time::NEVER, is_wanted: false, sent: None, delay_ns: tcp.delayed_ack_ms * 1_000_000 },
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

    /// Whether there is something to send for the first time.
    pub fn has_data(&self) -> bool {
        !self.messages.is_empty()
    }

    /// The connection stands: what its opening has told.
    pub fn opened(&mut self, now: Time, rtt_ns: u64, opened: Opened) {
        self.trips.sample(rtt_ns);
        self.control.on_opened(now, rtt_ns, opened.was_lost);
    }

    /// When something is to be done: [`Self::expire`], then [`Self::send`].
    pub fn due(&self) -> Time {
        let timer = self.timer.min(self.tail.due).min(self.late_at);
        if self.is_waiting { timer.min(self.paced_until) } else { timer }
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
        (self.timer, self.late_at, self.tail.due) = (Time::NEVER, Time::NEVER, Time::NEVER);
    }

    /// An acknowledgement comes; [`Self::send`] is to be called then. The round trip in nanoseconds.
    pub fn acknowledge(&mut self, now: Time, told: &Acknowledgement) -> u64 {
        let rtt_ns = now.as_nanos().saturating_sub(told.newest_sent.as_nanos());
        self.trips.sample(rtt_ns);
        let in_flight_before = self.board.in_flight();
        let delivery = &mut self.delivery;
        let reordering_ns = self.trips.reordering_ns();
        let deliver = |segment: &Outstanding| delivery.deliver(now, segment.sent, segment.stamp);
        let news = self.board.acknowledge(now, told, reordering_ns, deliver);
        self.look_at_timeout(told, news.is_advance);
        // what is in flight after all may be late by now
        self.late_at = self.board.next_late(reordering_ns).max(now);
        let sample = self.delivery.take_sample(self.trips.min_ns());
        if let Some(sample) = sample {
            self.state.delivery_rate_bps = sample.rate * f64::from(self.segment_octets) * 8.0;
        }
        if self.phase != Phase::Open && self.board.first() >= self.recovery_end {
            self.phase = Phase::Open;
            self.control.on_recovered();
        }
        if news.lost > 0 {
            self.recover(in_flight_before, news.delivered);
        }
        self.look_at_probe(told);
        if told.marked > self.marks {
            self.marks = told.marked;
            self.take_signal();
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

    /// Where the first acknowledgement of something after a timeout is for what had been sent before, that had only been late.
    fn look_at_timeout(&mut self, told: &Acknowledgement, is_advance: bool) {
        let Some(undo) = &self.undo else { return };
        if told.newest >= undo.transmissions {
            self.undo = None;
        } else if is_advance {
            self.control = undo.control.clone();
            self.phase = Phase::Open;
            self.board.lose_none();
            self.state.needless_timeouts += 1;
            self.undo = None;
        }
    }

    /// Something was found lost: the window is reduced once.
    fn recover(&mut self, in_flight_before: u64, delivered: u64) {
        if self.phase != Phase::Open {
            return;
        }
        self.phase = Phase::Recovery;
        self.recovery_end = self.board.next();
        self.mark_end = self.recovery_end;
        self.tail.sent = None;
        self.tail.due = Time::NEVER;
        self.state.reductions += 1;
        self.control.on_loss(in_flight_before, self.board.in_flight(), delivered);
    }

    /// Whether a probe has repaired a loss that nobody knew of (RFC 8985 7.4).
    fn look_at_probe(&mut self, told: &Acknowledgement) {
        let Some(Probe { end, again }) = self.tail.sent.filter(|probe| told.cumulative >= probe.end) else { return };
        debug_assert!(end <= self.board.next());
        self.tail.sent = None;
        if again.is_some_and(|transmission| told.newest >= transmission && !told.newest_is_duplicate) {
            self.take_signal();
        }
    }

    /// Congestion was marked: once in a window, that is as good as a loss (RFC 3168 6.1.2).
    fn take_signal(&mut self) {
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
        self.plan_probe(now);
    }

    /// RFC 8985 7.2: while nothing is missing, two round trips after the last segment that was sent or acknowledged.
    fn plan_probe(&mut self, now: Time) {
        let is_whole = self.board.len() > 0 && self.board.in_flight() == self.board.len();
        if !is_whole || self.phase != Phase::Open || self.tail.sent.is_some() {
            self.tail.due = Time::NEVER;
            return;
        }
        let trips_ns = self.trips.smoothed_ns().map_or(RTO_INITIAL_NS, |ns| 2 * ns);
        let delay_ns = if self.board.len() == 1 { self.tail.delay_ns } else { 0 };
        self.tail.due = after(now, trips_ns + delay_ns).min(self.timer);
    }

    /// What was overtaken may be lost by now; if a probe is due, it is to be sent; else if the retransmission timer goes off,
    /// what is in flight is lost.
    pub fn expire(&mut self, now: Time) {
        if self.late_at <= now {
            let in_flight = self.board.in_flight();
            let reordering_ns = self.trips.reordering_ns();
            if self.board.find_losses(now, reordering_ns) > 0 {
                self.recover(in_flight, 0);
            }
            self.late_at = self.board.next_late(reordering_ns);
        }
        if self.tail.due <= now {
            self.tail.due = Time::NEVER;
            self.tail.is_wanted = true;
            return;
        }
        if now < self.timer {
            return;
        }
        self.tail.sent = None;
        self.state.timeouts += 1;
        if self.phase == Phase::Open {
            // nothing was known to be missing
            let transmissions = self.board.transmissions();
            self.undo = Some(Box::new(Undo { control: self.control.clone(), transmissions }));
        }
        self.control.on_timeout(self.phase);
        self.phase = Phase::Timeout;
        self.recovery_end = self.board.next();
        self.mark_end = self.recovery_end;
        self.board.lose_all();
        self.late_at = Time::NEVER;
        self.trips.back_off();
        self.start_timer(now);
    }

    /// Sends what may be sent now.
    pub fn send(&mut self, now: Time, mut emit: impl FnMut(Outgoing)) {
        if std::mem::take(&mut self.tail.is_wanted) {
            self.probe(now, &mut emit);
        }
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
                    Outgoing { segment: Segment { sequence, transmission }, octets, is_retransmission: true }
                }
                Next::New(message) => self.send_new(now, message, stamp),
            };
            self.sent(now);
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

    fn send_new(&mut self, now: Time, message: Message, stamp: Stamp) -> Outgoing {
        let sequence = self.board.next();
        let is_last = sequence + 1 == message.end;
        let octets = if is_last { message.last_octets } else { self.segment_octets };
        if is_last {
            self.messages.pop_front();
        }
        let transmission = self.board.send(now, octets, stamp);
        Outgoing { segment: Segment { sequence, transmission }, octets, is_retransmission: false }
    }

    /// RFC 8985 7.3: what is new, or else the last one again, whatever the window.
    fn probe(&mut self, now: Time, mut emit: impl FnMut(Outgoing)) {
        let stamp = self.delivery.stamp(now, self.board.in_flight());
        let message = self.messages.front().filter(|_| self.board.len() < self.receive_window).copied();
        let outgoing = match message {
            Some(message) => self.send_new(now, message, stamp),
            None => {
                let Some((sequence, transmission, octets)) = self.board.probe(now, stamp) else { return };
                Outgoing { segment: Segment { sequence, transmission }, octets, is_retransmission: true }
            }
        };
        let again = outgoing.is_retransmission.then_some(outgoing.segment.transmission);
        self.tail.sent = Some(Probe { end: self.board.next(), again });
        self.state.probes += 1;
        self.timer = Time::NEVER;
        self.sent(now);
        emit(outgoing);
    }

    fn sent(&mut self, now: Time) {
        self.control.on_sent();
        self.last_sent = now;
        if let Some(interval_ns) = self.control.pacing_interval_ns() {
            self.paced_until = after(now, interval_ns);
        }
        if self.timer == Time::NEVER {
            self.start_timer(now);
        } else {
            self.plan_probe(now);
        }
    }

    /// Nothing was on the way: for how long?
    fn restart(&mut self, now: Time) {
        if self.board.next() > 0 {
            self.control.on_idle(now.since(self.last_sent), self.trips.rto_ns());
        }
    }
}

//! A TCP sender.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use super::control::{AckEvent, Control, Phase};
use super::rate::{DeliveryRate, Stamp};
use super::rtt::{RTO_INITIAL_NS, RttEstimator};
use super::scoreboard::{Outstanding, Scoreboard};
use super::{Established, TcpState};
use crate::traffic::after;
use crate::traffic::specification::Tcp;
use crate::{Acknowledgement, Random, Segment, Time};

/// The sending end of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    control: Control,
    board: Scoreboard,
    rtt: RttEstimator,
    delivery: DeliveryRate,
    phase: Phase,
    /// The end of the data sent before the current recovery (RFC 6675: RecoveryPoint).
    recovery_end: u64,
    /// The end of the data sent before the last reduction for a mark.
    mark_end: u64,
    marks: u64,
    receive_window: u64,
    segment_octets: u32,
    /// The written data with segments that were not sent yet.
    messages: VecDeque<Message>,
    written: u64,
    /// When the retransmission timer expires.
    timer: Time,
    undo: Option<Box<Undo>>,
    /// When the reordering timer of RACK expires (RFC 8985 6.2).
    reordering_timer: Time,
    tail_probe: TailProbe,
    /// When pacing permits the next segment.
    paced_until: Time,
    /// Whether a segment waits for that.
    is_waiting: bool,
    last_sent: Time,
    window_use: WindowUse,
    state: TcpState,
}

/// The state before a timeout, until it is known whether the timeout was spurious (RFC 4015, with transmission numbers
/// instead of timestamps).
#[derive(Clone, Debug)]
struct Undo {
    control: Control,
    /// The number of transmissions before the timeout.
    transmissions: u64,
}

/// The data of one write of the application; its last segment may be short.
#[derive(Clone, Copy, Debug)]
struct Message {
    end: u64,
    last_octets: u32,
}

/// Tail loss probes (RFC 8985 7): when acknowledgements are missing, a segment requests one before the retransmission timer
/// expires.
#[derive(Clone, Copy, Debug)]
struct TailProbe {
    /// When the next probe is due; never if none is scheduled.
    due: Time,
    /// Whether the next call of [`Sender::send`] sends a probe.
    is_requested: bool,
    /// The probe that was sent, until it is acknowledged.
    sent: Option<Probe>,
    /// The receiver's maximum delay of an acknowledgement (TLP.max_ack_delay).
    max_ack_delay_ns: u64,
}

/// A tail loss probe.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// The segment that follows all sent ones (TLP.end_seq).
    end: u64,
    /// The number of the transmission if it was a retransmission; `None` if the segment was new.
    retransmission: Option<u64>,
}

/// The next segment to send.
enum Next {
    Lost(u64),
    New(Message),
}

/// Whether the congestion window limited the sender in the last round trip (RFC 7661 4.2).
#[derive(Clone, Copy, Debug, Default)]
struct WindowUse {
    round_end: u64,
    max_in_flight: u64,
    was_limiting: bool,
}

/// A segment to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    pub segment: Segment,
    /// The octets of its data.
    pub octets: u32,
    pub is_retransmission: bool,
}

impl Sender {
    pub fn new(tcp: &Tcp, random: Random) -> Self {
        Sender {
            control: Control::new(tcp, random),
            board: Scoreboard::default(),
            rtt: RttEstimator::new(tcp.rto_min_ms * 1_000_000),
            delivery: DeliveryRate::default(),
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
            reordering_timer: Time::NEVER,
            tail_probe: TailProbe {
                due: Time::NEVER,
                is_requested: false,
                sent: None,
                max_ack_delay_ns: tcp.delayed_ack_ms * 1_000_000,
            },
            paced_until: Time::START,
            is_waiting: false,
            last_sent: Time::START,
            window_use: WindowUse::default(),
            state: TcpState::default(),
        }
    }

    /// Adds data of the application, [`u64::MAX`] octets for unlimited data. Returns the number of the segment that follows.
    /// The caller then calls [`Self::send`].
    pub fn write(&mut self, octets: u64) -> u64 {
        let full = u64::from(self.segment_octets);
        let last_octets = if octets.is_multiple_of(full) { full } else { octets % full };
        self.written = self.written.saturating_add(octets.div_ceil(full));
        self.messages.push_back(Message { end: self.written, last_octets: last_octets as u32 });
        self.written
    }

    /// Whether there is data that was not sent yet.
    pub fn has_data(&self) -> bool {
        !self.messages.is_empty()
    }

    /// Processes the end of the handshake.
    pub fn on_established(&mut self, now: Time, rtt_ns: u64, established: Established) {
        self.rtt.sample(rtt_ns);
        self.control.on_established(now, rtt_ns, established.was_syn_lost);
    }

    /// When [`Self::expire`] and then [`Self::send`] are to be called next.
    pub fn due(&self) -> Time {
        let timer = self.timer.min(self.tail_probe.due).min(self.reordering_timer);
        if self.is_waiting { timer.min(self.paced_until) } else { timer }
    }

    /// The state and the counters.
    pub fn state(&self) -> TcpState {
        TcpState {
            window_segments: self.control.window(),
            in_flight_segments: self.board.in_flight(),
            is_slow_start: self.control.is_slow_start(),
            smoothed_rtt_ms: self.rtt.smoothed_ns().map(|ns| ns as f64 / 1e6),
            sent_segments: self.board.next(),
            delivered_segments: self.delivery.delivered(),
            retransmissions: self.board.transmissions() - self.board.next(),
            ..self.state
        }
    }

    /// Stops the sender: no more segments are sent.
    pub fn stop(&mut self) {
        self.messages.clear();
        self.is_waiting = false;
        (self.timer, self.reordering_timer, self.tail_probe.due) = (Time::NEVER, Time::NEVER, Time::NEVER);
    }

    /// Processes an acknowledgement. Returns the round-trip time in nanoseconds. The caller then calls [`Self::send`].
    pub fn on_acknowledgement(&mut self, now: Time, ack: &Acknowledgement) -> u64 {
        let rtt_ns = now.as_nanos().saturating_sub(ack.newest_sent.as_nanos());
        self.rtt.sample(rtt_ns);
        let in_flight_before = self.board.in_flight();
        let delivery = &mut self.delivery;
        let reordering_window_ns = self.rtt.reordering_window_ns();
        let deliver = |segment: &Outstanding| delivery.deliver(now, segment.sent, segment.stamp);
        let summary = self.board.acknowledge(now, ack, reordering_window_ns, deliver);
        self.check_spurious_timeout(ack, summary.has_advanced);
        // segments that a spurious timeout had marked as lost may be late by now
        self.reordering_timer = self.board.reordering_timeout(reordering_window_ns).max(now);
        let sample = self.delivery.take_sample(self.rtt.min_ns());
        if let Some(sample) = sample {
            self.state.delivery_rate_bps = sample.rate * f64::from(self.segment_octets) * 8.0;
        }
        if self.phase != Phase::Open && self.board.first() >= self.recovery_end {
            self.phase = Phase::Open;
            self.control.on_recovered();
        }
        if summary.lost > 0 {
            self.recover(in_flight_before, summary.delivered);
        }
        self.check_probe(ack);
        if ack.marked > self.marks {
            self.marks = ack.marked;
            self.react_to_congestion();
        }
        self.control.on_ack(&AckEvent {
            now,
            delivered: summary.delivered,
            lost: summary.lost,
            in_flight: self.board.in_flight(),
            in_flight_before,
            first_unacknowledged: self.board.first(),
            next_sequence: self.board.next(),
            rtt_ns,
            smoothed_rtt_s: self.rtt.smoothed_ns().unwrap_or(rtt_ns) as f64 / 1e9,
            sample,
            is_window_limited: self.is_window_limited(),
        });
        if summary.has_advanced {
            self.rtt.reset_backoff();
        }
        if summary.has_advanced || summary.delivered > 0 {
            self.start_timer(now);
        }
        rtt_ns
    }

    /// Undoes a timeout as spurious if the first new acknowledgement after it is for a transmission before it.
    fn check_spurious_timeout(&mut self, ack: &Acknowledgement, has_advanced: bool) {
        let Some(undo) = &self.undo else { return };
        if ack.newest >= undo.transmissions {
            self.undo = None;
        } else if has_advanced {
            self.control = undo.control.clone();
            self.phase = Phase::Open;
            self.board.unmark_lost();
            self.state.spurious_timeouts += 1;
            self.undo = None;
        }
    }

    /// Starts a recovery after a loss, which reduces the window once.
    fn recover(&mut self, in_flight_before: u64, delivered: u64) {
        if self.phase != Phase::Open {
            return;
        }
        self.phase = Phase::Recovery;
        self.recovery_end = self.board.next();
        self.mark_end = self.recovery_end;
        self.tail_probe.sent = None;
        self.tail_probe.due = Time::NEVER;
        self.state.reductions += 1;
        self.control.on_loss(in_flight_before, self.board.in_flight(), delivered);
    }

    /// Detects that a probe has repaired a loss, which counts as congestion (RFC 8985 7.4).
    fn check_probe(&mut self, ack: &Acknowledgement) {
        let Some(Probe { end, retransmission }) = self.tail_probe.sent.filter(|probe| ack.cumulative >= probe.end)
        else {
            return;
        };
        debug_assert!(end <= self.board.next());
        self.tail_probe.sent = None;
        if retransmission.is_some_and(|transmission| ack.newest >= transmission && !ack.newest_is_duplicate) {
            self.react_to_congestion();
        }
    }

    /// Reduces the window for a mark or a repaired loss, at most once per window (RFC 3168 6.1.2).
    fn react_to_congestion(&mut self) {
        if self.phase == Phase::Open && self.board.first() >= self.mark_end {
            self.mark_end = self.board.next();
            self.state.reductions += u64::from(self.control.on_mark());
        }
    }

    fn is_window_limited(&self) -> bool {
        let is_half_used = self.control.window() < 2 * self.window_use.max_in_flight;
        self.window_use.was_limiting || (self.control.is_slow_start() && is_half_used)
    }

    /// Starts the retransmission timer (RFC 6298 5.1 to 5.3).
    fn start_timer(&mut self, now: Time) {
        self.timer = if self.board.len() == 0 { Time::NEVER } else { after(now, self.rtt.rto_ns()) };
        self.schedule_probe(now);
    }

    /// Schedules a probe two round trips after the last segment was sent or acknowledged, unless a loss is outstanding (RFC 8985
    /// 7.2).
    fn schedule_probe(&mut self, now: Time) {
        let is_all_in_flight = self.board.len() > 0 && self.board.in_flight() == self.board.len();
        if !is_all_in_flight || self.phase != Phase::Open || self.tail_probe.sent.is_some() {
            self.tail_probe.due = Time::NEVER;
            return;
        }
        let rtts_ns = self.rtt.smoothed_ns().map_or(RTO_INITIAL_NS, |ns| 2 * ns);
        let delay_ns = if self.board.len() == 1 { self.tail_probe.max_ack_delay_ns } else { 0 };
        self.tail_probe.due = after(now, rtts_ns + delay_ns).min(self.timer);
    }

    /// Processes expired timers: the reordering timer detects losses, the probe timer requests a probe, and otherwise the
    /// retransmission timer marks all segments in flight as lost.
    pub fn expire(&mut self, now: Time) {
        if self.reordering_timer <= now {
            let in_flight = self.board.in_flight();
            let reordering_window_ns = self.rtt.reordering_window_ns();
            if self.board.detect_losses(now, reordering_window_ns) > 0 {
                self.recover(in_flight, 0);
            }
            self.reordering_timer = self.board.reordering_timeout(reordering_window_ns);
        }
        if self.tail_probe.due <= now {
            self.tail_probe.due = Time::NEVER;
            self.tail_probe.is_requested = true;
            return;
        }
        if now < self.timer {
            return;
        }
        self.tail_probe.sent = None;
        self.state.timeouts += 1;
        if self.phase == Phase::Open {
            // no loss was known, so the timeout may be spurious
            let transmissions = self.board.transmissions();
            self.undo = Some(Box::new(Undo { control: self.control.clone(), transmissions }));
        }
        self.control.on_timeout(self.phase);
        self.phase = Phase::Timeout;
        self.recovery_end = self.board.next();
        self.mark_end = self.recovery_end;
        self.board.mark_all_lost();
        self.reordering_timer = Time::NEVER;
        self.rtt.back_off();
        self.start_timer(now);
    }

    /// Sends the segments that may be sent now.
    pub fn send(&mut self, now: Time, mut emit: impl FnMut(Outgoing)) {
        if std::mem::take(&mut self.tail_probe.is_requested) {
            self.probe(now, &mut emit);
        }
        let mut is_window_limited = false;
        self.is_waiting = false;
        loop {
            let message = self.messages.front().filter(|_| self.board.len() < self.receive_window).copied();
            let next = match (self.board.next_lost(), message) {
                (Some(sequence), _) => Next::Lost(sequence),
                (None, Some(message)) => Next::New(message),
                (None, None) => break,
            };
            if self.board.in_flight() >= self.control.window() {
                is_window_limited = true;
                break;
            }
            if now < self.paced_until {
                self.is_waiting = true;
                break;
            }
            if self.board.len() == 0 {
                self.restart_after_idle(now);
            }
            let stamp = self.delivery.stamp(now, self.board.in_flight());
            let outgoing = match next {
                Next::Lost(sequence) => {
                    let (transmission, octets) = self.board.retransmit(now, sequence, stamp);
                    Outgoing { segment: Segment { sequence, transmission }, octets, is_retransmission: true }
                }
                Next::New(message) => self.send_new(now, message, stamp),
            };
            self.on_sent(now);
            emit(outgoing);
        }
        let is_app_limited = self.messages.is_empty() && !is_window_limited && !self.is_waiting;
        if is_app_limited || self.control.is_probing_rtt() {
            self.delivery.mark_app_limited(self.board.in_flight());
        }
        let used = &self.window_use;
        let is_new_round = self.board.first() >= used.round_end;
        let has_more_in_flight = !used.was_limiting && self.board.in_flight() > used.max_in_flight;
        if is_new_round || is_window_limited || has_more_in_flight {
            let (round_end, max_in_flight) = (self.board.next(), self.board.in_flight());
            self.window_use = WindowUse { round_end, max_in_flight, was_limiting: is_window_limited };
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

    /// Sends a probe regardless of the congestion window: a new segment, or otherwise the last one again (RFC 8985 7.3).
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
        let retransmission = outgoing.is_retransmission.then_some(outgoing.segment.transmission);
        self.tail_probe.sent = Some(Probe { end: self.board.next(), retransmission });
        self.state.probes += 1;
        self.timer = Time::NEVER;
        self.on_sent(now);
        emit(outgoing);
    }

    fn on_sent(&mut self, now: Time) {
        self.control.on_sent();
        self.last_sent = now;
        if let Some(interval_ns) = self.control.pacing_interval_ns() {
            self.paced_until = after(now, interval_ns);
        }
        if self.timer == Time::NEVER {
            self.start_timer(now);
        } else {
            self.schedule_probe(now);
        }
    }

    /// Reports the idle time to congestion control before the first segment after it.
    fn restart_after_idle(&mut self, now: Time) {
        if self.board.next() > 0 {
            self.control.on_idle(now.since(self.last_sent), self.rtt.rto_ns());
        }
    }
}

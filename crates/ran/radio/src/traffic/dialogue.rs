//! Requests and responses of a user over one TCP connection.

use std::collections::VecDeque;

use super::after;
use super::end::Ends;
use super::path::{Path, Side};
use super::specification::{FlowSpecification, Kind};
use super::users::{VideoPlayer, Web};
use crate::{Random, Time};

/// The first request follows the start of a flow within this time.
pub const MAX_FIRST_REQUEST_S: f64 = 5.0;

/// The requests of a client and the responses to them.
#[derive(Clone, Debug)]
pub struct Dialogue {
    client: Side,
    behavior: Behavior,
    random: Random,
    /// When the next request is sent; never while a response must arrive first.
    next_request: Time,
    /// Requests without a complete response, oldest first. Their number is bounded by the behavior.
    pending: VecDeque<Request>,
}

#[derive(Clone, Debug)]
enum Behavior {
    Web(Web),
    Video { player: VideoPlayer, is_playing: bool, session_end: Time },
}

/// A request and its response.
#[derive(Clone, Copy, Debug)]
struct Request {
    sent: Time,
    /// The segment that follows the request in the client's stream.
    request_end: u64,
    response_octets: u64,
    /// The segment that follows the response in the server's stream, once the response is written.
    response_end: Option<u64>,
}

impl Dialogue {
    /// # Panics
    ///
    /// If this kind of flow has no requests over TCP.
    pub fn new(specification: &FlowSpecification, mut random: Random) -> Self {
        let server = if Side::Server.sends(specification.direction) { Side::Server } else { Side::Ue };
        let start = specification.start;
        let behavior = match &specification.kind {
            Kind::Web(web) => Behavior::Web(web.clone()),
            Kind::VideoPlayer(player) => Behavior::Video {
                is_playing: random.uniform() < player.on_s / (player.on_s + player.off_s),
                session_end: after_s(start, random.exponential(player.on_s)),
                player: player.clone(),
            },
            _ => panic!("the flow has no requests over TCP"),
        };
        let next_request = after_s(start, random.uniform() * MAX_FIRST_REQUEST_S);
        Dialogue { client: server.other(), behavior, random, next_request, pending: VecDeque::new() }
    }

    pub fn due(&self) -> Time {
        self.next_request
    }

    /// Sends a request, or starts or ends a session.
    pub fn act(&mut self, now: Time, ends: &mut Ends, path: &mut Path) {
        let (request, octets, next) = match &mut self.behavior {
            Behavior::Web(web) => {
                let octets = web.page_least_octets + self.random.exponential(web.page_more_octets as f64) as u64;
                (octets * u64::from(web.request_permille) / 1_000, octets, Time::NEVER)
            }
            Behavior::Video { player, is_playing, session_end } => {
                while now >= *session_end {
                    *is_playing = !*is_playing;
                    let mean_s = if *is_playing { player.on_s } else { player.off_s };
                    *session_end = after_s(*session_end, self.random.exponential(mean_s));
                }
                if !*is_playing {
                    self.next_request = *session_end;
                    return;
                }
                if self.pending.len() >= player.ahead as usize {
                    self.next_request = Time::NEVER;
                    return;
                }
                let mean = player.bitrate_bps as f64 / 8.0 * player.segment_ms as f64 / 1e3;
                let octets = (mean * (0.7 + 0.6 * self.random.uniform())).max(1.0) as u64;
                (u64::from(player.request_octets), octets, after(now, player.segment_ms * 1_000_000))
            }
        };
        self.next_request = next;
        let request_end = ends.of(self.client).write(now, request.max(1), path);
        self.pending.push_back(Request { sent: now, request_end, response_octets: octets, response_end: None });
    }

    /// Processes a segment that has arrived at `side`.
    pub fn on_segment(&mut self, side: Side, now: Time, ends: &mut Ends, path: &mut Path) {
        let end = ends.of(side);
        let received = end.received();
        if side != self.client {
            let unanswered = self.pending.iter_mut().filter(|request| request.response_end.is_none());
            for request in unanswered.take_while(|request| request.request_end <= received) {
                request.response_end = Some(end.write(now, request.response_octets, path));
            }
            return;
        }
        while let Some(request) = self.pending.front().copied() {
            if request.response_end.is_none_or(|end| received < end) {
                break;
            }
            self.pending.pop_front();
            path.count_completed(now, request.sent);
            self.schedule_request(now, request.sent);
        }
    }

    /// Schedules the next request after the response to the request of `request_sent`.
    fn schedule_request(&mut self, now: Time, request_sent: Time) {
        match &self.behavior {
            Behavior::Web(web) => self.next_request = after_s(now, self.random.exponential(web.reading_s)),
            // a player that waited for this response continues, with a segment's time between two requests
            Behavior::Video { player, .. } if self.next_request == Time::NEVER => {
                let last = self.pending.back().map_or(request_sent, |request| request.sent);
                self.next_request = after(last, player.segment_ms * 1_000_000).max(now);
            }
            Behavior::Video { .. } => {}
        }
    }
}

fn after_s(time: Time, seconds: f64) -> Time {
    after(time, (seconds * 1e9) as u64)
}

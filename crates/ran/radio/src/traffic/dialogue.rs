//! A user who asks a server for one thing after the other, over one TCP connection.

use std::collections::VecDeque;

use super::after;
use super::end::Ends;
use super::path::{Path, Side};
use super::specification::{FlowSpecification, Kind};
use super::users::{VideoPlayer, Web};
use crate::{Random, Time};

/// Who asks first does so within so many seconds.
pub const FIRST_WITHIN_S: f64 = 5.0;

/// Requests and answers.
#[derive(Clone, Debug)]
pub struct Dialogue {
    asker: Side,
    habit: Habit,
    random: Random,
    /// When the user asks next; never while he waits for an answer first.
    asks_at: Time,
    /// What was asked for and has not come, the oldest first: no more than the habit asks for ahead.
    asked: VecDeque<Asked>,
}

#[derive(Clone, Debug)]
enum Habit {
    Web(Web),
    Video { player: VideoPlayer, is_playing: bool, session_ends: Time },
}

/// A request, and what will answer it.
#[derive(Clone, Copy, Debug)]
struct Asked {
    at: Time,
    /// Which segment follows it in the stream of requests.
    request_end: u64,
    octets: u64,
    /// Which segment follows the answer in the stream of answers, once it is written.
    answer_end: Option<u64>,
}

impl Dialogue {
    /// # Panics
    ///
    /// Where nobody asks in that kind of flow.
    pub fn new(specification: &FlowSpecification, mut random: Random) -> Self {
        let answerer = if Side::Server.sends(specification.direction) { Side::Server } else { Side::Ue };
        let start = specification.start;
        let habit = match &specification.kind {
            Kind::Web(web) => Habit::Web(web.clone()),
            Kind::VideoPlayer(player) => Habit::Video {
                is_playing: random.uniform() < player.on_s / (player.on_s + player.off_s),
                session_ends: later(start, random.exponential(player.on_s)),
                player: player.clone(),
            },
            _ => panic!("only users ask"),
        };
        let asks_at = later(start, random.uniform() * FIRST_WITHIN_S);
        Dialogue { asker: answerer.other(), habit, random, asks_at, asked: VecDeque::new() }
    }

    pub fn due(&self) -> Time {
        self.asks_at
    }

    /// The user asks, or begins or ends a session.
    pub fn act(&mut self, now: Time, ends: &mut Ends, path: &mut Path) {
        let (request, octets, next) = match &mut self.habit {
            Habit::Web(web) => {
                let octets = web.page_least_octets + self.random.exponential(web.page_more_octets as f64) as u64;
                (octets * u64::from(web.request_permille) / 1_000, octets, Time::NEVER)
            }
            Habit::Video { player, is_playing, session_ends } => {
                while now >= *session_ends {
                    *is_playing = !*is_playing;
                    let mean_s = if *is_playing { player.on_s } else { player.off_s };
                    *session_ends = later(*session_ends, self.random.exponential(mean_s));
                }
                if !*is_playing {
                    self.asks_at = *session_ends;
                    return;
                }
                if self.asked.len() >= player.ahead as usize {
                    self.asks_at = Time::NEVER;
                    return;
                }
                let mean = player.bitrate_bps as f64 / 8.0 * player.segment_ms as f64 / 1e3;
                let octets = (mean * (0.7 + 0.6 * self.random.uniform())).max(1.0) as u64;
                (u64::from(player.request_octets), octets, after(now, player.segment_ms * 1_000_000))
            }
        };
        self.asks_at = next;
        let request_end = ends.of(self.asker).write(now, request.max(1), path);
        self.asked.push_back(Asked { at: now, request_end, octets, answer_end: None });
    }

    /// A segment has come to that side.
    pub fn arrived(&mut self, side: Side, now: Time, ends: &mut Ends, path: &mut Path) {
        let end = ends.of(side);
        let received = end.received();
        if side != self.asker {
            let unanswered = self.asked.iter_mut().filter(|asked| asked.answer_end.is_none());
            for asked in unanswered.take_while(|asked| asked.request_end <= received) {
                asked.answer_end = Some(end.write(now, asked.octets, path));
            }
            return;
        }
        while let Some(asked) = self.asked.front().copied() {
            if asked.answer_end.is_none_or(|end| received < end) {
                break;
            }
            self.asked.pop_front();
            path.count_completed(now, asked.at);
            self.apply_harq_feedback(now, asked.at);
        }
    }

    /// The answer to what was asked then has come.
    fn apply_harq_feedback(&mut self, now: Time, asked_at: Time) {
        match &self.habit {
            Habit::Web(web) => self.asks_at = later(now, self.random.exponential(web.reading_s)),
            // a player that waited for this goes on, but asks for no two segments at once
            Habit::Video { player, .. } if self.asks_at == Time::NEVER => {
                let last = self.asked.back().map_or(asked_at, |asked| asked.at);
                self.asks_at = after(last, player.segment_ms * 1_000_000).max(now);
            }
            Habit::Video { .. } => {}
        }
    }
}

fn later(time: Time, seconds: f64) -> Time {
    after(time, (seconds * 1e9) as u64)
}

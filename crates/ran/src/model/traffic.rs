//! What UEs send and receive: an idle one now and then a little, the others as their users' habits are.
//!
//! Sources wait for what they asked for: a page is read once it is there, a player asks for three segments ahead at
//! most, and servers keep no more on the way than a window. So a full cell slows its users down and does not drown.

use super::random::Random;

/// What a UE's user does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Keep-alives.
    Idle,
    /// Pages, and times to read them.
    Web,
    /// Segments of two seconds, in sessions.
    Video,
    /// A steady flow in both directions that has to be in time.
    Steady,
}

/// Seconds of a video segment.
const SEGMENT_S: f64 = 2.0;
/// What requests and acknowledgements take, per bit that comes down.
const WEB_UPLINK: f64 = 0.04;
const VIDEO_UPLINK: f64 = 0.02;
/// Segments that a player asks for ahead.
const SEGMENTS_AHEAD: f64 = 3.0;

/// What is on the way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiting {
    /// Bits in the base station's queue, and in the UE's.
    pub downlink: f64,
    pub uplink: f64,
    /// Bits that a server keeps in the former.
    pub window: f64,
}

/// Bits that came in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Arrivals {
    pub downlink: f64,
    pub uplink: f64,
}

/// A source of traffic.
#[derive(Clone, Debug)]
pub struct Traffic {
    profile: Profile,
    /// Bits a second of a session or flow.
    rate_bps: f64,
    /// Seconds until the next page, segment or keep-alive.
    wait_s: f64,
    /// Seconds until the video session begins or ends.
    session_s: f64,
    playing: bool,
    /// Bits that the server has yet to send.
    server: f64,
}

impl Traffic {
    pub fn new(random: &mut Random) -> Self {
        let profile = match random.uniform() {
            u if u < 0.15 => Profile::Idle,
            u if u < 0.55 => Profile::Web,
            u if u < 0.85 => Profile::Video,
            _ => Profile::Steady,
        };
        let rate_bps = match profile {
            Profile::Video => [3e6, 6e6, 12e6][(random.uniform() * 3.0) as usize],
            Profile::Steady => 0.2e6 + 1.8e6 * random.uniform(),
            Profile::Idle | Profile::Web => 0.0,
        };
        let wait_s = random.uniform() * 5.0;
        Traffic {
            profile,
            rate_bps,
            wait_s,
            session_s: random.exponential(60.0),
            playing: random.uniform() < 0.75,
            server: 0.0,
        }
    }

    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// What comes in a step; `activity` scales how often users do something.
    pub fn step(&mut self, step_s: f64, activity: f64, waiting: Waiting, random: &mut Random) -> Arrivals {
        self.wait_s -= step_s;
        let mut uplink = 0.0;
        match self.profile {
            Profile::Steady => {
                return Arrivals { downlink: self.rate_bps * step_s, uplink: self.rate_bps * step_s };
            }
            Profile::Idle if self.wait_s <= 0.0 => {
                self.wait_s = random.exponential(10.0);
                return Arrivals { downlink: 1500.0 * 8.0, uplink: 800.0 * 8.0 };
            }
            Profile::Idle => {}
            Profile::Web => {
                if self.server + waiting.downlink + waiting.uplink > 0.0 {
                    self.wait_s += step_s; // not yet reading
                } else if self.wait_s <= 0.0 {
                    self.wait_s = random.exponential(6.0 / activity);
                    self.server = 8.0 * (60e3 + random.exponential(2.0e6));
                    uplink = WEB_UPLINK * self.server;
                }
            }
            Profile::Video => uplink = self.video(step_s, activity, waiting, random),
        }
        let downlink = self.server.min((waiting.window - waiting.downlink).max(0.0));
        self.server -= downlink;
        Arrivals { downlink, uplink }
    }

    /// The player's part of a step: asks the server, and tells what asking and acknowledging takes.
    fn video(&mut self, step_s: f64, activity: f64, waiting: Waiting, random: &mut Random) -> f64 {
        self.session_s -= if self.playing { step_s } else { step_s * activity };
        if self.session_s <= 0.0 {
            self.playing = !self.playing;
            self.session_s = random.exponential(if self.playing { 60.0 } else { 20.0 });
        }
        let segment = self.rate_bps * SEGMENT_S;
        let ahead = self.server + waiting.downlink;
        if !self.playing || self.wait_s > 0.0 || ahead > SEGMENTS_AHEAD * segment || waiting.uplink > 0.0 {
            return 0.0;
        }
        self.wait_s = SEGMENT_S;
        let segment = segment * (0.7 + 0.6 * random.uniform());
        self.server += segment;
        VIDEO_UPLINK * segment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Waiting = Waiting { downlink: 0.0, uplink: 0.0, window: 1e9 };

    #[test]
    fn sources_give_what_they_promise() {
        let mut total = [0.0; 4];
        let mut users = [0.0; 4];
        for ue in 0..200 {
            let mut random = Random::new(5, ue);
            let mut traffic = Traffic::new(&mut random);
            let at = traffic.profile() as usize;
            users[at] += 1.0;
            for _ in 0..30_000 {
                total[at] += traffic.step(0.01, 1.0, NOTHING, &mut random).downlink;
            }
        }
        let mean = |profile: Profile| total[profile as usize] / users[profile as usize] / 300.0 / 1e6;
        assert!(users.iter().all(|n| *n > 15.0), "{users:?}");
        assert!(mean(Profile::Idle) < 0.01, "{}", mean(Profile::Idle));
        assert!((2.0..3.5).contains(&mean(Profile::Web)), "{}", mean(Profile::Web));
        assert!((3.5..6.5).contains(&mean(Profile::Video)), "{}", mean(Profile::Video));
        assert!((0.8..1.5).contains(&mean(Profile::Steady)), "{}", mean(Profile::Steady));
    }

    #[test]
    fn who_waits_asks_for_nothing_new() {
        let full = Waiting { downlink: 1e9, uplink: 1e9, window: 1e6 };
        for ue in 0..50 {
            let mut random = Random::new(6, ue);
            let mut traffic = Traffic::new(&mut random);
            let all: f64 = (0..10_000).map(|_| traffic.step(0.01, 1.0, full, &mut random).downlink).sum();
            let asks_anyway = matches!(traffic.profile(), Profile::Idle | Profile::Steady);
            assert_eq!(all > 0.0, asks_anyway, "{:?}", traffic.profile());
        }
    }
}

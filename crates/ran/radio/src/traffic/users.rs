//! The behavior of users, and their mix.

use super::after;
use super::dialogue::MAX_FIRST_REQUEST_S;
use super::specification::{Direction, FlowSpecification, Kind, OutOfRange, Tcp, check_rate, check_seconds, within};
use crate::{Random, Time};

/// A reader of web pages: requests a page, waits for all of it, reads, and requests the next one.
#[derive(Clone, Debug, PartialEq)]
pub struct Web {
    /// The mean of the exponentially distributed time to read a page. Default: 6.
    pub reading_s: f64,
    /// The minimum size of a page. Default: 60 kB.
    pub page_least_octets: u64,
    /// The mean of the exponentially distributed rest of its size. Default: 2 MB.
    pub page_more_octets: u64,
    /// The size of a request in thousandths of that of the page. Default: 20.
    pub request_permille: u32,
    /// The TCP connection.
    pub tcp: Tcp,
}

impl Default for Web {
    fn default() -> Self {
        Web {
            reading_s: 6.0,
            page_least_octets: 60_000,
            page_more_octets: 2_000_000,
            request_permille: 20,
            tcp: Tcp::default(),
        }
    }
}

impl Web {
    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        check_seconds(self.reading_s, "reading_s")?;
        within((1..=1 << 40).contains(&self.page_least_octets), "page_least_octets", "from 1 to 2^40")?;
        within((0..=1 << 40).contains(&self.page_more_octets), "page_more_octets", "from 0 to 2^40")?;
        within(self.request_permille <= 1_000, "request_permille", "from 0 to 1000")?;
        self.tcp.check()
    }
}

/// A video player: in sessions, requests one segment per playing time of a segment, up to a limit of outstanding ones.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoPlayer {
    /// The mean rate during a session, in bits per second; that of each segment is 0.7 to 1.3 times as high. Default: 6 Mbit/s.
    pub bitrate_bps: u64,
    /// The playing time of a segment. Default: 2000.
    pub segment_ms: u64,
    /// The maximum number of outstanding segments. Default: 3.
    pub ahead: u32,
    /// The mean of the exponentially distributed length of a session. Default: 60.
    pub on_s: f64,
    /// The mean of the exponentially distributed pause between sessions. Default: 20.
    pub off_s: f64,
    /// The size of a request. Default: 1000.
    pub request_octets: u32,
    /// The TCP connection.
    pub tcp: Tcp,
}

impl Default for VideoPlayer {
    fn default() -> Self {
        VideoPlayer {
            bitrate_bps: 6_000_000,
            segment_ms: 2_000,
            ahead: 3,
            on_s: 60.0,
            off_s: 20.0,
            request_octets: 1_000,
            tcp: Tcp::default(),
        }
    }
}

impl VideoPlayer {
    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        check_rate(self.bitrate_bps, "bitrate_bps")?;
        within((10..=60_000).contains(&self.segment_ms), "segment_ms", "from 10 to 60000")?;
        within((1..=64).contains(&self.ahead), "ahead", "from 1 to 64")?;
        check_seconds(self.on_s, "on_s")?;
        check_seconds(self.off_s, "off_s")?;
        within((1..=1_000_000).contains(&self.request_octets), "request_octets", "from 1 to 1000000")?;
        self.tcp.check()
    }
}

/// The shares of the kinds of users.
#[derive(Clone, Debug, PartialEq)]
pub struct UserMix {
    /// Users with keep-alives only. Default: 0.15.
    pub idle: f64,
    /// Readers of web pages. Default: 0.4.
    pub web: f64,
    /// Video players, a third each with 3, 6 and 12 Mbit/s. Default: 0.3.
    pub video: f64,
    /// Users with a constant bit rate of 0.2 to 2 Mbit/s in both directions. Default: 0.15.
    pub steady: f64,
    /// The activity of the users: reading times and pauses are divided by it. Default: 1.
    pub activity: f64,
    /// The one-way delay of the core and the internet. Default: 10 ms.
    pub one_way_delay_ms: f64,
    /// Their TCP connections.
    pub tcp: Tcp,
}

impl Default for UserMix {
    fn default() -> Self {
        UserMix {
            idle: 0.15,
            web: 0.4,
            video: 0.3,
            steady: 0.15,
            activity: 1.0,
            one_way_delay_ms: 10.0,
            tcp: Tcp::default(),
        }
    }
}

impl UserMix {
    /// Checks that all values are allowed.
    ///
    /// # Errors
    ///
    /// Names the first field whose value is not allowed, and the allowed values.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let shares = [(self.idle, "idle"), (self.web, "web"), (self.video, "video"), (self.steady, "steady")];
        for (share, field) in shares {
            within((0.0..=1.0).contains(&share), field, "from 0 to 1")?;
        }
        let sum: f64 = shares.iter().map(|(share, _)| share).sum();
        within((sum - 1.0).abs() < 1e-6, "idle, web, video and steady", "1 in sum")?;
        within((0.01..=100.0).contains(&self.activity), "activity", "from 0.01 to 100")?;
        self.flow(Time::START, Direction::Down, Kind::Voip { echoed: false }).check()?;
        self.tcp.check()
    }

    /// Draws the flow of a user who arrives at `now`.
    #[must_use]
    pub fn draw(&self, now: Time, random: &mut Random) -> FlowSpecification {
        let share = random.uniform();
        if share < self.idle {
            return self.flow(now, Direction::Down, Kind::keep_alive(10.0));
        }
        if share < self.idle + self.web {
            let web = Web { reading_s: 6.0 / self.activity, tcp: self.tcp.clone(), ..Web::default() };
            return self.flow(now, Direction::Down, Kind::Web(web));
        }
        if share < self.idle + self.web + self.video {
            let bitrate_bps = [3_000_000, 6_000_000, 12_000_000][(random.uniform() * 3.0) as usize];
            let off_s = 20.0 / self.activity;
            let player = VideoPlayer { bitrate_bps, off_s, tcp: self.tcp.clone(), ..VideoPlayer::default() };
            return self.flow(now, Direction::Down, Kind::VideoPlayer(player));
        }
        let rate_bps = 200_000 + (random.uniform() * 1_800_000.0) as u64;
        // a random start keeps users from sending in step
        let start = after(now, (random.uniform() * MAX_FIRST_REQUEST_S * 1e9) as u64);
        self.flow(start, Direction::Both, Kind::ConstantBitRate { rate_bps, packet_octets: 1_000 })
    }

    fn flow(&self, start: Time, direction: Direction, kind: Kind) -> FlowSpecification {
        let one_way_delay_ms = self.one_way_delay_ms;
        FlowSpecification { start, direction, one_way_delay_ms, ..FlowSpecification::new(kind) }
    }
}

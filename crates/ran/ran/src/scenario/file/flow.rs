//! `[[ue.flow]]`: what a UE sends and receives.

use std::time::Duration;

use radio::traffic::{
    CongestionControl, Direction, FlowSpecification, Kind, OnOffVideo, SlowStart, Tcp, UserMix, VideoPlayer, Web,
};
use radio::{Random, Time};

use crate::scenario::FlowScenario;
use settings::{Error, Table, TableKeys};

pub const FLOW: TableKeys = TableKeys {
    name: "[[ue.flow]]",
    keys: &[
        "kind",
        "direction",
        "start_s",
        "stop_s",
        "server_port",
        "ue_port",
        "one_way_delay_ms",
        "dscp",
        "rate_bps",
        "packet_octets",
        "interval_ms",
        "echoed",
        "bitrate_bps",
        "burst_bps",
        "segment_ms",
        "on_s",
        "off_s",
        "size_octets",
        "congestion_control",
        "slow_start",
        "ecn",
        "segment_octets",
        "receive_window_octets",
        "initial_window_segments",
        "delayed_ack_ms",
        "rto_min_ms",
        "interval_s",
        "request_octets",
        "answer_octets",
        "reading_s",
        "page_least_octets",
        "page_more_octets",
        "request_permille",
        "ahead_segments",
        "idle_percent",
        "web_percent",
        "video_percent",
        "steady_percent",
        "activity",
    ],
};

/// What every kind has.
const COMMON: &[&str] =
    &["kind", "direction", "start_s", "stop_s", "server_port", "ue_port", "one_way_delay_ms", "dscp"];
/// What TCP has.
const TCP: &[&str] = &[
    "congestion_control",
    "slow_start",
    "ecn",
    "segment_octets",
    "receive_window_octets",
    "initial_window_segments",
    "delayed_ack_ms",
    "rto_min_ms",
];
/// The kinds, and what each has of its own.
const KINDS: [(&str, &[&str]); 11] = [
    ("cbr", &["rate_bps", "packet_octets"]),
    ("poisson", &["rate_bps", "packet_octets"]),
    ("video", &["bitrate_bps", "burst_bps", "segment_ms", "packet_octets", "on_s", "off_s"]),
    ("voip", &["echoed"]),
    ("echo", &["interval_ms", "packet_octets"]),
    ("greedy", &[]),
    ("transfer", &["size_octets"]),
    ("keep-alive", &["interval_s", "request_octets", "answer_octets"]),
    ("web", &["reading_s", "page_least_octets", "page_more_octets", "request_permille"]),
    ("player", &["bitrate_bps", "segment_ms", "ahead_segments", "on_s", "off_s", "request_octets"]),
    ("user", &["idle_percent", "web_percent", "video_percent", "steady_percent", "activity"]),
];
/// The kinds that have a connection.
const TCP_KINDS: [&str; 5] = ["greedy", "transfer", "web", "player", "user"];
/// Far more than any of these may be: the flow's own check has the bounds.
const ANY: std::ops::RangeInclusive<i64> = 0..=i64::MAX;
const OCTETS: std::ops::RangeInclusive<i64> = 0..=4_294_967_295;
/// Times of the model end here.
pub const SECONDS: std::ops::RangeInclusive<f64> = 0.0..=1e9;

/// A time of the model.
pub fn seconds(seconds: f64) -> Time {
    Time::START + Duration::from_secs_f64(seconds)
}

/// A flow of a group's UEs. Times are counted from a UE's arrival.
#[derive(Clone, Debug)]
pub struct GroupFlow {
    flow: FlowScenario,
    /// What each of them does is drawn from this.
    mix: Option<UserMix>,
}

impl GroupFlow {
    /// What it is for the next UE, which comes at that time.
    pub fn of(&self, arrives: Time, random: &mut Random) -> FlowScenario {
        let mut flow = self.flow.clone();
        let specification = &mut flow.specification;
        if let Some(mix) = &self.mix {
            let FlowSpecification { start, stop, dscp, .. } = *specification;
            let drawn = mix.draw(start, random);
            // a short stay ends before some would begin
            *specification =
                FlowSpecification { stop, dscp, start: if drawn.start < stop { drawn.start } else { start }, ..drawn };
        }
        let later = |time: Time| if time == Time::NEVER { time } else { time + arrives.since(Time::START) };
        specification.start = later(specification.start);
        specification.stop = later(specification.stop);
        flow
    }
}

/// The `number`th flow of a group's UEs.
pub fn flow(section: &Table<'_>, number: usize) -> Result<GroupFlow, Error> {
    let name = kind_name(section)?;
    let mix = if name == "user" { Some(mix(section)?) } else { None };
    let kind = if mix.is_some() { Kind::keep_alive(1.0) } else { kind(section, name)? };
    let mut specification = FlowSpecification::new(kind);
    let ways = [("down", Direction::Down), ("up", Direction::Up), ("both", Direction::Both)];
    specification.direction = section.choice("direction", &ways)?.unwrap_or(specification.direction);
    if mix.is_some() && section.contains("direction") {
        return Err(section.invalid("direction", "what the user does has its own"));
    }
    specification.start = section.number("start_s", SECONDS)?.map_or(specification.start, seconds);
    specification.stop = section.number("stop_s", SECONDS)?.map_or(specification.stop, seconds);
    let delay_ms = section.number("one_way_delay_ms", 0.0..=1_000.0)?;
    specification.one_way_delay_ms = delay_ms.unwrap_or(specification.one_way_delay_ms);
    specification.dscp = section.integer("dscp", 0..=63)?.unwrap_or(specification.dscp);
    let ports = 1..=65_535;
    // so that a UE's flows differ
    let number = number as u16; // bounded by MAX_FLOWS
    let server_port = section.integer("server_port", ports.clone())?.unwrap_or(5_000 + number);
    let ue_port = section.integer("ue_port", ports)?.unwrap_or(50_000 + number);
    specification.check().map_err(|error| section.invalid_table(error))?;
    Ok(GroupFlow { flow: FlowScenario { specification, ports: (server_port, ue_port) }, mix })
}

/// Users of whom each does something else.
fn mix(section: &Table<'_>) -> Result<UserMix, Error> {
    let default = UserMix::default();
    let share = |key, otherwise: f64| -> Result<f64, Error> {
        Ok(section.number(key, 0.0..=100.0)?.map_or(otherwise, |percent| percent / 100.0))
    };
    let mix = UserMix {
        idle: share("idle_percent", default.idle)?,
        web: share("web_percent", default.web)?,
        video: share("video_percent", default.video)?,
        steady: share("steady_percent", default.steady)?,
        activity: section.number("activity", 0.01..=100.0)?.unwrap_or(default.activity),
        one_way_delay_ms: section.number("one_way_delay_ms", 0.0..=1_000.0)?.unwrap_or(default.one_way_delay_ms),
        tcp: tcp(section)?,
    };
    mix.check().map_err(|error| section.invalid_table(error))?;
    Ok(mix)
}

/// The name of the kind, to which all keys belong.
fn kind_name(section: &Table<'_>) -> Result<&'static str, Error> {
    let words = KINDS.map(|(name, _)| (name, name));
    let name = section.choice("kind", &words)?;
    let all = || words.map(|(name, _)| name).join(", ");
    let name = name.ok_or_else(|| section.missing("kind", format!("it is one of {}", all())))?;
    let own = KINDS.iter().find(|(kind, _)| *kind == name).map_or(&[][..], |(_, own)| *own);
    let is_tcp = TCP_KINDS.contains(&name);
    let means = |key: &&str| COMMON.contains(key) || own.contains(key) || is_tcp && TCP.contains(key);
    match section.present_keys().find(|key| !means(key)) {
        Some(key) => Err(section.invalid(key, format!("it means nothing where the kind is \"{name}\""))),
        None => Ok(name),
    }
}

fn kind(section: &Table<'_>, name: &str) -> Result<Kind, Error> {
    let rate = || -> Result<(u64, u32), Error> {
        let rate_bps = section.integer("rate_bps", ANY)?;
        let rate_bps = rate_bps.ok_or_else(|| section.missing("rate_bps", "bits a second, with all headers"))?;
        Ok((rate_bps, section.integer("packet_octets", OCTETS)?.unwrap_or(1_000)))
    };
    let any = 0.0..=f64::MAX;
    Ok(match name {
        "cbr" => {
            let (rate_bps, packet_octets) = rate()?;
            Kind::ConstantBitRate { rate_bps, packet_octets }
        }
        "poisson" => {
            let (rate_bps, packet_octets) = rate()?;
            Kind::Poisson { rate_bps, packet_octets }
        }
        "video" => {
            let default = OnOffVideo::default();
            Kind::OnOffVideo(OnOffVideo {
                bitrate_bps: section.integer("bitrate_bps", ANY)?.unwrap_or(default.bitrate_bps),
                segment_ms: section.integer("segment_ms", ANY)?.unwrap_or(default.segment_ms),
                burst_bps: section.integer("burst_bps", ANY)?.unwrap_or(default.burst_bps),
                packet_octets: section.integer("packet_octets", OCTETS)?.unwrap_or(default.packet_octets),
                on_s: section.number("on_s", any.clone())?.unwrap_or(default.on_s),
                off_s: section.number("off_s", any)?.unwrap_or(default.off_s),
            })
        }
        "voip" => Kind::Voip { echoed: section.boolean("echoed")?.unwrap_or(false) },
        "echo" => Kind::Echo {
            interval_ms: section.number("interval_ms", 0.0..=f64::MAX)?.unwrap_or(1_000.0),
            packet_octets: section.integer("packet_octets", OCTETS)?.unwrap_or(84),
        },
        "greedy" => Kind::Greedy(tcp(section)?),
        "keep-alive" => {
            let interval_s = section.number("interval_s", any)?.unwrap_or(10.0);
            let Kind::KeepAlive { request_octets, answer_octets, .. } = Kind::keep_alive(interval_s) else {
                panic!("a keep-alive is one")
            };
            Kind::KeepAlive {
                interval_s,
                request_octets: section.integer("request_octets", OCTETS)?.unwrap_or(request_octets),
                answer_octets: section.integer("answer_octets", OCTETS)?.unwrap_or(answer_octets),
            }
        }
        "web" => {
            let default = Web::default();
            Kind::Web(Web {
                reading_s: section.number("reading_s", any)?.unwrap_or(default.reading_s),
                page_least_octets: section.integer("page_least_octets", ANY)?.unwrap_or(default.page_least_octets),
                page_more_octets: section.integer("page_more_octets", ANY)?.unwrap_or(default.page_more_octets),
                request_permille: section.integer("request_permille", OCTETS)?.unwrap_or(default.request_permille),
                tcp: tcp(section)?,
            })
        }
        "player" => {
            let default = VideoPlayer::default();
            Kind::VideoPlayer(VideoPlayer {
                bitrate_bps: section.integer("bitrate_bps", ANY)?.unwrap_or(default.bitrate_bps),
                segment_ms: section.integer("segment_ms", ANY)?.unwrap_or(default.segment_ms),
                ahead: section.integer("ahead_segments", OCTETS)?.unwrap_or(default.ahead),
                on_s: section.number("on_s", any.clone())?.unwrap_or(default.on_s),
                off_s: section.number("off_s", any)?.unwrap_or(default.off_s),
                request_octets: section.integer("request_octets", OCTETS)?.unwrap_or(default.request_octets),
                tcp: tcp(section)?,
            })
        }
        _ => {
            let octets = section.integer("size_octets", ANY)?;
            let octets =
                octets.ok_or_else(|| section.missing("size_octets", "what is transferred, without headers"))?;
            Kind::Transfer { octets, tcp: tcp(section)? }
        }
    })
}

fn tcp(section: &Table<'_>) -> Result<Tcp, Error> {
    let default = Tcp::default();
    let is_bbr = section.choice("congestion_control", &[("cubic", false), ("bbr", true)])?.unwrap_or(false);
    let slow_start = section.choice("slow_start", &[("hystart", SlowStart::HyStart), ("plain", SlowStart::Plain)])?;
    let control = match (is_bbr, slow_start) {
        (true, Some(_)) => return Err(section.invalid("slow_start", "it is CUBIC's: BBR begins otherwise")),
        (true, None) => CongestionControl::Bbr,
        (false, slow_start) => CongestionControl::Cubic { slow_start: slow_start.unwrap_or_default() },
    };
    Ok(Tcp {
        control,
        segment_octets: section.integer("segment_octets", OCTETS)?.unwrap_or(default.segment_octets),
        receive_window_octets: section.integer("receive_window_octets", ANY)?.unwrap_or(default.receive_window_octets),
        initial_window_segments: section
            .integer("initial_window_segments", OCTETS)?
            .unwrap_or(default.initial_window_segments),
        ecn: section.boolean("ecn")?.unwrap_or(default.ecn),
        delayed_ack_ms: section.integer("delayed_ack_ms", ANY)?.unwrap_or(default.delayed_ack_ms),
        rto_min_ms: section.integer("rto_min_ms", ANY)?.unwrap_or(default.rto_min_ms),
    })
}

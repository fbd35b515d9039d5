//! `[[ue.flow]]`: a flow of a UE.

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

/// The keys of all kinds.
const COMMON: &[&str] =
    &["kind", "direction", "start_s", "stop_s", "server_port", "ue_port", "one_way_delay_ms", "dscp"];
/// The keys of kinds with a TCP connection.
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
/// The kinds, and the further keys of each.
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
/// The kinds with a TCP connection.
const TCP_KINDS: [&str; 5] = ["greedy", "transfer", "web", "player", "user"];
/// A range without effect: FlowSpecification::check has the bounds.
const ANY: std::ops::RangeInclusive<i64> = 0..=i64::MAX;
const OCTETS: std::ops::RangeInclusive<i64> = 0..=4_294_967_295;
/// The range of times of the model.
pub const SECONDS: std::ops::RangeInclusive<f64> = 0.0..=1e9;

/// Converts seconds to a time of the model.
pub fn seconds(seconds: f64) -> Time {
    Time::START + Duration::from_secs_f64(seconds)
}

/// The flow of a table's UEs. Its times are relative to a UE's arrival.
#[derive(Clone, Debug)]
pub struct GroupFlow {
    flow: FlowScenario,
    /// The distribution from which each UE's traffic is drawn.
    mix: Option<UserMix>,
}

impl GroupFlow {
    /// The flow of the next UE, which arrives at `arrives`.
    pub fn for_ue(&self, arrives: Time, random: &mut Random) -> FlowScenario {
        let mut flow = self.flow.clone();
        let specification = &mut flow.specification;
        if let Some(mix) = &self.mix {
            let FlowSpecification { start, stop, dscp, .. } = *specification;
            let drawn = mix.draw(start, random);
            // a flow that would start after the UE leaves starts at once
            *specification =
                FlowSpecification { stop, dscp, start: if drawn.start < stop { drawn.start } else { start }, ..drawn };
        }
        let shift = |time: Time| if time == Time::NEVER { time } else { time + arrives.since(Time::START) };
        specification.start = shift(specification.start);
        specification.stop = shift(specification.stop);
        flow
    }
}

/// Reads the `number`th flow of a table.
pub fn flow(table: &Table<'_>, number: usize) -> Result<GroupFlow, Error> {
    let name = kind_name(table)?;
    let mix = if name == "user" { Some(mix(table)?) } else { None };
    let kind = if mix.is_some() { Kind::keep_alive(1.0) } else { kind(table, name)? };
    let mut specification = FlowSpecification::new(kind);
    let directions = [("down", Direction::Down), ("up", Direction::Up), ("both", Direction::Both)];
    specification.direction = table.choice("direction", &directions)?.unwrap_or(specification.direction);
    if mix.is_some() && table.contains("direction") {
        return Err(table.invalid("direction", "not allowed for the kind \"user\", which selects its own direction"));
    }
    specification.start = table.number("start_s", SECONDS)?.map_or(specification.start, seconds);
    specification.stop = table.number("stop_s", SECONDS)?.map_or(specification.stop, seconds);
    let delay_ms = table.number("one_way_delay_ms", 0.0..=1_000.0)?;
    specification.one_way_delay_ms = delay_ms.unwrap_or(specification.one_way_delay_ms);
    specification.dscp = table.integer("dscp", 0..=63)?.unwrap_or(specification.dscp);
    let ports = 1..=65_535;
    // the flows of a UE have different ports
    let number = number as u16; // bounded by MAX_FLOWS
    let server_port = table.integer("server_port", ports.clone())?.unwrap_or(5_000 + number);
    let ue_port = table.integer("ue_port", ports)?.unwrap_or(50_000 + number);
    specification.check().map_err(|error| table.invalid_table(error))?;
    Ok(GroupFlow { flow: FlowScenario { specification, ports: (server_port, ue_port) }, mix })
}

/// Reads the mix of users.
fn mix(table: &Table<'_>) -> Result<UserMix, Error> {
    let default = UserMix::default();
    let share = |key, otherwise: f64| -> Result<f64, Error> {
        Ok(table.number(key, 0.0..=100.0)?.map_or(otherwise, |percent| percent / 100.0))
    };
    let mix = UserMix {
        idle: share("idle_percent", default.idle)?,
        web: share("web_percent", default.web)?,
        video: share("video_percent", default.video)?,
        steady: share("steady_percent", default.steady)?,
        activity: table.number("activity", 0.01..=100.0)?.unwrap_or(default.activity),
        one_way_delay_ms: table.number("one_way_delay_ms", 0.0..=1_000.0)?.unwrap_or(default.one_way_delay_ms),
        tcp: tcp(table)?,
    };
    mix.check().map_err(|error| table.invalid_table(error))?;
    Ok(mix)
}

/// Reads the name of the kind, and checks that all keys belong to it.
fn kind_name(table: &Table<'_>) -> Result<&'static str, Error> {
    let words = KINDS.map(|(name, _)| (name, name));
    let name = table.choice("kind", &words)?;
    let all = || words.map(|(name, _)| name).join(", ");
    let name = name.ok_or_else(|| table.missing("kind", format!("one of {}", all())))?;
    let keys = KINDS.iter().find(|(kind, _)| *kind == name).map_or(&[][..], |(_, keys)| *keys);
    let is_tcp = TCP_KINDS.contains(&name);
    let is_allowed = |key: &&str| COMMON.contains(key) || keys.contains(key) || is_tcp && TCP.contains(key);
    match table.present_keys().find(|key| !is_allowed(key)) {
        Some(key) => Err(table.invalid(key, format!("not allowed for the kind \"{name}\""))),
        None => Ok(name),
    }
}

fn kind(table: &Table<'_>, name: &str) -> Result<Kind, Error> {
    let rate = || -> Result<(u64, u32), Error> {
        let rate_bps = table.integer("rate_bps", ANY)?;
        let rate_bps = rate_bps.ok_or_else(|| table.missing("rate_bps", "bit/s with all headers"))?;
        Ok((rate_bps, table.integer("packet_octets", OCTETS)?.unwrap_or(1_000)))
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
                bitrate_bps: table.integer("bitrate_bps", ANY)?.unwrap_or(default.bitrate_bps),
                segment_ms: table.integer("segment_ms", ANY)?.unwrap_or(default.segment_ms),
                burst_bps: table.integer("burst_bps", ANY)?.unwrap_or(default.burst_bps),
                packet_octets: table.integer("packet_octets", OCTETS)?.unwrap_or(default.packet_octets),
                on_s: table.number("on_s", any.clone())?.unwrap_or(default.on_s),
                off_s: table.number("off_s", any)?.unwrap_or(default.off_s),
            })
        }
        "voip" => Kind::Voip { echoed: table.boolean("echoed")?.unwrap_or(false) },
        "echo" => Kind::Echo {
            interval_ms: table.number("interval_ms", 0.0..=f64::MAX)?.unwrap_or(1_000.0),
            packet_octets: table.integer("packet_octets", OCTETS)?.unwrap_or(84),
        },
        "greedy" => Kind::Greedy(tcp(table)?),
        "keep-alive" => {
            let interval_s = table.number("interval_s", any)?.unwrap_or(10.0);
            let Kind::KeepAlive { request_octets, answer_octets, .. } = Kind::keep_alive(interval_s) else {
                panic!("Kind::keep_alive is a keep-alive")
            };
            Kind::KeepAlive {
                interval_s,
                request_octets: table.integer("request_octets", OCTETS)?.unwrap_or(request_octets),
                answer_octets: table.integer("answer_octets", OCTETS)?.unwrap_or(answer_octets),
            }
        }
        "web" => {
            let default = Web::default();
            Kind::Web(Web {
                reading_s: table.number("reading_s", any)?.unwrap_or(default.reading_s),
                page_least_octets: table.integer("page_least_octets", ANY)?.unwrap_or(default.page_least_octets),
                page_more_octets: table.integer("page_more_octets", ANY)?.unwrap_or(default.page_more_octets),
                request_permille: table.integer("request_permille", OCTETS)?.unwrap_or(default.request_permille),
                tcp: tcp(table)?,
            })
        }
        "player" => {
            let default = VideoPlayer::default();
            Kind::VideoPlayer(VideoPlayer {
                bitrate_bps: table.integer("bitrate_bps", ANY)?.unwrap_or(default.bitrate_bps),
                segment_ms: table.integer("segment_ms", ANY)?.unwrap_or(default.segment_ms),
                ahead: table.integer("ahead_segments", OCTETS)?.unwrap_or(default.ahead),
                on_s: table.number("on_s", any.clone())?.unwrap_or(default.on_s),
                off_s: table.number("off_s", any)?.unwrap_or(default.off_s),
                request_octets: table.integer("request_octets", OCTETS)?.unwrap_or(default.request_octets),
                tcp: tcp(table)?,
            })
        }
        _ => {
            let octets = table.integer("size_octets", ANY)?;
            let octets =
                octets.ok_or_else(|| table.missing("size_octets", "the octets to transfer, without headers"))?;
            Kind::Transfer { octets, tcp: tcp(table)? }
        }
    })
}

fn tcp(table: &Table<'_>) -> Result<Tcp, Error> {
    let default = Tcp::default();
    let is_bbr = table.choice("congestion_control", &[("cubic", false), ("bbr", true)])?.unwrap_or(false);
    let slow_start = table.choice("slow_start", &[("hystart", SlowStart::HyStart), ("plain", SlowStart::Plain)])?;
    let control = match (is_bbr, slow_start) {
        (true, Some(_)) => return Err(table.invalid("slow_start", "requires the congestion control \"cubic\"")),
        (true, None) => CongestionControl::Bbr,
        (false, slow_start) => CongestionControl::Cubic { slow_start: slow_start.unwrap_or_default() },
    };
    Ok(Tcp {
        control,
        segment_octets: table.integer("segment_octets", OCTETS)?.unwrap_or(default.segment_octets),
        receive_window_octets: table.integer("receive_window_octets", ANY)?.unwrap_or(default.receive_window_octets),
        initial_window_segments: table
            .integer("initial_window_segments", OCTETS)?
            .unwrap_or(default.initial_window_segments),
        ecn: table.boolean("ecn")?.unwrap_or(default.ecn),
        delayed_ack_ms: table.integer("delayed_ack_ms", ANY)?.unwrap_or(default.delayed_ack_ms),
        rto_min_ms: table.integer("rto_min_ms", ANY)?.unwrap_or(default.rto_min_ms),
    })
}

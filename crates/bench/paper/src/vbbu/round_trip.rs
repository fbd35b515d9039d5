//! Figure 6: round trips over the backhaul, with and without interrupt affinity.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use cpu::Selection;
use cpu::latency::Latency;
use socket2::{Domain, Protocol, Socket, Type};

use super::host::{HostTime, disturbances};
use super::load::Scenario;
use super::policy::{Choice, Held};
use super::rig::{ROUNDS, Rig, online, undisturbed};
use super::unit::UnitProcess;
use super::{setting, verdict};
use crate::statistics::quantile;
use crate::table::{Cell, Table};
use crate::{Context, Figure, FigureReport, Statement};
use plot::{Panel, Plot, Series, X};

/// The other end of the backhaul of unit 0.
const CORE: Ipv4Addr = Ipv4Addr::new(10, 46, 0, 2);
const PERIOD: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_millis(200);
/// After so many round trips, stalls of the host are counted: every 100 ms.
const POLL_TRIPS: u16 = 10;
/// Echo request and reply (RFC 792).
const REQUEST: u8 = 8;
const REPLY: u8 = 0;
/// Values outside this many times the interquartile range are outliers, as in the paper.
const WHISKER: f64 = 1.5;

/// The scenarios of the figure, by the paper's names.
const NAMES: [&str; 4] = ["noA", "IA", "noA-BT", "IA-BT"];

/// An echo request with the checksum of RFC 1071.
fn request(number: u16) -> [u8; 16] {
    let mut message = [0; 16];
    message[0] = REQUEST;
    message[4..6].copy_from_slice(&identifier().to_be_bytes());
    message[6..8].copy_from_slice(&number.to_be_bytes());
    let mut sum: u32 = message.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    message[2..4].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    message
}

/// That of this process.
fn identifier() -> u16 {
    (std::process::id() & 0xffff) as u16
}

/// Whether a packet of IPv4 is the reply to a request.
fn is_reply(packet: &[u8], number: u16) -> bool {
    let Some(first) = packet.first() else { return false };
    let Some(message) = packet.get(usize::from(first & 0xf) * 4..) else { return false };
    let id = identifier().to_be_bytes();
    message.first() == Some(&REPLY)
        && message.get(4..6) == Some(&id)
        && message.get(6..8) == Some(&number.to_be_bytes())
}

/// The round trips of some seconds, in ms. Lost ones are left out. Looks for stalls of the host meanwhile.
fn round_trips(seconds: f64, stalls: &mut Latency) -> anyhow::Result<Vec<f64>> {
    let mut socket =
        Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4)).context("cannot open a socket for ICMP")?;
    socket.connect(&SocketAddr::from((CORE, 0)).into())?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let begun = Instant::now();
    let mut found = Vec::new();
    for number in 0.. {
        let sent = Instant::now();
        socket.write_all(&request(number)).context("cannot send an echo request to the core")?;
        let mut buffer = [0; 256];
        while sent.elapsed() < PATIENCE {
            let Ok(length) = socket.read(&mut buffer) else { break };
            if is_reply(&buffer[..length], number) {
                found.push(sent.elapsed().as_secs_f64() * 1e3);
                break;
            }
        }
        if begun.elapsed().as_secs_f64() >= seconds {
            break;
        }
        if number.is_multiple_of(POLL_TRIPS) {
            stalls.poll()?;
        }
        sleep(PERIOD.saturating_sub(sent.elapsed()));
    }
    Ok(found)
}

/// What the paper reads from a box plot.
#[derive(Clone, Copy, Debug)]
struct Spread {
    median: f64,
    range: f64,
    outliers_percent: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Option<Spread> {
        let [first, median, third] = [0.25, 0.5, 0.75].map(|share| quantile(values, share));
        let (first, median, third) = (first?, median?, third?);
        let range = third - first;
        let is_outside = |value: &&f64| **value < first - WHISKER * range || **value > third + WHISKER * range;
        let outliers = values.iter().filter(is_outside).count();
        Some(Spread { median, range, outliers_percent: 100.0 * outliers as f64 / values.len() as f64 })
    }
}

/// The round trips of a block, and what has disturbed it.
fn block(rig: &Rig, scenario: Scenario, choice: Choice) -> anyhow::Result<(Vec<f64>, Vec<String>)> {
    let unit = UnitProcess::start(&rig.unit, &["--network", "veth"])?;
    let load = scenario.start()?;
    let held = Held::apply(choice, &unit.tids(), &rig.cpu)?;
    sleep(Duration::from_millis(500));
    let groups: Vec<u32> = [unit.group()].into_iter().chain(load.group()).collect();
    let (before, begun) = (HostTime::read(&groups), Instant::now());
    let selection = Selection { names: Vec::new(), pids: unit.tids() };
    let (mut stalls, _) = Latency::start(selection, None)?;
    let found = round_trips(rig.seconds, &mut stalls)?;
    let foreign = HostTime::read(&groups).foreign_percent(&before, begun.elapsed().as_secs_f64());
    let faults = disturbances(&stalls.report()?, foreign);
    drop((held, load));
    Ok((found, faults))
}

pub fn fig6(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let rig = Rig::start(context)?;
    let points = [
        (Scenario::Idle, Choice::NONE),
        (Scenario::Idle, Choice::IA),
        (Scenario::Kernel, Choice::NONE),
        (Scenario::Kernel, Choice::IA),
    ];
    let mut values: [Vec<f64>; 4] = Default::default();
    let mut disturbed = Vec::new();
    let mut repeats = points.len();
    for _ in 0..ROUNDS {
        for (place, (scenario, choice)) in points.into_iter().enumerate() {
            let measured =
                undisturbed(&mut repeats, || block(&rig, scenario, choice), |(_, faults)| !faults.is_empty());
            let (found, faults) = measured.context(NAMES[place])?;
            values[place].extend(found);
            disturbed.extend(faults.into_iter().map(|fault| format!("{}: {fault}", NAMES[place])));
        }
    }
    let mut table = Table::new(["setting", "round_trips", "median_ms", "iqr_ms", "outliers_percent"]);
    let mut samples = Table::new(["setting", "rtt_ms"]);
    for (name, values) in NAMES.into_iter().zip(&values) {
        let spread = Spread::of(values);
        let number = |of: fn(Spread) -> f64| Cell::from(spread.map(of));
        table.row([
            name.into(),
            (values.len() as f64).into(),
            number(|spread| spread.median),
            number(|spread| spread.range),
            number(|spread| spread.outliers_percent),
        ]);
        values.iter().for_each(|value| samples.row([name.into(), (*value).into()]));
    }
    let spreads: Option<Vec<Spread>> = values.iter().map(|values| Spread::of(values)).collect();
    let statements = spreads.map_or_else(Vec::new, |all| statements([all[0], all[1], all[2], all[3]]));
    let series = NAMES.into_iter().zip(values).map(|(name, values)| Series::cdf(name, values)).collect();
    let x = X::Numbers("round trip, ms".into());
    let panel = Panel { x, y_label: "share of the round trips".into(), series, marks: Vec::new() };
    let mut setting = setting();
    setting.differs.push("a round trip every 10 ms, not every second, from the host to the core's namespace, whose replies the host receives");
    let mut notes = vec![format!("CPUs of this host: {}", online())];
    notes.extend(disturbed.first().map(|first| {
        format!(
            "{} disturbances, such as: {first}; the claim is undecided, whatever the statements say",
            disturbed.len()
        )
    }));
    Ok(FigureReport {
        figure: Figure::VbbuFig6,
        setting,
        plot: Plot { title: "Paper 004, Figure 6: round trips over the backhaul".into(), panels: vec![panel] },
        claim: "interrupt affinity halves the spread of round trips and reduces what background traffic adds; polling has fewer outliers",
        judged: "by medians, interquartile ranges and outliers beyond 1.5 of them; distributions in place of boxes",
        holds: verdict(disturbed.is_empty(), &statements),
        statements,
        values: table,
        summary: None,
        samples: Some(samples),
        course: None,
        notes,
    })
}

fn statements([none, ia, none_bt, ia_bt]: [Spread; 4]) -> Vec<Statement> {
    let grown = |from: Spread, to: Spread| 100.0 * (to.median / from.median - 1.0);
    let pair = |one: f64, other: f64| format!("{one:.4} and {other:.4} ms");
    vec![
        Statement::new(
            "IA has half the interquartile range of noA",
            pair(none.range, ia.range),
            ia.range <= none.range / 2.0,
        ),
        Statement::new(
            "IA-BT has half the interquartile range of noA-BT",
            pair(none_bt.range, ia_bt.range),
            ia_bt.range <= none_bt.range / 2.0,
        ),
        Statement::new(
            "background traffic adds 68 % to the round trip without IA (at least)",
            format!("{:+.0} %", grown(none, none_bt)),
            grown(none, none_bt) >= 68.0,
        ),
        Statement::new(
            "background traffic adds 28 % to the round trip with IA (at most)",
            format!("{:+.0} %", grown(ia, ia_bt)),
            grown(ia, ia_bt) <= 28.0,
        ),
        Statement::new(
            "fewer outliers with background traffic, without IA",
            format!("{:.1} and {:.1} %", none.outliers_percent, none_bt.outliers_percent),
            none_bt.outliers_percent < none.outliers_percent,
        ),
        Statement::new(
            "fewer outliers with background traffic, with IA",
            format!("{:.1} and {:.1} %", ia.outliers_percent, ia_bt.outliers_percent),
            ia_bt.outliers_percent < ia.outliers_percent,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_are_beyond_the_whiskers() {
        let values: Vec<f64> = (0..100).map(f64::from).chain([1000.0]).collect();
        let spread = Spread::of(&values).unwrap();
        assert_eq!((spread.median, spread.range), (50.0, 50.0));
        assert!((spread.outliers_percent - 100.0 / 101.0).abs() < 1e-9);
        assert!(Spread::of(&[]).is_none());
    }

    #[test]
    fn reply_belongs_to_its_request() {
        let mut packet = vec![0x45; 20];
        packet.extend(request(7));
        assert!(!is_reply(&packet, 7), "a request");
        packet[20] = REPLY;
        assert!(is_reply(&packet, 7) && !is_reply(&packet, 8));
        assert!(!is_reply(&packet[..26], 7) && !is_reply(&[], 7));
        let sum: u32 = request(7).chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }
}

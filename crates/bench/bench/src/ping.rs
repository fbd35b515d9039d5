//! `ferric bench ping`: the round trip of a ping from a controller's internal app to a node, for each combination of the
//! encodings of E2AP and of the service model, compared with a bare echo over the same kind of link (FlexRIC paper, Fig. 7).
//!
//! Controller, node and echo are threads of this process that wait in epoll, over each kind of link of the host. Both ends are
//! on one processor, then on two: on one, a round trip is the computation of both ends; on two, the wake-up of the other
//! processor adds to it. Variants are interleaved, and medians of all round trips compared.

use std::fmt;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use e2ap::{Codec, GlobalE2NodeId, GnbId, PlmnIdentity};
use e2sm::Wire;
use ferric::agent::{AgentLoop, AgentLoopConfig};
use ferric::link::{Class, Events, Interest, Link, Listener, Poll, Scratch, State, StreamId};
use ferric::{Endpoint, StopHandle};
use hdrhistogram::Histogram;
use ran_functions::hw::HwFunction;
use serde::Serialize;

use crate::latency_histogram;
use crate::links::{LinkKind, Links};
use crate::pinger::PingConfig;
use crate::placement::Placement;

const PATIENCE: Duration = Duration::from_secs(30);
const SIZES: [usize; 2] = [100, 1500];

/// Round trips of a payload's size.
#[derive(Clone, Debug, Serialize)]
pub struct PingRow {
    /// The kind of link: `tcp`, `unix`, `shm`, `sctp`, `tls`.
    pub link: &'static str,
    /// Processors that the two ends have: one for both, or two.
    pub processors: usize,
    /// Octets of the payload.
    pub payload_bytes: usize,
    /// E2AP's encoding; none of the echo.
    pub e2ap: Option<&'static str>,
    /// The service model's encoding; none of the echo.
    pub e2sm: Option<&'static str>,
    /// Round trips.
    pub pings: usize,
    /// The median round trip.
    pub p50_us: f64,
    /// Divided by the echo's.
    pub ratio: f64,
}

/// All of `ferric bench ping`.
#[derive(Clone, Debug, Serialize)]
pub struct PingReport {
    /// Of each link, number of processors and size the echo, then each combination.
    pub rows: Vec<PingRow>,
    /// Links that this host does not have.
    pub missing: Vec<&'static str>,
}

impl fmt::Display for PingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Round trip of a ping, compared with a bare echo of its payload over the same kind of link; medians. On all links"
        )?;
        writeln!(
            f,
            "both ends sleep in epoll when there is nothing to read; neither spins, not even on shared memory. Both are on one"
        )?;
        writeln!(f, "processor, or on two, where one has to wake the other.")?;
        writeln!(
            f,
            "  {:>5} {:>10} {:>6} {:>6} {:>6} {:>8} {:>9} {:>6}",
            "link", "processors", "octets", "E2AP", "E2SM", "pings", "p50 us", "ratio"
        )?;
        for row in &self.rows {
            let (e2ap, e2sm) = (row.e2ap.unwrap_or("echo"), row.e2sm.unwrap_or(""));
            let PingRow { link, processors, payload_bytes, pings, p50_us, ratio, .. } = row;
            writeln!(
                f,
                "  {link:>5} {processors:>10} {payload_bytes:>6} {e2ap:>6} {e2sm:>6} {pings:>8} {p50_us:>9.1} {ratio:>6.2}"
            )?;
        }
        self.missing.iter().try_for_each(|link| writeln!(f, "  {link:>5} not supported by this host"))
    }
}

/// Measures `rounds` times `pings` round trips of each combination.
///
/// # Errors
/// If a link cannot be established, or an answer does not arrive.
pub fn ping(rounds: usize, pings: usize) -> anyhow::Result<PingReport> {
    // a separate thread, which can be pinned to a processor
    join(thread::spawn(move || measure(rounds, pings)))?
}

fn measure(rounds: usize, pings: usize) -> anyhow::Result<PingReport> {
    let links = Links::supported()?;
    let placements = Placement::all()?;
    let mut rows = Vec::new();
    for link in &links.kinds {
        for placement in &placements {
            placement.near()?;
            for size in SIZES {
                rows.extend(measure_link(link, *placement, size, rounds, pings).with_context(|| link.name)?);
            }
        }
    }
    Ok(PingReport { rows, missing: links.missing.clone() })
}

fn measure_link(
    link: &LinkKind,
    placement: Placement,
    size: usize,
    rounds: usize,
    pings: usize,
) -> anyhow::Result<Vec<PingRow>> {
    let mut echo = latency_histogram();
    let mut combinations = Vec::new();
    for codec in [Codec::Per, Codec::FLAT] {
        for wire in [Wire::Per, Wire::Flat] {
            combinations.push((codec, wire, latency_histogram()));
        }
    }
    for _ in 0..rounds {
        echoes(link, placement, size, pings)?.into_iter().for_each(|ns| echo += ns);
        for (codec, wire, times) in &mut combinations {
            round_trips(link, placement, *codec, *wire, size, pings)?.into_iter().for_each(|ns| *times += ns);
        }
    }
    let median_us = |times: &Histogram<u64>| times.value_at_quantile(0.5) as f64 / 1e3;
    let echo_us = median_us(&echo);
    let row = |e2ap, e2sm, times: Histogram<u64>| {
        let (link, p50_us) = (link.name, median_us(&times));
        let (processors, ratio) = (placement.processors(), p50_us / echo_us);
        PingRow { link, processors, payload_bytes: size, e2ap, e2sm, pings: times.len() as usize, p50_us, ratio }
    };
    let mut rows = vec![row(None, None, echo)];
    rows.extend(combinations.into_iter().map(|(codec, wire, times)| row(Some(codec.name()), Some(wire.name()), times)));
    Ok(rows)
}

/// A link and its poll.
struct End {
    link: Link,
    poll: Poll,
    events: Events,
    scratch: Scratch,
}

impl End {
    fn new(link: Link) -> anyhow::Result<Self> {
        let poll = Poll::new()?;
        poll.add(&link, 0, Interest::READ)?;
        Ok(End { link, poll, events: Events::new(), scratch: Scratch::new() })
    }

    fn send(&mut self, octets: &[u8]) -> anyhow::Result<()> {
        self.link.send(StreamId(0), &[octets], Class::Keep)?;
        while self.link.flush()?.waiting {
            thread::yield_now();
        }
        Ok(())
    }

    /// Waits for the next frame.
    fn next(&mut self, into: &mut Vec<u8>) -> anyhow::Result<()> {
        into.clear();
        let mut is_received = false;
        while !is_received {
            self.poll.wait(&mut self.events, Some(PATIENCE))?;
            self.link.receive(&mut self.scratch, usize::MAX, &mut |_, pdu| {
                into.extend_from_slice(pdu);
                is_received = true;
            })?;
        }
        Ok(())
    }
}

/// Waits until a link is established.
fn establish(link: &mut Link) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while link.finish_connect()? != State::Established {
        if Instant::now() > deadline {
            bail!("the link is not established in time");
        }
        thread::yield_now();
    }
    Ok(())
}

/// Round trips of a bare echo, in nanoseconds.
fn echoes(link: &LinkKind, placement: Placement, size: usize, pings: usize) -> anyhow::Result<Vec<u64>> {
    let mut listener = Listener::bind(&link.address, &link.config)?;
    let address = listener.local_address().clone();
    let (sender, established) = mpsc::channel();
    let echo = thread::spawn(move || -> anyhow::Result<()> {
        placement.far()?;
        let mut link = loop {
            if let Some(link) = listener.accept()? {
                break link;
            }
            thread::yield_now();
        };
        establish(&mut link)?;
        let (mut far, mut frame) = (End::new(link)?, Vec::new());
        // the receiver exists, unless the measurement has failed
        let _ = sender.send(());
        // until the other end closes
        while far.next(&mut frame).is_ok() {
            far.send(&frame)?;
        }
        Ok(())
    });
    let mut link = Link::connect(&address, &link.config)?;
    establish(&mut link)?;
    let mut near = End::new(link)?;
    established.recv_timeout(PATIENCE)?;
    let (payload, mut frame, mut times) = (vec![7; size], Vec::new(), Vec::with_capacity(pings));
    for _ in 0..pings {
        let start = Instant::now();
        near.send(&payload)?;
        near.next(&mut frame)?;
        times.push(elapsed_ns(start));
    }
    drop(near);
    join(echo)??;
    Ok(times)
}

fn elapsed_ns(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn join<T>(thread: JoinHandle<T>) -> anyhow::Result<T> {
    thread.join().map_err(|_| anyhow!("a thread of the measurement panicked"))
}

/// Round trips of pings between a controller and a node, in nanoseconds.
fn round_trips(
    link: &LinkKind,
    placement: Placement,
    codec: Codec,
    wire: Wire,
    size: usize,
    pings: usize,
) -> anyhow::Result<Vec<u64>> {
    let endpoint = Endpoint::new(link.address.clone(), codec);
    let config = link.config.clone();
    let pinging =
        PingConfig { endpoint, link: config.clone(), wire, octets: size, count: pings, period: None }.start()?;
    let endpoint = pinging.endpoint.clone();
    let (sender, receiver): (Sender<StopHandle>, _) = mpsc::channel();
    let node = thread::spawn(move || -> anyhow::Result<()> {
        placement.far()?;
        let mut agents = AgentLoop::new(AgentLoopConfig { link: config, ..AgentLoopConfig::default() })?;
        let id = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(1, 28));
        agents.add(id, endpoint, vec![Box::new(HwFunction::with_wire(wire))]);
        // the receiver waits for it
        let _ = sender.send(agents.stop_handle());
        Ok(agents.run()?)
    });
    let node_stop = receiver.recv_timeout(PATIENCE)?;
    let times = pinging.times_ns(PATIENCE);
    node_stop.stop();
    join(node)??;
    pinging.end()?;
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_combinations_are_measured() {
        let report = ping(1, 3).unwrap();
        // not every kernel has SCTP
        let placements = Placement::all().unwrap().len();
        assert_eq!(report.rows.len(), (5 - report.missing.len()) * placements * 2 * 5);
        assert!(report.missing.is_empty() || report.missing == ["sctp"]);
        assert!(report.rows.iter().all(|row| row.pings == 3 && row.p50_us > 0.0 && row.ratio > 0.0), "{report}");
    }
}

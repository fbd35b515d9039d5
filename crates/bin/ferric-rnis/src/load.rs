//! The load generator: synthetic events in the place of a RAN, for measurements.

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use clap::Args;
use ids::PlmnIdentity;
use rnis::{
    AssociateId, AssociateIdType, Bearer, BearerQos, Cell, Change, Criteria, Event, HandoverStatus, NewSubscription,
    Quantities, Service, Target, Topic, UeIds,
};

use crate::input::{InputArgs, Listeners};

/// Events per second.
pub const RATES: RangeInclusive<i64> = 1..=100_000;
/// An event that is published so much later than planned has its planned time: what delays the generator delays the events.
const LATE: Duration = Duration::from_millis(1);
/// How long one wait lasts: so often the end is looked at.
const TICK: Duration = Duration::from_millis(20);
/// The time between two calls of [`Service::expire`].
const EXPIRY_PERIOD: Duration = Duration::from_millis(100);
/// UEs and cells that the events are of.
const UES: u32 = 8;

/// What a line on standard input asks the generator for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Start,
    Stop,
    /// Events per second from now on.
    Rate(u32),
}

/// Events without a RAN.
#[derive(Clone, Copy, Debug, Args)]
pub struct LoadArgs {
    /// Generate so many synthetic events per second instead of collecting those of a RIC, for measurements
    ///
    /// Each line on standard input is answered with the counters in JSON; the line `start` begins,
    /// the line `stop` ends, the line `rate N` changes the rate. The program ends with its input.
    #[arg(long, value_name = "RATE", value_parser = clap::value_parser!(u32).range(RATES))]
    load: Option<u32>,
    /// With --load: add so many subscriptions that no event meets
    #[arg(long, value_name = "N", default_value_t = 0, requires = "load")]
    load_idle: u32,
    /// With --load: generate events of so many types, in turn: of cell changes, establishments, modifications and releases of
    /// bearers, measurements of E-UTRA and of NR, timing advances, carrier aggregation
    #[arg(long, value_name = "N", default_value_t = 8, requires = "load", value_parser = clap::value_parser!(u32).range(1..=8))]
    load_types: u32,
}

impl LoadArgs {
    /// Obeys standard input, and generates events until the program ends, as far as that is asked for.
    ///
    /// # Errors
    /// If the subscriptions are refused, or the system refuses a thread.
    pub fn run(self, service: &Arc<Service>, stop: &Arc<AtomicBool>, input: &InputArgs) -> anyhow::Result<bool> {
        let Some(rate) = self.load else {
            if input.is_supervised() {
                Listeners { service: Arc::clone(service), stop: Arc::clone(stop), load: None }.start()?;
            }
            return Ok(false);
        };
        for number in 0..self.load_idle {
            let plmn = "99999".parse().context("a PLMN of digits")?;
            let criteria = Criteria { cells: vec![Cell::nr(plmn, number.into())], ..Criteria::all(Topic::CellChange) };
            let target = Target::callback("http://127.0.0.1:1/", "}")?;
            service.subscribe(|_| NewSubscription::new("load", criteria, target))?;
        }
        let published = Arc::new(AtomicU64::new(0));
        let (commands, receiver) = channel();
        let load = Some((commands, Arc::clone(&published)));
        Listeners { service: Arc::clone(service), stop: Arc::clone(stop), load }.start()?;
        generate(rate, self.load_types, service, stop, &receiver, &published);
        Ok(true)
    }
}

/// Publishes events at planned instants: a late one is followed by the next without a pause, so that the rate holds. Meanwhile
/// subscriptions expire, and changes of the tenants come into force.
fn generate(
    rate: u32,
    types: u32,
    service: &Service,
    stop: &AtomicBool,
    commands: &Receiver<Command>,
    published: &AtomicU64,
) {
    let Ok(plmn) = "00101".parse() else { return };
    let mut period = Duration::from_secs(1) / rate;
    let mut planned: Option<Instant> = None;
    let mut number = 0;
    let mut expired: Option<Instant> = None;
    while !stop.load(Ordering::Acquire) {
        let now = Instant::now();
        if expired.is_none_or(|at| now.saturating_duration_since(at) >= EXPIRY_PERIOD) {
            service.expire();
            expired = Some(now);
        }
        let pause = planned.map_or(TICK, |planned| planned.saturating_duration_since(now).min(TICK));
        // a channel without commands wakes late: short pauses are slept
        let command = match planned {
            Some(_) => commands.try_recv().ok(),
            None => match commands.recv_timeout(pause) {
                Ok(command) => Some(command),
                Err(RecvTimeoutError::Timeout) => None,
                // the input has ended, and nothing can begin any more
                Err(RecvTimeoutError::Disconnected) => return,
            },
        };
        if let Some(command) = command {
            match command {
                Command::Start => planned = Some(Instant::now()),
                Command::Stop => planned = None,
                Command::Rate(rate) => {
                    period = Duration::from_secs(1) / rate;
                    planned = planned.map(|_| Instant::now());
                }
            }
            // the command was waited for: the next pause counts from now
            continue;
        }
        let Some(instant) = &mut planned else { continue };
        if *instant > now {
            thread::sleep(pause);
            continue;
        }
        let late = now.saturating_duration_since(*instant);
        *instant += period;
        number += 1;
        service.publish(event(number, types, plmn, if late > LATE { late } else { Duration::ZERO }));
        published.store(u64::from(number), Ordering::Release);
    }
}

/// An event of one of the first types, in turn, of one of a few UEs, that has happened so long ago. The type of bearers towards the
/// core is not among them.
fn event(number: u32, types: u32, plmn: PlmnIdentity, ago: Duration) -> Event {
    let ue = number / types % UES;
    let cell = |number: u32| Cell::eutra(plmn, 0x19B_0000 + number);
    let bearer = Bearer { erab_id: 5, qos: Some(BearerQos { qci: 9, rates_bps: None }) };
    let quantities = Quantities { rsrp: Some(60), rsrq: Some(20), sinr: None };
    let change = match number % types {
        0 => Change::CellChange { targets: vec![cell(ue + 1)], status: HandoverStatus::Completed },
        1 => Change::BearerEstablished(bearer),
        2 => Change::BearerModified(bearer),
        3 => Change::BearerReleased(bearer),
        4 => Change::Measured { trigger: 1, serving: quantities, neighbours: Vec::new(), nr_neighbours: Vec::new() },
        5 => {
            let serving = vec![rnis::NrCellMeasurement { cell: cell(ue), quantities }];
            Change::NrMeasured { trigger: 1, serving, neighbours: Vec::new(), eutra_neighbours: Vec::new() }
        }
        6 => Change::TimingAdvance { value: number % 1283 },
        _ => Change::CarrierAggregation { added: vec![cell(ue + 1)], removed: Vec::new(), measured: Vec::new() },
    };
    let address = Ipv4Addr::from(0x0A2D_0000 + ue + 1).to_string();
    let associate_ids = vec![AssociateId { kind: AssociateIdType::UeIpv4, value: address }];
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let received_ns = since.saturating_sub(ago).as_nanos() as u64;
    Event { received_ns, cell: cell(ue), ue: UeIds { associate_ids, temporary: None, slices: Vec::new() }, change }
}

//! A tenant far beyond its quota beside another one, in this process.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use rnis::{
    Cell, Change, Criteria, Delivery, DeliveryConfig, Embedded, Event, HandoverStatus, NewSubscription, Service,
    Target, TenantShare, Topic, UeIds,
};
use serde::Serialize;

use super::receivers::Receivers;

/// Subscriptions of each tenant, each with a server of its own.
const SUBSCRIPTIONS: usize = 10;
/// Events per second for the tenant that keeps to its quota.
const QUIET_RATE: u32 = 100;
/// Notifications per second that the other one may have.
const QUOTA: u32 = 50;
/// Events per second for it: 100 times its quota.
const LOUD_RATE: u32 = 100 * QUOTA / SUBSCRIPTIONS as u32;
/// Rounds, in which the quiet tenant is alone first.
const ROUNDS: u32 = 5;

/// The latency of a tenant alone, and beside one that has 100 times its quota: medians of rounds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Isolation {
    /// The quota of the loud tenant, in notifications per second.
    pub quota_per_s: u32,
    /// What its subscriptions were to receive.
    pub offered_per_s: f64,
    /// What they did receive.
    pub sent_per_s: f64,
    /// The 99th percentile of the quiet tenant alone.
    pub alone_p99_ms: f64,
    /// The same beside the loud one.
    pub beside_p99_ms: f64,
    /// The second divided by the first.
    pub ratio: f64,
}

/// Measures for `time`.
pub fn measure(time: Duration) -> anyhow::Result<Isolation> {
    let plmn = "00101".parse().ok().context("a PLMN")?;
    let cells = [Cell::nr(plmn, 1), Cell::nr(plmn, 2)];
    let delivery = Delivery::start(DeliveryConfig::default())?;
    delivery.set_share("loud", TenantShare { weight: 1, quota_per_s: Some(QUOTA) });
    let service = Service::new(delivery, |sink| anyhow::Ok(Box::new(Embedded::new(sink)) as _))?;
    let tenants = [Receivers::start(SUBSCRIPTIONS)?, Receivers::start(SUBSCRIPTIONS)?];
    for ((receivers, cell), tenant) in tenants.iter().zip(cells).zip(["quiet", "loud"]) {
        for address in &receivers.addresses {
            let criteria = Criteria { cells: vec![cell], ..Criteria::all(Topic::CellChange) };
            let target = Target::callback(&format!("http://{address}/"), "}")?.of_tenant(tenant);
            service.subscribe(|_| NewSubscription::new(tenant, criteria, target))?;
        }
    }
    let [quiet, loud] = &tenants;
    let (mut alone, mut beside, mut offered, mut sent) = (Vec::new(), Vec::new(), 0, 0);
    let mut loud_time = Duration::ZERO;
    for round in 0..2 * ROUNDS {
        let is_loud = round % 2 == 1;
        quiet.take();
        loud.take();
        let begun = Instant::now();
        let events = publish(&service, cells, is_loud, time / (2 * ROUNDS));
        let received = quiet.take().latencies_ns;
        ensure!(!received.is_empty(), "no notification has arrived");
        let p99_ms = received.value_at_quantile(0.99) as f64 / 1e6;
        if is_loud {
            beside.push(p99_ms);
            offered += events * SUBSCRIPTIONS as u64;
            sent += loud.take().latencies_ns.len();
            loud_time += begun.elapsed();
        } else {
            alone.push(p99_ms);
        }
    }
    let (alone_p99_ms, beside_p99_ms) = (crate::median(alone), crate::median(beside));
    let seconds = loud_time.as_secs_f64();
    Ok(Isolation {
        quota_per_s: QUOTA,
        offered_per_s: offered as f64 / seconds,
        sent_per_s: sent as f64 / seconds,
        alone_p99_ms,
        beside_p99_ms,
        ratio: beside_p99_ms / alone_p99_ms,
    })
}

/// Publishes events at planned instants. Returns how many were for the loud tenant.
fn publish(service: &Service, cells: [Cell; 2], is_loud: bool, time: Duration) -> u64 {
    let begun = Instant::now();
    let mut next = [begun, begun];
    let periods = [QUIET_RATE, LOUD_RATE].map(|rate| Duration::from_secs(1) / rate);
    let mut counts = [0, 0];
    while begun.elapsed() < time {
        for tenant in 0..=usize::from(is_loud) {
            if next[tenant] <= Instant::now() {
                next[tenant] += periods[tenant];
                counts[tenant] += 1;
                service.publish(event(cells[tenant]));
            }
        }
        let wake = if is_loud { next[0].min(next[1]) } else { next[0] };
        thread::sleep(wake.saturating_duration_since(Instant::now()));
    }
    counts[1]
}

fn event(cell: Cell) -> Event {
    let received_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let change = Change::CellChange { targets: vec![cell], status: HandoverStatus::Completed };
    Event { received_ns, cell, ue: UeIds::default(), change }
}

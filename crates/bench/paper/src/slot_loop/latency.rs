//! `loop-latency`: the time from the beginning of a slot at the base station until a decision that follows from its report has been applied
//! there, by the kind of link, in real time.

use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use ferric::StopHandle;
use ran::{Ran, RanConfig};
use ran_functions::llc::{LlcConfig, SlotEvent, SlotObserver};

use super::links::LoopLink;
use super::{Scheduler, scenario, seconds_of, thread_seconds};
use crate::statistics::quantile;
use crate::table::{Cell, Table};
use crate::testbed::{PATIENCE, Part, start_ric_with};
use crate::{Context, Figure, FigureReport, Setting, Statement};
use plot::{Panel, Plot, X};

/// The slots by which a decision is ahead: the next one.
const DELAY_SLOTS: u64 = 1;
/// Seconds of the measurement per second of a point.
const LENGTH: f64 = 2.5;
/// The time before it, in which the parts connect and the caches fill.
const LEAD: Duration = Duration::from_millis(500);
/// The seed of the scenario.
const SEED: u64 = 1;
/// What the field calls real time: EdgeRIC's loop, and that of dApps.
const EDGERIC_US: f64 = 1000.0;
const DAPPS_US: f64 = 450.0;
/// What we want of shared memory with spinning, and of TCP.
const SHM_US: f64 = 250.0;
const TCP_US: f64 = 1000.0;

/// What an observer has seen, with the time.
type Seen = Vec<(Instant, SlotEvent)>;

/// The measurement of a kind of link.
struct Loop {
    name: &'static str,
    /// From a report to the decision that follows it, in microseconds.
    latencies_us: Vec<f64>,
    /// Reports, and controls with decisions that came too late or were refused.
    reports: usize,
    refused: usize,
    /// The share of a core that the threads take, in percent.
    ran_percent: f64,
    xapp_percent: f64,
    process_percent: f64,
}

/// The times from the report of a slot until the decision about the slot that follows it.
fn latencies_us(seen: &Seen) -> Vec<f64> {
    let (mut reported, mut latencies) = (Vec::<(u64, Instant)>::new(), Vec::new());
    for (at, event) in seen {
        match event {
            SlotEvent::Reported(slot) => reported.push((*slot, *at)),
            SlotEvent::Decided(slot) => {
                let of_report = |(reported, _): &&(u64, Instant)| reported + DELAY_SLOTS == *slot;
                if let Some((_, since)) = reported.iter().rev().take(100).find(of_report) {
                    latencies.push(at.duration_since(*since).as_secs_f64() * 1e6);
                }
            }
            SlotEvent::Refused => {}
        }
    }
    latencies
}

/// Seconds of a processor that the threads of this process have taken.
fn process_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks.map(|task| seconds_of(&task.path())).sum()
}

fn measure(link: &LoopLink, seconds: f64) -> anyhow::Result<Loop> {
    let [e2, xapp] = link.addresses.clone();
    let config = link.config.clone();
    let (ric, addresses) = start_ric_with(move |ric| {
        ric.server.e2 = vec![e2.into()];
        ric.server.xapp = Some(xapp);
        ric.server.link = config;
    })?;
    let seen = Arc::new(Mutex::new(Seen::with_capacity(1 << 16)));
    let observe = {
        let seen = Arc::clone(&seen);
        move |event| seen.lock().unwrap_or_else(PoisonError::into_inner).push((Instant::now(), event))
    };
    let llc = LlcConfig { observer: Some(SlotObserver::new(observe)), ..LlcConfig::default() };
    let config = RanConfig { rics: vec![addresses.e2.clone()], scenario: scenario(SEED)?, llc, ..RanConfig::default() };
    let (ran, (processor, up)) = Part::start("RAN", move |sender| {
        let mut ran = Ran::new(config)?;
        let (of_thread, processor) = mpsc::channel();
        let (connects, up) = mpsc::channel();
        let stop: StopHandle = ran.stop_handle();
        let _ = sender.send((stop.clone(), (processor, up)));
        let mut is_up = false;
        while !stop.is_stopped() {
            ran.poll(None)?;
            if !is_up && ran.up() > 0 {
                is_up = true;
                let _ = connects.send(());
            }
        }
        let _ = of_thread.send(thread_seconds());
        Ok(())
    })?;
    up.recv_timeout(PATIENCE).map_err(|_| anyhow!("the node cannot connect to the RIC"))?;
    let scheduler = Scheduler::start(&addresses.xapp, DELAY_SLOTS, &link.config, None)?;
    std::thread::sleep(LEAD);
    seen.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let (begun, before) = (Instant::now(), process_seconds());
    std::thread::sleep(Duration::from_secs_f64(seconds));
    let elapsed = begun.elapsed().as_secs_f64();
    let process = process_seconds() - before;
    let seen = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    let whole = elapsed + LEAD.as_secs_f64();
    let (_, of_xapp) = scheduler.end()?;
    ran.end()?;
    let of_ran = processor.recv_timeout(PATIENCE).unwrap_or(f64::NAN);
    ric.end()?;
    let count = |wanted: fn(&SlotEvent) -> bool| seen.iter().filter(|(_, event)| wanted(event)).count();
    let reports = count(|event| matches!(event, SlotEvent::Reported(_)));
    if reports == 0 {
        bail!("the cell has reported no slot");
    }
    Ok(Loop {
        name: link.name,
        latencies_us: latencies_us(&seen),
        reports,
        refused: count(|event| *event == SlotEvent::Refused),
        ran_percent: 100.0 * of_ran / whole,
        xapp_percent: 100.0 * of_xapp / whole,
        process_percent: 100.0 * process / elapsed,
    })
}

pub(in super::super) fn loop_latency(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let measure = |link: &LoopLink| measure(link, context.seconds * LENGTH).with_context(|| link.name);
    let loops = LoopLink::all().iter().map(measure).collect::<Result<Vec<_>, _>>()?;
    Ok(report(&loops))
}

fn report(loops: &[Loop]) -> FigureReport {
    let mut values = Table::new([
        "link",
        "p50_us",
        "p99_us",
        "p999_us",
        "decided_percent",
        "refused",
        "ran_core_percent",
        "xapp_core_percent",
        "all_core_percent",
    ]);
    let mut samples = Table::new(["link", "latency_us"]);
    for of in loops {
        let at = |share| Cell::from(quantile(&of.latencies_us, share));
        let decided = 100.0 * of.latencies_us.len() as f64 / of.reports as f64;
        values.row([
            of.name.into(),
            at(0.5),
            at(0.99),
            at(0.999),
            decided.into(),
            (of.refused as f64).into(),
            of.ran_percent.into(),
            of.xapp_percent.into(),
            of.process_percent.into(),
        ]);
        of.latencies_us.iter().for_each(|latency_us| samples.row([of.name.into(), (*latency_us).into()]));
    }
    let p99_us = |row: usize| values.value(row, "p99_us").unwrap_or(f64::NAN);
    let (tcp, spinning) = (0, loops.len().saturating_sub(1));
    let statement =
        |says, row, most_us: f64| Statement::new(says, format!("{:.0} us", p99_us(row)), p99_us(row) <= most_us);
    let statements = vec![
        statement("over shared memory with spinning, p99 is at most 250 us", spinning, SHM_US),
        statement("over TCP, p99 is at most 1 ms", tcp, TCP_US),
        statement("over shared memory with spinning, p99 is below the 450 us of dApps", spinning, DAPPS_US),
        statement("over TCP, p99 is below the 1 ms of EdgeRIC", tcp, EDGERIC_US),
    ];
    let series = ["p50_us", "p99_us", "p999_us"].map(|column| values.series(&column.replace("_us", ""), None, column));
    let names = loops.iter().map(|of| of.name.to_owned()).collect();
    let panel = Panel {
        x: X::Categories(names),
        y_label: "slot to applied decision, us".into(),
        series: series.into(),
        marks: Vec::new(),
    };
    FigureReport {
        figure: Figure::LoopLatency,
        setting: Setting {
            paper: "none: an experiment of ours. Anchors: EdgeRIC (Ko, Kumar et al., NSDI '24) states below 1 ms, dApps (Lacava et al., \
                    2025) below 450 us",
            ours: "examples/scenarios/slot-scheduling.toml in real time, slots of 1 ms; the RAN, a RIC and the xApp \
                   examples/src/bin/slot_scheduler.rs on three threads of one process, which decides about the slot after the reported one. \
                   From the tick of the base station's agent at which it computes the slot and sends the report, until it has read the \
                   control and applied the decision. With spinning, the RIC and the xApp stay awake and yield their processors; the RAN, \
                   whose thread computes the model, sleeps in epoll",
            differs: Vec::new(),
        },
        plot: Plot { title: "The loop of a slot through a RIC, by link".into(), panels: vec![panel] },
        claim: "an xApp behind a RIC decides within a slot, by ordinary indications and controls",
        judged: "statement by statement; the claim holds if all do",
        holds: Statement::all(&statements),
        statements,
        notes: Vec::new(),
        values,
        summary: None,
        samples: Some(samples),
        course: None,
    }
}

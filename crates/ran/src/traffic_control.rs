//! TC: what is set is what every bearer of the cell does. What is told is of all of them together.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use e2sm::tc::{Classifier, FiveTuple, OsiFilter, PacerParameters, Queue, QueueKind, QueueParameters, Scheduler};
use ferric::e2::Time;
use functions::kpm::KpmSource;
use functions::tc::{Configuration, LaneCounts, QueueConfiguration, TcSource};
use radio::tc::{
    self, ClassifierChoice, DelayTarget, DisciplineChoice, Divert, FlowPattern, PacerChoice, PolicerSettings, QueueId,
    SchedulerChoice, ShaperSettings,
};

use crate::node::Node;

/// Bits in a kilobit.
const KILO: u64 = 1000;

fn queue(wanted: &QueueConfiguration) -> tc::QueueConfiguration {
    let target =
        |target: e2sm::tc::DelayTarget| DelayTarget { target_ms: target.target_ms, interval_ms: target.interval_ms };
    let discipline = match wanted.parameters {
        QueueParameters::Fifo => DisciplineChoice::Fifo,
        QueueParameters::CoDel(delay) => DisciplineChoice::CoDel(target(delay)),
        QueueParameters::EcnCoDel(delay) => DisciplineChoice::EcnCoDel(target(delay)),
    };
    let policer = wanted.policer.filter(|policer| policer.active).map(|policer| PolicerSettings {
        drop_rate_bps: u64::from(policer.drop_rate_kbps) * KILO,
        divert: (policer.deviation_rate_kbps > 0 && policer.deviation_id != wanted.id).then(|| Divert {
            rate_bps: u64::from(policer.deviation_rate_kbps) * KILO,
            to: QueueId(policer.deviation_id),
        }),
    });
    let shaper = wanted
        .shaper
        .filter(|shaper| shaper.active)
        .map(|shaper| ShaperSettings { rate_bps: u64::from(shaper.max_rate_kbps) * KILO, window_ms: shaper.window_ms });
    tc::QueueConfiguration { policer, shaper, ..tc::QueueConfiguration::new(QueueId(wanted.id), discipline) }
}

fn filter(wanted: &OsiFilter) -> tc::OsiFilter {
    let FiveTuple { source_address, destination_address, source_port, destination_port, protocol } = wanted.flow;
    let flow = FlowPattern {
        source: source_address.map(Ipv4Addr::from),
        destination: destination_address.map(Ipv4Addr::from),
        source_port,
        destination_port,
        protocol,
    };
    tc::OsiFilter { id: wanted.id, flow, queue: QueueId(wanted.queue_id) }
}

/// What is set, for the model.
fn settings(wanted: &Configuration) -> tc::Configuration {
    tc::Configuration {
        classifier: match &wanted.classifier {
            Classifier::RoundRobin => ClassifierChoice::RoundRobin,
            Classifier::Osi(filters) => ClassifierChoice::Osi(filters.iter().map(filter).collect()),
            Classifier::Stochastic => ClassifierChoice::Stochastic,
        },
        queues: wanted.queues.iter().map(queue).collect(),
        scheduler: match &wanted.scheduler {
            Scheduler::RoundRobin => SchedulerChoice::RoundRobin,
            Scheduler::Priority(priorities) => SchedulerChoice::Priority(priorities.to_vec()),
            Scheduler::DeficitRoundRobin(octets) => SchedulerChoice::DeficitRoundRobin(octets.to_vec()),
        },
        pacer: match wanted.pacer {
            PacerParameters::Off => PacerChoice::Off,
            // RLC's fill is known here: what a controller has seen of it is older
            PacerParameters::Bdp5g(_) => PacerChoice::Bdp5g,
        },
    }
}

/// A counter of 32 bits wraps around.
fn wrapped(count: u64) -> u32 {
    count as u32
}

impl TcSource for Node {
    fn configuration(&self) -> &Configuration {
        &self.traffic_control
    }

    fn configure(&mut self, configuration: Configuration) -> Result<(), Cow<'static, str>> {
        self.cell_mut().set_traffic_control(&settings(&configuration)).map_err(|refused| refused.to_string())?;
        self.traffic_control = configuration;
        Ok(())
    }

    fn counts(&self, queue_id: u32) -> LaneCounts {
        let cell = self.cell();
        let (id, now) = (QueueId(queue_id), cell.now());
        let mut lane = LaneCounts::default();
        let (mut sojourn_us, mut packets) = (0.0, 0);
        for bearer in cell.ues().flat_map(|(_, ue)| ue.bearers()) {
            let Some(counts) = bearer.tc().counts(id) else { continue };
            let kind = self.traffic_control.queues.iter().find(|queue| queue.id == queue_id);
            let is_marking = kind.is_some_and(|queue| queue.parameters.kind() == QueueKind::EcnCoDel);
            let dropped = counts.dropped.full.packets + counts.dropped.managed.packets;
            let went = counts.went.packets;
            sojourn_us += counts.sojourn.mean().as_secs_f64() * 1e6 * went as f64;
            packets += went;
            lane.shaper_rate_kbps += (bearer.tc().shaper_rate_bps(now, id) / 1e3) as f32;
            lane.policer_rate_kbps += (bearer.tc().policer_rate_bps(now, id) / 1e3) as f32;
            lane.policer_dropped_packets =
                lane.policer_dropped_packets.wrapping_add(wrapped(counts.dropped.policed.packets));
            lane.policer_marked_packets = lane.policer_marked_packets.wrapping_add(wrapped(counts.diverted_packets));
            let Queue { octets, packets, forwarded_octets, forwarded_packets, dropped_packets, .. } = lane.queue;
            lane.queue = Queue {
                octets: octets.wrapping_add(wrapped(counts.waiting.octets)),
                packets: packets.wrapping_add(wrapped(counts.waiting.packets)),
                forwarded_octets: forwarded_octets.wrapping_add(wrapped(counts.went.octets)),
                forwarded_packets: forwarded_packets.wrapping_add(wrapped(went)),
                dropped_packets: dropped_packets.wrapping_add(wrapped(if is_marking {
                    counts.marked_packets
                } else {
                    dropped
                })),
                last_sojourn_us: lane.queue.last_sojourn_us.max(counts.sojourn.last.as_micros() as i64),
                ..lane.queue
            };
        }
        lane.queue.mean_sojourn_us = if packets > 0 { (sojourn_us / packets as f64) as f32 } else { 0.0 };
        lane
    }

    fn pacer_rate_kbps(&self) -> f32 {
        let cell = self.cell();
        let now = cell.now();
        let rates = cell.ues().flat_map(|(_, ue)| ue.bearers()).map(|bearer| bearer.tc().pacer_rate_bps(now));
        (rates.sum::<f64>() / 1e3) as f32
    }

    fn advance(&mut self, now: Time) {
        KpmSource::advance(self, now);
    }
}

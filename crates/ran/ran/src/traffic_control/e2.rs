//! FlexRIC's TC model: configures the traffic control of all bearers of the cell, and reports their sum.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use e2sm::tc::{
    Bdp, ChangePolicer, ChangeShaper, Classifier, FiveTuple, OsiFilter, PacerParameters, Queue, QueueKind,
    QueueParameters, Scheduler,
};
use ferric::e2::Time;
use radio::tc::{
    self, ClassifierChoice, DelayTarget, DisciplineChoice, Divert, FlowPattern, PacerChoice, PolicerSettings, QueueId,
    SchedulerChoice, ShaperSettings,
};
use ran_functions::kpm::KpmSource;
use ran_functions::tc::{Configuration, QueueConfiguration, QueueCounters, TcSource};

use crate::node::Node;

/// Bits in a kilobit.
const KILO: u64 = 1000;

fn model_queue(wanted: &QueueConfiguration) -> tc::QueueConfiguration {
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

fn model_filter(wanted: &OsiFilter) -> tc::OsiFilter {
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

/// Converts a configuration to that of the model.
fn to_model(wanted: &Configuration) -> tc::Configuration {
    tc::Configuration {
        classifier: match &wanted.classifier {
            Classifier::RoundRobin => ClassifierChoice::RoundRobin,
            Classifier::Osi(filters) => ClassifierChoice::Osi(filters.iter().map(model_filter).collect()),
            Classifier::Stochastic => ClassifierChoice::Stochastic,
        },
        queues: wanted.queues.iter().map(model_queue).collect(),
        scheduler: match &wanted.scheduler {
            Scheduler::RoundRobin => SchedulerChoice::RoundRobin,
            Scheduler::Priority(priorities) => SchedulerChoice::Priority(priorities.to_vec()),
            Scheduler::DeficitRoundRobin(octets) => SchedulerChoice::DeficitRoundRobin(octets.to_vec()),
        },
        pacer: match wanted.pacer {
            PacerParameters::Off => PacerChoice::Off,
            // the model knows the fill of RLC; a controller's value is older
            PacerParameters::Bdp5g(_) => PacerChoice::Bdp5g,
        },
    }
}

/// Converts the model's configuration to that of E2. E2 has no value for custom parts: each is reported as the simplest of
/// its kind, and replaced when a controller sets another one.
pub fn from_model(set: &tc::Configuration) -> Configuration {
    Configuration {
        classifier: match &set.classifier {
            ClassifierChoice::RoundRobin | ClassifierChoice::Custom(_) => Classifier::RoundRobin,
            ClassifierChoice::Osi(filters) => {
                Classifier::Osi(filters.iter().map(filter_from_model).collect::<Vec<_>>().into())
            }
            ClassifierChoice::Stochastic => Classifier::Stochastic,
        },
        queues: set.queues.iter().map(queue_from_model).collect(),
        scheduler: match &set.scheduler {
            SchedulerChoice::RoundRobin | SchedulerChoice::Custom(_) => Scheduler::RoundRobin,
            SchedulerChoice::Priority(priorities) => Scheduler::Priority(priorities.clone().into()),
            SchedulerChoice::DeficitRoundRobin(octets) => Scheduler::DeficitRoundRobin(octets.clone().into()),
        },
        pacer: match set.pacer {
            PacerChoice::Off | PacerChoice::Custom(_) => PacerParameters::Off,
            PacerChoice::Bdp5g => PacerParameters::Bdp5g(Bdp { drb_octets: 0, timestamp_us: 0 }),
        },
    }
}

fn filter_from_model(filter: &tc::OsiFilter) -> OsiFilter {
    let FlowPattern { source, destination, source_port, destination_port, protocol } = filter.flow;
    let flow = FiveTuple {
        source_address: source.map(u32::from),
        destination_address: destination.map(u32::from),
        source_port,
        destination_port,
        protocol,
    };
    OsiFilter { id: filter.id, flow, queue_id: filter.queue.0 }
}

fn queue_from_model(queue: &tc::QueueConfiguration) -> QueueConfiguration {
    let id = queue.id.0;
    let target =
        |target: DelayTarget| e2sm::tc::DelayTarget { target_ms: target.target_ms, interval_ms: target.interval_ms };
    // a scenario's rates are bounded, so that they fit
    let kbps = |rate_bps: u64| u32::try_from(rate_bps / KILO).unwrap_or(u32::MAX);
    QueueConfiguration {
        id,
        parameters: match queue.discipline {
            DisciplineChoice::Fifo | DisciplineChoice::Custom(_) => QueueParameters::Fifo,
            DisciplineChoice::CoDel(delay) => QueueParameters::CoDel(target(delay)),
            DisciplineChoice::EcnCoDel(delay) => QueueParameters::EcnCoDel(target(delay)),
        },
        policer: queue.policer.map(|policer| ChangePolicer {
            id,
            drop_rate_kbps: kbps(policer.drop_rate_bps),
            deviation_id: policer.divert.map_or(id, |divert| divert.to.0),
            deviation_rate_kbps: policer.divert.map_or(0, |divert| kbps(divert.rate_bps)),
            active: true,
        }),
        shaper: queue.shaper.map(|shaper| ChangeShaper {
            id,
            window_ms: shaper.window_ms,
            max_rate_kbps: kbps(shaper.rate_bps),
            active: true,
        }),
    }
}

/// Keeps what E2 cannot express, where a controller has not changed the part: custom parts, and limits of queues.
fn keep_unchanged(
    mut next: tc::Configuration,
    before: &tc::Configuration,
    reported: &Configuration,
    wanted: &Configuration,
) -> tc::Configuration {
    if reported.classifier == wanted.classifier {
        next.classifier = before.classifier.clone();
    }
    if reported.scheduler == wanted.scheduler {
        next.scheduler = before.scheduler.clone();
    }
    if reported.pacer == wanted.pacer {
        next.pacer = before.pacer.clone();
    }
    for queue in &mut next.queues {
        let Some(there) = before.queues.iter().find(|there| there.id == queue.id) else { continue };
        queue.limit_octets = there.limit_octets;
        let parameters = |of: &Configuration| {
            of.queues.iter().find(|reported| reported.id == queue.id.0).map(|reported| reported.parameters)
        };
        if parameters(reported) == parameters(wanted) {
            queue.discipline = there.discipline.clone();
        }
    }
    next
}

/// Truncates to a 32-bit counter, which wraps around.
fn wrapped(count: u64) -> u32 {
    count as u32
}

impl TcSource for Node {
    fn configuration(&self) -> &Configuration {
        &self.traffic_control
    }

    fn configure(&mut self, configuration: Configuration) -> Result<(), Cow<'static, str>> {
        let next =
            keep_unchanged(to_model(&configuration), &self.cell().config().tc, &self.traffic_control, &configuration);
        self.cell_mut().set_traffic_control(&next).map_err(|refused| refused.to_string())?;
        self.traffic_control = configuration;
        Ok(())
    }

    fn queue_counters(&self, queue_id: u32) -> QueueCounters {
        let cell = self.cell();
        let (id, now) = (QueueId(queue_id), cell.now());
        let counts = cell.queue_counts(id);
        let kind = self.traffic_control.queues.iter().find(|queue| queue.id == queue_id);
        let is_marking = kind.is_some_and(|queue| queue.parameters.kind() == QueueKind::EcnCoDel);
        let dropped = counts.dropped.full.packets + counts.dropped.managed.packets;
        let bearers = || cell.ues().flat_map(|(_, ue)| ue.bearers()).map(radio::Bearer::tc);
        QueueCounters {
            shaper_rate_kbps: (bearers().map(|tc| tc.shaper_rate_bps(now, id)).sum::<f64>() / 1e3) as f32,
            policer_rate_kbps: (bearers().map(|tc| tc.policer_rate_bps(now, id)).sum::<f64>() / 1e3) as f32,
            policer_dropped_packets: wrapped(counts.dropped.policed.packets),
            policer_marked_packets: wrapped(counts.diverted_packets),
            queue: Queue {
                octets: wrapped(counts.waiting.octets),
                packets: wrapped(counts.waiting.packets),
                forwarded_octets: wrapped(counts.departed.octets),
                forwarded_packets: wrapped(counts.departed.packets),
                dropped_packets: wrapped(if is_marking { counts.marked_packets } else { dropped }),
                last_sojourn_us: counts.sojourn.last.as_micros() as i64,
                mean_sojourn_us: (counts.sojourn.mean(now).as_secs_f64() * 1e6) as f32,
                ..Queue::default()
            },
        }
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

#[cfg(test)]
mod tests;

//! TC: what is set is what every bearer of the cell does. What is told is of all of them together.

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

use tracing::warn;

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

/// What is set in the model, as E2 tells it. It has no word for parts of one's own: they are told as the simplest of their
/// kind, and go when a controller sets another one.
pub fn told(set: &tc::Configuration) -> Configuration {
    Configuration {
        classifier: match &set.classifier {
            ClassifierChoice::RoundRobin | ClassifierChoice::Own(_) => Classifier::RoundRobin,
            ClassifierChoice::Osi(filters) => {
                Classifier::Osi(filters.iter().map(told_filter).collect::<Vec<_>>().into())
            }
            ClassifierChoice::Stochastic => Classifier::Stochastic,
        },
        queues: set.queues.iter().map(told_queue).collect(),
        scheduler: match &set.scheduler {
            SchedulerChoice::RoundRobin | SchedulerChoice::Own(_) => Scheduler::RoundRobin,
            SchedulerChoice::Priority(priorities) => Scheduler::Priority(priorities.clone().into()),
            SchedulerChoice::DeficitRoundRobin(octets) => Scheduler::DeficitRoundRobin(octets.clone().into()),
        },
        pacer: match set.pacer {
            PacerChoice::Off | PacerChoice::Own(_) => PacerParameters::Off,
            PacerChoice::Bdp5g => PacerParameters::Bdp5g(Bdp { drb_octets: 0, timestamp_us: 0 }),
        },
    }
}

fn told_filter(filter: &tc::OsiFilter) -> OsiFilter {
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

fn told_queue(queue: &tc::QueueConfiguration) -> QueueConfiguration {
    let id = queue.id.0;
    let target =
        |target: DelayTarget| e2sm::tc::DelayTarget { target_ms: target.target_ms, interval_ms: target.interval_ms };
    // a scenario's rates are bounded, so that they fit
    let kbps = |rate_bps: u64| u32::try_from(rate_bps / KILO).unwrap_or(u32::MAX);
    QueueConfiguration {
        id,
        parameters: match queue.discipline {
            DisciplineChoice::Fifo | DisciplineChoice::Own(_) => QueueParameters::Fifo,
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

/// What of a configuration E2 does not tell stays as it is where the rest of that part does: parts of one's own, and
/// queues' limits.
fn keep(
    mut next: tc::Configuration,
    before: &tc::Configuration,
    was: &Configuration,
    wanted: &Configuration,
) -> tc::Configuration {
    if was.classifier == wanted.classifier {
        next.classifier = before.classifier.clone();
    }
    if was.scheduler == wanted.scheduler {
        next.scheduler = before.scheduler.clone();
    }
    if was.pacer == wanted.pacer {
        next.pacer = before.pacer.clone();
    }
    for queue in &mut next.queues {
        let Some(there) = before.queues.iter().find(|there| there.id == queue.id) else { continue };
        queue.limit_octets = there.limit_octets;
        let parameters =
            |of: &Configuration| of.queues.iter().find(|told| told.id == queue.id.0).map(|told| told.parameters);
        if parameters(was) == parameters(wanted) {
            queue.discipline = there.discipline.clone();
        }
    }
    next
}

/// What of traffic control the log has told, each once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// A part of one's own has given answers that made no sense.
    pub faults: bool,
    /// A UE keeps the queues of the cell that it came from.
    pub misfit: bool,
}

impl Node {
    /// Has the log tell, once, that a part of one's own gives answers that make no sense. Built-in parts never do.
    pub fn notice_faults(&mut self) {
        if self.told.faults {
            return;
        }
        let faults = {
            let cell = self.cell();
            if !has_own_part(&cell.config().tc) {
                return;
            }
            let bearers = cell.ues().flat_map(|(_, ue)| ue.bearers());
            let of = bearers.map(|bearer| bearer.tc().faults()).find(|faults| *faults != tc::Faults::default());
            let Some(faults) = of else { return };
            faults
        };
        self.told.faults = true;
        let tc::Faults { classifier, discipline, scheduler, pacer } = faults;
        warn!(
            cell = self.at(),
            classifier,
            discipline,
            scheduler,
            pacer,
            "a part of traffic control gives answers that make no sense, so the built-in default answers: correct the part, \
             or set another one (docs/traffic-control.md)"
        );
    }

    /// Has the log tell, once, that a UE has come whose packets do not fit into the cell's queues, so that it keeps those that
    /// it had.
    pub fn notice_misfit(&mut self, place: usize) {
        if self.told.misfit {
            return;
        }
        let fits = {
            let cell = self.cell();
            let wanted = &cell.config().tc;
            cell.ue(place).is_none_or(|ue| ue.bearers().iter().all(|bearer| bearer.tc().configuration() == wanted))
        };
        if !fits {
            self.told.misfit = true;
            warn!(
                cell = self.at(),
                ue = place,
                "what waits for a UE that has come does not fit into this cell's queues: it keeps those of the cell that it \
                 came from, until traffic control is set anew. Give the first queue more room (limit_octets)"
            );
        }
    }
}

fn has_own_part(set: &tc::Configuration) -> bool {
    matches!(set.classifier, ClassifierChoice::Own(_))
        || matches!(set.scheduler, SchedulerChoice::Own(_))
        || matches!(set.pacer, PacerChoice::Own(_))
        || set.queues.iter().any(|queue| matches!(queue.discipline, DisciplineChoice::Own(_)))
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
        let next = keep(settings(&configuration), &self.cell().config().tc, &self.traffic_control, &configuration);
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
                forwarded_octets: wrapped(counts.went.octets),
                forwarded_packets: wrapped(counts.went.packets),
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
mod tests {
    use std::time::Duration;

    use radio::Packet;
    use radio::traffic::{FlowSpecification, Kind};

    use super::*;
    use crate::scenario::{CellScenario, ChannelScenario, FlowScenario, Scenario, UeScenario};
    use crate::{RanConfig, testing};

    const START: Time = Time::from_nanos(5_000_000_000);

    /// Names a queue that is not there.
    struct Astray;

    impl tc::Classifier for Astray {
        fn classify(&mut self, _: &Packet, queues: usize) -> Option<usize> {
            Some(queues)
        }
    }

    /// Two cells, and a UE in the first one that has more to receive than there is.
    fn nodes(first: tc::Configuration, second: tc::Configuration) -> Vec<Node> {
        let cells = [first, second].map(|tc| {
            let mut cell = CellScenario::default();
            cell.radio.tc = tc;
            cell
        });
        let kind = Kind::ConstantBitRate { rate_bps: 90_000_000, packet_octets: 1400 };
        let ue = UeScenario {
            cell: 0,
            subscription: radio::Subscription::default(),
            channel: ChannelScenario::Mcs(15),
            flows: vec![FlowScenario { specification: FlowSpecification::new(kind), ports: (80, 81) }],
            arrives: radio::Time::START,
            leaves: None,
        };
        let scenario = Scenario { cells: cells.into(), ues: vec![ue], ..Scenario::default() };
        let mut nodes = testing::nodes(&RanConfig { scenario, ..RanConfig::default() });
        for ms in [0, 500] {
            nodes.iter_mut().for_each(|node| KpmSource::advance(node, START + Duration::from_millis(ms)));
        }
        nodes
    }

    #[test]
    fn a_part_that_errs_is_told_of() {
        let default = tc::Configuration::default;
        let own = tc::Configuration { classifier: ClassifierChoice::own("astray", || Astray), ..default() };
        let nodes = nodes(own, default());
        assert!(nodes[0].told.faults && !nodes[1].told.faults);
        assert_eq!(nodes[0].traffic_control, Configuration::default(), "E2 has no word for it");
    }

    #[test]
    fn a_control_leaves_alone_what_it_does_not_name() {
        let own = tc::Configuration {
            classifier: ClassifierChoice::own("astray", || Astray),
            queues: vec![tc::QueueConfiguration {
                limit_octets: 5_000,
                ..tc::QueueConfiguration::new(QueueId(0), DisciplineChoice::Fifo)
            }],
            ..tc::Configuration::default()
        };
        let mut nodes = nodes(own.clone(), tc::Configuration::default());
        let pacer = PacerParameters::Bdp5g(Bdp { drb_octets: 0, timestamp_us: 0 });
        let wanted = Configuration { pacer, ..nodes[0].traffic_control.clone() };
        nodes[0].configure(wanted).unwrap();
        let expected = tc::Configuration { pacer: PacerChoice::Bdp5g, ..own };
        assert_eq!(nodes[0].cell().config().tc, expected);
        let wanted = Configuration { classifier: Classifier::Stochastic, ..nodes[0].traffic_control.clone() };
        nodes[0].configure(wanted).unwrap();
        assert_eq!(
            nodes[0].cell().config().tc,
            tc::Configuration { classifier: ClassifierChoice::Stochastic, ..expected }
        );
    }

    #[test]
    fn a_ue_that_does_not_fit_is_told_of() {
        let paced = tc::Configuration { pacer: PacerChoice::Bdp5g, ..tc::Configuration::default() };
        let small = tc::QueueConfiguration {
            limit_octets: 3_000,
            ..tc::QueueConfiguration::new(QueueId(9), DisciplineChoice::Fifo)
        };
        let mut nodes = nodes(paced, tc::Configuration { queues: vec![small], ..tc::Configuration::default() });
        nodes[0].hand_over(ferric::agent::Ue(0), &testing::cell_of(1)).unwrap();
        for ms in [600, 700] {
            nodes.iter_mut().for_each(|node| KpmSource::advance(node, START + Duration::from_millis(ms)));
        }
        assert!(nodes[1].told.misfit && !nodes[0].told.misfit);
    }
}

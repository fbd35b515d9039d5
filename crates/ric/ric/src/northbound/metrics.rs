//! The metrics of the RIC.

use std::time::{Duration, Instant};

use ferric::e2::ControlOutcome;
use ferric::server::IappContext;
use iapp_rest::Job;
use rest::metrics::{Counter, DURATIONS_S, Gauge, Histogram, MEDIA_TYPE, Registry};
use rest::{Operation, Response, Route};

use super::app::{AppQueue, RicApp, outcome};

/// The metrics of the RIC. Numbers that the server counts are copied when they are read: counting them costs nothing else.
pub(super) struct RicMetrics {
    registry: Registry,
    nodes: Gauge,
    xapps: Gauge,
    subscriptions: Gauge,
    ues: Gauge,
    outbox_octets: Gauge,
    indications: Counter,
    deliveries: Counter,
    dropped_reports: Counter,
    stray_indications: Counter,
    stray_answers: Counter,
    controls: Counter,
    control_durations: Histogram,
    loop_delays: Histogram,
    #[cfg(feature = "flexran")]
    flexran: Option<FlexRanMetrics>,
    services: Vec<ServiceMetrics>,
}

/// Copies what a service beside the RIC counts to its metrics.
pub(super) type ServiceMetrics = Box<dyn Fn(&IappContext<'_>) + Send>;

/// The metrics of FlexRAN agents.
#[cfg(feature = "flexran")]
struct FlexRanMetrics {
    source: crate::flexran::FlexRanAgents,
    agents: Gauge,
    reports: Counter,
    echoes: Counter,
    refused: Counter,
    faults: Counter,
}

#[cfg(feature = "flexran")]
impl FlexRanMetrics {
    fn new(registry: &Registry, source: crate::flexran::FlexRanAgents) -> Self {
        let counter = |name, help| registry.counter(name, help, &[]);
        FlexRanMetrics {
            source,
            agents: registry.gauge("ferric_flexran_agents", "FlexRAN agents that are connected.", &[]),
            reports: counter("ferric_flexran_reports_total", "Statistics replies of FlexRAN agents."),
            echoes: counter("ferric_flexran_echoes_total", "Echo requests of FlexRAN agents, which were answered."),
            refused: counter(
                "ferric_flexran_refused_total",
                "Connections of FlexRAN agents that were refused, since there were too many.",
            ),
            faults: counter(
                "ferric_flexran_faults_total",
                "Connections of FlexRAN agents that were closed by a fault of the agent.",
            ),
        }
    }

    fn read(&self) {
        let counters = self.source.counters();
        self.agents.set(&[], self.source.count() as f64);
        self.reports.set_total(&[], counters.reports as f64);
        self.echoes.set_total(&[], counters.echoes as f64);
        self.refused.set_total(&[], counters.refused as f64);
        self.faults.set_total(&[], counters.faults as f64);
    }
}

impl RicMetrics {
    pub fn new(registry: &Registry) -> Self {
        let counter = |name, help| registry.counter(name, help, &[]);
        let gauge = |name, help| registry.gauge(name, help, &[]);
        RicMetrics {
            nodes: gauge("ferric_nodes", "E2 nodes that are connected."),
            xapps: gauge("ferric_xapps", "xApps that are connected, without those over E42."),
            subscriptions: gauge("ferric_subscriptions", "Subscriptions at nodes, in any state."),
            ues: gauge("ferric_ues", "UEs in the RAN database."),
            outbox_octets: gauge(
                "ferric_xapp_outbox_octets",
                "Octets of messages that wait until xApps read, of all xApps.",
            ),
            indications: counter("ferric_indications_total", "RIC indications that belong to a subscription."),
            deliveries: counter("ferric_deliveries_total", "Deliveries of an indication to an app."),
            dropped_reports: counter(
                "ferric_dropped_reports_total",
                "Reports that were dropped because an xApp read too slowly.",
            ),
            stray_indications: counter(
                "ferric_stray_indications_total",
                "RIC indications that were not delivered: without a subscription, before the setup, or malformed.",
            ),
            stray_answers: counter("ferric_stray_answers_total", "Answers of nodes that no request awaited."),
            controls: registry.counter("ferric_controls_total", "RIC controls that have ended.", &["outcome"]),
            control_durations: registry.histogram(
                "ferric_control_duration_seconds",
                "Time from a RIC control to its end.",
                &[],
                DURATIONS_S,
            ),
            loop_delays: registry.histogram(
                "ferric_loop_delay_seconds",
                "Time that a request for these metrics waited for the event loop of the RIC.",
                &[],
                DURATIONS_S,
            ),
            #[cfg(feature = "flexran")]
            flexran: None,
            services: Vec::new(),
            registry: registry.clone(),
        }
    }

    /// With the metrics of FlexRAN agents.
    #[cfg(feature = "flexran")]
    pub fn with_flexran(mut self, agents: crate::flexran::FlexRanAgents) -> Self {
        self.flexran = Some(FlexRanMetrics::new(&self.registry, agents));
        self
    }

    /// With the metrics of a service beside the RIC.
    #[cfg(any(feature = "conflicts", feature = "oran"))]
    pub fn with(mut self, service: ServiceMetrics) -> Self {
        self.services.push(service);
        self
    }

    pub fn note_control(&self, ended: &ControlOutcome, duration: Duration) {
        self.controls.add(&[outcome(ended)], 1.0);
        self.control_durations.observe_duration(&[], duration);
    }

    fn read(&self, ric: &IappContext<'_>) {
        let counters = ric.counters();
        self.nodes.set(&[], ric.nodes().count() as f64);
        self.xapps.set(&[], ric.xapps().count() as f64);
        self.outbox_octets.set(&[], ric.xapps().map(|xapp| xapp.outbox_octets).sum::<u64>() as f64);
        self.subscriptions.set(&[], ric.subscriptions().count() as f64);
        self.ues.set(&[], ric.ran().ues().len() as f64);
        self.indications.set_total(&[], counters.indications as f64);
        self.deliveries.set_total(&[], counters.deliveries as f64);
        self.dropped_reports.set_total(&[], counters.dropped_reports as f64);
        self.stray_indications.set_total(&[], counters.stray_indications as f64);
        self.stray_answers.set_total(&[], counters.stray_answers as f64);
        #[cfg(feature = "flexran")]
        if let Some(flexran) = &self.flexran {
            flexran.read();
        }
        self.services.iter().for_each(|copy| copy(ric));
    }
}

/// Returns the route of the metrics.
pub(super) fn route(queue: &AppQueue) -> Route {
    let operation = Operation::get("/metrics", "getMetrics", "The metrics of the RIC, for Prometheus").tag("ric");
    let operation = operation.returns_media(MEDIA_TYPE, "The metrics in the text exposition format 0.0.4.");
    Route::queued(operation, queue, |_| {
        let asked = Instant::now();
        let job: Job<RicApp> = Box::new(move |app, ric, reply| {
            app.metrics.loop_delays.observe_duration(&[], asked.elapsed());
            app.metrics.read(ric);
            reply.send(Ok(Response::text(MEDIA_TYPE, app.metrics.registry.text())));
        });
        Ok(job)
    })
}

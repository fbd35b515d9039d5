//! `ferric xapp kpm`: the KPM xApp.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, bail};
use e2ap::RanFunctionId;
use e2sm::Arena;
#[cfg(feature = "ue-names")]
use e2sm::kpm::EveryUe;
use e2sm::kpm::{Detection, Revision};
#[cfg(feature = "ue-names")]
use ferric::e2::topology::UeModel;
use ferric::e2::topology::UeReference;
use ferric::e2::xapp::{FunctionInfo, NodeInfo};
use ferric::e2::{SubscriptionId, Ticket};
use ferric::link::Address;
use ferric::xapp::{Commands, Indication, RequestEvent, XappConfig, XappEvent};
use hdrhistogram::Histogram;
use per::Gather;
use tracing::{info, warn};

use super::kpm_report::{self, Report};
use super::kpm_request::{self, Request};
use super::kpm_source::Source;
use super::table::{Stream, Table};
use super::ues::{KnownUe, Ues};
use super::{connect, kpm_v1, latency_histogram, p50_p99};

/// What nodes are asked for further names of their UEs.
#[cfg(feature = "ue-names")]
const MODELS: &[UeModel] = &[UeModel::Rrc];

/// Show the KPIs of all UEs as a table.
///
/// A UE is shown by the name that it keeps for the longest time, with its C-RNTI and address where its node reports them (RRC
/// notifications); with --json, `ues` has all its names.
///
/// The report style depends on what each node offers. Ends with a line, in the log with --json, `indications=… lost=… p50_us=… p99_us=…`, where a
/// latency lasts from the end of the measured period, by the node's clock, to the xApp's reading of the report. `-` means
/// that it is unknown: the nodes send no time stamps, or only whole seconds, or their clocks differ from this host's.
#[derive(Clone, clap::Args)]
pub struct Args {
    /// The RIC's address for xApps.
    #[arg(long, value_name = "URL", env = "FERRIC_RIC", default_value = "tcp://127.0.0.1:36423", value_parser = crate::address::xapp)]
    pub ric: Address,
    /// Reporting period in ms.
    #[arg(long, value_name = "P", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub period_ms: u32,
    /// Measurement, by its name in TS 28.552. Repeatable. [default: the usual ones of UEs, of the cell or of a central unit, as
    /// far as the node offers them in the report style]
    #[arg(long = "measurement", value_name = "NAME")]
    pub measurements: Vec<String>,
    /// Measure the cell instead of each UE.
    #[arg(long)]
    pub cell: bool,
    /// Only UEs of the slice with this SST. OAI's base stations need this condition.
    #[arg(long, value_name = "N", conflicts_with = "cell")]
    pub sst: Option<u8>,
    /// Only this UE, by any name that is shown: amf:N (or N), f1ap:N, rnti:0xN@CELL, rnti:0xN@NODE, ip:ADDRESS, ...
    #[arg(long, value_name = "UE", conflicts_with = "cell")]
    pub ue: Option<UeReference>,
    /// Revision of KPM, overriding what the nodes register: 1.00, 2.00, 2.01, 2.03, 3.00 or 4.00.
    #[arg(long, value_name = "REVISION")]
    pub kpm: Option<Revision>,
    /// Report style of nodes of KPM v01.00. [default: all, or the first of a node that takes a single one]
    #[arg(long, value_name = "N")]
    pub style: Option<i64>,
    /// End after N seconds. [default: run until Ctrl-C]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub seconds: Option<u32>,
    /// Print one JSON object per report instead of a table.
    #[cfg(feature = "xapp")]
    #[arg(long)]
    pub json: bool,
}

impl Default for Args {
    fn default() -> Self {
        Args {
            ric: Address::Tcp { host: "127.0.0.1".into(), port: ferric::server::DEFAULT_XAPP_PORT },
            period_ms: 1000,
            measurements: Vec::new(),
            cell: false,
            sst: None,
            ue: None,
            kpm: None,
            style: None,
            seconds: None,
            #[cfg(feature = "xapp")]
            json: false,
        }
    }
}

pub fn run(args: &Args, config: XappConfig) -> anyhow::Result<()> {
    let mut xapp = connect(&args.ric, "ferric-kpm", config, args.seconds)?;
    let stop = xapp.stop_handle();
    program::signals::stop_on_signal(stop.clone())?;
    info!(ric = %xapp.ric_id(), "connected");

    let end = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds.into()));
    let mut app = App::new(args.clone())?;
    let mut shown = Instant::now();
    let mut polled = Ok(());
    while !stop.is_stopped() && end.is_none_or(|end| Instant::now() < end) {
        let patience = Duration::from_millis(200);
        let patience = end.map_or(patience, |end| patience.min(end.saturating_duration_since(Instant::now())));
        polled = xapp.poll(Some(patience), |event, ric| app.handle(event, ric));
        if polled.is_err() {
            break;
        }
        if !app.prints_json() && app.has_news && shown.elapsed() >= Duration::from_millis(200) {
            shown = Instant::now();
            app.has_news = false;
            app.table.expire(shown);
            app.show()?;
        }
    }
    if app.prints_json() {
        // standard output has one kind of lines
        info!("{}", app.summary());
    } else {
        program::outln!("{}", app.summary());
    }
    polled.context("connection to the RIC lost")?;
    // a user who presses Ctrl-C has seen what there was
    if stop.is_stopped() { Ok(()) } else { app.check() }
}

struct App {
    args: Args,
    /// Whether any node was connected, and whether one accepted a subscription.
    saw_node: bool,
    was_subscribed: bool,
    pending: HashMap<Ticket, Source>,
    sources: BTreeMap<SubscriptionId, Source>,
    table: Table,
    ues: Ues,
    /// The UE that was requested, once a report has contained it: it keeps this name when its C-RNTI changes.
    found_ue: Option<UeReference>,
    arena: Arena,
    started: Instant,
    indications: u64,
    lost: u64,
    latency_us: Histogram<u64>,
    has_news: bool,
}

impl App {
    fn new(args: Args) -> anyhow::Result<Self> {
        Ok(App {
            args,
            saw_node: false,
            was_subscribed: false,
            pending: HashMap::new(),
            sources: BTreeMap::new(),
            table: Table::new(),
            ues: Ues::new(),
            found_ue: None,
            arena: Arena::new(),
            started: Instant::now(),
            indications: 0,
            lost: 0,
            latency_us: latency_histogram()?,
            has_news: false,
        })
    }

    fn handle(&mut self, event: XappEvent<'_>, ric: &mut Commands<'_>) {
        match event {
            XappEvent::NodeUp(node) => self.node_up(node, ric),
            XappEvent::NodeLost(node) => {
                warn!(node = %node.global_id, "node lost");
                self.sources.retain(|_, source| source.node != node.id);
                self.ues.node_lost(node.id);
                self.table.remove(&node.global_id.to_string());
            }
            XappEvent::Request(event) => self.request(&event),
            #[cfg(feature = "ue-names")]
            XappEvent::Indication(indication) if self.ues.handle_indication(&indication) => {}
            XappEvent::Indication(indication) => self.indication(&indication),
            XappEvent::ReportsDropped(reports) => warn!(reports, "the RIC dropped reports: this xApp reads too slowly"),
            // a node that returns is subscribed to again, which replaces its suspended subscriptions
            _ => {}
        }
    }

    fn request(&mut self, event: &RequestEvent) {
        #[cfg(feature = "ue-names")]
        self.ues.handle_request(event);
        match event {
            RequestEvent::Subscribed { ticket, subscription, .. } => {
                if let Some(source) = self.pending.remove(ticket) {
                    info!(node = source.node_name, "subscribed");
                    self.was_subscribed = true;
                    self.sources.insert(*subscription, source);
                }
            }
            RequestEvent::SubscriptionFailed { ticket, error } => {
                if let Some(source) = self.pending.remove(ticket) {
                    warn!(node = source.node_name, %error, "subscription failed");
                }
            }
            RequestEvent::SubscriptionEnded { subscription, end } => {
                if let Some(source) = self.sources.remove(subscription) {
                    warn!(node = source.node_name, %end, "subscription ended");
                }
            }
            _ => {}
        }
    }

    fn node_up(&mut self, node: &NodeInfo, ric: &mut Commands<'_>) {
        let name = node.global_id.to_string();
        info!(node = name, functions = node.functions.len(), "node is up");
        self.saw_node = true;
        for function in &node.functions {
            if let Err(error) = self.subscribe(node, &name, function, ric) {
                warn!(node = name, function = function.id.0, "{error:#}");
            }
        }
        self.ues.node_up(node);
        #[cfg(feature = "ue-names")]
        if !self.args.cell {
            self.ues.ask(node, MODELS, self.args.period_ms, EveryUe::AnySignal, ric);
        }
    }

    /// Fails if there was nothing to read.
    fn check(&self) -> anyhow::Result<()> {
        match (self.was_subscribed, self.saw_node) {
            (true, _) => match (&self.args.ue, &self.found_ue) {
                (Some(wanted), None) => match self.ues.ran().resolve(wanted) {
                    Ok(ue) => bail!("KPM has not reported {}", self.ues.ran().describe(ue)),
                    Err(error) => bail!(error),
                },
                _ => Ok(()),
            },
            (false, true) => {
                bail!("no node accepted a subscription to KPM: see the log lines above, or run `ferric doctor`")
            }
            (false, false) => bail!("the RIC has no node: connect a base station, or `ferric ran`, to its E2 address"),
        }
    }

    /// Subscribes to a KPM function; ignores other functions.
    fn subscribe(
        &mut self,
        node: &NodeInfo,
        name: &str,
        function: &FunctionInfo,
        ric: &mut Commands<'_>,
    ) -> anyhow::Result<()> {
        let detected = Detection::from_ran_function(&function.oid, function.revision.0, &function.definition);
        // precedence: the command line, the RIC's configuration, the node's registration
        let hinted = function.model_revision.as_deref().and_then(|revision| revision.parse().ok());
        let detection = match (self.args.kpm.or(hinted), detected) {
            // E2AP v01.00 has no object identifier: the given revision holds if it reads the definition
            (Some(revision), Err(e2sm::Error::UnknownOid))
                if function.oid.trim().is_empty() && revision.reads_definition(&function.definition) =>
            {
                Detection::configured(revision)
            }
            (_, Err(e2sm::Error::UnknownOid)) => return Ok(()), // another model
            (Some(revision), _) => Detection::configured(revision).in_wire_of(&function.oid),
            (None, detected) => detected.context("unknown KPM revision: give --kpm")?,
        };
        info!(node = name, function = function.id.0, "{detection}");
        if detection.revision == Revision::V1_00 {
            let spec = kpm_v1::subscription(&function.definition, self.args.period_ms, self.args.style)?;
            let ticket = ric.subscribe(node.id, RanFunctionId(function.id.0), spec);
            let source = Source::new(node.id, name, detection, Vec::new());
            self.pending.insert(ticket, source);
            return Ok(());
        }
        let Request { spec, action } = kpm_request::subscription(&self.args, &detection, &function.definition)?;
        let ticket = ric.subscribe(node.id, RanFunctionId(function.id.0), spec);
        let source = Source::new(node.id, name, detection, action);
        self.pending.insert(ticket, source);
        Ok(())
    }

    fn indication(&mut self, indication: &Indication<'_>) {
        let received = SystemTime::now();
        let Some(source) = self.sources.get_mut(&indication.subscription) else { return };
        let gather = Gather::new();
        let full; // holds the parts of a fragmented indication
        let (header, message, sn, action_id) = match indication.peek() {
            Some(peeked) => (peeked.header, peeked.message, peeked.sn, peeked.action_id),
            None => match indication.decode(&gather) {
                Ok(decoded) => {
                    let (sn, action_id) = (decoded.sn, decoded.action_id);
                    full = (decoded.header.to_cow().into_owned(), decoded.message.to_cow().into_owned());
                    (&full.0[..], &full.1[..], sn, action_id)
                }
                Err(error) => return warn!(node = source.node_name, %error, "cannot decode indication"),
            },
        };
        self.indications += 1;
        if let Some(sn) = sn {
            let expected = source.next_sn.insert(action_id, sn.0.wrapping_add(1));
            self.lost += expected.map_or(0, |expected| u64::from(sn.0.wrapping_sub(expected)));
        }
        let narrowed = source.detection.with_header(header);
        if narrowed != source.detection {
            info!(node = source.node_name, "{narrowed}");
            source.detection = narrowed;
        }
        self.arena.reset();
        let (revision, wire) = (source.detection.revision, source.detection.wire);
        if revision == Revision::V1_00 {
            return match kpm_v1::values(message) {
                Ok(values) => {
                    let name = source.node_name.clone();
                    self.report(
                        (indication.subscription, action_id),
                        &name,
                        sn.map(|sn| sn.0),
                        values.into_iter(),
                        &[],
                    );
                }
                Err(error) => warn!(node = source.node_name, %error, "cannot decode indication message"),
            };
        }
        let period = Duration::from_millis(self.args.period_ms.into());
        match kpm_report::time_stamp(header, revision, wire, &self.arena) {
            Ok(stamp) => {
                if let Some(latency) = source.latency(stamp, received, period) {
                    self.latency_us += u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
                }
            }
            Err(error) => warn!(node = source.node_name, %error, "cannot decode indication header"),
        }
        let report = match Report::decode(message, &source.action, revision, wire, &self.arena) {
            Ok(report) => report,
            Err(error) => return warn!(node = source.node_name, %error, "cannot decode indication message"),
        };
        let (node, mismatch) = (source.node, report.count_mismatch());
        let mut known = HashMap::new();
        for ue_id in report.ue_ids() {
            let ue = self.ues.learn(node, ue_id);
            if self.found_ue.is_none() && self.args.ue.as_ref().is_some_and(|wanted| self.ues.is(&ue, wanted)) {
                self.found_ue = Some(ue.reference.clone());
            }
            known.insert(ue_id, ue);
        }
        let is_shown = |ue: &KnownUe| self.args.ue.is_none() || self.found_ue.as_ref() == Some(&ue.reference);
        known.retain(|_, ue| is_shown(ue));
        let values = report.values(|ue_id| known.get(ue_id).map(|ue| ue.reference.to_string()));
        let known: Vec<KnownUe> = known.into_values().collect();
        source.check_counts(mismatch);
        let name = source.node_name.clone();
        self.report((indication.subscription, action_id), &name, sn.map(|sn| sn.0), values.into_iter(), &known);
    }

    /// Whether reports are printed as JSON instead of a table.
    fn prints_json(&self) -> bool {
        #[cfg(feature = "xapp")]
        return self.args.json;
        #[cfg(not(feature = "xapp"))]
        false
    }

    /// Prints a report, or puts it into the table. Each value has a subject and a measurement; `ues` are its UEs.
    fn report(
        &mut self,
        stream: Stream,
        node: &str,
        sn: Option<u16>,
        values: impl Iterator<Item = (String, String, Option<f64>)>,
        ues: &[KnownUe],
    ) {
        self.has_news = true;
        #[cfg(feature = "xapp")]
        if self.args.json {
            return print_json(node, sn, values, ues);
        }
        #[cfg(not(feature = "xapp"))]
        let _ = sn; // it appears in JSON only
        self.table.report(Instant::now(), stream, node, values);
        ues.iter().for_each(|ue| self.table.set_names(node, &ue.reference.to_string(), ue.others()));
    }

    fn show(&self) -> std::io::Result<()> {
        let [p50, p99] = self.latencies();
        self.table.show(&format!(
            "t={:.1}s indications={} lost={} p50_us={p50} p99_us={p99}",
            self.started.elapsed().as_secs_f64(),
            self.indications,
            self.lost
        ))
    }

    /// The median and the 99th percentile in microseconds; `-` if no latency is known.
    fn latencies(&self) -> [String; 2] {
        p50_p99(&self.latency_us).map(|us| if self.latency_us.is_empty() { "-".to_owned() } else { us.to_string() })
    }

    fn summary(&self) -> String {
        let [p50, p99] = self.latencies();
        format!("indications={} lost={} p50_us={p50} p99_us={p99}", self.indications, self.lost)
    }
}

/// Prints a report as one JSON object.
#[cfg(feature = "xapp")]
fn print_json(
    node: &str,
    sn: Option<u16>,
    values: impl Iterator<Item = (String, String, Option<f64>)>,
    ues: &[KnownUe],
) {
    let mut by_subject: BTreeMap<String, serde_json::Map<String, serde_json::Value>> = BTreeMap::new();
    for (subject, measurement, value) in values {
        by_subject.entry(subject).or_default().insert(measurement, value.map_or(serde_json::Value::Null, Into::into));
    }
    let ues: BTreeMap<String, _> = ues.iter().map(|ue| (ue.reference.to_string(), ue.json())).collect();
    program::outln!("{}", serde_json::json!({ "node": node, "sn": sn, "values": by_subject, "ues": ues }));
}

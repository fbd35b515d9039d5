//! `/v1/kpm/stream`: measurements of E2SM-KPM, as nodes report them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use e2sm::Arena;
use e2sm::common::{CellReference, Cgi};
use e2sm::kpm::{
    ActionDefinition, Detection, EveryUe, IndicationMessage, MeasurementRequest, MeasurementType, ReportRequest, Row,
    Scope,
};
use ferric::e2::topology::UeReference;
use ferric::e2::{Indication, Node, NodeId, RequestEvent, SubscriptionId, SubscriptionOrder, Ticket};
use ferric::e2ap::GlobalE2NodeId;
use ferric::server::IappContext;
use iapp_rest::{Job, PlannedReport, plan_report};
use rest::{Operation, Parameter, Problem, Request, Response, Route, StreamEvent, StreamForms, StreamSender};
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::app::{AppQueue, RicApp};
use super::cell_states::CellStateReports;
use super::overview::{KnownCell, cell_at, known_cells};

/// The most measurements of a stream.
const MAX_MEASUREMENTS: usize = 64;
/// The most names in a list of a filter.
const MAX_FILTER_NAMES: usize = 64;
/// The period of a stream that names none.
const DEFAULT_PERIOD_MS: u32 = 1000;

const MEASUREMENTS: Parameter =
    Parameter::text("measurements", "Names of measurements, separated by commas: `DRB.UEThpDl,RRU.PrbTotDl`.")
        .required();
const PERIOD: Parameter = Parameter::of::<u32>("period_ms", "The reporting period, 1 to 3600000. Default: 1000.");
const UE: Parameter = Parameter::text("ue", "The UE whose rows are streamed: `amf:1`. Default: each UE.");
const CELL: Parameter = Parameter::text(
    "cell",
    "The cell that the measurements are of, as in `/v1/cells`, or a node that they are of as a whole; excludes `ue`.",
);

/// The event `kpm`: what a node has reported of one UE, or of a cell or node.
#[derive(JsonSchema)]
#[schemars(rename = "KpmRow")]
#[allow(dead_code, reason = "the schema of what the server writes")]
struct RowDocument {
    /// The node that reports.
    node: String,
    /// The UE, by the first id that the node has for it; absent for a cell or a node.
    #[schemars(skip_serializing_if = "Option::is_none", with = "String")]
    ue: Option<String>,
    /// The cell or node of the request.
    #[schemars(skip_serializing_if = "Option::is_none", with = "String")]
    cell: Option<String>,
    /// When the RIC received the report, in milliseconds of Unix time.
    time_ms: u64,
    /// The values by the names of the measurements; null: the node has none.
    measurements: Map<String, Value>,
}

/// What a stream is of.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Subject {
    EachUe,
    Ue(String),
    /// A cell, or a node.
    Cell(String),
}

/// What a client asked for.
struct KpmRequest {
    measurements: Vec<String>,
    period_ms: u32,
    subject: Subject,
    /// The nodes that had the cell when the stream was opened, and the cell: a node that sets up again may not have reported its
    /// cells yet.
    found: Vec<(GlobalE2NodeId, Cgi)>,
    reader: StreamSender,
    /// What the reader of a WebSocket has narrowed its stream to since.
    filter: Arc<Mutex<RowFilter>>,
}

/// The rows that a reader takes; where there is no list, all.
#[derive(Debug, Default, PartialEq, Eq)]
struct RowFilter {
    nodes: Option<Vec<String>>,
    ues: Option<Vec<String>>,
}

impl RowFilter {
    /// Reads a message: the lists `nodes` and `ues`, or null for all.
    fn read(members: &Map<String, Value>) -> Result<Self, String> {
        let mut filter = RowFilter::default();
        for (name, value) in members {
            let list = match name.as_str() {
                "nodes" => &mut filter.nodes,
                "ues" => &mut filter.ues,
                _ => return Err("filter: the lists `nodes` and `ues`, and nothing else".to_owned()),
            };
            *list = match value {
                Value::Null => None,
                Value::Array(names) if names.len() <= MAX_FILTER_NAMES => {
                    let names = names.iter().map(|name| name.as_str().map(str::to_owned));
                    Some(names.collect::<Option<_>>().ok_or_else(|| format!("{name}: a list of texts, or null"))?)
                }
                _ => return Err(format!("{name}: a list of at most {MAX_FILTER_NAMES} texts, or null")),
            };
        }
        for ue in filter.ues.iter_mut().flatten() {
            *ue = ue.parse::<UeReference>().map_err(|error| format!("ues: `{ue}`: {error}"))?.to_string();
        }
        Ok(filter)
    }

    fn takes_node(&self, node: &str) -> bool {
        self.nodes.as_ref().is_none_or(|nodes| nodes.iter().any(|known| known == node))
    }

    /// Rows that are not about a UE pass.
    fn takes_ue(&self, ue: Option<&String>) -> bool {
        ue.is_none_or(|ue| self.ues.as_ref().is_none_or(|ues| ues.contains(ue)))
    }
}

/// A subscription of a stream at a node.
struct Source {
    request: Arc<KpmRequest>,
    node: NodeId,
    name: String,
    detection: Detection,
    /// The encoded action definition: it names values that the node sends without names.
    action: Vec<u8>,
}

/// The streams that are open, and their subscriptions.
#[derive(Default)]
pub(super) struct KpmStreams {
    streams: Vec<Arc<KpmRequest>>,
    requested: HashMap<Ticket, Source>,
    sources: HashMap<SubscriptionId, Vec<Source>>,
    arena: Arena,
}

/// Returns the route.
pub(super) fn route(queue: &AppQueue) -> Route {
    let operation =
        Operation::get("/v1/kpm/stream", "streamKpm", "Measurements of E2SM-KPM as nodes report them").tag("events");
    let operation = operation.query(&[MEASUREMENTS, PERIOD, UE, CELL]).describe(
        "As Server-Sent Events, or by WebSocket. The RIC subscribes at each node that offers the measurements in E2SM-KPM v02.01 \
         or later, also at those that set up later, until the stream ends. If nodes with KPM are connected and none of them offers \
         what is asked for, the answer is 422. Events: `kpm`; `node_refused`, with the reason; `lost`. The reader of a WebSocket may \
         send `{\"type\": \"filter\", \"ues\": […], \"nodes\": […]}` to get fewer rows, and `pause`, `resume`, `window`, `ack`.",
    );
    Route::queued(operation.streams::<RowDocument>(StreamForms::Both, "The rows."), queue, |request| {
        let (stream, response) = read(request)?;
        let job: Job<RicApp> = Box::new(move |app, ric, reply| {
            reply.send(app.kpm.open(stream, &app.cells, ric).map(|()| response));
        });
        Ok(job)
    })
}

fn read(request: &Request) -> Result<(KpmRequest, Response), Problem> {
    let refused = |name: &'static str, why: String| Problem::bad_request(format!("{name}: {why}")).with("at", name);
    let names = request.query("measurements").unwrap_or_default();
    let measurements: Vec<String> = names.split(',').map(|name| name.trim().to_owned()).collect();
    if measurements.iter().any(String::is_empty) || measurements.len() > MAX_MEASUREMENTS {
        return Err(refused("measurements", format!("1 to {MAX_MEASUREMENTS} names, separated by commas")));
    }
    let subject = match (request.query("ue"), request.query("cell")) {
        (None, None) => Subject::EachUe,
        (Some(ue), None) => match ue.parse::<UeReference>() {
            Ok(ue) => Subject::Ue(ue.to_string()),
            Err(error) => return Err(refused("ue", format!("`{ue}`: {error}"))),
        },
        (None, Some(cell)) => Subject::Cell(cell.to_owned()),
        (Some(_), Some(_)) => return Err(refused("cell", "excludes `ue`".to_owned())),
    };
    let period_ms = request.query_number("period_ms", 1..=3_600_000)?.unwrap_or(DEFAULT_PERIOD_MS);
    let (reader, response) = request.open_stream();
    let filter = Arc::<Mutex<RowFilter>>::default();
    let of_reader = Arc::clone(&filter);
    let response = response.filtered_by(move |members| {
        *of_reader.lock().unwrap_or_else(PoisonError::into_inner) = RowFilter::read(members)?;
        Ok(())
    });
    let found = Vec::new();
    Ok((KpmRequest { measurements, period_ms, subject, found, reader, filter }, response))
}

impl KpmStreams {
    /// Opens a stream: subscribes at the nodes that offer what it asks for.
    fn open(
        &mut self,
        mut request: KpmRequest,
        cells: &CellStateReports,
        ric: &mut IappContext<'_>,
    ) -> Result<(), Problem> {
        let nodes: Vec<Node> = ric.nodes().cloned().collect();
        if let Subject::Cell(cell) = &request.subject {
            request.found = find_cell(cell, &known_cells(ric.ran(), cells), &nodes);
            if request.found.is_empty() && !nodes.iter().any(|node| node.global_id.to_string() == *cell) {
                let why = format!("there is no cell or node `{cell}`; see /v1/cells and /v1/nodes");
                return Err(Problem::not_found(why));
            }
        }
        let request = Arc::new(request);
        let (mut subscribed, mut refused) = (false, None);
        for node in &nodes {
            match self.subscribe(&request, node, &request.found, ric) {
                Ok(is_subscribed) => subscribed |= is_subscribed,
                Err(why) => refused = refused.or(Some(format!("{}: {why}", node.global_id))),
            }
        }
        match refused {
            Some(why) if !subscribed => Err(Problem::unprocessable(why).with("at", "measurements")),
            _ => {
                self.streams.push(request);
                Ok(())
            }
        }
    }

    /// Subscribes open streams at a node that has set up.
    pub fn add_node(&mut self, node: &Node, cells: &CellStateReports, ric: &mut IappContext<'_>) {
        for request in self.streams.clone() {
            let mut found = Vec::new();
            if let Subject::Cell(cell) = &request.subject {
                found = find_cell(cell, &known_cells(ric.ran(), cells), std::slice::from_ref(node));
                found.extend(&request.found);
            }
            if let Err(why) = self.subscribe(&request, node, &found, ric) {
                refuse(&request, &node.global_id.to_string(), &why);
            }
        }
    }

    /// Forgets the subscriptions at a node that is lost: they end with it.
    pub fn remove_node(&mut self, node: NodeId) {
        self.requested.retain(|_, source| source.node != node);
        self.sources.retain(|_, sources| sources.iter().all(|source| source.node != node));
    }

    /// Subscribes a stream at a node, which may have its cell. Returns whether there is something to subscribe to.
    fn subscribe(
        &mut self,
        request: &Arc<KpmRequest>,
        node: &Node,
        cells: &[(GlobalE2NodeId, Cgi)],
        ric: &mut IappContext<'_>,
    ) -> Result<bool, String> {
        let scope = match &request.subject {
            Subject::EachUe | Subject::Ue(_) => Scope::EveryUe(EveryUe::AnySignal),
            Subject::Cell(cell) if node.global_id.to_string() == *cell => Scope::Node,
            Subject::Cell(_) => match cells.iter().find(|(of, _)| *of == node.global_id) {
                Some((_, cell)) => Scope::Cell(*cell),
                None => return Ok(false),
            },
        };
        let Some((function, detection, spec, action)) = plan(request, scope, node)? else { return Ok(false) };
        let order = SubscriptionOrder { restore: false, ..spec.into() };
        let ticket = ric.subscribe(node.id, function, order).map_err(|misuse| misuse.to_string())?;
        let (request, name) = (Arc::clone(request), node.global_id.to_string());
        self.requested.insert(ticket, Source { request, node: node.id, name, detection, action });
        Ok(true)
    }

    /// Handles the answer to a subscription request, and its end.
    pub fn handle_request(&mut self, event: &RequestEvent, ric: &mut IappContext<'_>) {
        match event {
            RequestEvent::Subscribed { ticket, subscription, .. } => {
                if let Some(source) = self.requested.remove(ticket) {
                    self.sources.entry(*subscription).or_default().push(source);
                    self.forget_closed(ric);
                }
            }
            RequestEvent::SubscriptionFailed { ticket, error } => {
                if let Some(source) = self.requested.remove(ticket) {
                    refuse(&source.request, &source.name, &error.to_string());
                }
            }
            RequestEvent::SubscriptionEnded { subscription, .. } => drop(self.sources.remove(subscription)),
            _ => {}
        }
    }

    /// Sends the rows of a report to the streams that it is for.
    pub fn handle_indication(&mut self, indication: &Indication<'_>, ric: &mut IappContext<'_>) {
        let Some(sources) = self.sources.get(&indication.subscription) else { return };
        let gather = per::Gather::new();
        let decoded = indication.payload.is_none().then(|| indication.decode(&gather));
        let message = match (indication.payload, &decoded) {
            (Some((_, message)), _) => message.into(),
            (None, Some(Ok(decoded))) => decoded.message.to_cow(),
            _ => return,
        };
        self.arena.reset();
        let mut is_closed = false;
        for source in sources {
            for event in rows(source, &message, &self.arena) {
                is_closed |= !source.request.reader.send(event);
            }
        }
        if is_closed {
            self.forget_closed(ric);
        }
    }

    /// Ends the subscriptions of streams without a reader.
    pub fn forget_closed(&mut self, ric: &mut IappContext<'_>) {
        self.streams.retain(|request| !request.reader.is_closed());
        self.sources.retain(|subscription, sources| {
            sources.retain(|source| !source.request.reader.is_closed());
            if sources.is_empty() {
                // it may have ended already
                let _ = ric.unsubscribe(*subscription);
            }
            !sources.is_empty()
        });
    }
}

/// Tells the reader that a node does not report what it asked for.
fn refuse(request: &KpmRequest, node: &str, why: &str) {
    request.reader.send(StreamEvent::new("node_refused", &json!({ "node": node, "reason": why })));
}

/// The nodes that have a cell, and the cell as each of them names it.
fn find_cell(cell: &str, known: &[KnownCell<'_>], nodes: &[Node]) -> Vec<(GlobalE2NodeId, Cgi)> {
    let Ok(cell) = cell.parse::<CellReference>() else { return Vec::new() };
    let named = known.iter().filter(|known| cell.is(known.name.0, known.name.1));
    let at_node = |known: &KnownCell<'_>| {
        let node = nodes.iter().find(|node| node.id == known.node)?.global_id;
        Some((node, cell_at(&node, known.name)))
    };
    named.filter_map(at_node).collect()
}

/// Plans the subscription of a stream at a node; `None` if the node has no KPM function that is known.
fn plan(request: &KpmRequest, scope: Scope<'_>, node: &Node) -> Result<Option<PlannedReport>, String> {
    let measurements: Vec<_> = request.measurements.iter().map(|name| MeasurementRequest::named(name)).collect();
    let wanted = ReportRequest {
        measurements: &measurements,
        granularity_period_ms: request.period_ms,
        reporting_period_ms: request.period_ms,
        scope,
    };
    plan_report(&wanted, node)
}

/// Returns an event for each UE of a report, or one for a cell.
fn rows(source: &Source, message: &[u8], arena: &Arena) -> Vec<StreamEvent> {
    let filter = source.request.filter.lock().unwrap_or_else(PoisonError::into_inner);
    if !filter.takes_node(&source.name) {
        return Vec::new();
    }
    let Detection { revision, wire, .. } = source.detection;
    let Ok(message) = IndicationMessage::decode_in(message, revision, wire, arena) else { return Vec::new() };
    let action = ActionDefinition::decode_in(&source.action, revision, wire, arena).ok();
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let time_ms = u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX);
    let mut events = Vec::new();
    let mut current: Option<(Option<String>, usize, Map<String, Value>)> = None;
    let write = |row: Option<(Option<String>, usize, Map<String, Value>)>, events: &mut Vec<StreamEvent>| {
        let Some((ue, _, measurements)) = row else { return };
        if matches!((&source.request.subject, &ue), (Subject::Ue(wanted), of) if of.as_ref() != Some(wanted)) {
            return;
        }
        if !filter.takes_ue(ue.as_ref()) {
            return;
        }
        let mut row = Map::new();
        row.insert("node".into(), source.name.as_str().into());
        if let Some(ue) = ue {
            row.insert("ue".into(), ue.into());
        }
        if let Subject::Cell(cell) = &source.request.subject {
            row.insert("cell".into(), cell.as_str().into());
        }
        row.insert("time_ms".into(), time_ms.into());
        row.insert("measurements".into(), measurements.into());
        events.push(StreamEvent::new("kpm", &row.into()));
    };
    for row in message.rows(action.as_ref()) {
        let ue = row.ue.map(|ue| UeReference::of(ue).to_string());
        if current.as_ref().is_none_or(|(of, record, _)| *of != ue || *record != row.record) {
            write(current.take(), &mut events);
            current = Some((ue, row.record, Map::new()));
        }
        if let Some((_, _, measurements)) = &mut current {
            measurements.insert(name_of(&row), row.value.number().into());
        }
    }
    write(current.take(), &mut events);
    events
}

/// The name of a value; `?N` is the N-th of a record whose values have no names.
fn name_of(row: &Row<'_>) -> String {
    match row.measurement {
        Some(MeasurementType::MeasName(name)) => name.0.to_string(),
        Some(MeasurementType::MeasId(id)) => format!("#{}", id.0),
        None => format!("?{}", row.position + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_of_a_reader_is_checked_and_chooses_rows() {
        let read = |filter: Value| RowFilter::read(filter.as_object().unwrap());
        let filter = read(json!({ "nodes": ["a"], "ues": ["amf:1"] })).unwrap();
        let (one, two) = ("amf:1".to_owned(), "amf:2".to_owned());
        assert!(filter.takes_node("a") && !filter.takes_node("b"));
        assert!(filter.takes_ue(Some(&one)) && !filter.takes_ue(Some(&two)) && filter.takes_ue(None));
        assert_eq!(read(json!({})), Ok(RowFilter::default()));
        assert_eq!(read(json!({ "nodes": null })), Ok(RowFilter::default()));
        for (wrong, reason) in [
            (json!({ "cells": [] }), "`nodes` and `ues`, and nothing else"),
            (json!({ "nodes": "a" }), "nodes: a list of at most 64 texts"),
            (json!({ "nodes": [1] }), "nodes: a list of texts"),
            (json!({ "ues": ["amf"] }), "ues: `amf`"),
            (json!({ "ues": vec!["amf:1"; 65] }), "at most 64"),
        ] {
            assert!(read(wrong.clone()).unwrap_err().contains(reason), "{wrong}");
        }
    }
}

//! `/v1/nodes`: connected nodes, their RAN functions, and the sources of their statistics; `/v1/base-stations`: what they make
//! up.

use ferric::e2::topology::{BaseStation, Part};
use rest::Method;
use serde::Serialize;

use super::super::SlicingController;
use super::super::node::{Node, Source, SourceState};
use super::{AppQueue, Database, Read, ReportModel, list, reading};
use iapp_rest::Job;
use rest::{Response, Route};

pub(super) fn routes(queue: &AppQueue) -> Vec<Route> {
    vec![
        Route::queued(Method::GET, "/v1/nodes", queue, |_| {
            let job: Job<SlicingController> = Box::new(|app, _, reply| {
                let nodes: Vec<_> = app.database.nodes().iter().map(Summary::of).collect();
                reply.send(Ok(Response::ok(list("nodes", nodes))));
            });
            Ok(job)
        }),
        Route::queued(Method::GET, "/v1/base-stations", queue, |_| {
            let job: Job<SlicingController> = Box::new(|app, ric, reply| {
                let stations: Vec<_> =
                    ric.ran().stations().map(|station| BaseStationDocument::of(station, &app.database)).collect();
                reply.send(Ok(Response::ok(list("base_stations", stations))));
            });
            Ok(job)
        }),
        reading("/v1/nodes/{node}", queue, |_| {
            let read: Read = Box::new(|node| Ok(Response::ok(NodeDocument::of(node))));
            Ok(read)
        }),
    ]
}

#[derive(Serialize)]
struct Summary {
    id: String,
    e2ap: String,
    ues: usize,
    has_slices: bool,
}

impl Summary {
    fn of(node: &Node) -> Self {
        let has_slices = node.source(ReportModel::Slice).is_some();
        Summary { id: node.name.clone(), e2ap: node.version.to_string(), ues: node.rntis().len(), has_slices }
    }
}

#[derive(Serialize)]
struct BaseStationDocument {
    id: String,
    /// Whether the parts that its interfaces lead to are connected.
    is_complete: bool,
    nodes: Vec<PartDocument>,
    cells: Vec<CellDocument>,
    /// The parts that are not connected.
    missing: Vec<String>,
}

#[derive(Serialize)]
struct PartDocument {
    id: String,
    part: &'static str,
}

#[derive(Serialize)]
struct CellDocument {
    id: String,
    node: String,
}

impl BaseStationDocument {
    fn of(station: &BaseStation, database: &Database) -> Self {
        let name = |id| database.node(id).map_or_else(String::new, |node| node.name.clone());
        let is_split = station.nodes().any(|(_, part)| part != Part::Control) || !station.is_complete();
        let part = |part| match part {
            Part::Control if is_split => "cu-cp",
            Part::Control => "whole",
            Part::Du(_) => "du",
            Part::CuUp(_) => "cu-up",
        };
        let nodes = station.nodes().map(|(node, of)| PartDocument { id: name(node), part: part(of) });
        let cells = station.cells().map(|(node, cell)| CellDocument { id: cell.to_string(), node: name(node) });
        BaseStationDocument {
            id: station.key().to_string(),
            is_complete: station.is_complete(),
            nodes: nodes.collect(),
            cells: cells.collect(),
            missing: station.missing().map(|part| part.to_string()).collect(),
        }
    }
}

#[derive(Serialize)]
struct NodeDocument {
    #[serde(flatten)]
    summary: Summary,
    functions: Vec<Function>,
    sources: Vec<SourceDocument>,
}

#[derive(Serialize)]
struct Function {
    id: u16,
    revision: u16,
    oid: Box<str>,
}

#[derive(Serialize)]
struct SourceDocument {
    model: &'static str,
    function: u16,
    wire: &'static str,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    reports: u64,
    undecodable: u64,
}

impl NodeDocument {
    fn of(node: &Node) -> Self {
        let functions = node.functions.iter();
        let functions =
            functions.map(|(id, revision, oid)| Function { id: id.0, revision: *revision, oid: oid.clone() });
        let sources = node.sources.iter().map(SourceDocument::of).collect();
        NodeDocument { summary: Summary::of(node), functions: functions.collect(), sources }
    }
}

impl SourceDocument {
    fn of(source: &Source) -> Self {
        let (state, reason) = match &source.state {
            SourceState::Requested(_) => ("requested", None),
            SourceState::Subscribed(_) => ("subscribed", None),
            SourceState::Unavailable(why) => ("unavailable", Some(why.clone())),
        };
        let Source { model, function, wire, reports, undecodable, .. } = source;
        SourceDocument {
            model: model.name(),
            function: function.0,
            wire: wire.name(),
            state,
            reason,
            reports: *reports,
            undecodable: *undecodable,
        }
    }
}

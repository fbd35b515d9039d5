//! `/v1/nodes`: connected nodes, their RAN functions, and the sources of their statistics; `/v1/base-stations`: what they make
//! up.

use ferric::e2::topology::{BaseStation, Part};
use ids::CellIdentity;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::SlicingController;
use super::super::node::{Node, Source, SourceState};
use super::{AppQueue, Database, NODE, Read, ReportModel, reading};
use iapp_rest::Job;
use rest::{Operation, Response, Route};

pub(super) fn routes(queue: &AppQueue) -> Vec<Route> {
    let get = |path, id, summary| Operation::get(path, id, summary).tag("nodes");
    let stations = get("/v1/base-stations", "getBaseStations", "The base stations that the connected E2 nodes make up")
        .returns::<BaseStations>("The base stations.");
    let node = get("/v1/nodes/{node}", "getNode", "A node: its RAN functions, and the sources of its statistics")
        .path(&[NODE])
        .returns::<NodeDocument>("The node.");
    vec![
        Route::queued(
            get("/v1/nodes", "getNodes", "The connected E2 nodes").returns::<Nodes>("The nodes."),
            queue,
            |_| {
                let job: Job<SlicingController> = Box::new(|app, _, reply| {
                    let nodes = app.database.nodes().iter().map(Summary::of).collect();
                    reply.send(Ok(Response::ok(Nodes { nodes })));
                });
                Ok(job)
            },
        ),
        Route::queued(stations, queue, |_| {
            let job: Job<SlicingController> = Box::new(|app, ric, reply| {
                let base_stations =
                    ric.ran().stations().map(|station| BaseStationDocument::of(station, &app.database)).collect();
                reply.send(Ok(Response::ok(BaseStations { base_stations })));
            });
            Ok(job)
        }),
        reading(node, queue, |_| {
            let read: Read = Box::new(|node| Ok(Response::ok(NodeDocument::of(node))));
            Ok(read)
        }),
    ]
}

#[derive(Serialize, JsonSchema)]
struct Nodes {
    nodes: Vec<Summary>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "NodeSummary")]
struct Summary {
    /// The node's identity, as logged: `gnb-00101-e00`.
    id: String,
    /// Its version of E2AP.
    e2ap: String,
    /// The number of its known UEs.
    ues: usize,
    /// Whether it offers a SLICE function.
    has_slices: bool,
}

impl Summary {
    fn of(node: &Node) -> Self {
        let has_slices = node.source(ReportModel::Slice).is_some();
        Summary { id: node.name.clone(), e2ap: node.version.to_string(), ues: node.rntis().len(), has_slices }
    }
}

#[derive(Serialize, JsonSchema)]
struct BaseStations {
    base_stations: Vec<BaseStationDocument>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BaseStation")]
struct BaseStationDocument {
    /// The identity that its nodes share, as logged.
    id: String,
    /// Whether the parts that its interfaces lead to are connected.
    is_complete: bool,
    nodes: Vec<PartDocument>,
    /// Its cells, as far as its nodes declare them: those of F1 setups.
    cells: Vec<CellDocument>,
    /// The parts that are not connected.
    missing: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BaseStationPart")]
struct PartDocument {
    /// The node's identity.
    id: String,
    #[schemars(extend("enum" = ["whole", "cu-cp", "cu-up", "du"]))]
    part: &'static str,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BaseStationCell")]
struct CellDocument {
    /// The cell's identity, in nine hexadecimal digits: `003800001`.
    id: String,
    /// The node that serves it: the DU, if it is connected.
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
        let cells = station.cells().map(|(node, cell)| CellDocument {
            id: CellIdentity(cell.nr_cell_identity.value).to_string(),
            node: name(node),
        });
        BaseStationDocument {
            id: station.key().to_string(),
            is_complete: station.is_complete(),
            nodes: nodes.collect(),
            cells: cells.collect(),
            missing: station.missing().map(|part| part.to_string()).collect(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Node")]
struct NodeDocument {
    #[serde(flatten)]
    summary: Summary,
    functions: Vec<Function>,
    sources: Vec<SourceDocument>,
}

/// A RAN function.
#[derive(Serialize, JsonSchema)]
struct Function {
    id: u16,
    revision: u16,
    /// The service model's object identifier.
    oid: Box<str>,
}

/// A source of statistics of a node.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Source")]
struct SourceDocument {
    #[schemars(extend("enum" = ["mac", "rlc", "pdcp", "tc", "slice", "rrc"]))]
    model: &'static str,
    /// The RAN function's id.
    function: u16,
    /// The encoding of the service model.
    #[schemars(extend("enum" = ["per", "plain", "flat"]))]
    wire: &'static str,
    #[schemars(extend("enum" = ["requested", "subscribed", "unavailable"]))]
    state: &'static str,
    /// Why there is no subscription.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    reason: Option<String>,
    /// Received reports.
    reports: u64,
    /// Received reports that could not be decoded.
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

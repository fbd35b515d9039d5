//! `/v1/nodes/{node}/configuration`: configuration structures of a node's cells, read by queries and set by controls (E2SM-CCC).

use std::collections::{BTreeMap, HashMap};

use e2sm::ccc::{
    self, OID, QueryOutcome as CccOutcome, QueryOutcomeFormat, RanConfigurationStructure, RanFunctionDefinition,
};
use ferric::e2::{Node, QueryOutcome, RequestEvent, Ticket};
use ferric::e2ap::{RanFunctionId, Version};
use ferric::server::IappContext;
use iapp_rest::{Job, misuse_problem, node_lost, problem_of};
use ids::CellIdentity;
use rest::{Operation, Parameter, Problem, Reply, Response, Route, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::app::{AppQueue, RicApp};
use super::messages::NODE;
use super::verification::Acknowledged;

/// The most structures of a request.
const MAX_STRUCTURES: usize = 32;
/// The most names that a refusal has.
const NEAREST: usize = 8;

const STRUCTURES: Parameter =
    Parameter::text("structures", "Names of structures, separated by commas: `O-NRCellDU,O-RRMPolicyRatio`.")
        .required();

/// The structures of a node's cells.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NodeConfiguration")]
struct ConfigurationDocument {
    cells: Vec<CellDocument>,
}

/// The structures of a cell.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CellConfiguration")]
struct CellDocument {
    /// The cell, as in `/v1/cells`.
    cell: String,
    /// The attributes of each structure, as E2SM-CCC names them.
    structures: BTreeMap<String, Map<String, Value>>,
}

/// Structures to set. Attributes that are left out stay.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ConfigurationChange")]
struct ChangeBody {
    /// The attributes of each structure, as E2SM-CCC names them: 1 to 32 structures.
    #[schemars(extend("minProperties" = 1, "maxProperties" = 32))]
    structures: BTreeMap<String, Map<String, Value>>,
}

/// The requests without an answer.
#[derive(Default)]
pub(super) struct CellConfigurations {
    queries: HashMap<Ticket, (Reply, String)>,
    changes: HashMap<Ticket, (Reply, String)>,
}

/// Returns the routes.
pub(super) fn routes(queue: &AppQueue) -> [Route; 2] {
    let path = "/v1/nodes/{node}/configuration";
    let read = Operation::get(path, "getNodeConfiguration", "Query configuration structures of a node's cells")
        .tag("nodes")
        .path(&[NODE])
        .query(&[STRUCTURES])
        .returns::<ConfigurationDocument>("The structures of each cell that has them.")
        .describe(
            "By a query of E2SM-CCC, which E2AP has since v03.00: a node of an earlier version is answered with 409.",
        );
    let change = Operation::put(path, "putNodeConfiguration", "Set configuration structures of a node's cells")
        .tag("nodes")
        .path(&[NODE])
        .takes::<ChangeBody>()
        .example(json!({ "structures": { "O-NRCellDU": { "administrativeState": "LOCKED" } } }))
        .returns::<Acknowledged>("The node has set them in each of its cells that offer them.")
        .describe(
            "By a control of E2SM-CCC, all structures together. 409 with `not_set`: the node has acknowledged it and has not set this \
             structure.",
        );
    [
        Route::queued(read, queue, |request| {
            let (node, names) =
                (request.parameter(0).to_owned(), names(request.query("structures").unwrap_or_default())?);
            let job: Job<RicApp> = Box::new(move |app, ric, reply| match query(&node, &names, ric) {
                Ok(ticket) => drop(app.configurations.queries.insert(ticket, (reply, node))),
                Err(problem) => reply.send(Err(problem)),
            });
            Ok(job)
        }),
        Route::queued(change, queue, |request| {
            let node = request.parameter(0).to_owned();
            let structures = structures(request.json()?)?;
            let job: Job<RicApp> = Box::new(move |app, ric, reply| match control(&node, &structures, ric) {
                Ok(ticket) => drop(app.configurations.changes.insert(ticket, (reply, node))),
                Err(problem) => reply.send(Err(problem)),
            });
            Ok(job)
        }),
    ]
}

fn names(list: &str) -> Result<Vec<String>, Problem> {
    let names: Vec<String> = list.split(',').map(|name| name.trim().to_owned()).collect();
    if names.iter().any(String::is_empty) || names.len() > MAX_STRUCTURES {
        let what = format!("structures: 1 to {MAX_STRUCTURES} names, separated by commas");
        return Err(Problem::bad_request(what).with("at", "structures"));
    }
    Ok(names)
}

fn structures(ChangeBody { structures }: ChangeBody) -> Result<Vec<RanConfigurationStructure>, Problem> {
    if structures.is_empty() || structures.len() > MAX_STRUCTURES {
        let what = format!("structures: 1 to {MAX_STRUCTURES} structures");
        return Err(Problem::unprocessable(what).with("at", "structures"));
    }
    let read = |(name, attributes): (String, Map<String, Value>)| {
        RanConfigurationStructure::new(&name, attributes).map_err(|error| {
            let at = format!("structures.{name}");
            Problem::unprocessable(format!("{at}: {error}")).with("at", at)
        })
    };
    structures.into_iter().map(read).collect()
}

/// The node of that name, and its function of E2SM-CCC, whose cells offer all structures.
fn function<'r>(
    node: &str,
    names: impl Iterator<Item = &'r str>,
    ric: &IappContext<'_>,
) -> Result<(Node, RanFunctionId, RanFunctionDefinition), Problem> {
    let found = ric.nodes().find(|known| known.global_id.to_string() == node).cloned();
    let found = found.ok_or_else(|| Problem::not_found(format!("there is no node `{node}`; see /v1/nodes")))?;
    let function = found.functions.iter().find(|function| function.oid.trim() == OID);
    let definition = function.and_then(|of| Some((of.id, RanFunctionDefinition::decode(&of.definition).ok()?)));
    let (id, definition) = definition
        .ok_or_else(|| Problem::not_found(format!("{node} does not offer configuration of cells (E2SM-CCC)")))?;
    for name in names {
        if !definition.structures_of_cells().any(|offered| offered == name) {
            let mut known = e2sm::kpm::nearest_names(name, definition.structures_of_cells());
            known.truncate(NEAREST);
            let what = format!("structures: {node} does not offer {name}");
            return Err(Problem::unprocessable(what).with("at", "structures").with("known", known));
        }
    }
    Ok((found, id, definition))
}

fn query(node: &str, names: &[String], ric: &mut IappContext<'_>) -> Result<Ticket, Problem> {
    let (found, function, _) = function(node, names.iter().map(String::as_str), ric)?;
    if found.version < Version::V3_01 {
        let what = format!("{node} uses E2AP {}, which has no queries; they came with v03", found.version);
        return Err(Problem::conflict(what));
    }
    let (header, definition) = ccc::query_of_cells(names).map_err(|error| Problem::bad_request(error.to_string()))?;
    ric.query(found.id, function, &header, &definition).map_err(misuse_problem)
}

fn control(node: &str, structures: &[RanConfigurationStructure], ric: &mut IappContext<'_>) -> Result<Ticket, Problem> {
    let (found, function, definition) = function(node, structures.iter().map(RanConfigurationStructure::name), ric)?;
    let control = definition.control_of_cells(structures).map_err(|error| Problem::unprocessable(error.to_string()))?;
    let none =
        || Problem::unprocessable(format!("structures: no cell of {node} offers all of them")).with("at", "structures");
    let (header, message) = control.ok_or_else(none)?;
    ric.control(found.id, function, &header, &message).map_err(misuse_problem)
}

impl CellConfigurations {
    /// Handles the answer of a node.
    pub fn handle_request(&mut self, event: &RequestEvent) {
        match event {
            RequestEvent::Queried { ticket, outcome } => {
                if let Some((reply, node)) = self.queries.remove(ticket) {
                    reply.send(read(outcome).map_err(|problem| problem.with("node", node)));
                }
            }
            RequestEvent::Controlled { ticket, outcome } => {
                let Some((reply, node)) = self.changes.remove(ticket) else { return };
                let not_set = match outcome {
                    ferric::e2::ControlOutcome::Acknowledged(outcome) => {
                        outcome.as_deref().and_then(ccc::first_not_set)
                    }
                    _ => None,
                };
                let problem = problem_of(outcome, |outcome| ccc::first_not_set(outcome?));
                let unset = |what: String| Problem::conflict(format!("not set: {what}")).with("not_set", what);
                reply.send(match problem.or_else(|| not_set.map(unset)) {
                    None => Ok(Response::ok(Acknowledged::by(node))),
                    Some(problem) => Err(problem.with("node", node)),
                });
            }
            _ => {}
        }
    }
}

/// Reads the answer to a query.
fn read(outcome: &QueryOutcome) -> Result<Response, Problem> {
    match outcome {
        QueryOutcome::Answered(octets) => match CccOutcome::decode(octets) {
            Ok(CccOutcome { format: QueryOutcomeFormat::CellLevel(cells) }) => {
                let cell = |cell: ccc::CellQueried| CellDocument {
                    cell: CellIdentity(ferric::e2::topology::cell_identity(&cell.cell_global_id)).to_string(),
                    structures: cell.structures.iter().map(|of| (of.0.name().to_owned(), of.0.attributes())).collect(),
                };
                Ok(Response::ok(ConfigurationDocument { cells: cells.into_iter().map(cell).collect() }))
            }
            Ok(_) => Err(Problem::new(StatusCode::BAD_GATEWAY, "the node has not answered about its cells")),
            Err(error) => {
                Err(Problem::new(StatusCode::BAD_GATEWAY, format!("the node's answer cannot be read: {error}")))
            }
        },
        QueryOutcome::Failed(cause) => {
            Err(Problem::conflict(format!("the node refuses: {cause}")).with("cause", cause.to_string()))
        }
        QueryOutcome::TimedOut => Err(Problem::new(StatusCode::GATEWAY_TIMEOUT, "the node did not answer in time")),
        _ => Err(node_lost()),
    }
}

//! The node lists of the platform's E2 manager: which nodes are there, and what they offer.
//!
//! | resource | content |
//! |---|---|
//! | `GET /v1/nodeb/states` | all nodes |
//! | `GET /v1/nodeb/ids` | the same, under the name that it had in older releases |
//! | `GET /v1/nodeb/states/{ranName}` | one of them |
//! | `GET /v1/nodeb/{ranName}` | a node with its RAN functions |
//!
//! Documents have the names and the form of the platform: absent values are left out. Nodes that are lost are not listed. With several
//! RICs that share nodes, those of all of them are.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferric::e2::{Indication, Node};
use ferric::e2ap::GlobalE2NodeId;
use ferric::server::{Iapp, IappContext, IappEvent, Server};
use iapp_rest::{Job, add_iapp};
use rest::{Operation, Parameter, Problem, RequestQueue, Response, Route};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::group::{self, SharedEntries};
use crate::names::{identity_bits, plmn_octets, ran_name};

const RAN_NAME: Parameter = Parameter::text("ranName", "The name of a node, as `gnb_001_001_00000e00`.");

/// Adds the E2 manager to a RIC. Returns its routes. With `shared`, they list the nodes of the other RICs too.
///
/// # Errors
/// If the system refuses a file descriptor.
pub fn add_to(server: &mut Server, shared: Option<Arc<dyn SharedEntries>>) -> Result<Vec<Route>, ferric::Error> {
    let queue = add_iapp(server, E2Manager { shared })?;
    let list = |path, id| {
        let operation = Operation::get(path, id, "The E2 nodes").tag("nodes");
        queued(operation.returns::<Vec<NodeIdentity>>("The nodes."), &queue, |app, nodes, _| {
            Ok(Response::ok(app.list(nodes)))
        })
    };
    let state = Operation::get("/v1/nodeb/states/{ranName}", "getNodebState", "An E2 node").tag("nodes");
    let node = Operation::get("/v1/nodeb/{ranName}", "getNodeb", "An E2 node with its RAN functions").tag("nodes");
    Ok(vec![
        list("/v1/nodeb/states", "getNodebStates"),
        list("/v1/nodeb/ids", "getNodebIds"),
        queued(state.path(&[RAN_NAME]).returns::<NodeIdentity>("The node."), &queue, |app, nodes, name| {
            Ok(Response::ok(app.named(nodes, name)?.0))
        }),
        queued(node.path(&[RAN_NAME]).returns::<NodeInfo>("The node."), &queue, |app, nodes, name| {
            Ok(Response::ok(app.named(nodes, name)?.1))
        }),
    ])
}

/// Answers a request of the nodes that are up, and the name in the path.
type Answer = fn(&E2Manager, &mut dyn Iterator<Item = &Node>, &str) -> Result<Response, Problem>;

fn queued(operation: Operation, queue: &RequestQueue<Job<E2Manager>>, answer: Answer) -> Route {
    Route::queued(operation, queue, move |request| {
        // the last part of the path is the name, where there is one
        let name = request.path.rsplit('/').next().unwrap_or_default().to_owned();
        let job: Job<E2Manager> = Box::new(move |app, ric, reply| reply.send(answer(app, &mut ric.nodes(), &name)));
        Ok(job)
    })
}

/// What is listed and told of a node.
pub(crate) fn documents(node: &Node) -> (Value, Value) {
    // names and texts are written in any case
    let document = |result: Result<Value, serde_json::Error>| result.unwrap_or_default();
    (document(serde_json::to_value(NodeIdentity::of(node))), document(serde_json::to_value(NodeInfo::of(node))))
}

impl E2Manager {
    fn list(&self, nodes: &mut dyn Iterator<Item = &Node>) -> Vec<Value> {
        let mut names = BTreeSet::new();
        let mut list = Vec::new();
        for node in nodes {
            names.insert(ran_name(&node.global_id));
            list.push(documents(node).0);
        }
        let others = self.shared.iter().flat_map(|shared| group::nodes(&**shared));
        list.extend(others.filter(|(name, _)| !names.contains(name)).map(|(_, entry)| entry.identity));
        list
    }

    fn named<'a>(&self, nodes: impl IntoIterator<Item = &'a Node>, name: &str) -> Result<(Value, Value), Problem> {
        let node = nodes.into_iter().find(|node| ran_name(&node.global_id) == name);
        let of_other = || {
            let entry: group::NodeEntry = group::read(self.shared.as_deref()?, &format!("{}{name}", group::NODE))?;
            Some((entry.identity, entry.info))
        };
        let found = node.map(documents).or_else(of_other);
        found.ok_or_else(|| Problem::not_found(format!("there is no node `{name}`")))
    }
}

/// The app of a RIC that knows its nodes.
struct E2Manager {
    /// What other RICs share.
    shared: Option<Arc<dyn SharedEntries>>,
}

impl Iapp for E2Manager {
    fn name(&self) -> &str {
        "E2 manager"
    }

    fn on_event(&mut self, _: &IappEvent<'_>, _: &mut IappContext<'_>) {}

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}
}

/// A node in a list.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NodeIdentity {
    /// Its name.
    inventory_name: String,
    /// Its global identity.
    global_nb_id: GlobalNbId,
    /// `CONNECTED`.
    connection_status: &'static str,
    /// The gNB-CU-UP ID.
    #[serde(skip_serializing_if = "Option::is_none")]
    cu_up_id: Option<String>,
    /// The gNB-DU ID.
    #[serde(skip_serializing_if = "Option::is_none")]
    du_id: Option<String>,
}

/// The global identity of a base station.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GlobalNbId {
    /// The PLMN in the hexadecimal digits of its encoding.
    plmn_id: String,
    /// The identity in binary digits.
    nb_id: String,
}

/// A node with its RAN functions.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NodeInfo {
    /// Its name.
    ran_name: String,
    /// `CONNECTED`.
    connection_status: &'static str,
    /// Its global identity.
    global_nb_id: GlobalNbId,
    /// `GNB` or `ENB`.
    node_type: &'static str,
    /// A gNB, of whichever kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    gnb: Option<Functions>,
    /// An eNB.
    #[serde(skip_serializing_if = "Option::is_none")]
    enb: Option<Functions>,
    /// The node has set up the association.
    setup_from_network: bool,
}

/// What a node offers.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Functions {
    /// Its RAN functions.
    ran_functions: Vec<RanFunction>,
}

/// A RAN function.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RanFunction {
    /// Its id in the node.
    ran_function_id: u16,
    /// Its definition in hexadecimal digits.
    ran_function_definition: String,
    /// The revision of its definition.
    ran_function_revision: u16,
    /// The object identifier of its service model.
    ran_function_oid: String,
}

impl NodeIdentity {
    fn of(node: &Node) -> Self {
        let (cu_up, du) = match &node.global_id {
            GlobalE2NodeId::Gnb(id) => (id.gnb_cu_up_id.map(|id| id.0), id.gnb_du_id.map(|id| id.0)),
            GlobalE2NodeId::EnGnb(id) => (id.en_gnb_cu_up_id.map(|id| id.0), id.en_gnb_du_id.map(|id| id.0)),
            GlobalE2NodeId::NgEnb(id) => (None, id.ng_enb_du_id.map(|id| id.0)),
            GlobalE2NodeId::Enb(_) => (None, None),
        };
        NodeIdentity {
            inventory_name: ran_name(&node.global_id),
            global_nb_id: GlobalNbId::of(&node.global_id),
            connection_status: "CONNECTED",
            cu_up_id: cu_up.map(|id| id.to_string()),
            du_id: du.map(|id| id.to_string()),
        }
    }
}

impl GlobalNbId {
    fn of(node: &GlobalE2NodeId) -> Self {
        GlobalNbId { plmn_id: plmn_octets(node), nb_id: identity_bits(node) }
    }
}

impl NodeInfo {
    fn of(node: &Node) -> Self {
        let functions = node.functions.iter().map(|function| RanFunction {
            ran_function_id: function.id.0,
            ran_function_definition: function.definition.iter().map(|octet| format!("{octet:02x}")).collect(),
            ran_function_revision: function.revision.0,
            ran_function_oid: function.oid.to_string(),
        });
        let functions = Functions { ran_functions: functions.collect() };
        let is_gnb = matches!(node.global_id, GlobalE2NodeId::Gnb(_) | GlobalE2NodeId::EnGnb(_));
        let (gnb, enb) = if is_gnb { (Some(functions), None) } else { (None, Some(functions)) };
        NodeInfo {
            ran_name: ran_name(&node.global_id),
            connection_status: "CONNECTED",
            global_nb_id: GlobalNbId::of(&node.global_id),
            node_type: if is_gnb { "GNB" } else { "ENB" },
            gnb,
            enb,
            setup_from_network: true,
        }
    }
}

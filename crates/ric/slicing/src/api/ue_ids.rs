//! `/v1/ues`: UEs with all their names, their cells and slices.

use ferric::e2::topology::{
    IdentityField, RanDatabase, Ue, UeContext, UeIdentity, UeMergeState, UeReference, UeReferenceError,
};
use rest::{Operation, Problem, Request, Response, Route};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::super::SlicingController;
use super::super::database::Database;
use super::super::node::Node;
use super::ues::{Change, SNssaiDocument, SliceAssociation};
use super::{AppQueue, CHANGES};
use iapp_rest::{Job, UE, resolve_ue};

/// The most UEs of an answer.
const MAX_UES: usize = 10_000;

pub(super) fn routes(queue: &AppQueue) -> Vec<Route> {
    const ONE: &str = "/v1/ues/{ue}";
    const SLICES: &str = "/v1/ues/{ue}/slices";
    let get = |path, id, summary| Operation::get(path, id, summary).tag("ues");
    let all = get("/v1/ues", "getIdentifiedUes", "All UEs with all their names").returns::<List>("The UEs.").describe(
        "The ids that the parts of a base station have for a UE (the CU-CP on NG, F1 and E1, a DU on F1, a CU-UP on E1), its C-RNTI, \
         cell, slices and addresses. UEs that share an id in one base station are one UE; after a handover a UE is listed at the \
         target. At most 10,000 UEs are listed.",
    );
    let one = get(ONE, "getIdentifiedUe", "A UE by any of its names").path(&[UE]).returns::<UeDocument>("The UE.");
    let one = one.describe(
        "404: no UE has this name; `known` lists some that are known. 409: several UEs have it; `candidates` lists them.",
    );
    let slices = get(SLICES, "getIdentifiedUeSlices", "The slices of a UE by any of its names").path(&[UE]);
    let change = Operation::put(SLICES, "putIdentifiedUeSlices", "Move a UE by any of its names to other slices");
    let change = change.tag("ues").path(&[UE]).takes::<Change>().example(json!({ "dl": 1 }));
    let change = change.describe(CHANGES).returns::<SliceAssociation>("The slices after the change.");
    vec![
        Route::queued(all, queue, |_| {
            let job: Job<SlicingController> = Box::new(|app, ric, reply| {
                let ran = ric.ran();
                let all = ran.current_ues();
                let ues: Vec<_> = all.iter().take(MAX_UES).map(|ue| UeDocument::of(ue, ran, &app.database)).collect();
                reply.send(Ok(Response::ok(List { omitted: all.len() - ues.len(), ues })));
            });
            Ok(job)
        }),
        Route::queued(one, queue, |request| {
            let reference = reference(request)?;
            let job: Job<SlicingController> = Box::new(move |app, ric, reply| {
                let ran = ric.ran();
                let found = resolve_ue(ran, &reference);
                reply.send(found.map(|ue| Response::ok(UeDocument::of(ue, ran, &app.database))));
            });
            Ok(job)
        }),
        Route::queued(slices.returns::<SliceAssociation>("The slices."), queue, |request| {
            let reference = reference(request)?;
            let job: Job<SlicingController> = Box::new(move |app, ric, reply| {
                let served = resolve_ue(ric.ran(), &reference).and_then(|ue| served(ue, ric.ran(), &app.database));
                reply.send(served.map(|(node, rnti)| Response::ok(SliceAssociation::of(node.slices_of(rnti)))));
            });
            Ok(job)
        }),
        Route::queued(change, queue, |request| {
            let (reference, wanted) = (reference(request)?, request.json::<Change>()?);
            wanted.check()?;
            let job: Job<SlicingController> = Box::new(move |app, ric, reply| {
                let served = resolve_ue(ric.ran(), &reference).and_then(|ue| served(ue, ric.ran(), &app.database));
                match served.map(|(node, rnti)| (node.name.clone(), rnti)) {
                    Ok((node, rnti)) => wanted.order(app, ric, &node, rnti, reply),
                    Err(problem) => reply.send(Err(problem)),
                }
            });
            Ok(job)
        }),
    ]
}

/// The UE that a path names.
fn reference(request: &Request) -> Result<UeReference, Problem> {
    let text = request.parameter(0);
    text.parse().map_err(|error: UeReferenceError| Problem::bad_request(format!("`{text}`: {error}")))
}

/// The node that has the slices of a UE, and the C-RNTI of the UE.
fn served<'d>(ue: &Ue, ran: &RanDatabase, database: &'d Database) -> Result<(&'d Node, u16), Problem> {
    let name = || ran.describe(ue);
    let no_rnti = || {
        let detail = format!("the C-RNTI of {} is unknown: no node reports it by RRC, MAC, KPM or RC", name());
        Problem::unavailable(detail)
    };
    let rnti = ran.identity(ue).rnti.ok_or_else(no_rnti)?;
    let station = ran.station(ue.station()).into_iter().flat_map(|station| station.nodes());
    let nodes: Vec<&Node> =
        station.filter_map(|(node, _)| database.node(node)).filter(|node| node.slices.is_some()).collect();
    let has_ue = |node: &&&Node| node.rntis().binary_search(&rnti).is_ok();
    let found = nodes.iter().find(has_ue).or_else(|| nodes.first().filter(|_| nodes.len() == 1));
    let no_slices = || Problem::not_found(format!("no node reports the slices of {}", name()));
    found.map(|node| (*node, rnti)).ok_or_else(no_slices)
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "IdentifiedUes")]
struct List {
    ues: Vec<UeDocument>,
    /// The number of UEs beyond those listed.
    omitted: usize,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "IdentifiedUe")]
struct UeDocument {
    /// Its number in the database.
    id: u64,
    /// What it is called in every command; `null` if only a C-RNTI without a cell is known.
    ue: Option<String>,
    /// All that it may be called.
    references: Vec<String>,
    base_station: Option<String>,
    /// `joined`: several parts of the base station have reported it. `sole_node`: the base station has one node. `alone`: one part
    /// has reported it so far. `no_shared_id`: the other parts use none of its ids.
    #[schemars(extend("enum" = ["joined", "sole_node", "alone", "no_shared_id"]))]
    state: &'static str,
    /// All ids, the cell, the slices that it requested and the addresses, as far as they are known.
    #[serde(flatten)]
    identity: Map<String, Value>,
    /// The slices of the MAC scheduler that it is in, if a node reports them.
    #[serde(skip_serializing_if = "Option::is_none")]
    slices: Option<SliceAssociation>,
    /// The ids that each node uses.
    nodes: Vec<NodeDocument>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UeOfNode")]
struct NodeDocument {
    node: Option<String>,
    ids: Map<String, Value>,
}

impl UeDocument {
    fn of(ue: &Ue, ran: &RanDatabase, database: &Database) -> Self {
        let station = ran.station(ue.station());
        let nodes = ue.views().iter().map(|view| NodeDocument {
            node: station.and_then(|station| station.global_id_of(view.node)).map(|id| id.to_string()),
            ids: members(&UeIdentity::of(&view.names, UeContext::default())),
        });
        let identity = ran.identity(ue);
        UeDocument {
            id: ue.id().0,
            ue: identity.reference().map(|reference| reference.to_string()),
            references: identity.references().iter().map(ToString::to_string).collect(),
            base_station: station.map(|station| station.key().to_string()),
            state: match ran.merge_state(ue) {
                UeMergeState::SoleNode => "sole_node",
                UeMergeState::Joined => "joined",
                UeMergeState::Alone => "alone",
                UeMergeState::NoSharedName => "no_shared_id",
            },
            slices: served(ue, ran, database).ok().map(|(node, rnti)| SliceAssociation::of(node.slices_of(rnti))),
            identity: members(&identity),
            nodes: nodes.collect(),
        }
    }
}

/// The known parts of an identity as members of an object.
fn members(identity: &UeIdentity) -> Map<String, Value> {
    let value = |name: &str, field: IdentityField| match field {
        // as everywhere in REST
        IdentityField::Texts(_) if name == "s_nssais" => {
            json!(identity.context.s_nssais.iter().map(SNssaiDocument::of).collect::<Vec<_>>())
        }
        IdentityField::Number(number) => json!(number),
        IdentityField::Numbers(numbers) => json!(numbers),
        IdentityField::Text(text) => json!(text),
        IdentityField::Texts(texts) => json!(texts),
    };
    identity.fields().into_iter().map(|(name, field)| (name.to_owned(), value(name, field))).collect()
}

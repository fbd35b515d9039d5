//! `/v1/cells`, `/v1/xapps` and `/v1/subscriptions`.

use std::collections::{BTreeMap, HashMap};

use ferric::e2::NodeId;
use ferric::e2::topology::{BaseStation, RanDatabase};
use ferric::e2ap::GlobalE2NodeId;
use iapp_rest::Job;
use ids::{CellIdentity, Cgi, EutraCgi, NrCgi};
use rest::{Operation, Response, Route};
use schemars::JsonSchema;
use serde::Serialize;

use super::app::{AppQueue, RicApp};
use super::cell_states::{CellName, CellStateReports, CellStates, ReportedCell};

/// The most entries of an answer.
const MAX_ENTRIES: usize = 10_000;

#[derive(Serialize, JsonSchema)]
struct Cells {
    cells: Vec<Cell>,
    /// The number of cells beyond those listed.
    omitted: usize,
}

#[derive(Serialize, JsonSchema)]
struct Cell {
    /// The cell's identity, in nine hexadecimal digits: `003800001`.
    id: String,
    /// Its network: the mobile country code and mobile network code.
    plmn: String,
    /// Its base station.
    base_station: String,
    /// The node that serves it: the DU, if it is connected.
    node: Option<String>,
    #[serde(flatten)]
    states: CellStates,
}

#[derive(Serialize, JsonSchema)]
struct Xapps {
    xapps: Vec<Xapp>,
    omitted: usize,
}

#[derive(Serialize, JsonSchema)]
struct Xapp {
    /// The name that it gave itself.
    name: String,
    /// Its number among the sessions since the start of the RIC, from 1.
    number: u32,
    /// Its subscriptions.
    subscriptions: Vec<u32>,
    /// The number of its subscriptions, and of its controls and queries without an answer.
    requests: usize,
    /// Octets of messages that wait until it reads.
    outbox_octets: u64,
    /// Reports that were dropped since it reads too slowly.
    dropped_reports: u64,
}

#[derive(Serialize, JsonSchema)]
struct Subscriptions {
    subscriptions: Vec<Subscription>,
    omitted: usize,
}

#[derive(Serialize, JsonSchema)]
struct Subscription {
    id: u32,
    /// Its node; null while the node is lost and may return.
    node: Option<String>,
    /// The RAN function's id.
    function: u16,
    #[schemars(extend("enum" = ["pending", "active"]))]
    state: &'static str,
    /// The number of its actions.
    actions: usize,
    /// The apps that receive its indications: an xApp's name and number, `iApp` or `E42`.
    apps: Vec<String>,
    /// Indications that were received since it was set up.
    indications: u64,
    /// Octets of their PDUs.
    indication_octets: u64,
    /// Reports that were dropped since xApps read too slowly, for each xApp that lost one.
    dropped_reports: u64,
    /// The age of the newest indication in milliseconds; null if there was none.
    newest_age_ms: Option<f64>,
}

/// Takes the first entries. Returns the number of the others.
fn limited<T>(mut entries: Vec<T>) -> (Vec<T>, usize) {
    let omitted = entries.len().saturating_sub(MAX_ENTRIES);
    entries.truncate(MAX_ENTRIES);
    (entries, omitted)
}

/// A cell of a base station, at the node that serves it.
pub(super) struct KnownCell<'a> {
    pub name: CellName,
    pub node: NodeId,
    station: &'a BaseStation,
    states: CellStates,
}

/// The cells that nodes declare; of base stations that declare none, such as gNBs without an F1 interface, those that UEs are in;
/// and those whose states nodes report.
pub(super) fn known_cells<'a>(ran: &'a RanDatabase, reports: &CellStateReports) -> Vec<KnownCell<'a>> {
    let mut cells = declared_cells(ran);
    let mut places: HashMap<CellName, usize> =
        cells.iter().enumerate().map(|(place, cell)| (cell.name, place)).collect();
    for ReportedCell { name, node, states } in reports.cells() {
        if let Some(place) = places.get(&name) {
            cells[*place].states = states;
            continue;
        }
        let Some(station) = ran.stations().find(|station| station.global_id_of(node).is_some()) else { continue };
        places.insert(name, cells.len());
        cells.push(KnownCell { name, node, station, states });
    }
    cells
}

fn declared_cells(ran: &RanDatabase) -> Vec<KnownCell<'_>> {
    let states = CellStates::default();
    let declared = |station: &BaseStation| station.cells().next().is_some();
    let mut cells = Vec::new();
    for station in ran.stations() {
        cells.extend(station.cells().map(|(node, id)| {
            let name = (id.plmn_identity, CellIdentity(id.nr_cell_identity.value));
            KnownCell { name, node, station, states }
        }));
    }
    let mut seen = BTreeMap::new();
    for ue in ran.current_ues() {
        let Some(station) = ran.station(ue.station()).filter(|station| !declared(station)) else { continue };
        if let (Some(id), Some(view)) = (ran.identity(ue).cell, ue.views().first()) {
            seen.entry((station.key(), id)).or_insert((station, view.node));
        }
    }
    for ((_, id), (station, node)) in seen {
        let Some(plmn) = station.global_id_of(node).map(|node| node.plmn_identity()) else { continue };
        cells.push(KnownCell { name: (plmn, CellIdentity(id)), node, station, states });
    }
    cells
}

/// A cell in the radio access technology of a node.
pub(super) fn cell_at(node: &GlobalE2NodeId, (plmn_identity, CellIdentity(identity)): CellName) -> Cgi {
    match node {
        GlobalE2NodeId::Gnb(_) | GlobalE2NodeId::EnGnb(_) => Cgi::NrCgi(NrCgi::new(plmn_identity, identity)),
        GlobalE2NodeId::NgEnb(_) | GlobalE2NodeId::Enb(_) => Cgi::EutraCgi(EutraCgi::new(plmn_identity, identity)),
    }
}

impl KnownCell<'_> {
    fn document(self) -> Cell {
        let KnownCell { name: (plmn, id), node, station, states } = self;
        Cell {
            id: id.to_string(),
            plmn: plmn.to_string(),
            base_station: station.key().to_string(),
            node: station.global_id_of(node).map(|node| node.to_string()),
            states,
        }
    }
}

/// Returns the routes.
pub(super) fn routes(queue: &AppQueue) -> [Route; 3] {
    let cells =
        Operation::get("/v1/cells", "getCells", "The cells that nodes declare (F1 setups), and those that UEs are in")
            .tag("nodes");
    let xapps = Operation::get("/v1/xapps", "getXapps", "The xApps that are connected").tag("ric");
    let subscriptions =
        Operation::get("/v1/subscriptions", "getSubscriptions", "The subscriptions at nodes").tag("ric");
    [
        Route::queued(cells.returns::<Cells>("The cells."), queue, |_| {
            let job: Job<RicApp> = Box::new(|app, ric, reply| {
                let (cells, omitted) = limited(known_cells(ric.ran(), &app.cells));
                let cells = cells.into_iter().map(KnownCell::document).collect();
                reply.send(Ok(Response::ok(Cells { cells, omitted })));
            });
            Ok(job)
        }),
        Route::queued(xapps.returns::<Xapps>("The xApps."), queue, |_| {
            let job: Job<RicApp> = Box::new(|_, ric, reply| {
                let mut of_apps = std::collections::HashMap::<_, Vec<u32>>::new();
                for subscription in ric.subscriptions() {
                    for app in subscription.apps {
                        of_apps.entry(app).or_default().push(subscription.id.0);
                    }
                }
                let xapps = ric.xapps().map(|xapp| Xapp {
                    subscriptions: of_apps.remove(&xapp.consumer).unwrap_or_default(),
                    name: xapp.name,
                    number: xapp.number,
                    requests: xapp.requests,
                    outbox_octets: xapp.outbox_octets,
                    dropped_reports: xapp.dropped_reports,
                });
                let (xapps, omitted) = limited(xapps.collect());
                reply.send(Ok(Response::ok(Xapps { xapps, omitted })));
            });
            Ok(job)
        }),
        Route::queued(subscriptions.returns::<Subscriptions>("The subscriptions."), queue, |_| {
            let job: Job<RicApp> = Box::new(|_, ric, reply| {
                let subscriptions = ric.subscriptions().map(|of| Subscription {
                    id: of.id.0,
                    node: ric.node(of.node).map(|node| node.global_id.to_string()),
                    function: of.function.0,
                    state: if of.is_active { "active" } else { "pending" },
                    actions: of.actions,
                    apps: of.apps.into_iter().map(|app| ric.name_of(app)).collect(),
                    indications: of.counters.indications,
                    indication_octets: of.counters.octets,
                    dropped_reports: of.counters.dropped_reports,
                    newest_age_ms: of.newest_age.map(|age| age.as_secs_f64() * 1e3),
                });
                let (subscriptions, omitted) = limited(subscriptions.collect());
                reply.send(Ok(Response::ok(Subscriptions { subscriptions, omitted })));
            });
            Ok(job)
        }),
    ]
}

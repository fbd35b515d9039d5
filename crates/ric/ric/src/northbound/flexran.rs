//! `/v1/flexran-agents`.

use rest::{Operation, Response, Route};
use schemars::JsonSchema;
use serde::Serialize;

use crate::flexran::{Agent, FlexRanAgents};

/// The most agents of an answer.
const MAX_ENTRIES: usize = 10_000;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FlexRanAgents")]
struct Agents {
    agents: Vec<AgentDocument>,
    /// The number of agents beyond those listed.
    omitted: usize,
}

/// An agent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FlexRanAgent")]
struct AgentDocument {
    /// Its name, in the form of E2 nodes: `enb-00101-e0000`.
    id: String,
    /// The address of its connection.
    peer: String,
    /// Statistics replies since it has connected.
    reports: u64,
    cells: Vec<CellDocument>,
    ues: Vec<UeDocument>,
}

/// A cell of an agent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FlexRanCell")]
struct CellDocument {
    /// The cell's identity, in nine hexadecimal digits.
    id: String,
    /// Its network: the mobile country code and mobile network code; null if the agent states none.
    plmn: Option<String>,
    /// Its physical identity.
    pci: u32,
    /// Resource blocks of the downlink.
    dl_prbs: u32,
    /// Resource blocks of the uplink.
    ul_prbs: u32,
}

/// A UE of an agent; null: not reported.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FlexRanUe")]
struct UeDocument {
    rnti: u32,
    /// Its IMSI, in fifteen digits.
    imsi: Option<String>,
    /// The identity of its primary cell.
    cell: Option<String>,
    /// The wideband CQI of the downlink.
    cqi: Option<u32>,
    /// Octets of MAC SDUs sent to it: a counter of 32 bits that wraps around.
    sdu_octets_dl: Option<u32>,
    /// Octets received from it, likewise.
    sdu_octets_ul: Option<u32>,
}

impl AgentDocument {
    fn of(agent: &Agent) -> Self {
        let cells = agent.cells.iter().map(|cell| CellDocument {
            id: cell.identity.to_string(),
            plmn: cell.plmn.map(|plmn| plmn.to_string()),
            pci: cell.pci,
            dl_prbs: cell.dl_prbs,
            ul_prbs: cell.ul_prbs,
        });
        let ues = agent.ues.iter().map(|(rnti, ue)| UeDocument {
            rnti: *rnti,
            imsi: ue.imsi.map(|imsi| format!("{imsi:015}")),
            cell: agent.cell(ue.carrier).map(|cell| cell.identity.to_string()),
            cqi: ue.cqi,
            sdu_octets_dl: ue.sdu_octets_dl,
            sdu_octets_ul: ue.sdu_octets_ul,
        });
        AgentDocument {
            id: agent.name(),
            peer: agent.peer.clone(),
            reports: agent.reports,
            cells: cells.collect(),
            ues: ues.collect(),
        }
    }
}

/// Returns the route. It is answered on the thread of REST.
pub(super) fn route(agents: FlexRanAgents) -> Route {
    let operation = Operation::get("/v1/flexran-agents", "getFlexRanAgents", "FlexRAN agents with their cells and UEs")
        .tag("nodes")
        .describe("They are no E2 nodes: apps do not see them, and no other resource has them.")
        .returns::<Agents>("The agents; none without an address for them.");
    Route::new(operation, move |_| {
        let omitted = agents.count().saturating_sub(MAX_ENTRIES);
        let agents = agents.list(MAX_ENTRIES).iter().map(AgentDocument::of).collect();
        Ok(Response::ok(Agents { agents, omitted }))
    })
}

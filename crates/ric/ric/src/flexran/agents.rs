//! What FlexRAN agents have reported.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flexran::{EnbConfig, PlmnId, Statistics, UeConfig, UeStateChange, UeStateChangeKind};
use ids::{CellIdentity, PlmnIdentity};

/// The most cells of an agent; further ones are ignored.
const MAX_CELLS: usize = 32;
/// The most UEs of an agent, and of all agents together; further ones are ignored.
const MAX_UES: usize = 4096;
const MAX_UES_OF_ALL: usize = 1 << 16;

/// The agents that are connected and greeted. Clones show the same ones.
#[derive(Clone, Debug, Default)]
pub struct FlexRanAgents(Arc<Mutex<State>>);

#[derive(Debug, Default)]
pub(super) struct State {
    /// By the number of their connection.
    pub agents: BTreeMap<u64, Agent>,
    pub counters: Counters,
    ues: usize,
}

/// What was counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Statistics replies.
    pub reports: u64,
    /// Hellos of agents.
    pub hellos: u64,
    /// Echo requests of agents, which were answered.
    pub echoes: u64,
    /// Connections that were refused, since there were too many.
    pub refused: u64,
    /// Connections that were closed by a fault of the agent.
    pub faults: u64,
}

/// An agent of an eNB.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agent {
    /// The address of its connection.
    pub peer: String,
    /// The id of its eNB, from its hello or its configuration.
    pub enb_id: Option<u64>,
    /// Its cells.
    pub cells: Vec<Cell>,
    /// Its UEs, by C-RNTI.
    pub ues: BTreeMap<u32, Ue>,
    /// Statistics replies.
    pub reports: u64,
}

/// A cell of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The number of its carrier.
    pub carrier: u32,
    /// Its physical identity.
    pub pci: u32,
    /// Its network.
    pub plmn: Option<PlmnIdentity>,
    /// Its identity: 20 bits of the eNB's id, and the carrier (TS 36.413 9.2.1.37, 9.2.1.38).
    pub identity: CellIdentity,
    /// Resource blocks of the downlink.
    pub dl_prbs: u32,
    /// Resource blocks of the uplink.
    pub ul_prbs: u32,
}

/// A UE of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ue {
    /// Its IMSI, if the agent states it.
    pub imsi: Option<u64>,
    /// The carrier of its primary cell.
    pub carrier: u32,
    /// The wideband CQI of the downlink.
    pub cqi: Option<u32>,
    /// Octets of MAC SDUs sent to it, as its agent counts them: in 32 bits.
    pub sdu_octets_dl: Option<u32>,
    /// Octets received from it.
    pub sdu_octets_ul: Option<u32>,
}

impl FlexRanAgents {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All agents, in the order of their connections; at most `limit`.
    #[must_use]
    pub fn list(&self, limit: usize) -> Vec<Agent> {
        self.lock().agents.values().take(limit).cloned().collect()
    }

    /// The number of agents.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lock().agents.len()
    }

    /// What was counted since the start.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.lock().counters
    }
}

impl State {
    /// The connection of an agent has ended.
    pub fn remove(&mut self, connection: u64) -> Option<Agent> {
        let agent = self.agents.remove(&connection)?;
        self.ues -= agent.ues.len();
        Some(agent)
    }

    pub fn configure(&mut self, connection: u64, config: &EnbConfig) {
        let Some(agent) = self.agents.get_mut(&connection) else { return };
        // newer agents state it in their hello
        agent.enb_id = config.enb_id.map(u64::from).or(agent.enb_id);
        let enb_id = agent.enb_id.unwrap_or(0);
        let cells = config.cells.iter().take(MAX_CELLS).map(|cell| Cell {
            carrier: cell.carrier_index,
            pci: cell.pci,
            plmn: cell.plmns.first().and_then(plmn),
            identity: CellIdentity((enb_id & 0xF_FFFF) << 8 | u64::from(cell.carrier_index & 0xFF)),
            dl_prbs: cell.dl_prbs,
            ul_prbs: cell.ul_prbs,
        });
        agent.cells = cells.collect();
    }

    /// The UEs of an agent are these.
    pub fn set_ues(&mut self, connection: u64, ues: &[UeConfig]) {
        let Some(agent) = self.agents.get_mut(&connection) else { return };
        let before = agent.ues.len();
        let known = std::mem::take(&mut agent.ues);
        self.ues -= before;
        for ue in ues {
            let of_before = known.get(&ue.rnti).cloned().unwrap_or_default();
            self.see(connection, ue, of_before);
        }
    }

    fn see(&mut self, connection: u64, ue: &UeConfig, of_before: Ue) {
        let Some(agent) = self.agents.get_mut(&connection) else { return };
        let is_new = !agent.ues.contains_key(&ue.rnti);
        if is_new && (agent.ues.len() >= MAX_UES || self.ues >= MAX_UES_OF_ALL) {
            return;
        }
        self.ues += usize::from(is_new);
        let imsi = ue.imsi.filter(|imsi| *imsi > 0).or(of_before.imsi);
        agent.ues.insert(ue.rnti, Ue { imsi, carrier: ue.primary_carrier, ..of_before });
    }

    pub fn change_ue(&mut self, connection: u64, change: &UeStateChange) {
        let Some(agent) = self.agents.get_mut(&connection) else { return };
        let rnti = change.config.rnti;
        match change.kind {
            UeStateChangeKind::DEACTIVATED | UeStateChangeKind::MOVED => {
                self.ues -= usize::from(agent.ues.remove(&rnti).is_some());
            }
            _ => {
                let of_before = agent.ues.get(&rnti).cloned().unwrap_or_default();
                self.see(connection, &change.config, of_before);
            }
        }
    }

    pub fn report(&mut self, connection: u64, statistics: &Statistics) {
        let Some(agent) = self.agents.get_mut(&connection) else { return };
        agent.reports += 1;
        self.counters.reports += 1;
        for reported in &statistics.ues {
            let Some(ue) = agent.ues.get_mut(&reported.rnti) else { continue };
            let cqi = reported.dl_cqi.as_ref().and_then(|report| report.cells.first()?.p10.as_ref());
            ue.cqi = cqi.map(|p10| p10.cqi).or(ue.cqi);
            if let Some(mac) = &reported.mac {
                (ue.sdu_octets_dl, ue.sdu_octets_ul) = (Some(mac.sdu_octets_dl), Some(mac.sdu_octets_ul));
            }
        }
    }
}

impl Agent {
    /// Its name, in the form of E2 nodes: `enb-00101-e0000`; without an id that of its connection.
    #[must_use]
    pub fn name(&self) -> String {
        let plmn = self.cells.iter().find_map(|cell| cell.plmn).map(|plmn| format!("{plmn}-")).unwrap_or_default();
        match self.enb_id {
            Some(id) => format!("enb-{plmn}{id:x}"),
            None => format!("enb-{plmn}{}", self.peer),
        }
    }

    /// The cell of a carrier; of an unknown one the first cell.
    #[must_use]
    pub fn cell(&self, carrier: u32) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.carrier == carrier).or_else(|| self.cells.first())
    }
}

/// A network by its codes; `None` if they are out of range.
fn plmn(of: &PlmnId) -> Option<PlmnIdentity> {
    let digits = if of.mnc_digits == 3 { 3 } else { 2 };
    let (mcc, mnc) = (u16::try_from(of.mcc).ok()?, u16::try_from(of.mnc).ok()?);
    let is_valid = mcc <= 999 && mnc <= if digits == 3 { 999 } else { 99 };
    is_valid.then(|| PlmnIdentity::from_codes(mcc, mnc, digits))
}

//! Events of the radio network, as collectors receive them.

use serde::{Deserialize, Serialize};

use crate::criteria::Topic;
use crate::identity::{AssociateId, Cell, Slice, TempUeId};

/// An event of a UE, in a cell. As JSON it moves through brokers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When the collector received it, in nanoseconds of Unix time. Latencies count from here (paper 003, 6.1).
    pub received_ns: u64,
    /// The UE's cell; the source cell of a cell change.
    pub cell: Cell,
    /// The UE.
    pub ue: UeIds,
    /// What has happened.
    pub change: Change,
}

/// The identities of a UE that are known when its event occurs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UeIds {
    /// Those that applications know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub associate_ids: Vec<AssociateId>,
    /// The one that the core network has given it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temporary: Option<TempUeId>,
    /// The slices in which it has sessions, as far as they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<Slice>,
}

/// What has happened to a UE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// It changes its cell (MEC 012 6.4.2).
    CellChange {
        /// The target cells.
        targets: Vec<Cell>,
        /// How far the handover is.
        status: HandoverStatus,
    },
    /// A bearer is established (6.4.3).
    BearerEstablished(Bearer),
    /// The QoS of a bearer is modified (6.4.4).
    BearerModified(Bearer),
    /// A bearer is released (6.4.5).
    BearerReleased(Bearer),
    /// A measurement report of a UE of E-UTRA (6.4.6).
    Measured {
        /// Why the UE reports: MEC 012 6.5.11.
        trigger: u8,
        /// The serving cell.
        serving: Quantities,
        /// Neighbours of E-UTRA.
        neighbours: Vec<CellMeasurement>,
        /// Neighbours of NR.
        nr_neighbours: Vec<NrCellMeasurement>,
    },
    /// A measurement report of a UE of NR (6.4.13).
    NrMeasured {
        /// Why the UE reports: MEC 012 6.5.12.
        trigger: u8,
        /// The serving cells, with the best neighbour on the frequency of each.
        serving: Vec<NrCellMeasurement>,
        /// Neighbours of NR.
        neighbours: Vec<NrCellMeasurement>,
        /// Neighbours of E-UTRA.
        eutra_neighbours: Vec<CellMeasurement>,
    },
    /// The timing advance of the UE has changed (6.4.7).
    TimingAdvance {
        /// N_TA in units of 16 T_s (TS 36.213 4.2.3), 0 to 1282; of NR scaled to the same time.
        value: u32,
    },
    /// The secondary cells of the UE have changed (6.4.8).
    CarrierAggregation {
        /// Cells that were added.
        added: Vec<Cell>,
        /// Cells that were removed.
        removed: Vec<Cell>,
        /// What the UE measures of its secondary cells, and of the best neighbour of each; of NR in the values of TS 38.133.
        measured: Vec<(CellMeasurement, Option<CellMeasurement>)>,
    },
    /// Bearers towards the core have changed (6.4.10).
    S1Bearer {
        /// How.
        event: BearerEvent,
        /// The bearers.
        bearers: Vec<S1Bearer>,
    },
}

/// How far a handover is (MEC 012 6.2.2, `hoStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HandoverStatus {
    /// In preparation.
    InPreparation = 1,
    /// In execution.
    InExecution = 2,
    /// Completed.
    Completed = 3,
    /// Rejected.
    Rejected = 4,
    /// Cancelled.
    Cancelled = 5,
}

/// What happens to bearers towards the core (MEC 012 6.4.10, `s1Event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BearerEvent {
    /// They are established.
    Established = 1,
    /// They are modified.
    Modified = 2,
    /// They are released.
    Released = 3,
}

/// A radio access bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bearer {
    /// The E-RAB id; of NR the identifier of the QoS flow, since tunnels and QoS are those of flows there.
    pub erab_id: u8,
    /// Its QoS, as far as the node reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos: Option<BearerQos>,
}

/// The QoS of a bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BearerQos {
    /// The QCI; of NR the 5QI.
    pub qci: u8,
    /// Bit rates in bit/s: maximum downlink and uplink, guaranteed downlink and uplink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates_bps: Option<[u64; 4]>,
}

/// Measured quantities in the values of their reports: TS 36.133 9.1 for E-UTRA, TS 38.133 10.1 for NR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantities {
    /// Reference signal received power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rsrp: Option<u8>,
    /// Reference signal received quality.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rsrq: Option<u8>,
    /// Signal to interference and noise ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sinr: Option<u8>,
}

/// What a UE measures of a cell of E-UTRA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellMeasurement {
    /// The cell.
    pub cell: Cell,
    /// What it measures.
    pub quantities: Quantities,
}

/// What a UE measures of a cell of NR, by its SSBs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NrCellMeasurement {
    /// The cell.
    pub cell: Cell,
    /// What it measures.
    pub quantities: Quantities,
}

/// The tunnel of a bearer towards the core: S1-U, or NG-U.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct S1Bearer {
    /// The E-RAB id; of NR the identifier of the QoS flow.
    pub erab_id: u8,
    /// The end at the base station.
    pub base_station: Tunnel,
    /// The end at the gateway.
    pub gateway: Tunnel,
}

/// An end of a GTP tunnel. What the report leaves out is empty: GTP statistics of FlexRIC have no addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tunnel {
    /// The IP address.
    pub address: String,
    /// The TEID: eight hexadecimal digits.
    pub teid: String,
}

impl Event {
    /// The type of subscription that it concerns.
    #[must_use]
    pub const fn topic(&self) -> Topic {
        match &self.change {
            Change::CellChange { .. } => Topic::CellChange,
            Change::BearerEstablished(_) => Topic::RabEstablishment,
            Change::BearerModified(_) => Topic::RabModification,
            Change::BearerReleased(_) => Topic::RabRelease,
            Change::Measured { .. } => Topic::MeasurementReport,
            Change::NrMeasured { .. } => Topic::NrMeasurementReport,
            Change::TimingAdvance { .. } => Topic::TimingAdvance,
            Change::CarrierAggregation { .. } => Topic::CarrierAggregation,
            Change::S1Bearer { .. } => Topic::S1Bearer,
        }
    }

    /// The cells that a criterion may name: of a cell change source and targets.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        let targets: &[Cell] = match &self.change {
            Change::CellChange { targets, .. } => targets,
            _ => &[],
        };
        std::iter::once(self.cell).chain(targets.iter().copied().filter(|target| *target != self.cell))
    }
}

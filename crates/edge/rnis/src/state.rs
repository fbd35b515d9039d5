//! The latest state of cells, UEs and bearers, which queries read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{BearerQos, Tunnel, UeIds};
use crate::identity::Cell;

/// What is known of the radio network now. Collectors write it by [`Service::update`](crate::Service::update).
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The cells, with their latest measurements.
    pub cells: BTreeMap<Cell, CellMeasurements>,
    /// The connected UEs, by a name that the collector chooses: the most stable one that it knows, such as `amf:17`.
    pub ues: BTreeMap<String, UeState>,
    /// What the collectors are connected to.
    pub sources: Sources,
}

/// What the collectors are connected to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sources {
    /// The RIC; `None` without a collector on E2.
    pub ric: Option<RicState>,
    /// FlexRAN agents; `None` without a collector for them.
    pub flexran_agents: Option<usize>,
}

/// The RIC of the collector on E2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RicState {
    /// Whether the session with it is up.
    pub is_connected: bool,
    /// The E2 nodes that it has.
    pub nodes: usize,
}

/// A connected UE.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UeState {
    /// Its identities.
    pub ids: UeIds,
    /// Its cell, if it is known.
    pub cell: Option<Cell>,
    /// Its bearers by their E-RAB ids; of NR by the identifiers of their QoS flows.
    pub bearers: BTreeMap<u8, BearerState>,
    /// Its latest measurements.
    pub measurements: UeMeasurements,
}

/// A bearer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BearerState {
    /// Its QoS, as far as the node reports it.
    pub qos: Option<BearerQos>,
    /// The tunnel towards the core: the ends at the base station and at the gateway.
    pub tunnel: Option<(Tunnel, Tunnel)>,
}

/// A value for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Both<T> {
    /// Downlink.
    pub dl: Option<T>,
    /// Uplink.
    pub ul: Option<T>,
}

/// The layer 2 measurements of a cell (TS 36.314; TS 28.552 for NR) in the units of MEC 012 6.2.6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellMeasurements {
    /// PRBs that GBR traffic uses, in percent.
    pub gbr_prb_percent: Both<u32>,
    /// PRBs that other traffic uses, in percent.
    pub non_gbr_prb_percent: Both<u32>,
    /// All used PRBs, in percent.
    pub total_prb_percent: Both<u32>,
    /// Random access preambles per second: dedicated, randomly selected in the low range, and in the high range.
    pub preambles: [Option<u32>; 3],
    /// UEs with GBR data in their buffers.
    pub active_gbr_ues: Both<u32>,
    /// UEs with other data in their buffers.
    pub active_non_gbr_ues: Both<u32>,
    /// Discarded packets of GBR traffic, in percent.
    pub gbr_discard_percent: Both<u32>,
    /// Discarded packets of other traffic, in percent.
    pub non_gbr_discard_percent: Both<u32>,
}

/// The layer 2 measurements of a UE, in the units of MEC 012 6.2.6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UeMeasurements {
    /// Packet delay of GBR traffic, in milliseconds.
    pub gbr_delay_ms: Both<u32>,
    /// Packet delay of other traffic, in milliseconds.
    pub non_gbr_delay_ms: Both<u32>,
    /// Discarded packets of GBR traffic, in percent.
    pub gbr_discard_percent: Both<u32>,
    /// Discarded packets of other traffic, in percent.
    pub non_gbr_discard_percent: Both<u32>,
    /// Scheduled throughput of GBR traffic, in kbit/s.
    pub gbr_throughput_kbps: Both<u32>,
    /// Scheduled throughput of other traffic, in kbit/s.
    pub non_gbr_throughput_kbps: Both<u32>,
    /// Data volume of GBR traffic, in kbit.
    pub gbr_volume_kbit: Both<u32>,
    /// Data volume of other traffic, in kbit.
    pub non_gbr_volume_kbit: Both<u32>,
}

//! The interface to the base station.

use std::time::Duration;

use e2sm::common::{Cgi, UeId};
use e2sm::llc::{ExecutionCause, LogicalChannelId, ResourceAllocation};
use ferric::agent::Ue;
use ferric::e2::Time;
use per::Bits;

use super::SlotRefusal;

/// What a cell's slots and grants look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellFormat {
    /// The numerology of TS 38.211 4.2: 0 is 15 kHz.
    pub numerology: u8,
    /// Resource blocks of the downlink's bandwidth part.
    pub resource_blocks: u16,
    /// The number of MCS indices, from 0 on, that a new transport block may have.
    pub mcs_count: u8,
}

/// The buffer of a logical channel or of a bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferStatus {
    /// The logical channel (RLC) or the bearer (PDCP).
    pub id: u8,
    /// Octets in the buffer. RLC: with the headers that transport blocks will need.
    pub octets: u32,
    /// The time until the first packet has exceeded its delay budget; `None` for an empty buffer.
    pub time_to_live: Option<Duration>,
}

/// Counters of HARQ feedback of the downlink, which only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HarqCounts {
    /// Acknowledgements.
    pub acks: u64,
    /// Negative acknowledgements.
    pub nacks: u64,
    /// Transmissions without feedback.
    pub dtxs: u64,
}

/// A report of channel state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsiReport {
    /// The number of the report configuration.
    pub config_id: u8,
    /// The fields of part 1 (TS 38.212 6.3.1.1.2).
    pub part1: Bits,
}

/// Sounding reference signals as received, by antenna and symbol.
pub type ReceivedSrs = Vec<Vec<SrsSymbol>>;

/// A received symbol of sounding reference signals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SrsSymbol {
    /// udCompHdr of O-RAN's fronthaul (WG4 CUS 8.3.3.13).
    pub compression_header: u8,
    /// A section of uplink data, from its id on.
    pub section: Vec<u8>,
}

/// How often lower layers information of a UE has arrived; the counters only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Reports of channel state.
    pub csi: u64,
    /// Sounding reference signals.
    pub srs: u64,
}

/// Octets of a logical channel in a transport block: requested, and what becomes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelShare {
    /// The logical channel.
    pub channel: LogicalChannelId,
    /// The requested octets.
    pub octets: u32,
    /// The octets that the base station schedules.
    pub scheduled: u32,
    /// Why they are fewer.
    pub cause: Option<ExecutionCause>,
}

/// A grant of a decision: one transport block for one UE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotGrant {
    /// The UE.
    pub ue: Ue,
    /// The resource blocks; grants of a slot do not overlap and are within the cell.
    pub allocation: ResourceAllocation,
    /// The MCS index, below [`CellFormat::mcs_count`].
    pub mcs: u8,
    /// What the block carries, in this order.
    pub channels: Vec<ChannelShare>,
}

/// A decision about the downlink of a slot: at most one grant for a UE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotDecision {
    /// The number of the slot.
    pub slot: u64,
    /// The grants, first the most important.
    pub grants: Vec<SlotGrant>,
}

/// A logical channel that a controller schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelegatedChannel {
    /// The UE.
    pub ue: Ue,
    /// The logical channel.
    pub channel: LogicalChannelId,
    /// The first slot.
    pub from: u64,
    /// The first slot in which the base station schedules the channel again.
    pub until: u64,
}

/// The downlink scheduler of a base station, as a controller uses it.
///
/// The base station schedules what is not delegated, retransmissions, and every slot about which there is no decision.
pub trait SlotScheduler {
    /// Returns the number of the slot that is scheduled next. A decision about an earlier one comes too late.
    fn next_slot(&self) -> u64;

    /// Returns whether a slot has a downlink.
    fn has_downlink(&self, slot: u64) -> bool;

    /// Replaces the delegated channels. While there are any, each slot with a downlink without a decision is one that the
    /// controller has missed.
    fn set_delegated(&mut self, channels: &[DelegatedChannel]);

    /// Takes a decision about a slot, which is not over and has none yet. States for each channel what the base station will
    /// schedule, as far as it knows now: `scheduled` and `cause`.
    fn schedule(&mut self, decision: &mut SlotDecision);

    /// A decision about a slot was refused: the base station counts it.
    fn refused(&mut self, slot: u64, refusal: SlotRefusal);
}

/// What a base station provides to offer E2SM-LLC, and the scheduler that controllers use.
pub trait LlcSource: SlotScheduler {
    /// Returns the format of the cell, which never changes.
    fn format(&self) -> CellFormat;

    /// Returns the cell.
    fn cell(&self) -> Cgi;

    /// Brings the base station up to `now`: slots that begin before it are over.
    fn advance(&mut self, now: Time);

    /// Returns when a slot begins, in nanoseconds after `now`; negative for a slot that has begun.
    fn slot_offset_ns(&self, now: Time, slot: u64) -> i64;

    /// Adds the UEs of the cell to `out`.
    fn ues(&self, out: &mut Vec<Ue>);

    /// Returns the identity of a UE.
    fn ue_id(&self, ue: Ue) -> UeId<'static>;

    /// Adds the RLC buffers of a UE's downlink to `out`, at most 32.
    fn rlc_buffers(&self, ue: Ue, out: &mut Vec<BufferStatus>);

    /// Adds the PDCP buffers of a UE's downlink to `out`, at most 32.
    fn pdcp_buffers(&self, ue: Ue, out: &mut Vec<BufferStatus>);

    /// Returns the counters of HARQ feedback of a UE.
    fn harq(&self, ue: Ue) -> HarqCounts;

    /// Returns how much lower layers information of a UE has arrived.
    fn arrivals(&self, ue: Ue) -> Arrivals;

    /// Returns the latest report of channel state of a UE.
    fn csi(&self, ue: Ue) -> Option<CsiReport>;

    /// Returns the latest sounding reference signals of a UE.
    fn srs(&self, ue: Ue) -> Option<ReceivedSrs>;
}
